//! Renders Markdown of strangers as HTML that cannot act.
//!
//! Raw HTML is shown as the text it is. Links lead to pages and mail only, images are links, and characters that reorder
//! or hide the text around them are removed, also those spelled as entities.

use std::fmt::Write;

use maud::{Escaper, Markup, PreEscaped, html};
use pensa_core::text::{is_unsafe_to_print, printable_block};
use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};

/// Quotes and lists within each other; deeper ones are drawn at this depth.
const MAX_DEPTH: usize = 16;

/// A text as blocks of HTML.
pub fn markdown(source: &str) -> Markup {
    let source = printable_block(source);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut safe = SafeEvents::default();
    let events = Parser::new_ext(&source, options).filter_map(|event| safe.event(event));
    let mut written = String::with_capacity(source.len() * 3 / 2);
    pulldown_cmark::html::push_html(&mut written, events);
    html! { div.markdown dir="auto" { (PreEscaped(written)) } }
}

/// Replaces every event that could act by one that cannot.
#[derive(Debug, Default)]
struct SafeEvents {
    /// Quotes and lists around this event.
    depth: usize,
    /// For each link and image around this event, whether it was written as a link.
    links: Vec<bool>,
}

impl SafeEvents {
    fn event<'a>(&mut self, event: Event<'a>) -> Option<Event<'a>> {
        match event {
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(printed(&text).into())),
            Event::Code(text) => Some(Event::Code(printed(&text).into())),
            Event::TaskListMarker(is_done) => Some(Event::Text(if is_done { "☑ " } else { "☐ " }.into())),
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::SoftBreak | Event::HardBreak | Event::Rule => Some(event),
            // Not enabled.
            Event::InlineMath(_) | Event::DisplayMath(_) | Event::FootnoteReference(_) => None,
        }
    }

    fn start<'a>(&mut self, tag: Tag<'a>) -> Option<Event<'a>> {
        let tag = match tag {
            Tag::Link { link_type, dest_url, title, .. } => {
                let to = if link_type == LinkType::Email { format!("mailto:{dest_url}") } else { dest_url.to_string() };
                return self.link(&to, &title, "");
            }
            Tag::Image { dest_url, title, .. } => return self.link(&dest_url, &title, "image: "),
            Tag::BlockQuote(_) | Tag::List(_) | Tag::Item => {
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    return None;
                }
                if let Tag::BlockQuote(_) = tag { Tag::BlockQuote(None) } else { tag }
            }
            // What follows is text, not HTML.
            Tag::HtmlBlock => Tag::Paragraph,
            // The name of a language would become a class of the page.
            Tag::CodeBlock(_) => Tag::CodeBlock(CodeBlockKind::Indented),
            // Alignments would become inline styles.
            Tag::Table(columns) => Tag::Table(vec![Alignment::None; columns.len()]),
            Tag::Heading { level, .. } => {
                Tag::Heading { level: below_page(level), id: None, classes: Vec::new(), attrs: Vec::new() }
            }
            other => other,
        };
        Some(Event::Start(tag))
    }

    fn end<'a>(&mut self, tag: TagEnd) -> Option<Event<'a>> {
        match tag {
            TagEnd::Link | TagEnd::Image => {
                self.links.pop().unwrap_or_default().then(|| Event::InlineHtml("</a>".into()))
            }
            TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item => {
                self.depth -= 1;
                (self.depth < MAX_DEPTH).then_some(Event::End(tag))
            }
            TagEnd::HtmlBlock => Some(Event::End(TagEnd::Paragraph)),
            TagEnd::Heading(level) => Some(Event::End(TagEnd::Heading(below_page(level)))),
            other => Some(Event::End(other)),
        }
    }

    /// Begins a link, or only its text if it leads nowhere or is part of another.
    fn link<'a>(&mut self, to: &str, title: &str, before: &str) -> Option<Event<'a>> {
        let is_link = !self.links.contains(&true) && leads_to_page(to);
        self.links.push(is_link);
        if !is_link {
            return (!before.is_empty()).then(|| Event::Text(before.to_owned().into()));
        }
        let mut tag = String::from("<a rel=\"noopener noreferrer nofollow\" href=\"");
        attribute(&mut tag, to);
        if !title.is_empty() {
            tag.push_str("\" title=\"");
            attribute(&mut tag, &printed(title));
        }
        tag.push_str("\">");
        tag.push_str(before);
        Some(Event::InlineHtml(tag.into()))
    }
}

fn printed(text: &str) -> String {
    printable_block(text)
}

fn attribute(to: &mut String, text: &str) {
    // A string takes everything.
    let _ = Escaper::new(to).write_str(text);
}

/// Headings of a text come below those of the page around it.
fn below_page(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H3,
        HeadingLevel::H2 => HeadingLevel::H4,
        HeadingLevel::H3 => HeadingLevel::H5,
        HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => HeadingLevel::H6,
    }
}

/// Whether an address is one of a page or of mail: relative, or with a scheme that runs nothing.
///
/// Browsers drop blanks and line ends from addresses, so one with any of them is no address.
pub fn leads_to_page(address: &str) -> bool {
    if address.is_empty() || address.chars().any(|c| c.is_whitespace() || is_unsafe_to_print(c)) {
        return false;
    }
    match address.split_once(':') {
        Some((scheme, _)) if !scheme.contains(['/', '?', '#']) => {
            ["http", "https", "mailto"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(source: &str) -> String {
        let whole = markdown(source).into_string();
        let inner =
            whole.strip_prefix("<div class=\"markdown\" dir=\"auto\">").and_then(|rest| rest.strip_suffix("</div>"));
        inner.expect("in a block").trim_end().to_owned()
    }

    #[test]
    fn ordinary_markdown_is_rendered() {
        for (source, html) in [
            ("a *b* **c** ~~d~~ `e<f`", "<p>a <em>b</em> <strong>c</strong> <del>d</del> <code>e&lt;f</code></p>"),
            ("# top\n\n## next", "<h3>top</h3>\n<h4>next</h4>"),
            ("- [x] done\n- [ ] open", "<ul>\n<li>☑ done</li>\n<li>☐ open</li>\n</ul>"),
            ("```rust\nlet a = 1 < 2;\n```", "<pre><code>let a = 1 &lt; 2;\n</code></pre>"),
            (
                "|a|b|\n|:-|-:|\n|1|2|",
                "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody>\n<tr><td>1</td><td>2</td></tr>\n</tbody></table>",
            ),
            ("[x](a/b.md#c)", "<p><a rel=\"noopener noreferrer nofollow\" href=\"a/b.md#c\">x</a></p>"),
            (
                "<me@example.org>",
                "<p><a rel=\"noopener noreferrer nofollow\" href=\"mailto:me@example.org\">me@example.org</a></p>",
            ),
        ] {
            assert_eq!(rendered(source), html, "{source}");
        }
    }

    #[test]
    fn raw_html_is_shown_as_text() {
        for source in [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "<div style='position:fixed;inset:0'>\n\n*x*\n\n</div>",
            "<!-- --><svg onload=alert(1)>",
            "<style>*{display:none}</style>",
            "</main></body><form action=//evil><button>",
            "<![CDATA[<script>]]>",
            "|<b>|\n|-|\n|<i onclick=x>|",
        ] {
            let html = rendered(source);
            for tag in html.split('<').skip(1) {
                let name: String =
                    tag.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
                let is_ours = ["p", "em", "table", "thead", "tbody", "tr", "th", "td"].contains(&name.as_str());
                assert!(is_ours && tag.trim_start_matches('/')[name.len()..].starts_with('>'), "{source}: {html}");
            }
        }
    }

    #[test]
    fn links_that_could_act_are_text() {
        for to in [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            "&#x6A;avascript:alert(1)",
            "java&#10;script:alert(1)",
            "java&Tab;script:alert(1)",
            "&#1;javascript:alert(1)",
            "vbscript:x",
            "data:text/html,<script>alert(1)</script>",
            "blob:x",
            "file:///etc/passwd",
            "view-source:x",
            "https&#x202E;://x",
        ] {
            for source in [format!("[x]({to})"), format!("![x]({to})"), format!("[x]\n\n[x]: {to}"), format!("<{to}>")]
            {
                let html = rendered(&source);
                assert!(!html.contains("href"), "{source}: {html}");
            }
        }
    }

    #[test]
    fn images_are_links_and_nothing_is_fetched() {
        let html = rendered("![the plan](https://example.org/a.png \"b\\\"c\")");
        let link = "<a rel=\"noopener noreferrer nofollow\" href=\"https://example.org/a.png\" title=\"b&quot;c\">";
        assert_eq!(html, format!("<p>{link}image: the plan</a></p>"));
        let within = rendered("[![badge](https://a.example/x.svg)](https://b.example)");
        assert_eq!((within.matches("<a ").count(), within.matches("</a>").count()), (1, 1), "{within}");
        assert!(within.contains("https://b.example") && within.contains("image: badge"), "{within}");
    }

    #[test]
    fn text_that_reorders_or_hides_is_removed_however_it_is_spelled() {
        for source in
            ["a\u{202E}b", "a&#x202E;b", "a&#8238;b", "`a\u{2066}b`", "[x](https://a \"&#x202E;t\")", "a&#7;b"]
        {
            let html = rendered(source);
            assert!(!html.chars().any(|c| c != '\n' && is_unsafe_to_print(c)), "{source}: {html}");
        }
    }

    #[test]
    fn attributes_cannot_be_left() {
        let html = rendered("[x](<https://a/\"onmouseover=alert(1)//>)");
        assert!(html.contains("href=\"https://a/&quot;onmouseover=alert(1)//\""), "{html}");
        let html = rendered("```\"onmouseover=x top\nb\n```");
        assert_eq!(html, "<pre><code>b\n</code></pre>");
    }

    #[test]
    fn deep_nesting_ends_at_a_depth_and_stays_balanced() {
        for source in [">".repeat(5_000) + " deep", (0..200).map(|at| " ".repeat(at * 2) + "- x\n").collect()] {
            let html = rendered(&source);
            let count = |tag: &str| html.matches(tag).count();
            assert!(count("<blockquote>") + count("<ul>") <= MAX_DEPTH, "{}", count("<ul>"));
            for tag in ["blockquote", "ul", "li", "p"] {
                assert_eq!(count(&format!("<{tag}>")), count(&format!("</{tag}>")), "{tag}");
            }
        }
    }
}

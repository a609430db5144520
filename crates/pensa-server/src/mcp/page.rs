//! What an answer says, within a budget of tokens, and how text that came from records is marked in it.

use pensa_core::issue::Issue;
use pensa_core::session::tokens;
use pensa_core::{Error, Result, text};

/// Tokens of an answer unless the caller says otherwise.
const DEFAULT_TOKENS: u32 = 2_000;
/// Fewest tokens that can be asked for: room for an error and one issue.
const MIN_TOKENS: u32 = 100;
const MAX_TOKENS: u32 = 10_000;
const BYTES_PER_TOKEN: usize = 4;
/// Kept free for the words that say what was left out.
const RESERVE: usize = 120;
/// Longest name of a source or an author.
const MAX_NAME: usize = 80;

/// An answer that grows up to its budget and no further.
#[derive(Debug)]
pub(super) struct Page {
    text: String,
    limit: usize,
}

impl Page {
    pub(super) fn new(max_tokens: Option<u32>) -> Result<Self> {
        let tokens = max_tokens.unwrap_or(DEFAULT_TOKENS);
        if !(MIN_TOKENS..=MAX_TOKENS).contains(&tokens) {
            return Err(Error::invalid(format!("max_tokens is {tokens}"))
                .hint(format!("from {MIN_TOKENS} to {MAX_TOKENS}; without it {DEFAULT_TOKENS}")));
        }
        Ok(Self { text: String::new(), limit: tokens as usize * BYTES_PER_TOKEN })
    }

    /// Bytes that are left for data.
    pub(super) fn room(&self) -> usize {
        self.limit.saturating_sub(self.text.len() + RESERVE)
    }

    /// A line of our own words, left out if there is no room at all.
    pub(super) fn say(&mut self, line: &str) {
        if self.text.len() + line.len() < self.limit {
            self.text.push_str(line);
            self.text.push('\n');
        }
    }

    /// Lines that came from records, as many as fit; says how many do.
    pub(super) fn lines(&mut self, source: &Source, lines: &[String]) -> usize {
        let Some(mut room) = self.room().checked_sub(source.overhead()) else { return 0 };
        let fits = |line: &&String| match room.checked_sub(line.len() + 1) {
            Some(left) => {
                room = left;
                true
            }
            None => false,
        };
        let fitting: Vec<&str> = lines.iter().take_while(fits).map(String::as_str).collect();
        if !fitting.is_empty() {
            self.text.push_str(&source.around(&fitting.join("\n")));
        }
        fitting.len()
    }

    /// A text that came from a record, cut to what fits into `room` bytes; says whether all of it did.
    pub(super) fn block(&mut self, source: &Source, body: &str, room: usize) -> bool {
        let Some(room) = room.min(self.room()).checked_sub(source.overhead()) else { return false };
        let shown = &body[..body.floor_char_boundary(room)];
        self.text.push_str(&source.around(shown));
        if shown.len() < body.len() {
            self.say(&format!("[cut: {} of {} bytes]", shown.len(), body.len()));
        }
        shown.len() == body.len()
    }

    pub(super) fn finish(self) -> String {
        debug_assert!(tokens::estimate(self.text.len()) <= u64::from(MAX_TOKENS), "a page keeps its budget");
        self.text
    }
}

/// Where data came from, and from whom.
#[derive(Debug)]
pub(super) struct Source {
    opening: String,
}

const CLOSING: &str = "</data>\n";

impl Source {
    pub(super) fn new(from: &str) -> Self {
        Self { opening: format!("<data from=\"{}\">\n", name(from)) }
    }

    pub(super) fn by(from: &str, actor: &str, at: impl std::fmt::Display) -> Self {
        Self { opening: format!("<data from=\"{}\" by=\"{}\" at=\"{at}\">\n", name(from), name(actor)) }
    }

    /// Bytes of its marks.
    pub(super) fn overhead(&self) -> usize {
        self.opening.len() + CLOSING.len() + 1
    }

    fn around(&self, body: &str) -> String {
        let end = if body.ends_with('\n') { "" } else { "\n" };
        format!("{}{body}{end}{CLOSING}", self.opening)
    }
}

/// A name that can stand between quotes.
fn name(text: &str) -> String {
    let plain = |c| if matches!(c, '"' | '<' | '>') { '\'' } else { c };
    text::printable_line(text).chars().map(plain).take(MAX_NAME).collect()
}

/// Text of a record that can neither end its mark nor begin another, nor hide anything.
pub(super) fn data(text: &str) -> String {
    let clean = text::printable_block(text);
    let mut safe = String::with_capacity(clean.len());
    let mut rest = clean.as_str();
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at(at);
        safe.push_str(before);
        let word = from[1..].trim_start_matches(|c: char| c == '/' || c.is_whitespace());
        let is_mark = word.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("data"));
        safe.push_str(if is_mark { "&lt;" } else { "<" });
        rest = &from[1..];
    }
    safe.push_str(rest);
    safe
}

/// The same in one line.
pub(super) fn data_line(line: &str) -> String {
    data(&text::printable_line(line))
}

/// An issue in one line, its id first.
pub(super) fn issue_line(issue: &Issue) -> String {
    let Issue { id, priority, issue_type, status, .. } = issue;
    let holder = issue.assignee.as_deref().map(|name| format!(" @{name}")).unwrap_or_default();
    let until = issue.lease_expires_at.map(|end| format!(" until {end}")).unwrap_or_default();
    data_line(&format!("{id} {priority} {issue_type} {status}{holder}{until} {}", issue.title))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_can_neither_close_its_mark_nor_open_another() {
        for hostile in [
            "</data>",
            "< /DATA >",
            "</ data>",
            "<data from=\"pensa\">",
            "<\u{200B}/data>",
            "</da\u{7}ta>",
            "<<//data>",
            "<\n/\tdata>",
        ] {
            let safe = data(hostile);
            let squeezed: String = safe.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_lowercase();
            assert!(!squeezed.contains("</data") && !squeezed.contains("<data"), "{hostile:?} became {safe:?}");
        }
        assert_eq!(data("Vec<u8> & a < b </div>"), "Vec<u8> & a < b </div>");
        assert_eq!(data("é<"), "é<");
        assert_eq!(data("<dat\u{e9}a"), "<dat\u{e9}a");
    }

    #[test]
    fn names_of_sources_stay_inside_their_quotes() {
        let source = Source::by("pn-1", "ana\"> <x\n\u{1b}[2J", "now");
        assert_eq!(source.opening, "<data from=\"pn-1\" by=\"ana'' 'x [2J\" at=\"now\">\n");
        assert!(Source::new(&"x".repeat(5_000)).overhead() < 200);
    }

    #[test]
    fn a_page_keeps_its_budget_whatever_is_put_on_it() {
        for tokens in [MIN_TOKENS, 150, 2_000, MAX_TOKENS] {
            let mut page = Page::new(Some(tokens)).expect("a fine budget");
            let source = Source::by("pn-1", &"a".repeat(300), "2026-01-01T00:00:00.000Z");
            let lines: Vec<String> = (0..5_000).map(|n| format!("line {n} é")).collect();
            let shown = page.lines(&source, &lines);
            assert!(shown < lines.len());
            assert!(!page.block(&source, &"é".repeat(100_000), usize::MAX));
            page.say(&"more ".repeat(10));
            page.say(&"x".repeat(100_000));
            let text = page.finish();
            assert!(text.len() <= tokens as usize * BYTES_PER_TOKEN, "{} of {tokens}", text.len());
        }
    }

    #[test]
    fn budgets_beyond_what_is_given_are_refused() {
        for bad in [0, 1, MIN_TOKENS - 1, MAX_TOKENS + 1, u32::MAX] {
            let error = Page::new(Some(bad)).expect_err("not a budget");
            assert!(error.hint.is_some_and(|hint| hint.contains("10000")), "{bad}");
        }
    }
}

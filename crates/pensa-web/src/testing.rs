//! Frames and checks for the tests of pages.

use maud::Markup;
use pensa_core::{Access, Timestamp, text::is_unsafe_to_print};

use crate::layout::{Frame, Medium};

/// The frame of someone who may do everything.
pub(crate) fn frame() -> Frame {
    Frame {
        medium: Medium::Served,
        root: String::new(),
        here: "/ui/here".into(),
        project: "tests".into(),
        actor: Some("ana".into()),
        may: Access::Operate,
        csrf: Some("the-csrf".into()),
        has_session: true,
        last_event: 7,
        now: "2026-02-27T15:00:00.000Z".parse::<Timestamp>().expect("a time"),
        current: None,
        notice: None,
    }
}

pub(crate) fn viewer() -> Frame {
    Frame { may: Access::Read, ..frame() }
}

/// Renders with hostile texts, and checks that none of them becomes markup, an address that acts, or hides the rest.
pub(crate) fn assert_harmless(render: impl Fn(&str) -> Markup) {
    for hostile in [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' onmouseover='alert(1)",
        "</textarea></select></pre></svg></title><script>alert(1)</script>",
        "[x](javascript:alert(1)) ![y](https://evil.example/y.png) <iframe src=//evil.example>",
    ] {
        let html = render(hostile).into_string();
        for tag in html.split('<').skip(1) {
            let name: String = tag.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
            assert!(!["script", "img", "iframe", "style"].contains(&name.as_str()), "{hostile}: <{tag}");
            let attributes = without_values(tag.split('>').next().unwrap_or_default());
            assert!(
                !attributes.split_whitespace().skip(1).any(|name| name.starts_with("on") || name == "style"),
                "<{tag}"
            );
        }
        for scheme in ["href=\"javascript:", "src=\"http", "action=\"http"] {
            assert!(!html.contains(scheme), "{hostile}: {html}");
        }
    }
    let hidden = render("a\u{202E}b\u{2066}c").into_string();
    // Where text from data is shown it stands in an element of its own direction.
    assert!(!hidden.contains('\u{202E}') || hidden.contains("<bdi>"), "{hidden}");
    assert!(!render("x").into_string().chars().any(|c| c != '\n' && is_unsafe_to_print(c)));
}

/// The inside of a tag with its quoted values left out.
fn without_values(tag: &str) -> String {
    tag.split('"').step_by(2).collect::<Vec<_>>().join(" ")
}

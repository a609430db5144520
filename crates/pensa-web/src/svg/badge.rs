//! A badge: a word and a value side by side.

use maud::html;

/// Pixels of a character, and around a text.
const CHARACTER: usize = 7;
const MARGIN: usize = 6;

/// A badge whose value stands out if it is worth a look.
pub fn badge(label: &str, value: &str, stands_out: bool) -> String {
    let width = |text: &str| text.chars().count() * CHARACTER + 2 * MARGIN;
    let (left, right) = (width(label), width(value));
    let colour = if stands_out { "#006B4F" } else { "#5A5A5A" };
    let text = |x: usize, words: &str| {
        html! { text x=(x) y="14" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11" fill="#FFFFFF" { (words) } }
    };
    let badge = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(left + right) height="20" role="img" aria-label=(format!("{label}: {value}")) {
            rect width=(left) height="20" fill="#333333" {}
            rect x=(left) width=(right) height="20" fill=(colour) {}
            (text(MARGIN, label)) (text(left + MARGIN, value))
        }
    };
    badge.into_string() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_badge_says_its_value_and_has_room_for_it() {
        let svg = badge("ready", "12", true);
        assert!(
            svg.starts_with("<svg xmlns=") && svg.contains("aria-label=\"ready: 12\"") && svg.contains("width=\"73\""),
            "{svg}"
        );
        assert_ne!(svg, badge("ready", "12", false));
        assert!(badge("<script>", "&", true).contains("&lt;script&gt;"));
    }
}

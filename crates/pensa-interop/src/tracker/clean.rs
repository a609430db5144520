//! Brings texts of other trackers into a form that can be stored: no control characters, lines of limited length.

use pensa_core::id::IssueId;
use pensa_core::issue::Criterion;
use pensa_core::text::LINE_CHARS;

/// A text in one line without control characters; `None` if nothing is left.
pub(super) fn line(text: &str) -> Option<String> {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = line.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// The same, for a line of limited length; `None` if it is longer.
pub(super) fn short_line(text: &str) -> Option<String> {
    line(text).filter(|line| line.chars().count() <= LINE_CHARS)
}

/// A text of several lines without control characters; `None` if nothing is left.
pub(super) fn block(text: &str) -> Option<String> {
    let text = text.replace("\r\n", "\n");
    let text: String = text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect();
    (!text.trim().is_empty()).then_some(text)
}

/// A label, if it can be one.
pub(super) fn label(text: &str) -> Option<String> {
    short_line(text).filter(|label| !label.contains(','))
}

/// Labels in their stored form.
pub(super) fn labels<'a>(given: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut labels: Vec<String> = given.into_iter().filter_map(label).collect();
    labels.sort();
    labels.dedup();
    labels
}

/// A reference to another tracker: an address, or `tracker:key`. `gh-9` and `#9` of GitHub become `gh:9`.
pub(super) fn reference(text: &str) -> Option<String> {
    let text = short_line(text).filter(|text| !text.contains(char::is_whitespace))?;
    let has_both = |text: &str| text.split_once(':').is_some_and(|(kind, key)| !kind.is_empty() && !key.is_empty());
    if has_both(&text) {
        return Some(text);
    }
    let (kind, key) = text.split_once('-')?;
    let other = format!("{kind}:{key}");
    (kind.bytes().all(|byte| byte.is_ascii_alphanumeric()) && has_both(&other)).then_some(other)
}

/// The acceptance criteria that a text lists, one in a line; `None` if it is not such a list.
pub(super) fn criteria(text: &str) -> Option<Vec<Criterion>> {
    let mut criteria: Vec<Criterion> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let item = without_bullet(line.trim());
        let (done, item) = match item.get(..3) {
            Some("[ ]") => (false, &item[3..]),
            Some("[x]" | "[X]") => (true, &item[3..]),
            _ => (false, item),
        };
        let text = short_line(item)?;
        match criteria.iter_mut().find(|known| known.text == text) {
            Some(known) => known.done |= done,
            None => criteria.push(Criterion { text, done }),
        }
    }
    (!criteria.is_empty() && criteria.len() <= 200).then_some(criteria)
}

/// A line without the mark that makes it an item of a list.
fn without_bullet(line: &str) -> &str {
    for bullet in ["- ", "* ", "+ "] {
        if let Some(item) = line.strip_prefix(bullet) {
            return item.trim_start();
        }
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    match line.get(digits..).and_then(|rest| rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))) {
        Some(item) if digits > 0 => item.trim_start(),
        _ => line,
    }
}

/// An id made of words that may have any characters: others than letters, digits and `-_.:` become `-`.
pub(super) fn id(words: &str) -> Option<IssueId> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    let id: String = words.trim().chars().map(|c| if is_fine(c) { c } else { '-' }).collect();
    id.parse().ok().filter(|_| id.contains(|c: char| c.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_lose_what_could_control_a_terminal() {
        assert_eq!(line(" a\u{1b}[31mb\nc "), Some("a [31mb c".to_owned()));
        assert_eq!(block("a\r\n\u{7}b\tc\n"), Some("a\nb\tc\n".to_owned()));
        assert_eq!((line(" \n"), block("\u{1b}\n"), short_line(&"x".repeat(501))), (None, None, None));
    }

    #[test]
    fn lists_of_criteria_are_read_in_the_forms_people_write() {
        let text = "- [ ] one\n* [x] two\n\n3. three\n4) four\nfive\n";
        let criteria = criteria(text).expect("criteria");
        let shown: Vec<(&str, bool)> = criteria.iter().map(|one| (one.text.as_str(), one.done)).collect();
        assert_eq!(shown, [("one", false), ("two", true), ("three", false), ("four", false), ("five", false)]);
        assert_eq!(super::criteria(&"x".repeat(501)), None);
    }

    #[test]
    fn references_get_the_form_tracker_colon_key() {
        for (given, expected) in [
            ("https://example.com/1", Some("https://example.com/1")),
            ("gh-9", Some("gh:9")),
            ("jira-PROJ-12", Some("jira:PROJ-12")),
            ("linear:ENG-1", Some("linear:ENG-1")),
            ("9", None),
            ("two words", None),
            ("-", None),
        ] {
            assert_eq!(reference(given).as_deref(), expected, "{given}");
        }
    }
}

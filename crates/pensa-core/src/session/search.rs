//! Searches the data of entries for a text.
//!
//! The engine selects candidates in SQL with [`Needle::ascii_part`], so that most entries need not be parsed.

use serde_json::Value;

use super::object::Object;
use crate::error::{Error, Result};
use crate::text::{block, fold};

/// Characters in an excerpt before and after the match.
const CONTEXT_CHARS: usize = 60;

/// A search text. Case is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needle {
    folded: String,
}

impl Needle {
    pub fn new(text: &str) -> Result<Self> {
        if text.is_empty() {
            return Err(Error::invalid("the text to search for is empty"));
        }
        Ok(Self { folded: fold(&block("the text to search for", text)?) })
    }

    /// The longest part that JSON does not escape. The lower-cased JSON of every match contains it if that JSON is all
    /// ASCII. It may be empty.
    pub fn ascii_part(&self) -> &str {
        let is_unescaped = |c: char| matches!(c, ' '..='~') && c != '"' && c != '\\';
        self.folded.split(|c| !is_unescaped(c)).max_by_key(|part| part.len()).unwrap_or_default()
    }

    /// An excerpt around the first match in the string values of `data`; `None` if there is none. Keys do not match.
    pub fn find(&self, data: &Object) -> Option<String> {
        data.values().find_map(|value| self.find_in(value))
    }

    fn find_in(&self, value: &Value) -> Option<String> {
        match value {
            Value::String(text) => self.excerpt(text),
            Value::Array(items) => items.iter().find_map(|item| self.find_in(item)),
            Value::Object(object) => self.find(object),
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        }
    }

    fn excerpt(&self, text: &str) -> Option<String> {
        let at = fold(text).find(&self.folded)?;
        // Folding changes the length of some characters, so map the position back to the original text.
        let mut folded = 0;
        let start = text.char_indices().find(|(_, c)| {
            let here = folded;
            folded += fold(c.encode_utf8(&mut [0; 4])).len();
            here <= at && at < folded
        });
        let start = start.map_or(0, |(start, _)| start);
        let before = text[..start].char_indices().rev().nth(CONTEXT_CHARS - 1).map_or(0, |(from, _)| from);
        let rest = &text[start..];
        let length = self.folded.chars().count() + CONTEXT_CHARS;
        let end = rest.char_indices().nth(length).map_or(text.len(), |(end, _)| start + end);
        let (head, tail) = (if before > 0 { "…" } else { "" }, if end < text.len() { "…" } else { "" });
        Some(format!("{head}{}{tail}", &text[before..end]))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn found(wanted: &str, data: &Value) -> Option<String> {
        Needle::new(wanted).expect("a text").find(data.as_object().expect("an object"))
    }

    #[test]
    fn strings_match_at_any_depth_but_keys_and_numbers_do_not() {
        let data =
            json!({"text": "Hello", "content": [{"type": "tool_use", "input": {"path": "SRC/Main.rs"}}], "n": 42});
        assert_eq!(found("hELLO", &data).as_deref(), Some("Hello"));
        assert_eq!(found("src/main", &data).as_deref(), Some("SRC/Main.rs"));
        for absent in ["content", "42", "hello world", "\"", "input"] {
            assert_eq!(found(absent, &data), None, "{absent}");
        }
    }

    #[test]
    fn case_is_ignored_in_every_script() {
        assert_eq!(found("STRASSE", &json!({"a": "die straße"})).as_deref(), Some("die straße"));
        assert_eq!(found("ärger", &json!({"a": "ÄRGER"})).as_deref(), Some("ÄRGER"));
        assert_eq!(found("k", &json!({"a": "\u{212A}"})).as_deref(), Some("\u{212A}"));
    }

    #[test]
    fn excerpt_is_short_and_contains_the_match() {
        let said = format!("{}needle{}", "ẞ ".repeat(10_000), " é".repeat(10_000));
        let excerpt = found("NEEDLE", &json!({"a": said})).expect("found");
        assert!(excerpt.starts_with('…') && excerpt.ends_with('…') && excerpt.contains("needle"), "{excerpt}");
        assert_eq!(excerpt.chars().count(), 2 + 2 * CONTEXT_CHARS + "needle".len());
    }

    #[test]
    fn empty_text_and_control_characters_are_refused() {
        for wanted in ["", "\u{1b}", "a\0b"] {
            assert!(Needle::new(wanted).is_err(), "{wanted:?}");
        }
    }

    proptest! {
        /// Selecting candidates by this part must never miss a match.
        #[test]
        fn ascii_part_is_in_the_json_of_every_match(
            said in "[ -~\n\t\"\\\\]{0,40}", from in 0usize..40, length in 1usize..10, upper: bool,
        ) {
            let wanted: String = said.chars().skip(from).take(length).collect();
            prop_assume!(!wanted.is_empty());
            let wanted = if upper { wanted.to_uppercase() } else { wanted };
            let needle = Needle::new(&wanted).expect("a text");
            let data = json!({"text": said});
            prop_assert!(needle.find(data.as_object().expect("an object")).is_some());
            let stored = crate::json::to_line(&data).expect("JSON");
            prop_assert!(stored.to_ascii_lowercase().contains(needle.ascii_part()), "{stored} {:?}", needle.ascii_part());
        }

        #[test]
        fn excerpt_never_panics(said in "(\\PC|ß|ﬁ|İ|\u{0}|\n){0,60}", wanted in "(\\PC|s|i|ﬁ){1,3}") {
            if let Some(excerpt) = found(&wanted, &json!({"a": said})) {
                prop_assert!(excerpt.chars().count() <= 2 * CONTEXT_CHARS + 2 + 3 * wanted.chars().count());
            }
        }
    }
}

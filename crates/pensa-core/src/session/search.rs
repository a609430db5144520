//! Looking for a text in the data of entries.
//!
//! Which entries are worth a look is left to the engine, which [`Needle::sure`] helps to leave out most.

use serde_json::Value;

use super::object::Object;
use crate::error::{Error, Result};
use crate::text;

/// Characters of an excerpt before and after what was found.
const AROUND: usize = 60;

/// A text that is looked for, whatever its case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needle {
    folded: String,
}

impl Needle {
    pub fn new(wanted: &str) -> Result<Self> {
        if wanted.is_empty() {
            return Err(Error::invalid("the text to search for is empty"));
        }
        Ok(Self { folded: text::fold(&text::block("the text to search for", wanted)?) })
    }

    /// A part of it that the lower-cased JSON of every match has, if that JSON is all ASCII: its longest row of
    /// characters that JSON writes as they are. It may be empty.
    pub fn sure(&self) -> &str {
        let as_it_is = |c: char| matches!(c, ' '..='~') && c != '"' && c != '\\';
        self.folded.split(|c| !as_it_is(c)).max_by_key(|part| part.len()).unwrap_or_default()
    }

    /// What stands around the first place where one of the texts in `data` has it.
    pub fn find(&self, data: &Object) -> Option<String> {
        data.values().find_map(|value| self.find_in(value))
    }

    fn find_in(&self, value: &Value) -> Option<String> {
        match value {
            Value::String(said) => self.excerpt(said),
            Value::Array(items) => items.iter().find_map(|item| self.find_in(item)),
            Value::Object(object) => self.find(object),
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        }
    }

    fn excerpt(&self, said: &str) -> Option<String> {
        let at = text::fold(said).find(&self.folded)?;
        // Folding changes the length of some characters, so the place is counted off again.
        let mut folded = 0;
        let start = said.char_indices().find(|(_, c)| {
            let here = folded;
            folded += text::fold(c.encode_utf8(&mut [0; 4])).len();
            here <= at && at < folded
        });
        let start = start.map_or(0, |(start, _)| start);
        let before = said[..start].char_indices().rev().nth(AROUND - 1).map_or(0, |(from, _)| from);
        let rest = &said[start..];
        let length = self.folded.chars().count() + AROUND;
        let end = rest.char_indices().nth(length).map_or(said.len(), |(end, _)| start + end);
        let (head, tail) = (if before > 0 { "…" } else { "" }, if end < said.len() { "…" } else { "" });
        Some(format!("{head}{}{tail}", &said[before..end]))
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
    fn texts_are_found_at_any_depth_and_names_and_numbers_are_not() {
        let data =
            json!({"text": "Hello", "content": [{"type": "tool_use", "input": {"path": "SRC/Main.rs"}}], "n": 42});
        assert_eq!(found("hELLO", &data).as_deref(), Some("Hello"));
        assert_eq!(found("src/main", &data).as_deref(), Some("SRC/Main.rs"));
        for absent in ["content", "42", "hello world", "\"", "input"] {
            assert_eq!(found(absent, &data), None, "{absent}");
        }
    }

    #[test]
    fn case_does_not_matter_in_any_script() {
        assert_eq!(found("STRASSE", &json!({"a": "die straße"})).as_deref(), Some("die straße"));
        assert_eq!(found("ärger", &json!({"a": "ÄRGER"})).as_deref(), Some("ÄRGER"));
        assert_eq!(found("k", &json!({"a": "\u{212A}"})).as_deref(), Some("\u{212A}"));
    }

    #[test]
    fn an_excerpt_is_short_and_has_what_was_found() {
        let said = format!("{}needle{}", "ẞ ".repeat(10_000), " é".repeat(10_000));
        let excerpt = found("NEEDLE", &json!({"a": said})).expect("found");
        assert!(excerpt.starts_with('…') && excerpt.ends_with('…') && excerpt.contains("needle"), "{excerpt}");
        assert_eq!(excerpt.chars().count(), 2 + 2 * AROUND + "needle".len());
    }

    #[test]
    fn nothing_and_controls_are_not_looked_for() {
        for wanted in ["", "\u{1b}", "a\0b"] {
            assert!(Needle::new(wanted).is_err(), "{wanted:?}");
        }
    }

    proptest! {
        /// Leaving out what lacks the sure part must never leave out a match.
        #[test]
        fn the_sure_part_stands_in_the_json_of_every_match(
            said in "[ -~\n\t\"\\\\]{0,40}", from in 0usize..40, length in 1usize..10, upper: bool,
        ) {
            let wanted: String = said.chars().skip(from).take(length).collect();
            prop_assume!(!wanted.is_empty());
            let wanted = if upper { wanted.to_uppercase() } else { wanted };
            let needle = Needle::new(&wanted).expect("a text");
            let data = json!({"text": said});
            prop_assert!(needle.find(data.as_object().expect("an object")).is_some());
            let stored = crate::json::to_line(&data).expect("JSON");
            prop_assert!(stored.to_ascii_lowercase().contains(needle.sure()), "{stored} {:?}", needle.sure());
        }

        #[test]
        fn no_text_makes_an_excerpt_fail(said in "(\\PC|ß|ﬁ|İ|\u{0}|\n){0,60}", wanted in "(\\PC|s|i|ﬁ){1,3}") {
            if let Some(excerpt) = found(&wanted, &json!({"a": said})) {
                prop_assert!(excerpt.chars().count() <= 2 * AROUND + 2 + 3 * wanted.chars().count());
            }
        }
    }
}

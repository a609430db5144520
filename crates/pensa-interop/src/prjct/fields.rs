//! Takes fields out of an object. What is not taken, or has an unexpected type, stays there and is stored with the
//! record.

use std::str::FromStr;

use pensa_core::issue::Priority;
use pensa_core::similar::hash64;
use pensa_core::text::LINE_CHARS;
use pensa_core::work::WorkKind;
use pensa_core::{Timestamp, json};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::files;

pub(super) type JsonFields = Map<String, Value>;

/// Takes the first of the fields that is a non-empty text. A text with forbidden characters is returned without them,
/// and the original stays.
pub(super) fn text(fields: &mut JsonFields, names: &[&str]) -> Option<String> {
    for name in names {
        let Some(Value::String(given)) = fields.get(*name) else { continue };
        let clean = cleaned(given);
        if clean.trim().is_empty() {
            continue;
        }
        if clean == *given {
            fields.shift_remove(*name);
        }
        return Some(clean);
    }
    None
}

/// Takes a text that must be one line. A longer one is cut, and the original stays.
pub(super) fn line(fields: &mut JsonFields, names: &[&str]) -> Option<String> {
    let name =
        names.iter().find(|name| fields.get(**name).and_then(Value::as_str).is_some_and(|t| !t.trim().is_empty()))?;
    let whole = fields.get(*name)?.as_str()?.to_owned();
    let text = text(fields, &[name])?;
    let line = first_line(&text);
    if line != text.trim() {
        fields.insert((*name).to_owned(), Value::String(whole));
    }
    Some(line)
}

/// Replaces control characters, which could harm a terminal, and CRLF line endings.
fn cleaned(text: &str) -> String {
    let kept = |c: char| if c.is_control() && !matches!(c, '\n' | '\t') { char::REPLACEMENT_CHARACTER } else { c };
    text.replace("\r\n", "\n").chars().map(kept).collect()
}

/// The first line of a text, cut to the length limit.
pub(super) fn first_line(text: &str) -> String {
    let line = title(text);
    if line.chars().count() <= LINE_CHARS {
        return line;
    }
    line.chars().take(LINE_CHARS - 1).chain(['…']).collect()
}

/// The first line of a text, uncut, because existing titles are imported unchanged.
pub(super) fn title(text: &str) -> String {
    text.trim().lines().next().unwrap_or_default().trim().replace('\t', " ")
}

/// The title of a text, and the whole text if it is longer.
pub(super) fn headline(text: &str) -> (String, Option<String>) {
    let title = title(text);
    let more = (title != text.trim()).then(|| text.to_owned());
    (title, more)
}

pub(super) fn time(fields: &mut JsonFields, names: &[&str]) -> Option<Timestamp> {
    let (name, at) = names.iter().find_map(|name| Some((*name, files::time(fields.get(*name)?)?)))?;
    fields.shift_remove(name);
    Some(at)
}

/// Takes an id, if it is valid in Pensa.
pub(super) fn id<T: FromStr>(fields: &mut JsonFields, names: &[&str]) -> Option<T> {
    let (name, id) = names.iter().find_map(|name| Some((*name, id_text(fields.get(*name)?)?.parse().ok()?)))?;
    fields.shift_remove(name);
    Some(id)
}

/// An id written as a text or a whole number.
pub(super) fn id_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) if number.is_u64() => Some(number.to_string()),
        _ => None,
    }
}

/// Takes a priority as a word or a number: critical and 0 are the highest, low and 3 or more the lowest.
pub(super) fn priority(fields: &mut JsonFields) -> Option<Priority> {
    let value = fields.get("priority")?;
    let word = value.as_str().map(|word| word.trim().to_ascii_lowercase());
    let found = match word.as_deref() {
        Some("critical") => Some(Priority::P0),
        Some("high") => Some(Priority::P1),
        Some("medium") => Some(Priority::P2),
        Some("low") => Some(Priority::P3),
        Some(word) => word.strip_prefix('p').unwrap_or(word).parse().ok().map(numbered),
        None => value.as_u64().map(numbered),
    }?;
    fields.shift_remove("priority");
    Some(found)
}

fn numbered(number: u64) -> Priority {
    match number {
        0 => Priority::P0,
        1 => Priority::P1,
        2 => Priority::P2,
        _ => Priority::P3,
    }
}

/// Takes the kind of work. Unknown words stay.
pub(super) fn kind(fields: &mut JsonFields, names: &[&str]) -> Option<WorkKind> {
    let known = |value: &Value| match value.as_str()?.trim().to_ascii_lowercase().as_str() {
        "fix" | "bugfix" => Some(WorkKind::Bug),
        word => word.parse().ok(),
    };
    let (name, kind) = names.iter().find_map(|name| Some((*name, known(fields.get(*name)?)?)))?;
    fields.shift_remove(name);
    Some(kind)
}

/// Takes the texts of a list, or a single text. If the list contains anything else, it also stays.
pub(super) fn texts(fields: &mut JsonFields, names: &[&str]) -> Vec<String> {
    let Some(name) = names.iter().find(|name| fields.get(**name).is_some_and(|value| !value.is_null())) else {
        return Vec::new();
    };
    let (given, is_whole) = match fields.get(*name) {
        Some(Value::String(one)) => (vec![one.clone()], true),
        Some(Value::Array(items)) => {
            let texts: Vec<String> = items.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            let is_whole = texts.len() == items.len();
            (texts, is_whole)
        }
        _ => (Vec::new(), false),
    };
    let texts: Vec<String> = given.iter().map(|text| cleaned(text)).filter(|text| !text.trim().is_empty()).collect();
    if is_whole && texts == given {
        fields.shift_remove(*name);
    }
    texts
}

/// A hash of a value.
pub(super) fn hash<T: Serialize + ?Sized>(value: &T) -> u64 {
    hash64(json::to_line(value).unwrap_or_default().as_bytes())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(value: Value) -> JsonFields {
        value.as_object().cloned().expect("an object")
    }

    #[test]
    fn words_and_numbers_become_priorities() {
        let table = [
            (json!("critical"), Some(Priority::P0)),
            (json!("High"), Some(Priority::P1)),
            (json!("medium"), Some(Priority::P2)),
            (json!("low"), Some(Priority::P3)),
            (json!(0), Some(Priority::P0)),
            (json!(1), Some(Priority::P1)),
            (json!(2), Some(Priority::P2)),
            (json!(3), Some(Priority::P3)),
            (json!(99), Some(Priority::P3)),
            (json!("1"), Some(Priority::P1)),
            (json!("p0"), Some(Priority::P0)),
            (json!("soon"), None),
            (json!(-1), None),
            (json!(1.5), None),
            (json!([1]), None),
        ];
        for (given, expected) in table {
            let mut object = fields(json!({"priority": given}));
            assert_eq!(priority(&mut object), expected, "{given}");
            assert_eq!(object.is_empty(), expected.is_some(), "{given}: what is not understood stays");
        }
    }

    #[test]
    fn fields_of_another_type_or_with_forbidden_characters_stay() {
        let mut object = fields(json!({"a": 1, "b": " ", "c": "x\u{1b}[2J", "d": "fine", "e": null}));
        assert_eq!(text(&mut object, &["a", "b", "c"]).as_deref(), Some("x\u{fffd}[2J"));
        assert_eq!(text(&mut object, &["d"]).as_deref(), Some("fine"));
        assert_eq!(text(&mut object, &["e"]), None);
        assert_eq!(object.keys().collect::<Vec<_>>(), ["a", "b", "c", "e"]);
        let mut object = fields(json!({"long": "x".repeat(501), "short": "two words"}));
        assert_eq!(line(&mut object, &["long"]).expect("a line").chars().count(), LINE_CHARS);
        assert_eq!(line(&mut object, &["short"]).as_deref(), Some("two words"));
        assert_eq!(object.keys().collect::<Vec<_>>(), ["long"]);
        let mut object = fields(json!({"tags": ["a", 1], "files": ["f"], "one": "o", "no": {}}));
        assert_eq!(texts(&mut object, &["tags"]), ["a"]);
        assert_eq!(
            (texts(&mut object, &["files"]), texts(&mut object, &["one"])),
            (vec!["f".into()], vec!["o".into()])
        );
        assert!(texts(&mut object, &["no"]).is_empty());
        assert_eq!(object.keys().collect::<Vec<_>>(), ["tags", "no"]);
    }
}

//! Describes the changes of an event in a few words, for listings of the history.

use serde_json::{Map, Value};

/// Maximum length of a value from data, in characters.
const MAX_VALUE_CHARS: usize = 60;

/// Fields that a listing shows anyway.
const HIDDEN: [&str; 3] = ["id", "created_at", "closed_at"];

/// Fields that every attached record has, which do not describe its content.
const COMMON: [&str; 5] = ["id", "issue_id", "actor", "created_at", "updated_at"];

/// Describes the changed fields, such as `priority p2 → p0`. A field that is null before and after is left out.
pub fn describe(detail: &Map<String, Value>) -> String {
    let word = |value: &Value| match value {
        Value::Null => None,
        Value::String(text) => Some(shorten(text, MAX_VALUE_CHARS)),
        Value::Object(fields) => {
            let content = fields.iter().filter(|(name, _)| !COMMON.contains(&name.as_str()));
            content.filter_map(|(_, value)| value.as_str()).next().map(|text| shorten(text, MAX_VALUE_CHARS))
        }
        other => Some(shorten(&other.to_string(), MAX_VALUE_CHARS)),
    };
    let undoes = detail.get("undoes").and_then(Value::as_array).into_iter().flatten();
    let undoes = undoes.map(|event| format!("undoes {event}"));
    let each = detail.iter().filter(|(name, _)| !HIDDEN.contains(&name.as_str())).filter_map(|(name, change)| {
        match (word(&change["old"]), word(&change["new"])) {
            (Some(old), Some(new)) => Some(format!("{name} {old} → {new}")),
            (None, Some(new)) => Some(format!("{name} {new}")),
            (Some(old), None) => Some(format!("{name} {old} → none")),
            (None, None) => change.as_str().map(|text| format!("{name} {}", shorten(text, MAX_VALUE_CHARS))),
        }
    });
    undoes.chain(each).collect::<Vec<_>>().join(", ")
}

/// Cuts a text to `longest` characters and adds `…` if it was longer.
pub fn shorten(text: &str, longest: usize) -> String {
    let mut short: String = text.chars().take(longest).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn changes_are_described_in_a_few_words() {
        let long = "x".repeat(100);
        for (detail, expected) in [
            (json!({"priority": {"old": "p2", "new": "p0"}}), "priority p2 → p0".to_owned()),
            (json!({"assignee": {"old": "ana", "new": null}, "id": {"new": "x"}}), "assignee ana → none".to_owned()),
            (json!({"comment": {"old": null, "new": {"text": "said"}}}), "comment said".to_owned()),
            (
                json!({"ref": {"old": {"id": "rf-1", "actor": "ana", "target": "linear:1", "title": "t"}, "new": null}}),
                "ref linear:1 → none".to_owned(),
            ),
            (json!({"undoes": [3, 4]}), "undoes 3, undoes 4".to_owned()),
            (json!({"via": "pn-1", "n": 5, "title": {"new": long}}), format!("via pn-1, title {}…", &long[..60])),
            (json!({}), String::new()),
        ] {
            let Value::Object(detail) = detail else { panic!("an object") };
            assert_eq!(describe(&detail), expected);
        }
    }
}

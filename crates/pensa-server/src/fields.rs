//! Converts text from paths and query strings to the types in an operation's JSON schema.

use std::collections::HashMap;

use pensa_core::{Error, Result};
use serde_json::{Map, Value};

/// Short names that the command line and serde also accept; schemas do not contain them.
const ALIASES: [(&str, &str); 6] = [
    ("type", "issue_type"),
    ("n", "limit"),
    ("by_type", "by_issue_type"),
    ("query", "q"),
    ("dep", "deps"),
    ("label", "labels"),
];
/// Depth limit for `$ref`s, against cycles.
const MAX_REFERENCES: u8 = 8;

/// The JSON type that a field's text is converted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldKind {
    Text,
    Integer,
    Boolean,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Field {
    kind: FieldKind,
    /// Whether the field is a list; repeated keys append to it.
    is_list: bool,
}

/// The fields of one operation.
#[derive(Debug)]
pub(crate) struct Fields(HashMap<String, Field>);

impl Fields {
    /// Reads the fields from an operation's schema.
    pub(crate) fn of_schema(schema: &Value) -> Self {
        let properties = schema.get("properties").and_then(Value::as_object);
        let field = |(name, property): (&String, &Value)| (name.clone(), field(property, schema));
        Self(properties.into_iter().flatten().map(field).collect())
    }

    /// Adds a field from a path or a query to the input.
    pub(crate) fn add_text(&self, input: &mut Map<String, Value>, name: &str, text: String) -> Result<()> {
        let name = match ALIASES.iter().find(|(alias, real)| *alias == name && self.0.contains_key(*real)) {
            Some((alias, real)) if !self.0.contains_key(*alias) => *real,
            _ => name,
        };
        // An unknown field is passed on: the operation refuses it.
        let field = self.0.get(name).copied().unwrap_or(Field { kind: FieldKind::Text, is_list: false });
        let value = convert(field.kind, name, text)?;
        if !field.is_list {
            return add(input, name, value);
        }
        match input.get_mut(name) {
            Some(Value::Array(list)) => list.push(value),
            _ => drop(input.insert(name.to_owned(), Value::Array(vec![value]))),
        }
        Ok(())
    }
}

/// Adds a field; repeating it with the same value is allowed.
pub(crate) fn add(input: &mut Map<String, Value>, name: &str, value: Value) -> Result<()> {
    match input.get(name) {
        None => {
            input.insert(name.to_owned(), value);
            Ok(())
        }
        Some(known) if *known == value => Ok(()),
        Some(_) => Err(Error::invalid(format!("{name} is given twice, with different values"))
            .hint("give it once: in the path, in the query or in the body")),
    }
}

fn convert(kind: FieldKind, name: &str, text: String) -> Result<Value> {
    let refuse = |expected: &str| Error::invalid(format!("{name} must be {expected}, not {text:?}"));
    match kind {
        FieldKind::Integer => text.parse::<i64>().map(Value::from).map_err(|_| refuse("a whole number")),
        FieldKind::Boolean => match text.as_str() {
            // A name without a value, as in `?by_status`, means true.
            "true" | "1" | "" => Ok(Value::Bool(true)),
            "false" | "0" => Ok(Value::Bool(false)),
            _ => Err(refuse("true or false")),
        },
        FieldKind::Text => Ok(Value::String(text)),
    }
}

fn field(property: &Value, root: &Value) -> Field {
    let mut types = Vec::new();
    let mut items = None;
    collect(property, root, MAX_REFERENCES, &mut types, &mut items);
    match items {
        Some(items) if types.contains(&"array") => Field { is_list: true, ..field(items, root) },
        _ => Field { kind: kind(&types), is_list: false },
    }
}

/// If text is among the allowed types, the value stays text.
fn kind(types: &[&str]) -> FieldKind {
    match types {
        _ if types.contains(&"string") => FieldKind::Text,
        _ if types.contains(&"integer") => FieldKind::Integer,
        _ if types.contains(&"boolean") => FieldKind::Boolean,
        _ => FieldKind::Text,
    }
}

/// Collects all types that a schema allows, following `$ref` and alternatives, and the schema of list items.
fn collect<'s>(schema: &'s Value, root: &'s Value, left: u8, types: &mut Vec<&'s str>, items: &mut Option<&'s Value>) {
    match schema.get("type") {
        Some(Value::String(one)) => types.push(one),
        Some(Value::Array(is_list)) => types.extend(is_list.iter().filter_map(Value::as_str)),
        _ => {}
    }
    if let Some(of) = schema.get("items") {
        *items = Some(of);
    }
    if left == 0 {
        return;
    }
    let referred = schema.get("$ref").and_then(Value::as_str).and_then(|to| root.pointer(to.strip_prefix('#')?));
    let alternatives = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
    for inner in referred.into_iter().chain(alternatives) {
        collect(inner, root, left - 1, types, items);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields() -> Fields {
        Fields::of_schema(&json!({
            "properties": {
                "id": {"$ref": "#/$defs/Ref"},
                "limit": {"type": ["integer", "null"]},
                "force": {"type": "boolean"},
                "level": {"anyOf": [{"$ref": "#/$defs/Level"}, {"type": "null"}]},
                "tags": {"type": "array", "items": {"type": "integer"}},
                "labels": {"type": "array", "items": {"type": "string"}},
            },
            "$defs": {"Ref": {"type": "string"}, "Level": {"type": "integer"}},
        }))
    }

    #[test]
    fn text_is_converted_to_the_type_in_the_schema() {
        let mut input = Map::new();
        let given = [
            ("id", "7"),
            ("n", "5"),
            ("force", "1"),
            ("level", "-3"),
            ("tags", "1"),
            ("tags", "2"),
            ("label", "a"),
            ("label", "b"),
            ("odd", "1"),
        ];
        for (name, text) in given {
            fields().add_text(&mut input, name, text.to_owned()).expect(name);
        }
        let expected = json!({"id": "7", "limit": 5, "force": true, "level": -3, "tags": [1, 2], "labels": ["a", "b"],
            "odd": "1"});
        assert_eq!(Value::Object(input), expected);
    }

    #[test]
    fn error_for_a_wrong_type_names_the_field() {
        for (name, text) in [("limit", "x"), ("limit", ""), ("force", "yes"), ("level", "1.5"), ("tags", "a")] {
            let error = fields().add_text(&mut Map::new(), name, text.to_owned()).expect_err(text);
            assert!(error.message.starts_with(name), "{error}");
        }
    }

    #[test]
    fn a_field_may_be_repeated_only_with_the_same_value() {
        let mut input = Map::new();
        for _ in 0..2 {
            fields().add_text(&mut input, "id", "a".into()).expect("the same");
        }
        let error = fields().add_text(&mut input, "id", "b".into()).expect_err("another");
        assert!(error.message.contains("id"), "{error}");
    }
}

//! Generates the schemas of tool inputs without anything that a model does not need, because every word costs tokens.

use rmcp::model::JsonObject;
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// The input schema of a type; the type's doc comment is the description.
pub(super) fn of<T: JsonSchema>() -> JsonObject {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<T>().to_value();
    slim(&mut schema);
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

fn slim(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    for superfluous in ["title", "format", "minimum", "maximum", "default"] {
        fields.remove(superfluous);
    }
    unwrap_option(fields);
    unite_words(fields);
    if let Some(properties) = fields.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(slim);
    }
    if let Some(items) = fields.get_mut("items") {
        slim(items);
        // The list's own description is enough.
        items.as_object_mut().map(|items| items.remove("description"));
    }
}

/// Removes null from the type of an optional field.
fn unwrap_option(fields: &mut Map<String, Value>) {
    if let Some(types) = fields.get("type").and_then(Value::as_array) {
        let mut named = types.iter().filter(|name| *name != "null").cloned();
        if let (Some(only), None) = (named.next(), named.next()) {
            fields.insert("type".to_owned(), only);
        }
    }
    let choice = fields.get("anyOf").and_then(Value::as_array);
    let other = choice.and_then(|choice| choice.iter().find(|one| one["type"] != "null")).cloned();
    if let Some(Value::Object(inner)) = other {
        fields.remove("anyOf");
        inner.into_iter().for_each(|(name, value)| {
            fields.entry(name).or_insert(value);
        });
    }
    if let Some(words) = fields.get_mut("enum").and_then(Value::as_array_mut) {
        words.retain(|word| !word.is_null());
    }
}

/// Merges enum values with descriptions of their own into one plain list of values.
fn unite_words(fields: &mut Map<String, Value>) {
    let Some(choice) = fields.get("oneOf").and_then(Value::as_array) else { return };
    let mut words = Vec::new();
    for one in choice {
        match (one.get("const"), one.get("enum").and_then(Value::as_array)) {
            (Some(word), _) => words.push(word.clone()),
            (None, Some(several)) => words.extend(several.iter().cloned()),
            (None, None) => return,
        }
    }
    fields.remove("oneOf");
    fields.insert("type".to_owned(), json!("string"));
    fields.insert("enum".to_owned(), words.into());
}

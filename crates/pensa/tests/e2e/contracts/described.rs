//! Checks an answer against the schema of its operation in the OpenAPI document, so that no step can be mislabelled.

use std::sync::LazyLock;

use serde_json::Value;

static DOCUMENT: LazyLock<Value> = LazyLock::new(pensa_server::openapi);

#[track_caller]
pub(super) fn check(operation: &str, answer: &Value) {
    let Some(entry) = pensa_engine::entry(operation) else { return };
    let described = &DOCUMENT["paths"][entry.route.path][entry.route.method.as_str().to_lowercase()]["responses"]
        [entry.route.success.to_string()]["content"]["application/json"]["schema"];
    assert!(fits(described, answer), "not what {operation} answers: {answer:#}\n{described:#}");
}

/// Whether a value has all required fields and no undescribed ones.
fn fits(schema: &Value, value: &Value) -> bool {
    if let Some(to) = schema["$ref"].as_str() {
        return DOCUMENT.pointer(to.trim_start_matches('#')).is_some_and(|schema| fits(schema, value));
    }
    if let Some(one_of) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        return one_of.iter().any(|schema| fits(schema, value));
    }
    let kind = schema.get("type");
    let is = |name: &str| {
        kind.is_none_or(|kind| kind == name || kind.as_array().is_some_and(|of| of.contains(&name.into())))
    };
    match value {
        Value::Array(items) => is("array") && items.iter().all(|item| fits(&schema["items"], item)),
        Value::Object(fields) => {
            let mut required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let open = schema.get("properties").is_none() || schema.get("additionalProperties").is_some();
            let described = |(name, value): (&String, &Value)| match schema["properties"].get(name) {
                Some(schema) => fits(schema, value),
                None => open,
            };
            required.all(|name| fields.contains_key(name)) && fields.iter().all(described)
        }
        Value::Null => is("null"),
        Value::Bool(_) => is("boolean"),
        Value::Number(_) => is("number") || is("integer"),
        Value::String(_) => is("string"),
    }
}

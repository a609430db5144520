//! Generates the OpenAPI document of the catalog.

use pensa_core::event::LogEntry;
use pensa_core::{Error, Method, VERSION};
use pensa_engine::{Entry, IdempotentRequest, catalog};
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::stream;

/// Path of the document.
pub(crate) const PATH: &str = "/openapi.json";
const DEFINITIONS: &str = "/components/schemas";

/// The OpenAPI 3.1 document of all operations.
pub fn openapi() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = DEFINITIONS.into();
        settings.meta_schema = None;
    });
    let mut generator = SchemaGenerator::new(settings);
    let error = generator.subschema_for::<Error>();
    let mut paths = Map::new();
    for entry in catalog() {
        let path = paths.entry(entry.route.path).or_insert_with(|| json!({}));
        path[entry.route.method.as_str().to_ascii_lowercase()] = operation(entry, &mut generator);
    }
    paths.insert(stream::PATH.to_owned(), json!({"get": events(&generator.subschema_for::<LogEntry>().to_value())}));
    paths.insert(PATH.to_owned(), json!({"get": document()}));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Pensa",
            "summary": "Memory and state engine for coding agents",
            "version": VERSION,
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "responses": {"Error": answer("Why it was not done", &error.to_value())},
            "parameters": {
                "Actor": {
                    "name": "Pensa-Actor",
                    "in": "header",
                    "description": "The name under which the request runs, percent-encoded",
                    "schema": {"type": "string", "default": "unknown"},
                },
                "IdempotencyKey": {
                    "name": "Idempotency-Key",
                    "in": "header",
                    "description": "The same key with the same request is done once and answered as before, for a day",
                    "schema": {"type": "string", "minLength": 1, "maxLength": IdempotentRequest::MAX_KEY},
                },
                "Session": {
                    "name": "Pensa-Session",
                    "in": "header",
                    "description": "The caller's session, percent-encoded: a claim made in a session is changed by that session only",
                    "schema": {"type": "string"},
                },
                "Run": {
                    "name": "Pensa-Run",
                    "in": "header",
                    "description": "The run that the caller is a part of, percent-encoded; its session if it names none",
                    "schema": {"type": "string"},
                },
                "Host": {
                    "name": "Pensa-Host",
                    "in": "header",
                    "description": "The machine that the caller runs on, percent-encoded; shown with its claims",
                    "schema": {"type": "string"},
                },
                "Redact": {
                    "name": "Pensa-Redact",
                    "in": "header",
                    "description": "off keeps what looks like a secret in the texts that are sent",
                    "schema": {"type": "string", "enum": ["on", "off"], "default": "on"},
                },
            },
            "securitySchemes": {"token": {
                "type": "http",
                "scheme": "bearer",
                "description": "Needed by everyone; of a daemon only by others than the user who runs it on this machine",
            }},
        },
    })
}

fn operation(entry: &Entry, generator: &mut SchemaGenerator) -> Value {
    let mut input = (entry.input_schema)(generator).to_value();
    if let Some(input) = input.as_object_mut() {
        input.remove("title");
    }
    let help = input.as_object_mut().and_then(|input| input.remove("description"));
    let help = help.as_ref().and_then(Value::as_str).unwrap_or_default();
    let (summary, description) = help.split_once("\n\n").unwrap_or((help, ""));
    let output = (entry.output_schema)(generator).to_value();

    let mut operation = json!({
        "operationId": entry.name,
        "tags": [entry.name.split('.').next().unwrap_or_default()],
        "summary": summary,
        "parameters": parameters(entry, &mut input),
        "responses": {
            entry.route.success.to_string(): answer("Done", &output),
            "default": {"$ref": "#/components/responses/Error"},
        },
    });
    if !description.is_empty() {
        operation["description"] = json!(description);
    }
    if !entry.route.method.fields_in_query() {
        let required = input.get("required").is_some();
        operation["requestBody"] = json!({"required": required, "content": {"application/json": {"schema": input}}});
    }
    operation
}

/// The path, query and header parameters. Path and query fields are removed from `input`, the body's schema.
fn parameters(entry: &Entry, input: &mut Value) -> Vec<Value> {
    let in_path: Vec<&str> = entry.route.path_fields().collect();
    let names: Vec<String> = match input.get("properties").and_then(Value::as_object) {
        Some(properties) => properties.keys().cloned().collect(),
        None => Vec::new(),
    };
    let mut parameters = vec![json!({"$ref": "#/components/parameters/Actor"})];
    if entry.route.method != Method::Get {
        let headers = ["IdempotencyKey", "Session", "Run", "Host", "Redact"];
        parameters.extend(headers.map(|name| json!({"$ref": format!("#/components/parameters/{name}")})));
    }
    for name in names {
        let place = match entry.route.method {
            _ if in_path.contains(&name.as_str()) => "path",
            Method::Get | Method::Delete => "query",
            Method::Post | Method::Patch => continue,
        };
        let (mut schema, required) = take(input, &name);
        let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        let mut parameter = json!({"name": name, "in": place, "required": required, "schema": schema});
        if let Some(description) = description {
            parameter["description"] = description;
        }
        parameters.push(parameter);
    }
    parameters
}

/// Removes a field from an object's schema. Returns its schema and whether it was required.
fn take(object: &mut Value, name: &str) -> (Value, bool) {
    let schema = object["properties"].as_object_mut().and_then(|properties| properties.shift_remove(name));
    let Some(required) = object.get_mut("required").and_then(Value::as_array_mut) else {
        return (schema.unwrap_or_default(), false);
    };
    let before = required.len();
    required.retain(|other| other != name);
    let (was_required, none_left) = (required.len() < before, required.is_empty());
    if none_left && let Some(object) = object.as_object_mut() {
        object.shift_remove("required");
    }
    (schema.unwrap_or_default(), was_required)
}

fn answer(description: &str, schema: &Value) -> Value {
    json!({"description": description, "content": {"application/json": {"schema": schema}}})
}

/// Describes the event stream.
fn events(entry: &Value) -> Value {
    let number = |name: &str, place: &str, description: &str| {
        let schema = json!({"type": "integer", "minimum": 0});
        json!({"name": name, "in": place, "required": false, "description": description, "schema": schema})
    };
    let text = |name: &str, description: &str| json!({"name": name, "in": "query", "required": false, "description": description, "schema": {"type": "string"}});
    let about = "Server-sent events: id is the event's number, data is one event as JSON. An id without data says how far \
        the log was passed over. An event of the type dropped is the last, and its data is an error that says why";
    let stream = json!({"description": about,
        "content": {"text/event-stream": {"schema": {"type": "string"}, "x-event": entry}}});
    json!({
        "operationId": "events",
        "tags": ["events"],
        "summary": "Stream the store's events, those after a number first and then whatever happens",
        "parameters": [
            number("after", "query", "The number of the last event that is known; without it, only what happens from now on"),
            number("Last-Event-ID", "header", "The same, as a client sends it that was cut off"),
            text("subject", "Only what is about this: an id or the beginning of one, or a kind such as issue"),
            text("type", "Only events of these types, with commas between: closed, issue.created, task.*"),
            text("by", "Only what this actor did"),
        ],
        "responses": {"200": stream, "default": {"$ref": "#/components/responses/Error"}},
    })
}

/// Describes this document.
fn document() -> Value {
    json!({
        "operationId": "openapi",
        "tags": ["openapi"],
        "summary": "Describe every operation, as this document does",
        "responses": {"200": answer("This document", &json!({"type": "object"}))},
    })
}

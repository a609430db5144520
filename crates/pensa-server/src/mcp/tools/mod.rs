//! Lists the tools: name, effect, input type and function.
//!
//! The doc comments of an input type and its fields are the descriptions that a model reads, so keep them short.

mod daily;
mod issues;
mod schema;
mod sessions;

use std::sync::Arc;

use pensa_core::{Error, Result};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::StoreCalls;
pub(super) use daily::work_output;

/// Whether a tool changes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToolEffect {
    ReadOnly,
    Writes,
}

/// The result of a tool.
#[derive(Debug)]
pub(super) struct ToolOutput {
    pub(super) text: String,
    /// The same for programs, if it is small.
    pub(super) structured: Option<Value>,
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self { text, structured: None }
    }
}

impl ToolOutput {
    /// The result of changing the entity with this id.
    fn about(id: impl std::fmt::Display, text: String) -> Self {
        Self { text, structured: Some(json!({"id": id.to_string()})) }
    }
}

/// Generates the list of tools and the function that runs one by name.
macro_rules! tools {
    ($($name:literal $effect:ident $args:path => $run:path;)*) => {
        /// All tools with their descriptions.
        pub(super) fn list() -> Vec<Tool> {
            vec![$(tool($name, ToolEffect::$effect, schema::of::<$args>()),)*]
        }

        /// Runs a tool; `None` if its name is unknown.
        pub(super) async fn run<C: StoreCalls>(calls: &C, name: &str, args: JsonObject) -> Option<Result<ToolOutput>> {
            match name {
                $($name => Some(match read::<$args>(args) {
                    Ok(args) => $run(calls, args).await,
                    Err(error) => Err(error.within($name)),
                }),)*
                _ => None,
            }
        }
    };
}

tools! {
    "find" ReadOnly issues::FindInput => issues::find;
    "show" ReadOnly issues::ShowInput => issues::show;
    "create" Writes issues::CreateInput => issues::create;
    "update" Writes issues::UpdateInput => issues::update;
    "dep" Writes issues::DepInput => issues::dep;
    "comment" Writes issues::CommentInput => issues::comment;
    "context" ReadOnly daily::ContextInput => daily::context;
    "work" Writes daily::WorkInput => daily::work;
    "remember" Writes daily::RememberInput => daily::remember;
    "recall" ReadOnly daily::RecallInput => daily::recall;
    "ship" Writes daily::ShipInput => daily::ship;
    "session_append" Writes sessions::AppendInput => sessions::append;
}

fn tool(name: &'static str, effect: ToolEffect, mut schema: JsonObject) -> Tool {
    let description = schema.remove("description").and_then(|text| text.as_str().map(str::to_owned));
    let annotations = match effect {
        ToolEffect::ReadOnly => ToolAnnotations::new().read_only(true),
        ToolEffect::Writes => ToolAnnotations::new().destructive(false),
    };
    Tool::new(name, description.unwrap_or_default(), Arc::new(schema)).with_annotations(annotations)
}

fn read<T: DeserializeOwned>(args: JsonObject) -> Result<T> {
    let args = Value::Object(args);
    T::deserialize(&args).map_err(|e| {
        let error = Error::invalid(e.to_string()).hint("tools/list has the fields of every tool");
        match culprit::<T>(&args) {
            Some(field) => error.within(field),
            None => error,
        }
    })
}

/// The invalid field, for the error message: without it, the input is valid or only lacks that field.
fn culprit<T: DeserializeOwned>(args: &Value) -> Option<&str> {
    let fields = args.as_object()?;
    fields.keys().map(String::as_str).find(|name| {
        let rest: JsonObject =
            fields.iter().filter(|(other, _)| other != name).map(|(k, v)| (k.clone(), v.clone())).collect();
        T::deserialize(Value::Object(rest)).err().is_none_or(|e| e.to_string() == format!("missing field `{name}`"))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Size limit for the response to `tools/list` in bytes, for `MAX_TOOLS` tools.
    const MAX_LIST: usize = 12_000;
    const MAX_TOOLS: usize = 12;

    #[test]
    fn the_list_of_tools_is_small() {
        let tools = list();
        let bytes = serde_json::to_vec(&json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": &tools}}));
        let size = bytes.expect("serialises").len();
        let names: BTreeSet<_> = tools.iter().map(|tool| tool.name.clone()).collect();
        assert!(names.len() == tools.len() && tools.len() <= MAX_TOOLS, "{names:?}");
        // Fewer tools get a proportional share of the limit.
        assert!(size <= MAX_LIST * tools.len() / MAX_TOOLS, "{size} bytes for {} tools", tools.len());
    }

    #[test]
    fn error_for_a_wrong_field_names_it() {
        for (args, expected) in [
            (json!({"id": "pn-1", "max_tokens": "many"}), "max_tokens: invalid type: string"),
            (json!({"id": 5}), "id: invalid type: integer"),
            (json!({"id": "pn-1", "max_tokens": -1}), "max_tokens: invalid value: integer"),
            (json!({"id": "pn-1", "more": 1}), "more: unknown field `more`, expected `id` or `max_tokens`"),
            (json!({}), "missing field `id`"),
        ] {
            let error = read::<issues::ShowInput>(args.as_object().expect("fields").clone()).expect_err("wrong");
            assert!(error.message.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn every_tool_and_field_has_a_description() {
        for tool in list() {
            assert!(tool.description.as_ref().is_some_and(|text| !text.is_empty()), "{}", tool.name);
            let schema = Value::Object((*tool.input_schema).clone());
            assert_eq!(schema["type"], "object", "{}", tool.name);
            for (field, of_field) in schema["properties"].as_object().expect("fields") {
                let is_enum = of_field.get("enum").is_some();
                assert!(is_enum || of_field["description"].is_string(), "{} {field}: {of_field}", tool.name);
                assert!(of_field["type"].is_string(), "{} {field}: {of_field}", tool.name);
            }
        }
    }
}

//! The list of tools: what each is called, what it takes, and which function runs it.
//!
//! A tool's doc comment and fields are what a model reads of it, so both are short.

mod daily;
mod issues;
mod schema;
mod sessions;

use std::sync::Arc;

use pensa_core::{Error, Result};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Calls;
pub(super) use daily::told_work;

/// Whether a tool changes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Looks,
    Changes,
}

/// What a tool has to say.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) text: String,
    /// The same for programs, where it is small.
    pub(super) structured: Option<Value>,
}

impl From<String> for Told {
    fn from(text: String) -> Self {
        Self { text, structured: None }
    }
}

impl Told {
    /// What was done to something that has an id.
    fn about(id: impl std::fmt::Display, text: String) -> Self {
        Self { text, structured: Some(json!({"id": id.to_string()})) }
    }
}

/// Makes the list of tools and the function that runs one by its name.
macro_rules! tools {
    ($($name:literal $effect:ident $args:path => $run:path;)*) => {
        /// Every tool as a client is told of it.
        pub(super) fn list() -> Vec<Tool> {
            vec![$(tool($name, Effect::$effect, schema::of::<$args>()),)*]
        }

        /// Runs a tool; nothing if there is none of that name.
        pub(super) async fn run<C: Calls>(calls: &C, name: &str, args: JsonObject) -> Option<Result<Told>> {
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
    "find" Looks issues::Find => issues::find;
    "show" Looks issues::Show => issues::show;
    "create" Changes issues::Create => issues::create;
    "update" Changes issues::Update => issues::update;
    "dep" Changes issues::Dep => issues::dep;
    "comment" Changes issues::Comment => issues::comment;
    "context" Looks daily::Context => daily::context;
    "work" Changes daily::Works => daily::works;
    "remember" Changes daily::Remember => daily::remember;
    "recall" Looks daily::Recall => daily::recall;
    "ship" Changes daily::Ship => daily::ship;
    "session_append" Changes sessions::Append => sessions::append;
}

fn tool(name: &'static str, effect: Effect, mut schema: JsonObject) -> Tool {
    let description = schema.remove("description").and_then(|text| text.as_str().map(str::to_owned));
    let annotations = match effect {
        Effect::Looks => ToolAnnotations::new().read_only(true),
        Effect::Changes => ToolAnnotations::new().destructive(false),
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

/// The field without which the rest could be read, or would only lack that field.
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

    /// Largest answer to `tools/list`, in bytes, however many tools there are.
    const MAX_LIST: usize = 12_000;
    const MAX_TOOLS: usize = 12;

    #[test]
    fn the_list_of_tools_is_small() {
        let tools = list();
        let bytes = serde_json::to_vec(&json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": &tools}}));
        let size = bytes.expect("serialises").len();
        let names: BTreeSet<_> = tools.iter().map(|tool| tool.name.clone()).collect();
        assert!(names.len() == tools.len() && tools.len() <= MAX_TOOLS, "{names:?}");
        // Those that are yet to come have their share too.
        assert!(size <= MAX_LIST * tools.len() / MAX_TOOLS, "{size} bytes for {} tools", tools.len());
    }

    #[test]
    fn what_is_wrong_with_a_field_names_it() {
        for (args, told) in [
            (json!({"id": "pn-1", "max_tokens": "many"}), "max_tokens: invalid type: string"),
            (json!({"id": 5}), "id: invalid type: integer"),
            (json!({"id": "pn-1", "max_tokens": -1}), "max_tokens: invalid value: integer"),
            (json!({"id": "pn-1", "more": 1}), "more: unknown field `more`, expected `id` or `max_tokens`"),
            (json!({}), "missing field `id`"),
        ] {
            let error = read::<issues::Show>(args.as_object().expect("fields").clone()).expect_err("wrong");
            assert!(error.message.starts_with(told), "{error}");
        }
    }

    #[test]
    fn every_tool_and_every_field_says_what_it_is() {
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

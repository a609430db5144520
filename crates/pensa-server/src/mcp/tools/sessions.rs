//! Implements the tool that records entries of agent sessions.

use pensa_core::ops::session;
use pensa_core::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::StoreCalls;
use super::ToolOutput;

/// Append entries to an agent's active session: all of them, or none
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AppendInput {
    /// The agent's id, the beginning of it, or its name
    agent: String,
    /// Each {"type":"user_message","data":{"text":"…"}}; other types: assistant_message, tool_result, note
    entries: Vec<Map<String, Value>>,
}

pub(super) async fn append<C: StoreCalls>(calls: &C, args: AppendInput) -> Result<ToolOutput> {
    let given = json!({"id": args.agent, "entries": args.entries});
    let op = session::Append::deserialize(given).map_err(|e| Error::invalid(e.to_string()))?;
    let done = calls.call(op).await?;
    let session::Appended { session_id, first, last, count, redactions } = done;
    let secrets = if redactions > 0 { format!(", {redactions} secrets replaced") } else { String::new() };
    let text = format!("appended {count} to {session_id}: {first} to {last}{secrets}\n");
    Ok(ToolOutput { text, structured: Some(json!({"session_id": session_id, "first": first, "last": last})) })
}

//! Generates a plugin: for Claude Code, with its marketplace file, and with the manifest that other agents read.

use pensa_core::{Result, VERSION, json};
use serde_json::{Map, Value, json};

use super::agents::{SERVER_NAME, claude_parts};
use super::content::SKILL;
use super::jsonc::JsonPart;
use super::owned;

const DESCRIPTION: &str = "Issues, claims and memory for coding agents, through the command pn";

/// The files of the plugin, by path. They do not depend on the machine.
pub fn plugin_files() -> Result<Vec<(&'static str, String)>> {
    let (hooks, server) = claude_parts();
    let servers = json!({"mcpServers": member(&server)});
    let manifest = json!({
        "name": SERVER_NAME,
        "version": VERSION,
        "description": DESCRIPTION,
        "license": "MIT OR Apache-2.0",
        "keywords": ["issues", "memory", "agents"],
    });
    let marketplace = json!({
        "name": SERVER_NAME,
        "owner": {"name": "Pensa"},
        "plugins": [{"name": SERVER_NAME, "source": "./", "description": DESCRIPTION, "version": VERSION}],
    });
    let mut neutral = manifest.clone();
    for (name, value) in [("skills", "./skills/"), ("hooks", "./hooks/hooks.json"), ("mcpServers", "./.mcp.json")] {
        neutral[name] = json!(value);
    }
    Ok(vec![
        (".claude-plugin/plugin.json", json::to_document(&manifest)?),
        (".claude-plugin/marketplace.json", json::to_document(&marketplace)?),
        ("plugin.json", json::to_document(&neutral)?),
        (".mcp.json", json::to_document(&servers)?),
        ("hooks/hooks.json", json::to_document(&json!({"hooks": by_event(&hooks)}))?),
        ("skills/pensa/SKILL.md", owned::filled(SKILL)),
    ])
}

fn member(part: &JsonPart) -> Value {
    match part {
        JsonPart::Member { name, value, .. } => json!({ name: value }),
        JsonPart::Item { .. } => Value::Null,
    }
}

fn by_event(parts: &[JsonPart]) -> Map<String, Value> {
    let item = |part: &JsonPart| match part {
        JsonPart::Item { path, value } => path.last().map(|event| (event.clone(), json!([value]))),
        JsonPart::Member { .. } => None,
    };
    parts.iter().filter_map(item).collect()
}

//! Operations on agents.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::agent::{Agent, AgentType, Lifecycle, TypeName};
use crate::error::Result;
use crate::id::{AgentId, AgentRef, IssueRef, RunId};
use crate::op::op;
use crate::session::{NewEntry, Object, OpenedBy};
use crate::text;
use crate::time::Timestamp;

/// Create an agent and its first session
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// Its type
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    #[serde(rename = "type")]
    pub agent_type: AgentType,
    /// Its name
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// The agent it works for
    #[arg(long, value_name = "AGENT")]
    pub parent: Option<AgentRef>,
    /// A description of it: a JSON object of your own
    #[arg(skip)]
    pub descriptor: Option<Object>,
    /// Its permissions: a JSON object of your own
    #[arg(skip)]
    pub permissions: Option<Object>,
    #[command(flatten)]
    #[serde(flatten)]
    pub session: SessionLinks,
}

/// What a new session of an agent belongs to.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
pub struct SessionLinks {
    /// The inference provider's id of the conversation
    #[arg(long = "inference-session", value_name = "NAME")]
    pub inference_session_id: Option<String>,
    /// The issue that the session is about
    #[arg(long = "issue", value_name = "ISSUE")]
    pub issue_id: Option<IssueRef>,
    /// The run that the session belongs to
    #[arg(long = "run", value_name = "RUN")]
    pub run_id: Option<RunId>,
}

op!(Create => Agent, "agent.create", post("/agents").creates(), Write);

/// List agents, oldest first
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Only those of this type
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<TypeName>,
    /// Only those that are active, sleeping or dead
    #[arg(long, value_name = "LIFECYCLE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<Lifecycle>,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none", alias = "n")]
    pub limit: Option<u32>,
}

op!(List => Vec<Agent>, "agent.list", get("/agents"), Read);

/// Show an agent
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// Which agent: its id, the beginning of it, or its name
    #[arg(value_name = "AGENT")]
    pub id: AgentRef,
}

op!(Show => Agent, "agent.show", get("/agents/{id}"), Read);

/// Change the name, descriptor, permissions or cost of an agent
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// Which agent: its id, the beginning of it, or its name
    #[arg(value_name = "AGENT")]
    pub id: AgentRef,
    /// A new name; an empty one removes it
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// A new descriptor, replacing the old one
    #[arg(skip)]
    pub descriptor: Option<Object>,
    /// New permissions, replacing the old ones
    #[arg(skip)]
    pub permissions: Option<Object>,
    /// The tokens of its last inference; null removes them
    #[arg(skip)]
    #[serde(default, deserialize_with = "given")]
    pub tokens: Option<Option<Object>>,
    /// The totals of all its inferences, replacing the old ones
    #[arg(skip)]
    pub stats: Option<Object>,
}

/// Distinguishes a null field from an absent one.
fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<Object>>, D::Error> {
    Option::deserialize(from).map(Some)
}

impl Update {
    /// Whether the request changes nothing.
    pub fn is_empty(&self) -> bool {
        self.name.is_none()
            && self.descriptor.is_none()
            && self.permissions.is_none()
            && self.tokens.is_none()
            && self.stats.is_none()
    }

    pub fn edit(&self, agent: &mut Agent) -> Result<()> {
        if self.name.is_some() {
            agent.name = text::optional_line("name", self.name.as_ref())?;
        }
        if let Some(descriptor) = &self.descriptor {
            agent.descriptor = descriptor.clone();
        }
        if let Some(permissions) = &self.permissions {
            agent.permissions = permissions.clone();
        }
        if let Some(tokens) = &self.tokens {
            agent.tokens = tokens.clone();
        }
        if let Some(stats) = &self.stats {
            agent.stats = stats.clone();
        }
        agent.check()
    }
}

op!(Update => Agent, "agent.update", patch("/agents/{id}"), Write);

/// Put an agent to sleep; entries can still be appended to its session
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Sleep {
    /// Which agent: its id, the beginning of it, or its name
    #[arg(value_name = "AGENT")]
    pub id: AgentRef,
}

op!(Sleep => Agent, "agent.sleep", post("/agents/{id}/sleep"), Write);

/// Wake a sleeping agent
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Wake {
    /// Which agent: its id, the beginning of it, or its name
    #[arg(value_name = "AGENT")]
    pub id: AgentRef,
}

op!(Wake => Agent, "agent.wake", post("/agents/{id}/wake"), Write);

/// End an agent permanently; its sessions stay
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Kill {
    /// Which agent: its id, the beginning of it, or its name
    #[arg(value_name = "AGENT")]
    pub id: AgentRef,
}

op!(Kill => Agent, "agent.kill", post("/agents/{id}/kill"), Write);

/// Delete an agent with all its sessions and their entries
///
/// `pn undo` restores it, until `pn gc` removes it permanently.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Delete {
    /// Which agent: its id, the beginning of it, or its name
    #[arg(value_name = "AGENT")]
    pub id: AgentRef,
    /// Confirm the deletion
    #[arg(short, long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// Delete permanently: it cannot be undone
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub purge: bool,
}

op!(Delete => Deleted, "agent.delete", delete("/agents/{id}"), Maintain);

/// A deleted agent, and how much was deleted with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Deleted {
    /// Always `deleted`
    pub status: String,
    pub id: AgentId,
    pub sessions: i64,
    pub entries: i64,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn null_removes_tokens_and_an_absent_field_keeps_them() {
        let update = |given: serde_json::Value| serde_json::from_value::<Update>(given).expect("an operation");
        assert_eq!(update(json!({"id": "a"})).tokens, None);
        assert_eq!(update(json!({"id": "a", "tokens": null})).tokens, Some(None));
        assert_eq!(update(json!({"id": "a", "tokens": {}})).tokens, Some(Some(Object::new())));
        let sent = serde_json::to_value(update(json!({"id": "a", "tokens": null}))).expect("serialises");
        assert_eq!(sent, json!({"id": "a", "tokens": null}));
    }
}

/// Import an agent from another system, with all its sessions
///
/// An existing agent stays as it is, but gets its parent if that was missing.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Import {
    /// Its id, which it keeps
    pub id: AgentId,
    /// Its type, which this version may not know
    #[serde(rename = "type")]
    pub agent_type: TypeName,
    pub name: Option<String>,
    /// The agent it worked for
    pub parent_id: Option<AgentId>,
    #[serde(default)]
    pub descriptor: Object,
    #[serde(default)]
    pub permissions: Object,
    pub tokens: Option<Object>,
    #[serde(default)]
    pub stats: Object,
    pub lifecycle: Lifecycle,
    pub created_at: Option<Timestamp>,
    pub updated_at: Option<Timestamp>,
    /// In order; the last one is active
    pub sessions: Vec<ImportedSession>,
    /// Do not redact secrets
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_redact: bool,
}

/// A session of an imported agent.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportedSession {
    pub opened_by: OpenedBy,
    pub inference_session_id: Option<String>,
    pub reset_message: Option<String>,
    pub created_at: Option<Timestamp>,
    #[serde(default)]
    pub entries: Vec<NewEntry>,
}

op!(Import => Imported, "agent.import", post("/agents/import"), Write, {
    /// Room for a long history.
    const MAX_BODY: usize = 256 << 20;
});

/// The result of importing an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Imported {
    pub id: AgentId,
    /// Whether it is new
    pub imported: bool,
    /// Whether its parent does not exist
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub parent_missing: bool,
    pub sessions: i64,
    pub entries: i64,
    /// How many secrets were replaced
    pub redactions: i64,
}

//! Operations on sessions and their entries.

use std::fmt;

use clap::Args;
use schemars::JsonSchema;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::agent::SessionLinks;
use crate::id::{AgentId, AgentRef, EntriesRef, SessionId, SessionRef};
use crate::op::op;
use crate::session::{Entry, EntryType, Message, NewEntry, Object, Session, SessionSummary};
use crate::time::{Span, Timestamp};

/// List sessions, oldest first
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Only those of this agent
    #[arg(long, value_name = "AGENT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentRef>,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none", alias = "n")]
    pub limit: Option<u32>,
    /// Archived ones too
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
}

op!(List => Vec<SessionSummary>, "session.list", get("/sessions"), Read);

/// Show a session
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// Which session: its id, or the beginning of it
    #[arg(value_name = "SESSION")]
    pub id: SessionRef,
}

op!(Show => SessionSummary, "session.show", get("/sessions/{id}"), Read);

/// Archive an ended session: leave it out of listings
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Archive {
    /// Which session: its id, or the beginning of it
    #[arg(value_name = "SESSION")]
    pub id: SessionRef,
}

op!(Archive => Session, "session.archive", post("/sessions/{id}/archive"), Write);

/// Delete an ended session with its entries, permanently
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Delete {
    /// Which session: its id, or the beginning of it
    #[arg(value_name = "SESSION")]
    pub id: SessionRef,
}

op!(Delete => DeletedSessions, "session.delete", delete("/sessions/{id}"), Maintain);

/// Delete sessions that ended long ago with their entries, permanently; never the active one of an agent
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Prune {
    /// The minimum time since their end, such as 30d
    #[arg(long, value_name = "DURATION")]
    pub older_than: Span,
    /// Only those of this agent
    #[arg(long, value_name = "AGENT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentRef>,
}

/// Maximum number of sessions that one request deletes; the next deletes more.
pub const PRUNED_AT_ONCE: u32 = 500;

op!(Prune => DeletedSessions, "session.prune", post("/sessions/prune"), Maintain);

/// Deleted sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeletedSessions {
    pub ids: Vec<SessionId>,
    /// How many entries they had
    pub entries: i64,
}

/// Reset the conversation of an agent: open its next session
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Reset {
    /// Which agent: its id, the beginning of it, or its name
    #[arg(value_name = "AGENT")]
    pub id: AgentRef,
    /// The message that opens the next session; - reads it from standard input
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    pub session: SessionLinks,
}

op!(Reset => Session, "session.reset", post("/agents/{id}/reset").creates(), Write);

/// Compact the conversation of an agent: open its next session with a summary
///
/// The next session keeps the issue and run, unless others are given.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Compact {
    /// Which agent: its id, the beginning of it, or its name
    #[arg(value_name = "AGENT")]
    pub id: AgentRef,
    /// The summary that opens the next session; - reads it from standard input
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub summary: String,
    #[command(flatten)]
    #[serde(flatten)]
    pub session: SessionLinks,
}

op!(Compact => Session, "session.compact", post("/agents/{id}/compact").creates(), Write);

/// Append entries to the active session of an agent: all of them, or none
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Append {
    /// Which agent: its id, the beginning of it, or its name
    pub id: AgentRef,
    /// The entries, in order
    #[serde(deserialize_with = "numbered")]
    pub entries: Vec<NewEntry>,
    /// Do not redact secrets
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_redact: bool,
}

op!(Append => Appended, "session.append", post("/agents/{id}/entries").creates(), Write, {
    /// Allows an entry of the maximum size, and many at once.
    const MAX_BODY: usize = 64 << 20;
});

/// Where entries were appended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Appended {
    pub session_id: SessionId,
    /// The number of the first of them
    pub first: i64,
    /// The number of the last of them
    pub last: i64,
    pub count: i64,
    /// How many secrets were replaced
    pub redactions: i64,
}

/// Reads entries; an error names the entry that is wrong.
fn numbered<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<NewEntry>, D::Error> {
    struct Entries;

    impl<'de> Visitor<'de> for Entries {
        type Value = Vec<NewEntry>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of entries")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut given: A) -> Result<Self::Value, A::Error> {
            let mut entries = Vec::new();
            let nth = |count: usize, why: &dyn fmt::Display| A::Error::custom(format!("entry {}: {why}", count + 1));
            loop {
                match given.next_element::<Object>() {
                    Ok(Some(fields)) => {
                        let entry = NewEntry::try_from(fields).map_err(|error| nth(entries.len(), &error))?;
                        entries.push(entry);
                    }
                    Ok(None) => return Ok(entries),
                    Err(error) => return Err(nth(entries.len(), &error)),
                }
            }
        }
    }

    from.deserialize_seq(Entries)
}

/// List the entries of a session, or of an agent's active session, oldest first
///
/// A long answer comes in pages: call again with --after and the number of its last entry, until there are no more.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct History {
    /// Which session or agent
    #[arg(value_name = "AGENT|SESSION")]
    pub id: EntriesRef,
    /// The entries of all sessions of the agent
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// Only entries after this number
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<i64>,
    /// Skip this many of the oldest entries of a session
    #[arg(long, value_name = "N", conflicts_with = "all")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip: Option<i64>,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "n")]
    pub limit: Option<u32>,
}

op!(History => Vec<Entry>, "session.history", get("/sessions/{id}/entries"), Read);

/// Show the messages that a model would see now, from the active session of an agent
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Context {
    /// Which agent: its id, the beginning of it, or its name
    #[arg(value_name = "AGENT")]
    pub id: AgentRef,
    /// Keep the opening message, and of the rest the newest whole turns that fit; a token is about four bytes
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
}

op!(Context => Vec<Message>, "session.context", get("/agents/{id}/context"), Read);

/// Search entries for a text, ignoring case, newest first
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// The text to search for, literally
    #[arg(value_name = "QUERY")]
    #[serde(alias = "query")]
    pub q: String,
    /// Only those of this agent
    #[arg(long, value_name = "AGENT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentRef>,
    /// At most this many [default: 50]
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "n")]
    pub limit: Option<u32>,
}

op!(Search => Vec<EntryMatch>, "session.search", get("/sessions/search"), Read);

/// A matching entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Found")]
pub struct EntryMatch {
    /// The number of the entry
    pub id: i64,
    pub session_id: SessionId,
    pub agent_id: AgentId,
    #[serde(rename = "type")]
    pub entry_type: EntryType,
    pub at: Timestamp,
    /// The text around the match
    pub excerpt: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_names_the_number_of_the_wrong_entry() {
        let good = json!({"type": "note", "data": {"text": "a"}});
        for (bad, message) in [
            (json!({"data": {}}), "entry 2: entry has no type"),
            (json!({"type": "note", "data": 5}), "entry 2: data is a number"),
            (json!({"type": "note", "at": "soon"}), "entry 2: at is not a time"),
            (json!("note"), "entry 2: invalid type"),
        ] {
            let given = json!({"id": "a", "entries": [good, bad]});
            let error = serde_json::from_value::<Append>(given).expect_err("the second is wrong").to_string();
            assert!(error.starts_with(message), "{error}");
        }
        let whole = json!({"id": "a", "entries": [good, good]});
        assert_eq!(serde_json::from_value::<Append>(whole.clone()).expect("fine").entries.len(), 2);
        for wrong in [json!({"id": "a"}), json!({"id": "a", "entries": {}}), json!({"id": "a", "entries": null})] {
            assert!(serde_json::from_value::<Append>(wrong).is_err());
        }
    }
}

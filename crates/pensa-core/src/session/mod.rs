//! The session: one part of an agent's conversation, from its start or a reset to the next reset or compaction.
//!
//! Start with [`entry`], which reads new entries, and [`context()`], which rebuilds the messages that a model sees. The
//! engine decides which session of an agent is active.

pub mod context;
pub mod entry;
pub mod markdown;
pub mod object;
mod payload;
pub mod prices;
pub mod replay;
pub mod search;
pub mod tokens;
pub mod usage;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::closed_enum::closed_enum;
use crate::error::Result;
use crate::id::{AgentId, IssueId, RunId, SessionId};
use crate::issue::Extra;
use crate::sync::SyncEntity;
use crate::text;
use crate::time::Timestamp;

pub use context::{Message, MessageRole, Rebuild, ToolCall, context};
pub use entry::{Entry, EntryType, MAX_ENTRY_BYTES, NewEntry};
pub use markdown::markdown;
pub use object::Object;
pub use prices::{Prices, Spent};
pub use replay::{ReplayStep, SessionSteps};
pub use usage::{ModelUsage, Tokens};

closed_enum! {
    /// Why a session was opened.
    OpenedBy "invalid opening of a session: {:?}" {
        /// The agent was created
        Start "start",
        /// The conversation was reset
        Reset "reset",
        /// The conversation was compacted
        Compaction "compaction",
    }
}

/// One stretch of an agent's conversation.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    pub id: SessionId,
    pub agent_id: AgentId,
    pub opened_by: OpenedBy,
    /// The inference provider's id of this conversation
    pub inference_session_id: Option<String>,
    /// The message of the reset, or the summary of the compaction
    pub reset_message: Option<String>,
    /// The issue it is about
    pub issue_id: Option<IssueId>,
    /// The run it belongs to
    pub run_id: Option<RunId>,
    pub created_at: Timestamp,
    /// When the next session replaced it; absent while it is active
    pub ended_at: Option<Timestamp>,
    /// When it was archived
    pub archived_at: Option<Timestamp>,
    /// Fields unknown to this version, kept so that a newer version does not lose them
    #[serde(flatten)]
    pub extra: Extra,
}

/// A session as it is synced. Its entries are sent separately, each by its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionHead {
    #[serde(flatten)]
    pub session: Session,
    /// How many entries it has in the store that sent it
    pub entries: i64,
    /// The latest of its beginning, its last entry, its end and when it was archived
    pub updated_at: Timestamp,
}

impl SessionHead {
    /// Whether the session is empty, so that other stores do not need it.
    pub fn is_blank(&self) -> bool {
        let Session { opened_by, inference_session_id, reset_message, issue_id, run_id, .. } = &self.session;
        let is_bare = inference_session_id.is_none() && reset_message.is_none() && issue_id.is_none();
        self.entries == 0 && *opened_by == OpenedBy::Start && is_bare && run_id.is_none()
    }
}

impl SyncEntity for SessionHead {
    fn normalise(mut self) -> Result<Self> {
        let Session { inference_session_id, reset_message, .. } = &mut self.session;
        *inference_session_id = text::optional_line("inference session", inference_session_id.as_ref())?;
        *reset_message = text::optional_block("message", reset_message.as_ref())?;
        Ok(self)
    }

    fn extra(&self) -> &Extra {
        &self.session.extra
    }
}

/// A session with totals of its entries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Summary")]
pub struct SessionSummary {
    #[serde(flatten)]
    pub session: Session,
    /// How many entries it has
    pub entries: i64,
    /// From its start to its end, or to its last entry while it is active
    pub duration_ms: i64,
    /// By the model in the entries; `unknown` where they name none
    pub tokens: BTreeMap<String, ModelUsage>,
    /// The cost of the tokens in dollars, if all models have a price
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_opening_has_one_spelling() {
        for opened_by in OpenedBy::ALL {
            assert_eq!(json!(opened_by), opened_by.as_str());
            assert_eq!(opened_by.as_str().parse::<OpenedBy>().expect("known"), opened_by);
        }
        assert!("Start".parse::<OpenedBy>().is_err());
    }

    #[test]
    fn session_json_round_trips_without_absent_fields() {
        let least = json!({"id": "se-1", "agent_id": "ag-1", "opened_by": "start",
            "created_at": "2026-02-27T14:30:00.000Z"});
        let most = json!({"id": "se-1", "agent_id": "ag-1", "opened_by": "compaction", "inference_session_id": "i",
            "reset_message": "so far", "issue_id": "pn-1", "run_id": "run-1",
            "created_at": "2026-02-27T14:30:00.000Z", "ended_at": "2026-02-27T15:30:00.000Z",
            "archived_at": "2026-02-27T16:30:00.000Z"});
        for given in [least, most] {
            let session: Session = serde_json::from_value(given.clone()).expect("a session");
            assert_eq!(serde_json::to_value(session).expect("serialises"), given);
        }
    }
}

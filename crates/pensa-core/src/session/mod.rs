//! The session: one stretch of an agent's conversation, and what its entries make of it.
//!
//! Which session is active, and keeping them apart, is left to the engine.

pub mod context;
pub mod entry;
pub mod markdown;
pub mod object;
mod payload;
pub mod search;
pub mod tokens;
pub mod usage;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::closed_enum::closed_enum;
use crate::id::{AgentId, IssueId, RunId, SessionId};
use crate::time::Timestamp;

pub use context::{Message, MessageRole, Rebuild, ToolCall, context};
pub use entry::{Entry, EntryType, MAX_ENTRY_BYTES, NewEntry};
pub use markdown::markdown;
pub use object::Object;
pub use usage::Tokens;

closed_enum! {
    /// Why a session was opened.
    OpenedBy "invalid opening of a session: {:?}" {
        /// The agent was created
        Start "start",
        /// The conversation began anew
        Reset "reset",
        /// The conversation became a summary
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
    /// What the inference provider calls this conversation
    pub inference_session_id: Option<String>,
    /// What the reset said, or the summary that the compaction made
    pub reset_message: Option<String>,
    /// The issue it is about
    pub issue_id: Option<IssueId>,
    /// The run it belongs to
    pub run_id: Option<RunId>,
    pub created_at: Timestamp,
    /// When the next session took its place; absent while it is active
    pub ended_at: Option<Timestamp>,
    /// Since when listings leave it out
    pub archived_at: Option<Timestamp>,
}

/// A session with what its entries add up to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    #[serde(flatten)]
    pub session: Session,
    /// How many entries it has
    pub entries: i64,
    /// From its beginning to its end, or to its last entry while it is active
    pub duration_ms: i64,
    /// By model, as the entries tell it; `unknown` where they name none
    pub tokens: BTreeMap<String, Tokens>,
    /// What the tokens cost in dollars, if the settings have prices for all models
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
    fn a_session_comes_back_as_it_was_and_leaves_out_what_it_has_not() {
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

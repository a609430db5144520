//! The operation that takes in what agent software wrote down of a conversation.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use super::agent::ImportedSession;
use crate::agent::AgentType;
use crate::id::{AgentId, IssueId};
use crate::op::op;
use crate::session::{NewEntry, Object};
use crate::similar::hash64;
use crate::time::Timestamp;

/// The collection that says how far each transcript was read.
pub const TRANSCRIPTS: &str = "transcripts";
/// The collection that says which session each message with its token usage belongs to.
pub const TRANSCRIPT_MESSAGES: &str = "transcript_messages";

/// The id of the record about a transcript, by its key, or about a message.
pub fn record_id(name: &str) -> String {
    format!("{:016x}", hash64(name.as_bytes()))
}

/// How far a transcript was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadPosition {
    /// In bytes of the text, uncompressed
    pub bytes: u64,
    /// In lines or messages
    pub lines: u64,
    /// A hash of what comes before, to notice that it was written anew
    #[serde(default)]
    pub tail: String,
}

/// What is known about a transcript: the record in [`TRANSCRIPTS`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TranscriptMark {
    pub key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub position: ReadPosition,
    #[serde(default)]
    pub state: Object,
    /// Its agents, and how often the active session of each mentions what may be an issue
    #[serde(default)]
    pub agents: BTreeMap<AgentId, BTreeMap<String, u64>>,
}

/// Take in the next part of a transcript that agent software wrote
///
/// The part is refused as a conflict unless it begins where the last one ended, so that nothing is taken twice.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportTranscript {
    /// What names the transcript: the software, and what it calls the conversation
    pub key: String,
    /// Where it was read
    pub file: Option<String>,
    pub from: ReadPosition,
    pub to: ReadPosition,
    /// What its reader needs to go on from there
    #[serde(default)]
    pub state: Object,
    /// What each agent of the conversation said
    pub agents: Vec<TranscriptAgent>,
    /// Whether this is the end of the transcript for now
    #[serde(default)]
    pub is_end: bool,
    /// Keep secrets as they are
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_redact: bool,
}

op!(ImportTranscript => TranscriptImport, "transcript.import", post("/transcripts/import"), Write, {
    /// Positions, and names that are compared.
    const VERBATIM: &'static [&'static str] = &["key", "from", "to"];
    /// Room for an entry of any allowed size, and for many at once.
    const MAX_BODY: usize = 64 << 20;
});

/// What one agent said in a part of a transcript.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TranscriptAgent {
    pub id: AgentId,
    #[serde(rename = "type")]
    pub agent_type: AgentType,
    /// What the conversation is called
    pub name: Option<String>,
    /// The agent it worked for
    pub parent_id: Option<AgentId>,
    /// What the software says about itself and where it runs, such as its branch; added to what is known
    #[serde(default)]
    pub descriptor: Object,
    /// What the software calls the conversation
    pub inference_session_id: Option<String>,
    /// What goes on in the session that is active
    #[serde(default)]
    pub entries: Vec<NewEntry>,
    /// The sessions that follow
    #[serde(default)]
    pub sessions: Vec<ImportedSession>,
    /// When the first and the last of it was said
    pub first_at: Option<Timestamp>,
    pub last_at: Option<Timestamp>,
}

/// What became of a part of a transcript.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TranscriptImport {
    /// The agents that were not here before
    pub agents: Vec<AgentId>,
    /// How many sessions were opened
    pub sessions: i64,
    pub entries: i64,
    /// How many messages had been counted in another session already
    pub repeated: i64,
    /// The issues that its sessions are about
    pub issues: Vec<IssueId>,
    /// How many secrets were replaced
    pub redactions: i64,
    /// Agents that were deleted here, and so did not come back
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deleted: Vec<AgentId>,
}

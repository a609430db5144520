//! Operations that propose learnings from what happened.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::id::{IssueRef, SessionRef};
use crate::learning::distill::Proposal;
use crate::op::op;
use crate::ops::learning::{Remember, Remembered};
use crate::time::Since;

/// Propose learnings from sessions, comments and reasons of closes; nothing is stored
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Distill {
    /// Only this session
    pub session: Option<SessionRef>,
    /// Only this issue, its comments, and the sessions about it
    pub issue: Option<IssueRef>,
    /// What happened since then: a duration such as 7d, or a time [default: 7d]
    pub since: Option<Since>,
    /// The files of each commit; the caller reads them, since a store knows no repository
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<Vec<String>>,
}

op!(Distill => Vec<Proposal>, "distill.propose", post("/distill"), Read);

/// Write a prompt that asks a model for learnings
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Prompt {
    /// Only this session
    pub session: Option<SessionRef>,
    /// Only this issue, its comments, and the sessions about it
    pub issue: Option<IssueRef>,
    /// What happened since then: a duration such as 7d, or a time [default: 7d]
    pub since: Option<Since>,
    /// At most this many tokens, at four bytes each [default: 8000]
    pub max_tokens: Option<u32>,
}

op!(Prompt => DistillPrompt, "distill.prompt", post("/distill/prompt"), Read);

/// A prompt for a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DistillPrompt")]
pub struct DistillPrompt {
    pub prompt: String,
}

/// Remember several findings: all of them, or none
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RememberAll {
    pub learnings: Vec<Remember>,
}

op!(RememberAll => Vec<Remembered>, "learning.remember_all", post("/learnings/all").creates(), Write);

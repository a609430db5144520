//! Taking back what was done.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::id::IssueId;
use crate::op::op;
use crate::time::{Since, Timestamp};

/// Take back the last operation, or those selected
///
/// Everything selected is taken back, newest first, or nothing is: a later change that stands on it is named. An undo
/// is an operation too, so another undo brings back what this one took.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Undo {
    /// All that this actor did
    #[arg(long, value_name = "ACTOR")]
    pub by: Option<String>,
    /// All that was done since then: a duration such as 30m, or a time
    #[arg(long, value_name = "TIME")]
    pub since: Option<Since>,
    /// The operation that wrote this event; pn history shows the numbers
    #[arg(long, value_name = "N", conflicts_with_all = ["by", "since"])]
    pub event: Option<i64>,
    /// Even if another holds the claim on an issue whose state it changes
    #[arg(short, long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// Only show what would be taken back
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// Most operations that are taken back at once.
pub const MAX_OPERATIONS: usize = 1_000;

/// Most events that these operations may have.
pub const MAX_EVENTS: usize = 20_000;

op!(Undo => Undone, "undo", post("/undo"), Write);

/// What was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Undone {
    /// The number of the undo itself, by which it can be taken back in turn; none if nothing was changed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<i64>,
    /// Newest first
    pub undone: Vec<TakenBack>,
}

/// One event that was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TakenBack {
    /// Its number
    pub event: i64,
    /// The number of the first event of the operation it was a part of
    pub op: i64,
    /// What it was about: `issue`, `learning`, `kv` and so on
    pub subject_kind: String,
    pub subject_id: String,
    /// The same, if it was an issue
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue_id: Option<IssueId>,
    pub event_type: String,
    pub actor: String,
    pub created_at: Timestamp,
}

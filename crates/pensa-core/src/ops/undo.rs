//! Taking back what was done.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::id::IssueId;
use crate::op::op;
use crate::time::{Since, Timestamp};

/// Take back my last operation, or those selected
///
/// Called again, it takes back the one before; pn redo brings back. What cannot be undone, such as a run or a signal, is
/// passed over and named. Everything selected is taken back, newest first, or nothing is: a later change that stands on
/// it is named.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Undo {
    /// The last operation of anybody, not only of this actor and session
    #[arg(long, conflicts_with_all = ["by", "since", "event"])]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub any: bool,
    /// All that this actor did
    #[arg(long, value_name = "ACTOR")]
    pub by: Option<String>,
    /// All that was done since then: a duration such as 30m, or a time
    #[arg(long, value_name = "TIME")]
    pub since: Option<Since>,
    /// The operation that wrote this event; pn undo --list and pn history show the numbers
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

/// Bring back what my last undo took
///
/// Called again, it brings back what the undo before took.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Redo {
    /// The last undo of anybody, not only of this actor and session
    #[arg(long, conflicts_with = "event")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub any: bool,
    /// The undo that wrote this event
    #[arg(long, value_name = "N")]
    pub event: Option<i64>,
    /// Even if another holds the claim on an issue whose state it changes
    #[arg(short, long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// Only show what would be brought back
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// Show what can be taken back, newest first
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Whose operations, in the caller's session [default: the caller's]
    #[arg(skip)]
    pub actor: Option<String>,
    /// The operations of everybody, not only of this actor and session
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub any: bool,
    /// How many operations to show; 20 unless said otherwise
    #[arg(long, value_name = "N")]
    pub limit: Option<u32>,
}

/// Most operations that are taken back at once.
pub const MAX_OPERATIONS: usize = 1_000;

/// Most events that these operations may have.
pub const MAX_EVENTS: usize = 20_000;

op!(Undo => Undone, "undo", post("/undo"), Write);
op!(Redo => Redone, "redo", post("/redo"), Write);
op!(List => Vec<Undoable>, "undo.list", get("/undo"), Read);

/// What was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Undone {
    /// The number of the undo itself, by which pn redo can name it; none if nothing was changed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<i64>,
    /// Newest first
    pub undone: Vec<UndoneEvent>,
    /// Later operations that cannot be undone, newest first
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed_over: Vec<Undoable>,
}

/// What was brought back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Redone {
    /// The number of the redo itself; none if nothing was changed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<i64>,
    /// The events that are in effect again, oldest first
    pub redone: Vec<UndoneEvent>,
}

/// An operation, and whether it can be undone.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Undoable {
    /// The number of its first event, or of the redo that brought it back: the one to name
    pub event: i64,
    /// What it did, oldest first
    pub events: Vec<UndoneEvent>,
    /// Why it cannot be undone; none if it can
    #[serde(default)]
    pub refused: Option<String>,
    /// What would reverse it instead, if anything does
    #[serde(default)]
    pub instead: Option<String>,
}

/// One event that was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TakenBack")]
pub struct UndoneEvent {
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

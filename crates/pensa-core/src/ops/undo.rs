//! Operations that undo and redo others.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::id::IssueId;
use crate::op::op;
use crate::time::{Since, Timestamp};

/// Undo my last operation, or the selected ones
///
/// Repeated, it undoes the operation before; pn redo reverses an undo. Operations that cannot be undone, such as a run
/// or a signal, are skipped and named. Either everything selected is undone, newest first, or nothing is: a later
/// change that depends on it is named.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Undo {
    /// The last operation of anyone, not only of this actor and session
    #[arg(long, conflicts_with_all = ["by", "since", "event"])]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub any: bool,
    /// All operations of this actor
    #[arg(long, value_name = "ACTOR")]
    pub by: Option<String>,
    /// All operations since then: a duration such as 30m, or a time
    #[arg(long, value_name = "TIME")]
    pub since: Option<Since>,
    /// The operation that wrote this event; pn undo --list and pn history show the numbers
    #[arg(long, value_name = "N", conflicts_with_all = ["by", "since"])]
    pub event: Option<i64>,
    /// Even if another holds the claim on an issue whose state it changes
    #[arg(short, long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// Only show what would be undone
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// Reverse my last undo
///
/// Repeated, it reverses the undo before.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Redo {
    /// The last undo of anyone, not only of this actor and session
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
    /// Only show what would be redone
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// List operations that can be undone, newest first
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Only operations of this actor, in the caller's session [default: the caller]
    #[arg(skip)]
    pub actor: Option<String>,
    /// The operations of everyone, not only of this actor and session
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub any: bool,
    /// How many operations to list [default: 20]
    #[arg(long, value_name = "N")]
    pub limit: Option<u32>,
}

/// Maximum number of operations that one undo reverses.
pub const MAX_OPERATIONS: usize = 1_000;

/// Maximum number of their events.
pub const MAX_EVENTS: usize = 20_000;

op!(Undo => Undone, "undo", post("/undo"), Write);
op!(Redo => Redone, "redo", post("/redo"), Write);
op!(List => Vec<Undoable>, "undo.list", get("/undo"), Read);

/// The result of an undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Undone {
    /// The number of the undo itself, for pn redo; none if nothing changed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<i64>,
    /// Newest first
    pub undone: Vec<UndoneEvent>,
    /// Later operations that cannot be undone, newest first
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed_over: Vec<Undoable>,
}

/// The result of a redo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Redone {
    /// The number of the redo itself; none if nothing changed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<i64>,
    /// The events that are in effect again, oldest first
    pub redone: Vec<UndoneEvent>,
}

/// An operation, and whether it can be undone.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Undoable {
    /// The number of its first event, or of the redo that restored it: pass it to pn undo --event
    pub event: i64,
    /// Its events, oldest first
    pub events: Vec<UndoneEvent>,
    /// Why it cannot be undone; none if it can
    #[serde(default)]
    pub refused: Option<String>,
    /// The command that would reverse it instead, if there is one
    #[serde(default)]
    pub instead: Option<String>,
}

/// One event that was undone or redone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TakenBack")]
pub struct UndoneEvent {
    /// Its number
    pub event: i64,
    /// The number of the first event of its operation
    pub op: i64,
    /// What it changed: `issue`, `learning`, `kv` and so on
    pub subject_kind: String,
    pub subject_id: String,
    /// The same, if it is an issue
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue_id: Option<IssueId>,
    pub event_type: String,
    pub actor: String,
    pub created_at: Timestamp,
}

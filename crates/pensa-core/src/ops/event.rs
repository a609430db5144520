//! Operations on the log of a store.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::event::LogEntry;
use crate::op::op;

/// Read the log: what happened to what, and who did it, oldest first
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Only what comes after the event with this number; 0 is everything [default: the last 50 events]
    #[arg(long, value_name = "N")]
    pub after: Option<i64>,
    /// Only what is about this: an id or the beginning of one, or a kind such as issue, agent or run
    #[arg(long, value_name = "ID|KIND")]
    pub subject: Option<String>,
    /// Only events of this type, such as closed, issue.created or task.*; may be given again
    #[arg(long = "type", value_name = "TYPE")]
    #[serde(rename = "type", skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// Only what this actor did
    #[arg(long, value_name = "ACTOR")]
    pub by: Option<String>,
    /// At most this many: the first after --after, else the last
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(alias = "n")]
    pub limit: Option<u32>,
}

/// A part of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Page")]
pub struct LogPage {
    pub events: Vec<LogEntry>,
    /// How far the log was looked through: go on after this number
    pub last: i64,
    /// Where the log ends now
    pub end: i64,
}

op!(List => LogPage, "event.list", get("/log"), Read);

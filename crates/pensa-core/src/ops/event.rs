//! Operations on the log of a store.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::event::LogEntry;
use crate::op::op;

/// List the events of the store, oldest first
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Only events after this number; 0 lists all [default: the last 50 events]
    #[arg(long, value_name = "N")]
    pub after: Option<i64>,
    /// Only events about this: an id or the beginning of one, or a kind such as issue, agent or run
    #[arg(long, value_name = "ID|KIND")]
    pub subject: Option<String>,
    /// Only events of this type, such as closed, issue.created or task.*; may be given again
    #[arg(long = "type", value_name = "TYPE")]
    #[serde(rename = "type", skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// Only events of this actor
    #[arg(long, value_name = "ACTOR")]
    pub by: Option<String>,
    /// At most this many: the first ones with --after, else the last ones
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(alias = "n")]
    pub limit: Option<u32>,
}

/// A part of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Page")]
pub struct LogPage {
    pub events: Vec<LogEntry>,
    /// The last number that was searched: continue after it
    pub last: i64,
    /// The number at the end of the log
    pub end: i64,
}

op!(List => LogPage, "event.list", get("/log"), Read);

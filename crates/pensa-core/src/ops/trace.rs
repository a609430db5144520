//! The operation that shows the whole history of an issue.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::IssueRef;
use crate::op::op;
use crate::trace::Trace as IssueTrace;

/// Maximum number of entries in one answer.
pub const MOST: u32 = 10_000;
/// Default number of entries in one answer.
pub const DEFAULT: u32 = 500;

/// Show the whole history of an issue
///
/// Claims, work, runs, sessions with their tokens, jobs, loops, signals, snapshots, comments, learnings and releases,
/// oldest first.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The issue
    #[arg(value_name = "ISSUE")]
    pub id: IssueRef,
    /// At most this many of the last entries; totals count all [default: 500]
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "n")]
    pub limit: Option<u32>,
}

impl Trace {
    /// The number of entries to return.
    pub fn most(&self) -> usize {
        usize::try_from(self.limit.unwrap_or(DEFAULT).min(MOST)).unwrap_or(usize::MAX)
    }
}

op!(Trace => IssueTrace, "issue.trace", get("/issues/{id}/trace"), Read);

//! The operation that tells the whole life of an issue.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::IssueRef;
use crate::op::op;
use crate::trace::Trace as Told;

/// Most entries of one answer.
pub const MOST: u32 = 10_000;
/// Entries of an answer if nobody says how many.
pub const DEFAULT: u32 = 500;

/// Tell the whole life of an issue: claims, work, runs, sessions, jobs, loops, comments and all else, oldest first
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The issue
    #[arg(value_name = "ISSUE")]
    pub id: IssueRef,
    /// At most this many entries, the last ones; totals count all [default: 500]
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "n")]
    pub limit: Option<u32>,
}

impl Trace {
    /// How many entries are wanted.
    pub fn most(&self) -> usize {
        usize::try_from(self.limit.unwrap_or(DEFAULT).min(MOST)).unwrap_or(usize::MAX)
    }
}

op!(Trace => Told, "issue.trace", get("/issues/{id}/trace"), Read);

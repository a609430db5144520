//! Claiming the next issue, with all that is needed to begin.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::issue::{Issue, IssueDetail};
use crate::learning::Learning;
use crate::op::op;
use crate::time::Span;

/// Claim the first ready issue, and return what is needed to begin
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct ClaimNext {
    /// Only issues that match this query
    #[arg(value_name = "QUERY")]
    pub q: Option<String>,
    /// Let the claim expire unless renewed: 30s, 15m, 12h, 1d
    #[arg(long, value_name = "TIME")]
    pub ttl: Option<Span>,
}

/// A claimed issue with what is known about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Assignment {
    /// The issue with its description, acceptance criteria, dependencies with how they were closed, and comments
    #[serde(flatten)]
    pub detail: IssueDetail,
    /// The issue that it is a part of
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_issue: Option<Issue>,
    /// What was learned about it before
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub learnings: Vec<Learning>,
    /// The files that those learnings name
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

op!(ClaimNext => Assignment, "issue.claim_next", post("/issues/claim_next"), Write);

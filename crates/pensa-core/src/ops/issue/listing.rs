//! Operations that list and count issues, and their filters.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::id::IssueRef;
use crate::issue::{Issue, IssueType, Priority, SortBy, Status};
use crate::op::op;

/// Which issues a listing is about; every filter given must match
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub status: Option<Status>,
    pub priority: Option<Priority>,
    pub assignee: Option<String>,
    pub issue_type: Option<IssueType>,
    pub spec: Option<String>,
    /// See [`crate::issue::query`]
    pub q: Option<String>,
    /// All of these
    pub labels: Vec<String>,
    pub parent: Option<IssueRef>,
    pub overdue: bool,
}

macro_rules! filters {
    ($($op:ident { $($field:ident),* $(; $rest:ident)? })*) => {$(
        impl $op {
            pub fn filter(&self) -> Filter {
                Filter { $($field: self.$field.clone(),)* $(..Filter::$rest())? }
            }
        }
    )*};
}

filters! {
    List { status, priority, assignee, issue_type, spec, q, labels, parent, overdue }
    Ready { priority, assignee, issue_type, spec, q, labels, parent; default }
    Blocked { status, priority, assignee, issue_type, q, labels, parent; default }
    Search { status, priority, assignee, issue_type, labels, parent; default }
    Count { q, labels, parent; default }
}

/// List issues of every status, most urgent first
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Only those that match this query: 'status:open label:auth -assignee:ben p<=1 due<+7d text', or a view: @NAME
    #[arg(value_name = "QUERY")]
    pub q: Option<String>,
    /// Only those with this status
    #[arg(short, long)]
    pub status: Option<Status>,
    /// Only those with this priority
    #[arg(short, long)]
    pub priority: Option<Priority>,
    /// Only those of this assignee; an empty name means unassigned
    #[arg(short, long, value_name = "NAME")]
    pub assignee: Option<String>,
    /// Only those of this type
    #[arg(short = 't', long = "type", alias = "issue-type", value_name = "TYPE")]
    #[serde(alias = "type")]
    pub issue_type: Option<IssueType>,
    /// Only those of this spec
    #[arg(long, value_name = "STEM")]
    pub spec: Option<String>,
    /// Only those with this label; may be given again
    #[arg(short, long = "label", value_name = "LABEL")]
    #[serde(default, skip_serializing_if = "Vec::is_empty", alias = "label")]
    pub labels: Vec<String>,
    /// Only those that are parts of this issue, or parts of its parts
    #[arg(long, value_name = "ID")]
    pub parent: Option<IssueRef>,
    /// Only those that are due before today and not closed
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub overdue: bool,
    /// In which order; also field.NAME, by a custom field
    #[arg(long, value_name = "FIELD")]
    pub sort: Option<SortBy>,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(alias = "n")]
    pub limit: Option<u32>,
}

op!(List => Vec<Issue>, "issue.list", get("/issues"), Read);

/// List open issues that nothing blocks, most urgent first
///
/// Bugs are reports, not work, and are never listed.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Ready {
    /// Only those that match this query: 'status:open label:auth -assignee:ben p<=1 due<+7d text', or a view: @NAME
    #[arg(value_name = "QUERY")]
    pub q: Option<String>,
    /// Only those with this priority
    #[arg(short, long)]
    pub priority: Option<Priority>,
    /// Only those of this assignee; an empty name means unassigned
    #[arg(short, long, value_name = "NAME")]
    pub assignee: Option<String>,
    /// Only those of this type
    #[arg(short = 't', long = "type", alias = "issue-type", value_name = "TYPE")]
    #[serde(alias = "type")]
    pub issue_type: Option<IssueType>,
    /// Only those of this spec
    #[arg(long, value_name = "STEM")]
    pub spec: Option<String>,
    /// Only those with this label; may be given again
    #[arg(short, long = "label", value_name = "LABEL")]
    #[serde(default, skip_serializing_if = "Vec::is_empty", alias = "label")]
    pub labels: Vec<String>,
    /// Only those that are parts of this issue, or parts of its parts
    #[arg(long, value_name = "ID")]
    pub parent: Option<IssueRef>,
    /// In which order; also field.NAME, by a custom field [default: priority]
    #[arg(long, value_name = "FIELD")]
    pub sort: Option<SortBy>,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(alias = "n")]
    pub limit: Option<u32>,
}

op!(Ready => Vec<Issue>, "issue.ready", get("/issues/ready"), Read);

/// List issues that wait for one that is not closed
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Blocked {
    /// Only those that match this query: 'status:open label:auth -assignee:ben p<=1 due<+7d text', or a view: @NAME
    #[arg(value_name = "QUERY")]
    pub q: Option<String>,
    /// Only those with this status
    #[arg(short, long)]
    pub status: Option<Status>,
    /// Only those with this priority
    #[arg(short, long)]
    pub priority: Option<Priority>,
    /// Only those of this assignee; an empty name means unassigned
    #[arg(short, long, value_name = "NAME")]
    pub assignee: Option<String>,
    /// Only those of this type
    #[arg(short = 't', long = "type", alias = "issue-type", value_name = "TYPE")]
    #[serde(alias = "type")]
    pub issue_type: Option<IssueType>,
    /// Only those with this label; may be given again
    #[arg(short, long = "label", value_name = "LABEL")]
    #[serde(default, skip_serializing_if = "Vec::is_empty", alias = "label")]
    pub labels: Vec<String>,
    /// Only those that are parts of this issue, or parts of its parts
    #[arg(long, value_name = "ID")]
    pub parent: Option<IssueRef>,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(alias = "n")]
    pub limit: Option<u32>,
}

op!(Blocked => Vec<Issue>, "issue.blocked", get("/issues/blocked"), Read);

/// Find issues by text or query
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// A text, taken literally; or a query: label:auth p<=1 words "exact phrase"; or a view: @NAME
    #[arg(value_name = "QUERY")]
    #[serde(alias = "query")]
    pub q: String,
    /// Only those with this status
    #[arg(short, long)]
    pub status: Option<Status>,
    /// Only those with this priority
    #[arg(short, long)]
    pub priority: Option<Priority>,
    /// Only those of this assignee; an empty name means unassigned
    #[arg(short, long, value_name = "NAME")]
    pub assignee: Option<String>,
    /// Only those of this type
    #[arg(short = 't', long = "type", alias = "issue-type", value_name = "TYPE")]
    #[serde(alias = "type")]
    pub issue_type: Option<IssueType>,
    /// Only those with this label; may be given again
    #[arg(short, long = "label", value_name = "LABEL")]
    #[serde(default, skip_serializing_if = "Vec::is_empty", alias = "label")]
    pub labels: Vec<String>,
    /// Only those that are parts of this issue, or parts of its parts
    #[arg(long, value_name = "ID")]
    pub parent: Option<IssueRef>,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(alias = "n")]
    pub limit: Option<u32>,
}

op!(Search => Vec<Issue>, "issue.search", get("/issues/search"), Read);

/// Count issues that are not closed, or all of them by group; or those that match a query
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Count {
    /// Only those that match this query: 'status:open label:auth -assignee:ben p<=1 due<+7d text', or a view: @NAME
    #[arg(value_name = "QUERY")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// By status
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_status: bool,
    /// By priority
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_priority: bool,
    /// By type
    #[arg(long, alias = "by-type")]
    #[serde(skip_serializing_if = "std::ops::Not::not", alias = "by_type")]
    pub by_issue_type: bool,
    /// By assignee
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_assignee: bool,
    /// Only those with this label; may be given again
    #[arg(short, long = "label", value_name = "LABEL")]
    #[serde(default, skip_serializing_if = "Vec::is_empty", alias = "label")]
    pub labels: Vec<String>,
    /// Only those that are parts of this issue, or parts of its parts
    #[arg(long, value_name = "ID")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<IssueRef>,
}

op!(Count => Counted, "issue.count", get("/issues/count"), Read);

/// How many issues there are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Counted {
    /// Those that are not closed
    Plain { count: i64 },
    /// All, by the groups asked for
    Grouped { total: i64, groups: Vec<Group> },
}

/// One group; it has the keys that were asked for.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    pub status: Option<Status>,
    pub priority: Option<Priority>,
    pub issue_type: Option<IssueType>,
    /// Empty for those without one
    pub assignee: Option<String>,
    pub count: i64,
}

//! Operations on issues.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::error::{Error, Result};
use crate::event::Event;
use crate::id::{IssueId, IssueRef};
use crate::issue::{Created, Issue, IssueDetail, IssueTransition, IssueType, Priority, Sort, Status, Updated};
use crate::op::op;
use crate::text;
use crate::time::Span;

/// Create an issue
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// What it is about, in one line
    pub title: String,
    /// What kind of issue it is
    #[arg(short = 't', long = "type", alias = "issue-type", value_name = "TYPE")]
    #[serde(alias = "type")]
    pub issue_type: IssueType,
    /// How urgent it is
    #[arg(short, long, default_value = "p2")]
    #[serde(default)]
    pub priority: Priority,
    /// Who should do it
    #[arg(short, long, value_name = "NAME")]
    pub assignee: Option<String>,
    /// Stem of the spec it implements: auth for specs/auth.md
    #[arg(long, value_name = "STEM")]
    pub spec: Option<String>,
    /// The bug to close together with it
    #[arg(long, value_name = "ID")]
    pub fixes: Option<IssueRef>,
    /// Details; - reads them from standard input
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub description: Option<String>,
    /// An issue that must be closed first; may be given again
    #[arg(long = "dep", value_name = "ID")]
    #[serde(default, skip_serializing_if = "Vec::is_empty", alias = "dep")]
    pub deps: Vec<IssueRef>,
}

impl Create {
    /// An idea to be sorted out later: its first line is the title, and all of it the description if there is more.
    pub fn captured(text: &str) -> Self {
        let text = text.trim();
        let title = text.lines().next().unwrap_or_default().trim();
        Self {
            title: title.to_owned(),
            issue_type: IssueType::Task,
            priority: Priority::default(),
            assignee: None,
            spec: None,
            fixes: None,
            description: (title != text).then(|| text.to_owned()),
            deps: Vec::new(),
        }
    }
}

op!(Create => Created, "issue.create", post("/issues").creates(), Write);

/// Change an issue, claim it or give it back
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
    /// A new title
    #[arg(long)]
    pub title: Option<String>,
    /// A new status; closed closes it, open reopens a closed one
    #[arg(short, long, conflicts_with_all = ["claim", "unclaim"])]
    pub status: Option<Status>,
    /// A new priority
    #[arg(short, long)]
    pub priority: Option<Priority>,
    /// A new assignee; an empty name clears it
    #[arg(short, long, value_name = "NAME", conflicts_with_all = ["claim", "unclaim"])]
    pub assignee: Option<String>,
    /// A new description; - reads it from standard input, an empty one clears it
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub description: Option<String>,
    /// Claim it: fails unless it is open
    #[arg(long, conflicts_with = "unclaim")]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub claim: bool,
    /// Let the claim end by itself unless renewed: 30s, 15m, 12h, 1d
    #[arg(long, requires = "claim", value_name = "TIME")]
    pub ttl: Option<Span>,
    /// Give it back: open, without assignee
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unclaim: bool,
    /// Change status or assignee even if another holds the claim
    #[arg(short, long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

impl Update {
    /// Changes nothing yet.
    pub fn of(id: IssueRef) -> Self {
        Self {
            id,
            title: None,
            status: None,
            priority: None,
            assignee: None,
            description: None,
            claim: false,
            ttl: None,
            unclaim: false,
            force: false,
        }
    }

    /// What the request asks of the issue's state, if anything.
    pub fn step(&self) -> Result<Option<IssueTransition>> {
        if self.ttl.is_some() && !self.claim {
            return Err(Error::invalid("a ttl goes with a claim"));
        }
        if (self.claim || self.unclaim) && (self.status.is_some() || self.assignee.is_some()) {
            return Err(Error::invalid("a claim or its release sets status and assignee by itself"));
        }
        match (self.claim, self.unclaim) {
            (true, true) => Err(Error::invalid("claim and unclaim exclude each other")),
            (true, false) => Ok(Some(IssueTransition::Claim { lease: self.ttl })),
            (false, true) => Ok(Some(IssueTransition::Release)),
            (false, false) => Ok(self.status.map(IssueTransition::Status)),
        }
    }

    /// Applies the fields that are not a matter of state.
    pub fn edit(&self, issue: &mut Issue) -> Result<()> {
        if let Some(title) = &self.title {
            issue.title = text::title("title", title)?.to_owned();
        }
        if self.description.is_some() {
            issue.description = text::optional_block("description", self.description.as_ref())?;
        }
        if let Some(priority) = self.priority {
            issue.priority = priority;
        }
        if self.assignee.is_some() {
            issue.reassign(text::optional_line("assignee", self.assignee.as_ref())?);
        }
        Ok(())
    }

    /// Whether the request asks for nothing at all.
    pub fn is_empty(&self) -> bool {
        self.title.is_none()
            && self.description.is_none()
            && self.priority.is_none()
            && self.assignee.is_none()
            && self.status.is_none()
            && !self.claim
            && !self.unclaim
    }
}

op!(Update => Updated, "issue.update", patch("/issues/{id}"), Write);

/// Close an issue, and the bug it fixes
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Close {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
    /// Why, or how it was done
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Close it whatever its status and whoever holds it
    #[arg(short, long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

op!(Close => Issue, "issue.close", post("/issues/{id}/close"), Write);

/// Reopen a closed issue
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Reopen {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
    /// Why
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

op!(Reopen => Issue, "issue.reopen", post("/issues/{id}/reopen"), Write);

/// Give an issue back: open, without assignee
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
    /// Even if another holds it
    #[arg(short, long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

op!(Release => Issue, "issue.release", post("/issues/{id}/release"), Write);

/// Renew the lease of a claim
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
    /// From now on, this long; as long as before unless given
    #[arg(long, value_name = "TIME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Span>,
    /// Even if another holds it
    #[arg(short, long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

op!(Heartbeat => Issue, "issue.heartbeat", post("/issues/{id}/heartbeat"), Write);

/// Delete an issue with its dependencies, comments and events
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Delete {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
    /// Even if others depend on it, fix it, have commented or hold it
    #[arg(short, long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

op!(Delete => Deleted, "issue.delete", delete("/issues/{id}"), Maintain);

/// What was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Deleted {
    /// Always `deleted`
    pub status: String,
    pub id: IssueId,
}

/// Show an issue with its dependencies and comments
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
}

op!(Show => IssueDetail, "issue.show", get("/issues/{id}"), Read);

/// Which issues a listing is about; every filter given must match
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub status: Option<Status>,
    pub priority: Option<Priority>,
    pub assignee: Option<String>,
    pub issue_type: Option<IssueType>,
    pub spec: Option<String>,
}

macro_rules! filters {
    ($($op:ident { $($field:ident),* })*) => {$(
        impl $op {
            pub fn filter(&self) -> Filter {
                Filter { $($field: self.$field.clone(),)* ..Filter::default() }
            }
        }
    )*};
}

filters! {
    Ready { priority, assignee, issue_type, spec }
    Blocked { status, priority, assignee, issue_type }
    Search { status, priority, assignee, issue_type }
}

/// List issues of every status, most urgent first
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
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
    /// In which order
    #[arg(long, value_name = "FIELD")]
    pub sort: Option<Sort>,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(alias = "n")]
    pub limit: Option<u32>,
}

impl List {
    pub fn filter(&self) -> Filter {
        let Self { status, priority, assignee, issue_type, spec, .. } = self.clone();
        Filter { status, priority, assignee, issue_type, spec }
    }
}

op!(List => Vec<Issue>, "issue.list", get("/issues"), Read);

/// List open issues that nothing blocks, most urgent first
///
/// Bugs are reports, not work, and are never listed.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Ready {
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
    /// In which order [default: priority]
    #[arg(long, value_name = "FIELD")]
    pub sort: Option<Sort>,
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
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(alias = "n")]
    pub limit: Option<u32>,
}

op!(Blocked => Vec<Issue>, "issue.blocked", get("/issues/blocked"), Read);

/// List issues whose title or description contains a text, whatever its case
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// The text, taken literally
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
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(alias = "n")]
    pub limit: Option<u32>,
}

op!(Search => Vec<Issue>, "issue.search", get("/issues/search"), Read);

/// Count issues that are not closed, or all of them by group
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Count {
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

/// Show what happened to an issue, newest first
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct History {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "n")]
    pub limit: Option<u32>,
}

op!(History => Vec<Event>, "issue.history", get("/issues/{id}/history"), Read);

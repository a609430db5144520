//! Issues of other trackers: imports them in one transaction, and reads whole issues to export them.
//!
//! The crate that reads and writes the files of a tracker knows their format.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::closed_enum::closed_enum;
use crate::comment::Comment;
use crate::id::IssueId;
use crate::issue::{Criterion, Issue, IssueType, Link, Priority, Status};
use crate::op::op;
use crate::session::Object;
use crate::time::{Date, Span, Timestamp};

/// The scope of the deleted issues of trackers in `pn kv`. Servers carry it to other devices.
pub const TOMBSTONE_SCOPE: &str = "project";

closed_enum! {
    /// Another tracker. Its name is the field in which an issue keeps what has no place here.
    Tracker "invalid tracker: {:?}" {
        Backlog "backlog",
        Beads "beads",
        Github "github",
        Gitlab "gitlab",
        Jira "jira",
        Linear "linear",
        Taskmaster "taskmaster",
        Taskwarrior "taskwarrior",
    }
}

impl Tracker {
    /// The key in `pn kv` of an issue that was deleted there.
    pub fn tombstone_key(self, id: &str) -> String {
        format!("{self}/deleted/{id}")
    }
}

/// Import issues of another tracker; those imported before get what has changed there since
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportIssues {
    /// Which tracker
    pub from: Tracker,
    /// What it has
    pub items: Vec<TrackerItem>,
    /// Change nothing; tell what would happen
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// Keep secrets as they are
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_redact: bool,
}

op!(ImportIssues => Vec<ImportedItem>, "tracker.import", post("/import/issues"), Write, {
    const MAX_BODY: usize = 64 << 20;
});

/// Something that a tracker has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TrackerItem {
    Issue(Box<TrackerIssue>),
    /// A text to remember, which becomes a learning
    Memory(TrackerMemory),
    /// An issue that was deleted there
    Tombstone(TrackerTombstone),
}

/// An issue of another tracker in our words.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrackerIssue {
    /// Its id here, the same at every import
    pub id: IssueId,
    /// What identifies it there
    pub key: String,
    pub title: String,
    pub description: Option<String>,
    pub issue_type: IssueType,
    pub status: Status,
    pub priority: Priority,
    pub spec: Option<String>,
    pub assignee: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    pub due: Option<Date>,
    pub defer: Option<Date>,
    pub estimate: Option<Span>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptance: Vec<Criterion>,
    /// The issue that it is a part of
    pub parent: Option<IssueId>,
    /// The issues that must be closed first
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deps: Vec<IssueId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Where else it is known
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refs: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<TrackerComment>,
    pub created_at: Option<Timestamp>,
    pub updated_at: Option<Timestamp>,
    pub closed_at: Option<Timestamp>,
    pub close_reason: Option<String>,
    /// Fields that have no place here, or that the tracker writes in another way
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub raw: Object,
}

impl TrackerIssue {
    /// An open issue with a title, and nothing else.
    pub fn new(id: IssueId, key: String, title: String) -> Self {
        Self {
            id,
            key,
            title,
            description: None,
            issue_type: IssueType::Task,
            status: Status::Open,
            priority: Priority::default(),
            spec: None,
            assignee: None,
            labels: Vec::new(),
            due: None,
            defer: None,
            estimate: None,
            acceptance: Vec::new(),
            parent: None,
            deps: Vec::new(),
            links: Vec::new(),
            refs: Vec::new(),
            comments: Vec::new(),
            created_at: None,
            updated_at: None,
            closed_at: None,
            close_reason: None,
            raw: Object::new(),
        }
    }

    /// The issues that it refers to.
    pub fn named(&self) -> impl Iterator<Item = &IssueId> {
        self.parent.iter().chain(&self.deps).chain(self.links.iter().map(|link| &link.to))
    }
}

/// What somebody said there about an issue.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrackerComment {
    /// What identifies it there; empty if nothing does
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    pub author: Option<String>,
    pub text: String,
    pub at: Option<Timestamp>,
    /// Fields that have no place here, or that the tracker writes in another way
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub raw: Object,
}

/// A text to remember.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrackerMemory {
    pub key: String,
    pub text: String,
    /// Fields that have no place here
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub raw: Object,
}

/// An issue that was deleted there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrackerTombstone {
    pub id: IssueId,
    /// As the tracker wrote it
    pub line: String,
}

closed_enum! {
    /// What an import did with an item.
    ItemOutcome "invalid outcome: {:?}" {
        /// It is new here
        Created "created",
        /// It was imported before, and has what changed there since
        Updated "updated",
        /// It was imported before, and nothing changed there
        Unchanged "unchanged",
        /// It was not imported; `problems` says why
        Skipped "skipped",
    }
}

/// What an import did with an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedItem {
    pub outcome: ItemOutcome,
    /// Its id here
    pub id: String,
    /// What of it could not be imported, and why
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// The issues that it refers to and that are not here
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<IssueId>,
    /// How many secrets were replaced
    #[serde(default, skip_serializing_if = "is_zero")]
    pub redactions: i64,
}

fn is_zero(count: &i64) -> bool {
    *count == 0
}

/// Read whole issues, in the order of their ids
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct ExportIssues {
    /// Only those after this one
    #[arg(long, value_name = "ID")]
    pub after: Option<IssueId>,
    /// At most this many [default: 1000]
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(alias = "n")]
    pub limit: Option<u32>,
}

op!(ExportIssues => Vec<WholeIssue>, "tracker.export", get("/export/issues"), Read);

/// An issue with all that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WholeIssue {
    pub issue: Issue,
    /// The issues that must be closed first
    pub deps: Vec<IssueId>,
    pub comments: Vec<Comment>,
    /// Where else it is known
    pub refs: Vec<String>,
}

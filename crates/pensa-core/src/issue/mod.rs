//! The issue: what it is, and (in [`transition`]) how it may change.

mod claim;
mod document;
mod plan;
pub mod plan_list;
pub mod query;
mod transition;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with_macros::skip_serializing_none;

use crate::closed_enum::closed_enum;
use crate::comment::Comment;
use crate::entity;
use crate::error::{Error, Result};
use crate::for_each_attached;
use crate::id::{ConflictId, IssueId};
use crate::session::Spent;
use crate::sync::{RecordIdentity, SyncEntity};
use crate::text;
use crate::text_form::serde_as_text;
use crate::time::{Date, Span, Timestamp};
use crate::words;

pub use claim::{Origin, Requester};
pub use document::IssueDocument;
pub use plan::{
    Criterion, FieldChange, FieldValues, IssueRules, Link, LinkKind, check_field_name, field_object, label,
};
pub use transition::{IssueTransition, TransitionResult, apply};

closed_enum! {
    /// What kind of issue it is; never changes.
    IssueType "invalid issue type: {:?}" {
        /// A problem report
        Bug "bug",
        /// A piece of a plan
        Task "task",
        /// A test to write or run
        Test "test",
        /// Upkeep: refactoring, dependencies, CI
        Chore "chore",
    }
}

closed_enum! {
    /// Where an issue stands.
    Status "invalid status: {:?}" {
        Open "open",
        InProgress "in_progress" | "in-progress",
        Closed "closed",
    }
}

closed_enum! {
    /// How urgent an issue is: p0 critical, p1 high, p2 normal, p3 low.
    #[derive(Default)]
    Priority "invalid priority: {:?}" {
        P0 "p0" | "0" | "P0",
        P1 "p1" | "1" | "P1",
        #[default]
        P2 "p2" | "2" | "P2",
        P3 "p3" | "3" | "P3",
    }
}

closed_enum! {
    /// The order of a listing; ties are broken by creation time, then id.
    Sort "invalid sort field: {:?}" {
        /// Most urgent first
        Priority "priority",
        /// Oldest first
        CreatedAt "created_at",
        /// Newest first
        UpdatedAt "updated_at",
        /// open, in_progress, closed
        Status "status",
        /// A to Z
        Title "title",
        /// Due first
        Due "due",
        /// Least work first
        Estimate "estimate",
        /// By how many issues become ready once it, and then what that frees, is closed
        Impact "impact",
    }
}

/// The order of a listing: a [`Sort`], or a custom field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SortBy {
    Sort(Sort),
    /// Issues without the field come last.
    Field(String),
}

impl From<Sort> for SortBy {
    fn from(sort: Sort) -> Self {
        Self::Sort(sort)
    }
}

impl Default for SortBy {
    fn default() -> Self {
        Self::Sort(Sort::Priority)
    }
}

impl fmt::Display for SortBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sort(sort) => sort.fmt(f),
            Self::Field(name) => write!(f, "field.{name}"),
        }
    }
}

impl FromStr for SortBy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Some(name) = text.strip_prefix("field.") {
            check_field_name(name)?;
            return Ok(Self::Field(name.to_owned()));
        }
        text.parse().map(Self::Sort).map_err(|error: Error| {
            error.hint(format!("{}, field.NAME", words::hint(text, &Sort::ALL.map(Sort::as_str))))
        })
    }
}

serde_as_text!(SortBy);

impl JsonSchema for SortBy {
    fn schema_name() -> Cow<'static, str> {
        "SortBy".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let field = json_schema!({"type": "string", "pattern": "^field\\.[A-Za-z0-9_-]+$"});
        json_schema!({"anyOf": [Sort::json_schema(generator), field]})
    }
}

/// A planned unit of work or a problem report.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Issue {
    pub id: IssueId,
    pub title: String,
    pub description: Option<String>,
    pub issue_type: IssueType,
    pub status: Status,
    pub priority: Priority,
    /// The stem of the spec this implements: `auth` for `specs/auth.md`
    pub spec: Option<String>,
    /// The bug that is closed together with this
    pub fixes: Option<IssueId>,
    /// The issue that this is a part of
    pub parent: Option<IssueId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The day by which it should be closed
    pub due: Option<Date>,
    /// The day before which nobody should start
    pub defer: Option<Date>,
    /// How much work it is
    pub estimate: Option<Span>,
    /// What the result must meet
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptance: Vec<Criterion>,
    /// Links to other issues
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Custom fields, as the project's settings declare them
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, String>,
    pub assignee: Option<String>,
    /// When the claim ends by itself; absent for a claim that does not
    pub lease_expires_at: Option<Timestamp>,
    /// How long a renewal of the lease lasts; a matter of the store, not shown
    #[serde(skip)]
    pub lease: Option<Span>,
    /// The session, or the run, that claimed it; only it may renew, release or close without force
    pub claim_session: Option<String>,
    /// The machine from which it was claimed
    pub claim_host: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub closed_at: Option<Timestamp>,
    pub close_reason: Option<String>,
    /// Fields that this version does not know, kept for those who do
    #[serde(flatten)]
    pub extra: Extra,
}

entity!(Issue: "issue" in "issues", keys 1, computed [blockers, search_text, estimate_ms] {
    id, title, description, issue_type, status, priority, spec, fixes, assignee, lease_expires_at, lease_ms: Hidden,
    created_at, updated_at, closed_at, close_reason, claim_session, claim_host, parent,
    labels: Json, due, defer, estimate, acceptance: Json, links: Json, fields: Json, extra: Extra,
}
    fn hidden(&self, _: &str) -> Option<i64> {
        self.lease.map(Span::as_millis)
    }

    fn set_hidden(&mut self, _: &str, value: i64) {
        self.lease = Some(Span::from_millis(value));
    }
);

/// Fields of a record that this version does not know.
pub type Extra = Map<String, Value>;

/// Names that would be taken for something else where an issue is shown.
const RESERVED: [&str; 11] = [
    "deps",
    "comments",
    "blocks",
    "fixed_by",
    "children",
    "progress",
    "linked_by",
    "spent",
    "similar",
    "was_assigned_to",
    "conflicts",
];

macro_rules! attached {
    ($($module:ident $entity:ident $id:ident,)*) => {
        /// The collections of what is attached to issues. Where an issue is shown, each is a field.
        const ATTACHED: &[&str] = &[$(<crate::ops::$module::$entity as crate::entity::Entity>::SCHEMA.table,)*];
    };
}

for_each_attached!(attached);

impl SyncEntity for Issue {
    fn normalise(self) -> Result<Self> {
        self.normalise()
    }

    fn extra(&self) -> &Extra {
        &self.extra
    }

    fn version(&self) -> Option<(RecordIdentity, Option<Timestamp>)> {
        Some((RecordIdentity { key: self.id.to_string(), birth: Some(self.created_at) }, Some(self.updated_at)))
    }
}

impl Issue {
    /// An issue that comes from a file, with its fields in step with each other; or why it can't be one.
    pub fn normalise(mut self) -> Result<Self> {
        if self.title.trim().is_empty() {
            return Err(Error::invalid("title is empty"));
        }
        text::fits_block("title", &self.title)?;
        text::fits_block("description", self.description.as_deref().unwrap_or_default())?;
        let reserved = RESERVED.iter().chain(ATTACHED).find(|name| self.extra.contains_key(**name));
        if let Some(name) = reserved {
            return Err(Error::invalid(format!("{name} is not a field of an issue")));
        }
        if self.fixes.as_ref() == Some(&self.id) {
            return Err(Error::invalid("an issue cannot fix itself"));
        }
        self.normalise_plan()?;
        let absent_if_empty = |text: Option<String>| text.filter(|text| !text.is_empty());
        self.description = absent_if_empty(self.description);
        self.spec = absent_if_empty(self.spec);
        self.assignee = absent_if_empty(self.assignee);
        if self.status == Status::Closed {
            self.closed_at = self.closed_at.or(Some(self.updated_at));
        } else {
            self.closed_at = None;
            self.close_reason = None;
        }
        if self.status != Status::InProgress || self.assignee.is_none() {
            self.end_claim();
        }
        self.lease = self.lease_expires_at.and_then(|end| end.since(self.updated_at));
        Ok(self)
    }

    /// A new open issue.
    pub fn new(id: IssueId, title: String, issue_type: IssueType, now: Timestamp) -> Self {
        Self {
            id,
            title,
            description: None,
            issue_type,
            status: Status::Open,
            priority: Priority::default(),
            spec: None,
            fixes: None,
            parent: None,
            labels: Vec::new(),
            due: None,
            defer: None,
            estimate: None,
            acceptance: Vec::new(),
            links: Vec::new(),
            fields: BTreeMap::new(),
            assignee: None,
            lease_expires_at: None,
            lease: None,
            claim_session: None,
            claim_host: None,
            created_at: now,
            updated_at: now,
            closed_at: None,
            close_reason: None,
            extra: Extra::new(),
        }
    }

    /// Gives the issue to somebody else, or to nobody. The claim was its former holder's, so it ends.
    pub fn reassign(&mut self, assignee: Option<String>) {
        if self.assignee != assignee {
            self.assignee = assignee;
            self.end_claim();
        }
    }

    /// Forgets the lease, session and host of a claim.
    fn end_claim(&mut self) {
        self.lease = None;
        self.lease_expires_at = None;
        self.claim_session = None;
        self.claim_host = None;
    }
}

/// An issue with what it depends on and what was said about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IssueDetail {
    #[serde(flatten)]
    pub issue: Issue,
    pub deps: Vec<Issue>,
    pub comments: Vec<Comment>,
    /// The issues that wait for it
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Issue>,
    /// The tasks whose closing closes this bug
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixed_by: Vec<Issue>,
    /// The issues that are parts of it
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Issue>,
    /// How much of what is below it is done
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// Links of other issues to it
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub linked_by: Vec<LinkedIssue>,
    /// What the sessions about it and those of its runs used and cost
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
}

/// The issues without children below an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "IssueProgress")]
pub struct Progress {
    pub closed: i64,
    pub total: i64,
}

/// The other end of a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkedIssue {
    pub kind: LinkKind,
    /// Whether the other issue has the link
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incoming: bool,
    pub id: IssueId,
    /// Absent if there is no such issue
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
}

impl IssueDetail {
    /// An issue with what belongs to it, and nothing of what refers to it. What is attached to it goes into its fields.
    pub fn alone(mut issue: Issue, deps: Vec<Issue>, comments: Vec<Comment>, attached: Map<String, Value>) -> Self {
        issue.extra.extend(attached);
        let (blocks, fixed_by, children, linked_by) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { issue, deps, comments, blocks, fixed_by, children, progress: None, linked_by, spent: None }
    }

    /// What is attached to it, each in a line: its id, and the texts it has.
    pub fn attached_lines(&self) -> impl Iterator<Item = (&str, Vec<String>)> {
        const OF_ALL: [&str; 3] = ["issue_id", "actor", "created_at"];
        let line = |fields: &Value| {
            let fields = fields.as_object().into_iter().flatten().filter(|(name, _)| !OF_ALL.contains(&name.as_str()));
            fields.filter_map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(" ")
        };
        let lists = ATTACHED.iter().filter_map(|name| Some((*name, self.issue.extra.get(*name)?.as_array()?)));
        lists.map(move |(name, list)| (name, list.iter().map(line).collect()))
    }
}

/// An open issue whose title is nearly that of a new one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Similar {
    pub id: IssueId,
    pub title: String,
}

/// A changed issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Updated {
    #[serde(flatten)]
    pub issue: Issue,
    /// Who was to do it before it was claimed by somebody else
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was_assigned_to: Option<String>,
    /// Fields that somebody else had changed since their editor read them; pn conflicts shows both values
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<ConflictId>,
}

/// A new issue, and the open ones it may repeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Created {
    #[serde(flatten)]
    pub issue: Issue,
    pub similar: Vec<Similar>,
}

//! Taking in what another tool kept: records of every kind at once, each told as new, as known, or why it was left out.
//!
//! What the files of that tool look like is left to whoever reads them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::closed_enum::closed_enum;
use crate::id::{IssueId, ReleaseId};
use crate::issue::{IssueType, Priority};
use crate::learning::{Impact, Kind, WorkValue};
use crate::op::op;
use crate::session::Object;
use crate::time::Timestamp;
use crate::work::{Step, WorkKind, WorkStatus};

closed_enum! {
    /// Another tool. Under its name stands in the records what has no place of its own.
    Source "invalid source: {:?}" {
        Prjct "prjct",
    }
}

/// Take in records that another tool kept; what is here already stays as it is
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Records {
    /// Which tool
    pub from: Source,
    /// What it kept; issues come before what names them
    pub records: Vec<ImportItem>,
    /// Keep secrets as they are
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_redact: bool,
}

op!(Records => Vec<ImportedRecord>, "import.records", post("/import/records"), Write);

/// One record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[schemars(rename = "Given")]
pub enum ImportItem {
    Issue(Box<ImportIssue>),
    Release(ImportRelease),
    Learning(ImportLearning),
    Comment(ImportComment),
    Event(ImportEvent),
    Skills(ImportSkills),
    Document(ImportDocument),
}

/// Where a record comes from, and what of it has no place.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Origin")]
pub struct ImportOrigin {
    /// The file, by its path in the directory of the tool
    pub file: String,
    /// Tells whether the record has changed since it was taken in
    pub hash: String,
    /// Fields that have no place
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub fields: Object,
    /// Other records with the same id
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Object>,
}

impl ImportOrigin {
    /// Whether something stands here that has no other place.
    pub fn holds_more(&self) -> bool {
        !self.fields.is_empty() || !self.also.is_empty()
    }
}

/// Something to do, being done, or done.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportIssue {
    pub id: IssueId,
    pub title: String,
    pub description: Option<String>,
    pub issue_type: IssueType,
    pub priority: Priority,
    /// Whether it is over; work that is done closes its issue by itself
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
    pub close_reason: Option<String>,
    pub created_at: Option<Timestamp>,
    pub updated_at: Option<Timestamp>,
    pub closed_at: Option<Timestamp>,
    /// The spec that it implements
    pub spec: Option<String>,
    /// What was done about it
    pub work: Option<ImportWork>,
    pub origin: ImportOrigin,
}

/// Work on an issue.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "GivenWork")]
pub struct ImportWork {
    pub kind: WorkKind,
    pub status: WorkStatus,
    pub branch: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    pub started_at: Option<Timestamp>,
}

/// Something that was shipped.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportRelease {
    pub id: ReleaseId,
    pub name: String,
    pub version: String,
    /// What it is for its users
    #[serde(rename = "release_kind")]
    pub kind: WorkKind,
    /// What was done in it, as far as it is here
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<IssueId>,
    pub notes: Option<String>,
    pub shipped_at: Option<Timestamp>,
    pub origin: ImportOrigin,
}

/// One text that somebody found out.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportLearning {
    #[serde(rename = "learning_kind")]
    pub kind: Kind,
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    #[serde(default)]
    pub impact: Impact,
    pub value: Option<WorkValue>,
    pub linear_id: Option<String>,
    /// The task it came from, by the id that the other tool gave it
    pub task: Option<String>,
    pub at: Option<Timestamp>,
    /// What the other tool calls it
    pub name: Option<String>,
    /// What the other tool calls the learning in whose place this one is; it comes before, in the same request
    pub supersedes: Option<String>,
    pub origin: ImportOrigin,
}

/// What somebody said about an issue.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportComment {
    pub issue_id: IssueId,
    pub author: Option<String>,
    pub text: String,
    pub at: Option<Timestamp>,
    pub origin: ImportOrigin,
}

/// Something that happened to work on an issue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportEvent {
    pub issue_id: IssueId,
    /// How many of the same came before it
    #[serde(default)]
    pub again: u32,
    /// As the other tool wrote it
    pub data: Object,
}

/// The skills that an agent's file calls for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportSkills {
    pub name: String,
    pub skills: Vec<String>,
}

/// A document that is kept as it is, in kv.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportDocument {
    pub scope: String,
    pub key: String,
    pub text: String,
}

closed_enum! {
    /// What became of a record.
    ImportOutcome "invalid outcome: {:?}" {
        /// It is new here
        Imported "imported",
        /// A document that was here with another text has this one now
        Updated "updated",
        /// It was taken in before
        Here "here",
        /// It was taken in before, and its file says something else now
        Changed "changed",
        /// Something else has its id
        Clash "clash",
        /// It was taken in before and deleted here
        Deleted "deleted",
        /// It can't be kept
        Refused "refused",
    }
}

/// What became of a record.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Told")]
pub struct ImportedRecord {
    pub outcome: ImportOutcome,
    /// The id under which it is here
    pub id: Option<String>,
    /// What there is to say about it
    pub reason: Option<String>,
    /// How many secrets were replaced
    #[serde(default, skip_serializing_if = "is_zero")]
    pub redactions: i64,
}

fn is_zero(count: &i64) -> bool {
    *count == 0
}

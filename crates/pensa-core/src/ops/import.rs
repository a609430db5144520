//! The operation that imports records of another tool, each reported as new, known or skipped, with the reason.
//!
//! Reading the files of that tool is left to `pensa-interop`.

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
    /// Another tool. Fields without a place here are stored under its name.
    Source "invalid source: {:?}" {
        Prjct "prjct",
    }
}

/// Import records of another tool; existing records stay as they are
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Records {
    /// The tool
    pub from: Source,
    /// Its records; issues come before the records that name them
    pub records: Vec<ImportItem>,
    /// Do not redact secrets
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

/// Where a record comes from, and its fields without a place here.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Origin")]
pub struct ImportOrigin {
    /// The path of its file in the directory of the tool
    pub file: String,
    /// A hash that shows whether the record has changed since its import
    pub hash: String,
    /// Fields without a place here
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub fields: Object,
    /// Other records with the same id
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Object>,
}

impl ImportOrigin {
    /// Whether there is anything without another place.
    pub fn holds_more(&self) -> bool {
        !self.fields.is_empty() || !self.also.is_empty()
    }
}

/// A task of another tool: to do, in progress or done.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportIssue {
    pub id: IssueId,
    pub title: String,
    pub description: Option<String>,
    pub issue_type: IssueType,
    pub priority: Priority,
    /// Whether it is closed; finished work closes its issue by itself
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
    pub close_reason: Option<String>,
    pub created_at: Option<Timestamp>,
    pub updated_at: Option<Timestamp>,
    pub closed_at: Option<Timestamp>,
    /// The spec that it implements
    pub spec: Option<String>,
    /// The work on it
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

/// A release.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportRelease {
    pub id: ReleaseId,
    pub name: String,
    pub version: String,
    /// What it means for users
    #[serde(rename = "release_kind")]
    pub kind: WorkKind,
    /// Its issues, as far as they exist here
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<IssueId>,
    pub notes: Option<String>,
    pub shipped_at: Option<Timestamp>,
    pub origin: ImportOrigin,
}

/// A learning.
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
    /// The task it came from, by its id in the other tool
    pub task: Option<String>,
    pub at: Option<Timestamp>,
    /// Its name in the other tool
    pub name: Option<String>,
    /// The learning that it replaces, by its name in the other tool; that comes earlier in the same request
    pub supersedes: Option<String>,
    pub origin: ImportOrigin,
}

/// A comment on an issue.
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

/// An event of the work on an issue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportEvent {
    pub issue_id: IssueId,
    /// How many equal events came before it
    #[serde(default)]
    pub again: u32,
    /// As the other tool wrote it
    pub data: Object,
}

/// The skills that an agent file requires.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportSkills {
    pub name: String,
    pub skills: Vec<String>,
}

/// A document that is stored unchanged, in kv.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportDocument {
    pub scope: String,
    pub key: String,
    pub text: String,
}

closed_enum! {
    /// The outcome for a record.
    ImportOutcome "invalid outcome: {:?}" {
        /// It is new
        Imported "imported",
        /// A document whose text has changed
        Updated "updated",
        /// It was imported earlier
        Here "here",
        /// It was imported earlier, and its file has changed since
        Changed "changed",
        /// Another record has its id
        Clash "clash",
        /// It was imported earlier, and deleted here since
        Deleted "deleted",
        /// It cannot be stored
        Refused "refused",
    }
}

/// The outcome for a record.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Told")]
pub struct ImportedRecord {
    pub outcome: ImportOutcome,
    /// Its id in this store
    pub id: Option<String>,
    /// Why, if it was not imported unchanged
    pub reason: Option<String>,
    /// How many secrets were replaced
    #[serde(default, skip_serializing_if = "is_zero")]
    pub redactions: i64,
}

fn is_zero(count: &i64) -> bool {
    *count == 0
}

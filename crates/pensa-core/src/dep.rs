//! A dependency: one issue waits until another is closed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::entity;
use crate::error::{Error, Result};
use crate::id::IssueId;
use crate::issue::{Extra, IssueType, Priority, Status};
use crate::sync::{RecordIdentity, SyncEntity};
use crate::time::Timestamp;

/// `issue_id` can't start before `depends_on_id` is closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dep {
    pub issue_id: IssueId,
    pub depends_on_id: IssueId,
    /// Fields unknown to this version, kept so that a newer version does not lose them
    #[serde(flatten)]
    pub extra: Extra,
}

entity!(Dep: "dep" in "deps", keys 2, owner issue_id { issue_id, depends_on_id, extra: Extra });

impl Dep {
    pub fn new(issue_id: IssueId, depends_on_id: IssueId) -> Self {
        Self { issue_id, depends_on_id, extra: Extra::new() }
    }

    /// What names it among the records that git carries.
    pub fn key(&self) -> String {
        format!("{} {}", self.issue_id, self.depends_on_id)
    }
}

impl SyncEntity for Dep {
    fn normalise(self) -> Result<Self> {
        if self.issue_id == self.depends_on_id {
            return Err(Error::invalid("an issue cannot wait for itself"));
        }
        Ok(self)
    }

    fn extra(&self) -> &Extra {
        &self.extra
    }

    fn version(&self) -> Option<(RecordIdentity, Option<Timestamp>)> {
        Some((RecordIdentity { key: self.key(), birth: None }, None))
    }
}

/// One line of a dependency tree, in pre-order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TreeNode {
    pub id: IssueId,
    pub title: String,
    pub status: Status,
    pub priority: Priority,
    pub issue_type: IssueType,
    pub depth: u32,
    /// The node above; absent for the root
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<IssueId>,
    /// True when it is a part of the node above, or that a part of it; otherwise one depends on the other
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub part: bool,
    /// True when the node stood in the tree already and is not expanded again
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
}

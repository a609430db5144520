//! A dependency: one issue waits until another is closed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::IssueId;
use crate::issue::{IssueType, Priority, Status};

/// `issue_id` can't start before `depends_on_id` is closed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Dep {
    pub issue_id: IssueId,
    pub depends_on_id: IssueId,
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
    /// True when the node stood in the tree already and is not expanded again
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
}

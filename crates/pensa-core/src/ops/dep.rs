//! Operations on dependencies.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dep::TreeNode;
use crate::id::{IssueId, IssueRef};
use crate::issue::Issue;
use crate::op::op;

/// Make an issue wait for another
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// The issue that waits
    #[arg(value_name = "CHILD")]
    pub issue_id: IssueRef,
    /// The issue that must be closed first
    #[arg(value_name = "PARENT")]
    pub depends_on_id: IssueRef,
}

op!(Add => DepChange, "dep.add", post("/deps").creates(), Write);

/// Stop an issue from waiting for another
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// The issue that waits
    #[arg(value_name = "CHILD")]
    pub issue_id: IssueRef,
    /// The issue it waits for
    #[arg(value_name = "PARENT")]
    pub depends_on_id: IssueRef,
}

op!(Remove => DepChange, "dep.remove", delete("/deps"), Write);

/// A dependency that was added or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DepChange {
    /// `added` or `removed`
    pub status: String,
    pub issue_id: IssueId,
    pub depends_on_id: IssueId,
}

/// List the issues that an issue waits for
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
}

op!(List => Vec<Issue>, "dep.list", get("/issues/{id}/deps"), Read);

/// The direction of a tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Direction {
    /// What blocks the issue
    Up,
    /// What the issue blocks
    #[default]
    Down,
}

/// Show what an issue blocks, or what blocks it, as a tree
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
    /// Down to what it blocks, or up to what blocks it
    #[arg(long, default_value = "down")]
    #[serde(default)]
    pub direction: Direction,
}

op!(Tree => Vec<TreeNode>, "dep.tree", get("/issues/{id}/deps/tree"), Read);

/// List cycles of issues that wait for each other; a healthy store has none
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Cycles {}

op!(Cycles => Vec<Vec<IssueId>>, "dep.cycles", get("/deps/cycles"), Read);

//! Operations on dependencies.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dep::TreeNode;
use crate::id::{IssueId, IssueRef};
use crate::issue::Issue;
use crate::op::{Access, Op, Route};

/// Make one issue wait for another
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

impl Op for Add {
    type Output = DepChange;
    const NAME: &'static str = "dep.add";
    const ROUTE: Route = Route::post("/deps").creates();
    const ACCESS: Access = Access::Write;
}

/// Make one issue no longer wait for another
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

impl Op for Remove {
    type Output = DepChange;
    const NAME: &'static str = "dep.remove";
    const ROUTE: Route = Route::delete("/deps");
    const ACCESS: Access = Access::Write;
}

/// A dependency that was added or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DepChange {
    /// `added` or `removed`
    pub status: String,
    pub issue_id: IssueId,
    pub depends_on_id: IssueId,
}

/// List what an issue waits for
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
}

impl Op for List {
    type Output = Vec<Issue>;
    const NAME: &'static str = "dep.list";
    const ROUTE: Route = Route::get("/issues/{id}/deps");
    const ACCESS: Access = Access::Read;
}

/// Which way a tree is followed.
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

/// Draw what an issue blocks, or what blocks it
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

impl Op for Tree {
    type Output = Vec<TreeNode>;
    const NAME: &'static str = "dep.tree";
    const ROUTE: Route = Route::get("/issues/{id}/deps/tree");
    const ACCESS: Access = Access::Read;
}

/// Find issues that wait for each other; a healthy store has none
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Cycles {}

impl Op for Cycles {
    type Output = Vec<Vec<IssueId>>;
    const NAME: &'static str = "dep.cycles";
    const ROUTE: Route = Route::get("/deps/cycles");
    const ACCESS: Access = Access::Read;
}

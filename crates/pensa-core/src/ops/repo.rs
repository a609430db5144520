//! Operations on repositories and on the workspaces of a server.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{RepoId, RepoRef};
use crate::op::{Access, Op, Route};
use crate::repo::{Repo, Seen, Workspace};

/// Remember a repository, or what has changed about one that is known
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Add {
    #[serde(flatten)]
    pub seen: Seen,
}

impl Op for Add {
    type Output = Repo;
    const NAME: &'static str = "repo.add";
    const ROUTE: Route = Route::post("/repos");
    const ACCESS: Access = Access::Write;
}

/// List the repositories that are known, oldest first
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Only those that come from this address
    #[arg(long, value_name = "URL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none", alias = "n")]
    pub limit: Option<u32>,
}

impl Op for List {
    type Output = Vec<Repo>;
    const NAME: &'static str = "repo.list";
    const ROUTE: Route = Route::get("/repos");
    const ACCESS: Access = Access::Read;
}

/// Show a repository
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// Which repository: its id, the beginning of it, or its root
    #[arg(value_name = "REPO")]
    pub id: RepoRef,
}

impl Op for Show {
    type Output = Repo;
    const NAME: &'static str = "repo.show";
    const ROUTE: Route = Route::get("/repos/{id}");
    const ACCESS: Access = Access::Read;
}

/// Forget a repository that has neither runs nor snapshots
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// Which repository: its id, the beginning of it, or its root
    #[arg(value_name = "REPO")]
    pub id: RepoRef,
}

impl Op for Remove {
    type Output = Removed;
    const NAME: &'static str = "repo.remove";
    const ROUTE: Route = Route::delete("/repos/{id}");
    const ACCESS: Access = Access::Maintain;
}

/// A repository that is no longer known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Removed {
    /// Always `removed`
    pub status: String,
    pub id: RepoId,
}

/// Make a workspace on a server
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct CreateWorkspace {
    /// What to call it
    #[arg(value_name = "NAME")]
    pub name: String,
    /// What another system calls it
    #[arg(long, value_name = "ID")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
}

impl Op for CreateWorkspace {
    type Output = Workspace;
    const NAME: &'static str = "workspace.create";
    const ROUTE: Route = Route::post("/workspaces").creates();
    const ACCESS: Access = Access::Write;
}

/// List the workspaces of a server by their names
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct ListWorkspaces {}

impl Op for ListWorkspaces {
    type Output = Vec<Workspace>;
    const NAME: &'static str = "workspace.list";
    const ROUTE: Route = Route::get("/workspaces");
    const ACCESS: Access = Access::Read;
}

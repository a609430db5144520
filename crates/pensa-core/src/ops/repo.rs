//! Operations on repositories and on the workspaces of a server.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{RepoId, RepoRef};
use crate::op::op;
use crate::repo::{Repo, RepoLocation, Workspace};

/// Add a repository, or update a known one
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Add {
    #[serde(flatten)]
    pub seen: RepoLocation,
}

op!(Add => Repo, "repo.add", post("/repos"), Write);

/// List known repositories, oldest first
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Only those with this remote URL
    #[arg(long, value_name = "URL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none", alias = "n")]
    pub limit: Option<u32>,
}

op!(List => Vec<Repo>, "repo.list", get("/repos"), Read);

/// Show a repository
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// Which repository: its id, the beginning of it, or its root
    #[arg(value_name = "REPO")]
    pub id: RepoRef,
}

op!(Show => Repo, "repo.show", get("/repos/{id}"), Read);

/// Remove a repository that has neither runs nor snapshots
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// Which repository: its id, the beginning of it, or its root
    #[arg(value_name = "REPO")]
    pub id: RepoRef,
}

op!(Remove => Removed, "repo.remove", delete("/repos/{id}"), Maintain);

/// A removed repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Removed {
    /// Always `removed`
    pub status: String,
    pub id: RepoId,
}

/// Create a workspace on a server
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct CreateWorkspace {
    /// Its name
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Its id in another system
    #[arg(long, value_name = "ID")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
}

op!(CreateWorkspace => Workspace, "workspace.create", post("/workspaces").creates(), Write);

/// List the workspaces of a server, sorted by name
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct ListWorkspaces {}

op!(ListWorkspaces => Vec<Workspace>, "workspace.list", get("/workspaces"), Read);

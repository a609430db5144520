//! Operations on the projects of a server.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::op::{Scope, op};
use crate::project::{Project, ProjectName};

/// Create a project on a server
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// Its name, which is part of its URL: a-z, 0-9 and the characters . - _
    #[arg(value_name = "NAME")]
    pub name: ProjectName,
}

op!(Create => Project, "project.create", post("/projects").creates(), Operate, {
    const SCOPE: Scope = Scope::Server;
});

/// List the projects of a server: all as an operator, your own as an admin
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Archived ones too
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
}

op!(List => Vec<Project>, "project.list", get("/projects"), Admin, {
    const SCOPE: Scope = Scope::Server;
});

/// Stop serving a project; its data stays
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Archive {
    /// Which project
    #[arg(value_name = "NAME")]
    pub name: ProjectName,
    /// Serve it again
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undo: bool,
}

op!(Archive => Project, "project.archive", post("/projects/{name}/archive"), Operate, {
    const SCOPE: Scope = Scope::Server;
});

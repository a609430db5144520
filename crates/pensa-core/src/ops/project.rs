//! Operations on the projects of a server.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::op::{Access, Op, Route, Scope};
use crate::project::{Project, ProjectName};

/// Make a project on a server
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// Its name: part of its address, so a-z, 0-9, -, _ and .
    #[arg(value_name = "NAME")]
    pub name: ProjectName,
}

impl Op for Create {
    type Output = Project;
    const NAME: &'static str = "project.create";
    const ROUTE: Route = Route::post("/projects").creates();
    const ACCESS: Access = Access::Operate;
    const SCOPE: Scope = Scope::Server;
}

/// List the projects of a server: as an operator all of them, as an admin your own
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Also those that are archived
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
}

impl Op for List {
    type Output = Vec<Project>;
    const NAME: &'static str = "project.list";
    const ROUTE: Route = Route::get("/projects");
    const ACCESS: Access = Access::Admin;
    const SCOPE: Scope = Scope::Server;
}

/// Stop serving a project; what it holds is kept
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

impl Op for Archive {
    type Output = Project;
    const NAME: &'static str = "project.archive";
    const ROUTE: Route = Route::post("/projects/{name}/archive");
    const ACCESS: Access = Access::Operate;
    const SCOPE: Scope = Scope::Server;
}

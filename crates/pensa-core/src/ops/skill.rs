//! Operations on skills.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::op::{Access, Op, Route};
use crate::skill::{Mappings, Skills};

/// Say which skills an agent's file calls for, in place of those before
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// The file, such as frontend.md
    #[arg(value_name = "NAME")]
    pub name: String,
    /// What it calls for
    #[arg(value_name = "SKILL", required = true)]
    pub skills: Vec<String>,
}

impl Op for Set {
    type Output = Skills;
    const NAME: &'static str = "skill.set";
    const ROUTE: Route = Route::post("/skills");
    const ACCESS: Access = Access::Write;
}

/// List the skills that agents' files call for
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {}

impl Op for List {
    type Output = Skills;
    const NAME: &'static str = "skill.list";
    const ROUTE: Route = Route::get("/skills");
    const ACCESS: Access = Access::Read;
}

/// Take out the skills of an agent's file
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// The file
    #[arg(value_name = "NAME")]
    pub name: String,
}

impl Op for Remove {
    type Output = Skills;
    const NAME: &'static str = "skill.remove";
    const ROUTE: Route = Route::delete("/skills");
    const ACCESS: Access = Access::Write;
}

/// Take in many at once; names that are not among them stay as they are
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Import {
    pub mappings: Mappings,
}

impl Op for Import {
    type Output = Skills;
    const NAME: &'static str = "skill.import";
    const ROUTE: Route = Route::post("/skills/import");
    const ACCESS: Access = Access::Write;
}

//! Operations on skills.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::op::op;
use crate::skill::{Mappings, Skills};

/// Set the skills that an agent file requires, replacing the old ones
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// The file, such as frontend.md
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The skills that it requires
    #[arg(value_name = "SKILL", required = true)]
    pub skills: Vec<String>,
}

op!(Set => Skills, "skill.set", post("/skills"), Write);

/// List the skills that agent files require
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {}

op!(List => Skills, "skill.list", get("/skills"), Read);

/// Remove the skills of an agent file
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// The file
    #[arg(value_name = "NAME")]
    pub name: String,
}

op!(Remove => Skills, "skill.remove", delete("/skills"), Write);

/// Set the skills of many agent files; other files keep theirs
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Import {
    pub mappings: Mappings,
}

op!(Import => Skills, "skill.import", post("/skills/import"), Write);

//! Operations on skills.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::op::op;
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

op!(Set => Skills, "skill.set", post("/skills"), Write);

/// List the skills that agents' files call for
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {}

op!(List => Skills, "skill.list", get("/skills"), Read);

/// Take out the skills of an agent's file
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// The file
    #[arg(value_name = "NAME")]
    pub name: String,
}

op!(Remove => Skills, "skill.remove", delete("/skills"), Write);

/// Take in many at once; names that are not among them stay as they are
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Import {
    pub mappings: Mappings,
}

op!(Import => Skills, "skill.import", post("/skills/import"), Write);

//! Operations on the labels of all issues.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::op::op;

/// List the labels in use, with how many issues have each
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {}

/// Rename a label on every issue that has it
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Rename {
    /// The label
    #[arg(value_name = "OLD")]
    pub old: String,
    /// What it is called from now on; an existing label takes its issues over
    #[arg(value_name = "NEW")]
    pub new: String,
}

/// A label in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LabelCount {
    pub label: String,
    /// How many issues have it
    pub count: i64,
    /// How many of them are not closed
    pub open: i64,
}

/// A renamed label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LabelRenamed {
    /// Always `renamed`
    pub status: String,
    pub old: String,
    pub new: String,
    /// How many issues changed
    pub changed: usize,
}

op!(List => Vec<LabelCount>, "label.list", get("/labels"), Read);
op!(Rename => LabelRenamed, "label.rename", post("/labels/rename"), Write);

//! Operations on conflicts: fields that two clones changed differently.

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::op::op;
use crate::sync::Conflict;

/// List conflicts: fields that two clones changed, with the value that was not kept
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// At most this many, oldest first
    #[arg(short = 'n', long, value_name = "COUNT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

op!(List => Vec<Conflict>, "conflict.list", get("/conflicts"), Read);

/// Resolve a conflict: keep the current value, or take the other one
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Resolve {
    /// The conflict, or the beginning of its id
    #[arg(value_name = "ID")]
    pub id: String,
    /// Which value to use
    #[arg(long, value_enum)]
    pub take: Side,
}

/// One of the two values of a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Side {
    /// The value in the store
    Kept,
    /// The value that was not kept
    Other,
}

op!(Resolve => Conflict, "conflict.resolve", post("/conflicts/{id}/resolve"), Write);

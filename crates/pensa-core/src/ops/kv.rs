//! Operations on small values under names.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::kv::KvPair;
use crate::op::op;

/// Show a value
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Get {
    /// Its name
    #[arg(value_name = "KEY")]
    pub key: String,
    /// user, project, repo, runtime, or another
    #[arg(long, value_name = "SCOPE")]
    pub scope: String,
}

op!(Get => KvPair, "kv.get", get("/kv/value"), Read);

/// Store a value under a name, replacing the old one
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// Its name
    #[arg(value_name = "KEY")]
    pub key: String,
    /// The value; - reads it from standard input
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    pub value: String,
    /// user, project, repo, runtime, or another
    #[arg(long, value_name = "SCOPE")]
    pub scope: String,
    /// Only if this is the old value
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true, conflicts_with = "if_absent")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_value: Option<String>,
    /// Only if there is no old value
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub if_absent: bool,
}

op!(Set => KvPair, "kv.set", post("/kv"), Write);

/// List values, sorted by name
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Only those of this scope
    #[arg(long, value_name = "SCOPE")]
    pub scope: Option<String>,
    /// Only those whose names start with this
    #[arg(long, value_name = "TEXT")]
    pub prefix: Option<String>,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(alias = "n")]
    pub limit: Option<u32>,
}

op!(List => Vec<KvPair>, "kv.list", get("/kv"), Read);

/// Delete a value
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Delete {
    /// Its name
    #[arg(value_name = "KEY")]
    pub key: String,
    /// user, project, repo, runtime, or another
    #[arg(long, value_name = "SCOPE")]
    pub scope: String,
    /// Only if this is the value
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_value: Option<String>,
}

op!(Delete => Deleted, "kv.delete", delete("/kv"), Write);

/// A deleted value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Deleted {
    /// Always `deleted`
    pub status: String,
    pub scope: String,
    pub key: String,
}

//! Operations on the store as a whole.

use std::collections::BTreeMap;

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with_macros::skip_serializing_none;

use crate::id::IssueId;
use crate::op::op;

/// Show how many issues are open, in progress and closed, by type
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Status {}

op!(Status => StoreSummary, "store.status", get("/status"), Read);

/// How many issues have each status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Tally")]
pub struct IssueCounts {
    pub open: i64,
    pub in_progress: i64,
    pub closed: i64,
}

/// How many issues there are, by status and type.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Summary")]
pub struct StoreSummary {
    #[serde(flatten)]
    pub total: IssueCounts,
    /// Every type is present
    pub by_type: BTreeMap<String, IssueCounts>,
}

/// Export the store to its JSONL files, and stage them in git
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Export {
    /// Write nothing; fail if an export would change the files
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub check: bool,
    /// Export the history of issues too, to events.jsonl [default: the setting export.events]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "true|false")]
    pub events: Option<bool>,
    /// Do not stage the files in git
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_stage: bool,
    /// The worktree with the files, if it is not the main one
    #[arg(skip)]
    pub worktree: Option<String>,
}

op!(Export => Transfer, "store.export", post("/export"), Write);

/// Merge the JSONL files into the store
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Import {
    /// Replace the contents of the store with the files, after a backup
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub authoritative: bool,
    /// The worktree with the files, if it is not the main one
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
}

op!(Import => Transfer, "store.import", post("/import"), Write);

/// How many lines of each kind were exported or imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Transfer {
    /// `ok`, or `drifted` if a check found that an export would change the files
    pub status: String,
    pub issues: i64,
    pub deps: i64,
    pub comments: i64,
    /// The count of each other kind, by the name of its file: releases, learnings, …; absent if there are none
    #[serde(flatten)]
    pub others: Map<String, Value>,
    /// How many events were exported or imported, if the files contain events
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<i64>,
    /// How many conflicts were recorded; pn conflicts lists them
    #[serde(default, skip_serializing_if = "is_zero")]
    pub conflicts: i64,
    /// Anything unusual
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The files that an export would change
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drifted: Vec<String>,
}

fn is_zero(count: &i64) -> bool {
    *count == 0
}

/// Check the store's health
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Doctor {
    /// Release every claim without a lease, and repair what can be repaired
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fix: bool,
    /// Also rebuild the state from backup and journal, and compare it with every record of the database
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deep: bool,
}

op!(Doctor => Report, "store.doctor", post("/doctor"), Write);

/// The findings of a check, and the repairs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    pub findings: Vec<Finding>,
    pub fixes_applied: Vec<String>,
}

/// One finding of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    pub check: String,
    pub severity: Severity,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue_id: Option<IssueId>,
    pub fixable: bool,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Severity {
    Info,
    Warning,
    Error,
}

/// Print the directory of the store
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Where {}

op!(Where => StorePath, "store.where", get("/where"), Read);

/// Where a store is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Place")]
pub struct StorePath {
    pub path: String,
}

/// Show which store is served, and by which version
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Info {}

op!(Info => StoreInfo, "store.info", get("/daemon"), Read);

/// A served store and the version that serves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoreInfo {
    pub project_dir: String,
    pub version: String,
    pub store_id: String,
}

//! Operations on releases.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{IssueId, IssueRef};
use crate::op::op;
use crate::release::Release;
use crate::work::WorkKind;

/// Record a release
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Ship {
    /// What was shipped, in one line
    pub name: String,
    /// The version; features shipped together share one
    #[arg(long, value_name = "VERSION")]
    pub version: String,
    /// What it means for users
    #[arg(short, long, value_name = "KIND", default_value = "feature")]
    #[serde(default = "feature")]
    pub kind: WorkKind,
    /// An issue that it contains; may be given again
    #[arg(short, long = "issue", value_name = "ID")]
    #[serde(default, skip_serializing_if = "Vec::is_empty", alias = "issue")]
    pub issues: Vec<IssueRef>,
    /// Notes for users; - reads them from standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

fn feature() -> WorkKind {
    WorkKind::Feature
}

op!(Ship => Shipped, "release.ship", post("/releases").creates(), Write);

/// A new release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shipped {
    #[serde(flatten)]
    pub release: Release,
    /// Its issues that are not closed
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<IssueId>,
}

/// List releases, newest first
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none", alias = "n")]
    pub limit: Option<u32>,
}

op!(List => Vec<Release>, "release.list", get("/releases"), Read);

/// Print a changelog of releases and closed issues, as Markdown
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Changelog {
    /// Only changes after this version
    #[arg(long, value_name = "VERSION")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

op!(Changelog => ChangelogText, "release.changelog", get("/changelog"), Read);

/// A changelog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangelogText {
    pub markdown: String,
}

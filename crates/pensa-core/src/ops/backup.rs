//! Operations on whole copies of a store.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::op::op;

/// Copy the store's database to a file
///
/// Without a file the copy goes to the store's backups, where the newest five are kept.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Backup {
    /// The file to make; only where the store is
    #[arg(value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Replace the file if it is there
    #[arg(long, requires = "file")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

op!(Backup => BackedUp, "store.backup", post("/backup"), Maintain, {
    // Each takes the place of an older one.
});

/// A backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackedUp {
    /// Where it is
    pub path: String,
    pub bytes: u64,
    /// The number of the last event in it
    pub event: i64,
}

/// List the backups of the store, newest first
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Backups {}

op!(Backups => Vec<BackedUp>, "store.backups", get("/backups"), Read);

/// Put the contents of a backup in place of everything in the store
///
/// The file is checked first, and what the store holds now is backed up.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Restore {
    /// The backup: a file, or the name of one from pn backup --list
    #[arg(value_name = "FILE")]
    pub file: String,
    /// Also take a backup of another store
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

op!(Restore => Restored, "store.restore", post("/restore"), Maintain);

/// What a store was restored to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Restored {
    /// Always `restored`
    pub status: String,
    /// The number of the event that says so
    pub event: i64,
    pub issues: i64,
    /// The backup of what was there before
    pub backup: String,
}

//! Operations that back up and restore a store.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::op::op;

/// Copy the store's database to a file
///
/// Without a file, the copy goes to the store's backups, which keep the newest five.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Backup {
    /// The file to create; only on the machine of the store
    #[arg(value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Replace an existing file
    #[arg(long, requires = "file")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

op!(Backup => BackedUp, "store.backup", post("/backup"), Maintain, {
    // Each backup replaces an older one.
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

/// Replace everything in the store with the contents of a backup
///
/// The file is checked and the current contents are backed up first.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Restore {
    /// The backup: a file, or a name from pn backup --list
    #[arg(value_name = "FILE")]
    pub file: String,
    /// Also restore a backup of another store
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

op!(Restore => Restored, "store.restore", post("/restore"), Maintain);

/// The result of restoring a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Restored {
    /// Always `restored`
    pub status: String,
    /// The number of the event that records the restore
    pub event: i64,
    pub issues: i64,
    /// The backup of the previous contents
    pub backup: String,
}

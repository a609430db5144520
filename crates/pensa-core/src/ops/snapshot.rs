//! Operations on the records of snapshots. Their contents are handled on the machine that has them.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with_macros::skip_serializing_none;

use crate::id::{RepoRef, RunRef, SnapshotId, SnapshotRef};
use crate::op::op;
use crate::repo::RepoLocation;
use crate::snapshot::{Provider, Snapshot, SnapshotKind};

/// Record a snapshot that a machine has taken
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// What it is called, if it has a name already
    pub id: Option<SnapshotId>,
    /// Why it was taken
    #[serde(default)]
    pub kind: SnapshotKind,
    pub provider: Provider,
    /// Which repository the tree belongs to: its id, the beginning of it, or its root
    pub repo: Option<RepoRef>,
    /// The repository as it was found, to be remembered if it is not known
    pub seen: Option<RepoLocation>,
    /// The run that it was taken for
    pub run: Option<RunRef>,
    /// The machine that has the tree and the content
    pub host: String,
    /// The tree
    pub root: String,
    /// What the provider calls it
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    /// Where its content can be looked at
    pub path: Option<String>,
    /// The snapshot before it
    pub parent: Option<SnapshotRef>,
    pub label: Option<String>,
    /// What is known of the content, and what proves it
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

op!(Create => Snapshot, "snapshot.create", post("/snapshots").creates(), Write);

/// List snapshots, newest first
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Only those that were taken for this run
    #[arg(long, value_name = "RUN")]
    pub run: Option<RunRef>,
    /// Only those of this repository
    #[arg(long, value_name = "REPO")]
    pub repo: Option<RepoRef>,
    /// Only those that are kept in this way
    #[arg(long, value_name = "PROVIDER")]
    pub provider: Option<Provider>,
    /// Only those on this machine
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
    /// Only those of the tree at this path
    #[arg(long, value_name = "DIR")]
    pub root: Option<String>,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(alias = "n")]
    pub limit: Option<u32>,
}

op!(List => Vec<Snapshot>, "snapshot.list", get("/snapshots"), Read);

/// Show a snapshot
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// Which snapshot: its id, or the beginning of it
    #[arg(value_name = "SNAPSHOT")]
    pub id: SnapshotRef,
}

op!(Show => Snapshot, "snapshot.show", get("/snapshots/{id}"), Read);

/// Record that a machine has made its tree equal to a snapshot
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Restore {
    /// Which snapshot: its id, or the beginning of it
    pub id: SnapshotRef,
    /// The snapshot of what was there before
    pub safety: SnapshotRef,
}

op!(Restore => Snapshot, "snapshot.restore", post("/snapshots/{id}/restore"), Write);

/// Forget a snapshot, whose content the machine that has it is going to delete
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Delete {
    /// Which snapshot: its id, or the beginning of it
    pub id: SnapshotRef,
}

op!(Delete => Deleted, "snapshot.delete", delete("/snapshots/{id}"), Maintain);

/// A snapshot that is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Deleted {
    /// Always `deleted`
    pub status: String,
    pub id: SnapshotId,
}

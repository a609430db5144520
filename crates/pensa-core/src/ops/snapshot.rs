//! Operations on the records of snapshots. Their contents stay on the machine that took them.

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
    /// Its id, if it has one already
    pub id: Option<SnapshotId>,
    /// Why it was taken
    #[serde(default)]
    pub kind: SnapshotKind,
    pub provider: Provider,
    /// Which repository the tree belongs to: its id, the beginning of it, or its root
    pub repo: Option<RepoRef>,
    /// The repository as detected; added if it is not known
    pub seen: Option<RepoLocation>,
    /// The run it was taken for
    pub run: Option<RunRef>,
    /// The machine that has the tree and the content
    pub host: String,
    /// The tree
    pub root: String,
    /// Its name at the provider
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    /// The path of its content
    pub path: Option<String>,
    /// Its parent snapshot
    pub parent: Option<SnapshotRef>,
    pub label: Option<String>,
    /// Facts about the content, such as its hash
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

op!(Create => Snapshot, "snapshot.create", post("/snapshots").creates(), Write);

/// List snapshots, newest first
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Only those of this run
    #[arg(long, value_name = "RUN")]
    pub run: Option<RunRef>,
    /// Only those of this repository
    #[arg(long, value_name = "REPO")]
    pub repo: Option<RepoRef>,
    /// Only those of this provider
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

/// Record that a machine has restored its tree to a snapshot
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Restore {
    /// Which snapshot: its id, or the beginning of it
    pub id: SnapshotRef,
    /// The snapshot of the previous state
    pub safety: SnapshotRef,
}

op!(Restore => Snapshot, "snapshot.restore", post("/snapshots/{id}/restore"), Write);

/// Delete the record of a snapshot; its machine deletes the content
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Delete {
    /// Which snapshot: its id, or the beginning of it
    pub id: SnapshotRef,
}

op!(Delete => Deleted, "snapshot.delete", delete("/snapshots/{id}"), Maintain);

/// A deleted snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Deleted {
    /// Always `deleted`
    pub status: String,
    pub id: SnapshotId,
}

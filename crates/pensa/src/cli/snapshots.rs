//! The flags of commands on snapshots.

use clap::{Args, Subcommand};
use pensa_core::id::{RepoRef, RunRef, SnapshotRef};
use pensa_core::ops::snapshot;
use pensa_core::snapshot::Provider;

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Snapshot {
    Create(SnapshotCreate),
    List(snapshot::List),
    Show(snapshot::Show),
    Verify(SnapshotVerify),
    Restore(SnapshotRestore),
    Delete(SnapshotDelete),
}

/// Take a snapshot of the work tree around the current directory: all its files but those that git ignores
#[derive(Debug, Args)]
pub(crate) struct SnapshotCreate {
    /// The run that it is taken for
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<RunRef>,
    /// How to keep it [default: btrfs or zfs where the tree is a subvolume or dataset, else git in a work tree of git,
    /// else copy]
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) provider: Option<Provider>,
    /// A word on it
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// The snapshot before it [default: the newest of the same tree and provider]
    #[arg(long, value_name = "SNAPSHOT")]
    pub(crate) parent: Option<SnapshotRef>,
    /// Another repository of this machine: its id, the beginning of it, or its root
    #[arg(long, value_name = "REPO")]
    pub(crate) repo: Option<RepoRef>,
}

/// Prove that the content of a snapshot is what was taken; fails if it is not
#[derive(Debug, Args)]
pub(crate) struct SnapshotVerify {
    /// Which snapshot: its id, or the beginning of it
    #[arg(value_name = "SNAPSHOT")]
    pub(crate) id: SnapshotRef,
}

/// Make the work tree around the current directory equal to a snapshot of it
///
/// What was there before is kept in another snapshot, whose id is told. Newer files go; what git ignores and .pensa stay
/// as they are, and so do git's HEAD and index.
#[derive(Debug, Args)]
pub(crate) struct SnapshotRestore {
    /// Which snapshot: its id, or the beginning of it
    #[arg(value_name = "SNAPSHOT")]
    pub(crate) id: SnapshotRef,
}

/// Delete a snapshot and its content, which cannot be undone
#[derive(Debug, Args)]
pub(crate) struct SnapshotDelete {
    /// Which snapshot: its id, or the beginning of it
    #[arg(value_name = "SNAPSHOT")]
    pub(crate) id: SnapshotRef,
    /// Forget one of another machine, and leave its content there
    #[arg(long)]
    pub(crate) record_only: bool,
}

//! Arguments of `pn snapshot`.

use clap::{Args, Subcommand};
use pensa_core::id::{RepoRef, RunRef, SnapshotRef};
use pensa_core::ops::snapshot;
use pensa_core::snapshot::Provider;

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum SnapshotCommand {
    Create(SnapshotCreateArgs),
    List(snapshot::List),
    Show(snapshot::Show),
    Verify(SnapshotVerifyArgs),
    Restore(SnapshotRestoreArgs),
    Delete(SnapshotDeleteArgs),
}

/// Take a snapshot of the current work tree: all its files except those that git ignores
#[derive(Debug, Args)]
pub(crate) struct SnapshotCreateArgs {
    /// The run it belongs to
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<RunRef>,
    /// How to store it [default: btrfs or zfs where the tree is a subvolume or dataset, else git in a work tree of git,
    /// else copy]
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) provider: Option<Provider>,
    /// A label
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// Its parent snapshot [default: the newest of the same tree and provider]
    #[arg(long, value_name = "SNAPSHOT")]
    pub(crate) parent: Option<SnapshotRef>,
    /// Another repository of this machine: its id, the beginning of it, or its root
    #[arg(long, value_name = "REPO")]
    pub(crate) repo: Option<RepoRef>,
}

/// Verify that the content of a snapshot is unchanged; fails if it is not
#[derive(Debug, Args)]
pub(crate) struct SnapshotVerifyArgs {
    /// Which snapshot: its id, or the beginning of it
    #[arg(value_name = "SNAPSHOT")]
    pub(crate) id: SnapshotRef,
}

/// Restore the current work tree to a snapshot of it
///
/// The previous state is saved in another snapshot, whose id is printed. Newer files are deleted; ignored files, .pensa,
/// and git's HEAD and index stay as they are.
#[derive(Debug, Args)]
pub(crate) struct SnapshotRestoreArgs {
    /// Which snapshot: its id, or the beginning of it
    #[arg(value_name = "SNAPSHOT")]
    pub(crate) id: SnapshotRef,
}

/// Delete a snapshot and its content, which cannot be undone
#[derive(Debug, Args)]
pub(crate) struct SnapshotDeleteArgs {
    /// Which snapshot: its id, or the beginning of it
    #[arg(value_name = "SNAPSHOT")]
    pub(crate) id: SnapshotRef,
    /// Delete only the record of a snapshot of another machine
    #[arg(long)]
    pub(crate) record_only: bool,
}

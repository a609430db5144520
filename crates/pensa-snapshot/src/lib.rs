//! Takes, verifies, restores and deletes snapshots of a directory tree on this machine.
//!
//! A snapshot contains the files, symlinks and modes of a tree, but never `.git`, `.pensa` or ignored files, and a
//! restore leaves those alone. Times, owners and extended attributes are not restored: a restored file gets the current
//! time, so that build tools rebuild what depends on it.
//!
//! ```
//! use pensa_snapshot::{Provider, SnapshotDirs, create, restore};
//!
//! let (tree, data) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! std::fs::write(tree.path().join("a"), "before")?;
//! let dirs = SnapshotDirs { root: tree.path(), data: data.path(), id: "snap-1" };
//! let snapshot = create(Provider::Copy, &dirs, None, None)?;
//!
//! std::fs::write(tree.path().join("a"), "after")?;
//! restore(Provider::Copy, &dirs, &snapshot)?;
//! assert_eq!(std::fs::read_to_string(tree.path().join("a"))?, "before");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Start with [`create`] and [`SnapshotDirs`]. Each [`Provider`] has a module that stores snapshots in its own way; all
//! restore through the module `apply`. The caller records which snapshots exist, and takes one before each restore.

mod apply;
#[cfg(feature = "btrfs")]
mod btrfs;
mod copy;
mod error;
mod files;
mod git;
mod ignore;
mod manifest;
#[cfg(any(feature = "btrfs", feature = "zfs"))]
mod mirror;
#[cfg(any(feature = "overlay", feature = "zfs"))]
mod mounts;
#[cfg(feature = "overlay")]
mod overlay;
mod path;
mod run;
mod scan;
mod snapshot;
mod tree;
#[cfg(feature = "zfs")]
mod zfs;

use std::path::Path;

use pensa_core::Result;
pub use pensa_core::snapshot::Provider;

pub use self::snapshot::{RestoreCounts, SnapshotData, SnapshotDirs, VerifyReport};

/// The default provider for a tree.
pub fn detect(root: &Path) -> Result<Provider> {
    #[cfg(feature = "btrfs")]
    if btrfs::is_supported(root) {
        return Ok(Provider::Btrfs);
    }
    #[cfg(feature = "zfs")]
    if zfs::is_supported(root) {
        return Ok(Provider::Zfs);
    }
    Ok(if run::work_tree_root(root)?.is_some() { Provider::Git } else { Provider::Copy })
}

/// Takes a snapshot. Leaves nothing behind on failure.
///
/// `parent` is the previous snapshot. `restoring` is a snapshot about to be restored: files at its paths are included
/// even if git ignores them now, because the restore will overwrite them.
pub fn create(
    provider: Provider,
    dirs: &SnapshotDirs<'_>,
    parent: Option<&SnapshotData>,
    restoring: Option<&SnapshotData>,
) -> Result<SnapshotData> {
    dirs.prepare()?;
    match provider {
        Provider::Git => git::create(dirs, parent, restoring),
        Provider::Copy => copy::create(dirs, parent, restoring),
        #[cfg(feature = "btrfs")]
        Provider::Btrfs => btrfs::create(dirs),
        #[cfg(feature = "zfs")]
        Provider::Zfs => zfs::create(dirs),
        #[cfg(feature = "overlay")]
        Provider::Overlay => overlay::create(dirs, parent, restoring),
        #[cfg(not(all(feature = "btrfs", feature = "overlay", feature = "zfs")))]
        other => Err(error::not_built(other)),
    }
}

/// Checks the content of a snapshot against its hashes, if the provider keeps any.
pub fn verify(provider: Provider, dirs: &SnapshotDirs<'_>, snapshot: &SnapshotData) -> Result<VerifyReport> {
    dirs.prepare()?;
    match provider {
        Provider::Git => git::verify(dirs, snapshot),
        Provider::Copy => copy::verify(dirs, snapshot),
        #[cfg(feature = "btrfs")]
        Provider::Btrfs => btrfs::verify(dirs, snapshot),
        #[cfg(feature = "zfs")]
        Provider::Zfs => zfs::verify(dirs, snapshot),
        #[cfg(feature = "overlay")]
        Provider::Overlay => overlay::verify(dirs, snapshot),
        #[cfg(not(all(feature = "btrfs", feature = "overlay", feature = "zfs")))]
        other => Err(error::not_built(other)),
    }
}

/// Makes the tree equal to a snapshot. An interrupted restore can be repeated.
pub fn restore(provider: Provider, dirs: &SnapshotDirs<'_>, snapshot: &SnapshotData) -> Result<RestoreCounts> {
    dirs.prepare()?;
    match provider {
        Provider::Git => git::restore(dirs, snapshot),
        Provider::Copy => copy::restore(dirs, snapshot),
        #[cfg(feature = "btrfs")]
        Provider::Btrfs => btrfs::restore(dirs, snapshot),
        #[cfg(feature = "zfs")]
        Provider::Zfs => zfs::restore(dirs, snapshot),
        #[cfg(feature = "overlay")]
        Provider::Overlay => overlay::restore(dirs, snapshot),
        #[cfg(not(all(feature = "btrfs", feature = "overlay", feature = "zfs")))]
        other => Err(error::not_built(other)),
    }
}

/// Deletes a snapshot and what an interrupted call left of it. It is no error if the snapshot does not exist.
pub fn delete(provider: Provider, dirs: &SnapshotDirs<'_>) -> Result<()> {
    path::check_id(dirs.id)?;
    match provider {
        Provider::Git => git::delete(dirs),
        Provider::Copy | Provider::Overlay => copy::delete(dirs),
        #[cfg(feature = "btrfs")]
        Provider::Btrfs => btrfs::delete(dirs),
        #[cfg(feature = "zfs")]
        Provider::Zfs => zfs::delete(dirs),
        #[cfg(not(all(feature = "btrfs", feature = "zfs")))]
        other => Err(error::not_built(other)),
    }
}

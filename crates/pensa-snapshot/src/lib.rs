//! Snapshots of a directory tree on this machine: taken, proved, restored and deleted.
//!
//! It knows file systems and git as a program. Which snapshots there are, and that a restore takes another one first, is
//! left to the caller.
//!
//! A snapshot has the files, symlinks and modes of a tree. It never has `.git`, `.pensa` or what git ignores, and a
//! restore leaves those as they are. Times, owners and extended attributes are not restored: a file that is written has
//! the time of the restore, so that programs that compare times build anew what is older.

#[cfg(feature = "btrfs")]
mod btrfs;
mod copy;
mod equal;
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
mod place;
mod run;
mod scan;
mod tree;
#[cfg(feature = "zfs")]
mod zfs;

use std::path::Path;

use pensa_core::Result;
pub use pensa_core::snapshot::Provider;

pub use self::place::{Place, Proof, Restored, Taken};

/// The provider for a tree when none is named.
pub fn detect(root: &Path) -> Result<Provider> {
    #[cfg(feature = "btrfs")]
    if btrfs::is_offered(root) {
        return Ok(Provider::Btrfs);
    }
    #[cfg(feature = "zfs")]
    if zfs::is_offered(root) {
        return Ok(Provider::Zfs);
    }
    Ok(if run::top_of(root)?.is_some() { Provider::Git } else { Provider::Copy })
}

/// Takes a snapshot, or leaves nothing behind.
///
/// `parent` is the snapshot before it. `covering` is one that is going to be restored: what lies at its paths is taken
/// too, though git may ignore it by now, for the restore is going to write there.
pub fn create(
    provider: Provider,
    place: &Place<'_>,
    parent: Option<&Taken>,
    covering: Option<&Taken>,
) -> Result<Taken> {
    place.prepare()?;
    match provider {
        Provider::Git => git::create(place, parent, covering),
        Provider::Copy => copy::create(place, parent, covering),
        #[cfg(feature = "btrfs")]
        Provider::Btrfs => btrfs::create(place),
        #[cfg(feature = "zfs")]
        Provider::Zfs => zfs::create(place),
        #[cfg(feature = "overlay")]
        Provider::Overlay => overlay::create(place, parent, covering),
        #[cfg(not(all(feature = "btrfs", feature = "overlay", feature = "zfs")))]
        other => Err(error::not_built(other)),
    }
}

/// Looks at every byte of a snapshot, as far as the provider keeps a proof of them.
pub fn verify(provider: Provider, place: &Place<'_>, taken: &Taken) -> Result<Proof> {
    place.prepare()?;
    match provider {
        Provider::Git => git::verify(place, taken),
        Provider::Copy => copy::verify(place, taken),
        #[cfg(feature = "btrfs")]
        Provider::Btrfs => btrfs::verify(place, taken),
        #[cfg(feature = "zfs")]
        Provider::Zfs => zfs::verify(place, taken),
        #[cfg(feature = "overlay")]
        Provider::Overlay => overlay::verify(place, taken),
        #[cfg(not(all(feature = "btrfs", feature = "overlay", feature = "zfs")))]
        other => Err(error::not_built(other)),
    }
}

/// Makes the tree equal to a snapshot. One that was stopped on the way can be done again.
pub fn restore(provider: Provider, place: &Place<'_>, taken: &Taken) -> Result<Restored> {
    place.prepare()?;
    match provider {
        Provider::Git => git::restore(place, taken),
        Provider::Copy => copy::restore(place, taken),
        #[cfg(feature = "btrfs")]
        Provider::Btrfs => btrfs::restore(place, taken),
        #[cfg(feature = "zfs")]
        Provider::Zfs => zfs::restore(place, taken),
        #[cfg(feature = "overlay")]
        Provider::Overlay => overlay::restore(place, taken),
        #[cfg(not(all(feature = "btrfs", feature = "overlay", feature = "zfs")))]
        other => Err(error::not_built(other)),
    }
}

/// Deletes a snapshot and what a stopped call left of it. One that is gone already is no error.
pub fn delete(provider: Provider, place: &Place<'_>) -> Result<()> {
    path::check_id(place.id)?;
    match provider {
        Provider::Git => git::delete(place),
        Provider::Copy | Provider::Overlay => copy::delete(place),
        #[cfg(feature = "btrfs")]
        Provider::Btrfs => btrfs::delete(place),
        #[cfg(feature = "zfs")]
        Provider::Zfs => zfs::delete(place),
        #[cfg(not(all(feature = "btrfs", feature = "zfs")))]
        other => Err(error::not_built(other)),
    }
}

//! Snapshots on real file systems and repositories, each test in a process with surroundings of its own.

mod by_copy;
mod by_git;
mod hostile;
mod ignored;
mod kit;
#[cfg(not(any(feature = "btrfs", feature = "overlay", feature = "zfs")))]
mod left_out;
#[cfg(all(feature = "btrfs", feature = "overlay", feature = "zfs"))]
mod others;
mod random;

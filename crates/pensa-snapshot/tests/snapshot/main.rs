//! Snapshots on real file systems and repositories, each test in a process with surroundings of its own.

mod by_copy;
mod by_git;
mod hostile;
mod ignored;
mod kit;
mod others;
mod random;

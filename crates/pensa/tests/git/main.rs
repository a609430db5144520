//! Sharing a store through git: real repositories and merges, with hooks and merge driver installed.

mod branches;
mod clones;
mod drivers;
mod events;
mod exports;
mod faults;
mod histories;
mod model;
mod planning;
mod traps;

const PN: &str = env!("CARGO_BIN_EXE_pn");

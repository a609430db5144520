//! Git carries the store: real repositories, real merges, the hooks and the merge driver installed.

mod branches;
mod clones;
mod drivers;
mod events;
mod exports;
mod faults;
mod histories;
mod model;
mod traps;

const PN: &str = env!("CARGO_BIN_EXE_pn");

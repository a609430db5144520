//! What a store has in git besides its files: hooks, the merge driver, and what doctor says about them.
//!
//! Running git is `pensa-git`'s.

mod attributes;
mod check_up;
mod driver;
mod hooks;
mod index;
mod prek;
mod script;

pub(crate) use check_up::check_up;
pub(crate) use driver::notes_dir;
pub use driver::{configure_if_named as configure_driver_if_named, leave_notes, merge_file};
pub use hooks::{HookReport, HookState, Hooks, HooksReport};
pub use index::staged_private_files;
pub(crate) use index::tracked_database;
pub use script::Hook;

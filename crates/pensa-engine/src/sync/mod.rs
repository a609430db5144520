//! Synchronises the store with JSONL files (`import`, `export`) and with other stores (`exchange`). Both directions
//! merge, and nothing is lost.
//!
//! `pensa_core::sync` merges two versions of a record. This module finds the versions: in the tables, in files, in
//! git's history, and in the changes that the log reports (`change_feed`).

mod apply;
mod background;
mod blocker_counts;
mod change_feed;
mod conflict;
mod cursor;
mod duplicates;
mod exchange;
mod export;
mod export_dir;
mod files;
mod history;
mod import;
mod import_base;
mod incremental;
mod load;
mod merge_base;
mod peer_state;
mod renumber;
mod repair;
mod sessions;
mod synced_tables;

pub(crate) use conflict::{record_conflict, resolve};
pub(crate) use duplicates::problems_in_files;
pub(crate) use exchange::{apply_records, changes};
pub(crate) use export::{check, export, stage};
pub(crate) use export_dir::ExportDir;
pub(crate) use files::any_exist;
pub(crate) use history::{check_events, export_events};
pub(crate) use import::{import, import_fresh, import_into_scratch, mark_as_imported, unchanged};
pub(crate) use peer_state::{peers, pending};
pub use repair::{Repaired, repair_marks};

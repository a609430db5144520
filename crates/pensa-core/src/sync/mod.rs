//! Merges records that were changed in two copies of a store. Git and servers exchange them as collections, one JSON
//! object per line.
//!
//! Everything here works on bytes and records. The engine and the merge driver choose the files, the merge base and the
//! database. Start with [`Collection`], which declares the merge rules of each collection, and [`Collection::merge`].

mod collection;
mod conflict;
mod file;
mod history;
mod merge;
mod tombstone;

pub use collection::{
    AGENTS, COLLECTIONS, COMMENTS, Collection, DEPS, EXCHANGED, ISSUES, KV, LEARNINGS, RELEASES, RecordIdentity,
    SESSIONS, SKILLS, SyncEntity, SyncObject, TOMBSTONES, VIEWS, WORK,
};
pub use conflict::{Conflict, ConflictId};
pub use file::{FileLine, MergedFile, Sides, bad_line, first_marker, lines, merge_files, sides};
pub use history::{EVENTS_FILE, merge_history};
pub use merge::{Clash, Merged};
pub use tombstone::Tombstone;

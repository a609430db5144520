//! What git carries between clones: collections of records, one JSON object a line, and how two versions of a record
//! become one.
//!
//! Everything here works on bytes and records alone. Which files, which base and which database is left to the engine
//! and to the merge driver.

mod collection;
mod conflict;
mod file;
mod history;
mod merge;
mod tombstone;

pub use collection::{
    AGENTS, COLLECTIONS, COMMENTS, Collection, DEPS, EXCHANGED, ISSUES, KV, LEARNINGS, Name, Noun, RELEASES, Record,
    SKILLS, TOMBSTONES, WORK,
};
pub use conflict::{Conflict, ConflictId};
pub use file::{Line, MergedFile, Sides, bad_line, first_marker, lines, merge_files, sides};
pub use history::{EVENTS_FILE, united};
pub use merge::{Clash, Merged};
pub use tombstone::Tombstone;

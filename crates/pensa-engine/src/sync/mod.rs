//! The store and its JSONL files: what one has and the other lacks goes both ways, and nothing is lost on it.
//!
//! Two stores meet in the same way (`exchange`), by what their logs say has changed (`feed`).
//!
//! How two versions of a record become one is decided in pensa-core; this knows where the versions are.

mod agreed;
mod base;
mod books;
mod conflict;
mod count;
mod cursor;
mod exchange;
mod export;
mod feed;
mod files;
mod history;
mod import;
mod job;
mod load;
mod place;
mod renumber;
mod repair;
mod repeated;
mod shared;
mod splice;
mod take;

pub(crate) use books::{peers, pending};
pub(crate) use conflict::settle;
pub(crate) use exchange::{changes, take};
pub(crate) use export::{check, export, stage};
pub(crate) use files::any;
pub(crate) use history::{check_events, export_events};
pub(crate) use import::{fill, import, nothing_new, pass_over, refill};
pub(crate) use place::Place;
pub use repair::{Repaired, repair_marks};
pub(crate) use repeated::problems_in_files;

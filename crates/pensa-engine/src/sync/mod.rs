//! The store and its JSONL files: what one has and the other lacks goes both ways, and nothing is lost on it.
//!
//! How two versions of a record become one is decided in pensa-core; this knows where the versions are.

mod agreed;
mod base;
mod conflict;
mod count;
mod export;
mod files;
mod history;
mod import;
mod job;
mod load;
mod place;
mod renumber;
mod shared;
mod splice;
mod take;

pub(crate) use conflict::settle;
pub(crate) use export::{check, export, stage};
pub(crate) use files::any;
pub(crate) use history::{check_events, export_events};
pub(crate) use import::{fill, import, pass_over, refill};
pub(crate) use place::Place;

//! Runs Pensa's operations in transactions on a store, and logs every change.
//!
//! The only crate that contains SQL. It knows nothing of HTTP, terminals or environment variables.

mod context;
mod db;
mod engine;
mod error;
mod execute;
mod git;
mod group;
mod jsonl;
mod ops;
mod store;
mod tables;
mod ticket;

pub use context::{Clock, Context, Ids, RandomIds, SystemClock};
pub use db::migrations::SCHEMA_VERSION;
pub use engine::{Engine, Mark};
pub use execute::{Entry, Execute, catalog, entry};
pub use group::GroupWriter;
pub use store::StoreDir;

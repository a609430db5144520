//! Runs Pensa's operations in transactions on a store, and logs every change.
//!
//! The only crate that contains SQL. It knows nothing of HTTP, terminals or environment variables.

mod clock;
mod clock_check;
mod context;
mod db;
mod engine;
mod entity;
mod error;
mod execute;
mod group;
mod journal;
mod lease;
mod loop_dirs;
mod meter;
mod ops;
pub mod pages;
mod projects;
mod recover;
mod redaction;
mod replay;
mod store;
mod sync;
mod tables;
mod taskstore;
mod upgrade;

pub use clock::{Clock, SystemClock};
pub use context::{Caller, CheckUp, Context, Ids, RandomIds, SYSTEM, too_little};
pub use db::Tx;
pub use db::migrations::SCHEMA_VERSION;
pub use db::{PoolState, Postgres, Wakeups};
pub use engine::{Ear, Engine, Mark};
pub use execute::{Alone, Entry, Execute, catalog, entry};
pub use group::GroupWriter;
pub use meter::{Meter, meter};
pub use ops::put_records;
pub use projects::{Grant, Projects};
pub use store::{Home, StoreDir, leave_driver_notes};
pub use sync::{Repaired, repair_marks};
pub use tables::answers::Once;
pub use tables::events::{after as log_after, last as log_end};
pub use tables::log::{filter as log_filter, page as log_page};
pub use upgrade::{Schema, migrate_database, schema_of_database, schema_of_store};

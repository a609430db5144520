//! Runs Pensa's operations in transactions on a store, and logs every change.
//!
//! ```
//! use pensa_core::ops::issue::{Create, Ready};
//! use pensa_engine::{Engine, StoreDir};
//!
//! let dir = tempfile::tempdir()?;
//! let (store, _) = StoreDir::create(&dir.path().join(".pensa"))?;
//! let engine = Engine::open(store)?;
//! let create: Create = serde_json::from_str(r#"{"title": "Fix the login", "issue_type": "task"}"#)?;
//! let created = engine.call("ana", &create)?;
//! let ready = engine.call("ana", &Ready::default())?;
//! assert_eq!(ready[0].id, created.issue.id);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This is the only crate that contains SQL. It knows nothing of HTTP, terminals or environment variables.
//!
//! Start with [`Engine`], which opens a store and runs operations, and [`Execute`], which each operation implements in
//! `ops`. `entity` changes rows and journals the change, `db` holds the SQLite and PostgreSQL drivers, `sync` exchanges
//! records with files and other stores, and `recover` rebuilds a lost database.

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
mod ops;
pub mod pages;
mod progress;
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
pub use context::{Caller, CheckUp, Context, Ids, QueryEmbedder, RandomIds, SYSTEM, insufficient_rights};
pub use db::Tx;
pub use db::migrations::SCHEMA_VERSION;
pub use db::{PoolState, Postgres, Wakeups};
pub use engine::{Engine, NoticeSink, VersionStamp};
pub use execute::{Entry, Execute, RunAlone, catalog, entry};
pub use group::GroupWriter;
pub use ops::{Embedder, VectorReport, put_records};
pub use progress::{ProgressCounter, progress};
pub use projects::{Grant, Projects};
pub use store::{StoreDir, StoreLocation, write_driver_notes};
pub use sync::{Repaired, repair_marks};
pub use tables::answers::IdempotentRequest;
pub use tables::events::{after as log_after, last as log_end};
pub use tables::log::{filter as log_filter, page as log_page};
pub use tables::recall::{flush as flush_recall, wrong as wrong_in_recall};
pub use upgrade::{Schema, migrate_database, schema_of_database, schema_of_store};

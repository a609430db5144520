//! Pensa's nouns, the rules they obey, and the operations on them.
//!
//! Everything here is pure: no I/O, no clock, no SQL and no terminal. The engine runs the operations, the
//! surfaces (shell, HTTP, and others) only carry them.

pub mod agent;
pub mod briefing;
pub mod caller;
mod closed_enum;
pub mod comment;
pub mod dep;
pub mod dirs;
pub mod effect;
pub mod entity;
pub mod error;
pub mod event;
pub mod graph;
pub mod id;
pub mod issue;
pub mod job;
pub mod json;
pub mod kv;
pub mod learning;
pub mod lock;
pub mod loops;
pub mod op;
pub mod ops;
pub mod project;
pub mod record;
pub mod release;
pub mod repo;
pub mod retention;
pub mod run;
pub mod session;
pub mod signal;
pub mod similar;
pub mod skill;
pub mod snapshot;
pub mod sync;
pub mod text;
mod text_form;
pub mod time;
pub mod trace;
pub mod work;

pub use error::{Code, Error, Result};
pub use op::{Access, Method, Op, Route, Scope};
pub use time::{Span, Timestamp};

/// The name of the directory of a project's store.
pub const STORE_DIR: &str = ".pensa";

/// The version of this build, compared by client and daemon.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

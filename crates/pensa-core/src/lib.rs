//! Types, rules and operations of Pensa, without I/O, clock, SQL or terminal.
//!
//! Every interface (shell, HTTP, MCP, batch) sends the operations declared here, and `pensa-engine` executes them. The
//! rules are pure functions: the caller passes in the time and the actor.
//!
//! ```
//! use pensa_core::issue::{Issue, IssueTransition, Origin, Requester, apply};
//! use pensa_core::ops::issue::Close;
//! use pensa_core::{Code, Op, Timestamp};
//!
//! let mut issue: Issue = serde_json::from_value(serde_json::json!({
//!     "id": "pn-1", "title": "Fix the login", "issue_type": "task", "status": "open", "priority": "p1",
//!     "created_at": "2026-02-27T14:30:00Z", "updated_at": "2026-02-27T14:30:00Z",
//! }))?;
//! let now: Timestamp = "2026-02-27T15:00:00Z".parse()?;
//! let ana = Requester { actor: "ana", origin: &Origin::default(), force: false };
//! apply(&mut issue, IssueTransition::Claim { lease: None }, &ana, now)?;
//! let ben = Requester { actor: "ben", ..ana };
//! let refused = apply(&mut issue, IssueTransition::Claim { lease: None }, &ben, now).unwrap_err();
//! assert_eq!(refused.code, Code::AlreadyClaimed);
//!
//! assert_eq!((Close::NAME, Close::ROUTE.path), ("issue.close", "/issues/{id}/close"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Start with [`op`], which defines what an operation is, and [`ops`], which lists them all. [`issue`] has the rules of
//! the central entity, [`mod@entity`] says how entities are stored, and [`sync`] how they are merged.

pub mod agent;
pub mod briefing;
pub mod caller;
mod closed_enum;
pub mod comment;
pub mod dep;
pub mod dirs;
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
pub mod prime;
pub mod project;
pub mod recall;
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
pub mod triage;
pub mod work;

pub use error::{Code, Error, Result};
pub use op::{Access, Method, Op, Route, Scope};
pub use time::{Span, Timestamp};

/// The directory that holds a project's store.
pub const STORE_DIR: &str = ".pensa";

/// The version of this build. A client and its daemon compare theirs.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

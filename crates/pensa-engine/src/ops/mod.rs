//! Executes each operation, by entity.

mod agent;
mod attached;
mod backup;
mod batch;
mod briefing;
pub(crate) mod comment;
mod conflict;
pub(crate) mod dep;
mod doctor;
mod event;
mod gc;
mod import_agent;
mod import_records;
pub(crate) mod issue;
mod job;
mod kv;
pub(crate) mod learning;
mod lock;
mod loops;
pub(crate) mod project;
mod record;
mod recover;
pub(crate) mod release;
mod repo;
mod run;
pub(crate) mod session;
mod signal;
mod skill;
mod snapshot;
mod store;
mod sync;
mod trace;
mod triage;
pub(crate) mod undo;
mod work;

pub use record::put_each as put_records;

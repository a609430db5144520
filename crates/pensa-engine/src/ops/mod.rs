//! How each operation is carried out, by noun.

mod agent;
mod backup;
mod batch;
mod briefing;
pub(crate) mod comment;
mod conflict;
pub(crate) mod dep;
mod doctor;
mod import_agent;
pub(crate) mod issue;
mod job;
mod kv;
pub(crate) mod learning;
pub(crate) mod lease;
pub(crate) mod project;
mod record;
pub(crate) mod release;
mod repo;
mod run;
mod session;
mod skill;
mod snapshot;
mod store;
pub(crate) mod undo;
mod work;

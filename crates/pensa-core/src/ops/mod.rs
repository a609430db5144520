//! Every operation, by noun. An operation's doc comment is its help text on every surface.

pub mod agent;
pub mod audit;
pub mod backup;
pub mod batch;
pub mod briefing;
pub mod comment;
pub mod conflict;
pub mod dep;
pub mod issue;
pub mod job;
pub mod kv;
pub mod learning;
pub mod project;
pub mod record;
pub mod release;
pub mod repo;
pub mod run;
pub mod session;
pub mod skill;
pub mod snapshot;
pub mod store;
pub mod token;
pub mod undo;
pub mod work;

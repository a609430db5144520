//! Rows in and out of each table, and the derived columns that must change with them.

pub(crate) mod agents;
pub(crate) mod agreements;
pub(crate) mod answers;
pub(crate) mod comments;
pub(crate) mod compared;
pub(crate) mod conflicts;
pub(crate) mod cycle;
pub(crate) mod deps;
pub(crate) mod entries;
pub(crate) mod events;
pub(crate) mod harnesses;
pub(crate) mod ids;
pub(crate) mod issues;
pub(crate) mod jobs;
pub(crate) mod kv;
pub(crate) mod learnings;
pub(crate) mod log;
pub(crate) mod loops;
pub(crate) mod operations;
pub(crate) mod peers;
pub(crate) mod projects;
pub(crate) mod purge;
pub(crate) mod records;
pub(crate) mod releases;
pub(crate) mod repos;
pub(crate) mod row;
pub(crate) mod runs;
pub(crate) mod seen_files;
pub(crate) mod sessions;
pub(crate) mod signals;
pub(crate) mod skills;
pub(crate) mod snapshots;
pub(crate) mod titles;
pub(crate) mod tombstones;
pub(crate) mod touched;
pub(crate) mod work;

use pensa_core::issue::Extra;
use pensa_core::{Result, json};

use crate::db::Param;

/// The fields that this version does not know, for their column.
pub(crate) fn extra(fields: &Extra) -> Result<Param<'static>> {
    if fields.is_empty() { Ok(Param::Null) } else { Ok(json::to_line(fields)?.into()) }
}

//! The flags of commands on records.

use clap::{Args, Subcommand};
use pensa_core::ops::record;

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Record {
    Put(RecordPut),
    Get(record::Get),
    Query(record::Query),
    Count(record::Count),
    Delete(record::Delete),
    Collections(record::Collections),
    Index(record::Index),
    Apply(RecordApply),
    Compact(record::Compact),
}

/// Keep a document in a collection, in place of the one with the same id
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  pn record put jobs '{\"status\":\"running\",\"iteration\":1}' --id job-1
  pn record put jobs - --id job-1 --if-rev 12 <job.json")]
pub(crate) struct RecordPut {
    #[command(flatten)]
    pub(crate) op: record::Put,
    /// The document, an object of JSON; - reads it from standard input
    #[arg(value_name = "JSON")]
    pub(crate) document: String,
}

/// Make many changes in one transaction: all of them happen, or none
///
/// Each line of standard input is one change: {"put":{"collection":…,"data":{…}}} with id, if_rev, if_present or
/// updated_at, or {"delete":{"collection":…,"id":…}} with if_rev.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  printf '%s\\n' '{\"put\":{\"collection\":\"jobs\",\"id\":\"job-1\",\"data\":{}}}' | pn record apply")]
pub(crate) struct RecordApply {}

//! The flags of commands on what was: the life of an issue.

use clap::{Args, ValueEnum};
use pensa_core::ops::trace;

/// Tell the whole life of an issue: claims, work, runs, sessions with their tokens, jobs, loops, signals, snapshots,
/// comments, commits that mention it, learnings and releases, oldest first
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  pn trace pn-a1b2c3d4\n  pn trace pn-a1b2c3d4 --format md > report.md\n  \
    pn trace pn-a1b2c3d4 --json | jq .totals")]
pub(crate) struct TraceArgs {
    #[command(flatten)]
    pub(crate) op: trace::Trace,
    /// For a terminal, for a report, or for a program
    #[arg(long, value_enum, default_value_t = TraceFormat::Text, value_name = "FORM")]
    pub(crate) format: TraceFormat,
    /// Leave out the commits of the repository around
    #[arg(long)]
    pub(crate) no_commits: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceFormat {
    Text,
    Md,
    Json,
}

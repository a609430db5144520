//! The flags of commands that follow what happens.

use clap::{Args, Subcommand, ValueEnum};
use pensa_core::id::IssueRef;
use pensa_core::ops::{event, issue};

/// Tell what happened in the store, oldest first, and with --follow what happens
///
/// With --json each event is a line of its own, as in the stream of a daemon or server. To go on where an earlier look
/// ended, give the number of its last event:
///
///   pn events --follow
///   pn events --after 120 --follow --json
///   pn events --subject pn-1a2b --type closed,reopened
///   pn events --subject agent --by ana -n 5
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Events {
    #[command(flatten)]
    pub(crate) op: event::List,
    /// Go on with what happens, until interrupted
    #[arg(short, long)]
    pub(crate) follow: bool,
}

/// Show something again whenever it changes
///
/// A terminal is drawn in place. Anything else gets one line of JSON for every change.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Watch {
    Ready(WatchReady),
    Issue(WatchIssue),
}

/// Watch the queue: open issues that nothing blocks, most urgent first
///
///   pn watch ready -n 10
///   pn watch ready --until some && pn next
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct WatchReady {
    #[command(flatten)]
    pub(crate) op: issue::Ready,
    /// End as soon as there is something to do, or as soon as anything changes
    #[arg(long, value_enum, value_name = "WHEN")]
    pub(crate) until: Option<UntilReady>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum UntilReady {
    Some,
    Changed,
}

/// Watch an issue with its dependencies and comments, until it is deleted
///
///   pn watch issue pn-1a2b
///   pn watch issue pn-1a2b --until closed --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct WatchIssue {
    /// Which issue: its id, or the beginning of it
    #[arg(value_name = "ID")]
    pub(crate) id: IssueRef,
    /// End as soon as it has this status, or as soon as anything changes
    #[arg(long, value_enum, value_name = "WHEN")]
    pub(crate) until: Option<UntilIssue>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum UntilIssue {
    Open,
    InProgress,
    Closed,
    Changed,
}

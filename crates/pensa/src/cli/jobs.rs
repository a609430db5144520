//! The flags of commands on jobs.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use pensa_core::Span;
use pensa_core::id::JobRef;
use pensa_core::job::Size;
use pensa_core::ops::job;

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Job {
    Exec(Box<JobExec>),
    Start(Box<JobStart>),
    Finish(JobFinish),
    List(job::List),
    Show(JobShow),
    Cancel(JobCancel),
    Stats(job::Stats),
}

/// Run a command of a tool in a slot of a lane, and keep a record of it
///
/// Waits for a slot if there is none, first come, first served. Output and exit code pass through; a command that takes
/// longer than it may is ended, with 124. A lane has so many slots on each machine, and a time limit: no-net 10 and 30s,
/// net 5 and 60s, heavy 1 and 10m, or what is set as lanes.NAME.slots and lanes.NAME.timeout.
///
///   pn job exec --lane heavy -- cargo test
///   pn job exec --lane net --tool fetch --timeout 10s --max-output 4k -- curl -s https://example.com
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct JobExec {
    #[command(flatten)]
    pub(crate) about: job::About,
    /// How long it may take [default: as the lane has it]
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<Span>,
    /// Most bytes of its output that are kept, half of them of the beginning, half of the end
    #[arg(long, value_name = "BYTES", default_value = "64k")]
    pub(crate) max_output: Size,
    /// How long to wait for a slot
    #[arg(long, value_name = "TIME", default_value = "10m")]
    pub(crate) wait: Span,
    /// Wait for no slot: fail if there is none
    #[arg(long, conflicts_with = "wait")]
    pub(crate) no_wait: bool,
    /// The program and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

/// Take a slot of a lane for a command that you look after yourself, until pn job finish
///
///   job=$(pn job start -q --lane net --tool fetch --pid $$) && curl -s https://example.com; pn job finish $job --exit-code $?
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct JobStart {
    #[command(flatten)]
    pub(crate) about: job::About,
    /// How long it may take [default: as the lane has it]
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<Span>,
    /// A process of this machine: when that is gone, the job has failed. Without one, when its time is over
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i64).range(1..))]
    pub(crate) pid: Option<i64>,
    /// The program and its arguments, to be recorded
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

/// Record how a job ended that you looked after yourself, and give back its slot
#[derive(Debug, Args)]
pub(crate) struct JobFinish {
    #[command(flatten)]
    pub(crate) op: job::Finish,
    /// A file of what it wrote; - reads it from standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Most bytes of it that are kept
    #[arg(long, value_name = "BYTES", default_value = "64k", requires = "output")]
    pub(crate) max_output: Size,
}

/// Show a job and what was kept of its output
#[derive(Debug, Args)]
pub(crate) struct JobShow {
    #[command(flatten)]
    pub(crate) op: job::Show,
    /// Only what was kept of its output
    #[arg(long)]
    pub(crate) output: bool,
}

/// End a job: one that waits at once; the command of one that runs is told to, and killed if it does not
#[derive(Debug, Args)]
pub(crate) struct JobCancel {
    /// Which job: its id, or the beginning of it
    #[arg(value_name = "JOB")]
    pub(crate) id: JobRef,
    /// How long the command has before it is killed
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub(crate) grace: Span,
}

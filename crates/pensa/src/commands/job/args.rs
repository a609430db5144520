//! Arguments of `pn job`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use pensa_core::Span;
use pensa_core::id::JobRef;
use pensa_core::job::ByteSize;
use pensa_core::ops::job;

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum JobCommand {
    Exec(Box<JobExecArgs>),
    Start(Box<JobStartArgs>),
    Finish(JobFinishArgs),
    List(job::List),
    Show(JobShowArgs),
    Cancel(JobCancelArgs),
    Stats(job::Stats),
}

/// Run a command of a tool in a slot of a lane, and keep a record of it
///
/// Waits for a free slot, first come, first served. Output and exit code pass through; a command that exceeds its time
/// limit is ended, with exit code 124. Each lane has a number of slots per machine and a time limit: no-net 10 and 30s,
/// net 5 and 60s, heavy 1 and 10m, or the settings lanes.NAME.slots and lanes.NAME.timeout.
///
///   pn job exec --lane heavy -- cargo test
///   pn job exec --lane net --tool fetch --timeout 10s --max-output 4k -- curl -s https://example.com
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct JobExecArgs {
    #[command(flatten)]
    pub(crate) about: job::JobSpec,
    /// The time limit [default: that of the lane]
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<Span>,
    /// The most bytes of its output to store, half from the beginning, half from the end
    #[arg(long, value_name = "BYTES", default_value = "64k")]
    pub(crate) max_output: ByteSize,
    /// How long to wait for a slot
    #[arg(long, value_name = "TIME", default_value = "10m")]
    pub(crate) wait: Span,
    /// Fail at once if no slot is free
    #[arg(long, conflicts_with = "wait")]
    pub(crate) no_wait: bool,
    /// The program and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

/// Take a slot of a lane for a command that you run yourself, until pn job finish
///
///   job=$(pn job start -q --lane net --tool fetch --pid $$) && curl -s https://example.com; pn job finish $job --exit-code $?
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct JobStartArgs {
    #[command(flatten)]
    pub(crate) about: job::JobSpec,
    /// The time limit [default: that of the lane]
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<Span>,
    /// A process on this machine: the job fails when it exits. Without one, the job fails when its time is over
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i64).range(1..))]
    pub(crate) pid: Option<i64>,
    /// The program and its arguments, for the record
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct JobFinishArgs {
    #[command(flatten)]
    pub(crate) op: job::Finish,
    /// A file with its output; - reads it from standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The most bytes of it to store
    #[arg(long, value_name = "BYTES", default_value = "64k", requires = "output")]
    pub(crate) max_output: ByteSize,
}

#[derive(Debug, Args)]
pub(crate) struct JobShowArgs {
    #[command(flatten)]
    pub(crate) op: job::Show,
    /// Only its stored output
    #[arg(long)]
    pub(crate) output: bool,
}

/// Cancel a job: a queued job ends at once; a running command is terminated, and killed after --grace
#[derive(Debug, Args)]
pub(crate) struct JobCancelArgs {
    /// Which job: its id, or the beginning of it
    #[arg(value_name = "JOB")]
    pub(crate) id: JobRef,
    /// How long the command may take to end before it is killed
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub(crate) grace: Span,
}

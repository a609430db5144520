//! The flags of commands on runs, repositories and small values.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use pensa_core::id::RunRef;
use pensa_core::ops::{kv, repo, run};
use pensa_core::run::Mux;
use pensa_core::{Error, Span};

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Repo {
    Detect(RepoAt),
    Add(RepoAdd),
    List(repo::List),
    Show(repo::Show),
    Remove(repo::Remove),
}

/// Tell which repository a directory belongs to
#[derive(Debug, Args)]
pub(crate) struct RepoAt {
    /// A directory of the repository [default: the current one]
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

/// Remember a repository: the one around a directory, or one that is only known by its address
#[derive(Debug, Args)]
pub(crate) struct RepoAdd {
    /// A directory of the repository [default: the current one]
    #[arg(value_name = "DIR", conflicts_with = "remote")]
    pub(crate) dir: Option<PathBuf>,
    /// The address of one that is not on this machine
    #[arg(long, value_name = "URL")]
    pub(crate) remote: Option<String>,
    /// What keeps its versions
    #[arg(long, value_name = "VCS", default_value = "git", requires = "remote")]
    pub(crate) vcs: pensa_core::repo::Vcs,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Workspace {
    Create(repo::CreateWorkspace),
    List(repo::ListWorkspaces),
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Harness {
    List(run::Harnesses),
    Set(HarnessSet),
}

/// Say what an agent software can do, whether a run has had it yet or not
///
///   pn harness set claude-code@2.1 --metadata '{"context":200000,"vision":true}'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct HarnessSet {
    #[command(flatten)]
    pub(crate) op: run::SetHarness,
    /// A JSON object in words of your own; null takes it away, - reads standard input
    #[arg(long, value_name = "JSON")]
    pub(crate) metadata: String,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Runtime {
    List(run::Runtimes),
    Set(RuntimeSet),
}

/// Describe surroundings that runs took place in
///
///   pn runtime set rt-1a2b --metadata '{"image":"debian:12"}'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct RuntimeSet {
    #[command(flatten)]
    pub(crate) op: run::SetRuntime,
    /// A JSON object in words of your own; null takes it away, - reads standard input
    #[arg(long, value_name = "JSON")]
    pub(crate) metadata: String,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Kv {
    Get(kv::Get),
    Set(kv::Set),
    List(kv::List),
    Delete(kv::Delete),
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Run {
    Exec(Box<RunExec>),
    Start(Box<RunStart>),
    Finish(run::Finish),
    List(run::List),
    Show(run::Show),
    Logs(RunLogs),
    Events(run::Events),
    Event(RunEvent),
    Attach(RunAttach),
    Cancel(RunCancel),
    Terminal(RunTerminal),
    Window(RunWindow),
}

/// A name and a value, written `name=value`.
#[derive(Debug, Clone)]
pub(crate) struct Label(pub(crate) String, pub(crate) String);

impl std::str::FromStr for Label {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (name, value) = text.split_once('=').ok_or_else(|| Error::invalid("not of the form NAME=VALUE"))?;
        Ok(Self(name.to_owned(), value.to_owned()))
    }
}

/// Run a command and keep a record of it: its output, how long it took, how it ended
///
/// The command gets PN_RUN, PN_ACTOR and what leads it to the same store. With --issue, the issue is claimed, the
/// claim is renewed while the command lives, and given back if it ends with anything but 0.
#[derive(Debug, Args)]
pub(crate) struct RunExec {
    #[command(flatten)]
    pub(crate) launch: run::Launch,
    /// A name and a value of your own; may be given more than once
    #[arg(long = "label", value_name = "NAME=VALUE")]
    pub(crate) labels: Vec<Label>,
    /// How many runs of it to start at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) instances: u16,
    /// How long the claim lasts without a sign of life
    #[arg(long, value_name = "TIME", default_value = "5m", requires = "issue")]
    pub(crate) ttl: Span,
    /// Close the issue if the command ends with 0
    #[arg(long, requires = "issue")]
    pub(crate) close: bool,
    /// Open a window of this terminal multiplexer for the command, and return when it runs there
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) mux: Option<Mux>,
    /// Open a shell beside the command, in a pane on the right; tmux only
    #[arg(long, requires = "mux")]
    pub(crate) split: bool,
    /// Wait for the end of what runs in windows, and end as it did
    #[arg(long, requires = "mux")]
    pub(crate) wait: bool,
    /// The program and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

/// Record a run that somebody else looks after
#[derive(Debug, Args)]
pub(crate) struct RunStart {
    #[command(flatten)]
    pub(crate) op: run::Start,
    /// A name and a value of your own; may be given more than once
    #[arg(long = "label", value_name = "NAME=VALUE")]
    pub(crate) labels: Vec<Label>,
    /// The number of its process on this machine: when that is gone, the run has failed
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i64).range(1..))]
    pub(crate) pid: Option<i64>,
}

/// Print what a run wrote
#[derive(Debug, Args)]
pub(crate) struct RunLogs {
    /// Which run: its id, or the beginning of it
    #[arg(value_name = "RUN")]
    pub(crate) id: RunRef,
    /// Go on until the run has ended
    #[arg(short, long)]
    pub(crate) follow: bool,
}

/// Add an event of your own to the log of a run
///
///   pn run event "$PN_RUN" --type tool_call --data '{"tool":"edit","file":"src/main.rs"}'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct RunEvent {
    #[command(flatten)]
    pub(crate) op: run::AddEvent,
    /// Whatever belongs to it, as JSON; - reads it from standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) data: Option<String>,
}

/// Look at the window of a terminal multiplexer that a run is in
#[derive(Debug, Args)]
pub(crate) struct RunAttach {
    /// Which run: its id, or the beginning of it
    #[arg(value_name = "RUN")]
    pub(crate) id: RunRef,
}

/// Become a command on the terminal that is standard output; pn run exec calls it
#[derive(Debug, Args)]
#[command(hide = true)]
pub(crate) struct RunTerminal {
    /// The program and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

/// Look after a run in the window that was opened for it; pn run exec --mux calls it
#[derive(Debug, Args)]
#[command(hide = true)]
pub(crate) struct RunWindow {
    /// What is to be run, in a file that goes away
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The surroundings are those of pn run exec already
    #[arg(long)]
    pub(crate) entered: bool,
}

/// End a run: its command on this machine is told to, and killed if it does not
#[derive(Debug, Args)]
pub(crate) struct RunCancel {
    /// Which run: its id, or the beginning of it
    #[arg(value_name = "RUN")]
    pub(crate) id: RunRef,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// How long the command has before it is killed
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub(crate) grace: Span,
}

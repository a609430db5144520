//! Arguments of `pn run`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use pensa_core::id::RunRef;
use pensa_core::ops::run;
use pensa_core::run::Mux;
use pensa_core::{Error, Span};

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum RunCommand {
    Exec(Box<RunExecArgs>),
    Start(Box<RunStartArgs>),
    Finish(run::Finish),
    List(run::List),
    Show(run::Show),
    Logs(RunLogsArgs),
    Events(run::Events),
    Event(RunEventArgs),
    Attach(RunAttachArgs),
    Cancel(RunCancelArgs),
    Terminal(RunTerminalArgs),
    Window(RunWindowArgs),
}

/// A label, written `name=value`.
#[derive(Debug, Clone)]
pub(crate) struct LabelArg(pub(crate) String, pub(crate) String);

impl std::str::FromStr for LabelArg {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (name, value) = text.split_once('=').ok_or_else(|| Error::invalid("not of the form NAME=VALUE"))?;
        Ok(Self(name.to_owned(), value.to_owned()))
    }
}

/// Run a command and keep a record of it: its output, how long it took, how it ended
///
/// The command's environment has PN_RUN, PN_ACTOR and the variables that select the same store. With --issue, the issue is
/// claimed, the claim is renewed while the command runs, and released if it exits with anything but 0.
#[derive(Debug, Args)]
pub(crate) struct RunExecArgs {
    #[command(flatten)]
    pub(crate) launch: run::Launch,
    /// A label of your own; may be repeated
    #[arg(long = "label", value_name = "NAME=VALUE")]
    pub(crate) labels: Vec<LabelArg>,
    /// How many runs to start at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) instances: u16,
    /// How long the claim lasts unless renewed
    #[arg(long, value_name = "TIME", default_value = "5m", requires = "issue")]
    pub(crate) ttl: Span,
    /// Close the issue if the command exits with 0
    #[arg(long, requires = "issue")]
    pub(crate) close: bool,
    /// Run the command in a new window of this terminal multiplexer, and return once it runs
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) mux: Option<Mux>,
    /// Open a shell in a pane to the right of the command; tmux only
    #[arg(long, requires = "mux")]
    pub(crate) split: bool,
    /// Wait for the commands in windows to end, and exit as they did
    #[arg(long, requires = "mux")]
    pub(crate) wait: bool,
    /// The program and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct RunStartArgs {
    #[command(flatten)]
    pub(crate) op: run::Start,
    /// A label of your own; may be repeated
    #[arg(long = "label", value_name = "NAME=VALUE")]
    pub(crate) labels: Vec<LabelArg>,
    /// Its process on this machine: the run fails when it exits
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i64).range(1..))]
    pub(crate) pid: Option<i64>,
}

/// Print the output of a run
#[derive(Debug, Args)]
pub(crate) struct RunLogsArgs {
    /// Which run: its id, or the beginning of it
    #[arg(value_name = "RUN")]
    pub(crate) id: RunRef,
    /// Continue until the run has ended
    #[arg(short, long)]
    pub(crate) follow: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  pn run event \"$PN_RUN\" --type tool_call --data '{\"tool\":\"edit\",\"file\":\"src/main.rs\"}'"
)]
pub(crate) struct RunEventArgs {
    #[command(flatten)]
    pub(crate) op: run::AddEvent,
    /// The data of the event, as JSON; - reads it from standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) data: Option<String>,
}

/// Attach to the terminal multiplexer window of a run
#[derive(Debug, Args)]
pub(crate) struct RunAttachArgs {
    /// Which run: its id, or the beginning of it
    #[arg(value_name = "RUN")]
    pub(crate) id: RunRef,
}

/// Run a command on the terminal that is standard output; called by pn run exec
#[derive(Debug, Args)]
#[command(hide = true)]
pub(crate) struct RunTerminalArgs {
    /// The program and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

/// Supervise a run in the window that was opened for it; called by pn run exec --mux
#[derive(Debug, Args)]
#[command(hide = true)]
pub(crate) struct RunWindowArgs {
    /// A file that describes the run; it is deleted
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The environment is that of pn run exec already
    #[arg(long)]
    pub(crate) entered: bool,
}

/// Cancel a run: its command on this machine is terminated, and killed after --grace
#[derive(Debug, Args)]
pub(crate) struct RunCancelArgs {
    /// Which run: its id, or the beginning of it
    #[arg(value_name = "RUN")]
    pub(crate) id: RunRef,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// How long the command may take to end before it is killed
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub(crate) grace: Span,
}

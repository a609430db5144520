//! Operations on runs, and on the harnesses and runtimes they have.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

use crate::event::LogEntry;
use crate::id::{IssueRef, RepoRef, RunRef, RuntimeRef, SessionRef};
use crate::op::op;
use crate::repo::RepoLocation;
use crate::run::{
    Delivery, Harness, HarnessName, Labels, MuxWindow, Process, Run, RunEnd, RunStatus, Runtime, RuntimeName,
};
use crate::session::Object;
use crate::time::Span;

/// What runs are launched with, whoever looks after them.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default)]
pub struct Launch {
    /// Which repository it takes place in: its id, the beginning of it, or its root [default: the one around the
    /// current directory]
    #[arg(long, value_name = "REPO")]
    pub repo: Option<RepoRef>,
    /// The agent software and its version, such as claude-code@2.1
    #[arg(long, value_name = "HARNESS")]
    pub harness: Option<HarnessName>,
    /// Where it runs: local, nosandbox, devcontainer, devcontainer:PATH
    #[arg(long, value_name = "RUNTIME")]
    pub runtime: Option<RuntimeName>,
    /// The workspace of the server that it belongs to
    #[arg(long, value_name = "NAME")]
    pub workspace: Option<String>,
    /// The issue that it works on
    #[arg(long, value_name = "ISSUE")]
    pub issue: Option<IssueRef>,
    /// The session that it holds
    #[arg(long, value_name = "SESSION")]
    pub session: Option<SessionRef>,
    /// What the agent is asked to do; - reads it from standard input
    #[arg(long, value_name = "TEXT")]
    pub prompt: Option<String>,
    /// The branch it works on
    #[arg(long, value_name = "BRANCH")]
    pub branch: Option<String>,
    /// How the work is handed over
    #[arg(long, value_name = "HOW")]
    pub delivery: Option<Delivery>,
    /// The directory that it has to itself
    #[arg(long, value_name = "DIR")]
    pub workspace_path: Option<String>,
    /// It may not use a browser
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_browser: bool,
    /// The profile of its browser
    #[arg(long, value_name = "NAME")]
    pub browser_profile: Option<String>,
    /// The account that it uses at ChatGPT
    #[arg(long, value_name = "NAME")]
    pub chatgpt_username: Option<String>,
    /// The workspace that it uses at Codex
    #[arg(long, value_name = "NAME")]
    pub codex_workspace: Option<String>,
    /// Names and values of your own
    #[arg(skip)]
    #[serde(skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// The repository as it was found, to be remembered if it is not known
    #[arg(skip)]
    pub seen: Option<RepoLocation>,
    /// The program and its arguments
    #[arg(skip)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// How many runs are launched together
    #[arg(skip)]
    pub instances: Option<i64>,
    /// What runs that are launched together have in common
    #[arg(skip)]
    pub group: Option<String>,
}

/// Record a run that somebody else looks after
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Start {
    #[command(flatten)]
    #[serde(flatten)]
    pub launch: Launch,
    /// Its command does not run yet
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub created: bool,
    /// Claim the issue for as long as the run renews the lease this often
    #[arg(skip)]
    pub claim: Option<Span>,
    /// The machine that it runs on
    #[arg(skip)]
    pub host: Option<String>,
    /// The command's process
    #[arg(skip)]
    pub agent: Option<Process>,
    /// The process that looks after it
    #[arg(skip)]
    pub supervisor: Option<Process>,
    /// The file that its output goes to
    #[arg(long, value_name = "FILE")]
    pub log_path: Option<String>,
    /// The directory in which its output goes to a file that is called as the run is
    #[arg(skip)]
    pub log_dir: Option<String>,
}

op!(Start => Run, "run.start", post("/runs").creates(), Write);

/// Change what is known about a run that is not over
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// Which run: its id, or the beginning of it
    pub id: RunRef,
    /// Its command runs
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub started: bool,
    /// The command's process
    pub agent: Option<Process>,
    /// The process that looks after it
    pub supervisor: Option<Process>,
    /// The session that it holds
    pub session: Option<SessionRef>,
    #[serde(flatten)]
    pub mux: MuxWindow,
}

op!(Update => Run, "run.update", patch("/runs/{id}"), Write);

/// Record how a run ended
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Finish {
    /// Which run: its id, or the beginning of it
    #[arg(value_name = "RUN")]
    pub id: RunRef,
    /// succeeded, failed or cancelled
    #[arg(long, value_name = "STATUS")]
    pub status: RunStatus,
    /// What the command returned
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub exit_code: Option<i64>,
    /// The signal that ended the command
    #[arg(long, value_name = "N")]
    pub signal: Option<i64>,
    /// Why, in words
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// The command's process, if nobody has told it before
    #[arg(skip)]
    pub agent: Option<Process>,
    /// Only if this process is still the one that looks after it
    #[arg(skip)]
    pub if_supervisor: Option<Process>,
}

impl Finish {
    pub fn end(&self) -> RunEnd {
        RunEnd { exit_code: self.exit_code, signal: self.signal, reason: self.reason.clone() }
    }
}

op!(Finish => Run, "run.finish", post("/runs/{id}/finish"), Write);

/// List runs, newest first
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Only those that stand there
    #[arg(short, long, value_name = "STATUS")]
    pub status: Option<RunStatus>,
    /// Only those that work on this issue
    #[arg(long, value_name = "ISSUE")]
    pub issue: Option<IssueRef>,
    /// Only those in this repository
    #[arg(long, value_name = "REPO")]
    pub repo: Option<RepoRef>,
    /// Only those that were launched together as this group
    #[arg(long, value_name = "GROUP")]
    pub group: Option<String>,
    /// Only those on this machine
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(alias = "n")]
    pub limit: Option<u32>,
}

op!(List => Vec<Run>, "run.list", get("/runs"), Read);

/// Show a run
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// Which run: its id, or the beginning of it
    #[arg(value_name = "RUN")]
    pub id: RunRef,
}

op!(Show => Run, "run.show", get("/runs/{id}"), Read);

/// Show what happened to a run, oldest first
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Events {
    /// Which run: its id, or the beginning of it
    #[arg(value_name = "RUN")]
    pub id: RunRef,
    /// Only what came after the event with this number
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<i64>,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "n")]
    pub limit: Option<u32>,
}

op!(Events => Vec<LogEntry>, "run.events", get("/runs/{id}/events"), Read);

/// Add an event of your own to the log of a run
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct AddEvent {
    /// Which run: its id, or the beginning of it
    #[arg(value_name = "RUN")]
    pub id: RunRef,
    /// What happened, in a word of your own such as tool_call
    #[arg(long = "type", value_name = "TYPE")]
    #[serde(rename = "type")]
    pub kind: String,
    /// Whatever belongs to it: any JSON
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

op!(AddEvent => LogEntry, "run.event", post("/runs/{id}/events").creates(), Write);

/// List the agent software that runs had, by name and version
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Harnesses {}

op!(Harnesses => Vec<Harness>, "harness.list", get("/harnesses"), Read);

/// Say what an agent software can do, whether a run has had it yet or not
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct SetHarness {
    /// The agent software and its version, such as claude-code@2.1
    #[arg(value_name = "NAME@VERSION")]
    pub harness: HarnessName,
    /// An object in words of your own, in place of the one before; none takes it away
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object>,
}

op!(SetHarness => Harness, "harness.set", post("/harnesses"), Write);

/// List the surroundings that runs took place in
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Runtimes {}

op!(Runtimes => Vec<Runtime>, "runtime.list", get("/runtimes"), Read);

/// Describe surroundings that runs took place in
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct SetRuntime {
    /// Which runtime: its id, or the beginning of it
    #[arg(value_name = "RUNTIME")]
    pub id: RuntimeRef,
    /// An object in words of your own, in place of the one before; none takes it away
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object>,
}

op!(SetRuntime => Runtime, "runtime.set", patch("/runtimes/{id}"), Write);

//! Operations on runs, and on their harnesses and runtimes.

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

/// What runs are launched with, whether or not pn supervises them.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default)]
pub struct Launch {
    /// Its repository: the id, the beginning of it, or the root [default: the one that contains the current
    /// directory]
    #[arg(long, value_name = "REPO")]
    pub repo: Option<RepoRef>,
    /// The agent software and its version, such as claude-code@2.1
    #[arg(long, value_name = "HARNESS")]
    pub harness: Option<HarnessName>,
    /// Where it runs: local, nosandbox, devcontainer, devcontainer:PATH
    #[arg(long, value_name = "RUNTIME")]
    pub runtime: Option<RuntimeName>,
    /// Its workspace on the server
    #[arg(long, value_name = "NAME")]
    pub workspace: Option<String>,
    /// The issue it works on
    #[arg(long, value_name = "ISSUE")]
    pub issue: Option<IssueRef>,
    /// Its session
    #[arg(long, value_name = "SESSION")]
    pub session: Option<SessionRef>,
    /// The prompt of the agent; - reads it from standard input
    #[arg(long, value_name = "TEXT")]
    pub prompt: Option<String>,
    /// The branch it works on
    #[arg(long, value_name = "BRANCH")]
    pub branch: Option<String>,
    /// How the work is delivered
    #[arg(long, value_name = "HOW")]
    pub delivery: Option<Delivery>,
    /// Its private working directory
    #[arg(long, value_name = "DIR")]
    pub workspace_path: Option<String>,
    /// Do not let it use a browser
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_browser: bool,
    /// The profile of its browser
    #[arg(long, value_name = "NAME")]
    pub browser_profile: Option<String>,
    /// Its ChatGPT account
    #[arg(long, value_name = "NAME")]
    pub chatgpt_username: Option<String>,
    /// Its Codex workspace
    #[arg(long, value_name = "NAME")]
    pub codex_workspace: Option<String>,
    /// Labels: names and values of your own
    #[arg(skip)]
    #[serde(skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// The repository as detected; added if it is not known
    #[arg(skip)]
    pub seen: Option<RepoLocation>,
    /// The program and its arguments
    #[arg(skip)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// How many runs are launched together
    #[arg(skip)]
    pub instances: Option<i64>,
    /// The group that runs launched together share
    #[arg(skip)]
    pub group: Option<String>,
}

/// Record a run that pn does not supervise
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Start {
    #[command(flatten)]
    #[serde(flatten)]
    pub launch: Launch,
    /// Its command is not running yet
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub created: bool,
    /// Claim the issue, with a lease of this length that the run renews
    #[arg(skip)]
    pub claim: Option<Span>,
    /// Its machine
    #[arg(skip)]
    pub host: Option<String>,
    /// The command's process
    #[arg(skip)]
    pub agent: Option<Process>,
    /// The process that supervises it
    #[arg(skip)]
    pub supervisor: Option<Process>,
    /// The file for its output
    #[arg(long, value_name = "FILE")]
    pub log_path: Option<String>,
    /// The directory for its output, in a file named after the run
    #[arg(skip)]
    pub log_dir: Option<String>,
}

op!(Start => Run, "run.start", post("/runs").creates(), Write);

/// Update an unfinished run
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// Which run: its id, or the beginning of it
    pub id: RunRef,
    /// Its command is running
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub started: bool,
    /// The command's process
    pub agent: Option<Process>,
    /// The process that supervises it
    pub supervisor: Option<Process>,
    /// Its session
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
    /// The exit code of the command
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub exit_code: Option<i64>,
    /// The signal that ended the command
    #[arg(long, value_name = "N")]
    pub signal: Option<i64>,
    /// Why, in words
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// The command's process, if not yet recorded
    #[arg(skip)]
    pub agent: Option<Process>,
    /// Only if this process still supervises it
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
    /// Only those with this status
    #[arg(short, long, value_name = "STATUS")]
    pub status: Option<RunStatus>,
    /// Only those for this issue
    #[arg(long, value_name = "ISSUE")]
    pub issue: Option<IssueRef>,
    /// Only those in this repository
    #[arg(long, value_name = "REPO")]
    pub repo: Option<RepoRef>,
    /// Only those of this group
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

/// List the events of a run, oldest first
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Events {
    /// Which run: its id, or the beginning of it
    #[arg(value_name = "RUN")]
    pub id: RunRef,
    /// Only events after this number
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
    /// Its type, a word of your own such as tool_call
    #[arg(long = "type", value_name = "TYPE")]
    #[serde(rename = "type")]
    pub kind: String,
    /// Its data: any JSON
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

op!(AddEvent => LogEntry, "run.event", post("/runs/{id}/events").creates(), Write);

/// List the agent software of runs, by name and version
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Harnesses {}

op!(Harnesses => Vec<Harness>, "harness.list", get("/harnesses"), Read);

/// Describe agent software, whether or not a run has used it
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct SetHarness {
    /// The agent software and its version, such as claude-code@2.1
    #[arg(value_name = "NAME@VERSION")]
    pub harness: HarnessName,
    /// A JSON object of your own, replacing the old one; absent removes it
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object>,
}

op!(SetHarness => Harness, "harness.set", post("/harnesses"), Write);

/// List the runtime environments of runs
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Runtimes {}

op!(Runtimes => Vec<Runtime>, "runtime.list", get("/runtimes"), Read);

/// Describe a runtime environment of runs
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct SetRuntime {
    /// Which runtime: its id, or the beginning of it
    #[arg(value_name = "RUNTIME")]
    pub id: RuntimeRef,
    /// A JSON object of your own, replacing the old one; absent removes it
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object>,
}

op!(SetRuntime => Runtime, "runtime.set", patch("/runtimes/{id}"), Write);

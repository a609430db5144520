//! Operations on jobs: a slot of a lane, what became of the command in it, and what all of them come to.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::id::{IssueRef, JobRef, RunRef, SessionRef};
use crate::job::{Job, JobStats, JobStatus, Lane, RunEnd};
use crate::op::op;
use crate::run::Process;
use crate::session::object::Object;
use crate::time::{Since, Span};

/// What a job is about, whoever looks after it.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
pub struct JobSpec {
    /// The lane whose slot it takes: no-net, net, heavy, or one that is set
    #[arg(long, value_name = "LANE")]
    pub lane: Lane,
    /// The tool that it is a command of [default: the name of the program]
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// The loop that it is a part of
    #[arg(long = "loop", value_name = "LOOP")]
    #[serde(rename = "loop")]
    pub loop_id: Option<String>,
    /// The run that it is a part of [default: PN_RUN, as pn run exec sets it]
    #[arg(long, value_name = "RUN")]
    pub run: Option<RunRef>,
    /// The session that asked for it [default: that of the run]
    #[arg(long, value_name = "SESSION")]
    pub session: Option<SessionRef>,
    /// The issue that it is about [default: that of the run]
    #[arg(long, value_name = "ISSUE")]
    pub issue: Option<IssueRef>,
    /// The program and its arguments
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The directory that it runs in
    #[arg(skip)]
    pub cwd: Option<String>,
}

/// Take a slot of a lane for a command that somebody else looks after
///
/// Without a free slot the answer is busy, and tells who has them. Slots are those of a machine: jobs on other machines
/// take none of them.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Start {
    #[serde(flatten)]
    pub about: JobSpec,
    /// How many commands of the lane may run at once on its machine
    pub slots: i64,
    /// How long it may take
    pub timeout: Span,
    /// How long it waits in the queue if there is no slot; without that it is refused
    pub wait: Option<Span>,
    /// The machine that it runs on
    pub host: Option<String>,
    /// The command's process
    pub process: Option<Process>,
    /// The process that looks after it
    pub supervisor: Option<Process>,
}

op!(Start => Job, "job.start", post("/jobs").creates(), Write);

/// Take the slot that a job waits for, if it is its turn; else it goes on waiting
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TakeSlot {
    /// Which job: its id, or the beginning of it
    pub id: JobRef,
    /// How many commands of the lane may run at once on its machine
    pub slots: i64,
}

op!(TakeSlot => Job, "job.take", post("/jobs/{id}/take"), Write);

/// Tell the process of a job that is not over
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// Which job: its id, or the beginning of it
    pub id: JobRef,
    /// The command's process
    pub process: Process,
}

op!(Update => Job, "job.update", patch("/jobs/{id}"), Write);

/// Record how a job ended, and give back its slot
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Finish {
    /// Which job: its id, or the beginning of it
    #[arg(value_name = "JOB")]
    pub id: JobRef,
    /// succeeded, failed, timeout or cancelled [default: what the exit code says]
    #[arg(long, value_name = "STATUS", required_unless_present_any = ["exit_code", "signal"])]
    pub status: Option<JobStatus>,
    /// What the command returned
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub exit_code: Option<i64>,
    /// The signal that ended the command
    #[arg(long, value_name = "N")]
    pub signal: Option<i64>,
    /// Why, in words
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// What it wrote, as far as that is to be kept
    #[arg(skip)]
    pub output: Option<String>,
    /// Bytes that it wrote, kept or not
    #[arg(long, value_name = "N")]
    pub output_bytes: Option<i64>,
    /// Some of what it wrote was not kept
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// The command's process, if nobody has told it before
    #[arg(skip)]
    pub process: Option<Process>,
}

impl Finish {
    pub fn end(&self) -> RunEnd {
        RunEnd { exit_code: self.exit_code, signal: self.signal, reason: self.reason.clone() }
    }
}

op!(Finish => Job, "job.finish", post("/jobs/{id}/finish"), Write);

/// Ask for the end of a job: one that waits ends at once, one that runs when its command is gone
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// Which job: its id, or the beginning of it
    #[arg(value_name = "JOB")]
    pub id: JobRef,
}

op!(Cancel => Job, "job.cancel", post("/jobs/{id}/cancel"), Write);

/// Give up jobs whose processes are gone from their machine; those that are over by now stay as they are
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailLostJobs {
    /// The machine that was looked at
    pub host: String,
    /// The jobs of it that nobody looks after any more
    #[serde(default)]
    pub lost: Vec<JobRef>,
    /// Those of it that took longer than they may, and whose processes nobody knows
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overdue: Vec<JobRef>,
}

/// Most jobs that are given up at once.
pub const MAX_LOST_JOBS: usize = 2000;

op!(FailLostJobs => Vec<Job>, "job.settle", post("/jobs/settle"), Write);

/// Take in jobs that another tool kept as records; those that are here already stay as they are
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Import {
    pub records: Vec<Object>,
}

/// Most jobs that are taken in at once.
pub const MAX_IMPORTED: usize = 10_000;

op!(Import => Vec<Job>, "job.import", post("/jobs/import"), Write, {
    /// Room for many records.
    const MAX_BODY: usize = 256 << 20;
});

/// List jobs, newest first
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Only those that stand there
    #[arg(short, long, value_name = "STATUS")]
    pub status: Option<JobStatus>,
    /// Only those of this lane
    #[arg(long, value_name = "LANE")]
    pub lane: Option<Lane>,
    /// Only those of this tool
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// Only those of this loop
    #[arg(long = "loop", value_name = "LOOP")]
    #[serde(rename = "loop")]
    pub loop_id: Option<String>,
    /// Only those of this run
    #[arg(long, value_name = "RUN")]
    pub run: Option<RunRef>,
    /// Only those of this session
    #[arg(long, value_name = "SESSION")]
    pub session: Option<SessionRef>,
    /// Only those about this issue
    #[arg(long, value_name = "ISSUE")]
    pub issue: Option<IssueRef>,
    /// Only those on this machine
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(alias = "n")]
    pub limit: Option<u32>,
}

op!(List => Vec<Job>, "job.list", get("/jobs"), Read);

/// Show a job and what was kept of its output
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// Which job: its id, or the beginning of it
    #[arg(value_name = "JOB")]
    pub id: JobRef,
}

op!(Show => Job, "job.show", get("/jobs/{id}"), Read);

/// Tell how many jobs there were, how they ended and how long they took, by tool and lane
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Stats {
    /// Only those that began since then: a duration such as 24h, or a time
    #[arg(long, value_name = "TIME")]
    pub since: Option<Since>,
    /// Only those of this lane
    #[arg(long, value_name = "LANE")]
    pub lane: Option<Lane>,
    /// Only those of this tool
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
}

op!(Stats => Vec<JobStats>, "job.stats", get("/jobs/stats"), Read);

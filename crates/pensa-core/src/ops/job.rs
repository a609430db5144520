//! Operations on jobs: commands in the slots of a lane, their results, and statistics.

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

/// What a job is about, whether or not pn supervises it.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
pub struct JobSpec {
    /// Its lane: no-net, net, heavy, or one from the settings
    #[arg(long, value_name = "LANE")]
    pub lane: Lane,
    /// Its tool [default: the name of the program]
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// Its loop
    #[arg(long = "loop", value_name = "LOOP")]
    #[serde(rename = "loop")]
    pub loop_id: Option<String>,
    /// Its run [default: PN_RUN, as pn run exec sets it]
    #[arg(long, value_name = "RUN")]
    pub run: Option<RunRef>,
    /// The session that requested it [default: that of the run]
    #[arg(long, value_name = "SESSION")]
    pub session: Option<SessionRef>,
    /// Its issue [default: that of the run]
    #[arg(long, value_name = "ISSUE")]
    pub issue: Option<IssueRef>,
    /// The program and its arguments
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Its working directory
    #[arg(skip)]
    pub cwd: Option<String>,
}

/// Take a slot of a lane for a command that the caller supervises
///
/// Without a free slot, returns `busy` and lists who holds the slots. Each machine has its own slots: jobs on other
/// machines take none of them.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Start {
    #[serde(flatten)]
    pub about: JobSpec,
    /// How many slots the lane has on its machine
    pub slots: i64,
    /// Its time limit
    pub timeout: Span,
    /// How long to wait in the queue for a slot; without it, the job is refused if no slot is free
    pub wait: Option<Span>,
    /// Its machine
    pub host: Option<String>,
    /// The command's process
    pub process: Option<Process>,
    /// The process that supervises it
    pub supervisor: Option<Process>,
}

op!(Start => Job, "job.start", post("/jobs").creates(), Write);

/// Take the slot that a job waits for, if it is its turn; otherwise it keeps waiting
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TakeSlot {
    /// Which job: its id, or the beginning of it
    pub id: JobRef,
    /// How many slots the lane has on its machine
    pub slots: i64,
}

op!(TakeSlot => Job, "job.take", post("/jobs/{id}/take"), Write);

/// Record the process of an unfinished job
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// Which job: its id, or the beginning of it
    pub id: JobRef,
    /// The command's process
    pub process: Process,
}

op!(Update => Job, "job.update", patch("/jobs/{id}"), Write);

/// Record how a job ended, and free its slot
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Finish {
    /// Which job: its id, or the beginning of it
    #[arg(value_name = "JOB")]
    pub id: JobRef,
    /// succeeded, failed, timeout or cancelled [default: from the exit code]
    #[arg(long, value_name = "STATUS", required_unless_present_any = ["exit_code", "signal"])]
    pub status: Option<JobStatus>,
    /// The exit code of the command
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub exit_code: Option<i64>,
    /// The signal that ended the command
    #[arg(long, value_name = "N")]
    pub signal: Option<i64>,
    /// Why, in words
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Its output, as far as it is to be stored
    #[arg(skip)]
    pub output: Option<String>,
    /// The size of its whole output in bytes, stored or not
    #[arg(long, value_name = "N")]
    pub output_bytes: Option<i64>,
    /// Whether only a part of its output is stored
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// The command's process, if not yet recorded
    #[arg(skip)]
    pub process: Option<Process>,
}

impl Finish {
    pub fn end(&self) -> RunEnd {
        RunEnd { exit_code: self.exit_code, signal: self.signal, reason: self.reason.clone() }
    }
}

op!(Finish => Job, "job.finish", post("/jobs/{id}/finish"), Write);

/// Cancel a job: a queued job ends at once, a running one when its command exits
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// Which job: its id, or the beginning of it
    #[arg(value_name = "JOB")]
    pub id: JobRef,
}

op!(Cancel => Job, "job.cancel", post("/jobs/{id}/cancel"), Write);

/// Fail jobs whose processes are gone from their machine; jobs that have ended meanwhile stay as they are
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailLostJobs {
    /// The machine that was checked
    pub host: String,
    /// Its jobs without a supervisor
    #[serde(default)]
    pub lost: Vec<JobRef>,
    /// Its jobs that exceeded their time limit and have no known process
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overdue: Vec<JobRef>,
}

/// Maximum number of lost jobs in one request.
pub const MAX_LOST_JOBS: usize = 2000;

op!(FailLostJobs => Vec<Job>, "job.settle", post("/jobs/settle"), Write);

/// Import jobs from records of another tool; existing jobs stay as they are
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Import {
    pub records: Vec<Object>,
}

/// Maximum number of imported jobs in one request.
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
    /// Only those with this status
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

/// Show a job and its stored output
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// Which job: its id, or the beginning of it
    #[arg(value_name = "JOB")]
    pub id: JobRef,
}

op!(Show => Job, "job.show", get("/jobs/{id}"), Read);

/// Show how many jobs there were, how they ended and how long they took, by tool and lane
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Stats {
    /// Only those that started since then: a duration such as 24h, or a time
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

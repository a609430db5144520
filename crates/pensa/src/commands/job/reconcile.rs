//! Fails jobs of this machine whose processes are gone, and kills commands whose supervisors are gone.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pensa_client::Client;
use pensa_core::id::JobRef;
use pensa_core::job::{Job, JobStatus};
use pensa_core::ops::job::{FailLostJobs, List, MAX_LOST_JOBS};
use pensa_core::{Result, Span, Timestamp};
use pensa_host as host;
use pensa_host::supervised::{self, SupervisedKind};
use rustix::process::Signal;

/// How long after its time limit a job without known processes counts as failed.
const OVERDUE_GRACE: Span = Span::from_millis(60_000);

/// How long a killed process may take to exit.
const EXIT_GRACE: Duration = Duration::from_secs(2);

/// Fails the jobs of this machine whose processes are gone, and kills commands whose supervisors are gone, because nothing
/// else would enforce their time limits. Returns the failed jobs.
pub(crate) fn reconcile(client: &Client) -> Result<Vec<Job>> {
    let here = host::name();
    let mut active = Vec::new();
    for status in [JobStatus::Running, JobStatus::Pending] {
        let limit = u32::try_from(MAX_LOST_JOBS / 2).ok();
        let list = List { status: Some(status), host: Some(here.clone()), limit, ..List::default() };
        active.extend(client.call(&list)?);
    }
    reconcile_jobs(client, &here, &active)
}

/// Like [`reconcile`], for jobs of this machine that were just listed.
pub(super) fn reconcile_jobs(client: &Client, here: &str, active: &[Job]) -> Result<Vec<Job>> {
    let survivors = kill_orphans();
    let is_lost = |job: &&Job| is_lost(job) && !survivors.iter().any(|id| id == job.id.as_str());
    let lost: Vec<JobRef> = active.iter().filter(is_lost).map(|job| (&job.id).into()).collect();
    let overdue: Vec<JobRef> = active.iter().filter(|job| is_overdue(job)).map(|job| (&job.id).into()).collect();
    if lost.is_empty() && overdue.is_empty() {
        return Ok(Vec::new());
    }
    client.call(&FailLostJobs { host: here.to_owned(), lost, overdue })
}

/// Whether the processes in a record are gone. The record can be trusted here, because only its own status depends on it.
fn is_lost(job: &Job) -> bool {
    match (&job.supervisor, job.process()) {
        (Some(supervisor), process) => host::is_gone(supervisor) && process.is_none_or(|it| host::is_gone(&it)),
        (None, Some(process)) => host::is_gone(&process),
        (None, None) => false,
    }
}

/// Kills the commands of jobs that this user supervised and whose supervisors are gone. Returns the ids of jobs with
/// processes that survive.
fn kill_orphans() -> Vec<String> {
    let mut survivors = Vec::new();
    supervised::for_each_orphan(SupervisedKind::Job, |job| {
        let deadline = Instant::now() + EXIT_GRACE;
        while job.signal_all(Signal::KILL) {
            if Instant::now() >= deadline {
                survivors.push(job.id().to_owned());
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    });
    survivors
}

/// Whether a job without known processes has exceeded its time limit and the grace period.
fn is_overdue(job: &Job) -> bool {
    let is_unknown = job.supervisor.is_none() && job.pid.is_none();
    let deadline = match job.status {
        JobStatus::Running if is_unknown => Some(job.started_at.plus(job.timeout())),
        _ => None,
    };
    deadline.zip(now()).is_some_and(|(deadline, now)| deadline < now.minus(OVERDUE_GRACE))
}

/// The current time.
pub(super) fn now() -> Option<Timestamp> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    Timestamp::from_millis(i64::try_from(since.as_millis()).ok()?).ok()
}

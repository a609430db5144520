//! Jobs of this machine that nobody looks after any more.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pensa_client::Client;
use pensa_core::id::JobRef;
use pensa_core::job::{Job, JobStatus};
use pensa_core::ops::job::{List, MAX_SETTLED, Settle};
use pensa_core::{Result, Span, Timestamp};
use pensa_host as host;
use pensa_host::supervised::{self, Kind};
use rustix::process::Signal;

/// How much later than it should a job may be told as over by those whose processes nobody knows.
const LATE: Span = Span::from_millis(60_000);
/// How long a process that was killed may take to be gone.
const DYING: Duration = Duration::from_secs(2);

/// Gives up the jobs of this machine whose processes are gone, and ends commands whose supervisors are gone: nobody else
/// would end them in time. Returns which.
pub(crate) fn settle(client: &Client) -> Result<Vec<Job>> {
    let here = host::name();
    let mut standing = Vec::new();
    for status in [JobStatus::Running, JobStatus::Pending] {
        let limit = u32::try_from(MAX_SETTLED / 2).ok();
        let list = List { status: Some(status), host: Some(here.clone()), limit, ..List::default() };
        standing.extend(client.call(&list)?);
    }
    settle_these(client, &here, &standing)
}

/// The same, for jobs of this machine that were just seen.
pub(super) fn settle_these(client: &Client, here: &str, standing: &[Job]) -> Result<Vec<Job>> {
    let still_there = end_left_behind();
    let is_lost = |job: &&Job| is_lost(job) && !still_there.iter().any(|id| id == job.id.as_str());
    let lost: Vec<JobRef> = standing.iter().filter(is_lost).map(|job| (&job.id).into()).collect();
    let overdue: Vec<JobRef> = standing.iter().filter(|job| is_overdue(job)).map(|job| (&job.id).into()).collect();
    if lost.is_empty() && overdue.is_empty() {
        return Ok(Vec::new());
    }
    client.call(&Settle { host: here.to_owned(), lost, overdue })
}

/// Whether the processes that a record names are gone. Records are believed here: it is only their status that changes.
fn is_lost(job: &Job) -> bool {
    match (&job.supervisor, job.process()) {
        (Some(supervisor), process) => host::is_gone(supervisor) && process.is_none_or(|it| host::is_gone(&it)),
        (None, Some(process)) => host::is_gone(&process),
        (None, None) => false,
    }
}

/// Ends the commands of jobs that this user supervised and whose supervisors are gone. Returns the jobs of which
/// somebody is left all the same.
fn end_left_behind() -> Vec<String> {
    let mut still_there = Vec::new();
    supervised::each_left_behind(Kind::Job, |job| {
        let deadline = Instant::now() + DYING;
        while job.signal_all(Signal::KILL) {
            if Instant::now() >= deadline {
                still_there.push(job.id().to_owned());
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    });
    still_there
}

/// Whether a job whose processes nobody knows has had its time, and more.
fn is_overdue(job: &Job) -> bool {
    let is_unknown = job.supervisor.is_none() && job.pid.is_none();
    let deadline = match job.status {
        JobStatus::Running if is_unknown => Some(job.started_at.plus(job.timeout())),
        _ => None,
    };
    deadline.zip(now()).is_some_and(|(deadline, now)| deadline < now.minus(LATE))
}

/// The time by our clock.
pub(super) fn now() -> Option<Timestamp> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    Timestamp::from_millis(i64::try_from(since.as_millis()).ok()?).ok()
}

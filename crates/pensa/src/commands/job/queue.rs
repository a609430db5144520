//! Waits for a slot of a lane, first come, first served, until one is free, the time is over or the job is cancelled.

use std::time::{Duration, Instant};

use pensa_client::Client;
use pensa_core::id::JobRef;
use pensa_core::job::{Job, JobStatus, Lane, has_slot};
use pensa_core::ops::job::{Finish, List, Show, Start, TakeSlot};
use pensa_core::{Code, Error, Result, Span};
use pensa_host::{self as host, CommandExit, SignalReceiver};
use rustix::process::Signal;

use super::reconcile::{now, reconcile_jobs};
use super::{reconcile, start_job};
use crate::connect;

/// The first and the longest pause between checks for a free slot.
const FIRST_POLL: Duration = Duration::from_millis(15);

const MAX_POLL: Duration = Duration::from_millis(200);

/// The result of waiting for a slot.
pub(super) enum Slot {
    Taken(Box<Job>),
    /// The job was cancelled while it waited.
    Ended(CommandExit),
}

/// The running and the waiting jobs of a lane on this machine.
struct LaneQueue {
    running: Vec<Job>,
    waiting: Vec<Job>,
}

fn lane_queue(client: &Client, lane: &Lane) -> Result<LaneQueue> {
    let here = host::name();
    let of = |status: JobStatus| {
        let (status, lane, host) = (Some(status), Some(lane.clone()), Some(here.clone()));
        client.call(&List { status, lane, host, limit: Some(10_000), ..List::default() })
    };
    // Pending first: a job that starts in between is then in both lists rather than in none.
    let (mut waiting, mut running) = (of(JobStatus::Pending)?, of(JobStatus::Running)?);
    let given_up = reconcile_jobs(client, &here, &[running.as_slice(), waiting.as_slice()].concat())?;
    // A job whose waiting time is over does not count.
    waiting.retain(|job| now().is_none_or(|now| job.waits(now)));
    for jobs in [&mut running, &mut waiting] {
        jobs.retain(|job| !given_up.iter().any(|failed| failed.id == job.id));
    }
    Ok(LaneQueue { running, waiting })
}

/// Fails if a lane has no free slot.
pub(super) fn require_free_slot(client: &Client, lane: &Lane, slots: i64) -> Result<()> {
    let LaneQueue { running, waiting } = lane_queue(client, lane)?;
    if has_slot(running.len(), waiting.len(), slots) {
        Ok(())
    } else {
        Err(lane_full_error(lane, slots, &running, None))
    }
}

fn lane_full_error(lane: &Lane, slots: i64, running: &[Job], waited: Option<Span>) -> Error {
    let mut holders: Vec<String> =
        running.iter().take(5).map(|job| format!("{} ({})", job.id, job.tool_name)).collect();
    if running.len() > holders.len() {
        holders.push(format!("{} more", running.len() - holders.len()));
    }
    let by = if holders.is_empty() { String::new() } else { format!(", by {}", holders.join(", ")) };
    let waited = waited.map(|waited| format!(" after {waited}")).unwrap_or_default();
    let message = format!("lane {lane} is full{waited}: {} of {slots} slots are taken{by}", running.len());
    Error::new(Code::Busy, message).hint("--wait waits longer; pn config set lanes.NAME.slots gives a lane more")
}

/// Takes a slot, and waits for it if `start.wait` is set.
pub(super) fn acquire_slot(client: &Client, start: Start, signals: Option<&mut SignalReceiver>) -> Result<Slot> {
    reconcile(client)?;
    let (lane, slots, wait) = (start.about.lane.clone(), start.slots, start.wait);
    if wait.is_none() {
        require_free_slot(client, &lane, slots)?;
    }
    let job = start_job(client, start)?;
    if job.status == JobStatus::Running {
        return Ok(Slot::Taken(Box::new(job)));
    }
    let wait = wait.unwrap_or(Span::from_millis(0));
    QueuedJob { client, slots, job }.wait(wait, signals)
}

struct QueuedJob<'a> {
    client: &'a Client,
    slots: i64,
    job: Job,
}

impl QueuedJob<'_> {
    fn wait(&self, wait: Span, mut signals: Option<&mut SignalReceiver>) -> Result<Slot> {
        let deadline = Instant::now() + Duration::from_millis(wait.as_millis().unsigned_abs());
        let mut pause = FIRST_POLL;
        loop {
            if let Some(signal) =
                signals.as_mut().and_then(|signals| signals.pending().into_iter().find(|it| host::is_termination(*it)))
            {
                return self.cancelled(signal);
            }
            match self.try_acquire() {
                Ok(Some(acquire_slot)) => return Ok(acquire_slot),
                // The store may be available again at the next poll.
                Err(e) if !matches!(e.code, Code::Busy | Code::Unreachable | Code::Timeout) => return Err(e),
                Ok(None) | Err(_) => {}
            }
            if Instant::now() >= deadline {
                return Err(self.given_up(wait));
            }
            std::thread::sleep(pause.min(deadline.saturating_duration_since(Instant::now())));
            pause = (pause * 3 / 2).min(MAX_POLL);
        }
    }

    fn id(&self) -> JobRef {
        (&self.job.id).into()
    }

    /// Takes a slot if one is free; `None` to keep waiting.
    fn try_acquire(&self) -> Result<Option<Slot>> {
        let LaneQueue { running, waiting } = lane_queue(self.client, &self.job.lane)?;
        if !waiting.iter().any(|job| job.id == self.job.id) {
            let shown = self.client.call(&Show { id: self.id() })?;
            if shown.status.is_over() {
                // Cancelled: end as a command does that gets SIGTERM.
                return Ok(Some(Slot::Ended(CommandExit::Signal(Signal::TERM.as_raw()))));
            }
        }
        let before = waiting.iter().filter(|job| job.number < self.job.number).count();
        if has_slot(running.len(), before, self.slots) {
            let job = self.client.call(&TakeSlot { id: self.id(), slots: self.slots })?;
            return Ok((job.status == JobStatus::Running).then(|| Slot::Taken(Box::new(job))));
        }
        self.refuse_to_wait_for_itself(&running)?;
        Ok(None)
    }

    /// Fails if this command runs inside the only slot of its lane: it would wait for itself.
    fn refuse_to_wait_for_itself(&self, running: &[Job]) -> Result<()> {
        let outer = connect::env_var("PN_JOB").and_then(|id| id.into_string().ok());
        let is_held = running.len() == 1 && Some(running[0].id.as_str()) == outer.as_deref();
        if !is_held || self.slots > 1 {
            return Ok(());
        }
        self.end(JobStatus::Failed, None, "it would wait for the command that it is a part of");
        let message =
            format!("the only slot of lane {} is that of {}, which waits for this", self.job.lane, running[0].id);
        Err(Error::new(Code::Conflict, message).hint("run it in another lane, or without one"))
    }

    fn cancelled(&self, signal: Signal) -> Result<Slot> {
        self.end(JobStatus::Cancelled, Some(signal), "it was cancelled while it waited for a slot");
        Ok(Slot::Ended(CommandExit::Signal(signal.as_raw())))
    }

    fn given_up(&self, wait: Span) -> Error {
        self.end(JobStatus::Failed, None, &format!("there was no slot within {wait}"));
        let running = lane_queue(self.client, &self.job.lane).map(|queue| queue.running).unwrap_or_default();
        lane_full_error(&self.job.lane, self.slots, &running, Some(wait))
    }

    /// Records the end of the job. A failure is ignored: the next reconciliation ends the job.
    fn end(&self, status: JobStatus, signal: Option<Signal>, reason: &str) {
        let _ = self.client.call(&Finish {
            id: self.id(),
            status: Some(status),
            exit_code: None,
            signal: signal.map(|signal| i64::from(signal.as_raw())),
            reason: Some(reason.to_owned()),
            output: None,
            output_bytes: None,
            truncated: false,
            process: None,
        });
    }
}

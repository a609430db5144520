//! Waiting for a slot of a lane: first come, first served, until there is one, the time is over or somebody cancels it.

use std::time::{Duration, Instant};

use pensa_client::Client;
use pensa_core::id::JobRef;
use pensa_core::job::{Job, JobStatus, Lane, has_slot};
use pensa_core::ops::job::{Finish, List, Show, Start, Take};
use pensa_core::{Code, Error, Result, Span};
use pensa_host::{self as host, Ended, Signals};
use rustix::process::Signal;

use super::settle::{now, settle_these};
use super::{ask, settle};
use crate::connect;

/// How soon, and at last how often, it is looked whether there is a slot.
const SOON: Duration = Duration::from_millis(15);
const AT_LAST: Duration = Duration::from_millis(200);

/// What came of the wish for a slot.
pub(super) enum Slot {
    Taken(Box<Job>),
    /// It ended while it waited.
    Ended(Ended),
}

/// The jobs of a lane that have slots on this machine, and those that wait for one.
struct Lines {
    running: Vec<Job>,
    waiting: Vec<Job>,
}

fn look(client: &Client, lane: &Lane) -> Result<Lines> {
    let here = host::name();
    let of = |status: JobStatus| {
        let (status, lane, host) = (Some(status), Some(lane.clone()), Some(here.clone()));
        client.call(&List { status, lane, host, limit: Some(10_000), ..List::default() })
    };
    // In this order, so that one that begins just now is seen in one of them.
    let (mut waiting, mut running) = (of(JobStatus::Pending)?, of(JobStatus::Running)?);
    let given_up = settle_these(client, &here, &[running.as_slice(), waiting.as_slice()].concat())?;
    // Who said that it would wait no longer is in nobody's way.
    waiting.retain(|job| now().is_none_or(|now| job.waits(now)));
    for jobs in [&mut running, &mut waiting] {
        jobs.retain(|job| !given_up.iter().any(|lost| lost.id == job.id));
    }
    Ok(Lines { running, waiting })
}

/// Fails if a lane has no slot to give, before anybody asks for one.
pub(super) fn must_be_free(client: &Client, lane: &Lane, slots: i64) -> Result<()> {
    let Lines { running, waiting } = look(client, lane)?;
    if has_slot(running.len(), waiting.len(), slots) { Ok(()) } else { Err(full(lane, slots, &running, None)) }
}

fn full(lane: &Lane, slots: i64, running: &[Job], waited: Option<Span>) -> Error {
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

/// Takes a slot, and waits for it if that is wanted.
pub(super) fn slot(client: &Client, start: Start, signals: Option<&mut Signals>) -> Result<Slot> {
    settle(client)?;
    let (lane, slots, wait) = (start.about.lane.clone(), start.slots, start.wait);
    if wait.is_none() {
        must_be_free(client, &lane, slots)?;
    }
    let job = ask(client, start)?;
    if job.status == JobStatus::Running {
        return Ok(Slot::Taken(Box::new(job)));
    }
    let wait = wait.unwrap_or(Span::from_millis(0));
    Waiting { client, slots, job }.until(wait, signals)
}

struct Waiting<'a> {
    client: &'a Client,
    slots: i64,
    job: Job,
}

impl Waiting<'_> {
    fn until(&self, wait: Span, mut signals: Option<&mut Signals>) -> Result<Slot> {
        let deadline = Instant::now() + Duration::from_millis(wait.as_millis().unsigned_abs());
        let mut pause = SOON;
        loop {
            if let Some(signal) =
                signals.as_mut().and_then(|signals| signals.pending().into_iter().find(|it| host::ends(*it)))
            {
                return self.cancelled(signal);
            }
            match self.look() {
                Ok(Some(slot)) => return Ok(slot),
                // It may be there the next time.
                Err(e) if !matches!(e.code, Code::Busy | Code::Unreachable | Code::Timeout) => return Err(e),
                Ok(None) | Err(_) => {}
            }
            if Instant::now() >= deadline {
                return Err(self.given_up(wait));
            }
            std::thread::sleep(pause.min(deadline.saturating_duration_since(Instant::now())));
            pause = (pause * 3 / 2).min(AT_LAST);
        }
    }

    fn id(&self) -> JobRef {
        (&self.job.id).into()
    }

    /// Takes the slot if it is there; tells if the job is over.
    fn look(&self) -> Result<Option<Slot>> {
        let Lines { running, waiting } = look(self.client, &self.job.lane)?;
        if !waiting.iter().any(|job| job.id == self.job.id) {
            let shown = self.client.call(&Show { id: self.id() })?;
            if shown.status.is_over() {
                // As a command is ended that is cancelled.
                return Ok(Some(Slot::Ended(Ended::Signal(Signal::TERM.as_raw()))));
            }
        }
        let before = waiting.iter().filter(|job| job.number < self.job.number).count();
        if has_slot(running.len(), before, self.slots) {
            let job = self.client.call(&Take { id: self.id(), slots: self.slots })?;
            return Ok((job.status == JobStatus::Running).then(|| Slot::Taken(Box::new(job))));
        }
        self.refuse_to_wait_for_itself(&running)?;
        Ok(None)
    }

    /// A command that waits for the slot that it runs in would wait for ever.
    fn refuse_to_wait_for_itself(&self, running: &[Job]) -> Result<()> {
        let outer = connect::variable("PN_JOB").and_then(|id| id.into_string().ok());
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
        Ok(Slot::Ended(Ended::Signal(signal.as_raw())))
    }

    fn given_up(&self, wait: Span) -> Error {
        self.end(JobStatus::Failed, None, &format!("there was no slot within {wait}"));
        let running = look(self.client, &self.job.lane).map(|lines| lines.running).unwrap_or_default();
        full(&self.job.lane, self.slots, &running, Some(wait))
    }

    /// What cannot be told now is told by whoever looks next.
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

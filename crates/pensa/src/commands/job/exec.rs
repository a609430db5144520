//! `pn job exec`: runs a command in a slot of its lane, ends it in time, and records what became of it.

use std::io;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use pensa_client::Client;
use pensa_core::id::JobRef;
use pensa_core::job::{Collected, Job, JobStatus, Limits, Size};
use pensa_core::ops::job::{Finish, Show, Start, Update};
use pensa_core::run::Process;
use pensa_core::{Code, Error, Result};
use pensa_host::supervised::Kind;
use pensa_host::{self as host, Ended, Ender, Place, Signals, Why, Word, end_rest};
use rustix::process::Signal;

use super::queue::{self, Slot};
use super::{limits, surrounded};
use crate::cli::{JobExec, Options};
use crate::commands::run::{end_as, noted, started};
use crate::connect::{self, Home};
use crate::output::Output;

/// A command that has ended before needs no line of its own about the number of its process.
const SHORT: Duration = Duration::from_millis(100);
/// How often it is looked whether a job was cancelled.
const LOOK: Duration = Duration::from_secs(1);
/// What we return for a command that took too long.
const TIMED_OUT: i32 = 124;

pub(super) fn run(options: &Options, output: Output, args: JobExec) -> Result<()> {
    let JobExec { mut about, timeout, max_output, wait, no_wait, command } = args;
    let limits = limits(options, &about.lane, timeout)?;
    surrounded(&mut about, &command)?;
    let home = Home::of(options)?;
    let client = home.client(options)?;
    let mut signals = Signals::caught();
    let start = Start {
        about,
        slots: limits.slots,
        timeout: limits.timeout,
        wait: (!no_wait).then_some(wait),
        host: Some(host::name()),
        process: None,
        supervisor: Some(host::process(std::process::id())),
    };
    let ended = match queue::slot(&client, start, signals.as_mut().ok())? {
        Slot::Ended(ended) => Ok(ended),
        Slot::Taken(job) => {
            let watch = Watch { options, output, home: &home, client: &client, job: *job, limits };
            watch.supervise(&command, max_output, signals)
        }
    };
    // Ending this process leaves nothing to be closed.
    drop(client);
    end_as(output, ended)
}

/// What whoever looks after a job needs for it.
struct Watch<'a> {
    options: &'a Options,
    output: Output,
    home: &'a Home,
    client: &'a Client,
    job: Job,
    limits: Limits,
}

impl Watch<'_> {
    fn supervise(
        &self,
        command: &[std::ffi::OsString],
        max_output: Size,
        signals: io::Result<Signals>,
    ) -> Result<Ended> {
        let kept = Arc::new(Mutex::new(Collected::new(max_output)));
        let mut child = Command::new(&command[0]);
        child.args(&command[1..]).env("PN_JOB", self.job.id.as_str()).env("PN_ACTOR", self.client.actor());
        self.home.tell(&mut child);
        let mut note = noted(self.output, Kind::Job, self.job.id.as_str());
        let redactor = connect::redactor(self.options)?;
        let running = host::Job::start(&mut child, kept.clone(), redactor, Place::Group).map_err(|e| {
            let code = if e.kind() == io::ErrorKind::NotFound { Code::NotFound } else { Code::InvalidInput };
            self.failed(Error::new(code, format!("cannot run {}: {e}", command[0].to_string_lossy())))
        })?;
        let (words, heard) = mpsc::channel();
        let timeout = Duration::from_millis(self.limits.timeout.as_millis().unsigned_abs());
        let ender = Ender::begin(running.leash(), timeout, heard).map_err(|e| {
            // Nobody would end it in time.
            running.leash().send(Signal::KILL);
            self.failed(Error::internal(format!("cannot look after a command: {e}")))
        })?;
        let process = running.process.clone();
        started(self.output, note.as_mut(), &process);
        let keeper = self.keep(process.clone(), words.clone());
        let told = words.clone();
        if let Err(e) = signals.and_then(|signals| signals.each(move |signal| drop(told.send(Word::Signal(signal))))) {
            self.output.warning(&format!("signals will not reach the command: {e}"));
        }
        let ended = running.wait().unwrap_or(Ended::Exit(1));
        let why = ender.end(&words);
        if why.is_some() {
            end_rest(&process);
        }
        drop(keeper);
        let kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        self.finish(ended, why, process, &kept);
        if why != Some(Why::Timeout) {
            return Ok(ended);
        }
        self.output.warning(&format!("{} was ended: {}", self.job.id, self.too_long()));
        Ok(Ended::Exit(TIMED_OUT))
    }

    fn too_long(&self) -> String {
        let (limit, lane) = (self.limits.timeout, &self.job.lane);
        format!("it took longer than {limit}; --timeout or lanes.{lane}.timeout allow more")
    }

    /// Records why a command could not be run, and gives that back.
    fn failed(&self, error: Error) -> Error {
        let end = Finish { reason: Some(error.message.clone()), ..self.over(JobStatus::Failed) };
        self.client.call(&end).map_or_else(|not_told| not_told, |_| error)
    }

    fn over(&self, status: JobStatus) -> Finish {
        Finish {
            id: (&self.job.id).into(),
            status: Some(status),
            exit_code: None,
            signal: None,
            reason: None,
            output: None,
            output_bytes: None,
            truncated: false,
            process: None,
        }
    }

    /// Records how a command ended. Whatever goes wrong with that, it has ended so.
    fn finish(&self, ended: Ended, why: Option<Why>, process: Process, kept: &Collected) {
        let status = match why {
            Some(Why::Timeout) => JobStatus::Timeout,
            Some(Why::Cancelled) => JobStatus::Cancelled,
            None if ended.is_success() => JobStatus::Succeeded,
            None => JobStatus::Failed,
        };
        let (text, truncated) = kept.text();
        let mut end = self.over(status);
        match ended {
            Ended::Exit(code) => end.exit_code = Some(code.into()),
            Ended::Signal(signal) => end.signal = Some(signal.into()),
        }
        end.reason = (why == Some(Why::Timeout)).then(|| format!("it took longer than {}", self.limits.timeout));
        (end.output, end.output_bytes, end.truncated) = (Some(text), Some(kept.total()), truncated);
        end.process = Some(process);
        match self.client.call(&end) {
            Err(e) if e.code == Code::InvalidStatusTransition => {}
            Err(e) => self.output.warning(&format!("how {} ended was not recorded: {}", self.job.id, e.message)),
            Ok(_) => {}
        }
    }

    /// Keeps the record of a command that takes longer: the number of its process, and whether it was cancelled.
    fn keep(&self, process: Process, words: mpsc::Sender<Word>) -> Option<Keeper> {
        let (options, home, id) = (self.options.clone(), self.home.clone(), JobRef::from(&self.job.id));
        let (stop, stopped) = mpsc::channel::<()>();
        let spawned = thread::Builder::new().spawn(move || {
            let (mut client, mut is_told, mut pause) = (None, false, SHORT);
            while stopped.recv_timeout(pause) == Err(mpsc::RecvTimeoutError::Timeout) {
                pause = LOOK;
                // A store that cannot be had now may be there the next time.
                client = client.or_else(|| home.client(&options).ok());
                let Some(client) = &client else { continue };
                let shown = if is_told {
                    client.call(&Show { id: id.clone() })
                } else {
                    client.call(&Update { id: id.clone(), process: process.clone() })
                };
                is_told |= shown.is_ok();
                let is_cancelled = match shown {
                    Ok(job) => job.was_cancelled,
                    // What is over cannot be told anything.
                    Err(e) => e.code == Code::InvalidStatusTransition,
                };
                if is_cancelled {
                    let _ = words.send(Word::Cancel);
                }
            }
        });
        match spawned {
            Ok(thread) => Some(Keeper { stop: Some(stop), thread: Some(thread) }),
            Err(e) => {
                self.output.warning(&format!("a job that is cancelled will not be ended: {e}"));
                None
            }
        }
    }
}

/// The thread that keeps the record of a job, until this is dropped.
struct Keeper {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.thread.take().map(thread::JoinHandle::join);
    }
}

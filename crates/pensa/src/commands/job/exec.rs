//! `pn job exec`: runs a command in a slot of a lane, enforces its time limit, and records how it ended.

use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;
use std::{io, thread};

use pensa_client::Client;
use pensa_core::id::JobRef;
use pensa_core::job::{ByteSize, CapturedOutput, Job, JobStatus, LaneLimits};
use pensa_core::ops::job::{Finish, Show, Start, Update};
use pensa_core::run::Process;
use pensa_core::{Code, Error, Result};
use pensa_host::supervised::SupervisedKind;
use pensa_host::{
    self as host, CommandExit, SignalReceiver, StdioMode, StopEvent, StopReason, Terminator, await_group_exit,
};
use rustix::process::Signal;

use super::args::JobExecArgs;
use super::queue::{self, Slot};
use super::{fill_from_environment, limits};
use crate::cli::GlobalOptions;
use crate::commands::run::{exit_like, leave_note, note_process};
use crate::connect::{self, StateLocation};
use crate::output::Output;

/// Delay before the process id is recorded: the final record of a short command has it anyway.
const FIRST_POLL_DELAY: Duration = Duration::from_millis(100);

/// How often a job is checked for cancellation.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Our exit code for a command that exceeded its time limit.
const TIMEOUT_EXIT_CODE: i32 = 124;

pub(super) fn run(options: &GlobalOptions, output: Output, args: JobExecArgs) -> Result<()> {
    let JobExecArgs { mut about, timeout, max_output, wait, no_wait, command } = args;
    let limits = limits(options, &about.lane, timeout)?;
    fill_from_environment(&mut about, &command)?;
    let home = StateLocation::of(options)?;
    let client = home.client(options)?;
    let mut signals = SignalReceiver::catch();
    let start = Start {
        about,
        slots: limits.slots,
        timeout: limits.timeout,
        wait: (!no_wait).then_some(wait),
        host: Some(host::name()),
        process: None,
        supervisor: Some(host::process(std::process::id())),
    };
    let ended = match queue::acquire_slot(&client, start, signals.as_mut().ok())? {
        Slot::Ended(ended) => Ok(ended),
        Slot::Taken(job) => {
            let supervisor = JobSupervisor { options, output, home: &home, client: &client, job: *job, limits };
            supervisor.supervise(&command, max_output, signals)
        }
    };
    // Close the store first: exiting runs no destructors.
    drop(client);
    exit_like(output, ended)
}

/// Supervises the command of one job.
struct JobSupervisor<'a> {
    options: &'a GlobalOptions,
    output: Output,
    home: &'a StateLocation,
    client: &'a Client,
    job: Job,
    limits: LaneLimits,
}

impl JobSupervisor<'_> {
    fn supervise(
        &self,
        command: &[std::ffi::OsString],
        max_output: ByteSize,
        signals: io::Result<SignalReceiver>,
    ) -> Result<CommandExit> {
        let output = Arc::new(Mutex::new(CapturedOutput::new(max_output)));
        let mut child = Command::new(&command[0]);
        child.args(&command[1..]).env("PN_JOB", self.job.id.as_str()).env("PN_ACTOR", self.client.actor());
        self.home.set_environment(&mut child);
        let mut note = leave_note(self.output, SupervisedKind::Job, self.job.id.as_str());
        let redactor = connect::redactor(self.options)?;
        let running =
            host::RunningCommand::start(&mut child, output.clone(), redactor, StdioMode::Group).map_err(|e| {
                let code = if e.kind() == io::ErrorKind::NotFound { Code::NotFound } else { Code::InvalidInput };
                self.failed(Error::new(code, format!("cannot run {}: {e}", command[0].to_string_lossy())))
            })?;
        let (words, received) = mpsc::channel();
        let timeout = Duration::from_millis(self.limits.timeout.as_millis().unsigned_abs());
        let terminator = Terminator::start(running.handle(), timeout, received).map_err(|e| {
            // Without the terminator, nothing would enforce the time limit.
            running.handle().send(Signal::KILL);
            self.failed(Error::internal(format!("cannot look after a command: {e}")))
        })?;
        let process = running.process.clone();
        note_process(self.output, note.as_mut(), &process);
        let heartbeat = self.start_heartbeat(process.clone(), words.clone());
        let sender = words.clone();
        if let Err(e) =
            signals.and_then(|signals| signals.for_each(move |signal| drop(sender.send(StopEvent::Signal(signal)))))
        {
            self.output.warning(&format!("signals will not reach the command: {e}"));
        }
        let ended = running.wait().unwrap_or(CommandExit::Exit(1));
        let why = terminator.finish(&words);
        if why.is_some() {
            await_group_exit(&process);
        }
        drop(heartbeat);
        let output = output.lock().unwrap_or_else(PoisonError::into_inner);
        self.finish(ended, why, process, &output);
        if why != Some(StopReason::Timeout) {
            return Ok(ended);
        }
        self.output.warning(&format!("{} was ended: {}", self.job.id, self.timeout_message()));
        Ok(CommandExit::Exit(TIMEOUT_EXIT_CODE))
    }

    fn timeout_message(&self) -> String {
        let (limit, lane) = (self.limits.timeout, &self.job.lane);
        format!("it took longer than {limit}; --timeout or lanes.{lane}.timeout allow more")
    }

    /// Records why a command could not be started. Returns that error.
    fn failed(&self, error: Error) -> Error {
        let end = Finish { reason: Some(error.message.clone()), ..self.finish_op(JobStatus::Failed) };
        self.client.call(&end).map_or_else(|not_recorded| not_recorded, |_| error)
    }

    fn finish_op(&self, status: JobStatus) -> Finish {
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

    /// Records how a command ended; a failure to record is only a warning.
    fn finish(&self, ended: CommandExit, why: Option<StopReason>, process: Process, output: &CapturedOutput) {
        let status = match why {
            Some(StopReason::Timeout) => JobStatus::Timeout,
            Some(StopReason::Cancelled) => JobStatus::Cancelled,
            None if ended.is_success() => JobStatus::Succeeded,
            None => JobStatus::Failed,
        };
        let (text, truncated) = output.text();
        let mut end = self.finish_op(status);
        match ended {
            CommandExit::Exit(code) => end.exit_code = Some(code.into()),
            CommandExit::Signal(signal) => end.signal = Some(signal.into()),
        }
        end.reason = (why == Some(StopReason::Timeout)).then(|| format!("it took longer than {}", self.limits.timeout));
        (end.output, end.output_bytes, end.truncated) = (Some(text), Some(output.total()), truncated);
        end.process = Some(process);
        match self.client.call(&end) {
            Err(e) if e.code == Code::InvalidStatusTransition => {}
            Err(e) => self.output.warning(&format!("how {} ended was not recorded: {}", self.job.id, e.message)),
            Ok(_) => {}
        }
    }

    /// Starts a thread that records the process id and watches for cancellation.
    fn start_heartbeat(&self, process: Process, words: mpsc::Sender<StopEvent>) -> Option<JobHeartbeat> {
        let (options, home, id) = (self.options.clone(), self.home.clone(), JobRef::from(&self.job.id));
        let (stop, stopped) = mpsc::channel::<()>();
        let spawned = thread::Builder::new().spawn(move || {
            let (mut client, mut is_recorded, mut pause) = (None, false, FIRST_POLL_DELAY);
            while stopped.recv_timeout(pause) == Err(mpsc::RecvTimeoutError::Timeout) {
                pause = POLL_INTERVAL;
                // If the store is unavailable, the next poll tries again.
                client = client.or_else(|| home.client(&options).ok());
                let Some(client) = &client else { continue };
                let shown = if is_recorded {
                    client.call(&Show { id: id.clone() })
                } else {
                    client.call(&Update { id: id.clone(), process: process.clone() })
                };
                is_recorded |= shown.is_ok();
                let is_cancelled = match shown {
                    Ok(job) => job.was_cancelled,
                    // The job has ended already.
                    Err(e) => e.code == Code::InvalidStatusTransition,
                };
                if is_cancelled {
                    let _ = words.send(StopEvent::Cancel);
                }
            }
        });
        match spawned {
            Ok(thread) => Some(JobHeartbeat { stop: Some(stop), thread: Some(thread) }),
            Err(e) => {
                self.output.warning(&format!("a job that is cancelled will not be ended: {e}"));
                None
            }
        }
    }
}

/// A thread that runs until this is dropped.
struct JobHeartbeat {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Drop for JobHeartbeat {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.thread.take().map(thread::JoinHandle::join);
    }
}

//! `pn run exec`: runs commands and records each, however it ends.

use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, exit};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use std::{io, thread};

use pensa_client::Client;
use pensa_core::id::IssueRef;
use pensa_core::issue::Origin;
use pensa_core::ops::issue::{Close, Heartbeat, Release, Show as ShowIssue};
use pensa_core::ops::run::{Finish, Launch, Show, Start, Update};
use pensa_core::run::{HarnessName, Process, Run, RunStatus};
use pensa_core::{Code, Error, Result, Span};
use pensa_host::supervised::{SupervisedKind, SupervisionNote};
use pensa_host::{self as host, CommandExit, ProcessHandle, RunningCommand, SignalReceiver, StdioMode};
use rustix::process::Signal;

use super::args::RunExecArgs;
use super::logs::{LOGS, log_file};
use super::window::{self, WindowOptions};
use super::{apply_settings, labels, reconcile};
use crate::cli::GlobalOptions;
use crate::commands::stdin;
use crate::connect::{self, StateLocation};
use crate::output::Output;

/// Delay before the process id is recorded: the final record of a short command has it anyway.
const FIRST_POLL_DELAY: Duration = Duration::from_millis(100);

/// How often a run is checked for cancellation.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// How long a cancelled command may take to end before it is killed.
const CANCEL_GRACE: Duration = Duration::from_secs(5);

pub(super) fn run(options: &GlobalOptions, output: Output, args: RunExecArgs) -> Result<()> {
    let RunExecArgs { mut launch, labels: given, instances, ttl, close, mux, split, wait, command } = args;
    // Fail before anything is recorded if the multiplexer is missing.
    mux.map_or(Ok(()), host::mux::require_installed)?;
    mux.filter(|_| split).map_or(Ok(()), host::mux::require_split)?;
    stdin::fill(&mut launch.prompt)?;
    launch.labels = labels(given);
    launch.command = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    apply_settings(options, &mut launch)?;
    launch.harness = launch.harness.or_else(|| harness_of(&command));
    launch.instances = Some(i64::from(instances));
    if launch.repo.is_none() {
        launch.seen = Some(host::detect(&connect::cwd()?)?);
    }
    if instances > 1 && launch.group.is_none() {
        launch.group = Some(format!("group-{:08x}", RandomState::new().build_hasher().finish() >> 32));
    }
    let home = StateLocation::of(options)?;
    let client = home.client(options)?;
    reconcile(&client, &home)?;
    let claim = launch.issue.clone();
    let supervisor = RunSupervisor { options, output, home: &home, client: &client, ttl, is_alone: instances == 1 };
    if let Some(mux) = mux {
        let opened = window::open(&supervisor, WindowOptions { mux, split, close }, &launch, &command, instances);
        return window::report_runs(&supervisor, &opened?, wait);
    }
    // If the issue cannot be claimed, there is no run and nothing to give back.
    let first = record(&supervisor, &launch, false, true)?;
    let ended = supervise(&supervisor, first, &launch, &command, instances);
    let is_success = ended.as_ref().is_ok_and(|ended| ended.is_success());
    if let Some(id) = &claim {
        release_or_close(&client, output, id, is_success, close);
    }
    // Close the store first: exiting runs no destructors.
    drop(client);
    exit_like(output, ended)
}

/// Exits with the code or signal of the command; 127 if it was not found.
pub(in crate::commands) fn exit_like(output: Output, ended: Result<CommandExit>) -> Result<()> {
    match ended {
        Ok(ended) => ended.exit_same_way(),
        Err(error) if error.code == Code::NotFound => {
            output.error(&error);
            exit(127)
        }
        Err(error) => Err(error),
    }
}

/// Closes the issue or releases the claim after the command. The agent may have done either itself.
pub(super) fn release_or_close(client: &Client, output: Output, id: &IssueRef, is_success: bool, close: bool) {
    let done = match (is_success, close) {
        (true, true) => {
            client.call(&Close { id: id.clone(), reason: None, duplicate_of: None, force: false }).map(drop)
        }
        (true, false) => Ok(()),
        (false, _) => client.call(&Release { id: id.clone(), force: false }).map(drop),
    };
    match done {
        Err(e) if !matches!(e.code, Code::InvalidStatusTransition | Code::NotFound | Code::AlreadyClaimed) => {
            output.warning(&format!("{id} was left as it is: {}", e.message));
        }
        _ => {}
    }
}

/// The name of the program, if it is valid as a harness name.
fn harness_of(command: &[OsString]) -> Option<HarnessName> {
    let name = Path::new(command.first()?).file_name().and_then(OsStr::to_str)?;
    name.replace('@', "-").parse().ok()
}

/// A run and its running command.
pub(super) struct StartedRun {
    run: Run,
    job: RunningCommand,
    /// Deleted when the command has ended.
    _note: Option<SupervisionNote>,
}

/// What supervising runs needs.
pub(super) struct RunSupervisor<'a> {
    pub(super) options: &'a GlobalOptions,
    pub(super) output: Output,
    pub(super) home: &'a StateLocation,
    pub(super) client: &'a Client,
    /// How long a claim lasts unless renewed.
    pub(super) ttl: Span,
    /// Whether the command has our terminal to itself.
    pub(super) is_alone: bool,
}

fn supervise(
    supervisor: &RunSupervisor<'_>,
    first: Run,
    launch: &Launch,
    command: &[OsString],
    instances: u16,
) -> Result<CommandExit> {
    let signals = SignalReceiver::catch();
    let mut all = Vec::new();
    let mut first = Some(first);
    for instance in 1..=instances {
        let recorded = first.take().map_or_else(|| record(supervisor, launch, false, false), Ok);
        let started = recorded.and_then(|run| {
            let note = leave_note(supervisor.output, SupervisedKind::Run, run.id.as_str());
            begin(supervisor, run, note, command, instance)
        });
        match started {
            Ok(running) => all.push(running),
            Err(error) => {
                all.iter().for_each(|running: &StartedRun| running.job.handle().send(Signal::TERM));
                for running in all {
                    finish(supervisor, running);
                }
                return Err(error);
            }
        }
    }
    Ok(wait_for_all(supervisor, signals, all))
}

/// Waits for commands to end, and keeps their records and claim up to date.
pub(super) fn wait_for_all(
    supervisor: &RunSupervisor<'_>,
    signals: io::Result<SignalReceiver>,
    all: Vec<StartedRun>,
) -> CommandExit {
    let handles: Vec<ProcessHandle> = all.iter().map(|running| running.job.handle()).collect();
    if let Err(e) = signals.and_then(|signals| signals.forward_to(handles)) {
        supervisor.output.warning(&format!("signals will not reach the command: {e}"));
    }
    let heartbeat = RunHeartbeat::begin(supervisor, &all);
    if let Err(e) = &heartbeat {
        supervisor.output.warning(&format!("a claim will not be renewed, nor a cancelled run ended: {e}"));
    }
    let ended: Vec<CommandExit> = all.into_iter().map(|running| finish(supervisor, running)).collect();
    heartbeat.map(RunHeartbeat::end).unwrap_or_default();
    ended.iter().copied().find(|ended| !ended.is_success()).unwrap_or(CommandExit::Exit(0))
}

/// Records a run that this process supervises, at least until its command runs. The first of several instances claims the
/// issue.
pub(super) fn record(supervisor: &RunSupervisor<'_>, launch: &Launch, created: bool, is_first: bool) -> Result<Run> {
    let logs = supervisor.home.private_dir(LOGS)?;
    let log_dir = logs.to_str().ok_or_else(|| Error::invalid(format!("not UTF-8: {}", logs.display())))?.to_owned();
    supervisor.client.call(&Start {
        launch: launch.clone(),
        created,
        claim: is_first.then_some(supervisor.ttl),
        host: Some(host::name()),
        agent: None,
        supervisor: Some(host::process(std::process::id())),
        log_path: None,
        log_dir: Some(log_dir),
    })
}

/// Starts the command of a run, or records why it could not.
pub(super) fn begin(
    supervisor: &RunSupervisor<'_>,
    run: Run,
    mut note: Option<SupervisionNote>,
    command: &[OsString],
    instance: u16,
) -> Result<StartedRun> {
    let begun = log(supervisor, &run).and_then(|log| {
        let mut child = Command::new(&command[0]);
        child.args(&command[1..]).env("PN_RUN", run.id.as_str()).env("PN_ACTOR", supervisor.client.actor());
        child.env("PN_INSTANCE", instance.to_string());
        if let Some(session) = continued_session(supervisor.client, &run) {
            child.env("PN_SESSION", session);
        }
        supervisor.home.set_environment(&mut child);
        let place = if supervisor.is_alone { StdioMode::Terminal } else { StdioMode::Shared };
        let redactor = connect::redactor(supervisor.options)?;
        let job = RunningCommand::start(&mut child, Arc::new(log), redactor, place).map_err(|e| {
            let code = if e.kind() == io::ErrorKind::NotFound { Code::NotFound } else { Code::InvalidInput };
            Error::new(code, format!("cannot run {}: {e}", command[0].to_string_lossy()))
        })?;
        note_process(supervisor.output, note.as_mut(), &job.process);
        Ok(job)
    });
    match begun {
        Ok(job) => Ok(StartedRun { run, job, _note: note }),
        Err(error) => {
            let mut end = finish_op(&run, RunStatus::Failed);
            end.reason = Some(error.message.clone());
            supervisor.client.call(&end)?;
            Err(error)
        }
    }
}

/// The caller's session, if the run continues a claim of that session, so that the command may act on the claim.
fn continued_session(client: &Client, run: &Run) -> Option<String> {
    let session = client.origin().claim_session()?;
    let id = run.issue_id.as_ref()?;
    let issue = client.call(&ShowIssue { id: id.into() }).ok()?.issue;
    (issue.claim_session.as_deref() == Some(session)).then(|| session.to_owned())
}

/// Notes on this machine what this process supervises: without the note, no other process may end the command.
pub(in crate::commands) fn leave_note(output: Output, kind: SupervisedKind, id: &str) -> Option<SupervisionNote> {
    let warn = |e: Error| output.warning(&format!("the command of {id} goes on if pn is killed: {}", e.message));
    SupervisionNote::create(kind, id).map_err(warn).ok()
}

/// Adds the process of the started command to the note.
pub(in crate::commands) fn note_process(output: Output, note: Option<&mut SupervisionNote>, process: &Process) {
    if let Some(Err(e)) = note.map(|note| note.set_process(process)) {
        output.warning(&format!("only this process can end the command: {}", e.message));
    }
}

/// Creates the log of a run. Its path comes from this machine and not from the record, which anybody may have written.
fn log(supervisor: &RunSupervisor<'_>, run: &Run) -> Result<File> {
    let path = log_file(&supervisor.home.private_dir(LOGS)?, &run.id);
    let opened = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path);
    opened.map_err(|e| Error::internal(format!("cannot write {}: {e}", path.display())))
}

pub(super) fn finish_op(run: &Run, status: RunStatus) -> Finish {
    let id = (&run.id).into();
    Finish { id, status, exit_code: None, signal: None, reason: None, agent: None, if_supervisor: None }
}

/// Waits for a command and records how it ended; a failure to record is only a warning.
fn finish(supervisor: &RunSupervisor<'_>, running: StartedRun) -> CommandExit {
    let StartedRun { run, job, _note } = running;
    let process = job.process.clone();
    let ended = job.wait().unwrap_or(CommandExit::Exit(1));
    let mut end = finish_op(&run, if ended.is_success() { RunStatus::Succeeded } else { RunStatus::Failed });
    match ended {
        CommandExit::Exit(code) => end.exit_code = Some(code.into()),
        CommandExit::Signal(signal) => end.signal = Some(signal.into()),
    }
    end.agent = Some(process);
    match supervisor.client.call(&end) {
        // The run was cancelled, which is why the command ended.
        Err(e) if e.code == Code::InvalidStatusTransition => {}
        Err(e) => supervisor.output.warning(&format!("how {} ended was not recorded: {}", run.id, e.message)),
        Ok(_) => {}
    }
    ended
}

/// A thread that records process ids, renews the claim, and ends cancelled commands.
struct RunHeartbeat {
    stop: mpsc::Sender<()>,
    thread: thread::JoinHandle<()>,
}

/// A run, and whether its process id is recorded.
struct TrackedRun {
    run: Run,
    process: Process,
    leash: ProcessHandle,
    is_recorded: bool,
}

impl RunHeartbeat {
    fn begin(supervisor: &RunSupervisor<'_>, all: &[StartedRun]) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let track = |it: &StartedRun| TrackedRun {
            run: it.run.clone(),
            process: it.job.process.clone(),
            leash: it.job.handle(),
            is_recorded: false,
        };
        let mut runs: Vec<TrackedRun> = all.iter().map(track).collect();
        let issue = all.iter().find_map(|it| it.run.issue_id.as_ref()).map(IssueRef::from);
        let base = supervisor.client.origin();
        let origin = Origin {
            session: base.claim_session().map(str::to_owned),
            run: all.first().map(|it| it.run.id.to_string()),
            host: base.host.clone(),
        };
        let (options, home) = (supervisor.options.clone(), supervisor.home.clone());
        let third = Duration::from_millis(supervisor.ttl.as_millis().unsigned_abs() / 3);
        let thread = thread::Builder::new().spawn(move || {
            let (mut client, mut renewed, mut cancelled_at) = (None, Instant::now(), None);
            let mut pause = FIRST_POLL_DELAY;
            while stopped.recv_timeout(pause) == Err(mpsc::RecvTimeoutError::Timeout) {
                pause = POLL_INTERVAL.min(third).max(FIRST_POLL_DELAY);
                // If the store is unavailable, the next poll tries again.
                client = client.or_else(|| Some(home.client(&options).ok()?.with_origin(origin.clone())));
                let Some(client) = &client else { continue };
                if let Some(id) = issue.as_ref().filter(|_| renewed.elapsed() >= third) {
                    let _ = client.call(&Heartbeat { id: id.clone(), ttl: None, force: false });
                    renewed = Instant::now();
                }
                for run in &mut runs {
                    if run.is_cancelled(client) {
                        let since = *cancelled_at.get_or_insert_with(Instant::now);
                        run.leash.send(if since.elapsed() < CANCEL_GRACE { Signal::TERM } else { Signal::KILL });
                    }
                }
            }
        })?;
        Ok(Self { stop, thread })
    }

    fn end(self) {
        let _ = self.stop.send(());
        let _ = self.thread.join();
    }
}

impl TrackedRun {
    /// Whether the run was cancelled. The first call also records the process id.
    fn is_cancelled(&mut self, client: &Client) -> bool {
        let shown = if self.is_recorded {
            client.call(&Show { id: (&self.run.id).into() })
        } else {
            client.call(&Update {
                id: (&self.run.id).into(),
                started: false,
                agent: Some(self.process.clone()),
                supervisor: None,
                session: None,
                mux: self.run.mux.clone(),
            })
        };
        self.is_recorded |= shown.is_ok();
        match shown {
            Ok(run) => run.status == RunStatus::Cancelled,
            // The run has ended already.
            Err(e) => e.code == Code::InvalidStatusTransition,
        }
    }
}

//! `pn run exec`: runs commands and keeps a record of each, whatever becomes of them.

use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, exit};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use pensa_client::Client;
use pensa_core::id::IssueRef;
use pensa_core::issue::Origin;
use pensa_core::ops::issue::{Close, Heartbeat, Release, Show as ShowIssue};
use pensa_core::ops::run::{Finish, Launch, Show, Start, Update};
use pensa_core::run::{HarnessName, Process, Run, RunStatus};
use pensa_core::{Code, Error, Result, Span};
use pensa_host::supervised::{Kind, Note};
use pensa_host::{self as host, Ended, Job, Leash, Place, Signals};
use rustix::process::Signal;

use super::logs::{LOGS, log_file};
use super::window::{self, WindowOptions};
use super::{as_set, labels, settle};
use crate::cli::{Options, RunExec};
use crate::commands::stdin;
use crate::connect::{self, Home};
use crate::output::Output;

/// A command that has ended before needs no line of its own about the number of its process.
const SHORT: Duration = Duration::from_millis(100);
/// How often it is looked whether a run was cancelled.
const LOOK: Duration = Duration::from_secs(2);
/// How long a command that was cancelled has before it is killed.
const GRACE: Duration = Duration::from_secs(5);

pub(super) fn run(options: &Options, output: Output, args: RunExec) -> Result<()> {
    let RunExec { mut launch, labels: given, instances, ttl, close, mux, split, wait, command } = args;
    // Before anything is recorded: there is nothing to open a window in.
    mux.map_or(Ok(()), host::mux::must_be_there)?;
    mux.filter(|_| split).map_or(Ok(()), host::mux::must_split)?;
    stdin::fill(&mut launch.prompt)?;
    launch.labels = labels(given);
    launch.command = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    as_set(options, &mut launch)?;
    launch.harness = launch.harness.or_else(|| harness_of(&command));
    launch.instances = Some(i64::from(instances));
    if launch.repo.is_none() {
        launch.seen = Some(host::detect(&connect::cwd()?)?);
    }
    if instances > 1 && launch.group.is_none() {
        launch.group = Some(format!("group-{:08x}", RandomState::new().build_hasher().finish() >> 32));
    }
    let home = Home::of(options)?;
    let client = home.client(options)?;
    settle(&client, &home)?;
    let claim = launch.issue.clone();
    let watch = Watch { options, output, home: &home, client: &client, ttl, is_alone: instances == 1 };
    if let Some(mux) = mux {
        let opened = window::open(&watch, WindowOptions { mux, split, close }, &launch, &command, instances);
        return window::told(&watch, &opened?, wait);
    }
    // If the issue cannot be claimed, there is no run and nothing to give back.
    let first = record(&watch, &launch, false, true)?;
    let ended = supervise(&watch, first, &launch, &command, instances);
    let is_success = ended.as_ref().is_ok_and(|ended| ended.is_success());
    if let Some(id) = &claim {
        give_back(&client, output, id, is_success, close);
    }
    // Ending this process leaves nothing to be closed.
    drop(client);
    end_as(output, ended)
}

/// Ends this process as the command did.
pub(in crate::commands) fn end_as(output: Output, ended: Result<Ended>) -> Result<()> {
    match ended {
        Ok(ended) => ended.repeat(),
        Err(error) if error.code == Code::NotFound => {
            output.error(&error);
            exit(127)
        }
        Err(error) => Err(error),
    }
}

/// What becomes of the claim: the agent may have given it back or closed the issue itself.
pub(super) fn give_back(client: &Client, output: Output, id: &IssueRef, is_success: bool, close: bool) {
    let done = match (is_success, close) {
        (true, true) => client.call(&Close { id: id.clone(), reason: None, force: false }).map(drop),
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

/// The program's name, where that can be the name of a harness.
fn harness_of(command: &[OsString]) -> Option<HarnessName> {
    let name = Path::new(command.first()?).file_name().and_then(OsStr::to_str)?;
    name.replace('@', "-").parse().ok()
}

/// One run and the command that it is about.
pub(super) struct Running {
    run: Run,
    job: Job,
    /// Goes when the command has ended.
    _note: Option<Note>,
}

/// What whoever looks after runs needs for it.
pub(super) struct Watch<'a> {
    pub(super) options: &'a Options,
    pub(super) output: Output,
    pub(super) home: &'a Home,
    pub(super) client: &'a Client,
    /// How long a claim lasts without a sign of life.
    pub(super) ttl: Span,
    /// Whether the command has our terminal, if we have one, to itself.
    pub(super) is_alone: bool,
}

fn supervise(watch: &Watch<'_>, first: Run, launch: &Launch, command: &[OsString], instances: u16) -> Result<Ended> {
    let signals = Signals::caught();
    let mut all = Vec::new();
    let mut first = Some(first);
    for instance in 1..=instances {
        let recorded = first.take().map_or_else(|| record(watch, launch, false, false), Ok);
        let started = recorded.and_then(|run| {
            let note = noted(watch.output, Kind::Run, run.id.as_str());
            begin(watch, run, note, command, instance)
        });
        match started {
            Ok(running) => all.push(running),
            Err(error) => {
                all.iter().for_each(|running: &Running| running.job.leash().send(Signal::TERM));
                for running in all {
                    finish(watch, running);
                }
                return Err(error);
            }
        }
    }
    Ok(look_after(watch, signals, all))
}

/// Waits for commands and keeps the records of them, however they end.
pub(super) fn look_after(watch: &Watch<'_>, signals: io::Result<Signals>, all: Vec<Running>) -> Ended {
    let leashes: Vec<Leash> = all.iter().map(|running| running.job.leash()).collect();
    if let Err(e) = signals.and_then(|signals| signals.pass_to(leashes)) {
        watch.output.warning(&format!("signals will not reach the command: {e}"));
    }
    let keeper = Keeper::begin(watch, &all);
    if let Err(e) = &keeper {
        watch.output.warning(&format!("a claim will not be renewed, nor a cancelled run ended: {e}"));
    }
    let ended: Vec<Ended> = all.into_iter().map(|running| finish(watch, running)).collect();
    keeper.map(Keeper::end).unwrap_or_default();
    ended.iter().copied().find(|ended| !ended.is_success()).unwrap_or(Ended::Exit(0))
}

/// Records a run that this process looks after, at least until its command runs. The first of those launched together
/// claims their issue.
pub(super) fn record(watch: &Watch<'_>, launch: &Launch, created: bool, is_first: bool) -> Result<Run> {
    let logs = watch.home.private_dir(LOGS)?;
    let log_dir = logs.to_str().ok_or_else(|| Error::invalid(format!("not UTF-8: {}", logs.display())))?.to_owned();
    watch.client.call(&Start {
        launch: launch.clone(),
        created,
        claim: is_first.then_some(watch.ttl),
        host: Some(host::name()),
        agent: None,
        supervisor: Some(host::process(std::process::id())),
        log_path: None,
        log_dir: Some(log_dir),
    })
}

/// Starts the command of a run, or records that it could not be.
pub(super) fn begin(
    watch: &Watch<'_>,
    run: Run,
    mut note: Option<Note>,
    command: &[OsString],
    instance: u16,
) -> Result<Running> {
    let begun = log(watch, &run).and_then(|log| {
        let mut child = Command::new(&command[0]);
        child.args(&command[1..]).env("PN_RUN", run.id.as_str()).env("PN_ACTOR", watch.client.actor());
        child.env("PN_INSTANCE", instance.to_string());
        if let Some(session) = continued_session(watch.client, &run) {
            child.env("PN_SESSION", session);
        }
        watch.home.tell(&mut child);
        let place = if watch.is_alone { Place::Terminal } else { Place::Shared };
        let redactor = connect::redactor(watch.options)?;
        let job = Job::start(&mut child, Arc::new(log), redactor, place).map_err(|e| {
            let code = if e.kind() == io::ErrorKind::NotFound { Code::NotFound } else { Code::InvalidInput };
            Error::new(code, format!("cannot run {}: {e}", command[0].to_string_lossy()))
        })?;
        started(watch.output, note.as_mut(), &job.process);
        Ok(job)
    });
    match begun {
        Ok(job) => Ok(Running { run, job, _note: note }),
        Err(error) => {
            let mut end = over(&run, RunStatus::Failed);
            end.reason = Some(error.message.clone());
            watch.client.call(&end)?;
            Err(error)
        }
    }
}

/// The caller's session, if the run goes on with a claim of that session: its command must be able to act on it.
fn continued_session(client: &Client, run: &Run) -> Option<String> {
    let session = client.origin().claim_session()?;
    let id = run.issue_id.as_ref()?;
    let issue = client.call(&ShowIssue { id: id.into() }).ok()?.issue;
    (issue.claim_session.as_deref() == Some(session)).then(|| session.to_owned())
}

/// Notes what this process supervises: without that, nobody else can end the command.
pub(in crate::commands) fn noted(output: Output, kind: Kind, id: &str) -> Option<Note> {
    let warn = |e: Error| output.warning(&format!("the command of {id} goes on if pn is killed: {}", e.message));
    Note::leave(kind, id).map_err(warn).ok()
}

/// Notes the process of a command that was started.
pub(in crate::commands) fn started(output: Output, note: Option<&mut Note>, process: &Process) {
    if let Some(Err(e)) = note.map(|note| note.started(process)) {
        output.warning(&format!("only this process can end the command: {}", e.message));
    }
}

/// The log of a run, which must be new. Where it is, is for this machine to say and not for the record.
fn log(watch: &Watch<'_>, run: &Run) -> Result<File> {
    let path = log_file(&watch.home.private_dir(LOGS)?, &run.id);
    let opened = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path);
    opened.map_err(|e| Error::internal(format!("cannot write {}: {e}", path.display())))
}

pub(super) fn over(run: &Run, status: RunStatus) -> Finish {
    let id = (&run.id).into();
    Finish { id, status, exit_code: None, signal: None, reason: None, agent: None, if_supervisor: None }
}

/// Waits for a command and records how it ended. Whatever goes wrong with that, the command has ended so.
fn finish(watch: &Watch<'_>, running: Running) -> Ended {
    let Running { run, job, _note } = running;
    let process = job.process.clone();
    let ended = job.wait().unwrap_or(Ended::Exit(1));
    let mut end = over(&run, if ended.is_success() { RunStatus::Succeeded } else { RunStatus::Failed });
    match ended {
        Ended::Exit(code) => end.exit_code = Some(code.into()),
        Ended::Signal(signal) => end.signal = Some(signal.into()),
    }
    end.agent = Some(process);
    match watch.client.call(&end) {
        // It was cancelled, which is why it ended.
        Err(e) if e.code == Code::InvalidStatusTransition => {}
        Err(e) => watch.output.warning(&format!("how {} ended was not recorded: {}", run.id, e.message)),
        Ok(_) => {}
    }
    ended
}

/// Keeps the record of commands that take longer: the numbers of their processes, the claim, and whether they were
/// cancelled.
struct Keeper {
    stop: mpsc::Sender<()>,
    thread: thread::JoinHandle<()>,
}

/// A run that is kept, and whether its process has been told.
struct Kept {
    run: Run,
    process: Process,
    leash: Leash,
    is_told: bool,
}

impl Keeper {
    fn begin(watch: &Watch<'_>, all: &[Running]) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let kept = |it: &Running| Kept {
            run: it.run.clone(),
            process: it.job.process.clone(),
            leash: it.job.leash(),
            is_told: false,
        };
        let mut runs: Vec<Kept> = all.iter().map(kept).collect();
        let issue = all.iter().find_map(|it| it.run.issue_id.as_ref()).map(IssueRef::from);
        let base = watch.client.origin();
        let origin = Origin {
            session: base.claim_session().map(str::to_owned),
            run: all.first().map(|it| it.run.id.to_string()),
            host: base.host.clone(),
        };
        let (options, home) = (watch.options.clone(), watch.home.clone());
        let third = Duration::from_millis(watch.ttl.as_millis().unsigned_abs() / 3);
        let thread = thread::Builder::new().spawn(move || {
            let (mut client, mut renewed, mut told_to_end) = (None, Instant::now(), None);
            let mut pause = SHORT;
            while stopped.recv_timeout(pause) == Err(mpsc::RecvTimeoutError::Timeout) {
                pause = LOOK.min(third).max(SHORT);
                // A store that cannot be had now may be there the next time.
                client = client.or_else(|| Some(home.client(&options).ok()?.with_origin(origin.clone())));
                let Some(client) = &client else { continue };
                if let Some(id) = issue.as_ref().filter(|_| renewed.elapsed() >= third) {
                    let _ = client.call(&Heartbeat { id: id.clone(), ttl: None, force: false });
                    renewed = Instant::now();
                }
                for kept in &mut runs {
                    if kept.is_cancelled(client) {
                        let since = *told_to_end.get_or_insert_with(Instant::now);
                        kept.leash.send(if since.elapsed() < GRACE { Signal::TERM } else { Signal::KILL });
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

impl Kept {
    /// Whether the command is to end. The first look also tells its process.
    fn is_cancelled(&mut self, client: &Client) -> bool {
        let shown = if self.is_told {
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
        self.is_told |= shown.is_ok();
        match shown {
            Ok(run) => run.status == RunStatus::Cancelled,
            // What is over cannot be told anything.
            Err(e) => e.code == Code::InvalidStatusTransition,
        }
    }
}

//! `pn run exec --mux`: opens windows for runs, and supervises each run from within its window.
//!
//! A file passes command and environment to the window: a multiplexer starts programs in its own environment, and command
//! lines are visible to all users.

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use pensa_core::id::{IssueRef, RunRef};
use pensa_core::ops::run::{Launch, List, Show, Update};
use pensa_core::run::{Mux, MuxWindow, Run, RunStatus};
use pensa_core::{Code, Error, Result, Span, json};
use pensa_host::mux::{self, Window};
use pensa_host::supervised::SupervisedKind;
use pensa_host::{self as host, CommandExit, SignalReceiver};
use serde::{Deserialize, Serialize};

use super::args::RunWindowArgs;
use super::exec::{self, RunSupervisor};
use super::logs::{LOGS, log_file};
use super::reconcile;
use crate::cli::GlobalOptions;
use crate::connect::{self, StateLocation};
use crate::output::Output;

/// How long a window may take to start its command.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// How often that is checked.
const START_POLL: Duration = Duration::from_millis(10);

/// How often the end of a run is checked.
const END_POLL: Duration = Duration::from_millis(200);

/// The layout of a window, and whether to close the issue after success.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct WindowOptions {
    pub(super) mux: Mux,
    pub(super) split: bool,
    pub(super) close: bool,
}

/// What a window gets, in a file.
#[derive(Debug, Serialize, Deserialize)]
struct Handover {
    run: RunRef,
    window: WindowOptions,
    instance: u16,
    ttl: Span,
    command: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    dir: OsString,
}

/// The paths of the handover file and of the error that the window reports. They are in our log directory; the path in the
/// record is not used.
fn handover_files(home: &StateLocation, run: &Run) -> Option<(PathBuf, PathBuf)> {
    let log = log_file(&home.private_path(LOGS)?, &run.id);
    Some((log.with_extension("window"), log.with_extension("failed")))
}

/// Removes the files of a window that no longer needs them.
pub(super) fn remove_files(home: &StateLocation, run: &Run) {
    for file in handover_files(home, run).map(|(window, failed)| [window, failed]).into_iter().flatten() {
        let _ = fs::remove_file(file);
    }
}

/// Opens a window for each run and waits until its command runs.
pub(super) fn open(
    supervisor: &RunSupervisor<'_>,
    window: WindowOptions,
    launch: &Launch,
    command: &[OsString],
    instances: u16,
) -> Result<Vec<Run>> {
    let root = launch.seen.as_ref().and_then(|seen| seen.root_path.as_deref());
    let dir = connect::cwd()?;
    let session = mux::session_name(Some(root.map_or(dir.as_path(), Path::new)));
    let mut all: Vec<Run> = Vec::new();
    // All runs are recorded before one starts, so that the first to end sees that others are still to come.
    let opened = (1..=instances)
        .try_for_each(|instance| exec::record(supervisor, launch, true, instance == 1).map(|run| all.push(run)));
    let opened = opened.and_then(|()| {
        (1..=instances).zip(&mut all).try_for_each(|(instance, run)| {
            let handover = Handover {
                run: (&run.id).into(),
                window,
                instance,
                ttl: supervisor.ttl,
                command: command.to_vec(),
                environment: environment(supervisor),
                dir: dir.clone().into_os_string(),
            };
            let shown =
                open_window(supervisor.home, run, &session, &handover).and_then(|()| wait_for_start(supervisor, run));
            remove_files(supervisor.home, run);
            *run = shown.inspect_err(|error| end(supervisor, run, RunStatus::Failed, &error.message))?;
            Ok(())
        })
    });
    match opened {
        Ok(()) => Ok(all),
        Err(error) => {
            all.iter().for_each(|run| end(supervisor, run, RunStatus::Cancelled, "another instance could not start"));
            // The first recorded run claimed the issue.
            if let Some(id) = launch.issue.as_ref().filter(|_| !all.is_empty()) {
                exec::release_or_close(supervisor.client, supervisor.output, id, false, window.close);
            }
            Err(error)
        }
    }
}

/// The environment of this process, with the variables that select the same store and actor.
fn environment(supervisor: &RunSupervisor<'_>) -> Vec<(OsString, OsString)> {
    let mut command = Command::new("pn");
    command.env("PN_ACTOR", supervisor.client.actor());
    supervisor.home.set_environment(&mut command);
    let changes: Vec<(&OsStr, Option<&OsStr>)> = command.get_envs().collect();
    let unchanged = std::env::vars_os().filter(|(name, _)| !changes.iter().any(|(changed, _)| changed == name));
    let set = changes.iter().filter_map(|(name, value)| Some(((*name).to_owned(), (*value)?.to_owned())));
    unchanged.chain(set).collect()
}

fn open_window(home: &StateLocation, run: &Run, session: &str, handover: &Handover) -> Result<()> {
    let program = std::env::current_exe().map_err(|e| Error::internal(format!("cannot find this program: {e}")))?;
    let (file, _) = handover_files(home, run).ok_or_else(|| Error::internal(format!("{} has no log", run.id)))?;
    let failed = |e: &dyn std::fmt::Display| Error::internal(format!("cannot write {}: {e}", file.display()));
    let document = json::to_document(handover).map_err(|e| failed(&e))?;
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file);
    made.and_then(|mut made| made.write_all(document.as_bytes())).map_err(|e| failed(&e))?;
    let program = [program.as_os_str(), "run".as_ref(), "window".as_ref(), file.as_os_str()];
    mux::open(&Window { mux: handover.window.mux, session, name: run.id.as_str(), program })
}

/// Waits until the window has taken over the run.
fn wait_for_start(supervisor: &RunSupervisor<'_>, run: &Run) -> Result<Run> {
    let deadline = Instant::now() + START_TIMEOUT;
    let refused = handover_files(supervisor.home, run).map(|(_, failed)| failed).unwrap_or_default();
    loop {
        let shown = supervisor.client.call(&Show { id: (&run.id).into() })?;
        if shown.status != RunStatus::Created {
            return Ok(shown);
        }
        if let Ok(document) = fs::read(&refused) {
            let plain = || Error::internal("its window could not run it");
            return Err(serde_json::from_slice(&document).unwrap_or_else(|_| plain()));
        }
        if Instant::now() > deadline {
            // If the window starts after all, its update of the cancelled run fails.
            end(supervisor, run, RunStatus::Cancelled, "its window did not start in time");
            return Err(Error::new(Code::Timeout, format!("the window of {} did not start in time", run.id)));
        }
        thread::sleep(START_POLL);
    }
}

fn end(supervisor: &RunSupervisor<'_>, run: &Run, status: RunStatus, reason: &str) {
    let mut over = exec::finish_op(run, status);
    over.reason = Some(reason.to_owned());
    let _ = supervisor.client.call(&over);
}

/// Prints the runs; with `wait`, waits for their end and exits like the first that failed.
pub(super) fn report_runs(supervisor: &RunSupervisor<'_>, runs: &[Run], wait: bool) -> Result<()> {
    match runs {
        [run] => supervisor.output.answer(run)?,
        runs => supervisor.output.answer(&runs.to_vec())?,
    }
    for run in runs {
        supervisor.output.note(&format!("note: pn run attach {} shows it", run.id));
    }
    if !wait {
        return Ok(());
    }
    let ended = runs.iter().map(|run| wait_for_end(supervisor, run)).collect::<Result<Vec<_>>>()?;
    ended.into_iter().find(|ended| !ended.is_success()).unwrap_or(CommandExit::Exit(0)).exit_same_way()
}

/// Waits for the end of a run that another process supervises.
fn wait_for_end(supervisor: &RunSupervisor<'_>, run: &Run) -> Result<CommandExit> {
    loop {
        let shown = supervisor.client.call(&Show { id: (&run.id).into() })?;
        if shown.status.is_over() {
            let code = |number: Option<i64>| number.and_then(|number| i32::try_from(number).ok());
            return Ok(match (code(shown.end.exit_code), code(shown.end.signal)) {
                (Some(code), _) => CommandExit::Exit(code),
                (None, Some(signal)) => CommandExit::Signal(signal),
                (None, None) => CommandExit::Exit(1),
            });
        }
        thread::sleep(END_POLL);
        reconcile(supervisor.client, supervisor.home)?;
    }
}

/// Supervises a run in the window that was opened for it.
pub(super) fn run_in_window(options: &GlobalOptions, output: Output, args: &RunWindowArgs) -> Result<()> {
    let result = try_run_in_window(options, output, args);
    if let Err(error) = &result {
        // Report the error to the process that opened the window. Opening without `create` leaves no file if it is gone.
        let document = json::to_document(error).unwrap_or_default();
        let opened = OpenOptions::new().write(true).truncate(true).open(&args.file);
        let written = opened.and_then(|mut file| file.write_all(document.as_bytes()));
        let _ = written.and_then(|()| fs::rename(&args.file, args.file.with_extension("failed")));
    }
    let ended = result?;
    exec::exit_like(output, ended)
}

/// The outer error means that the run was not taken over; the inner result is that of the run.
fn try_run_in_window(options: &GlobalOptions, output: Output, args: &RunWindowArgs) -> Result<Result<CommandExit>> {
    let failed = |e: &dyn std::fmt::Display| Error::internal(format!("cannot read {}: {e}", args.file.display()));
    let bytes = fs::read(&args.file).map_err(|e| failed(&e))?;
    let handover: Handover = serde_json::from_slice(&bytes).map_err(|e| failed(&e))?;
    if !args.entered {
        return Err(exec_in_environment(&args.file, handover));
    }
    let signals = SignalReceiver::catch();
    let home = StateLocation::of(options)?;
    let client = home.client(options)?;
    let supervisor = RunSupervisor { options, output, home: &home, client: &client, ttl: handover.ttl, is_alone: true };
    // Written before others see the run as running, because they may attach to it.
    let note = exec::leave_note(output, SupervisedKind::Run, handover.run.as_str());
    let location = window_location(output, handover.window);
    let run = client.call(&Update {
        id: handover.run.clone(),
        started: true,
        agent: None,
        supervisor: Some(host::process(std::process::id())),
        session: None,
        mux: location,
    })?;
    let _ = fs::remove_file(&args.file);
    let ended = exec::begin(&supervisor, run.clone(), note, &handover.command, handover.instance)
        .map(|running| exec::wait_for_all(&supervisor, signals, vec![running]));
    if let Some(id) = run.issue_id.as_ref().map(IssueRef::from)
        && let Some(is_success) = group_succeeded(&supervisor, &run)
    {
        exec::release_or_close(&client, output, &id, is_success, handover.window.close);
    }
    Ok(ended)
}

/// The location of this window, split if requested. A failure to split is only a warning.
fn window_location(output: Output, window: WindowOptions) -> MuxWindow {
    let mut location = mux::current_place(window.mux);
    if let Some(left) = location.pane_left.as_ref().filter(|_| window.split) {
        match mux::split(left) {
            Ok(right) => location.pane_right = Some(right),
            Err(e) => output.warning(&e.message),
        }
    }
    location
}

/// Replaces this process with itself, in the directory and environment of the run. Returns only on failure.
fn exec_in_environment(file: &Path, handover: Handover) -> Error {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(e) => return Error::internal(format!("cannot find this program: {e}")),
    };
    let mut again = Command::new(program);
    again.args(["run", "window", "--entered"]).arg(file).current_dir(&handover.dir).env_clear();
    again.envs(handover.environment);
    for name in mux::WINDOW_VARIABLES {
        match std::env::var_os(name) {
            Some(value) => again.env(name, value),
            None => again.env_remove(name),
        };
    }
    Error::internal(format!("cannot begin in {}: {}", handover.dir.to_string_lossy(), again.exec()))
}

/// Whether all runs of the group succeeded; `None` while one is running.
fn group_succeeded(supervisor: &RunSupervisor<'_>, run: &Run) -> Option<bool> {
    let all = match &run.group {
        Some(group) => supervisor.client.call(&List { group: Some(group.clone()), ..List::default() }),
        None => supervisor.client.call(&Show { id: (&run.id).into() }).map(|run| vec![run]),
    };
    let all = all.ok()?;
    all.iter().all(|run| run.status.is_over()).then(|| all.iter().all(|run| run.status == RunStatus::Succeeded))
}

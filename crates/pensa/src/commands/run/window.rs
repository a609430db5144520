//! `pn run exec --mux`: opens windows for runs, and looks after each from within its own.
//!
//! The two halves share a file: a multiplexer has surroundings of its own, and what stands on a command line is seen by
//! everybody.

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
use pensa_core::run::{Mux, MuxPlace, Run, RunStatus};
use pensa_core::{Code, Error, Result, Span, json};
use pensa_host::mux::{self, Window};
use pensa_host::supervised::Kind;
use pensa_host::{self as host, Ended, Signals};
use serde::{Deserialize, Serialize};

use super::exec::{self, Watch};
use super::logs::{LOGS, log_file};
use super::settle;
use crate::cli::{Options, RunWindow};
use crate::connect::{self, Home};
use crate::output::Output;

/// How long a window may take until its command runs.
const START: Duration = Duration::from_secs(30);
/// How often it is looked whether it does.
const SOON: Duration = Duration::from_millis(10);
/// How often it is looked whether a run is over.
const LATER: Duration = Duration::from_millis(200);

/// What a window is like, and whether the issue is closed after success.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct WindowOptions {
    pub(super) mux: Mux,
    pub(super) split: bool,
    pub(super) close: bool,
}

/// What is handed to a window.
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

/// Where what is handed to the window of a run lies until it is taken, and why it could not be: with the logs of this
/// machine, wherever the record says that its log is.
fn files(home: &Home, run: &Run) -> Option<(PathBuf, PathBuf)> {
    let log = log_file(&home.private_path(LOGS)?, &run.id);
    Some((log.with_extension("window"), log.with_extension("failed")))
}

/// Removes what was handed to a window that will not take it.
pub(super) fn forget(home: &Home, run: &Run) {
    for file in files(home, run).map(|(window, failed)| [window, failed]).into_iter().flatten() {
        let _ = fs::remove_file(file);
    }
}

/// Opens a window for each run and waits until their commands run.
pub(super) fn open(
    watch: &Watch<'_>,
    window: WindowOptions,
    launch: &Launch,
    command: &[OsString],
    instances: u16,
) -> Result<Vec<Run>> {
    let root = launch.seen.as_ref().and_then(|seen| seen.root_path.as_deref());
    let dir = connect::cwd()?;
    let session = mux::session_name(Some(root.map_or(dir.as_path(), Path::new)));
    let mut all: Vec<Run> = Vec::new();
    // All are recorded before one runs: the first to end must know that others are yet to come.
    let opened = (1..=instances)
        .try_for_each(|instance| exec::record(watch, launch, true, instance == 1).map(|run| all.push(run)));
    let opened = opened.and_then(|()| {
        (1..=instances).zip(&mut all).try_for_each(|(instance, run)| {
            let handover = Handover {
                run: (&run.id).into(),
                window,
                instance,
                ttl: watch.ttl,
                command: command.to_vec(),
                environment: environment(watch),
                dir: dir.clone().into_os_string(),
            };
            let shown = hand_over(watch.home, run, &session, &handover).and_then(|()| started(watch, run));
            forget(watch.home, run);
            *run = shown.inspect_err(|error| end(watch, run, RunStatus::Failed, &error.message))?;
            Ok(())
        })
    });
    match opened {
        Ok(()) => Ok(all),
        Err(error) => {
            all.iter().for_each(|run| end(watch, run, RunStatus::Cancelled, "another instance could not start"));
            // Without a run the issue was not claimed.
            if let Some(id) = launch.issue.as_ref().filter(|_| !all.is_empty()) {
                exec::give_back(watch.client, watch.output, id, false, window.close);
            }
            Err(error)
        }
    }
}

/// This process's environment, and what leads `pn` to the same store under the same name.
fn environment(watch: &Watch<'_>) -> Vec<(OsString, OsString)> {
    let mut told = Command::new("pn");
    told.env("PN_ACTOR", watch.client.actor());
    watch.home.tell(&mut told);
    let changes: Vec<(&OsStr, Option<&OsStr>)> = told.get_envs().collect();
    let kept = std::env::vars_os().filter(|(name, _)| !changes.iter().any(|(changed, _)| changed == name));
    let set = changes.iter().filter_map(|(name, value)| Some(((*name).to_owned(), (*value)?.to_owned())));
    kept.chain(set).collect()
}

fn hand_over(home: &Home, run: &Run, session: &str, handover: &Handover) -> Result<()> {
    let program = std::env::current_exe().map_err(|e| Error::internal(format!("cannot find this program: {e}")))?;
    let (file, _) = files(home, run).ok_or_else(|| Error::internal(format!("{} has no log", run.id)))?;
    let failed = |e: &dyn std::fmt::Display| Error::internal(format!("cannot write {}: {e}", file.display()));
    let document = json::to_document(handover).map_err(|e| failed(&e))?;
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file);
    made.and_then(|mut made| made.write_all(document.as_bytes())).map_err(|e| failed(&e))?;
    let program = [program.as_os_str(), "run".as_ref(), "window".as_ref(), file.as_os_str()];
    mux::open(&Window { mux: handover.window.mux, session, name: run.id.as_str(), program })
}

/// Waits until the window has taken over.
fn started(watch: &Watch<'_>, run: &Run) -> Result<Run> {
    let deadline = Instant::now() + START;
    let refused = files(watch.home, run).map(|(_, failed)| failed).unwrap_or_default();
    loop {
        let shown = watch.client.call(&Show { id: (&run.id).into() })?;
        if shown.status != RunStatus::Created {
            return Ok(shown);
        }
        if let Ok(told) = fs::read(&refused) {
            let plain = || Error::internal("its window could not run it");
            return Err(serde_json::from_slice(&told).unwrap_or_else(|_| plain()));
        }
        if Instant::now() > deadline {
            // If it starts now all the same, it finds that it must not.
            end(watch, run, RunStatus::Cancelled, "its window did not start in time");
            return Err(Error::new(Code::Timeout, format!("the window of {} did not start in time", run.id)));
        }
        thread::sleep(SOON);
    }
}

fn end(watch: &Watch<'_>, run: &Run, status: RunStatus, reason: &str) {
    let mut over = exec::over(run, status);
    over.reason = Some(reason.to_owned());
    let _ = watch.client.call(&over);
}

/// Tells which runs there are now, and with `wait` ends as they did.
pub(super) fn told(watch: &Watch<'_>, runs: &[Run], wait: bool) -> Result<()> {
    match runs {
        [run] => watch.output.answer(run)?,
        runs => watch.output.answer(&runs.to_vec())?,
    }
    for run in runs {
        watch.output.note(&format!("note: pn run attach {} shows it", run.id));
    }
    if !wait {
        return Ok(());
    }
    let ended = runs.iter().map(|run| ended(watch, run)).collect::<Result<Vec<_>>>()?;
    ended.into_iter().find(|ended| !ended.is_success()).unwrap_or(Ended::Exit(0)).repeat()
}

/// Waits for the end of a run that somebody else looks after.
fn ended(watch: &Watch<'_>, run: &Run) -> Result<Ended> {
    loop {
        let shown = watch.client.call(&Show { id: (&run.id).into() })?;
        if shown.status.is_over() {
            let code = |number: Option<i64>| number.and_then(|number| i32::try_from(number).ok());
            return Ok(match (code(shown.end.exit_code), code(shown.end.signal)) {
                (Some(code), _) => Ended::Exit(code),
                (None, Some(signal)) => Ended::Signal(signal),
                (None, None) => Ended::Exit(1),
            });
        }
        thread::sleep(LATER);
        settle(watch.client, watch.home)?;
    }
}

/// Looks after a run in the window that was opened for it.
pub(super) fn inside(options: &Options, output: Output, args: &RunWindow) -> Result<()> {
    let told = inside_or_not(options, output, args);
    if let Err(error) = &told {
        // Whoever opened the window waits for it; else the file is gone, and none is left behind.
        let document = json::to_document(error).unwrap_or_default();
        let kept = OpenOptions::new().write(true).truncate(true).open(&args.file);
        let told = kept.and_then(|mut file| file.write_all(document.as_bytes()));
        let _ = told.and_then(|()| fs::rename(&args.file, args.file.with_extension("failed")));
    }
    let ended = told?;
    exec::end_as(output, ended)
}

/// An error of the outer kind comes before the run was taken over, one of the inner kind after that.
fn inside_or_not(options: &Options, output: Output, args: &RunWindow) -> Result<Result<Ended>> {
    let failed = |e: &dyn std::fmt::Display| Error::internal(format!("cannot read {}: {e}", args.file.display()));
    let bytes = fs::read(&args.file).map_err(|e| failed(&e))?;
    let handed: Handover = serde_json::from_slice(&bytes).map_err(|e| failed(&e))?;
    if !args.entered {
        return Err(enter(&args.file, handed));
    }
    let signals = Signals::caught();
    let home = Home::of(options)?;
    let client = home.client(options)?;
    let watch = Watch { options, output, home: &home, client: &client, ttl: handed.ttl, is_alone: true };
    // Before others can see that it runs: they may want to attach to it.
    let note = exec::noted(output, Kind::Run, handed.run.as_str());
    let place = place(output, handed.window);
    let run = client.call(&Update {
        id: handed.run.clone(),
        started: true,
        agent: None,
        supervisor: Some(host::process(std::process::id())),
        session: None,
        mux: place,
    })?;
    let _ = fs::remove_file(&args.file);
    let ended = exec::begin(&watch, run.clone(), note, &handed.command, handed.instance)
        .map(|running| exec::look_after(&watch, signals, vec![running]));
    if let Some(id) = run.issue_id.as_ref().map(IssueRef::from)
        && let Some(is_success) = outcome(&watch, &run)
    {
        exec::give_back(&client, output, &id, is_success, handed.window.close);
    }
    Ok(ended)
}

/// Where this window is, split if that is wanted. One that cannot be is no reason not to run.
fn place(output: Output, window: WindowOptions) -> MuxPlace {
    let mut place = mux::place(window.mux);
    if let Some(left) = place.pane_left.as_ref().filter(|_| window.split) {
        match mux::split(left) {
            Ok(right) => place.pane_right = Some(right),
            Err(e) => output.warning(&e.message),
        }
    }
    place
}

/// Begins anew in the directory and with the environment that the run is to have. Tells why it could not.
fn enter(file: &Path, handed: Handover) -> Error {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(e) => return Error::internal(format!("cannot find this program: {e}")),
    };
    let mut again = Command::new(program);
    again.args(["run", "window", "--entered"]).arg(file).current_dir(&handed.dir).env_clear();
    again.envs(handed.environment);
    for name in mux::OF_WINDOWS {
        match std::env::var_os(name) {
            Some(value) => again.env(name, value),
            None => again.env_remove(name),
        };
    }
    Error::internal(format!("cannot begin in {}: {}", handed.dir.to_string_lossy(), again.exec()))
}

/// Whether all that was launched together has succeeded; none as long as some of it goes on.
fn outcome(watch: &Watch<'_>, run: &Run) -> Option<bool> {
    let all = match &run.group {
        Some(group) => watch.client.call(&List { group: Some(group.clone()), ..List::default() }),
        None => watch.client.call(&Show { id: (&run.id).into() }).map(|run| vec![run]),
    };
    let all = all.ok()?;
    all.iter().all(|run| run.status.is_over()).then(|| all.iter().all(|run| run.status == RunStatus::Succeeded))
}

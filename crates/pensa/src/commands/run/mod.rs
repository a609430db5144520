//! `pn run`: runs, records and cancels commands on this machine, and reports on runs.

mod args;
mod attach;
mod exec;
mod logs;
mod render;
mod window;

use std::time::{Duration, Instant};

use args::{LabelArg, RunCancelArgs, RunEventArgs, RunLogsArgs, RunStartArgs, RunTerminalArgs};
use pensa_client::Client;
use pensa_client::config::{RUN_HARNESS, RUN_RUNTIME};
use pensa_core::ops::run::{Launch, List, Show};
use pensa_core::run::{Labels, Run as RunRecord, RunStatus};
use pensa_core::{Code, Error, Result};
use pensa_host as host;
use pensa_host::supervised::{self, SupervisedKind};
use rustix::process::Signal;

use super::agent::run_agent_op;
use super::stdin;
use crate::cli::GlobalOptions;
use crate::connect::{self, StateLocation};
use crate::output::Output;

pub(crate) use args::RunCommand;
pub(super) use exec::{exit_like, leave_note, note_process};

/// The most runs per status that one reconciliation checks.
const MAX_CHECKED_RUNS: u32 = 1000;

pub(super) fn run(options: &GlobalOptions, output: Output, command: RunCommand) -> Result<()> {
    match command {
        RunCommand::Exec(args) => exec::run(options, output, *args),
        RunCommand::Start(args) => start(options, output, *args),
        RunCommand::Finish(op) => run_agent_op(options, output, &op),
        RunCommand::List(op) => after_reconcile(options, |client| output.answer(&client.call(&op)?)),
        RunCommand::Show(op) => after_reconcile(options, |client| output.answer(&client.call(&op)?)),
        RunCommand::Logs(args) => logs(options, &args),
        RunCommand::Events(op) => after_reconcile(options, |client| output.answer(&client.call(&op)?)),
        RunCommand::Event(args) => event(options, output, args),
        RunCommand::Attach(args) => after_reconcile(options, |client| attach::run(client, &args)),
        RunCommand::Terminal(args) => Err(terminal(&args)),
        RunCommand::Window(args) => window::run_in_window(options, output, &args),
        RunCommand::Cancel(args) => after_reconcile(options, |client| cancel(client, output, &args)),
    }
}

fn event(options: &GlobalOptions, output: Output, args: RunEventArgs) -> Result<()> {
    let RunEventArgs { mut op, mut data } = args;
    stdin::fill(&mut data)?;
    let parse = |text: String| {
        serde_json::from_str(&text)
            .map_err(|e| Error::invalid(format!("data is not JSON: {e}")).hint("such as {\"n\":1}"))
    };
    op.data = data.map(parse).transpose()?;
    run_agent_op(options, output, &op)
}

/// Fails the runs of this machine whose processes are gone, then runs `work`.
fn after_reconcile(options: &GlobalOptions, work: impl FnOnce(&Client) -> Result<()>) -> Result<()> {
    let home = StateLocation::of(options)?;
    let client = home.client(options)?;
    reconcile(&client, &home)?;
    work(&client)
}

fn logs(options: &GlobalOptions, args: &RunLogsArgs) -> Result<()> {
    let home = StateLocation::of(options)?;
    after_reconcile(options, |client| logs::print(options, &home, client, args))
}

/// Fails the runs of this machine whose command and supervisor are gone.
pub(crate) fn reconcile(client: &Client, home: &StateLocation) -> Result<()> {
    // Unlike jobs, commands of runs continue without a supervisor. Only the notes of ended ones are deleted.
    supervised::for_each_orphan(SupervisedKind::Run, |run| !run.is_running());
    let here = host::name();
    for status in [RunStatus::Running, RunStatus::Created] {
        let list =
            List { status: Some(status), host: Some(here.clone()), limit: Some(MAX_CHECKED_RUNS), ..List::default() };
        for run in client.call(&list)? {
            let processes = [&run.agent, &run.supervisor];
            let is_known = processes.iter().any(|process| process.is_some());
            if !is_known || !processes.into_iter().flatten().all(host::is_gone) {
                continue;
            }
            let mut lost = exec::finish_op(&run, RunStatus::Failed);
            lost.reason = Some("its process is gone, and nobody saw how it ended".to_owned());
            // A window may be taking it over: fail it only if the supervisor is still the same.
            lost.if_supervisor = run.supervisor.clone();
            match client.call(&lost) {
                // Another process ended or took over the run.
                Err(e) if matches!(e.code, Code::InvalidStatusTransition | Code::Conflict) => continue,
                other => drop(other?),
            }
            window::remove_files(home, &run);
        }
    }
    Ok(())
}

/// Replaces this process with a command on its own terminal. Returns only on failure.
fn terminal(args: &RunTerminalArgs) -> Error {
    let failure = host::enter_terminal(std::process::Command::new(&args.command[0]).args(&args.command[1..]));
    Error::internal(format!("cannot run {}: {failure}", args.command[0].to_string_lossy()))
}

fn labels(given: Vec<LabelArg>) -> Labels {
    given.into_iter().map(|LabelArg(name, value)| (name, value)).collect()
}

/// Fills in harness and runtime from the settings.
fn apply_settings(options: &GlobalOptions, launch: &mut Launch) -> Result<()> {
    let config = connect::config(options)?;
    if launch.harness.is_none() {
        launch.harness = config.parsed(&RUN_HARNESS)?;
    }
    if launch.runtime.is_none() {
        launch.runtime = config.parsed(&RUN_RUNTIME)?;
    }
    Ok(())
}

fn start(options: &GlobalOptions, output: Output, args: RunStartArgs) -> Result<()> {
    let RunStartArgs { mut op, labels: given, pid } = args;
    stdin::fill(&mut op.launch.prompt)?;
    apply_settings(options, &mut op.launch)?;
    op.launch.labels = labels(given);
    if op.launch.repo.is_none() {
        op.launch.seen = Some(host::detect(&connect::cwd()?)?);
    }
    op.host = Some(host::name());
    op.agent = pid.and_then(|pid| u32::try_from(pid).ok()).map(host::process);
    run_agent_op(options, output, &op)
}

fn cancel(client: &Client, output: Output, args: &RunCancelArgs) -> Result<()> {
    let run = client.call(&Show { id: args.id.clone() })?;
    let mut end = exec::finish_op(&run, RunStatus::Cancelled);
    end.reason = args.reason.clone();
    let cancelled = client.call(&end)?;
    end_process(&run, args);
    output.answer(&cancelled)
}

/// Ends the command of a run, if this user supervises it on this machine.
fn end_process(run: &RunRecord, args: &RunCancelArgs) {
    let Some(supervised_run) = supervised::find(SupervisedKind::Run, run.id.as_str()) else { return };
    let deadline = Instant::now() + Duration::from_millis(args.grace.as_millis().unsigned_abs());
    supervised_run.signal(Signal::TERM);
    while supervised_run.is_running() {
        if Instant::now() >= deadline {
            supervised_run.signal(Signal::KILL);
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

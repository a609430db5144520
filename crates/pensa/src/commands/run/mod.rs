//! `pn run`: what needs this machine is done here, the rest is passed on.

mod attach;
mod exec;
mod logs;
mod window;

pub(super) use exec::{end_as, noted, started};

use std::time::{Duration, Instant};

use pensa_client::Client;
use pensa_client::config::{RUN_HARNESS, RUN_RUNTIME};
use pensa_core::ops::run::{Launch, List, Show};
use pensa_core::run::{Labels, Run as Record, RunStatus};
use pensa_core::session::object;
use pensa_core::{Code, Error, Result};
use pensa_host as host;
use pensa_host::supervised::{self, Kind};
use rustix::process::Signal;

use super::agent::pass_on;
use super::stdin;
use crate::cli::{
    Harness, HarnessSet, Label, Options, Run, RunCancel, RunEvent, RunLogs, RunStart, RunTerminal, Runtime, RuntimeSet,
};
use crate::connect::Home;
use crate::output::Output;

use crate::connect;

/// Runs whose processes are looked for at once; more wait for the next look.
const MAX_LOOKED_FOR: u32 = 1000;

pub(super) fn run(options: &Options, output: Output, command: Run) -> Result<()> {
    match command {
        Run::Exec(args) => exec::run(options, output, *args),
        Run::Start(args) => start(options, output, *args),
        Run::Finish(op) => pass_on(options, output, &op),
        Run::List(op) => settled(options, |client| output.answer(&client.call(&op)?)),
        Run::Show(op) => settled(options, |client| output.answer(&client.call(&op)?)),
        Run::Logs(args) => logs(options, &args),
        Run::Events(op) => settled(options, |client| output.answer(&client.call(&op)?)),
        Run::Event(args) => event(options, output, args),
        Run::Attach(args) => settled(options, |client| attach::run(client, &args)),
        Run::Terminal(args) => Err(terminal(&args)),
        Run::Window(args) => window::inside(options, output, &args),
        Run::Cancel(args) => settled(options, |client| cancel(client, output, &args)),
    }
}

fn event(options: &Options, output: Output, args: RunEvent) -> Result<()> {
    let RunEvent { mut op, mut data } = args;
    stdin::fill(&mut data)?;
    let parse = |text: String| {
        serde_json::from_str(&text)
            .map_err(|e| Error::invalid(format!("data is not JSON: {e}")).hint("such as {\"n\":1}"))
    };
    op.data = data.map(parse).transpose()?;
    pass_on(options, output, &op)
}

pub(super) fn harness(options: &Options, output: Output, command: Harness) -> Result<()> {
    match command {
        Harness::List(op) => pass_on(options, output, &op),
        Harness::Set(HarnessSet { mut op, mut metadata }) => {
            stdin::replace(&mut metadata)?;
            op.metadata = object::parse_optional("metadata", &metadata)?;
            pass_on(options, output, &op)
        }
    }
}

pub(super) fn runtime(options: &Options, output: Output, command: Runtime) -> Result<()> {
    match command {
        Runtime::List(op) => pass_on(options, output, &op),
        Runtime::Set(RuntimeSet { mut op, mut metadata }) => {
            stdin::replace(&mut metadata)?;
            op.metadata = object::parse_optional("metadata", &metadata)?;
            pass_on(options, output, &op)
        }
    }
}

/// Does something after the runs of this machine whose processes are gone have been settled.
fn settled(options: &Options, work: impl FnOnce(&Client) -> Result<()>) -> Result<()> {
    let home = Home::of(options)?;
    let client = home.client(options)?;
    settle(&client, &home)?;
    work(&client)
}

fn logs(options: &Options, args: &RunLogs) -> Result<()> {
    let home = Home::of(options)?;
    settled(options, |client| logs::print(options, &home, client, args))
}

/// Marks runs as failed whose command is gone and which nobody looks after.
pub(crate) fn settle(client: &Client, home: &Home) -> Result<()> {
    // Their commands go on without them; what is left of those that have ended is their note.
    supervised::each_left_behind(Kind::Run, |run| !run.is_running());
    let here = host::name();
    for status in [RunStatus::Running, RunStatus::Created] {
        let list =
            List { status: Some(status), host: Some(here.clone()), limit: Some(MAX_LOOKED_FOR), ..List::default() };
        for run in client.call(&list)? {
            let processes = [&run.agent, &run.supervisor];
            let is_known = processes.iter().any(|process| process.is_some());
            if !is_known || !processes.into_iter().flatten().all(host::is_gone) {
                continue;
            }
            let mut lost = exec::over(&run, RunStatus::Failed);
            lost.reason = Some("its process is gone, and nobody saw how it ended".to_owned());
            // A window may take it over just now.
            lost.if_supervisor = run.supervisor.clone();
            match client.call(&lost) {
                // Somebody else was faster.
                Err(e) if matches!(e.code, Code::InvalidStatusTransition | Code::Conflict) => continue,
                other => drop(other?),
            }
            window::forget(home, &run);
        }
    }
    Ok(())
}

/// Becomes a command on a terminal of its own. Whoever started this hears why it could not.
fn terminal(args: &RunTerminal) -> Error {
    let failure = host::enter_terminal(std::process::Command::new(&args.command[0]).args(&args.command[1..]));
    Error::internal(format!("cannot run {}: {failure}", args.command[0].to_string_lossy()))
}

fn labels(given: Vec<Label>) -> Labels {
    given.into_iter().map(|Label(name, value)| (name, value)).collect()
}

/// What a launch does not say is as the settings have it.
fn as_set(options: &Options, launch: &mut Launch) -> Result<()> {
    let config = connect::config(options)?;
    if launch.harness.is_none() {
        launch.harness = config.parsed(&RUN_HARNESS)?;
    }
    if launch.runtime.is_none() {
        launch.runtime = config.parsed(&RUN_RUNTIME)?;
    }
    Ok(())
}

fn start(options: &Options, output: Output, args: RunStart) -> Result<()> {
    let RunStart { mut op, labels: given, pid } = args;
    stdin::fill(&mut op.launch.prompt)?;
    as_set(options, &mut op.launch)?;
    op.launch.labels = labels(given);
    if op.launch.repo.is_none() {
        op.launch.seen = Some(host::detect(&connect::cwd()?)?);
    }
    op.host = Some(host::name());
    op.agent = pid.and_then(|pid| u32::try_from(pid).ok()).map(host::process);
    pass_on(options, output, &op)
}

fn cancel(client: &Client, output: Output, args: &RunCancel) -> Result<()> {
    let run = client.call(&Show { id: args.id.clone() })?;
    let mut end = exec::over(&run, RunStatus::Cancelled);
    end.reason = args.reason.clone();
    let told = client.call(&end)?;
    end_process(&run, args);
    output.answer(&told)
}

/// Ends the command of a run that this user supervises on this machine.
fn end_process(run: &Record, args: &RunCancel) {
    let Some(noted) = supervised::find(Kind::Run, run.id.as_str()) else { return };
    let deadline = Instant::now() + Duration::from_millis(args.grace.as_millis().unsigned_abs());
    noted.signal(Signal::TERM);
    while noted.is_running() {
        if Instant::now() >= deadline {
            noted.signal(Signal::KILL);
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

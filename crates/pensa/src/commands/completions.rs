//! `pn completions`, and the ids that are offered while a command line is typed.

use std::ffi::OsStr;

use clap::{Arg, Command, Parser};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;
use pensa_client::Client;
use pensa_core::ops::{agent, issue, job, learning, loops, record, session, signal, snapshot};
use pensa_core::session::Summary;
use pensa_core::{Error, Result, text};

use crate::cli::{Cli, Completions, Options};
use crate::connect;

/// Most ids that are offered at once.
const MAX_OFFERED: usize = 100;

pub(super) fn run(args: &Completions) -> Result<()> {
    let shells = Shells::builtins();
    let shell = shells.completer(&args.shell).ok_or_else(|| {
        let known: Vec<&str> = shells.names().collect();
        Error::invalid(format!("unknown shell: {:?}", args.shell)).hint(format!("one of {}", known.join(", ")))
    })?;
    let mut script = Vec::new();
    let failed = |e: std::io::Error| Error::internal(format!("cannot print the script: {e}"));
    shell.write_registration("COMPLETE", "pn", "pn", "pn", &mut script).map_err(failed)?;
    match std::io::Write::write_all(&mut std::io::stdout(), &script) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(failed(e)),
        _ => Ok(()),
    }
}

/// The command line with ids offered wherever an issue, an agent, a session, a snapshot, a loop, a signal, a job, a
/// learning, a lane or a collection is expected.
pub(crate) fn with_live_ids(command: Command) -> Command {
    let command = command.mut_args(|arg| match completer(&arg) {
        Some(completer) => arg.add(completer),
        None => arg,
    });
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, with_live_ids))
}

/// What is offered for an argument, by the name of its value.
fn completer(arg: &Arg) -> Option<ArgValueCompleter> {
    let name = arg.get_value_names()?.first()?;
    match name.as_str() {
        "ID" | "CHILD" | "PARENT" | "ISSUE" | "ID|KIND" => {
            Some(ArgValueCompleter::new(|typed: &OsStr| offer(typed, issues)))
        }
        "AGENT" | "AGENT|SESSION" => Some(ArgValueCompleter::new(|typed: &OsStr| offer(typed, agents))),
        "SESSION" => Some(ArgValueCompleter::new(|typed: &OsStr| offer(typed, sessions))),
        "SNAPSHOT" => Some(ArgValueCompleter::new(|typed: &OsStr| offer(typed, snapshots))),
        "LOOP" => Some(ArgValueCompleter::new(|typed: &OsStr| offer(typed, loops))),
        "SIGNAL" => Some(ArgValueCompleter::new(|typed: &OsStr| offer(typed, signals))),
        "JOB" => Some(ArgValueCompleter::new(|typed: &OsStr| offer(typed, jobs))),
        "LANE" => Some(ArgValueCompleter::new(|typed: &OsStr| offer(typed, lanes))),
        "LEARNING" => Some(ArgValueCompleter::new(|typed: &OsStr| offer(typed, learnings))),
        "COLLECTION" => Some(ArgValueCompleter::new(|typed: &OsStr| offer(typed, collections))),
        _ => None,
    }
}

/// Ids, each with a word on what it is.
type Offers = Vec<(String, String)>;

/// Ids that start with what was typed; none if there is no store to ask.
fn offer(typed: &OsStr, all: fn(&Options) -> Result<Offers>) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let Ok(Cli { options, .. }) = Cli::try_parse_from(["pn"]) else {
        return Vec::new();
    };
    let found = all(&options).unwrap_or_default().into_iter().filter(|(id, _)| id.starts_with(&*typed));
    let candidate =
        |(id, help): (String, String)| CompletionCandidate::new(id).help(Some(text::printable_line(&help).into()));
    found.take(MAX_OFFERED).map(candidate).collect()
}

fn jobs(options: &Options) -> Result<Offers> {
    let jobs = without_making(options)?.call(&job::List::default())?;
    Ok(jobs.into_iter().map(|job| (job.id.to_string(), job.command)).collect())
}

fn lanes(options: &Options) -> Result<Offers> {
    Ok(connect::config(options)?.lanes().into_iter().map(|lane| (lane, String::new())).collect())
}

fn issues(options: &Options) -> Result<Offers> {
    let issues = connect::client(options)?.call(&issue::List::default())?;
    Ok(issues.into_iter().map(|issue| (issue.id.to_string(), issue.title)).collect())
}

fn agents(options: &Options) -> Result<Offers> {
    let agents = without_making(options)?.call(&agent::List::default())?;
    Ok(agents.into_iter().map(|agent| (agent.id.to_string(), agent.name.unwrap_or_default())).collect())
}

fn sessions(options: &Options) -> Result<Offers> {
    let sessions = without_making(options)?.call(&session::List::default())?;
    let offer = |summary: Summary| (summary.session.id.to_string(), summary.session.agent_id.to_string());
    Ok(sessions.into_iter().map(offer).collect())
}

fn snapshots(options: &Options) -> Result<Offers> {
    let snapshots = without_making(options)?.call(&snapshot::List::default())?;
    Ok(snapshots.into_iter().map(|snapshot| (snapshot.id.to_string(), snapshot.label.unwrap_or_default())).collect())
}

fn learnings(options: &Options) -> Result<Offers> {
    let learnings = connect::client(options)?.call(&learning::List::default())?;
    Ok(learnings.into_iter().map(|shown| (shown.learning.id.to_string(), shown.learning.text)).collect())
}

fn loops(options: &Options) -> Result<Offers> {
    let loops = connect::client(options)?.call(&loops::List::default())?;
    Ok(loops.into_iter().map(|one| (one.id.to_string(), one.prompt_path)).collect())
}

fn signals(options: &Options) -> Result<Offers> {
    let signals = connect::client(options)?.call(&signal::List::default())?;
    Ok(signals.into_iter().map(|signal| (signal.id.to_string(), signal.reason)).collect())
}

fn collections(options: &Options) -> Result<Offers> {
    let collections = without_making(options)?.call(&record::Collections {})?;
    Ok(collections.into_iter().map(|of| (of.collection, format!("{} records", of.records))).collect())
}

/// The store of agents, if there is one: whoever only types makes none.
fn without_making(options: &Options) -> Result<Client> {
    if connect::server(options)?.is_none() {
        connect::any_store(options)?;
    }
    connect::client_for_agents(options)
}

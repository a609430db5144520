//! `pn completions`: shell scripts, and the ids that a shell offers while a command line is typed.

use std::ffi::OsStr;

use clap::{Arg, Args, Command, Parser};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;
use pensa_client::Client;
use pensa_core::ops::{agent, issue, job, learning, loops, record, session, signal, snapshot};
use pensa_core::session::SessionSummary;
use pensa_core::{Error, Result, text};

use crate::cli::{Cli, GlobalOptions};
use crate::connect;

/// Print a script that completes commands, flags and ids
///
/// For bash: source <(pn completions bash)
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// bash, elvish, fish, powershell or zsh
    #[arg(value_name = "SHELL")]
    pub(crate) shell: String,
}

/// The most ids offered at once.
const MAX_CANDIDATES: usize = 100;

pub(super) fn run(args: &CompletionsArgs) -> Result<()> {
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

/// Adds completers to every argument that takes an id, a lane or a collection.
pub(crate) fn with_live_ids(command: Command) -> Command {
    let command = command.mut_args(|arg| match completer(&arg) {
        Some(completer) => arg.add(completer),
        None => arg,
    });
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, with_live_ids))
}

/// The completer of an argument, by its value name.
fn completer(arg: &Arg) -> Option<ArgValueCompleter> {
    let name = arg.get_value_names()?.first()?;
    match name.as_str() {
        "ID" | "CHILD" | "PARENT" | "ISSUE" | "ID|KIND" => {
            Some(ArgValueCompleter::new(|typed: &OsStr| candidates(typed, issues)))
        }
        "AGENT" | "AGENT|SESSION" => Some(ArgValueCompleter::new(|typed: &OsStr| candidates(typed, agents))),
        "SESSION" => Some(ArgValueCompleter::new(|typed: &OsStr| candidates(typed, sessions))),
        "SNAPSHOT" => Some(ArgValueCompleter::new(|typed: &OsStr| candidates(typed, snapshots))),
        "LOOP" => Some(ArgValueCompleter::new(|typed: &OsStr| candidates(typed, loops))),
        "SIGNAL" => Some(ArgValueCompleter::new(|typed: &OsStr| candidates(typed, signals))),
        "JOB" => Some(ArgValueCompleter::new(|typed: &OsStr| candidates(typed, jobs))),
        "LANE" => Some(ArgValueCompleter::new(|typed: &OsStr| candidates(typed, lanes))),
        "LEARNING" => Some(ArgValueCompleter::new(|typed: &OsStr| candidates(typed, learnings))),
        "COLLECTION" => Some(ArgValueCompleter::new(|typed: &OsStr| candidates(typed, collections))),
        _ => None,
    }
}

/// Ids, each with a description.
type Candidates = Vec<(String, String)>;

/// Ids that start with the typed text; empty if there is no store.
fn candidates(typed: &OsStr, all: fn(&GlobalOptions) -> Result<Candidates>) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let Ok(Cli { options, .. }) = Cli::try_parse_from(["pn"]) else {
        return Vec::new();
    };
    let matches = all(&options).unwrap_or_default().into_iter().filter(|(id, _)| id.starts_with(&*typed));
    let candidate =
        |(id, help): (String, String)| CompletionCandidate::new(id).help(Some(text::printable_line(&help).into()));
    matches.take(MAX_CANDIDATES).map(candidate).collect()
}

fn jobs(options: &GlobalOptions) -> Result<Candidates> {
    let jobs = existing_agents_client(options)?.call(&job::List::default())?;
    Ok(jobs.into_iter().map(|job| (job.id.to_string(), job.command)).collect())
}

fn lanes(options: &GlobalOptions) -> Result<Candidates> {
    Ok(connect::config(options)?.lanes().into_iter().map(|lane| (lane, String::new())).collect())
}

fn issues(options: &GlobalOptions) -> Result<Candidates> {
    let issues = connect::client(options)?.call(&issue::List::default())?;
    Ok(issues.into_iter().map(|issue| (issue.id.to_string(), issue.title)).collect())
}

fn agents(options: &GlobalOptions) -> Result<Candidates> {
    let agents = existing_agents_client(options)?.call(&agent::List::default())?;
    Ok(agents.into_iter().map(|agent| (agent.id.to_string(), agent.name.unwrap_or_default())).collect())
}

fn sessions(options: &GlobalOptions) -> Result<Candidates> {
    let sessions = existing_agents_client(options)?.call(&session::List::default())?;
    let candidate = |summary: SessionSummary| (summary.session.id.to_string(), summary.session.agent_id.to_string());
    Ok(sessions.into_iter().map(candidate).collect())
}

fn snapshots(options: &GlobalOptions) -> Result<Candidates> {
    let snapshots = existing_agents_client(options)?.call(&snapshot::List::default())?;
    Ok(snapshots.into_iter().map(|snapshot| (snapshot.id.to_string(), snapshot.label.unwrap_or_default())).collect())
}

fn learnings(options: &GlobalOptions) -> Result<Candidates> {
    let learnings = connect::client(options)?.call(&learning::List::default())?;
    Ok(learnings.into_iter().map(|shown| (shown.learning.id.to_string(), shown.learning.text)).collect())
}

fn loops(options: &GlobalOptions) -> Result<Candidates> {
    let loops = connect::client(options)?.call(&loops::List::default())?;
    Ok(loops.into_iter().map(|one| (one.id.to_string(), one.prompt_path)).collect())
}

fn signals(options: &GlobalOptions) -> Result<Candidates> {
    let signals = connect::client(options)?.call(&signal::List::default())?;
    Ok(signals.into_iter().map(|signal| (signal.id.to_string(), signal.reason)).collect())
}

fn collections(options: &GlobalOptions) -> Result<Candidates> {
    let collections = existing_agents_client(options)?.call(&record::Collections {})?;
    Ok(collections.into_iter().map(|of| (of.collection, format!("{} records", of.records))).collect())
}

/// The store of agents; fails if there is none, because completion must not create one.
fn existing_agents_client(options: &GlobalOptions) -> Result<Client> {
    if connect::server(options)?.is_none() {
        connect::existing_store(options)?;
    }
    connect::client_for_agents(options)
}

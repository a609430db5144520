//! The command line. Flags of operations are declared with the operations themselves, in pensa-core.

mod config;
mod events;
mod jobs;
mod learnings;
mod loops;
mod records;
mod runs;
mod servers;
mod snapshots;
mod sync;
mod trace;
mod work;

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use pensa_client::config::Config;
use pensa_core::id::{AgentRef, SessionRef};
use pensa_core::ops::{agent, backup, briefing, comment, conflict, dep, issue, session};
use pensa_core::session::EntryType;
use pensa_host::hooks::Hook;

use crate::commands::Command;

pub(crate) use config::{Config as ConfigCommand, ConfigGet, ConfigList, ConfigSet, ConfigUnset, In, Trust};
pub(crate) use events::{Events, UntilIssue, UntilReady, Watch, WatchIssue, WatchReady};
pub(crate) use jobs::{Job, JobCancel, JobExec, JobFinish, JobShow, JobStart};
pub(crate) use learnings::Learning;
pub(crate) use loops::{
    Lock, LockAcquire, Loop, LoopApprove, LoopCreate, LoopIterate, LoopWorktree, Signal, SignalSend, SignalWait,
    WorktreeAdd, WorktreeRemove,
};
pub(crate) use records::{Record, RecordPut};
pub(crate) use runs::{
    Harness, HarnessSet, Kv, Label, Repo, RepoAdd, Run, RunAttach, RunCancel, RunEvent, RunExec, RunLogs, RunStart,
    RunTerminal, RunWindow, Runtime, RuntimeSet, Workspace,
};
#[cfg(feature = "server")]
pub(crate) use servers::LogLevel;
pub(crate) use servers::{
    AuditArgs, Daemon, DaemonCommand, Location, OnServer, Project, Remote, RemoteAdd, Serve, Token,
};
pub(crate) use snapshots::{Snapshot, SnapshotCreate, SnapshotDelete};
pub(crate) use sync::{Sync, SyncArgs, SyncStatus};
pub(crate) use trace::{TraceArgs, TraceFormat};
pub(crate) use work::{Capture, Next, Skill, Work, WorkArgs, WorkStep};

/// Memory and state for coding agents
///
/// Without a command: my work, the top of the queue, and counts.
#[derive(Debug, Parser)]
#[command(name = "pn", version)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) options: Options,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Flags of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Options {
    /// Answer in JSON, also for errors
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print ids only (JSON, if that is asked for too)
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Who runs this command [env: PN_ACTOR] [default: the setting actor, git's user.name, $USER]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    /// The project, or the store inside it [default: the nearest .pensa above]
    #[arg(long, global = true, env = "PN_STORE", hide_env_values = true, value_name = "DIR",
        value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub(crate) store: Option<PathBuf>,
    /// Use a daemon or server instead of the store's files: its address, or its name in pn remote list [env: PN_DAEMON]
    #[arg(long, global = true, value_name = "SERVER")]
    pub(crate) remote_server: Option<String>,
    /// Do this once, however often it is tried with this key within a day
    #[arg(long, global = true, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
    /// Keep secrets that are found in what is given, instead of replacing them
    #[arg(long, global = true)]
    pub(crate) no_redact: bool,
    /// What is set, once it was asked for
    #[arg(skip)]
    pub(crate) config: OnceCell<Arc<Config>>,
}

/// All commands, with their arguments. What the derived code leaves for later, to have one of them soon, is done.
///
/// The flags of every command are handed down before that, so no command has one of the same id.
pub(crate) fn whole() -> clap::Command {
    let mut whole = Cli::command();
    whole.build();
    whole
}

/// One command.
pub(crate) fn one(name: &OsStr) -> Option<clap::Command> {
    let mut all = Cli::command();
    let one = all.find_subcommand_mut(name).map(|meant| std::mem::replace(meant, clap::Command::new("meant")));
    std::mem::forget(all);
    one
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Dep {
    Add(dep::Add),
    Remove(dep::Remove),
    List(dep::List),
    Tree(dep::Tree),
    Cycles(dep::Cycles),
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Comment {
    Add(comment::Add),
    List(comment::List),
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Agent {
    Create(Box<AgentCreate>),
    List(agent::List),
    Show(agent::Show),
    Update(Box<AgentUpdate>),
    Sleep(agent::Sleep),
    Wake(agent::Wake),
    Kill(agent::Kill),
    Delete(agent::Delete),
}

/// Create an agent and its first session
#[derive(Debug, Args)]
pub(crate) struct AgentCreate {
    #[command(flatten)]
    pub(crate) op: agent::Create,
    /// What it is, as a JSON object of your own; - reads it from standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) descriptor: Option<String>,
    /// What it may do, as a JSON object of your own
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) permissions: Option<String>,
}

/// Change what an agent is called, what it is, what it may do, or what it has cost
#[derive(Debug, Args)]
pub(crate) struct AgentUpdate {
    #[command(flatten)]
    pub(crate) op: agent::Update,
    /// Another descriptor, in place of the one it has; - reads it from standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) descriptor: Option<String>,
    /// Other permissions, in place of those it has
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) permissions: Option<String>,
    /// What its last inference cost; null takes it away
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) tokens: Option<String>,
    /// What all its inferences cost, in place of what it has
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) stats: Option<String>,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Session {
    List(session::List),
    Show(session::Show),
    Archive(session::Archive),
    Delete(session::Delete),
    Prune(session::Prune),
    Reset(session::Reset),
    Compact(session::Compact),
    Append(SessionAppend),
    History(session::History),
    Context(session::Context),
    Export(SessionExport),
    Search(session::Search),
}

/// Append entries to the active session of an agent: all of them, or none
///
/// One entry is given by --type and --data. With - in place of them, standard input has one entry a line:
///
///   {"type":"user_message","data":{"text":"hello"}}
///   {"type":"user_message","text":"hello","at":"2026-02-27T14:30:00.000Z"}
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct SessionAppend {
    /// Which agent: its id, the beginning of it, or its name
    #[arg(value_name = "AGENT")]
    pub(crate) id: AgentRef,
    /// Read entries from standard input, one JSON object a line
    #[arg(value_name = "-", value_parser = ["-"], required_unless_present = "entry_type",
        conflicts_with_all = ["entry_type", "data"])]
    pub(crate) input: Option<String>,
    /// What kind of entry it is, such as user_message, assistant_message, tool_result or note
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    pub(crate) entry_type: Option<EntryType>,
    /// What it says, as a JSON object; - reads it from standard input
    #[arg(short, long, value_name = "JSON", allow_hyphen_values = true, requires = "entry_type")]
    pub(crate) data: Option<String>,
}

/// Print all entries of a session, as JSON Lines or as a transcript
#[derive(Debug, Args)]
pub(crate) struct SessionExport {
    /// Which session: its id, or the beginning of it
    #[arg(value_name = "SESSION")]
    pub(crate) id: SessionRef,
    /// One entry a line, or a transcript that a person can read
    #[arg(long, value_enum, default_value_t = ExportFormat::Jsonl)]
    pub(crate) format: ExportFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    Jsonl,
    Markdown,
}

/// Bring the schema of the store's database up to date, which every command also does by itself
#[derive(Debug, Args)]
pub(crate) struct Upgrade {
    /// Only tell what is to be done
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// A server's PostgreSQL database instead: postgres://user:password@host/database
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
    /// Also import the agents of ~/.daycare/agents, or of $PN_DAYCARE_DIR
    #[arg(long, conflicts_with_all = ["dry_run", "database"])]
    pub(crate) import: bool,
}

/// Tell what an agent should know before it goes on: work, claims, the queue, what is known, what was shipped
#[derive(Debug, Args)]
pub(crate) struct ContextArgs {
    #[command(flatten)]
    pub(crate) op: briefing::Brief,
    /// Write it for tools that read files instead: .pensa/local/context/now.md and next.md, kept up to date by pn work
    #[arg(long, conflicts_with_all = ["max_tokens", "format"])]
    pub(crate) write: bool,
}

/// List values that lost against others when two clones changed the same thing, and settle them
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ConflictArgs {
    #[command(subcommand)]
    pub(crate) command: Option<Conflicts>,
    #[command(flatten)]
    pub(crate) op: conflict::List,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Conflicts {
    Resolve(conflict::Resolve),
    /// Merge both sides of git's conflict marks in the JSONL files, and import them
    Repair,
}

/// Take in what another tool keeps
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum ImportFrom {
    Daycare(FromDaycare),
    Loopr(FromLoopr),
    Prjct(FromPrjct),
    Taskstore(FromTaskstore),
}

/// Import agents that are kept as files: <DIR>/<id>/{descriptor.json,state.json,history.jsonl}
///
/// Agents that are here already are left as they are, so it can be done again.
#[derive(Debug, Args)]
pub(crate) struct FromDaycare {
    /// The directory of the agents, or the one above it
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

/// Import a project of prjct: tasks, queue, ideas, what was shipped and learned, skills and events
///
/// Reads the JSON files below DIR and changes none of them. Ids are kept, and so is what has no place of its own: with its
/// record under "prjct", or whole in pn kv. What is here already is left as it is, so it can be done again.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  pn import-from prjct ~/.prjct-cli/projects/5c1e0d0e\n  \
    pn import-from prjct DIR --json      # what was imported, skipped and not understood\n  \
    pn kv list --scope prjct:5c1e0d0e    # documents that were kept whole")]
pub(crate) struct FromPrjct {
    /// The directory of the project
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

/// Import a project of Loopr: the records in .taskstore, and the files of its loops in loops and archive
///
/// Iterations, stdout.log and stderr.log go to the directories of the loops here. What is here already is left as it is, so
/// it can be done again; a log that has grown since gets the rest.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  pn import-from loopr ~/.loopr/3f9a1c22b07d4e15\n  \
    pn import-from loopr DIR --json      # what was imported, left out and not kept as it was")]
pub(crate) struct FromLoopr {
    /// The directory that has .taskstore, loops and archive
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

/// Import records that are kept as JSONL: <DIR>/{loops,signals,tool_jobs,events}.jsonl and any other
///
/// The last line of each id counts. Records that are here already, and are not older, are left as they are, so it can be
/// done again.
#[derive(Debug, Args)]
pub(crate) struct FromTaskstore {
    /// The directory of the files, or the one that has a .taskstore
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

/// Merge three versions of one of the store's files; git calls it
#[derive(Debug, Args)]
#[command(hide = true)]
pub(crate) struct MergeDriver {
    /// The version both come from (%O)
    pub(crate) base: PathBuf,
    /// Our version, replaced by the outcome (%A)
    pub(crate) ours: PathBuf,
    /// Their version (%B)
    pub(crate) theirs: PathBuf,
    /// Where the file is in the repository (%P)
    pub(crate) path: PathBuf,
}

/// Make a store for this project
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// A directory of the project [default: the current one]
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Install the git hooks too, without asking (see pn hooks)
    #[arg(long)]
    pub(crate) hooks: bool,
    /// Install no git hooks, without asking
    #[arg(long, conflicts_with = "hooks")]
    pub(crate) no_hooks: bool,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Hooks {
    Install(HooksInstall),
    /// Tell which hooks are installed, and whether git merges JSONL files with pn
    Status,
    /// Take the hooks and the merge driver out again; hooks of other tools are put back as they were
    Remove,
    Run(HooksRun),
}

/// Install the hooks and the merge driver in this repository; hooks of other tools go on being called
///
/// pre-commit exports issues into the commit; post-merge, post-checkout and post-rewrite import them. Git merges the
/// JSONL files with pn: .gitattributes says so for every clone, git's configuration for this one.
#[derive(Debug, Args)]
pub(crate) struct HooksInstall {
    /// Write the hooks as entries into .pre-commit-config.yaml, for prek or pre-commit
    #[arg(long)]
    pub(crate) prek: bool,
}

/// Do what a hook does: git calls this
///
/// Never asks, and ends after --limit seconds.
#[derive(Debug, Args)]
#[command(hide = true)]
pub(crate) struct HooksRun {
    /// pre-commit, post-merge, post-checkout or post-rewrite
    #[arg(value_name = "HOOK")]
    pub(crate) hook: Hook,
    /// Most seconds it may take
    #[arg(long, default_value_t = 30, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) limit: u64,
}

/// Copy the store's database to a file
///
/// Without a file the copy goes to the store's backups, where the newest five are kept.
#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    #[command(flatten)]
    pub(crate) op: backup::Backup,
    /// List the backups that are there instead
    #[arg(long, conflicts_with_all = ["file", "force"])]
    pub(crate) list: bool,
}

/// Show an issue with its dependencies and comments
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) op: issue::Show,
    /// Only the issue itself, in one line
    #[arg(long)]
    pub(crate) short: bool,
}

/// Run many operations in one transaction: all of them happen, or none
///
/// Reads one JSON object a line: the operation's name as "op", and its fields. A line may name what it makes with
/// "as"; later lines refer to its id by "@name":
///
///   {"op":"issue.create","title":"log in","issue_type":"task","as":"login"}
///   {"op":"issue.create","title":"log out","issue_type":"task","deps":["@login"]}
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Batch {
    /// The file to read; - or nothing reads standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// Play a short day of three agents in a throw-away repository
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Leave the repository for a closer look
    #[arg(long)]
    pub(crate) keep: bool,
}

/// Print a script that completes commands, flags and ids
///
/// For bash: source <(pn completions bash)
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// bash, elvish, fish, powershell or zsh
    #[arg(value_name = "SHELL")]
    pub(crate) shell: String,
}

/// Print the manual page of pn or of one of its commands
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The command, such as: dep add
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// Write every page into this directory instead
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub(crate) dir: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::whole().debug_assert();
    }
}

//! What each command does between the command line and the store. Most only pass their operation on.

/// Declares subcommands that do nothing but pass their operations on.
macro_rules! pass_on_each {
    ($name:ident { $($variant:ident($op:ty)),* $(,)? }) => {
        #[derive(Debug, clap::Subcommand)]
        #[command(defer = true)]
        pub(crate) enum $name {
            $($variant($op),)*
        }

        impl $name {
            pub(super) fn run(&self, options: &crate::cli::Options, output: crate::output::Output) -> pensa_core::Result<()> {
                match self {
                    $(Self::$variant(op) => super::pass_on(options, output, op),)*
                }
            }
        }
    };
}

mod agent;
mod ask;
mod batch;
pub(crate) mod completions;
mod config;
mod context;
mod daemon;
mod demo;
mod events;
mod gc;
mod hooks;
mod import_from;
mod import_prjct;
mod import_records;
mod init;
pub(crate) mod job;
mod kv;
mod learning;
mod loops;
mod man;
#[cfg(feature = "server")]
mod mcp;
mod overview;
mod record;
mod recover;
pub(crate) mod refs;
mod remote;
mod repo;
mod run;
#[cfg(feature = "server")]
mod serve;
#[cfg(not(feature = "server"))]
#[path = "serve_absent.rs"]
mod serve;
mod server;
mod session;
pub(crate) mod snapshot;
mod stdin;
mod sync;
mod trace;
mod transfer;
mod trust;
pub(crate) mod undo;
mod upgrade;
mod watch;
mod work;
mod worktree;

use clap::Subcommand;
use pensa_core::id::IssueId;
use pensa_core::ops::backup::Backups;
use pensa_core::{Access, Result, ops};
use pensa_engine::Execute;

use crate::cli::{
    Agent, AuditArgs, BackupArgs, Batch, Capture, Cli, Comment, Completions, ConfigCommand, ConflictArgs, Conflicts,
    ContextArgs, Daemon, Demo, Dep, Events, Harness, Hooks, ImportFrom, Init, Job, Kv, Learning, Lock, Loop, Man,
    MergeDriver, Next, OnServer, Options, Project, Record, Remote, Repo, Run, Runtime, Serve, Session, ShowArgs,
    Signal, Skill, Snapshot, SyncArgs, Token, TraceArgs, Trust, Upgrade, Watch, WorkArgs, Workspace,
};
use crate::connect;
use crate::output::Output;
use crate::progress::watched;
use crate::render::Render;

/// A command, with what it is called with.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    Init(Init),
    Create(ops::issue::Create),
    Update(ops::issue::Update),
    Close(ops::issue::Close),
    Reopen(ops::issue::Reopen),
    Release(ops::issue::Release),
    Heartbeat(ops::issue::Heartbeat),
    Delete(ops::issue::Delete),
    Show(ShowArgs),
    List(ops::issue::List),
    Ready(ops::issue::Ready),
    Blocked(ops::issue::Blocked),
    Search(ops::issue::Search),
    Count(ops::issue::Count),
    Status(ops::store::Status),
    History(ops::issue::History),
    Trace(TraceArgs),
    Events(Events),
    #[command(subcommand)]
    Watch(Watch),
    Undo(undo::UndoArgs),
    Redo(ops::undo::Redo),
    /// Say which issue waits for which
    #[command(subcommand)]
    Dep(Dep),
    /// Record and read observations
    #[command(subcommand)]
    Comment(Comment),
    /// Note where else issues are known: addresses, and keys of other trackers
    #[command(subcommand)]
    Ref(refs::Refs),
    /// Keep agents: who they are, what they may do, and whether they are awake
    #[command(subcommand)]
    Agent(Agent),
    /// Keep what agents and their users say, and rebuild what a model sees of it
    #[command(subcommand)]
    Session(Session),
    /// Run agents, and keep a record of every run
    #[command(subcommand)]
    Run(Run),
    /// Run commands of tools in lanes with a limited number of slots, and keep a record of each
    #[command(subcommand)]
    Job(Job),
    /// Keep snapshots of a work tree, and go back to them
    #[command(subcommand)]
    Snapshot(Snapshot),
    /// Know the repositories that runs take place in
    #[command(subcommand)]
    Repo(Repo),
    /// Group runs on a server
    #[command(subcommand)]
    Workspace(Workspace),
    /// Know the agent software that runs had
    #[command(subcommand)]
    Harness(Harness),
    /// Know the surroundings that runs took place in
    #[command(subcommand)]
    Runtime(Runtime),
    /// Keep small values under names
    #[command(subcommand)]
    Kv(Kv),
    /// Keep JSON documents in named collections, and find them by their fields
    #[command(subcommand)]
    Record(Record),
    Work(WorkArgs),
    Capture(Capture),
    Next(Next),
    Ship(ops::release::Ship),
    Shipped(ops::release::List),
    Changelog(ops::release::Changelog),
    /// Know which skills agents' files call for
    #[command(subcommand)]
    Skill(Skill),
    Remember(ops::learning::Remember),
    Recall(ops::learning::Recall),
    /// Look after what was found out
    #[command(subcommand)]
    Learning(Learning),
    /// Work in iterations: plans, and the specs, phases and code that follow from them
    #[command(subcommand)]
    Loop(Loop),
    /// Tell loops, agents and runs to stop, pause, rebase and so on, and know that they heard it
    #[command(subcommand)]
    Signal(Signal),
    /// Have one at a time do something, such as merge
    #[command(subcommand)]
    Lock(Lock),
    Context(ContextArgs),
    Batch(Batch),
    Daemon(Daemon),
    /// Serve tools for models on standard input and output (Model Context Protocol)
    Mcp,
    /// Give servers names and keep their tokens
    #[command(subcommand)]
    Remote(Remote),
    #[command(subcommand)]
    Config(ConfigCommand),
    Trust(Trust),
    Serve(Serve),
    /// Manage the projects of a server
    Project(OnServer<Project>),
    /// Manage the tokens of a server
    Token(OnServer<Token>),
    Audit(AuditArgs),
    Export(ops::store::Export),
    Import(ops::store::Import),
    #[command(subcommand)]
    ImportFrom(ImportFrom),
    Sync(SyncArgs),
    Conflicts(ConflictArgs),
    MergeDriver(MergeDriver),
    /// Have git export issues with every commit and import them after every merge and checkout
    #[command(subcommand)]
    Hooks(Hooks),
    Doctor(ops::store::Doctor),
    Gc(ops::gc::Gc),
    /// Give up jobs and runs of this machine whose processes are gone, and give back loops whose runners are
    Recover,
    Backup(BackupArgs),
    Restore(ops::backup::Restore),
    Where(ops::store::Where),
    Upgrade(Upgrade),
    Demo(Demo),
    Completions(Completions),
    Man(Man),
}

/// One run of the program.
pub(crate) fn run(cli: Cli, output: &Output) -> Result<()> {
    let options = &cli.options;
    let Some(command) = cli.command else {
        return overview::run(options, *output);
    };
    match command {
        Command::Init(args) => init::run(options, &args, *output),
        Command::Create(mut op) => {
            stdin::fill(&mut op.description)?;
            create(options, *output, &op)
        }
        Command::Update(mut op) => {
            stdin::fill(&mut op.description)?;
            update(options, *output, &op)
        }
        Command::Close(op) => pass_on(options, *output, &op),
        Command::Reopen(op) => pass_on(options, *output, &op),
        Command::Release(op) => pass_on(options, *output, &op),
        Command::Heartbeat(op) => pass_on(options, *output, &op),
        Command::Delete(op) => pass_on(options, *output, &op),
        Command::Show(args) => show(options, *output, &args),
        Command::List(op) => pass_on(options, *output, &op),
        Command::Ready(op) => pass_on(options, *output, &op),
        Command::Blocked(op) => pass_on(options, *output, &op),
        Command::Search(op) => pass_on(options, *output, &op),
        Command::Count(op) => pass_on(options, *output, &op),
        Command::Status(op) => pass_on(options, *output, &op),
        Command::History(op) => pass_on(options, *output, &op),
        Command::Trace(args) => trace::run(options, *output, &args),
        Command::Events(args) => events::run(options, *output, args),
        Command::Watch(command) => watch::run(options, *output, command),
        Command::Undo(args) => undo::run(options, *output, &args),
        Command::Redo(op) => pass_on(options, *output, &op),
        Command::Dep(Dep::Add(op)) => pass_on(options, *output, &op),
        Command::Dep(Dep::Remove(op)) => pass_on(options, *output, &op),
        Command::Dep(Dep::List(op)) => pass_on(options, *output, &op),
        Command::Dep(Dep::Tree(op)) => pass_on(options, *output, &op),
        Command::Dep(Dep::Cycles(op)) => pass_on(options, *output, &op),
        Command::Comment(Comment::Add(mut op)) => {
            stdin::replace(&mut op.text)?;
            pass_on(options, *output, &op)
        }
        Command::Comment(Comment::List(op)) => pass_on(options, *output, &op),
        Command::Ref(command) => command.run(options, *output),
        Command::Agent(command) => agent::run(options, *output, command),
        Command::Session(command) => session::run(options, *output, command),
        Command::Run(command) => run::run(options, *output, command),
        Command::Job(command) => job::run(options, *output, command),
        Command::Snapshot(command) => snapshot::run(options, *output, command),
        Command::Repo(command) => repo::run(options, *output, command),
        Command::Workspace(Workspace::Create(op)) => agent::pass_on(options, *output, &op),
        Command::Workspace(Workspace::List(op)) => agent::pass_on(options, *output, &op),
        Command::Harness(command) => run::harness(options, *output, command),
        Command::Runtime(command) => run::runtime(options, *output, command),
        Command::Kv(command) => kv::run(options, *output, command),
        Command::Record(command) => record::run(options, *output, command),
        Command::Work(args) => work::run(options, *output, args),
        Command::Capture(args) => work::capture(options, *output, args),
        Command::Next(args) => work::next(options, *output, &args),
        Command::Ship(op) => work::ship(options, *output, op),
        Command::Shipped(op) => pass_on(options, *output, &op),
        Command::Changelog(op) => pass_on(options, *output, &op),
        Command::Skill(command) => work::skill(options, *output, command),
        Command::Remember(op) => learning::remember(options, *output, op),
        Command::Recall(op) => pass_on(options, *output, &op),
        Command::Learning(command) => learning::run(options, *output, command),
        Command::Loop(command) => loops::run(options, *output, command),
        Command::Signal(command) => loops::signal(options, *output, command),
        Command::Lock(command) => loops::lock(options, *output, command),
        Command::Context(args) if args.write => context::write(options, *output),
        Command::Context(args) => context::brief(options, *output, args.op),
        Command::Batch(args) => batch::run(options, *output, &args),
        Command::Daemon(args) => daemon::run(options, *output, args),
        Command::Mcp => serve::mcp(options),
        Command::Remote(command) => remote::run(*output, &command),
        Command::Config(command) => config::run(options, *output, &command),
        Command::Trust(args) => trust::run(options, *output, &args),
        Command::Serve(args) => serve::team(*output, &args),
        Command::Project(OnServer { command, location }) => match command {
            Project::Create(op) => server::run(options, *output, &location, &op),
            Project::List(op) => server::run(options, *output, &location, &op),
            Project::Archive(op) => server::run(options, *output, &location, &op),
        },
        Command::Token(OnServer { command, location }) => match command {
            Token::Create(op) => server::run(options, *output, &location, &op),
            Token::List(op) => server::run(options, *output, &location, &op),
            Token::Revoke(op) => server::run(options, *output, &location, &op),
        },
        Command::Audit(AuditArgs { op, location }) => server::audit(options, *output, &location, &op),
        Command::Export(op) => transfer::export(options, *output, op),
        Command::Import(op) => transfer::import(options, *output, op),
        Command::Sync(args) => sync::run(options, *output, args),
        Command::MergeDriver(args) => transfer::merge_driver(options, &args),
        Command::Conflicts(ConflictArgs { command: None, op }) => pass_on(options, *output, &op),
        Command::Conflicts(ConflictArgs { command: Some(Conflicts::Resolve(op)), .. }) => {
            pass_on(options, *output, &op)
        }
        Command::Conflicts(ConflictArgs { command: Some(Conflicts::Repair), .. }) => transfer::repair(options, *output),
        Command::ImportFrom(command) => import_from::run(options, *output, &command),
        Command::Hooks(command) => hooks::run(options, *output, &command),
        Command::Doctor(op) => gc::doctor(options, *output, &op),
        Command::Recover => recover::run(options, *output),
        Command::Gc(op) => gc::run(options, *output, op),
        Command::Backup(args) if args.list => pass_on(options, *output, &Backups {}),
        Command::Backup(args) => pass_on(options, *output, &args.op),
        Command::Restore(op) => pass_on(options, *output, &op),
        Command::Where(op) => pass_on(options, *output, &op),
        Command::Upgrade(args) => upgrade::run(options, *output, &args),
        Command::Demo(args) => demo::run(&args, *output),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args, *output),
    }
}

fn pass_on<O: Execute>(options: &Options, output: Output, op: &O) -> Result<()>
where
    O::Output: Render,
{
    // The first command in a fresh clone imports.
    output.answer(&watched(output, || connect::client(options)?.call(op))?)?;
    if O::ACCESS != Access::Read {
        context::refresh(options, output);
    }
    Ok(())
}

/// Agents with fresh context file the same bug again and again: say so, but never refuse.
fn create(options: &Options, output: Output, op: &ops::issue::Create) -> Result<()> {
    let created = connect::client(options)?.call(op)?;
    output.answer(&created)?;
    for similar in &created.similar {
        output.note(&format!("note: similar to {} {}", similar.id, similar.title));
    }
    context::refresh(options, output);
    Ok(())
}

fn update(options: &Options, output: Output, op: &ops::issue::Update) -> Result<()> {
    let updated = watched(output, || connect::client(options)?.call(op))?;
    output.answer(&updated)?;
    note_former_assignee(output, &updated.issue.id, updated.was_assigned_to.as_deref());
    Ok(())
}

/// Claiming what is assigned to somebody else succeeds, but the two should know of each other.
fn note_former_assignee(output: Output, id: &IssueId, former: Option<&str>) {
    if let Some(name) = former {
        output.note(&format!("note: {id} was assigned to {name}"));
    }
}

fn show(options: &Options, output: Output, args: &ShowArgs) -> Result<()> {
    let detail = connect::client(options)?.call(&args.op)?;
    if args.short { output.answer(&detail.issue) } else { output.answer(&detail) }
}

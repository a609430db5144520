//! What each command does between the command line and the store. Most only pass their operation on.

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

use pensa_core::id::IssueId;
use pensa_core::ops::backup::Backups;
use pensa_core::{Access, Result};
use pensa_engine::Execute;

use crate::cli::{
    AuditArgs, Cli, Command, Comment, ConflictArgs, Conflicts, Dep, OnServer, Options, Project, ShowArgs, Token,
    Workspace,
};
use crate::connect;
use crate::output::Output;
use crate::progress::watched;
use crate::render::Render;

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
fn create(options: &Options, output: Output, op: &pensa_core::ops::issue::Create) -> Result<()> {
    let created = connect::client(options)?.call(op)?;
    output.answer(&created)?;
    for similar in &created.similar {
        output.note(&format!("note: similar to {} {}", similar.id, similar.title));
    }
    context::refresh(options, output);
    Ok(())
}

fn update(options: &Options, output: Output, op: &pensa_core::ops::issue::Update) -> Result<()> {
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

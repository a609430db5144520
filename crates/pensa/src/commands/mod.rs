//! Declares the commands of `pn` and runs them. Most only call one operation and print its answer.
//!
//! One module per command has its arguments, its action and its output. The arguments of plain operations are in
//! `pensa_core::ops`.

/// Declares subcommands that only call one operation each.
macro_rules! op_subcommands {
    ($name:ident { $($variant:ident($op:ty)),* $(,)? }) => {
        #[derive(Debug, clap::Subcommand)]
        #[command(defer = true)]
        pub(crate) enum $name {
            $($variant($op),)*
        }

        impl $name {
            pub(super) fn run(&self, options: &crate::cli::GlobalOptions, output: crate::output::Output) -> pensa_core::Result<()> {
                match self {
                    $(Self::$variant(op) => super::run_op(options, output, op),)*
                }
            }
        }
    };
}

mod agent;
mod backup;
mod batch;
mod comment;
pub(crate) mod completions;
mod config;
mod confirm;
mod conflicts;
mod context;
mod cost;
mod create_file;
mod daemon;
mod demo;
mod dep;
mod distill;
mod doctor;
mod draw;
mod edit;
mod events;
mod export_beads;
mod export_html;
mod gc;
mod harness;
pub(crate) mod help;
pub(crate) mod hook;
mod hooks;
mod import_from;
mod import_prjct;
mod import_records;
mod import_tracker;
mod import_transcript;
mod init;
mod issue;
pub(crate) mod job;
mod kv;
mod learning;
mod lock;
mod loops;
mod man;
#[cfg(feature = "server")]
mod mcp;
#[cfg(feature = "semantic")]
pub(crate) mod models;
#[cfg(not(feature = "semantic"))]
#[path = "models_absent.rs"]
pub(crate) mod models;
mod overview;
mod plan;
mod poll;
mod prime;
mod profile;
mod recall;
mod record;
mod recover;
pub(crate) mod refs;
mod remote;
mod replay;
mod repo;
mod run;
#[cfg(feature = "server")]
mod serve;
#[cfg(not(feature = "server"))]
#[path = "serve_absent.rs"]
mod serve;
mod server;
mod session;
mod setup;
mod several;
mod signal;
pub(crate) mod snapshot;
mod stdin;
pub(crate) mod suggest;
mod sync;
mod trace;
mod transfer;
mod triage;
mod trust;
mod tui;
pub(crate) mod undo;
mod upgrade;
mod watch;
mod web;
mod work;
mod worktree;

use clap::Subcommand;
use pensa_core::id::IssueId;
use pensa_core::issue::Similar;
use pensa_core::ops::backup::Backups;
use pensa_core::{Access, Result, ops};
use pensa_engine::Execute;

use crate::cli::{Cli, GlobalOptions};
use crate::connect;
use crate::output::Output;
use crate::progress::with_progress;
use crate::render::Render;

/// A command with its arguments.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    Init(init::InitArgs),
    #[command(visible_alias = "new")]
    Create(create_file::CreateArgs),
    Update(several::SeveralArgs<ops::issue::Update>),
    Edit(edit::EditArgs),
    Claim(issue::ClaimArgs),
    #[command(visible_alias = "done")]
    Close(several::SeveralArgs<ops::issue::Close>),
    Accept(ops::issue::Accept),
    Reopen(several::SeveralArgs<ops::issue::Reopen>),
    Release(several::SeveralArgs<ops::issue::Release>),
    Heartbeat(ops::issue::Heartbeat),
    Delete(several::SeveralArgs<ops::issue::Delete>),
    Show(issue::ShowArgs),
    Ls(issue::LsArgs),
    List(ops::issue::List),
    Ready(ops::issue::Ready),
    Blocked(ops::issue::Blocked),
    Search(ops::issue::Search),
    Count(ops::issue::Count),
    Children(ops::issue::Children),
    Status(ops::store::Status),
    Log(issue::LogArgs),
    History(ops::issue::History),
    Trace(trace::TraceArgs),
    Cost(ops::cost::Cost),
    #[command(flatten)]
    Triage(triage::Triage),
    #[command(flatten)]
    Draw(draw::Draw),
    Events(events::EventsArgs),
    #[command(subcommand)]
    Watch(watch::WatchCommand),
    Tui(tui::TuiArgs),
    Web(web::WebArgs),
    Undo(undo::UndoArgs),
    Redo(ops::undo::Redo),
    /// Manage dependencies between issues
    #[command(subcommand)]
    Dep(dep::DepCommand),
    /// Add and list comments on issues
    #[command(subcommand)]
    Comment(comment::CommentCommand),
    /// List and rename the labels of issues
    #[command(subcommand)]
    Label(plan::LabelCommand),
    /// Link issues to each other
    #[command(subcommand)]
    Link(plan::LinkCommand),
    /// Save queries under a name, for pn ls @NAME
    #[command(subcommand)]
    View(plan::ViewCommand),
    /// Link issues to addresses and to keys of other trackers
    #[command(subcommand)]
    Ref(refs::RefCommand),
    /// Manage agents: identity, permissions and lifecycle
    #[command(subcommand)]
    Agent(agent::AgentCommand),
    /// Store the sessions of agents, and rebuild the context a model sees
    #[command(subcommand)]
    Session(session::SessionCommand),
    /// Run agents and record every run
    #[command(subcommand)]
    Run(run::RunCommand),
    /// Run tool commands in lanes with a limited number of slots, and record each
    #[command(subcommand)]
    Job(job::JobCommand),
    /// Take and restore snapshots of a work tree
    #[command(subcommand)]
    Snapshot(snapshot::SnapshotCommand),
    /// Manage the repositories of runs
    #[command(subcommand)]
    Repo(repo::RepoCommand),
    /// Group runs on a server
    #[command(subcommand)]
    Workspace(repo::WorkspaceCommand),
    /// Describe the agent software of runs
    #[command(subcommand)]
    Harness(harness::HarnessCommand),
    /// Describe the runtime environments of runs
    #[command(subcommand)]
    Runtime(harness::RuntimeCommand),
    /// Store small values under names
    #[command(subcommand)]
    Kv(kv::KvCommand),
    /// Store JSON documents in named collections, and query them by field
    #[command(subcommand)]
    Record(record::RecordCommand),
    Work(work::WorkArgs),
    Capture(work::CaptureArgs),
    Next(plan::NextArgs),
    Ship(ops::release::Ship),
    Shipped(ops::release::List),
    Changelog(ops::release::Changelog),
    /// Manage the skills that agent files require
    #[command(subcommand)]
    Skill(work::SkillCommand),
    Remember(ops::learning::Remember),
    Recall(recall::RecallArgs),
    Distill(distill::DistillArgs),
    /// List, verify, review and forget learnings
    #[command(subcommand)]
    Learning(learning::LearningCommand),
    /// Manage loops: plans, specs, phases and code, worked on in checked iterations
    #[command(subcommand)]
    Loop(loops::LoopCommand),
    /// Send signals (stop, pause, rebase …) to loops, agents and runs, and see who acknowledged
    #[command(subcommand)]
    Signal(signal::SignalCommand),
    /// Hold a named lock, so that only one at a time does something, such as merge
    #[command(subcommand)]
    Lock(lock::LockCommand),
    Context(context::ContextArgs),
    Prime(prime::PrimeArgs),
    Setup(setup::SetupArgs),
    /// Describe the domains of this repository for agents: frontend, backend, testing …
    #[command(subcommand)]
    Profile(profile::ProfileCommand),
    Hook(hook::HookArgs),
    Batch(batch::BatchArgs),
    Daemon(daemon::DaemonArgs),
    /// Serve tools for models on standard input and output (Model Context Protocol)
    Mcp,
    /// Name servers and store their tokens
    #[command(subcommand)]
    Remote(remote::RemoteCommand),
    #[command(subcommand)]
    Config(config::ConfigCommand),
    Trust(trust::TrustArgs),
    Serve(server::ServeArgs),
    /// Manage the projects of a server
    Project(server::ServerCommandArgs<server::ProjectCommand>),
    /// Manage the tokens of a server
    Token(server::ServerCommandArgs<server::TokenCommand>),
    Audit(server::AuditArgs),
    Export(transfer::ExportArgs),
    Import(ops::store::Import),
    #[command(subcommand)]
    ImportFrom(import_from::ImportFromCommand),
    Sync(sync::SyncArgs),
    Conflicts(conflicts::ConflictsArgs),
    MergeDriver(transfer::MergeDriverArgs),
    /// Manage git hooks that export issues with every commit and import them after every merge and checkout
    #[command(subcommand)]
    Hooks(hooks::HooksCommand),
    Doctor(ops::store::Doctor),
    Gc(ops::gc::Gc),
    /// Fail jobs and runs of this machine whose processes are gone, and release loops whose runners are gone
    Recover,
    Backup(backup::BackupArgs),
    Restore(ops::backup::Restore),
    Where(ops::store::Where),
    Upgrade(upgrade::UpgradeArgs),
    Demo(demo::DemoArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
    /// Print the version of pn
    Version,
    Help(help::HelpArgs),
}

/// Runs the command of a parsed command line.
pub(crate) fn run(cli: Cli, output: &Output) -> Result<()> {
    let options = &cli.options;
    let Some(command) = cli.command else {
        return overview::run(options, *output);
    };
    match command {
        Command::Init(args) => init::run(options, &args, *output),
        Command::Create(args) => create_file::run(options, *output, args),
        Command::Update(args) => issue::update(options, *output, args),
        Command::Edit(args) => edit::run(options, *output, &args),
        Command::Claim(args) => issue::claim(options, *output, args),
        Command::Close(args) => issue::close(options, *output, args),
        Command::Accept(op) => run_op(options, *output, &op),
        Command::Reopen(args) => several::run(options, *output, args, |_| ()),
        Command::Release(args) => several::run(options, *output, args, |_| ()),
        Command::Heartbeat(op) => run_op(options, *output, &op),
        Command::Delete(args) => several::run(options, *output, args, |_| ()),
        Command::Show(args) => issue::show(options, *output, &args),
        Command::Ls(args) => issue::ls(options, *output, args),
        Command::List(op) => issue::find(options, *output, &op, op.q.as_deref(), &op.labels),
        Command::Ready(op) => issue::find(options, *output, &op, op.q.as_deref(), &op.labels),
        Command::Blocked(op) => issue::blocked(options, *output, &op),
        Command::Search(op) => issue::find(options, *output, &op, Some(&op.q), &op.labels),
        Command::Count(op) => issue::count(options, *output, &op),
        Command::Children(op) => run_op(options, *output, &op),
        Command::Status(op) => run_op(options, *output, &op),
        Command::Log(args) => issue::log(options, *output, args),
        Command::History(op) => run_op(options, *output, &op),
        Command::Trace(args) => trace::run(options, *output, &args),
        Command::Cost(op) => cost::run(options, *output, &op),
        Command::Triage(command) => command.run(options, *output),
        Command::Draw(command) => command.run(options, *output),
        Command::Events(args) => events::run(options, *output, args),
        Command::Watch(command) => watch::run(options, *output, command),
        Command::Tui(args) => tui::run(options, &args),
        Command::Web(args) => web::run(options, *output, &args),
        Command::Undo(args) => undo::run(options, *output, &args),
        Command::Redo(op) => run_op(options, *output, &op),
        Command::Dep(command) => command.run(options, *output),
        Command::Comment(comment::CommentCommand::Add(mut op)) => {
            stdin::replace(&mut op.text)?;
            run_op(options, *output, &op)
        }
        Command::Comment(comment::CommentCommand::List(op)) => run_op(options, *output, &op),
        Command::Ref(command) => command.run(options, *output),
        Command::Label(command) => command.run(options, *output),
        Command::Link(command) => command.run(options, *output),
        Command::View(command) => command.run(options, *output),
        Command::Agent(command) => agent::run(options, *output, command),
        Command::Session(command) => session::run(options, *output, command),
        Command::Run(command) => run::run(options, *output, command),
        Command::Job(command) => job::run(options, *output, command),
        Command::Snapshot(command) => snapshot::run(options, *output, command),
        Command::Repo(command) => repo::run(options, *output, command),
        Command::Workspace(repo::WorkspaceCommand::Create(op)) => agent::run_agent_op(options, *output, &op),
        Command::Workspace(repo::WorkspaceCommand::List(op)) => agent::run_agent_op(options, *output, &op),
        Command::Harness(command) => harness::harness(options, *output, command),
        Command::Runtime(command) => harness::runtime(options, *output, command),
        Command::Kv(command) => kv::run(options, *output, command),
        Command::Record(command) => record::run(options, *output, command),
        Command::Work(args) => work::run(options, *output, args),
        Command::Capture(args) => work::capture(options, *output, args),
        Command::Next(args) => plan::next(options, *output, &args),
        Command::Ship(op) => work::ship(options, *output, op),
        Command::Shipped(op) => run_op(options, *output, &op),
        Command::Changelog(op) => run_op(options, *output, &op),
        Command::Skill(command) => work::skill(options, *output, command),
        Command::Remember(op) => learning::remember(options, *output, op),
        Command::Recall(args) => recall::run(options, *output, args),
        Command::Distill(args) => distill::run(options, *output, args),
        Command::Learning(command) => learning::run(options, *output, command),
        Command::Loop(command) => loops::run(options, *output, command),
        Command::Signal(command) => signal::run(options, *output, command),
        Command::Lock(command) => lock::run(options, *output, command),
        Command::Context(args) if args.write => context::write(options, *output),
        Command::Context(args) => context::brief(options, *output, args.op),
        Command::Prime(args) => prime::run(options, *output, &args),
        Command::Setup(args) => setup::run(options, *output, &args),
        Command::Profile(command) => profile::run(options, *output, command),
        Command::Hook(args) => hook::run(options, &args),
        Command::Batch(args) => batch::run(options, *output, &args),
        Command::Daemon(args) => daemon::run(options, *output, args),
        Command::Mcp => serve::mcp(options),
        Command::Remote(command) => remote::run(*output, &command),
        Command::Config(command) => config::run(options, *output, &command),
        Command::Trust(args) => trust::run(options, *output, &args),
        Command::Serve(args) => serve::team(*output, &args),
        Command::Project(server::ServerCommandArgs { command, location }) => match command {
            server::ProjectCommand::Create(op) => server::run(options, *output, &location, &op),
            server::ProjectCommand::List(op) => server::run(options, *output, &location, &op),
            server::ProjectCommand::Archive(op) => server::run(options, *output, &location, &op),
        },
        Command::Token(server::ServerCommandArgs { command, location }) => match command {
            server::TokenCommand::Create(op) => server::run(options, *output, &location, &op),
            server::TokenCommand::List(op) => server::run(options, *output, &location, &op),
            server::TokenCommand::Revoke(op) => server::run(options, *output, &location, &op),
        },
        Command::Audit(server::AuditArgs { op, location }) => server::audit(options, *output, &location, &op),
        Command::Export(args) => transfer::export(options, *output, args),
        Command::Import(op) => transfer::import(options, *output, op),
        Command::Sync(args) => sync::run(options, *output, args),
        Command::MergeDriver(args) => transfer::merge_driver(options, &args),
        Command::Conflicts(conflicts::ConflictsArgs { command: None, op }) => run_op(options, *output, &op),
        Command::Conflicts(conflicts::ConflictsArgs {
            command: Some(conflicts::ConflictsCommand::Resolve(op)),
            ..
        }) => run_op(options, *output, &op),
        Command::Conflicts(conflicts::ConflictsArgs { command: Some(conflicts::ConflictsCommand::Repair), .. }) => {
            conflicts::repair(options, *output)
        }
        Command::ImportFrom(command) => import_from::run(options, *output, &command),
        Command::Hooks(command) => hooks::run(options, *output, &command),
        Command::Doctor(op) => doctor::run(options, *output, &op),
        Command::Recover => recover::run(options, *output),
        Command::Gc(op) => gc::run(options, *output, op),
        Command::Backup(args) if args.list => run_op(options, *output, &Backups {}),
        Command::Backup(args) => run_op(options, *output, &args.op),
        Command::Restore(op) => run_op(options, *output, &op),
        Command::Where(op) => run_op(options, *output, &op),
        Command::Upgrade(args) => upgrade::run(options, *output, &args),
        Command::Demo(args) => demo::run(&args, *output),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args, *output),
        Command::Version => help::version(*output),
        Command::Help(args) => help::run(&args, *output),
    }
}

/// Calls one operation on the store, and prints its answer.
fn run_op<O: Execute>(options: &GlobalOptions, output: Output, op: &O) -> Result<()>
where
    O::Output: Render,
{
    // Progress is shown because the first command in a fresh clone imports.
    output.answer(&with_progress(output, || connect::client(options)?.call(op))?)?;
    if O::ACCESS != Access::Read {
        context::refresh(options, output);
    }
    Ok(())
}

/// Creates an issue and names similar ones: agents with a fresh context often file the same bug again.
fn create(options: &GlobalOptions, output: Output, op: &ops::issue::Create) -> Result<()> {
    let created = connect::client(options)?.call(op)?;
    output.answer(&created)?;
    created.similar.iter().for_each(|similar| note_similar(output, similar));
    context::refresh(options, output);
    Ok(())
}

fn note_similar(output: Output, similar: &Similar) {
    output.note(&format!("note: similar to {} {}", similar.id, similar.title));
}

/// Names the former assignee: claiming an issue assigned to somebody else succeeds, but the caller should know.
fn note_former_assignee(output: Output, id: &IssueId, former: Option<&str>) {
    if let Some(name) = former {
        output.note(&format!("note: {id} was assigned to {name}"));
    }
}

//! `pn loop worktree`: creates and removes the git worktree of a loop, in the store's `local/worktrees`.
//!
//! A loop record may name any directory as its worktree; git is run only for one in that directory.

use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use clap::{Args, Subcommand};
use pensa_core::id::{LoopId, LoopRef};
use pensa_core::loops::Loop;
use pensa_core::ops::loops::Show;
use pensa_core::repo::GIT_ENVIRONMENT;
use pensa_core::{Code, Error, Result};
use serde::Serialize;

use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

/// Create or remove the git worktree of a loop
#[derive(Debug, Subcommand)]
pub(crate) enum LoopWorktreeCommand {
    Add(LoopWorktreeAddArgs),
    Remove(LoopWorktreeRemoveArgs),
}

/// Create the git worktree of a loop, local/worktrees/LOOP in the store, with a branch of its own
#[derive(Debug, Args)]
pub(crate) struct LoopWorktreeAddArgs {
    /// Which loop: its id, or the beginning of it
    #[arg(value_name = "LOOP")]
    pub(crate) id: LoopRef,
    /// Its branch, created if it does not exist [default: loop/LOOP]
    #[arg(long, value_name = "BRANCH")]
    pub(crate) branch: Option<String>,
    /// Where a new branch starts [default: HEAD]
    #[arg(long, value_name = "COMMIT")]
    pub(crate) from: Option<String>,
}

/// Remove the git worktree of a loop; its branch stays
#[derive(Debug, Args)]
pub(crate) struct LoopWorktreeRemoveArgs {
    /// Which loop: its id, or the beginning of it
    #[arg(value_name = "LOOP")]
    pub(crate) id: LoopRef,
    /// Remove it even if it has uncommitted changes
    #[arg(long)]
    pub(crate) force: bool,
}

/// The directory of worktrees among the local files of a store.
const WORKTREES_DIR: &str = "worktrees";

/// A worktree that was added or removed.
#[derive(Debug, Serialize)]
struct WorktreeOutput {
    id: LoopId,
    /// `added` or `removed`
    status: &'static str,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
}

impl Render for WorktreeOutput {
    fn render(&self, screen: &mut Screen) {
        screen.plain(self.status).plain(" ").text(&self.path);
        if let Some(branch) = &self.branch {
            screen.plain(" on ").text(branch);
        }
        screen.end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.path.clone()]
    }
}

pub(super) fn run(options: &GlobalOptions, output: Output, command: LoopWorktreeCommand) -> Result<()> {
    match command {
        LoopWorktreeCommand::Add(args) => add(options, output, args),
        LoopWorktreeCommand::Remove(args) => remove(options, output, &args),
    }
}

/// A loop, its project, and the path of its worktree.
struct LoopWorktree {
    subject: Loop,
    project: PathBuf,
    path: PathBuf,
}

impl LoopWorktree {
    fn of(options: &GlobalOptions, id: &LoopRef) -> Result<Self> {
        let subject = connect::client(options)?.call(&Show { id: id.clone() })?;
        let store = connect::store(options)?;
        let name = own_name(&subject)?;
        let path = store.local_dir(WORKTREES_DIR)?.join(name);
        Ok(Self { project: store.project_dir().to_owned(), subject, path })
    }

    fn git(&self) -> Command {
        let mut git = Command::new("git");
        for name in GIT_ENVIRONMENT {
            git.env_remove(name);
        }
        git.arg("-C").arg(&self.project);
        git
    }

    fn answer(self, output: Output, status: &'static str, branch: Option<String>) -> Result<()> {
        output.answer(&WorktreeOutput { id: self.subject.id, status, path: self.path.display().to_string(), branch })
    }
}

/// The name of a loop's worktree in our directory; fails if the record names another directory.
fn own_name(subject: &Loop) -> Result<&str> {
    let mut parts = Path::new(&subject.worktree).components();
    let is_below = parts.next() == Some(Component::Normal(WORKTREES_DIR.as_ref()));
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(name)), None) if is_below => name.to_str(),
        _ => None,
    }
    .filter(|name| !name.starts_with(['.', '-']))
    .ok_or_else(|| {
        let message = format!("the worktree of {} is {}, and not {WORKTREES_DIR}/NAME", subject.id, subject.worktree);
        Error::new(Code::Unsupported, message).hint("make or remove it with git worktree yourself")
    })
}

/// Runs git; fails with its error message.
fn run_git(git: &mut Command) -> Result<()> {
    let done = git.stdin(Stdio::null()).output().map_err(|e| Error::internal(format!("cannot run git: {e}")))?;
    if done.status.success() {
        return Ok(());
    }
    let complaint = String::from_utf8_lossy(&done.stderr);
    let line = complaint.lines().find(|line| line.starts_with("fatal:") || line.starts_with("error:"));
    Err(Error::new(Code::Conflict, format!("git: {}", line.unwrap_or(complaint.trim()))))
}

fn add(options: &GlobalOptions, output: Output, args: LoopWorktreeAddArgs) -> Result<()> {
    let worktree = LoopWorktree::of(options, &args.id)?;
    let branch = args.branch.unwrap_or_else(|| format!("loop/{}", worktree.subject.id));
    run_git(worktree.git().args(["check-ref-format", "--branch", &branch])).map_err(|_| {
        Error::invalid(format!("not the name of a branch: {branch}")).hint("name another with --branch")
    })?;
    let full = format!("refs/heads/{branch}");
    let is_there = run_git(worktree.git().args(["show-ref", "--verify", "--quiet", &full])).is_ok();
    let mut git = worktree.git();
    git.args(["worktree", "add", "--quiet"]);
    match (is_there, args.from) {
        (true, Some(_)) => {
            return Err(Error::new(Code::Conflict, format!("the branch {branch} is there already"))
                .hint("leave out --from, or name another with --branch"));
        }
        (true, None) => git.arg("--end-of-options").arg(&worktree.path).arg(&branch),
        (false, from) => {
            git.args(["-b", &branch, "--end-of-options"]).arg(&worktree.path).arg(from.as_deref().unwrap_or("HEAD"))
        }
    };
    run_git(&mut git)?;
    worktree.answer(output, "added", Some(branch))
}

fn remove(options: &GlobalOptions, output: Output, args: &LoopWorktreeRemoveArgs) -> Result<()> {
    let worktree = LoopWorktree::of(options, &args.id)?;
    if !worktree.path.is_dir() {
        return Err(Error::new(
            Code::NotFound,
            format!("{} has no worktree at {}", worktree.subject.id, worktree.path.display()),
        )
        .hint("pn loop worktree add makes it"));
    }
    let mut git = worktree.git();
    git.args(["worktree", "remove"]);
    if args.force {
        git.arg("--force");
    }
    run_git(git.arg("--end-of-options").arg(&worktree.path))
        .map_err(|e| e.hint("commit what is worth it, or use --force"))?;
    worktree.answer(output, "removed", None)
}

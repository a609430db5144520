//! `pn loop worktree`: makes and removes the git worktree of a loop, below the store's `local/worktrees`.
//!
//! A record may name any directory as a loop's worktree. Git is only run for one that lies below that directory.

use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use pensa_core::id::{LoopId, LoopRef};
use pensa_core::loops::Loop;
use pensa_core::ops::loops::Show;
use pensa_core::repo::GIT_SURROUNDINGS;
use pensa_core::{Code, Error, Result};
use serde::Serialize;

use crate::cli::{LoopWorktree, Options, WorktreeAdd, WorktreeRemove};
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

/// The directory of a store in which worktrees are made.
const DIR: &str = "worktrees";

/// A worktree that was made or removed.
#[derive(Debug, Serialize)]
struct Worktree {
    id: LoopId,
    /// `added` or `removed`
    status: &'static str,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
}

impl Render for Worktree {
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

pub(super) fn run(options: &Options, output: Output, command: LoopWorktree) -> Result<()> {
    match command {
        LoopWorktree::Add(args) => add(options, output, args),
        LoopWorktree::Remove(args) => remove(options, output, &args),
    }
}

/// A loop, the project here, and where the loop's worktree is or belongs.
struct Place {
    subject: Loop,
    project: PathBuf,
    path: PathBuf,
}

impl Place {
    fn of(options: &Options, id: &LoopRef) -> Result<Self> {
        let subject = connect::client(options)?.call(&Show { id: id.clone() })?;
        let store = connect::store(options)?;
        let name = own_name(&subject)?;
        let path = store.local_dir(DIR)?.join(name);
        Ok(Self { project: store.project_dir().to_owned(), subject, path })
    }

    fn git(&self) -> Command {
        let mut git = Command::new("git");
        for name in GIT_SURROUNDINGS {
            git.env_remove(name);
        }
        git.arg("-C").arg(&self.project);
        git
    }

    fn answer(self, output: Output, status: &'static str, branch: Option<String>) -> Result<()> {
        output.answer(&Worktree { id: self.subject.id, status, path: self.path.display().to_string(), branch })
    }
}

/// The name of a loop's worktree below our own directory.
fn own_name(subject: &Loop) -> Result<&str> {
    let mut parts = Path::new(&subject.worktree).components();
    let is_below = parts.next() == Some(Component::Normal(DIR.as_ref()));
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(name)), None) if is_below => name.to_str(),
        _ => None,
    }
    .filter(|name| !name.starts_with(['.', '-']))
    .ok_or_else(|| {
        let message = format!("the worktree of {} is {}, and not {DIR}/NAME", subject.id, subject.worktree);
        Error::new(Code::Unsupported, message).hint("make or remove it with git worktree yourself")
    })
}

/// Runs git, which must succeed.
fn must(git: &mut Command) -> Result<()> {
    let done = git.stdin(Stdio::null()).output().map_err(|e| Error::internal(format!("cannot run git: {e}")))?;
    if done.status.success() {
        return Ok(());
    }
    let complaint = String::from_utf8_lossy(&done.stderr);
    let line = complaint.lines().find(|line| line.starts_with("fatal:") || line.starts_with("error:"));
    Err(Error::new(Code::Conflict, format!("git: {}", line.unwrap_or(complaint.trim()))))
}

fn add(options: &Options, output: Output, args: WorktreeAdd) -> Result<()> {
    let place = Place::of(options, &args.id)?;
    let branch = args.branch.unwrap_or_else(|| format!("loop/{}", place.subject.id));
    must(place.git().args(["check-ref-format", "--branch", &branch])).map_err(|_| {
        Error::invalid(format!("not the name of a branch: {branch}")).hint("name another with --branch")
    })?;
    let full = format!("refs/heads/{branch}");
    let is_there = must(place.git().args(["show-ref", "--verify", "--quiet", &full])).is_ok();
    let mut git = place.git();
    git.args(["worktree", "add", "--quiet"]);
    match (is_there, args.from) {
        (true, Some(_)) => {
            return Err(Error::new(Code::Conflict, format!("the branch {branch} is there already"))
                .hint("leave out --from, or name another with --branch"));
        }
        (true, None) => git.arg("--end-of-options").arg(&place.path).arg(&branch),
        (false, from) => {
            git.args(["-b", &branch, "--end-of-options"]).arg(&place.path).arg(from.as_deref().unwrap_or("HEAD"))
        }
    };
    must(&mut git)?;
    place.answer(output, "added", Some(branch))
}

fn remove(options: &Options, output: Output, args: &WorktreeRemove) -> Result<()> {
    let place = Place::of(options, &args.id)?;
    if !place.path.is_dir() {
        return Err(Error::new(
            Code::NotFound,
            format!("{} has no worktree at {}", place.subject.id, place.path.display()),
        )
        .hint("pn loop worktree add makes it"));
    }
    let mut git = place.git();
    git.args(["worktree", "remove"]);
    if args.force {
        git.arg("--force");
    }
    must(git.arg("--end-of-options").arg(&place.path))
        .map_err(|e| e.hint("commit what is worth it, or use --force"))?;
    place.answer(output, "removed", None)
}

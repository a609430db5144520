//! What the engine asks of git, called as a program and never through a shell.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pensa_core::{Error, Result};

/// Stages files if they are in a git work tree; does nothing outside one.
pub(crate) fn stage(project: &Path, files: &[PathBuf]) -> Result<()> {
    if !inside_work_tree(project) {
        return Ok(());
    }
    let output = git(project)
        .args(["add", "--"])
        .args(files)
        .output()
        .map_err(|e| Error::internal(format!("cannot run git: {e}")))?;
    if output.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&output.stderr);
    Err(Error::internal(format!("git add failed: {}", told.trim())))
}

fn inside_work_tree(project: &Path) -> bool {
    git(project)
        .args(["rev-parse", "--is-inside-work-tree"])
        .output()
        .is_ok_and(|output| output.status.success() && output.stdout.starts_with(b"true"))
}

fn git(project: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(project).stdin(Stdio::null()).env("GIT_TERMINAL_PROMPT", "0");
    command
}

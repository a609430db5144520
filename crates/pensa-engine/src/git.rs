//! What the engine asks of git, called as a program and never through a shell.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use pensa_core::{Code, Error, Result};

/// Longest that git may take; it runs while other writers wait.
const PATIENCE: Duration = Duration::from_secs(10);

/// Stages files if they are in a git work tree; does nothing outside one.
pub(crate) fn stage(project: &Path, files: &[PathBuf]) -> Result<()> {
    if !run(git(project).args(["rev-parse", "--is-inside-work-tree"])).is_ok_and(|told| told.success) {
        return Ok(());
    }
    let told = run(git(project).args(["add", "--"]).args(files))?;
    if told.success { Ok(()) } else { Err(Error::internal(format!("git add failed: {}", told.stderr.trim()))) }
}

/// Whether a file is part of the repository. Without git, or outside a repository, it is not.
pub(crate) fn is_tracked(project: &Path, file: &Path) -> bool {
    run(git(project).args(["ls-files", "--error-unmatch", "--"]).arg(file)).is_ok_and(|told| told.success)
}

/// The commit that is checked out.
pub(crate) fn head(project: &Path) -> Option<String> {
    asked(git(project).args(["rev-parse", "--verify", "--quiet", "HEAD"])).and_then(line)
}

/// The commit that two others come from.
pub(crate) fn merge_base(project: &Path, one: &str, other: &str) -> Option<String> {
    asked(git(project).args(["merge-base", "--end-of-options", one, other])).and_then(line)
}

/// A file of a directory as it is in a commit.
pub(crate) fn show(dir: &Path, commit: &str, file: &str) -> Option<Vec<u8>> {
    asked(git(dir).args(["show", "--end-of-options", &format!("{commit}:./{file}")]))
}

fn line(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// What git answers to a question about the repository, if it has an answer. A hook's own view of the index is not
/// what is meant.
fn asked(command: &mut Command) -> Option<Vec<u8>> {
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(name);
    }
    run(command).ok().filter(|told| told.success).map(|told| told.stdout)
}

fn git(project: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(project).env("GIT_TERMINAL_PROMPT", "0");
    command
}

struct Told {
    success: bool,
    stdout: Vec<u8>,
    stderr: String,
}

/// Reads a pipe to its end while the program runs.
fn all_of(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

/// Runs git to its end, or ends it when it takes too long.
fn run(command: &mut Command) -> Result<Told> {
    let failed = |e: std::io::Error| Error::internal(format!("cannot run git: {e}"));
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(failed)?;
    let (stdout, stderr) = (child.stdout.take().map(all_of), child.stderr.take().map(all_of));
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            let [stdout, stderr] =
                [stdout, stderr].map(|reading| reading.and_then(|it| it.join().ok()).unwrap_or_default());
            return Ok(Told {
                success: status.success(),
                stdout,
                stderr: String::from_utf8_lossy(&stderr).into_owned(),
            });
        }
        if Instant::now() >= deadline {
            let _ = child.kill();
            let _ = child.wait();
            return Err(Error::new(Code::Timeout, format!("git took longer than {} s", PATIENCE.as_secs())));
        }
        thread::sleep(Duration::from_millis(2));
    }
}

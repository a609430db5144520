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

fn git(project: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(project).env("GIT_TERMINAL_PROMPT", "0");
    command
}

struct Told {
    success: bool,
    stderr: String,
}

/// Runs git to its end, or ends it when it takes too long.
fn run(command: &mut Command) -> Result<Told> {
    let failed = |e: std::io::Error| Error::internal(format!("cannot run git: {e}"));
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().map_err(failed)?;
    let mut pipe = child.stderr.take();
    let reading = thread::spawn(move || {
        let mut stderr = Vec::new();
        if let Some(pipe) = &mut pipe {
            let _ = pipe.read_to_end(&mut stderr);
        }
        String::from_utf8_lossy(&stderr).into_owned()
    });
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            return Ok(Told { success: status.success(), stderr: reading.join().unwrap_or_default() });
        }
        if Instant::now() >= deadline {
            let _ = child.kill();
            let _ = child.wait();
            return Err(Error::new(Code::Timeout, format!("git took longer than {} s", PATIENCE.as_secs())));
        }
        thread::sleep(Duration::from_millis(2));
    }
}

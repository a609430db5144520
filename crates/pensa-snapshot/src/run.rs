//! Runs git and file system tools, never through a shell and never with prompts.
//!
//! There is no time limit, because the duration depends on the amount of data.

use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use pensa_core::repo::GIT_ENVIRONMENT;
use pensa_core::{Code, Error, Result};

use crate::error;
use crate::path::escape;

/// Limit on the part of a program's standard error that goes into an error message.
const MAX_STDERR_CHARS: usize = 600;

#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) success: bool,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

/// Git in a directory, without hooks and file system monitors. Git does not update the index.
pub(crate) fn git(dir: &Path) -> Command {
    let mut command = bare_git();
    command.arg("-C").arg(dir);
    command.args(["-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false", "-c", "core.hooksPath=/dev/null"]);
    command
}

/// Git without a directory.
pub(crate) fn bare_git() -> Command {
    let mut command = Command::new("git");
    for name in GIT_ENVIRONMENT {
        command.env_remove(name);
    }
    // Error messages are matched below, so they must be in English.
    command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0").env("GIT_OPTIONAL_LOCKS", "0");
    // A missing object must not be fetched or replaced by another.
    command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_NO_REPLACE_OBJECTS", "1");
    command
}

/// The root of the work tree that contains a directory; `None` outside a work tree.
pub(crate) fn work_tree_root(dir: &Path) -> Result<Option<PathBuf>> {
    let dir = dir.canonicalize().map_err(|e| error::io("open", dir.display(), e))?;
    // Avoids starting git for most directories outside a repository.
    if !dir.ancestors().any(|above| above.join(".git").symlink_metadata().is_ok()) {
        return Ok(None);
    }
    let output = run(git(&dir).args(["rev-parse", "--show-toplevel"]), None)?;
    if output.success {
        return Ok(Some(path_line(output.stdout)));
    }
    let nowhere = ["not a git repository", "must be run in a work tree"];
    if nowhere.iter().any(|words| output.stderr.contains(words)) {
        Ok(None)
    } else {
        Err(command_error("git", &output))
    }
}

/// Runs two closures in parallel: most of their time is spent waiting for programs.
pub(crate) fn join<A, B: Send>(one: impl FnOnce() -> A, other: impl FnOnce() -> B + Send) -> (A, B) {
    thread::scope(|scope| {
        let other = scope.spawn(other);
        let one = one();
        (one, other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Parses a path printed on a line of its own. The path itself may contain newlines.
pub(crate) fn path_line(mut bytes: Vec<u8>) -> PathBuf {
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

/// Runs a program and returns its output; an error if it fails.
pub(crate) fn must(command: &mut Command, input: Option<Vec<u8>>) -> Result<Vec<u8>> {
    let output = run(command, input)?;
    if output.success { Ok(output.stdout) } else { Err(command_error(&name(command), &output)) }
}

/// Like [`must`], for a program that prints one line.
pub(crate) fn must_line(command: &mut Command, input: Option<Vec<u8>>) -> Result<String> {
    let line = String::from_utf8_lossy(&must(command, input)?).trim_end_matches('\n').to_owned();
    if line.is_empty() { Err(Error::internal(format!("{} printed nothing", name(command)))) } else { Ok(line) }
}

/// Runs a program and collects its output.
pub(crate) fn run(command: &mut Command, input: Option<Vec<u8>>) -> Result<CommandOutput> {
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    let spawned = command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|e| spawn_error(command, e))?;
    let writer = child.stdin.take().zip(input).map(|(mut pipe, input)| {
        // If the program stops reading early, its exit status says why.
        thread::spawn(move || drop(pipe.write_all(&input)))
    });
    let ended = child.wait_with_output().map_err(|e| spawn_error(command, e))?;
    if let Some(writer) = writer {
        let _ = writer.join();
    }
    let stderr = String::from_utf8_lossy(&ended.stderr).into_owned();
    Ok(CommandOutput { success: ended.status.success(), stdout: ended.stdout, stderr })
}

pub(crate) fn spawn_error(command: &Command, error: io::Error) -> Error {
    let name = name(command);
    if error.kind() == io::ErrorKind::NotFound {
        return error::unsupported(format!("the program {name} is not on this machine's PATH"));
    }
    error::io("run", name, error)
}

fn name(command: &Command) -> String {
    command.get_program().display().to_string()
}

/// The error for a program that failed.
pub(crate) fn command_error(name: &str, output: &CommandOutput) -> Error {
    let words: String =
        escape(output.stderr.trim().as_bytes()).replace("%0A", "; ").chars().take(MAX_STDERR_CHARS).collect();
    let has = |some: &[&str]| some.iter().any(|part| output.stderr.contains(part));
    let message = format!("{name} failed: {words}");
    if has(&["No space left on device", "Disk quota exceeded"]) {
        return Error::new(Code::DiskFull, message).hint("free some space and try again");
    }
    if has(&["Permission denied", "Operation not permitted", "dubious ownership", "Read-only file system"]) {
        return Error::new(Code::Forbidden, message).hint("check who owns it and whether it is read-only");
    }
    Error::internal(message)
}

/// Whether a program is on the PATH.
#[cfg(any(feature = "btrfs", feature = "zfs"))]
pub(crate) fn is_program(name: &str) -> bool {
    let is_one = |dir: PathBuf| rustix::fs::access(dir.join(name), rustix::fs::Access::EXEC_OK).is_ok();
    std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(is_one))
}

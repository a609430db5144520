//! Runs git and the programs of file systems, never through a shell and never asking anybody anything.
//!
//! There is no limit of time: how long it takes depends on how much there is to read.

use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use pensa_core::repo::GIT_SURROUNDINGS;
use pensa_core::{Code, Error, Result};

use crate::error;
use crate::path::escape;

/// Most of a program's complaint that is passed on.
const COMPLAINT: usize = 600;

#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) success: bool,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

/// Git in a directory. No hook and no watcher of the repository is run, and its index is never written by the way.
pub(crate) fn git(dir: &Path) -> Command {
    let mut command = bare_git();
    command.arg("-C").arg(dir);
    command.args(["-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false", "-c", "core.hooksPath=/dev/null"]);
    command
}

/// Git without a word about where.
pub(crate) fn bare_git() -> Command {
    let mut command = Command::new("git");
    for name in GIT_SURROUNDINGS {
        command.env_remove(name);
    }
    // Its words are looked into, so they must be in one language.
    command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0").env("GIT_OPTIONAL_LOCKS", "0");
    // An object that is not here must not be fetched, nor another be taken for it.
    command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_NO_REPLACE_OBJECTS", "1");
    command
}

/// The root of the work tree that a directory is in; none outside one.
pub(crate) fn top_of(dir: &Path) -> Result<Option<PathBuf>> {
    let dir = dir.canonicalize().map_err(|e| error::io("open", dir.display(), e))?;
    // Most directories outside a repository are known for that without asking git.
    if !dir.ancestors().any(|above| above.join(".git").symlink_metadata().is_ok()) {
        return Ok(None);
    }
    let told = run(git(&dir).args(["rev-parse", "--show-toplevel"]), None)?;
    if told.success {
        return Ok(Some(path_line(told.stdout)));
    }
    let nowhere = ["not a git repository", "must be run in a work tree"];
    if nowhere.iter().any(|words| told.stderr.contains(words)) { Ok(None) } else { Err(complaint("git", &told)) }
}

/// Does two things at once, for most of the time is spent waiting for programs.
pub(crate) fn both<A, B: Send>(one: impl FnOnce() -> A, other: impl FnOnce() -> B + Send) -> (A, B) {
    thread::scope(|scope| {
        let other = scope.spawn(other);
        let one = one();
        (one, other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// A path that was printed alone; it may have line breaks of its own.
pub(crate) fn path_line(mut bytes: Vec<u8>) -> PathBuf {
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

/// Runs a program that must succeed, and gives what it printed.
pub(crate) fn must(command: &mut Command, input: Option<Vec<u8>>) -> Result<Vec<u8>> {
    let told = run(command, input)?;
    if told.success { Ok(told.stdout) } else { Err(complaint(&name(command), &told)) }
}

/// The same, for a program that prints one line.
pub(crate) fn must_line(command: &mut Command, input: Option<Vec<u8>>) -> Result<String> {
    let line = String::from_utf8_lossy(&must(command, input)?).trim_end_matches('\n').to_owned();
    if line.is_empty() { Err(Error::internal(format!("{} printed nothing", name(command)))) } else { Ok(line) }
}

/// Runs a program to its end.
pub(crate) fn run(command: &mut Command, input: Option<Vec<u8>>) -> Result<Told> {
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    let spawned = command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|e| not_run(command, e))?;
    let writer = child.stdin.take().zip(input).map(|(mut pipe, input)| {
        // Whether the program reads all of it is for the program to say.
        thread::spawn(move || drop(pipe.write_all(&input)))
    });
    let ended = child.wait_with_output().map_err(|e| not_run(command, e))?;
    if let Some(writer) = writer {
        let _ = writer.join();
    }
    let stderr = String::from_utf8_lossy(&ended.stderr).into_owned();
    Ok(Told { success: ended.status.success(), stdout: ended.stdout, stderr })
}

pub(crate) fn not_run(command: &Command, error: io::Error) -> Error {
    let name = name(command);
    if error.kind() == io::ErrorKind::NotFound {
        return error::unsupported(format!("the program {name} is not on this machine's PATH"));
    }
    error::io("run", name, error)
}

fn name(command: &Command) -> String {
    command.get_program().display().to_string()
}

/// What a program said when it failed.
pub(crate) fn complaint(name: &str, told: &Told) -> Error {
    let words: String = escape(told.stderr.trim().as_bytes()).replace("%0A", "; ").chars().take(COMPLAINT).collect();
    let has = |some: &[&str]| some.iter().any(|part| told.stderr.contains(part));
    let message = format!("{name} failed: {words}");
    if has(&["No space left on device", "Disk quota exceeded"]) {
        return Error::new(Code::DiskFull, message).hint("free some space and try again");
    }
    if has(&["Permission denied", "Operation not permitted", "dubious ownership", "Read-only file system"]) {
        return Error::new(Code::Forbidden, message).hint("check who owns it and whether it is read-only");
    }
    Error::internal(message)
}

/// Whether a program can be run by its name.
#[cfg(any(feature = "btrfs", feature = "zfs"))]
pub(crate) fn is_program(name: &str) -> bool {
    let is_one = |dir: PathBuf| rustix::fs::access(dir.join(name), rustix::fs::Access::EXEC_OK).is_ok();
    std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(is_one))
}

//! Runs git as a program, never through a shell, and reads the files that come with a repository.
//!
//! ```
//! let dir = tempfile::tempdir()?;
//! pensa_git::run(pensa_git::git(dir.path()).args(["init", "--quiet"]))?;
//! let repo = pensa_git::Repo::around(dir.path()).expect("a repository");
//! repo.must(["config", "user.name", "Ana"])?;
//! assert_eq!(repo.setting("user.name")?.as_deref(), Some("Ana"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Start with [`run`] and [`Repo`]. [`Objects`] reads many revisions quickly, [`WorkTree`] finds a repository without
//! starting git, and [`read_committed`] reads files that the repository's authors control.

mod committed;
mod dirs;
pub mod files;
mod mentions;
mod objects;

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use pensa_core::repo::GIT_ENVIRONMENT;
use pensa_core::{Code, Error, Result, error};
use sha1::Sha1;
use sha2::{Digest, Sha256};

pub use committed::{DEFAULT_MAX_FILE, open_committed, read_committed};
pub use dirs::{WorkTree, common_git_dir, without_dots};
pub use mentions::{Commit, mentions};
pub use objects::Objects;

/// Time limit for a git command: other writers may be waiting meanwhile.
pub const GIT_TIMEOUT: Duration = Duration::from_secs(10);

/// Stages files if they are in a git work tree; does nothing outside one.
///
/// Inside a hook, the files go into the index of the commit in progress, which is not always the repository's own
/// index.
pub fn stage(project: &Path, files: &[PathBuf]) -> Result<()> {
    let project = fs::canonicalize(project).unwrap_or_else(|_| project.to_owned());
    let in_hook = hook_work_tree(&project);
    // If the hook belongs to the nearest repository, no other one needs to be looked up.
    let nearest = project.ancestors().find(|above| above.join(".git").exists());
    let is_nearest = in_hook.as_ref().is_some_and(|(top, _)| nearest == Some(top));
    let own = if is_nearest { None } else { work_tree(&mut git(&project)) };
    match in_hook {
        Some((top, index)) if own.as_ref().is_none_or(|own| *own == top) => {
            add(plain(), files).and_then(|()| add_to_next_index(&index, files))
        }
        _ if own.is_some() => add(git(&project), files),
        _ => Ok(()),
    }
}

/// Inside a git hook: the work tree that contains `project`, and the index of the commit in progress.
fn hook_work_tree(project: &Path) -> Option<(PathBuf, PathBuf)> {
    if GIT_ENVIRONMENT.iter().all(|name| std::env::var_os(name).is_none()) {
        return None;
    }
    let output = run(plain().args(["rev-parse", "--show-toplevel", "--git-path", "index"])).ok()?;
    let [top, index] = output.lines()?.map(PathBuf::from);
    project.starts_with(&top).then_some((top, index))
}

fn add(mut git: Command, files: &[PathBuf]) -> Result<()> {
    let output = run(git.args(["add", "--"]).args(files))?;
    if output.success {
        return Ok(());
    }
    let reason = output.stderr.trim();
    if reason.contains("index.lock") {
        return Err(Error::new(Code::Busy, format!("git's index is locked: {reason}"))
            .hint("another git command is at work in this repository; try again when it has ended"));
    }
    let error = Error::internal(format!("git add failed: {reason}"));
    if reason.contains("ignored") {
        Err(error.hint("pn doctor tells which rule ignores the files"))
    } else {
        Err(error)
    }
}

/// Updates the index that replaces the repository's own after `git commit FILE`. That command commits from a temporary
/// index; without the files, the next index would show them as reverted.
fn add_to_next_index(index: &Path, files: &[PathBuf]) -> Result<()> {
    if !index.file_name().is_some_and(|name| name.to_string_lossy().starts_with("next-index-")) {
        return Ok(());
    }
    let next_index = index.with_file_name("index.lock");
    if next_index.is_file() {
        let mut git = plain();
        git.env("GIT_INDEX_FILE", next_index);
        // The commit is correct even if this fails.
        let _ = add(git, files);
    }
    Ok(())
}

/// Refuses a directory outside any git work tree.
pub fn require_work_tree(dir: &Path) -> Result<()> {
    Repo::around(dir).map(drop).ok_or_else(|| no_repo(dir))
}

/// The error for a directory outside any repository, with git's own reason if git refused the repository.
pub fn no_repo(dir: &Path) -> Error {
    let stderr = run(git(dir).args(["rev-parse", "--show-toplevel"])).map(|output| output.stderr);
    let reason = stderr.unwrap_or_else(|e| e.message);
    let error = Error::new(Code::NoRepo, format!("{} is in no git repository", dir.display()));
    match reason.lines().next().and_then(|line| line.strip_prefix("fatal: ")) {
        Some(reason) if !reason.starts_with("not a git repository") => error.hint(format!("git says: {reason}")),
        _ => error.hint("git init makes it one"),
    }
}

fn work_tree(git: &mut Command) -> Option<PathBuf> {
    run(git.args(["rev-parse", "--show-toplevel"])).ok()?.line().map(PathBuf::from)
}

/// Whether a file is tracked. False without git or outside a repository.
pub fn is_tracked(project: &Path, file: &Path) -> bool {
    run(git(project).args(["ls-files", "--error-unmatch", "--"]).arg(file)).is_ok_and(|output| output.success)
}

/// The tracked files that differ from the last commit, at most `limit` of them. Empty without git or outside a
/// repository.
pub fn changed_files(dir: &Path, limit: usize) -> Vec<String> {
    if !dir.ancestors().any(|above| above.join(".git").exists()) {
        return Vec::new();
    }
    let names = ["diff", "--name-only", "--no-ext-diff", "--no-textconv", "-z", "HEAD", "--"];
    let Ok(output) = run(git(dir).args(names)) else { return Vec::new() };
    let names = output.stdout.split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok());
    names.filter(|name| !name.is_empty() && !name.contains(char::is_control)).take(limit).map(str::to_owned).collect()
}

/// Whether a file may have come with the repository: it is tracked, or git cannot say.
pub fn may_be_tracked(project: &Path, file: &Path) -> bool {
    match run(git(project).args(["ls-files", "--"]).arg(file)) {
        Ok(output) if output.success => !output.stdout.is_empty(),
        _ => project.ancestors().any(|dir| dir.join(".git").exists()),
    }
}

/// Adds a store's private files to `info/exclude`. A branch without the store's `.gitignore` would otherwise let git
/// commit them, and the next checkout would delete them.
pub fn exclude(dir: &Path, names: &[&str]) -> Result<()> {
    let Some(repo) = Repo::around(dir) else { return Ok(()) };
    let top = fs::canonicalize(&repo.top).unwrap_or_else(|_| repo.top.clone());
    let Some(below) = fs::canonicalize(dir).ok().and_then(|dir| Some(dir.strip_prefix(&top).ok()?.to_owned())) else {
        return Ok(());
    };
    // Escape the pattern characters of gitignore.
    let mut quoted = String::new();
    for c in below.to_string_lossy().chars() {
        if "\\*?[".contains(c) {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    let path = repo.common.join("info/exclude");
    let mut rules = files::read(&path)?.unwrap_or_default();
    let lines: Vec<String> = names.iter().map(|name| format!("/{quoted}/{name}")).collect();
    let is_there = |line: &String| rules.split(|byte| *byte == b'\n').any(|rule| rule == line.as_bytes());
    let missing: Vec<&String> = lines.iter().filter(|line| !is_there(line)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !rules.is_empty() && !rules.ends_with(b"\n") {
        rules.push(b'\n');
    }
    missing.iter().for_each(|line| rules.extend([line.as_bytes(), b"\n"].concat()));
    let info = repo.common.join("info");
    fs::create_dir_all(&info).map_err(|e| error::io("create", &info, &e))?;
    files::replace(&path, &rules, None)
}

/// The JSONL files in a store's directory.
pub fn jsonl_files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")).collect()
}

/// Whether a commit is one of `heads` or an ancestor of one.
pub fn is_part_of(dir: &Path, commit: &str, heads: &[String]) -> bool {
    if heads.is_empty() {
        return false;
    }
    let mut revisions = git(dir);
    revisions.args(["rev-list", "--ignore-missing", "--max-count=1", commit, "--not"]).args(heads);
    run(&mut revisions).is_ok_and(|output| output.success && output.stdout.is_empty())
}

/// Whether a file in `dir` is unchanged since HEAD.
pub fn is_clean(dir: &Path, file: &str) -> bool {
    run(git(dir).args(["diff", "--quiet", "HEAD", "--", &format!("./{file}")])).is_ok_and(|output| output.success)
}

/// The merge base of two commits.
pub fn merge_base(dir: &Path, one: &str, other: &str) -> Option<String> {
    run(git(dir).args(["merge-base", "--end-of-options", one, other])).ok()?.line()
}

/// The merge base's version of a file in an unfinished merge.
pub fn merge_base_of_file(dir: &Path, file: &str) -> Option<Vec<u8>> {
    let output = run(git(dir).args(["cat-file", "blob", &format!(":1:./{file}")])).ok()?;
    output.success.then_some(output.stdout)
}

/// Merges three versions of a file into `ours` with git's default driver. Returns whether there were no conflicts.
pub fn merge_file(ours: &Path, base: &Path, theirs: &Path) -> Result<bool> {
    let mut git = plain();
    git.args(["merge-file", "--quiet", "-L", "ours", "-L", "base", "-L", "theirs", "--"]);
    Ok(run(git.args([ours, base, theirs]))?.success)
}

/// A commit that changed a file, and the previous commits that changed it.
#[derive(Debug)]
pub struct FileChange {
    pub commit: String,
    pub before: Vec<String>,
}

/// The commits that changed a file in `dir`, newest first.
pub fn changes(dir: &Path, commit: &str, file: &str, limit: usize) -> Vec<FileChange> {
    let path = format!("./{file}");
    let limit = format!("--max-count={limit}");
    let revisions = run(git(dir).args(["rev-list", "--parents", &limit, "--end-of-options", commit, "--", &path]));
    let text = revisions
        .ok()
        .filter(|output| output.success)
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let changed = |line: &str| {
        let mut ids = line.split(' ').map(str::to_owned);
        Some(FileChange { commit: ids.next()?, before: ids.collect() })
    };
    text.unwrap_or_default().lines().filter_map(changed).collect()
}

/// A commit with its message.
#[derive(Debug)]
pub struct CommitMessage {
    pub id: String,
    pub seconds: i64,
    pub author: String,
    pub message: String,
}

/// The newest commits of the repository that contains `dir`, newest first. Error outside a repository.
pub fn commits(dir: &Path, limit: usize) -> Result<Vec<CommitMessage>> {
    let repo = Repo::around(dir).ok_or_else(|| no_repo(dir))?;
    let limit = format!("--max-count={limit}");
    // A repository without a commit has none to tell.
    let output = run(repo.git().args([
        "log",
        &limit,
        "--no-show-signature",
        "--encoding=UTF-8",
        "--format=%H%n%at%n%an%n%B%x00",
    ]))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let commit = |text: &str| {
        let mut parts = text.trim_start_matches('\n').splitn(4, '\n');
        let (id, seconds, author, message) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        Some(CommitMessage {
            id: id.to_owned(),
            seconds: seconds.parse().ok()?,
            author: author.to_owned(),
            message: message.trim().to_owned(),
        })
    };
    Ok(text.split('\0').filter_map(commit).collect())
}

/// The blob id of a content, hashed with the algorithm of the id `like`. CRLF counts as LF, as git stores it.
pub fn blob_id(bytes: &[u8], like: &str) -> String {
    let has_crlf = bytes.contains(&b'\r') && bytes.windows(2).any(|two| two == b"\r\n");
    let stored: Vec<u8>;
    let bytes = if has_crlf {
        let kept = bytes.iter().enumerate().filter(|(at, byte)| **byte != b'\r' || bytes.get(at + 1) != Some(&b'\n'));
        stored = kept.map(|(_, byte)| *byte).collect();
        &stored
    } else {
        bytes
    };
    let header = format!("blob {}\0", bytes.len());
    if like.len() > 40 {
        hex::encode(Sha256::new().chain_update(&header).chain_update(bytes).finalize())
    } else {
        hex::encode(Sha1::new().chain_update(&header).chain_update(bytes).finalize())
    }
}

/// Git in the repository that contains `dir`, even inside a hook of another repository.
pub fn git(dir: &Path) -> Command {
    let mut command = plain();
    command.arg("-C").arg(dir);
    for name in GIT_ENVIRONMENT {
        command.env_remove(name);
    }
    command
}

/// Git in the current directory and environment.
pub fn plain() -> Command {
    let mut command = Command::new("git");
    // Messages are parsed, so they must not be translated.
    command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    command
}

/// A repository and one of its work trees.
#[derive(Debug, Clone)]
pub struct Repo {
    pub top: PathBuf,
    /// The git directory shared by all work trees.
    pub common: PathBuf,
}

impl Repo {
    /// The repository that contains `dir`; `None` outside one, in a bare one, or without git.
    pub fn around(dir: &Path) -> Option<Self> {
        // Starting git is slow, so check for `.git` first.
        dir.ancestors().find(|above| above.join(".git").exists())?;
        let output = run(git(dir).args(["rev-parse", "--show-toplevel", "--git-common-dir"])).ok()?;
        let [top, common] = output.lines()?.map(PathBuf::from);
        Some(Self { common: fs::canonicalize(dir.join(common)).ok()?, top })
    }

    pub fn git(&self) -> Command {
        git(&self.top)
    }

    /// A configuration value, from any scope.
    pub fn setting(&self, name: &str) -> Result<Option<String>> {
        Ok(run(self.git().args(["config", "--get", name]))?.line())
    }

    /// Runs git and returns an error if it fails.
    pub fn must<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Result<GitOutput> {
        let mut git = self.git();
        let output = run(git.args(args))?;
        if output.success { Ok(output) } else { Err(Error::internal(format!("git failed: {}", output.stderr.trim()))) }
    }
}

#[derive(Debug)]
pub struct GitOutput {
    pub success: bool,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl GitOutput {
    /// The single line of output; `None` if git failed or printed nothing.
    pub fn line(self) -> Option<String> {
        let text = String::from_utf8(self.stdout).ok()?;
        let line = text.strip_suffix('\n').unwrap_or(&text);
        (self.success && !line.is_empty()).then(|| line.to_owned())
    }

    /// Exactly `COUNT` lines of output; `None` if git failed or printed another number of lines.
    pub fn lines<const COUNT: usize>(self) -> Option<[String; COUNT]> {
        let text = self.line()?;
        let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        lines.try_into().ok()
    }
}

/// Runs git with a time limit.
pub fn run(command: &mut Command) -> Result<GitOutput> {
    run_with(command, Vec::new())
}

/// Like [`run`], with input.
fn run_with(command: &mut Command, input: Vec<u8>) -> Result<GitOutput> {
    let failed = |e: std::io::Error| Error::internal(format!("cannot run git: {e}"));
    let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
    let piped = command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().map_err(failed)?;
    if let Some(mut pipe) = child.stdin.take() {
        // If git stops reading early, its exit status says why.
        thread::spawn(move || drop(pipe.write_all(&input)));
    }
    let (stdout, stderr) = (drain(child.stdout.take()), drain(child.stderr.take()));
    let deadline = Instant::now() + GIT_TIMEOUT;
    let rest = || deadline.saturating_duration_since(Instant::now());
    if let Ok(stdout) = stdout.recv_timeout(rest())
        && let Ok(stderr) = stderr.recv_timeout(rest())
    {
        // Both pipes are closed, so git is about to exit.
        while !rest().is_zero() {
            if let Some(status) = child.try_wait().map_err(failed)? {
                let stderr = String::from_utf8_lossy(&stderr).into_owned();
                return Ok(GitOutput { success: status.success(), stdout, stderr });
            }
            thread::sleep(Duration::from_micros(100));
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    Err(Error::new(Code::Timeout, format!("git took longer than {} s", GIT_TIMEOUT.as_secs())))
}

/// Reads a pipe to its end on a thread, so that git never blocks on a full pipe.
fn drain(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (done, all) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = done.send(bytes);
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_have_the_ids_that_git_gives_them() {
        let (short, long) = ("0".repeat(40), "0".repeat(64));
        assert_eq!(blob_id(b"", &short), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(blob_id(b"a\nb\n", &short), blob_id(b"a\r\nb\r\n", &short), "as git stores them");
        assert_ne!(blob_id(b"a\rb\n", &short), blob_id(b"ab\n", &short));
        assert_eq!(blob_id(b"", &long), "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813");
    }
}

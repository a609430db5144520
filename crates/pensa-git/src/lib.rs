//! Git as a program, called with arguments and never through a shell, and the files that a repository brings.
//!
//! What a store makes of it is left to the engine, hooks to the host.

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

use pensa_core::repo::GIT_SURROUNDINGS;
use pensa_core::{Code, Error, Result, error};
use sha1::Sha1;
use sha2::{Digest, Sha256};

pub use committed::{DEFAULT_MAX_FILE, open_committed, read_committed};
pub use dirs::{Surrounding, common_git_dir, without_dots};
pub use mentions::{Commit, mentions};
pub use objects::Objects;

/// Longest that git may take; it runs while other writers wait.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Stages files if they are in a git work tree; does nothing outside one.
///
/// Inside a hook they go into the index of the commit that is being made, which need not be the repository's own.
pub fn stage(project: &Path, files: &[PathBuf]) -> Result<()> {
    let project = fs::canonicalize(project).unwrap_or_else(|_| project.to_owned());
    let at_hand = at_hand(&project);
    // If git is busy with the repository that is nearest to the project, there is no other to ask for.
    let nearest = project.ancestors().find(|above| above.join(".git").exists());
    let is_nearest = at_hand.as_ref().is_some_and(|(top, _)| nearest == Some(top));
    let own = if is_nearest { None } else { work_tree(&mut git(&project)) };
    match at_hand {
        Some((top, index)) if own.as_ref().is_none_or(|own| *own == top) => {
            add(plain(), files).and_then(|()| add_to_index_in_waiting(&index, files))
        }
        _ if own.is_some() => add(git(&project), files),
        _ => Ok(()),
    }
}

/// The work tree around a project that git itself is busy with, if we are in one of its hooks, and its index.
fn at_hand(project: &Path) -> Option<(PathBuf, PathBuf)> {
    if GIT_SURROUNDINGS.iter().all(|name| std::env::var_os(name).is_none()) {
        return None;
    }
    let told = run(plain().args(["rev-parse", "--show-toplevel", "--git-path", "index"])).ok()?;
    let [top, index] = told.lines()?.map(PathBuf::from);
    project.starts_with(&top).then_some((top, index))
}

fn add(mut git: Command, files: &[PathBuf]) -> Result<()> {
    let told = run(git.args(["add", "--"]).args(files))?;
    if told.success {
        return Ok(());
    }
    let reason = told.stderr.trim();
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

/// `git commit FILE` commits from an index of its own. The index that is to be the repository's afterwards lies
/// ready under another name; without the files it would say that they were put back to what they were.
fn add_to_index_in_waiting(index: &Path, files: &[PathBuf]) -> Result<()> {
    if !index.file_name().is_some_and(|name| name.to_string_lossy().starts_with("next-index-")) {
        return Ok(());
    }
    let waiting = index.with_file_name("index.lock");
    if waiting.is_file() {
        let mut git = plain();
        git.env("GIT_INDEX_FILE", waiting);
        // The commit is right without it.
        let _ = add(git, files);
    }
    Ok(())
}

/// Refuses a directory that is in no work tree of git's.
pub fn require_work_tree(dir: &Path) -> Result<()> {
    Repo::around(dir).map(drop).ok_or_else(|| no_repo(dir))
}

/// Why a directory is in no repository. Git has its own words where it refuses one, as that of another user.
pub fn no_repo(dir: &Path) -> Error {
    let told = run(git(dir).args(["rev-parse", "--show-toplevel"])).map(|told| told.stderr);
    let reason = told.unwrap_or_else(|e| e.message);
    let error = Error::new(Code::NoRepo, format!("{} is in no git repository", dir.display()));
    match reason.lines().next().and_then(|line| line.strip_prefix("fatal: ")) {
        Some(reason) if !reason.starts_with("not a git repository") => error.hint(format!("git says: {reason}")),
        _ => error.hint("git init makes it one"),
    }
}

fn work_tree(git: &mut Command) -> Option<PathBuf> {
    run(git.args(["rev-parse", "--show-toplevel"])).ok()?.line().map(PathBuf::from)
}

/// Whether a file is part of the repository. Without git, or outside a repository, it is not.
pub fn is_tracked(project: &Path, file: &Path) -> bool {
    run(git(project).args(["ls-files", "--error-unmatch", "--"]).arg(file)).is_ok_and(|told| told.success)
}

/// Whether anybody who can change the repository may have written a file: it is part of it, or git cannot tell.
pub fn may_have_brought(project: &Path, file: &Path) -> bool {
    match run(git(project).args(["ls-files", "--"]).arg(file)) {
        Ok(told) if told.success => !told.stdout.is_empty(),
        _ => project.ancestors().any(|dir| dir.join(".git").exists()),
    }
}

/// Keeps git from ever taking in what a store has to itself, also on a branch that has no `.gitignore` for it: what is
/// not ignored there would be committed with everything else, and be gone with the next checkout.
pub fn exclude(dir: &Path, names: &[&str]) -> Result<()> {
    let Some(repo) = Repo::around(dir) else { return Ok(()) };
    let top = fs::canonicalize(&repo.top).unwrap_or_else(|_| repo.top.clone());
    let Some(below) = fs::canonicalize(dir).ok().and_then(|dir| Some(dir.strip_prefix(&top).ok()?.to_owned())) else {
        return Ok(());
    };
    // What a pattern would take for more than itself.
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

/// Whether a commit is one of these or comes before one of them.
pub fn is_part_of(dir: &Path, commit: &str, heads: &[String]) -> bool {
    if heads.is_empty() {
        return false;
    }
    let mut asked = git(dir);
    asked.args(["rev-list", "--ignore-missing", "--max-count=1", commit, "--not"]).args(heads);
    run(&mut asked).is_ok_and(|told| told.success && told.stdout.is_empty())
}

/// Whether a file of a directory is as it is in the commit that is checked out.
pub fn is_clean(dir: &Path, file: &str) -> bool {
    run(git(dir).args(["diff", "--quiet", "HEAD", "--", &format!("./{file}")])).is_ok_and(|told| told.success)
}

/// The commit that two others come from.
pub fn merge_base(dir: &Path, one: &str, other: &str) -> Option<String> {
    run(git(dir).args(["merge-base", "--end-of-options", one, other])).ok()?.line()
}

/// The version of a file from which both sides of a merge come that is yet to be committed.
pub fn merge_base_of_file(dir: &Path, file: &str) -> Option<Vec<u8>> {
    let told = run(git(dir).args(["cat-file", "blob", &format!(":1:./{file}")])).ok()?;
    told.success.then_some(told.stdout)
}

/// Merges three versions of a file as git does where no driver is set, into `ours`; says whether no conflict is left.
pub fn merge_file(ours: &Path, base: &Path, theirs: &Path) -> Result<bool> {
    let mut git = plain();
    git.args(["merge-file", "--quiet", "-L", "ours", "-L", "base", "-L", "theirs", "--"]);
    Ok(run(git.args([ours, base, theirs]))?.success)
}

/// A commit in which a file changed, with those before it in which it changed too.
#[derive(Debug)]
pub struct Changed {
    pub commit: String,
    pub before: Vec<String>,
}

/// Where a file of a directory changed in the history of a commit, newest first.
pub fn changes(dir: &Path, commit: &str, file: &str, limit: usize) -> Vec<Changed> {
    let path = format!("./{file}");
    let limit = format!("--max-count={limit}");
    let asked = run(git(dir).args(["rev-list", "--parents", &limit, "--end-of-options", commit, "--", &path]));
    let text = asked.ok().filter(|told| told.success).map(|told| String::from_utf8_lossy(&told.stdout).into_owned());
    let changed = |line: &str| {
        let mut ids = line.split(' ').map(str::to_owned);
        Some(Changed { commit: ids.next()?, before: ids.collect() })
    };
    text.unwrap_or_default().lines().filter_map(changed).collect()
}

/// The id that git gives to a content, in a repository whose ids are as long as this one. Ends of lines count as git
/// stores them.
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

/// Git in the repository that `dir` lies in, whatever repository a hook that we run in is about.
pub fn git(dir: &Path) -> Command {
    let mut command = plain();
    command.arg("-C").arg(dir);
    for name in GIT_SURROUNDINGS {
        command.env_remove(name);
    }
    command
}

/// Git in the current directory and surroundings.
pub fn plain() -> Command {
    let mut command = Command::new("git");
    // Its words are looked into, so they must be in one language.
    command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    command
}

/// A repository and the work tree of it that is meant.
#[derive(Debug, Clone)]
pub struct Repo {
    /// The root of the work tree.
    pub top: PathBuf,
    /// Where all work trees have their git directory.
    pub common: PathBuf,
}

impl Repo {
    /// The repository around a directory; none outside one, in a bare one, or without git.
    pub fn around(dir: &Path) -> Option<Self> {
        // Most directories outside a repository are known for that without asking git.
        dir.ancestors().find(|above| above.join(".git").exists())?;
        let told = run(git(dir).args(["rev-parse", "--show-toplevel", "--git-common-dir"])).ok()?;
        let [top, common] = told.lines()?.map(PathBuf::from);
        Some(Self { common: fs::canonicalize(dir.join(common)).ok()?, top })
    }

    pub fn git(&self) -> Command {
        git(&self.top)
    }

    /// A setting, from wherever git takes it.
    pub fn setting(&self, name: &str) -> Result<Option<String>> {
        Ok(run(self.git().args(["config", "--get", name]))?.line())
    }

    /// Runs git, which must succeed.
    pub fn must<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Result<Told> {
        let mut git = self.git();
        let told = run(git.args(args))?;
        if told.success { Ok(told) } else { Err(Error::internal(format!("git failed: {}", told.stderr.trim()))) }
    }
}

#[derive(Debug)]
pub struct Told {
    pub success: bool,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Told {
    /// The one line that was printed, if git succeeded and printed any.
    pub fn line(self) -> Option<String> {
        let text = String::from_utf8(self.stdout).ok()?;
        let line = text.strip_suffix('\n').unwrap_or(&text);
        (self.success && !line.is_empty()).then(|| line.to_owned())
    }

    /// The lines that were printed, if git succeeded and printed just so many.
    pub fn lines<const COUNT: usize>(self) -> Option<[String; COUNT]> {
        let text = self.line()?;
        let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        lines.try_into().ok()
    }
}

/// Runs git to its end, or ends it when it takes too long.
pub fn run(command: &mut Command) -> Result<Told> {
    run_with(command, Vec::new())
}

/// The same, with something to read.
fn run_with(command: &mut Command, input: Vec<u8>) -> Result<Told> {
    let failed = |e: std::io::Error| Error::internal(format!("cannot run git: {e}"));
    let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
    let piped = command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().map_err(failed)?;
    if let Some(mut pipe) = child.stdin.take() {
        // Whether git reads all of it is for git to say.
        thread::spawn(move || drop(pipe.write_all(&input)));
    }
    let (stdout, stderr) = (drain(child.stdout.take()), drain(child.stderr.take()));
    let deadline = Instant::now() + PATIENCE;
    let rest = || deadline.saturating_duration_since(Instant::now());
    if let Ok(stdout) = stdout.recv_timeout(rest())
        && let Ok(stderr) = stderr.recv_timeout(rest())
    {
        // It has nothing left to say, so it ends in this moment.
        while !rest().is_zero() {
            if let Some(status) = child.try_wait().map_err(failed)? {
                let stderr = String::from_utf8_lossy(&stderr).into_owned();
                return Ok(Told { success: status.success(), stdout, stderr });
            }
            thread::sleep(Duration::from_micros(100));
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    Err(Error::new(Code::Timeout, format!("git took longer than {} s", PATIENCE.as_secs())))
}

/// Reads a pipe to its end, so that nobody waits for the other side of it.
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

//! What git knows of a repository as a whole: its files, and who changed what lately. Both are bounded, because a
//! repository may be huge, and names in it may be hostile.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use pensa_core::{Code, Error, Result};

use crate::{git, run_with};

/// The most bytes of names that are read from git at once.
const MAX_BYTES: u64 = 32 << 20;
/// The most files of one commit; a commit with more is an import rather than somebody's work on them.
const MAX_COMMIT_FILES: usize = 1_000;
/// The mark before each commit in the output of `git log`. A file with such a name looks like a commit, which gains nothing:
/// its author could commit under any name.
const COMMIT_MARK: &str = "\u{1}commit ";

/// Who changed which files in a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitSummary {
    pub author: String,
    pub subject: String,
    pub files: BTreeSet<String>,
}

/// The files that git tracks in the repository around `dir`, below `dir`, at most `limit` of them. Names that are not
/// UTF-8, or have control characters, are left out.
pub fn tracked_files(dir: &Path, limit: usize) -> Result<Vec<String>> {
    let output = run_with(git(dir).args(["ls-files", "-z", "--cached"]), Vec::new(), MAX_BYTES)?;
    // Git that was stopped early fails too.
    if !output.success && output.stdout.is_empty() {
        return Err(Error::new(Code::NoRepo, format!("git lists no files: {}", output.stderr.trim()))
            .hint("git init makes a repository"));
    }
    Ok(parts(&output.stdout).filter(|name| is_readable(name)).take(limit).map(Cow::into_owned).collect())
}

/// The newest commits that are no merges, at most `limit`. Empty without commits. Nothing is fetched for it.
pub fn recent_commits(dir: &Path, limit: usize) -> Vec<CommitSummary> {
    let mut log = git(dir);
    log.env("GIT_NO_LAZY_FETCH", "1").args(["log", "-z", "--name-only", "--no-merges", "--no-renames", "--relative"]);
    log.args(["--no-show-signature", "--no-ext-diff", "--no-textconv", &format!("--max-count={limit}")]);
    log.args([&format!("--format={COMMIT_MARK}%aN%x00%s%x00"), "HEAD", "--", "."]);
    let Ok(output) = run_with(&mut log, Vec::new(), MAX_BYTES) else { return Vec::new() };
    let mut commits: Vec<CommitSummary> = Vec::new();
    let mut parts = parts(&output.stdout);
    while let Some(part) = parts.next() {
        let part = part.trim_start_matches('\n');
        if let Some(author) = part.strip_prefix(COMMIT_MARK).filter(|author| is_readable(author)) {
            let subject = parts.next().unwrap_or_default().into_owned();
            commits.push(CommitSummary { author: author.to_owned(), subject, files: BTreeSet::new() });
        } else if let Some(commit) = commits.last_mut().filter(|commit| commit.files.len() < MAX_COMMIT_FILES) {
            commit.files.extend(Some(part.to_owned()).filter(|part| is_readable(part)));
        }
    }
    commits
}

/// The parts of an output that end with a zero byte; the last one may have been cut off.
fn parts(output: &[u8]) -> impl Iterator<Item = Cow<'_, str>> {
    let end = output.iter().rposition(|byte| *byte == 0).unwrap_or_default();
    output[..end].split(|byte| *byte == 0).map(String::from_utf8_lossy)
}

fn is_readable(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_control() || c == char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::run;

    fn commit(dir: &Path, author: &str, subject: &str) {
        let identity = ["-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false"];
        run(git(dir).args(["add", "--all"])).expect("added");
        let author = format!("--author={author} <{author}@example.com>");
        let done = run(git(dir).args(identity).args(["commit", "--quiet", "--allow-empty", &author, "-m", subject]));
        assert!(done.expect("git").success);
    }

    #[test]
    fn files_and_commits_are_listed_and_hostile_names_left_out() {
        let dir = tempfile::tempdir().expect("a directory");
        let dir = dir.path();
        assert!(tracked_files(dir, 9).is_err(), "no repository");
        run(git(dir).args(["init", "--quiet"])).expect("git");
        assert_eq!(tracked_files(dir, 9).expect("files"), Vec::<String>::new());
        assert_eq!(recent_commits(dir, 9), []);
        for name in ["a.rs", "b c.rs", "\u{1}commit Eve\n.rs", "é.rs"] {
            fs::write(dir.join(name), name).expect("written");
        }
        commit(dir, "Ana", "core: one");
        fs::write(dir.join("a.rs"), "more").expect("written");
        commit(dir, "Ben", "two\nbody");
        commit(dir, "Eve", "empty");
        assert_eq!(tracked_files(dir, 9).expect("files"), ["a.rs", "b c.rs", "é.rs"]);
        assert_eq!(tracked_files(dir, 2).expect("files").len(), 2);
        let authors = |limit| recent_commits(dir, limit).into_iter().map(|commit| commit.author).collect::<Vec<_>>();
        assert_eq!(authors(9)[authors(9).len() - 2..], ["Ben", "Ana"]);
        let first = recent_commits(dir, 9).pop().expect("a commit");
        assert_eq!(first.subject, "core: one");
        assert!(first.files.contains("a.rs") && first.files.contains("b c.rs") && first.files.contains("é.rs"));
    }
}

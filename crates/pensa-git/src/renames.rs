//! Files that git knows under another name.
//!
//! Nothing here fails: outside a repository, without git, or where git cannot tell, there are no renames.

use std::path::Path;
use std::process::Command;

use pensa_core::learning::{FileMove, plain_path};

use crate::{Repo, git, plain, run};

/// Renames that are followed from one name to the next.
const MAX_STEPS: usize = 16;
/// Former names of one file.
const MAX_NAMES: usize = 16;

/// Renames that the commit in progress contains. Inside a hook, its index counts, which may not be the repository's own.
pub fn staged_renames(dir: &Path) -> Vec<FileMove> {
    let mut command = if std::env::var_os("GIT_INDEX_FILE").is_some() { plain() } else { git(dir) };
    renames(command.args(["diff", "--cached", "--no-ext-diff", "-M", "--diff-filter=R", "--name-status", "-z", "--"]))
}

/// Renames in the work tree since the last commit.
pub fn uncommitted_renames(dir: &Path) -> Vec<FileMove> {
    if !dir.ancestors().any(|above| above.join(".git").exists()) {
        return Vec::new();
    }
    renames(git(dir).args(["diff", "HEAD", "--no-ext-diff", "-M", "--diff-filter=R", "--name-status", "-z", "--"]))
}

/// Former names of a file, from its history. The path is relative to the root of the repository.
pub fn former_names(repo: &Repo, file: &str) -> Vec<String> {
    let mut command = repo.git();
    command.args(["log", "--follow", "-M", "--diff-filter=R", "--name-status", "-z", "--format="]);
    let mut names: Vec<String> =
        renames(command.args(["--", plain_path(file)])).into_iter().map(|FileMove { from, .. }| from).collect();
    names.truncate(MAX_NAMES);
    names
}

/// What a file that is gone is called now; `None` if it was deleted, or was never there.
pub fn present_name(repo: &Repo, file: &str) -> Option<String> {
    let mut name = plain_path(file).to_owned();
    for _ in 0..MAX_STEPS {
        let mut log = repo.git();
        log.args(["log", "-1", "--no-renames", "--diff-filter=D", "--format=%H", "--", &name]);
        let commit = run(&mut log).ok()?.line()?;
        let mut show = repo.git();
        show.args(["diff-tree", "-r", "-M", "--diff-filter=R", "--no-commit-id", "--name-status", "-z"]);
        let moves = renames(show.args(["--end-of-options", &commit]));
        name = moves.into_iter().find(|one| one.from == name)?.to;
        if repo.top.join(&name).exists() {
            return Some(name);
        }
    }
    None
}

/// The files of each commit since a time, newest first; merges are left out.
pub fn commit_files(dir: &Path, since_seconds: i64, limit: usize) -> Vec<Vec<String>> {
    let Some(repo) = Repo::around(dir) else { return Vec::new() };
    let mut command = repo.git();
    command.args([
        "-c",
        "log.showSignature=false",
        "log",
        "--no-merges",
        "--no-renames",
        "--name-only",
        "--format=%x01",
    ]);
    command.arg(format!("--max-count={limit}")).arg(format!("--since=@{since_seconds}"));
    let Some(output) = run(command.args(["HEAD", "--"])).ok().filter(|output| output.success) else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let files = |commit: &str| -> Vec<String> {
        // Unusual names are quoted, and left out.
        let is_plain = |line: &&str| !line.is_empty() && !line.starts_with('"');
        commit.lines().filter(is_plain).map(str::to_owned).collect()
    };
    text.split('\u{1}').map(files).filter(|files| !files.is_empty()).collect()
}

/// Runs git and reads pairs of names: a status, the old name, the new one.
fn renames(command: &mut Command) -> Vec<FileMove> {
    let Some(output) = run(command).ok().filter(|output| output.success) else { return Vec::new() };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut parts = text.split('\0').map(|part| part.trim_start_matches('\n')).filter(|part| !part.is_empty());
    let mut found = Vec::new();
    while let Some(status) = parts.next() {
        let (Some(from), Some(to)) = (parts.next(), parts.next()) else { break };
        let is_plain = !from.contains(char::is_control) && !to.contains(char::is_control);
        if status.starts_with('R') && is_plain {
            found.push(FileMove { from: from.to_owned(), to: to.to_owned() });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn repo() -> (tempfile::TempDir, Repo) {
        let dir = tempfile::tempdir().expect("a directory");
        run(git(dir.path()).args(["init", "--quiet"])).expect("made");
        let repo = Repo::around(dir.path()).expect("a repository");
        for (name, value) in [("user.name", "ana"), ("user.email", "ana@example.com")] {
            repo.must(["config", name, value]).expect("set");
        }
        (dir, repo)
    }

    fn commit(repo: &Repo) {
        repo.must(["add", "-A"]).expect("added");
        repo.must(["commit", "--quiet", "--no-verify", "-m", "x"]).expect("committed");
    }

    fn text(name: &str) -> String {
        (0..40).map(|at| format!("line {at} of {name}\n")).collect()
    }

    fn moved(from: &str, to: &str) -> FileMove {
        FileMove { from: from.into(), to: to.into() }
    }

    #[test]
    fn renames_are_found_while_they_happen_and_later_in_history() {
        let (_dir, repo) = repo();
        let path = |name: &str| repo.top.join(name);
        fs::write(path("a b.rs"), text("a")).expect("written");
        fs::write(path("gone.rs"), text("gone")).expect("written");
        commit(&repo);
        assert_eq!(uncommitted_renames(&repo.top), []);
        fs::create_dir_all(path("src")).expect("made");
        repo.must(["mv", "a b.rs", "src/a.rs"]).expect("moved");
        assert_eq!(uncommitted_renames(&repo.top), [moved("a b.rs", "src/a.rs")]);
        assert_eq!(staged_renames(&repo.top), [moved("a b.rs", "src/a.rs")]);
        commit(&repo);
        repo.must(["mv", "src/a.rs", "src/ä.rs"]).expect("moved");
        repo.must(["rm", "--quiet", "gone.rs"]).expect("removed");
        commit(&repo);
        assert_eq!(present_name(&repo, "./a b.rs").as_deref(), Some("src/ä.rs"));
        assert_eq!((present_name(&repo, "gone.rs"), present_name(&repo, "never.rs")), (None, None));
        assert_eq!(former_names(&repo, "src/ä.rs"), ["src/a.rs", "a b.rs"]);
        assert_eq!(former_names(&repo, "never.rs"), [""; 0]);
    }

    #[test]
    fn files_of_commits_are_read_without_merges() {
        let (dir, repo) = repo();
        assert_eq!(commit_files(dir.path(), 0, 10), Vec::<Vec<String>>::new(), "no commit");
        for name in ["a.rs", "b.rs"] {
            fs::write(repo.top.join(name), text(name)).expect("written");
            fs::write(repo.top.join("c.rs"), text(name)).expect("written");
            commit(&repo);
        }
        assert_eq!(commit_files(dir.path(), 0, 10), [["b.rs", "c.rs"], ["a.rs", "c.rs"]]);
        assert_eq!(commit_files(dir.path(), 0, 1).len(), 1);
        assert_eq!(commit_files(tempfile::tempdir().expect("a directory").path(), 0, 10), Vec::<Vec<String>>::new());
    }
}

//! Finds machine-local files of a store that are about to be committed.

use std::path::Path;

use pensa_core::{Error, Result, STORE_DIR};

/// The machine-local files that the commit in progress would add or change, as paths in the repository.
pub fn staged_private_files(store: &Path) -> Result<Vec<String>> {
    let mut git = pensa_git::plain();
    git.env("GIT_LITERAL_PATHSPECS", "1");
    git.args(["diff", "--cached", "--name-only", "-z", "--no-renames", "--no-relative", "--diff-filter=d", "--"]);
    let output = pensa_git::run(git.arg(store))?;
    if !output.success {
        return Err(Error::internal(format!("git diff failed: {}", output.stderr.trim())));
    }
    let names = output.stdout.split(|byte| *byte == 0).map(|name| String::from_utf8_lossy(name).into_owned());
    Ok(names.filter(|name| is_private(name)).collect())
}

/// Whether a path in a repository is a machine-local file of a store.
fn is_private(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let is_private = |name: &str| {
        let name = name.to_ascii_lowercase();
        name.starts_with("db.sqlite") || name == "local"
    };
    parts.windows(2).any(|parts| parts[0] == STORE_DIR && is_private(parts[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_local_files_are_recognised_by_their_path() {
        for path in [".pensa/db.sqlite", "a/.pensa/db.sqlite-wal", ".pensa/local/token", "x.pensa/.pensa/DB.SQLITE"] {
            assert!(is_private(path), "{path}");
        }
        for path in [".pensa/issues.jsonl", "db.sqlite", "local/x", ".pensa/x/local", "x.pensa/db.sqlite"] {
            assert!(!is_private(path), "{path}");
        }
    }
}

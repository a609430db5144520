//! Finds a repository by git's own files, for what is needed at every open and must not cost a process.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// The repository around a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surrounding {
    /// The root of the work tree.
    pub top: PathBuf,
    /// The git directory of the work tree.
    pub git_dir: PathBuf,
    /// The git directory that all work trees share.
    pub common: PathBuf,
    /// Whether the work tree was added by `git worktree add`.
    pub is_linked: bool,
}

impl Surrounding {
    /// The repository that `dir` lies in. `dir` has no links in it.
    pub fn of(dir: &Path) -> Option<Self> {
        dir.ancestors().find_map(Self::at)
    }

    fn at(top: &Path) -> Option<Self> {
        let dot_git = top.join(".git");
        let git_dir = if fs::metadata(&dot_git).ok()?.is_dir() {
            dot_git
        } else {
            top.join(fs::read_to_string(&dot_git).ok()?.strip_prefix("gitdir:")?.trim())
        };
        let linked = fs::read_to_string(git_dir.join("commondir")).ok();
        let is_linked = linked.is_some();
        let common = linked.map_or_else(|| git_dir.clone(), |common| git_dir.join(common.trim()));
        // An empty `.git` is no repository: git looks further up.
        fs::symlink_metadata(common.join("HEAD")).ok()?;
        let common = if is_linked { fs::canonicalize(&common).ok()? } else { common };
        Some(Self { top: top.to_owned(), git_dir, common, is_linked })
    }

    /// Whether stores at the root of this work tree and of the main one are the same store.
    pub fn shares_store(&self) -> bool {
        // A bare repository, or that of a submodule, has no main work tree that could be found by its name.
        !self.is_linked || self.common.file_name().is_some_and(|name| name == ".git")
    }
}

/// The git directory of the repo whose linked worktree `dir` is.
pub fn common_git_dir(dir: &Path) -> Option<PathBuf> {
    let link = fs::read_to_string(dir.join(".git")).ok()?;
    let git_dir = dir.join(link.strip_prefix("gitdir:")?.trim());
    let common = fs::read_to_string(git_dir.join("commondir")).ok()?;
    Some(without_dots(&git_dir.join(common.trim())))
}

/// The path without `.` and `..`, links left as they are.
pub fn without_dots(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                tidy.pop();
            }
            part => tidy.push(part),
        }
    }
    tidy
}

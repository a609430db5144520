//! Finds a repository by reading git's own files: opening a store needs it every time, and starting git is too slow.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// A work tree and its git directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkTree {
    pub top: PathBuf,
    /// The git directory of the work tree.
    pub git_dir: PathBuf,
    /// The git directory shared by all work trees.
    pub common: PathBuf,
    /// Whether the work tree was added by `git worktree add`.
    pub is_linked: bool,
}

impl WorkTree {
    /// The work tree that contains `dir`, which must be a canonical path.
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
        // Git skips an empty `.git` and looks further up.
        fs::symlink_metadata(common.join("HEAD")).ok()?;
        let common = if is_linked { fs::canonicalize(&common).ok()? } else { common };
        Some(Self { top: top.to_owned(), git_dir, common, is_linked })
    }

    /// Whether stores at the root of this work tree and of the main work tree are the same store.
    pub fn shares_store(&self) -> bool {
        // The main work tree of a bare repository or a submodule cannot be derived from the path.
        !self.is_linked || self.common.file_name().is_some_and(|name| name == ".git")
    }
}

/// The common git directory, if `dir` is the root of a linked work tree.
pub fn common_git_dir(dir: &Path) -> Option<PathBuf> {
    let link = fs::read_to_string(dir.join(".git")).ok()?;
    let git_dir = dir.join(link.strip_prefix("gitdir:")?.trim());
    let common = fs::read_to_string(git_dir.join("commondir")).ok()?;
    Some(without_dots(&git_dir.join(common.trim())))
}

/// Resolves `.` and `..` by text only; links stay as they are.
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

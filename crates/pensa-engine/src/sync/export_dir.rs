//! The directory of the JSONL files: the store's own, or that of a linked worktree that shares its database.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use pensa_core::{Error, Result};
use pensa_git::Objects;

use super::files::{self, Contents};
use crate::error;
use crate::store::{self, StoreDir};

/// A directory with the JSONL files of a store.
#[derive(Debug)]
pub(crate) struct ExportDir {
    /// The directory itself.
    pub(crate) path: PathBuf,
    /// The project around it.
    pub(crate) project: PathBuf,
    /// Its name among the peers; empty for the store's own directory.
    pub(crate) name: String,
    /// Size limit for each file, in bytes.
    pub(super) max_file: u64,
    /// The git objects of its repository.
    pub(super) objects: Objects,
    head: OnceLock<Option<String>>,
}

impl ExportDir {
    /// The directory in `worktree`, which must be a worktree of the store's repository, or else the store's own.
    pub(crate) fn new(store: &StoreDir, worktree: Option<&Path>) -> Result<Self> {
        let project = store.project_dir();
        let (path, project, name) = match worktree {
            Some(worktree) if worktree != project => {
                (linked(project, worktree)?, worktree.to_owned(), worktree.display().to_string())
            }
            _ => (store.root().to_owned(), project.to_owned(), String::new()),
        };
        let (objects, max_file) = (Objects::around(&path), store.max_file());
        Ok(Self { path, project, name, max_file, objects, head: OnceLock::new() })
    }

    /// Reads the files.
    pub(super) fn contents(&self) -> Result<Contents> {
        files::contents(&self.path, self.max_file)
    }

    /// The commit that is checked out; read once.
    pub(super) fn head(&self) -> Option<String> {
        self.head.get_or_init(|| self.objects.head()).clone()
    }
}

/// The store directory in a linked worktree, created if needed.
fn linked(project: &Path, worktree: &Path) -> Result<PathBuf> {
    let is_ours = match (repository(worktree), fs::canonicalize(project.join(".git"))) {
        (Some(theirs), Ok(ours)) => theirs == ours,
        _ => false,
    };
    if !is_ours {
        return Err(Error::invalid(format!("{} is not a worktree of {}", worktree.display(), project.display()))
            .hint("run the command in a worktree of the repository that has the store"));
    }
    let dir = worktree.join(StoreDir::NAME);
    store::refuse_link(&dir)?;
    fs::create_dir_all(&dir).map_err(|e| error::io("create", &dir, &e))?;
    Ok(dir)
}

/// The repository of a linked worktree.
fn repository(worktree: &Path) -> Option<PathBuf> {
    let link = fs::read_to_string(worktree.join(".git")).ok()?;
    let git_dir = worktree.join(link.strip_prefix("gitdir:")?.trim());
    let common = fs::read_to_string(git_dir.join("commondir")).ok()?;
    fs::canonicalize(git_dir.join(common.trim())).ok()
}

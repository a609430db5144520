//! What the merge driver, which runs without a database, could not keep: notes for the next import.

use std::fs;
use std::path::{Component, Path, PathBuf};

use pensa_core::sync::Conflict;
use pensa_core::{Error, Result, json};
use uuid::Uuid;

use super::write_once;
use crate::error;

/// Where git's directory has the notes for the store of a project, which is named by its path in the
/// repository.
pub(crate) fn dir(common: &Path, project: &Path) -> PathBuf {
    common.join("pensa/conflicts").join(project).join("notes")
}

/// Notes what a merge could not keep in git's own directory: in a bare repository or a sparse checkout there is no store
/// to note it in. The next import of any checkout of the repository takes it in.
pub fn leave_driver_notes(project: &Path, conflicts: &[Conflict]) -> Result<()> {
    let told = pensa_git::run(pensa_git::plain().args(["rev-parse", "--git-common-dir"]))?;
    let common = told.line().ok_or_else(|| Error::internal("git does not tell where its directory is"))?;
    let is_inside = project.components().all(|part| matches!(part, Component::Normal(_)));
    if !is_inside {
        return Err(Error::invalid(format!("{} is not a path in a repository", project.display())));
    }
    let dir = dir(Path::new(&common), project);
    fs::create_dir_all(&dir).map_err(|e| error::io("create", &dir, &e))?;
    write(&dir, conflicts)
}

/// Writes notes into a directory.
pub(crate) fn write(dir: &Path, conflicts: &[Conflict]) -> Result<()> {
    let mut lines = Vec::new();
    for conflict in conflicts {
        json::write_line(&mut lines, conflict)?;
        lines.push(b'\n');
    }
    let path = dir.join(format!("{}.jsonl", Uuid::now_v7().simple()));
    write_once(&path, &String::from_utf8_lossy(&lines)).map(drop)
}

//! Conflict notes of the merge driver. The driver runs without a database, so it leaves them in files for the next
//! import.

use std::fs;
use std::path::{Component, Path, PathBuf};

use pensa_core::sync::Conflict;
use pensa_core::{Error, Result, json};
use uuid::Uuid;

use super::write_once;
use crate::error;

/// The directory in git's own directory for the notes about one project, named by the project's path in the repository.
pub(crate) fn dir(common: &Path, project: &Path) -> PathBuf {
    common.join("pensa/conflicts").join(project).join("notes")
}

/// Writes the conflicts of a merge into git's own directory, for a bare repository or a sparse checkout, where no store
/// directory exists. The next import in any checkout of the repository reads them.
pub fn write_driver_notes(project: &Path, conflicts: &[Conflict]) -> Result<()> {
    let output = pensa_git::run(pensa_git::plain().args(["rev-parse", "--git-common-dir"]))?;
    let common = output.line().ok_or_else(|| Error::internal("git does not report its directory"))?;
    let is_inside = project.components().all(|part| matches!(part, Component::Normal(_)));
    if !is_inside {
        return Err(Error::invalid(format!("{} is not a path in a repository", project.display())));
    }
    let dir = dir(Path::new(&common), project);
    fs::create_dir_all(&dir).map_err(|e| error::io("create", &dir, &e))?;
    write(&dir, conflicts)
}

/// Writes one file of notes into `dir`.
pub(crate) fn write(dir: &Path, conflicts: &[Conflict]) -> Result<()> {
    let mut lines = Vec::new();
    for conflict in conflicts {
        json::write_line(&mut lines, conflict)?;
        lines.push(b'\n');
    }
    let path = dir.join(format!("{}.jsonl", Uuid::now_v7().simple()));
    write_once(&path, &String::from_utf8_lossy(&lines)).map(drop)
}

//! Merges both sides of git's conflict markers in the JSONL files. Needs no database, because a fresh clone cannot
//! create one from files with markers.

use std::path::Path;

use pensa_core::Result;
use pensa_core::sync::{COLLECTIONS, EVENTS_FILE, MergedFile, Sides, merge_files, merge_history, sides};
use pensa_git as git;

use super::export_dir::ExportDir;
use super::files::{self, FileDraft};
use crate::store::StoreDir;

/// The result of a repair.
#[derive(Debug, Default)]
pub struct Repaired {
    /// The files that had conflict markers.
    pub files: Vec<String>,
    /// Number of conflicts left for the next import.
    pub conflicts: usize,
}

/// Merges both sides of all conflict markers in the files of a store, or of a linked worktree.
pub fn repair_marks(store: &StoreDir, worktree: Option<&Path>) -> Result<Repaired> {
    let export_dir = ExportDir::new(store, worktree)?;
    let (mut repaired, mut conflicts) = (Repaired::default(), Vec::new());
    let names = COLLECTIONS.iter().map(|collection| collection.file_name()).chain([EVENTS_FILE.to_owned()]);
    let mut drafts = Vec::new();
    for name in names {
        let path = export_dir.path.join(&name);
        let Some(content) = files::read(&path, export_dir.max_file)? else { continue };
        let Some(sides) = sides(&path, &content.bytes)? else { continue };
        let merged = merge(&export_dir, &name, sides)?;
        conflicts.extend(merged.conflicts);
        drafts.push(FileDraft::write(&store.local_dir("")?, &path, &merged.bytes)?);
        repaired.files.push(name);
    }
    if !conflicts.is_empty() {
        store.write_driver_notes(&conflicts)?;
    }
    drafts.into_iter().try_for_each(FileDraft::publish)?;
    repaired.conflicts = conflicts.len();
    Ok(repaired)
}

fn merge(export_dir: &ExportDir, name: &str, sides: Sides) -> Result<MergedFile> {
    let path = export_dir.path.join(name);
    let Sides { ours, theirs, base } = sides;
    let Some(collection) = COLLECTIONS.iter().find(|collection| collection.file_name() == name) else {
        let bytes = merge_history(&path, &[&ours, &theirs])?;
        return Ok(MergedFile { bytes, conflicts: Vec::new() });
    };
    // Until the merge is committed, git knows the base of both sides.
    let base = git::merge_base_of_file(&export_dir.path, name).or(base).unwrap_or_default();
    merge_files(collection, &path, [&base, &ours, &theirs])
}

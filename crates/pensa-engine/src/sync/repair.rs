//! Merges the two sides of git's conflict marks in the files of a store. Needs no database: with marks in its files, a
//! fresh clone cannot make one.

use std::path::Path;

use pensa_core::Result;
use pensa_core::sync::{COLLECTIONS, EVENTS_FILE, MergedFile, Sides, merge_files, sides, united};
use pensa_git as git;

use super::files::{self, Draft};
use super::place::Place;
use crate::store::StoreDir;

/// What a repair did.
#[derive(Debug, Default)]
pub struct Repaired {
    /// The files that had conflict marks.
    pub files: Vec<String>,
    /// What was not kept of either side, for the next import to take in.
    pub conflicts: usize,
}

/// Merges both sides of all conflict marks in the files of a store, or of a linked worktree.
pub fn repair_marks(store: &StoreDir, worktree: Option<&Path>) -> Result<Repaired> {
    let place = Place::new(store, worktree)?;
    let (mut repaired, mut conflicts) = (Repaired::default(), Vec::new());
    let names = COLLECTIONS.iter().map(|collection| collection.file_name()).chain([EVENTS_FILE.to_owned()]);
    let mut drafts = Vec::new();
    for name in names {
        let path = place.dir.join(&name);
        let Some(content) = files::read(&path, place.max_file)? else { continue };
        let Some(sides) = sides(&path, &content.bytes)? else { continue };
        let merged = merge(&place, &name, sides)?;
        conflicts.extend(merged.conflicts);
        drafts.push(Draft::write(&store.local_dir("")?, &path, &merged.bytes)?);
        repaired.files.push(name);
    }
    if !conflicts.is_empty() {
        store.leave_driver_notes(&conflicts)?;
    }
    drafts.into_iter().try_for_each(Draft::publish)?;
    repaired.conflicts = conflicts.len();
    Ok(repaired)
}

fn merge(place: &Place, name: &str, sides: Sides) -> Result<MergedFile> {
    let path = place.dir.join(name);
    let Sides { ours, theirs, base } = sides;
    let Some(collection) = COLLECTIONS.iter().find(|collection| collection.file_name() == name) else {
        let bytes = united(&path, &[&ours, &theirs])?;
        return Ok(MergedFile { bytes, conflicts: Vec::new() });
    };
    // While the merge is not committed, git knows what both sides come from.
    let base = git::merge_base_of_file(&place.dir, name).or(base).unwrap_or_default();
    merge_files(collection, &path, [&base, &ours, &theirs])
}

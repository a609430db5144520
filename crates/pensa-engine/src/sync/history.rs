//! The history of issues in a file beside the others, for projects that want git to carry it.

use std::collections::HashSet;
use std::path::Path;

use pensa_core::event::LogEntry;
use pensa_core::sync::{EVENTS_FILE, united};
use pensa_core::{Result, json};
use serde_json::Value;

use super::files::{self, Draft};
use super::place::Place;
use crate::context::SYSTEM;
use crate::db::Tx;
use crate::store::StoreDir;
use crate::tables::{events, tombstones};

/// What the file has to have: all that it has, and all that somebody did here. What git brought was done elsewhere.
fn wanted(tx: &Tx<'_>, place: &Place) -> Result<(Vec<u8>, Option<Vec<u8>>)> {
    let (mut here, mut purged) = (Vec::new(), HashSet::new());
    events::for_each_shown(tx, |event| {
        if event.detail.get(events::PURGED) == Some(&Value::Bool(true)) {
            purged.insert(event.subject_id.clone());
        }
        if event.subject_kind == "issue" && event.actor != SYSTEM {
            json::write_line(&mut here, event)?;
            here.push(b'\n');
        }
        Ok(())
    })?;
    let path = place.dir.join(EVENTS_FILE);
    let there = files::read(&path, place.max_file)?.map(|content| content.bytes);
    let left = without_deleted(tx, &path, there.as_deref().unwrap_or_default(), &purged)?;
    let united = united(&path, &[&left, &here])?;
    Ok((united, there))
}

/// The lines of a file without the history of issues that are deleted here: what a clone wrote before it knew. What removed
/// them stays, with id and title, or the id alone of those that were purged.
fn without_deleted(tx: &Tx<'_>, path: &Path, lines: &[u8], purged: &HashSet<String>) -> Result<Vec<u8>> {
    let deleted = tombstones::deleted_issues(tx)?;
    if deleted.is_empty() {
        return Ok(lines.to_vec());
    }
    let mut left = Vec::with_capacity(lines.len());
    // What makes no sense is refused here, by its number in the file.
    for line in united(path, &[lines])?.split_inclusive(|byte| *byte == b'\n') {
        match serde_json::from_slice::<LogEntry>(line) {
            Ok(event) if !deleted.contains(&event.subject_id) => left.extend_from_slice(line),
            Ok(mut event) if events::removes(&event) => {
                if purged.contains(&event.subject_id) {
                    event.detail = events::purged(event.detail);
                }
                json::write_line(&mut left, &events::as_shown(event))?;
                left.push(b'\n');
            }
            Ok(_) => {}
            Err(_) => left.extend_from_slice(line),
        }
    }
    Ok(left)
}

/// Writes the file; tells how many lines it has.
pub(crate) fn export_events(store: &StoreDir, tx: &Tx<'_>, place: &Place) -> Result<i64> {
    let (wanted, there) = wanted(tx, place)?;
    if there.as_ref() != Some(&wanted) {
        Draft::write(&store.local_dir("")?, &place.dir.join(EVENTS_FILE), &wanted)?.publish()?;
        files::sync_names(&place.dir)?;
    }
    Ok(count(&wanted))
}

/// Whether the file lacks anything, and how many lines it has to have.
pub(crate) fn check_events(tx: &Tx<'_>, place: &Place) -> Result<(bool, i64)> {
    let (wanted, there) = wanted(tx, place)?;
    Ok((there.as_ref() != Some(&wanted), count(&wanted)))
}

fn count(lines: &[u8]) -> i64 {
    i64::try_from(lines.iter().filter(|byte| **byte == b'\n').count()).unwrap_or(i64::MAX)
}

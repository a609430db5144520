//! The issues' events in a file next to the others, for projects that want git to carry them.

use std::collections::HashSet;
use std::path::Path;

use pensa_core::event::LogEntry;
use pensa_core::sync::{EVENTS_FILE, merge_history};
use pensa_core::{Result, json};
use serde_json::Value;

use super::export_dir::ExportDir;
use super::files::{self, FileDraft};
use crate::context::SYSTEM;
use crate::db::Tx;
use crate::store::StoreDir;
use crate::tables::{events, tombstones};

/// The expected and the current content of the file: what it has, and the events of changes made here. Changes that git
/// brought are in the file of the clone that made them.
fn expected_content(tx: &Tx<'_>, export_dir: &ExportDir) -> Result<(Vec<u8>, Option<Vec<u8>>)> {
    let (mut local, mut purged) = (Vec::new(), HashSet::new());
    events::for_each_shown(tx, |event| {
        if event.detail.get(events::PURGED) == Some(&Value::Bool(true)) {
            purged.insert(event.subject_id.clone());
        }
        if event.subject_kind == "issue" && event.actor != SYSTEM {
            json::write_line(&mut local, event)?;
            local.push(b'\n');
        }
        Ok(())
    })?;
    let path = export_dir.path.join(EVENTS_FILE);
    let current = files::read(&path, export_dir.max_file)?.map(|content| content.bytes);
    let remaining = without_deleted(tx, &path, current.as_deref().unwrap_or_default(), &purged)?;
    let merged = merge_history(&path, &[&remaining, &local])?;
    Ok((merged, current))
}

/// The lines of a file without events of issues deleted here, which a clone wrote before it knew. The deletion events
/// stay, with id and title, or with the id alone for purged issues.
fn without_deleted(tx: &Tx<'_>, path: &Path, lines: &[u8], purged: &HashSet<String>) -> Result<Vec<u8>> {
    let deleted = tombstones::deleted_issues(tx)?;
    if deleted.is_empty() {
        return Ok(lines.to_vec());
    }
    let mut remaining = Vec::with_capacity(lines.len());
    // Reports invalid lines by their number in the file.
    for line in merge_history(path, &[lines])?.split_inclusive(|byte| *byte == b'\n') {
        match serde_json::from_slice::<LogEntry>(line) {
            Ok(event) if !deleted.contains(&event.subject_id) => remaining.extend_from_slice(line),
            Ok(mut event) if events::is_removal(&event) => {
                if purged.contains(&event.subject_id) {
                    event.detail = events::reduce_to_ids(event.detail);
                }
                json::write_line(&mut remaining, &events::as_shown(event))?;
                remaining.push(b'\n');
            }
            Ok(_) => {}
            Err(_) => remaining.extend_from_slice(line),
        }
    }
    Ok(remaining)
}

/// Writes the file. Returns its number of lines.
pub(crate) fn export_events(store: &StoreDir, tx: &Tx<'_>, export_dir: &ExportDir) -> Result<i64> {
    let (expected, current) = expected_content(tx, export_dir)?;
    if current.as_ref() != Some(&expected) {
        FileDraft::write(&store.local_dir("")?, &export_dir.path.join(EVENTS_FILE), &expected)?.publish()?;
        files::sync_names(&export_dir.path)?;
    }
    Ok(count(&expected))
}

/// Whether the file is out of date, and its expected number of lines.
pub(crate) fn check_events(tx: &Tx<'_>, export_dir: &ExportDir) -> Result<(bool, i64)> {
    let (expected, current) = expected_content(tx, export_dir)?;
    Ok((current.as_ref() != Some(&expected), count(&expected)))
}

fn count(lines: &[u8]) -> i64 {
    i64::try_from(lines.iter().filter(|byte| **byte == b'\n').count()).unwrap_or(i64::MAX)
}

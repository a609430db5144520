//! The history of issues in a file beside the others, for projects that want git to carry it.

use pensa_core::sync::{EVENTS_FILE, united};
use pensa_core::{Result, json};

use super::files::{self, Draft};
use super::place::Place;
use crate::context::SYSTEM;
use crate::db::Tx;
use crate::store::StoreDir;
use crate::tables::events;

/// What the file has to have: all that it has, and all that somebody did here. What git brought was done elsewhere.
fn wanted(tx: &Tx<'_>, place: &Place) -> Result<(Vec<u8>, Option<Vec<u8>>)> {
    let mut here = Vec::new();
    events::for_each(tx, |event| {
        if event.subject_kind == "issue" && event.actor != SYSTEM {
            json::write_line(&mut here, event)?;
            here.push(b'\n');
        }
        Ok(())
    })?;
    let path = place.dir.join(EVENTS_FILE);
    let there = files::read(&path, place.max_file)?.map(|content| content.bytes);
    let united = united(&path, &[there.as_deref().unwrap_or_default(), &here])?;
    Ok((united, there))
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

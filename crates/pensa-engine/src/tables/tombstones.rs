//! Rows of `tombstones`: deletions, for copies of the store that still have the record.

use std::collections::HashSet;

use pensa_core::session::SessionHead;
use pensa_core::sync::{Collection, ISSUES, SESSIONS, SyncObject, Tombstone};
use pensa_core::{Result, Span, Timestamp};
use serde_json::Value;

use crate::context::Context;
use crate::db::{Tx, params};
use crate::entity;
use crate::tables::issues;

/// The number of entries, in a session and in its tombstone.
const ENTRIES: &str = "entries";

pub(crate) fn get(tx: &Tx<'_>, collection: &str, id: &str) -> Result<Option<Tombstone>> {
    entity::get(tx, params![collection, id])
}

/// Records the deletion of a record in this version.
pub(crate) fn write_tombstone(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    collection: &Collection,
    id: &str,
    version: Option<Timestamp>,
) -> Result<()> {
    write_tombstone_with_comments(cx, tx, collection, id, version, Vec::new())
}

/// Like [`write_tombstone`], with the comments that were deleted along with an issue.
pub(crate) fn write_tombstone_with_comments(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    collection: &Collection,
    id: &str,
    version: Option<Timestamp>,
    comments: Vec<String>,
) -> Result<()> {
    let known = get(tx, collection.name, id)?;
    let restored_at = known.as_ref().and_then(|known| known.restored_at);
    // A deletion is later than what it deletes, even if other machines' clocks are ahead.
    let after = [version, restored_at.map(|again| again.plus(Span::from_millis(1)))];
    let deleted_at = after.into_iter().flatten().fold(cx.now, Timestamp::max);
    let (collection, id, actor) = (collection.name.to_owned(), id.to_owned(), cx.actor.clone());
    let extra = known.map(|known| known.extra).unwrap_or_default();
    entity::put(tx, &Tombstone { collection, id, deleted_at, actor, version, restored_at, comments, extra })
}

/// Like [`write_tombstone`] for a session. Stores its number of entries: a copy with more has entries that the deletion did not
/// cover.
pub(crate) fn write_session_tombstone(cx: &Context<'_>, tx: &Tx<'_>, head: &SessionHead) -> Result<()> {
    let id = head.session.id.as_str();
    write_tombstone(cx, tx, &SESSIONS, id, Some(head.updated_at))?;
    let Some(mut tombstone) = get(tx, SESSIONS.name, id)? else { return Ok(()) };
    tombstone.extra.insert(ENTRIES.into(), head.entries.into());
    entity::put(tx, &tombstone)
}

/// Whether the deletion happened after the record's latest change.
pub(crate) fn covers(tombstone: &Tombstone, changed: Timestamp, record: &SyncObject) -> bool {
    let entries = |value: Option<&Value>| value.and_then(Value::as_i64).unwrap_or_default();
    tombstone.version.is_some_and(|known| changed <= known)
        && entries(record.get(ENTRIES)) <= entries(tombstone.extra.get(ENTRIES))
}

/// The version of a record that changes now: after its known version, and after its deletion if it is restored.
pub(crate) fn version_after(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    collection: &Collection,
    id: &str,
    version: Option<Timestamp>,
) -> Result<Timestamp> {
    let deleted = get(tx, collection.name, id)?.map(|tombstone| tombstone.deleted_at);
    Ok([version, deleted].into_iter().flatten().max().map_or(cx.now, |last| issues::after(cx, last)))
}

/// Marks a record without a version of its own as restored.
pub(crate) fn mark_restored(cx: &Context<'_>, tx: &Tx<'_>, collection: &Collection, id: &str) -> Result<()> {
    match get(tx, collection.name, id)? {
        Some(tombstone) if tombstone.is_in_force() => {
            // Without this, a clock that does not advance would leave it deleted.
            let now = cx.now.max(tombstone.deleted_at);
            entity::put(tx, &Tombstone { restored_at: Some(now), ..tombstone })
        }
        _ => Ok(()),
    }
}

/// The deleted issues.
pub(crate) fn deleted_issues(tx: &Tx<'_>) -> Result<HashSet<String>> {
    let sql = "SELECT record_id FROM tombstones
         WHERE collection = ?1 AND NOT EXISTS (SELECT 1 FROM issues WHERE issues.id = tombstones.record_id)";
    Ok(tx.query(sql, params![ISSUES.name], |row| row.text(0))?.into_iter().collect())
}

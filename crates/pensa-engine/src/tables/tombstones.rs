//! Rows of `tombstones`: what was deleted, for clones that still have it.

use std::collections::HashSet;

use pensa_core::sync::{Collection, ISSUES, Tombstone};
use pensa_core::{Result, Span, Timestamp};

use crate::context::Context;
use crate::db::{Tx, params};
use crate::entity;
use crate::tables::issues;

pub(crate) fn get(tx: &Tx<'_>, collection: &str, id: &str) -> Result<Option<Tombstone>> {
    entity::get(tx, params![collection, id])
}

/// Notes that a record was deleted now, in this version.
pub(crate) fn bury(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    collection: &Collection,
    id: &str,
    version: Option<Timestamp>,
) -> Result<()> {
    bury_with(cx, tx, collection, id, version, Vec::new())
}

/// The same, with the comments that go along.
pub(crate) fn bury_with(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    collection: &Collection,
    id: &str,
    version: Option<Timestamp>,
    comments: Vec<String>,
) -> Result<()> {
    let known = get(tx, collection.name, id)?;
    let restored_at = known.as_ref().and_then(|known| known.restored_at);
    // Whatever the clocks of others say, it comes after what it deletes.
    let after = [version, restored_at.map(|again| again.plus(Span::from_millis(1)))];
    let deleted_at = after.into_iter().flatten().fold(cx.now, Timestamp::max);
    let (collection, id, actor) = (collection.name.to_owned(), id.to_owned(), cx.actor.clone());
    let extra = known.map(|known| known.extra).unwrap_or_default();
    entity::put(tx, &Tombstone { collection, id, deleted_at, actor, version, restored_at, comments, extra })
}

/// When a record changes now: after the version that is known, and after its deletion if it comes back.
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

/// Notes that a record without a time of its own was made again.
pub(crate) fn lift(cx: &Context<'_>, tx: &Tx<'_>, collection: &Collection, id: &str) -> Result<()> {
    match get(tx, collection.name, id)? {
        Some(tombstone) if tombstone.holds() => {
            // A clock that stands still must not leave it dead.
            let now = cx.now.max(tombstone.deleted_at);
            entity::put(tx, &Tombstone { restored_at: Some(now), ..tombstone })
        }
        _ => Ok(()),
    }
}

/// The issues that are deleted, and not there again.
pub(crate) fn deleted_issues(tx: &Tx<'_>) -> Result<HashSet<String>> {
    let sql = "SELECT record_id FROM tombstones
         WHERE collection = ?1 AND NOT EXISTS (SELECT 1 FROM issues WHERE issues.id = tombstones.record_id)";
    Ok(tx.query(sql, params![ISSUES.name], |row| row.text(0))?.into_iter().collect())
}

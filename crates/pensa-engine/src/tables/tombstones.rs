//! Rows of `tombstones`: what was deleted, for clones that still have it.

use std::collections::HashSet;

use pensa_core::sync::{Collection, ISSUES, Tombstone};
use pensa_core::{Error, Result, Span, Timestamp, json};

use crate::context::Context;
use crate::db::{Row, Tx, params};
use crate::tables::extra;

const COLUMNS: &str = "collection, record_id, deleted_at, actor, version, restored_at, comments, extra";

fn read(row: &Row<'_>) -> Result<Tombstone> {
    Ok(Tombstone {
        collection: row.text(0)?,
        id: row.text(1)?,
        deleted_at: row.parse(2)?,
        actor: row.text(3)?,
        version: row.parse_or_null(4)?,
        restored_at: row.parse_or_null(5)?,
        comments: row
            .text_or_null(6)?
            .map_or_else(|| Ok(Vec::new()), |text| serde_json::from_str(&text))
            .map_err(Error::internal)?,
        extra: row.extra(7)?,
    })
}

pub(crate) fn get(tx: &Tx<'_>, collection: &str, id: &str) -> Result<Option<Tombstone>> {
    let sql = format!("SELECT {COLUMNS} FROM tombstones WHERE collection = ?1 AND record_id = ?2");
    tx.query_one(&sql, params![collection, id], read)
}

/// Adds a row, or replaces it.
pub(crate) fn put(tx: &Tx<'_>, tombstone: &Tombstone) -> Result<()> {
    tx.journal("tombstone", tombstone)?;
    let is_without = tombstone.comments.is_empty();
    let comments = if is_without { None } else { Some(json::to_line(&tombstone.comments)?) };
    // The columns that tell a conflict are not the same in every database.
    let delete = "DELETE FROM tombstones WHERE collection = ?1 AND record_id = ?2";
    tx.send(delete, params![&tombstone.collection, &tombstone.id])?;
    tx.send(
        "INSERT INTO tombstones (collection, record_id, deleted_at, actor, version, restored_at, comments, extra)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            &tombstone.collection,
            &tombstone.id,
            tombstone.deleted_at,
            &tombstone.actor,
            tombstone.version,
            tombstone.restored_at,
            comments,
            extra(&tombstone.extra)?
        ],
    )
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
    put(tx, &Tombstone { collection, id, deleted_at, actor, version, restored_at, comments, extra })
}

/// Notes that a record without a time of its own was made again.
pub(crate) fn lift(cx: &Context<'_>, tx: &Tx<'_>, collection: &Collection, id: &str) -> Result<()> {
    match get(tx, collection.name, id)? {
        Some(tombstone) if tombstone.holds() => {
            // A clock that stands still must not leave it dead.
            let now = cx.now.max(tombstone.deleted_at);
            put(tx, &Tombstone { restored_at: Some(now), ..tombstone })
        }
        _ => Ok(()),
    }
}

pub(crate) fn for_each(tx: &Tx<'_>, mut each: impl FnMut(&Tombstone) -> Result<()>) -> Result<()> {
    let sql = format!("SELECT {COLUMNS} FROM tombstones ORDER BY collection, record_id");
    tx.for_each(&sql, params![], |row| each(&read(row)?))
}

/// The issues that are deleted, and not there again.
pub(crate) fn deleted_issues(tx: &Tx<'_>) -> Result<HashSet<String>> {
    let sql = "SELECT record_id FROM tombstones
         WHERE collection = ?1 AND NOT EXISTS (SELECT 1 FROM issues WHERE issues.id = tombstones.record_id)";
    Ok(tx.query(sql, params![ISSUES.name], |row| row.text(0))?.into_iter().collect())
}

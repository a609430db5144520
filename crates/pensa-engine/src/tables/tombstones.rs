//! Rows of `tombstones`: what was deleted, for clones that still have it.

use pensa_core::sync::{Collection, Tombstone};
use pensa_core::{Result, Timestamp};

use crate::context::Context;
use crate::db::{Row, Tx, params};

const COLUMNS: &str = "collection, record_id, deleted_at, actor, version, restored_at";

fn read(row: &Row<'_>) -> Result<Tombstone> {
    Ok(Tombstone {
        collection: row.text(0)?,
        id: row.text(1)?,
        deleted_at: row.parse(2)?,
        actor: row.text(3)?,
        version: row.parse_or_null(4)?,
        restored_at: row.parse_or_null(5)?,
    })
}

pub(crate) fn get(tx: &Tx<'_>, collection: &str, id: &str) -> Result<Option<Tombstone>> {
    let sql = format!("SELECT {COLUMNS} FROM tombstones WHERE collection = ?1 AND record_id = ?2");
    tx.query_one(&sql, params![collection, id], read)
}

/// Adds a row, or replaces it.
pub(crate) fn put(tx: &Tx<'_>, tombstone: &Tombstone) -> Result<()> {
    tx.journal("tombstone", tombstone)?;
    // The columns that tell a conflict are not the same in every database.
    let delete = "DELETE FROM tombstones WHERE collection = ?1 AND record_id = ?2";
    tx.send(delete, params![&tombstone.collection, &tombstone.id])?;
    tx.send(
        "INSERT INTO tombstones (collection, record_id, deleted_at, actor, version, restored_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            &tombstone.collection,
            &tombstone.id,
            tombstone.deleted_at,
            &tombstone.actor,
            tombstone.version,
            tombstone.restored_at
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
    let restored_at = get(tx, collection.name, id)?.and_then(|known| known.restored_at);
    let (collection, id, actor) = (collection.name.to_owned(), id.to_owned(), cx.actor.clone());
    put(tx, &Tombstone { collection, id, deleted_at: cx.now, actor, version, restored_at })
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

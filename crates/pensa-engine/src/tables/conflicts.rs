//! Rows of `conflicts`: values that lost against others, until somebody says which was right.

use pensa_core::sync::{Conflict, ConflictId};
use pensa_core::{Result, Timestamp, json};

use crate::db::{Row, Tx, params};

const COLUMNS: &str = "id, collection, record_id, field, kept, other, whole";

fn read(row: &Row<'_>) -> Result<Conflict> {
    Ok(Conflict {
        id: row.parse(0)?,
        collection: row.text(1)?,
        record_id: row.text(2)?,
        field: row.text(3)?,
        kept: row.json(4)?,
        other: row.json(5)?,
        whole: row.json(6)?,
        version: String::new(),
    })
}

/// Notes a conflict; false if it was known. One that was settled is another when a later version has the same values.
pub(crate) fn note(tx: &Tx<'_>, conflict: &Conflict, found_at: Timestamp) -> Result<bool> {
    let added = tx.execute(
        "INSERT INTO conflicts (id, collection, record_id, field, kept, other, whole, found_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
        params![
            conflict.id.as_str(),
            &conflict.collection,
            &conflict.record_id,
            &conflict.field,
            json::to_line(&conflict.kept)?,
            json::to_line(&conflict.other)?,
            json::to_line(&conflict.whole)?,
            found_at
        ],
    )?;
    if added > 0 {
        tx.journal("conflict", &(conflict, found_at))?;
        return Ok(true);
    }
    let settled =
        tx.query_one("SELECT resolved_at FROM conflicts WHERE id = ?1", params![conflict.id.as_str()], |row| {
            row.text_or_null(0)
        })?;
    let comes_again = settled.flatten().is_some_and(|at| conflict.version > at);
    if comes_again {
        reopen(tx, &conflict.id)?;
    }
    Ok(comes_again)
}

/// Those that nobody has settled, oldest first.
pub(crate) fn open(tx: &Tx<'_>, limit: i64) -> Result<Vec<Conflict>> {
    let sql = format!("SELECT {COLUMNS} FROM conflicts WHERE resolved_at IS NULL ORDER BY found_at, id LIMIT ?1");
    tx.query(&sql, params![limit], read)
}

/// Unsettled ones whose id begins like this; two are enough to know that it is not unique.
pub(crate) fn with_prefix(tx: &Tx<'_>, prefix: &str) -> Result<Vec<Conflict>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM conflicts WHERE resolved_at IS NULL AND id >= ?1 AND id < ?2 ORDER BY id LIMIT 2"
    );
    tx.query(&sql, params![prefix, format!("{prefix}\u{10FFFF}")], read)
}

pub(crate) fn settle(tx: &Tx<'_>, id: &ConflictId, at: Timestamp) -> Result<()> {
    tx.journal("conflict_settled", &(id, at))?;
    tx.send("UPDATE conflicts SET resolved_at = ?2 WHERE id = ?1", params![id.as_str(), at])
}

/// Makes a conflict one that nobody has settled.
pub(crate) fn reopen(tx: &Tx<'_>, id: &ConflictId) -> Result<()> {
    tx.journal("conflict_reopened", id)?;
    tx.send("UPDATE conflicts SET resolved_at = NULL WHERE id = ?1", params![id.as_str()])
}

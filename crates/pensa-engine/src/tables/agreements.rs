//! Rows of `agreements`: what a place's files and the database last had in common.

use pensa_core::{Result, Timestamp};
use serde::{Deserialize, Serialize};

use crate::db::{Row, Tx, params};

/// When files and database were last the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Agreement {
    /// The name of the directory with the copy.
    pub(crate) copy: String,
    /// The commit that was checked out.
    pub(crate) head: Option<String>,
}

fn read(row: &Row<'_>) -> Result<Agreement> {
    Ok(Agreement { copy: row.text(0)?, head: row.text_or_null(1)? })
}

pub(crate) fn get(tx: &Tx<'_>, place: &str) -> Result<Option<Agreement>> {
    tx.query_one("SELECT copy, head FROM agreements WHERE place = ?1", params![place], read)
}

/// Those of all places.
pub(crate) fn all(tx: &Tx<'_>) -> Result<Vec<(String, Agreement)>> {
    tx.query("SELECT copy, head, place FROM agreements ORDER BY place", params![], |row| Ok((row.text(2)?, read(row)?)))
}

pub(crate) fn forget(tx: &Tx<'_>, place: &str) -> Result<()> {
    tx.journal("agreement_forgotten", place)?;
    tx.send("DELETE FROM agreements WHERE place = ?1", params![place])
}

pub(crate) fn put(tx: &Tx<'_>, place: &str, agreement: &Agreement, event: i64, at: Timestamp) -> Result<()> {
    tx.journal("agreement", &(place, agreement, event, at))?;
    tx.send("DELETE FROM agreements WHERE place = ?1", params![place])?;
    tx.send(
        "INSERT INTO agreements (place, copy, head, event, agreed_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![place, &agreement.copy, agreement.head.as_ref(), event, at],
    )
}

//! Rows of `seen_files`: contents of files that the store has taken in or written, by the ids that git gives them.

use pensa_core::{Result, Timestamp};

use crate::db::{Tx, params};

pub(crate) fn note(tx: &Tx<'_>, blobs: &[String], at: Timestamp) -> Result<()> {
    if blobs.is_empty() {
        return Ok(());
    }
    tx.journal("seen_files", &(blobs, at))?;
    for blob in blobs {
        tx.send("INSERT INTO seen_files (blob, seen_at) VALUES (?1, ?2) ON CONFLICT DO NOTHING", params![blob, at])?;
    }
    Ok(())
}

pub(crate) fn has(tx: &Tx<'_>, blob: &str) -> Result<bool> {
    Ok(tx.query_one("SELECT 1 FROM seen_files WHERE blob = ?1", params![blob], |_| Ok(()))?.is_some())
}

/// All of them.
pub(crate) fn all(tx: &Tx<'_>) -> Result<Vec<String>> {
    tx.query("SELECT blob FROM seen_files ORDER BY blob", params![], |row| row.text(0))
}

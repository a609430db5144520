//! Rows of `seen_files`: contents of files that the store has taken in or written, by the ids that git gives them.

use pensa_core::{Result, Timestamp};

use crate::db::{Tx, params};

/// What stands before the id of a commit, to tell it from that of a file.
pub(crate) const COMMIT: &str = "commit ";

pub(crate) fn note(tx: &Tx<'_>, blobs: &[String], at: Timestamp) -> Result<()> {
    if blobs.is_empty() {
        return Ok(());
    }
    tx.journal("seen_files", &(blobs, at))?;
    for blob in blobs {
        tx.send("DELETE FROM seen_files WHERE blob = ?1", params![blob])?;
        tx.send("INSERT INTO seen_files (blob, seen_at) VALUES (?1, ?2)", params![blob, at])?;
    }
    Ok(())
}

pub(crate) fn has(tx: &Tx<'_>, blob: &str) -> Result<bool> {
    Ok(tx.query_one("SELECT 1 FROM seen_files WHERE blob = ?1", params![blob], |_| Ok(()))?.is_some())
}

/// Forgets all of them, as a store does that is filled anew.
pub(crate) fn clear(tx: &Tx<'_>) -> Result<()> {
    tx.journal("seen_files_cleared", &true)?;
    tx.send("DELETE FROM seen_files", params![])
}

/// The last commits whose files were taken in, newest first.
pub(crate) fn commits(tx: &Tx<'_>, limit: i64) -> Result<Vec<String>> {
    let sql = "SELECT blob FROM seen_files WHERE blob >= ?1 AND blob < ?2 ORDER BY seen_at DESC LIMIT ?3";
    let (from, to) = (COMMIT.to_owned(), format!("{COMMIT}\u{10FFFF}"));
    tx.query(sql, params![from, to, limit], |row| Ok(row.text(0)?[COMMIT.len()..].to_owned()))
}

/// All of them.
pub(crate) fn all(tx: &Tx<'_>) -> Result<Vec<String>> {
    tx.query("SELECT blob FROM seen_files ORDER BY blob", params![], |row| row.text(0))
}

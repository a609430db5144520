//! Rows of `sync_peers` and `sync_bases`: the books on other stores.

use pensa_core::ops::sync::Named;
use pensa_core::{Result, Timestamp, entity as declare};
use serde::{Deserialize, Serialize};

use crate::db::{Tx, params};
use crate::entity;

/// How far this store has come with another.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PeerRow {
    pub(crate) peer: String,
    pub(crate) name: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) turn: i64,
    pub(crate) pulled: Option<String>,
    pub(crate) pushed: Option<String>,
    /// The collections that were known when it was written.
    pub(crate) known: String,
    pub(crate) synced_at: Option<Timestamp>,
}

declare!(PeerRow: "peer" in "sync_peers", keys 1 { peer, name, url, turn: Int, pulled, pushed, known, synced_at });

/// What a record was when both stores last had the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Base {
    /// None if the other may not have it.
    pub(crate) line: Option<String>,
    /// Whether it is to be sent whatever the log says.
    pub(crate) dirty: bool,
}

/// The same with what it belongs to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct BaseRow {
    peer: String,
    collection: String,
    record_id: String,
    line: Option<String>,
    dirty: bool,
}

declare!(BaseRow: "base" in "sync_bases", keys 3 { peer, collection, record_id, line, dirty: Bool });

pub(crate) fn get(tx: &Tx<'_>, peer: &str) -> Result<Option<PeerRow>> {
    entity::get(tx, params![peer])
}

pub(crate) fn all(tx: &Tx<'_>) -> Result<Vec<PeerRow>> {
    entity::query(tx, "ORDER BY peer", params![])
}

/// Forgets all that was agreed on with another store.
pub(crate) fn forget_bases(tx: &Tx<'_>, peer: &str) -> Result<()> {
    tx.journal("peer_bases_forgotten", peer)?;
    tx.send("DELETE FROM sync_bases WHERE peer = ?1", params![peer])
}

/// Forgets every other store, as one does that is filled anew.
pub(crate) fn clear(tx: &Tx<'_>) -> Result<()> {
    if all(tx)?.is_empty() {
        return Ok(());
    }
    tx.journal("peers_cleared", &true)?;
    tx.send("DELETE FROM sync_bases", params![])?;
    tx.send("DELETE FROM sync_peers", params![])
}

pub(crate) fn base(tx: &Tx<'_>, peer: &str, collection: &str, id: &str) -> Result<Option<Base>> {
    let row: Option<BaseRow> = entity::get(tx, params![peer, collection, id])?;
    Ok(row.map(|row| Base { line: row.line, dirty: row.dirty }))
}

pub(crate) fn put_base(tx: &Tx<'_>, peer: &str, collection: &str, id: &str, base: &Base) -> Result<()> {
    let [peer, collection, record_id] = [peer, collection, id].map(str::to_owned);
    entity::put(tx, &BaseRow { peer, collection, record_id, line: base.line.clone(), dirty: base.dirty })
}

pub(crate) fn forget_base(tx: &Tx<'_>, peer: &str, collection: &str, id: &str) -> Result<()> {
    entity::delete::<BaseRow>(tx, params![peer, collection, id]).map(drop)
}

/// The records of a collection that are to be sent whatever the log says, after one of them.
pub(crate) fn dirty(tx: &Tx<'_>, peer: &str, collection: &str, after: &str, limit: usize) -> Result<Vec<Named>> {
    // The terms of the index sync_bases_dirty.
    let sql = "SELECT record_id FROM sync_bases
         WHERE peer = ?1 AND dirty = 1 AND collection = ?2 AND record_id > ?3 ORDER BY record_id LIMIT ?4";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    tx.query(sql, params![peer, collection, after, limit], |row| {
        Ok(Named { collection: collection.to_owned(), id: row.text(0)? })
    })
}

pub(crate) fn count_dirty(tx: &Tx<'_>, peer: &str) -> Result<i64> {
    let sql = "SELECT COUNT(*) FROM sync_bases WHERE peer = ?1 AND dirty = 1";
    Ok(tx.query_one(sql, params![peer], |row| row.int(0))?.unwrap_or_default())
}

/// Forgets the dependencies of an issue that has another id now: they have other names too.
pub(crate) fn issue_renamed(tx: &Tx<'_>, old: &str) -> Result<()> {
    let sql = "DELETE FROM sync_bases WHERE collection = 'deps' AND instr(' ' || record_id || ' ', ?1) > 0";
    tx.send(sql, params![format!(" {old} ")])
}

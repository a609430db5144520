//! Rows of `sync_peers` and `sync_bases`: the books on other stores.

use pensa_core::ops::sync::Named;
use pensa_core::{Result, Timestamp};
use serde::{Deserialize, Serialize};

use super::row::Shape;
use crate::db::{Row, Tx, params};

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

/// What a record was when both stores last had the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Base {
    /// None if the other may not have it.
    pub(crate) line: Option<String>,
    /// Whether it is to be sent whatever the log says.
    pub(crate) dirty: bool,
}

const PEERS: Shape =
    Shape { table: "sync_peers", columns: "peer name url turn pulled pushed known synced_at", keys: 1 };
const BASES: Shape = Shape { table: "sync_bases", columns: "peer collection record_id line dirty", keys: 3 };
const SELECT: &str = "SELECT peer, name, url, turn, pulled, pushed, known, synced_at FROM sync_peers";

fn read(row: &Row<'_>) -> Result<PeerRow> {
    Ok(PeerRow {
        peer: row.text(0)?,
        name: row.text_or_null(1)?,
        url: row.text_or_null(2)?,
        turn: row.int(3)?,
        pulled: row.text_or_null(4)?,
        pushed: row.text_or_null(5)?,
        known: row.text(6)?,
        synced_at: row.parse_or_null(7)?,
    })
}

pub(crate) fn get(tx: &Tx<'_>, peer: &str) -> Result<Option<PeerRow>> {
    tx.query_one(&format!("{SELECT} WHERE peer = ?1"), params![peer], read)
}

pub(crate) fn all(tx: &Tx<'_>) -> Result<Vec<PeerRow>> {
    tx.query(&format!("{SELECT} ORDER BY peer"), params![], read)
}

pub(crate) fn put(tx: &Tx<'_>, row: &PeerRow) -> Result<()> {
    tx.journal("peer", row)?;
    PEERS.put(
        tx,
        &[
            row.peer.as_str().into(),
            row.name.as_ref().into(),
            row.url.as_ref().into(),
            row.turn.into(),
            row.pulled.as_ref().into(),
            row.pushed.as_ref().into(),
            row.known.as_str().into(),
            row.synced_at.into(),
        ],
    )
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
    let sql = "SELECT line, dirty FROM sync_bases WHERE peer = ?1 AND collection = ?2 AND record_id = ?3";
    tx.query_one(sql, params![peer, collection, id], |row| {
        Ok(Base { line: row.text_or_null(0)?, dirty: row.int(1)? != 0 })
    })
}

pub(crate) fn put_base(tx: &Tx<'_>, peer: &str, collection: &str, id: &str, base: &Base) -> Result<()> {
    tx.journal("peer_base", &(peer, collection, id, base))?;
    let values = [peer.into(), collection.into(), id.into(), base.line.as_ref().into(), i64::from(base.dirty).into()];
    BASES.put(tx, &values)
}

pub(crate) fn forget_base(tx: &Tx<'_>, peer: &str, collection: &str, id: &str) -> Result<()> {
    tx.journal("peer_base_forgotten", &(peer, collection, id))?;
    let sql = "DELETE FROM sync_bases WHERE peer = ?1 AND collection = ?2 AND record_id = ?3";
    tx.send(sql, params![peer, collection, id])
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

//! Rows of `peers` and `merge_bases`: how far sync with git work trees and servers has come, and the last common state
//! of each record.

use pensa_core::ops::sync::RecordKey;
use pensa_core::{Result, Timestamp, entity as declare};
use serde::{Deserialize, Serialize};

use crate::db::{Tx, params};
use crate::entity;

/// Where the other copy is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PeerKind {
    Git,
    #[default]
    Server,
}

impl PeerKind {
    fn as_str(self) -> &'static str {
        match self {
            PeerKind::Git => "git",
            PeerKind::Server => "server",
        }
    }
}

/// The sync state of a peer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PeerRow {
    pub(crate) kind: PeerKind,
    pub(crate) peer: String,
    pub(crate) name: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) turn: i64,
    /// The commit last checked out, or the cursor in the server's log
    pub(crate) pulled: Option<String>,
    /// The cursor in this store's log; for a work tree, when an export wrote its merge base
    pub(crate) pushed: Option<String>,
    /// The collections that were known when this row was written
    pub(crate) known: String,
    /// The directory with the merge base of a work tree
    pub(crate) base: Option<String>,
    pub(crate) synced_at: Option<Timestamp>,
}

declare!(PeerRow: "peer" in "peers", keys 2 {
    kind, peer, name, url, turn: Int, pulled, pushed, known, base, synced_at
});

/// The last state of a record that both stores had.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MergeBase {
    /// `None` if the peer may not have the record
    pub(crate) line: Option<String>,
    /// Whether to send the record whatever the log says
    pub(crate) dirty: bool,
}

/// A row of `merge_bases`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct MergeBaseRow {
    peer: String,
    collection: String,
    record_id: String,
    line: Option<String>,
    dirty: bool,
}

declare!(MergeBaseRow: "base" in "merge_bases", keys 3 { peer, collection, record_id, line, dirty: Bool });

/// The peer name for what all work trees share: the contents seen in any of them.
pub(crate) const WORK_TREES: &str = "";
/// Its collections: file contents and commits, by git id.
pub(crate) const BLOBS: &str = "blobs";
pub(crate) const COMMITS: &str = "commits";

pub(crate) fn get(tx: &Tx<'_>, kind: PeerKind, peer: &str) -> Result<Option<PeerRow>> {
    entity::get(tx, params![kind.as_str(), peer])
}

pub(crate) fn all(tx: &Tx<'_>, kind: PeerKind) -> Result<Vec<PeerRow>> {
    entity::query(tx, "WHERE kind = ?1 ORDER BY peer", params![kind.as_str()])
}

/// Deletes all merge bases with a peer.
pub(crate) fn forget_bases(tx: &Tx<'_>, peer: &str) -> Result<()> {
    let bases = entity::query::<MergeBaseRow>(tx, "WHERE peer = ?1", params![peer])?;
    bases.iter().try_for_each(|base| entity::remove(tx, base))
}

/// Deletes a server and its merge bases.
pub(crate) fn forget(tx: &Tx<'_>, peer: &str) -> Result<()> {
    forget_bases(tx, peer)?;
    entity::delete::<PeerRow>(tx, params![PeerKind::Server.as_str(), peer]).map(drop)
}

/// Deletes a work tree that no longer exists.
pub(crate) fn forget_work_tree(tx: &Tx<'_>, peer: &str) -> Result<()> {
    entity::delete::<PeerRow>(tx, params![PeerKind::Git.as_str(), peer]).map(drop)
}

/// Records that a work tree had this content.
pub(crate) fn note_seen(tx: &Tx<'_>, collection: &str, id: &str, at: Timestamp) -> Result<()> {
    put_base(tx, WORK_TREES, collection, id, &MergeBase { line: Some(at.to_string()), dirty: false })
}

pub(crate) fn has_seen(tx: &Tx<'_>, blob: &str) -> Result<bool> {
    Ok(base(tx, WORK_TREES, BLOBS, blob)?.is_some())
}

/// The last commits whose files were imported, newest first.
pub(crate) fn seen_commits(tx: &Tx<'_>, limit: i64) -> Result<Vec<String>> {
    let sql = "SELECT record_id FROM merge_bases WHERE peer = ?1 AND collection = ?2 ORDER BY line DESC LIMIT ?3";
    tx.query(sql, params![WORK_TREES, COMMITS, limit], |row| row.text(0))
}

/// All contents seen in work trees, as (collection, id).
pub(crate) fn all_seen(tx: &Tx<'_>) -> Result<Vec<(String, String)>> {
    let sql = "SELECT collection, record_id FROM merge_bases WHERE peer = ?1 ORDER BY collection, record_id";
    tx.query(sql, params![WORK_TREES], |row| Ok((row.text(0)?, row.text(1)?)))
}

pub(crate) fn base(tx: &Tx<'_>, peer: &str, collection: &str, id: &str) -> Result<Option<MergeBase>> {
    let row: Option<MergeBaseRow> = entity::get(tx, params![peer, collection, id])?;
    Ok(row.map(|row| MergeBase { line: row.line, dirty: row.dirty }))
}

pub(crate) fn put_base(tx: &Tx<'_>, peer: &str, collection: &str, id: &str, base: &MergeBase) -> Result<()> {
    let [peer, collection, record_id] = [peer, collection, id].map(str::to_owned);
    entity::put(tx, &MergeBaseRow { peer, collection, record_id, line: base.line.clone(), dirty: base.dirty })
}

pub(crate) fn forget_base(tx: &Tx<'_>, peer: &str, collection: &str, id: &str) -> Result<()> {
    entity::delete::<MergeBaseRow>(tx, params![peer, collection, id]).map(drop)
}

/// The records of a collection to be sent whatever the log says, with ids after `after`.
pub(crate) fn dirty(tx: &Tx<'_>, peer: &str, collection: &str, after: &str, limit: usize) -> Result<Vec<RecordKey>> {
    // These conditions match the partial index merge_bases_dirty.
    let sql = "SELECT record_id FROM merge_bases
         WHERE peer = ?1 AND dirty = 1 AND collection = ?2 AND record_id > ?3 ORDER BY record_id LIMIT ?4";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    tx.query(sql, params![peer, collection, after, limit], |row| {
        Ok(RecordKey { collection: collection.to_owned(), id: row.text(0)? })
    })
}

pub(crate) fn count_dirty(tx: &Tx<'_>, peer: &str) -> Result<i64> {
    let sql = "SELECT COUNT(*) FROM merge_bases WHERE peer = ?1 AND dirty = 1";
    Ok(tx.query_one(sql, params![peer], |row| row.int(0))?.unwrap_or_default())
}

/// Deletes the merge bases of an issue's dependencies when the issue gets a new id, because their keys change too.
pub(crate) fn issue_renamed(tx: &Tx<'_>, old: &str) -> Result<()> {
    let sql = "DELETE FROM merge_bases WHERE collection = 'deps' AND instr(' ' || record_id || ' ', ?1) > 0";
    tx.send(sql, params![format!(" {old} ")])
}

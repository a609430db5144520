//! Finds, lists and stores rows of `fs_snapshots`.

use pensa_core::event::{self, EventType};
use pensa_core::id::{SnapshotId, SnapshotRef};
use pensa_core::snapshot::Snapshot;
use pensa_core::{Code, Error, Result};
use serde_json::{Map, Value};

use super::ids::IdTable;
use super::listing::{ColumnFilters, newest_first};
use crate::context::Context;
use crate::db::{Param, Tx, params};
use crate::entity::{self, StoredEntity};
use crate::tables::events;

const SNAPSHOTS: IdTable<'static> = IdTable {
    name: "snapshot",
    table: "fs_snapshots",
    prefix: SnapshotId::PREFIX,
    hint: "pn snapshot list shows the ids",
};

/// Most runs per query.
const RUNS_AT_ONCE: usize = 256;

pub(crate) fn new_id(cx: &Context<'_>, tx: &Tx<'_>) -> Result<SnapshotId> {
    SNAPSHOTS.new_id(tx, || SnapshotId::from_uuid(cx.uuid()))
}

/// Refuses an id that is in use.
pub(crate) fn must_be_new(tx: &Tx<'_>, id: &SnapshotId) -> Result<()> {
    if entity::get::<Snapshot>(tx, params![id.as_str()])?.is_none() {
        return Ok(());
    }
    Err(Error::new(Code::Conflict, format!("there is a snapshot {id} already")).hint("give it another id"))
}

/// Finds a snapshot by its id or a prefix.
pub(crate) fn find(tx: &Tx<'_>, reference: &SnapshotRef) -> Result<Snapshot> {
    let id = SNAPSHOTS.find(tx, reference.as_str())?;
    entity::get(tx, params![&id])?.ok_or_else(|| SNAPSHOTS.unknown(&id))
}

/// Snapshots that match the filters, newest first.
pub(crate) fn list(tx: &Tx<'_>, filters: ColumnFilters, limit: Option<u32>) -> Result<Vec<Snapshot>> {
    let (rest, values) = newest_first("fs_snapshots", "created_at", filters, limit);
    entity::query(tx, &rest, &values)
}

/// Like [`list`], as JSON, one snapshot at a time.
pub(crate) fn write_list(tx: &Tx<'_>, filters: ColumnFilters, limit: Option<u32>, to: &mut Vec<u8>) -> Result<()> {
    let (rest, values) = newest_first("fs_snapshots", "created_at", filters, limit);
    entity::write_list::<Snapshot>(tx, &rest, &values, to)
}

/// Stores a changed snapshot and logs the change, with `note` added to the event.
pub(crate) fn save(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    old: Option<&Snapshot>,
    new: Snapshot,
    event: EventType,
    note: Map<String, Value>,
) -> Result<Snapshot> {
    let mut detail = event::differences(old, &new);
    detail.extend(note);
    entity::put(tx, &new)?;
    events::append(cx, tx, ("snapshot", new.id.as_str()), None, event, detail)?;
    Ok(new)
}

/// Deletes a snapshot. Its children lose their parent.
pub(crate) fn delete(cx: &Context<'_>, tx: &Tx<'_>, snapshot: &Snapshot) -> Result<()> {
    for child in
        entity::query::<Snapshot>(tx, "WHERE parent_id = ?1 ORDER BY created_at, id", params![snapshot.id.as_str()])?
    {
        let orphan = Snapshot { parent_id: None, ..child.clone() };
        save(cx, tx, Some(&child), orphan, EventType::Updated, Map::new())?;
    }
    Snapshot::remove(cx, tx, snapshot)
}

/// The snapshots of runs, oldest first.
pub(crate) fn of_runs(tx: &Tx<'_>, runs: &[&str], limit: u32) -> Result<Vec<Snapshot>> {
    let mut all = Vec::new();
    for chunk in runs.chunks(RUNS_AT_ONCE) {
        let placeholders: Vec<String> = (2..chunk.len() + 2).map(|at| format!("?{at}")).collect();
        let rest = format!("WHERE run_id IN ({}) ORDER BY created_at, id LIMIT ?1", placeholders.join(", "));
        let values: Vec<Param<'_>> =
            [Param::Int(i64::from(limit))].into_iter().chain(chunk.iter().map(|run| (*run).into())).collect();
        all.extend(entity::query::<Snapshot>(tx, &rest, &values)?);
    }
    Ok(all)
}

/// The number of a repository's snapshots.
pub(crate) fn count_of_repo(tx: &Tx<'_>, repo_id: &str) -> Result<i64> {
    let count = "SELECT COUNT(*) FROM fs_snapshots WHERE repo_id = ?1";
    Ok(tx.query_one(count, params![repo_id], |row| row.int(0))?.unwrap_or_default())
}

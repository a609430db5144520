//! Rows of `fs_snapshots`, and which of them a caller means.

use pensa_core::event::{self, EventType};
use pensa_core::id::{SnapshotId, SnapshotRef};
use pensa_core::snapshot::Snapshot;
use pensa_core::{Code, Error, Result};
use serde_json::{Map, Value};

use super::ids::Kind;
use super::row::{Wanted, newest};
use crate::context::Context;
use crate::db::{Param, Tx, params};
use crate::entity::{self, Kept};
use crate::tables::events;

const SNAPSHOTS: Kind<'static> = Kind {
    name: "snapshot",
    table: "fs_snapshots",
    prefix: SnapshotId::PREFIX,
    hint: "pn snapshot list shows the ids",
};

/// Runs whose snapshots one statement asks for.
const RUNS_AT_ONCE: usize = 256;

pub(crate) fn new_id(cx: &Context<'_>, tx: &Tx<'_>) -> Result<SnapshotId> {
    SNAPSHOTS.new_id(tx, || SnapshotId::from_uuid(cx.uuid()))
}

/// Refuses an id that a snapshot has already.
pub(crate) fn must_be_new(tx: &Tx<'_>, id: &SnapshotId) -> Result<()> {
    if entity::get::<Snapshot>(tx, params![id.as_str()])?.is_none() {
        return Ok(());
    }
    Err(Error::new(Code::Conflict, format!("there is a snapshot {id} already")).hint("give it another id"))
}

/// The snapshot that a caller means.
pub(crate) fn find(tx: &Tx<'_>, wanted: &SnapshotRef) -> Result<Snapshot> {
    let id = SNAPSHOTS.find(tx, wanted.as_str())?;
    entity::get(tx, params![&id])?.ok_or_else(|| SNAPSHOTS.unknown(&id))
}

/// The snapshots that a listing wants, newest first.
pub(crate) fn list(tx: &Tx<'_>, wanted: Wanted, limit: Option<u32>) -> Result<Vec<Snapshot>> {
    let (rest, values) = newest("fs_snapshots", "created_at", wanted, limit);
    entity::query(tx, &rest, &values)
}

/// The same as JSON, a snapshot at a time.
pub(crate) fn write_list(tx: &Tx<'_>, wanted: Wanted, limit: Option<u32>, to: &mut Vec<u8>) -> Result<()> {
    let (rest, values) = newest("fs_snapshots", "created_at", wanted, limit);
    entity::write_list::<Snapshot>(tx, &rest, &values, to)
}

/// Stores a changed snapshot and logs the change, with a note on it.
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

/// Deletes a snapshot; those that came after it have no parent then.
pub(crate) fn delete(cx: &Context<'_>, tx: &Tx<'_>, snapshot: &Snapshot) -> Result<()> {
    for child in
        entity::query::<Snapshot>(tx, "WHERE parent_id = ?1 ORDER BY created_at, id", params![snapshot.id.as_str()])?
    {
        let orphan = Snapshot { parent_id: None, ..child.clone() };
        save(cx, tx, Some(&child), orphan, EventType::Updated, Map::new())?;
    }
    Snapshot::remove(cx, tx, snapshot)
}

/// The snapshots that were taken for runs, oldest first.
pub(crate) fn of_runs(tx: &Tx<'_>, runs: &[&str], limit: u32) -> Result<Vec<Snapshot>> {
    let mut all = Vec::new();
    for some in runs.chunks(RUNS_AT_ONCE) {
        let places: Vec<String> = (2..some.len() + 2).map(|at| format!("?{at}")).collect();
        let rest = format!("WHERE run_id IN ({}) ORDER BY created_at, id LIMIT ?1", places.join(", "));
        let values: Vec<Param<'_>> =
            [Param::Int(i64::from(limit))].into_iter().chain(some.iter().map(|run| (*run).into())).collect();
        all.extend(entity::query::<Snapshot>(tx, &rest, &values)?);
    }
    Ok(all)
}

/// How many snapshots there are of a repository.
pub(crate) fn count_of_repo(tx: &Tx<'_>, repo_id: &str) -> Result<i64> {
    let count = "SELECT COUNT(*) FROM fs_snapshots WHERE repo_id = ?1";
    Ok(tx.query_one(count, params![repo_id], |row| row.int(0))?.unwrap_or_default())
}

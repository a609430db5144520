//! Rows of `fs_snapshots`, and which of them a caller means.

use pensa_core::event::{self, EventType};
use pensa_core::id::{SnapshotId, SnapshotRef};
use pensa_core::json::{self, ListWriter};
use pensa_core::snapshot::Snapshot;
use pensa_core::{Code, Error, Result};
use serde_json::{Map, Value};

use super::ids::Kind;
use super::row::{Shape, Wanted, newest};
use crate::context::Context;
use crate::db::{Param, Row, Tx, params};
use crate::tables::events;

const SNAPSHOTS: Kind = Kind {
    name: "snapshot",
    table: "fs_snapshots",
    prefix: SnapshotId::PREFIX,
    hint: "pn snapshot list shows the ids",
};

/// The columns are in the order of [`read`] and [`row`].
const SHAPE: Shape = Shape {
    table: "fs_snapshots",
    columns: "id kind provider repo_id run_id host root ref path parent_id label actor metadata created_at restored_at",
    keys: 1,
};

/// Runs whose snapshots one statement asks for.
const RUNS_AT_ONCE: usize = 256;

fn read(row: &Row<'_>) -> Result<Snapshot> {
    Ok(Snapshot {
        id: row.parse(0)?,
        kind: row.parse(1)?,
        provider: row.parse(2)?,
        repo_id: row.parse(3)?,
        run_id: row.parse_or_null(4)?,
        host: row.text(5)?,
        root: row.text(6)?,
        reference: row.text_or_null(7)?,
        path: row.text_or_null(8)?,
        parent_id: row.parse_or_null(9)?,
        label: row.text_or_null(10)?,
        actor: row.text(11)?,
        metadata: row.json(12)?,
        created_at: row.parse(13)?,
        restored_at: row.parse_or_null(14)?,
    })
}

fn row(snapshot: &Snapshot) -> Result<[Param<'_>; 15]> {
    Ok([
        snapshot.id.as_str().into(),
        snapshot.kind.as_str().into(),
        snapshot.provider.as_str().into(),
        snapshot.repo_id.as_str().into(),
        snapshot.run_id.as_ref().map(|id| id.as_str()).into(),
        snapshot.host.as_str().into(),
        snapshot.root.as_str().into(),
        snapshot.reference.as_ref().into(),
        snapshot.path.as_ref().into(),
        snapshot.parent_id.as_ref().map(|id| id.as_str()).into(),
        snapshot.label.as_ref().into(),
        snapshot.actor.as_str().into(),
        json::to_line(&snapshot.metadata)?.into(),
        snapshot.created_at.into(),
        snapshot.restored_at.into(),
    ])
}

fn select(rest: &str) -> String {
    format!("SELECT {} FROM fs_snapshots {rest}", SHAPE.columns.replace(' ', ", "))
}

fn query(tx: &Tx<'_>, rest: &str, params: &[Param<'_>]) -> Result<Vec<Snapshot>> {
    tx.query(&select(rest), params, read)
}

pub(crate) fn new_id(cx: &Context<'_>, tx: &Tx<'_>) -> Result<SnapshotId> {
    SNAPSHOTS.new_id(tx, || SnapshotId::from_uuid(cx.uuid()))
}

/// Refuses an id that a snapshot has already.
pub(crate) fn must_be_new(tx: &Tx<'_>, id: &SnapshotId) -> Result<()> {
    if query(tx, "WHERE id = ?1", params![id.as_str()])?.is_empty() {
        return Ok(());
    }
    Err(Error::new(Code::Conflict, format!("there is a snapshot {id} already")).hint("give it another id"))
}

/// The snapshot that a caller means.
pub(crate) fn find(tx: &Tx<'_>, wanted: &SnapshotRef) -> Result<Snapshot> {
    let id = SNAPSHOTS.find(tx, wanted.as_str())?;
    query(tx, "WHERE id = ?1", params![&id])?.pop().ok_or_else(|| SNAPSHOTS.unknown(&id))
}

/// The snapshots that a listing wants, newest first.
pub(crate) fn list(tx: &Tx<'_>, wanted: Wanted, limit: Option<u32>) -> Result<Vec<Snapshot>> {
    let (rest, values) = newest("fs_snapshots", "created_at", wanted, limit);
    query(tx, &rest, &values)
}

/// The same as JSON, a snapshot at a time.
pub(crate) fn write_list(tx: &Tx<'_>, wanted: Wanted, limit: Option<u32>, to: &mut Vec<u8>) -> Result<()> {
    let (rest, values) = newest("fs_snapshots", "created_at", wanted, limit);
    let mut list = ListWriter::new(to);
    tx.for_each(&select(&rest), &values, |row| list.item(&read(row)?))?;
    list.end();
    Ok(())
}

/// Adds a snapshot, or puts it in place of what is there.
pub(crate) fn put(tx: &Tx<'_>, snapshot: &Snapshot) -> Result<()> {
    tx.journal("snapshot", snapshot)?;
    SHAPE.put(tx, &row(snapshot)?)
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
    put(tx, &new)?;
    events::append(cx, tx, ("snapshot", new.id.as_str()), None, event, detail)?;
    Ok(new)
}

/// Deletes a snapshot; those that came after it have no parent then.
pub(crate) fn delete(cx: &Context<'_>, tx: &Tx<'_>, snapshot: &Snapshot) -> Result<()> {
    for child in query(tx, "WHERE parent_id = ?1 ORDER BY created_at, id", params![snapshot.id.as_str()])? {
        let orphan = Snapshot { parent_id: None, ..child.clone() };
        save(cx, tx, Some(&child), orphan, EventType::Updated, Map::new())?;
    }
    forget(tx, snapshot.id.as_str())?;
    let mut detail = Map::new();
    detail.insert("snapshot".into(), event::change(snapshot, Value::Null));
    events::append(cx, tx, ("snapshot", snapshot.id.as_str()), None, EventType::Deleted, detail).map(drop)
}

pub(crate) fn forget(tx: &Tx<'_>, id: &str) -> Result<()> {
    tx.journal("snapshot_deleted", id)?;
    tx.send("DELETE FROM fs_snapshots WHERE id = ?1", params![id])
}

/// The snapshots that were taken for runs, oldest first.
pub(crate) fn of_runs(tx: &Tx<'_>, runs: &[&str], limit: u32) -> Result<Vec<Snapshot>> {
    let mut all = Vec::new();
    for some in runs.chunks(RUNS_AT_ONCE) {
        let places: Vec<String> = (2..some.len() + 2).map(|at| format!("?{at}")).collect();
        let rest = format!("WHERE run_id IN ({}) ORDER BY created_at, id LIMIT ?1", places.join(", "));
        let values: Vec<Param<'_>> =
            [Param::Int(i64::from(limit))].into_iter().chain(some.iter().map(|run| (*run).into())).collect();
        all.extend(query(tx, &rest, &values)?);
    }
    Ok(all)
}

/// How many snapshots there are of a repository.
pub(crate) fn count_of_repo(tx: &Tx<'_>, repo_id: &str) -> Result<i64> {
    let count = "SELECT COUNT(*) FROM fs_snapshots WHERE repo_id = ?1";
    Ok(tx.query_one(count, params![repo_id], |row| row.int(0))?.unwrap_or_default())
}

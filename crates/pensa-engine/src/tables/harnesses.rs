//! Rows of `harnesses` and `runtimes`, which are made when a run first has them.

use pensa_core::event::{self, EventType};
use pensa_core::id::{HarnessId, RuntimeId, RuntimeRef};
use pensa_core::run::{Harness, HarnessName, Runtime, RuntimeName};
use pensa_core::session::Object;
use pensa_core::{Result, json};

use super::ids::Kind;
use super::row::Shape;
use crate::context::Context;
use crate::db::{Param, Row, Tx, params};
use crate::tables::events;

const HARNESSES: Kind =
    Kind { name: "harness", table: "harnesses", prefix: HarnessId::PREFIX, hint: "pn harness list shows them" };
const RUNTIMES: Kind =
    Kind { name: "runtime", table: "runtimes", prefix: RuntimeId::PREFIX, hint: "pn runtime list shows them" };

const SHAPE: Shape = Shape { table: "harnesses", columns: "id name version metadata", keys: 1 };
const RUNTIME_SHAPE: Shape = Shape { table: "runtimes", columns: "id type devcontainer_path metadata", keys: 1 };

fn metadata(row: &Row<'_>, column: usize) -> Result<Option<Object>> {
    if row.text_or_null(column)?.is_some() { row.json(column).map(Some) } else { Ok(None) }
}

fn read(row: &Row<'_>) -> Result<Harness> {
    Ok(Harness { id: row.parse(0)?, name: row.text(1)?, version: row.text(2)?, metadata: metadata(row, 3)? })
}

fn query(tx: &Tx<'_>, rest: &str, params: &[Param<'_>]) -> Result<Vec<Harness>> {
    tx.query(&format!("SELECT id, name, version, metadata FROM harnesses {rest}"), params, read)
}

pub(crate) fn all(tx: &Tx<'_>) -> Result<Vec<Harness>> {
    query(tx, "ORDER BY name, version", params![])
}

/// The row of a harness, made if need be.
pub(crate) fn remember(cx: &Context<'_>, tx: &Tx<'_>, wanted: &HarnessName) -> Result<HarnessId> {
    let known = query(tx, "WHERE name = ?1 AND version = ?2", params![wanted.name(), wanted.version()])?.pop();
    if let Some(known) = known {
        return Ok(known.id);
    }
    let harness = Harness {
        id: HARNESSES.new_id(tx, || HarnessId::from_uuid(cx.uuid()))?,
        name: wanted.name().to_owned(),
        version: wanted.version().to_owned(),
        metadata: None,
    };
    put(tx, &harness)?;
    let detail = event::differences(None, &harness);
    events::append(cx, tx, ("harness", harness.id.as_str()), None, EventType::Created, detail)?;
    Ok(harness.id)
}

/// Replaces what is said about a harness.
pub(crate) fn describe(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    wanted: &HarnessName,
    metadata: Option<Object>,
) -> Result<Harness> {
    let id = remember(cx, tx, wanted)?;
    let old = query(tx, "WHERE id = ?1", params![id.as_str()])?.pop().ok_or_else(|| HARNESSES.unknown(id.as_str()))?;
    let new = Harness { metadata, ..old.clone() };
    let detail = event::differences(Some(&old), &new);
    if !detail.is_empty() {
        put(tx, &new)?;
        events::append(cx, tx, ("harness", new.id.as_str()), None, EventType::Updated, detail)?;
    }
    Ok(new)
}

pub(crate) fn put(tx: &Tx<'_>, harness: &Harness) -> Result<()> {
    tx.journal("harness", harness)?;
    SHAPE.put(
        tx,
        &[
            harness.id.as_str().into(),
            harness.name.as_str().into(),
            harness.version.as_str().into(),
            harness.metadata.as_ref().map(json::to_line).transpose()?.into(),
        ],
    )
}

fn read_runtime(row: &Row<'_>) -> Result<Runtime> {
    let (kind, devcontainer_path) = (row.text(1)?, row.text_or_null(2)?);
    Ok(Runtime { id: row.parse(0)?, kind, devcontainer_path, metadata: metadata(row, 3)? })
}

fn query_runtimes(tx: &Tx<'_>, rest: &str, params: &[Param<'_>]) -> Result<Vec<Runtime>> {
    tx.query(&format!("SELECT id, type, devcontainer_path, metadata FROM runtimes {rest}"), params, read_runtime)
}

pub(crate) fn runtimes(tx: &Tx<'_>) -> Result<Vec<Runtime>> {
    query_runtimes(tx, "ORDER BY type, COALESCE(devcontainer_path, '')", params![])
}

/// The row of a runtime, made if need be.
pub(crate) fn remember_runtime(cx: &Context<'_>, tx: &Tx<'_>, wanted: &RuntimeName) -> Result<RuntimeId> {
    let (kind, path) = (wanted.kind(), wanted.devcontainer_path().unwrap_or_default());
    let known = query_runtimes(tx, "WHERE type = ?1 AND COALESCE(devcontainer_path, '') = ?2", params![kind, path])?;
    if let Some(known) = known.into_iter().next() {
        return Ok(known.id);
    }
    let runtime = Runtime {
        id: RUNTIMES.new_id(tx, || RuntimeId::from_uuid(cx.uuid()))?,
        kind: kind.to_owned(),
        devcontainer_path: wanted.devcontainer_path().map(str::to_owned),
        metadata: None,
    };
    put_runtime(tx, &runtime)?;
    let detail = event::differences(None, &runtime);
    events::append(cx, tx, ("runtime", runtime.id.as_str()), None, EventType::Created, detail)?;
    Ok(runtime.id)
}

/// Replaces what is said about a runtime.
pub(crate) fn describe_runtime(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    wanted: &RuntimeRef,
    metadata: Option<Object>,
) -> Result<Runtime> {
    let id = RUNTIMES.find(tx, wanted.as_str())?;
    let old = query_runtimes(tx, "WHERE id = ?1", params![&id])?.pop().ok_or_else(|| RUNTIMES.unknown(&id))?;
    let new = Runtime { metadata, ..old.clone() };
    let detail = event::differences(Some(&old), &new);
    if !detail.is_empty() {
        put_runtime(tx, &new)?;
        events::append(cx, tx, ("runtime", new.id.as_str()), None, EventType::Updated, detail)?;
    }
    Ok(new)
}

pub(crate) fn put_runtime(tx: &Tx<'_>, runtime: &Runtime) -> Result<()> {
    tx.journal("runtime", runtime)?;
    RUNTIME_SHAPE.put(
        tx,
        &[
            runtime.id.as_str().into(),
            runtime.kind.as_str().into(),
            runtime.devcontainer_path.as_ref().into(),
            runtime.metadata.as_ref().map(json::to_line).transpose()?.into(),
        ],
    )
}

//! Rows of `harnesses` and `runtimes`, which are made when a run first has them.

use pensa_core::Result;
use pensa_core::id::{HarnessId, RuntimeId, RuntimeRef};
use pensa_core::run::{Harness, HarnessName, Runtime, RuntimeName};
use pensa_core::session::Object;

use super::ids::Kind;
use crate::context::Context;
use crate::db::{Tx, params};
use crate::entity::{self, Kept};

const HARNESSES: Kind =
    Kind { name: "harness", table: "harnesses", prefix: HarnessId::PREFIX, hint: "pn harness list shows them" };
const RUNTIMES: Kind =
    Kind { name: "runtime", table: "runtimes", prefix: RuntimeId::PREFIX, hint: "pn runtime list shows them" };

pub(crate) fn all(tx: &Tx<'_>) -> Result<Vec<Harness>> {
    entity::query(tx, "ORDER BY name, version", params![])
}

/// The row of a harness, made if need be.
pub(crate) fn remember(cx: &Context<'_>, tx: &Tx<'_>, wanted: &HarnessName) -> Result<HarnessId> {
    let rest = "WHERE name = ?1 AND version = ?2";
    let known = entity::query::<Harness>(tx, rest, params![wanted.name(), wanted.version()])?.pop();
    if let Some(known) = known {
        return Ok(known.id);
    }
    let harness = Harness {
        id: HARNESSES.new_id(tx, || HarnessId::from_uuid(cx.uuid()))?,
        name: wanted.name().to_owned(),
        version: wanted.version().to_owned(),
        metadata: None,
    };
    Harness::store(cx, tx, None, &harness)?;
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
    let old: Harness = entity::get(tx, params![id.as_str()])?.ok_or_else(|| HARNESSES.unknown(id.as_str()))?;
    let new = Harness { metadata, ..old.clone() };
    if new != old {
        Harness::store(cx, tx, Some(&old), &new)?;
    }
    Ok(new)
}

pub(crate) fn runtimes(tx: &Tx<'_>) -> Result<Vec<Runtime>> {
    entity::query(tx, "ORDER BY type, COALESCE(devcontainer_path, '')", params![])
}

/// The row of a runtime, made if need be.
pub(crate) fn remember_runtime(cx: &Context<'_>, tx: &Tx<'_>, wanted: &RuntimeName) -> Result<RuntimeId> {
    let (kind, path) = (wanted.kind(), wanted.devcontainer_path().unwrap_or_default());
    let rest = "WHERE type = ?1 AND COALESCE(devcontainer_path, '') = ?2";
    if let Some(known) = entity::query::<Runtime>(tx, rest, params![kind, path])?.pop() {
        return Ok(known.id);
    }
    let runtime = Runtime {
        id: RUNTIMES.new_id(tx, || RuntimeId::from_uuid(cx.uuid()))?,
        kind: kind.to_owned(),
        devcontainer_path: wanted.devcontainer_path().map(str::to_owned),
        metadata: None,
    };
    Runtime::store(cx, tx, None, &runtime)?;
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
    let old: Runtime = entity::get(tx, params![&id])?.ok_or_else(|| RUNTIMES.unknown(&id))?;
    let new = Runtime { metadata, ..old.clone() };
    if new != old {
        Runtime::store(cx, tx, Some(&old), &new)?;
    }
    Ok(new)
}

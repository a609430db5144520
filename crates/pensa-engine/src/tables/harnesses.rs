//! Rows of `harnesses` and `runtimes`, which are created on first use by a run.

use pensa_core::Result;
use pensa_core::id::{HarnessId, RuntimeId, RuntimeRef};
use pensa_core::run::{Harness, HarnessName, Runtime, RuntimeName};
use pensa_core::session::Object;

use super::ids::IdTable;
use crate::context::Context;
use crate::db::{Tx, params};
use crate::entity::{self, StoredEntity};

const HARNESSES: IdTable =
    IdTable { name: "harness", table: "harnesses", prefix: HarnessId::PREFIX, hint: "pn harness list shows them" };
const RUNTIMES: IdTable =
    IdTable { name: "runtime", table: "runtimes", prefix: RuntimeId::PREFIX, hint: "pn runtime list shows them" };

pub(crate) fn all(tx: &Tx<'_>) -> Result<Vec<Harness>> {
    entity::query(tx, "ORDER BY name, version", params![])
}

/// The id of a harness, which is created if necessary.
pub(crate) fn get_or_create(cx: &Context<'_>, tx: &Tx<'_>, name: &HarnessName) -> Result<HarnessId> {
    let rest = "WHERE name = ?1 AND version = ?2";
    let known = entity::query::<Harness>(tx, rest, params![name.name(), name.version()])?.pop();
    if let Some(known) = known {
        return Ok(known.id);
    }
    let harness = Harness {
        id: HARNESSES.new_id(tx, || HarnessId::from_uuid(cx.uuid()))?,
        name: name.name().to_owned(),
        version: name.version().to_owned(),
        metadata: None,
    };
    Harness::store(cx, tx, None, &harness)?;
    Ok(harness.id)
}

/// Sets the metadata of a harness.
pub(crate) fn set_metadata(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    name: &HarnessName,
    metadata: Option<Object>,
) -> Result<Harness> {
    let id = get_or_create(cx, tx, name)?;
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

/// The id of a runtime, which is created if necessary.
pub(crate) fn get_or_create_runtime(cx: &Context<'_>, tx: &Tx<'_>, name: &RuntimeName) -> Result<RuntimeId> {
    let (kind, path) = (name.kind(), name.devcontainer_path().unwrap_or_default());
    let rest = "WHERE type = ?1 AND COALESCE(devcontainer_path, '') = ?2";
    if let Some(known) = entity::query::<Runtime>(tx, rest, params![kind, path])?.pop() {
        return Ok(known.id);
    }
    let runtime = Runtime {
        id: RUNTIMES.new_id(tx, || RuntimeId::from_uuid(cx.uuid()))?,
        kind: kind.to_owned(),
        devcontainer_path: name.devcontainer_path().map(str::to_owned),
        metadata: None,
    };
    Runtime::store(cx, tx, None, &runtime)?;
    Ok(runtime.id)
}

/// Sets the metadata of a runtime.
pub(crate) fn set_runtime_metadata(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    reference: &RuntimeRef,
    metadata: Option<Object>,
) -> Result<Runtime> {
    let id = RUNTIMES.find(tx, reference.as_str())?;
    let old: Runtime = entity::get(tx, params![&id])?.ok_or_else(|| RUNTIMES.unknown(&id))?;
    let new = Runtime { metadata, ..old.clone() };
    if new != old {
        Runtime::store(cx, tx, Some(&old), &new)?;
    }
    Ok(new)
}

//! Does again what the journal says was done to repositories, runs and small values.

use pensa_core::Result;
use serde_json::Value;

use super::read;
use crate::db::{Tx, params};
use crate::tables::{harnesses, kv, repos, runs};

/// Does one item again, if it is about these.
pub(super) fn apply(tx: &Tx<'_>, kind: &str, value: Value) -> Result<()> {
    match kind {
        "repo" => repos::put(tx, &read(value)?)?,
        "repo_removed" => repos::forget(tx, &read::<String>(value)?)?,
        "workspace" => repos::put_workspace(tx, &read(value)?)?,
        "harness" => harnesses::put(tx, &read(value)?)?,
        "runtime" => harnesses::put_runtime(tx, &read(value)?)?,
        "run" => runs::put(tx, &read(value)?)?,
        "kv" => kv::put(tx, &read(value)?)?,
        "kv_deleted" => {
            let (scope, key): (String, String) = read(value)?;
            kv::delete(tx, &scope, &key)?;
        }
        _ => {}
    }
    Ok(())
}

/// Takes out what refers to something that is lost.
pub(super) fn settle(tx: &Tx<'_>) -> Result<()> {
    for sql in [
        "DELETE FROM runs WHERE repo_id NOT IN (SELECT id FROM repos)
            OR harness_id NOT IN (SELECT id FROM harnesses) OR runtime_id NOT IN (SELECT id FROM runtimes)",
        "UPDATE runs SET workspace_id = NULL WHERE workspace_id NOT IN (SELECT id FROM workspaces)",
    ] {
        tx.execute(sql, params![])?;
    }
    Ok(())
}

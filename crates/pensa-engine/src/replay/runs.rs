//! Does again what the journal says was done to repositories, runs, snapshots, small values and learnings.

use pensa_core::Result;
use serde_json::Value;

use super::read;
use crate::db::{Tx, params};
use crate::tables::{harnesses, kv, learnings, repos, runs, snapshots};

/// Does one item again, if it is about these.
pub(super) fn apply(tx: &Tx<'_>, kind: &str, value: Value) -> Result<()> {
    match kind {
        "repo" => repos::put(tx, &read(value)?)?,
        "repo_removed" => repos::forget(tx, &read::<String>(value)?)?,
        "workspace" => repos::put_workspace(tx, &read(value)?)?,
        "harness" => harnesses::put(tx, &read(value)?)?,
        "runtime" => harnesses::put_runtime(tx, &read(value)?)?,
        "run" => runs::put(tx, &read(value)?)?,
        "snapshot" => snapshots::put(tx, &read(value)?)?,
        "snapshot_deleted" => snapshots::forget(tx, &read::<String>(value)?)?,
        "kv" => kv::put(tx, &read(value)?)?,
        "kv_deleted" => {
            let (scope, key): (String, String) = read(value)?;
            kv::delete(tx, &scope, &key)?;
        }
        "learning" => learnings::put(tx, &read(value)?)?,
        "learning_deleted" => learnings::delete(tx, &read(value)?)?,
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
        "DELETE FROM fs_snapshots WHERE repo_id NOT IN (SELECT id FROM repos)",
        "UPDATE fs_snapshots SET parent_id = NULL WHERE parent_id NOT IN (SELECT id FROM fs_snapshots)",
    ] {
        tx.execute(sql, params![])?;
    }
    Ok(())
}

//! Does again what the journal says was done to runs.

use pensa_core::Result;
use serde_json::Value;

use super::read;
use crate::db::{Tx, params};
use crate::tables::runs;

/// Does one item again, if it is about these.
pub(super) fn apply(tx: &Tx<'_>, kind: &str, value: Value) -> Result<()> {
    match kind {
        "run" => runs::put(tx, &read(value)?)?,
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

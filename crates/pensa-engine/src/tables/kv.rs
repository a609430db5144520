//! Rows of `kv`.

use pensa_core::Result;
use pensa_core::kv::Pair;

use super::row::Shape;
use crate::db::{Param, Row, Tx, params};

const SHAPE: Shape = Shape { table: "kv", columns: "scope k v updated_at", keys: 2 };

fn read(row: &Row<'_>) -> Result<Pair> {
    Ok(Pair { scope: row.text(0)?, key: row.text(1)?, value: row.text(2)?, updated_at: row.parse(3)? })
}

fn query(tx: &Tx<'_>, rest: &str, params: &[Param<'_>]) -> Result<Vec<Pair>> {
    tx.query(&format!("SELECT scope, k, v, updated_at FROM kv {rest}"), params, read)
}

pub(crate) fn get(tx: &Tx<'_>, scope: &str, key: &str) -> Result<Option<Pair>> {
    Ok(query(tx, "WHERE scope = ?1 AND k = ?2", params![scope, key])?.pop())
}

/// The values of one scope or of all, by scope and name.
pub(crate) fn list(tx: &Tx<'_>, scope: Option<&str>, prefix: &str, limit: Option<u32>) -> Result<Vec<Pair>> {
    let limit = Param::Int(limit.map_or(i64::MAX, i64::from));
    let (from, to) = (Param::from(prefix), Param::from(format!("{prefix}\u{10FFFF}")));
    match scope {
        Some(scope) => {
            query(tx, "WHERE scope = ?1 AND k >= ?2 AND k < ?3 ORDER BY k LIMIT ?4", &[scope.into(), from, to, limit])
        }
        None => query(tx, "WHERE k >= ?1 AND k < ?2 ORDER BY scope, k LIMIT ?3", &[from, to, limit]),
    }
}

pub(crate) fn put(tx: &Tx<'_>, pair: &Pair) -> Result<()> {
    tx.journal("kv", pair)?;
    SHAPE.put(
        tx,
        &[pair.scope.as_str().into(), pair.key.as_str().into(), pair.value.as_str().into(), pair.updated_at.into()],
    )
}

pub(crate) fn delete(tx: &Tx<'_>, scope: &str, key: &str) -> Result<()> {
    tx.journal("kv_deleted", &(scope, key))?;
    tx.send("DELETE FROM kv WHERE scope = ?1 AND k = ?2", params![scope, key])
}

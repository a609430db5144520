//! Lists rows of `kv`.

use pensa_core::Result;
use pensa_core::kv::KvPair;

use crate::db::{Param, Tx};
use crate::entity;

/// The pairs of one scope or of all whose key has a prefix, by scope and key.
pub(crate) fn list(tx: &Tx<'_>, scope: Option<&str>, prefix: &str, limit: Option<u32>) -> Result<Vec<KvPair>> {
    let limit = Param::Int(limit.map_or(i64::MAX, i64::from));
    let (from, to) = (Param::from(prefix), Param::from(format!("{prefix}\u{10FFFF}")));
    match scope {
        Some(scope) => {
            let rest = "WHERE scope = ?1 AND k >= ?2 AND k < ?3 ORDER BY k LIMIT ?4";
            entity::query(tx, rest, &[scope.into(), from, to, limit])
        }
        None => entity::query(tx, "WHERE k >= ?1 AND k < ?2 ORDER BY scope, k LIMIT ?3", &[from, to, limit]),
    }
}

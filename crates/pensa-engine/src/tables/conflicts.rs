//! Rows of `conflicts`: values that lost a merge, until somebody resolves them.

use pensa_core::sync::{Conflict, ConflictId};
use pensa_core::{Code, Error, Result, Timestamp, entity as declare, event, json};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::db::{Param, Tx, params};
use crate::entity::{self, StoredEntity};

/// A conflict row; the values are JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ConflictRow {
    id: ConflictId,
    collection: String,
    record_id: String,
    field: String,
    kept: String,
    other: String,
    whole: String,
    found_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    resolved_at: Option<Timestamp>,
}

declare!(ConflictRow: "conflict" in "conflicts", keys 1 {
    id, collection, record_id, field, kept, other, whole, found_at, resolved_at,
});

/// Undo resolves and reopens conflicts. It never deletes one, because the lost value exists nowhere else.
impl StoredEntity for ConflictRow {
    const KEPT_ON_UNDO: bool = true;

    fn event_detail(_: Option<&Self>, new: Option<&Self>) -> Map<String, Value> {
        let change = |row: &Self| match row.resolved_at {
            Some(_) => event::change(&row.id, Value::Null),
            None => event::change(Value::Null, &row.id),
        };
        new.map(|row| ("conflict".to_owned(), change(row))).into_iter().collect()
    }
}

impl ConflictRow {
    fn new(conflict: &Conflict, found_at: Timestamp) -> Result<Self> {
        Ok(Self {
            id: conflict.id.clone(),
            collection: conflict.collection.clone(),
            record_id: conflict.record_id.clone(),
            field: conflict.field.clone(),
            kept: json::to_line(&conflict.kept)?,
            other: json::to_line(&conflict.other)?,
            whole: json::to_line(&conflict.whole)?,
            found_at,
            resolved_at: None,
        })
    }

    fn conflict(self) -> Result<Conflict> {
        let damaged = |e| Error::new(Code::Corrupt, format!("an unreadable conflict: {e}")).hint("run pn doctor");
        Ok(Conflict {
            kept: serde_json::from_str(&self.kept).map_err(damaged)?,
            other: serde_json::from_str(&self.other).map_err(damaged)?,
            whole: serde_json::from_str(&self.whole).map_err(damaged)?,
            id: self.id,
            collection: self.collection,
            record_id: self.record_id,
            field: self.field,
            version: String::new(),
        })
    }
}

fn query(tx: &Tx<'_>, rest: &str, params: &[Param<'_>]) -> Result<Vec<Conflict>> {
    entity::query(tx, rest, params)?.into_iter().map(ConflictRow::conflict).collect()
}

/// Records a conflict; false if it is known. A resolved conflict is reopened when a later version has the same values.
pub(crate) fn note(tx: &Tx<'_>, conflict: &Conflict, found_at: Timestamp) -> Result<bool> {
    let Some(known) = entity::get::<ConflictRow>(tx, params![conflict.id.as_str()])? else {
        entity::insert(tx, &ConflictRow::new(conflict, found_at)?)?;
        return Ok(true);
    };
    let is_reopened = known.resolved_at.is_some_and(|at| conflict.version > at.to_string());
    if is_reopened {
        entity::replace(tx, &known, &ConflictRow { resolved_at: None, ..known.clone() })?;
    }
    Ok(is_reopened)
}

/// Unresolved conflicts, oldest first.
pub(crate) fn open(tx: &Tx<'_>, limit: i64) -> Result<Vec<Conflict>> {
    query(tx, "WHERE resolved_at IS NULL ORDER BY found_at, id LIMIT ?1", params![limit])
}

/// Unresolved conflicts with this id prefix; at most two, which is enough to detect ambiguity.
pub(crate) fn with_prefix(tx: &Tx<'_>, prefix: &str) -> Result<Vec<Conflict>> {
    let rest = "WHERE resolved_at IS NULL AND id >= ?1 AND id < ?2 ORDER BY id LIMIT 2";
    query(tx, rest, params![prefix, format!("{prefix}\u{10FFFF}")])
}

pub(crate) fn mark_resolved(tx: &Tx<'_>, id: &ConflictId, at: Timestamp) -> Result<()> {
    match entity::get::<ConflictRow>(tx, params![id.as_str()])? {
        Some(known) => entity::replace(tx, &known, &ConflictRow { resolved_at: Some(at), ..known.clone() }),
        None => Ok(()),
    }
}

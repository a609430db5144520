//! Reads the changes that an event reported, and undoes them.

use pensa_core::entity::Column;
use pensa_core::id::IssueId;
use pensa_core::sync::Collection;
use pensa_core::{Code, Error, Result, Timestamp};
use serde_json::{Map, Value};

use super::row::{Values, from_json};
use super::{ChangeKind, apply, current, ops_of};
use crate::context::Context;
use crate::db::{Param, Tx, params};
use crate::tables::events::{self, REMOVES};
use crate::tables::{operations, tombstones};

/// Tables with rows that others refer to, with the referring table and column.
const REFERENCES: [(&str, &str, &str); 5] = [
    ("repos", "runs", "repo_id"),
    ("repos", "fs_snapshots", "repo_id"),
    ("harnesses", "runs", "harness_id"),
    ("runtimes", "runs", "runtime_id"),
    ("workspaces", "runs", "workspace_id"),
];

/// Unique columns of a table, besides its key.
const UNIQUE: [(&str, &[&str]); 4] = [
    ("repos", &["host", "root_path"]),
    ("workspaces", &["name"]),
    ("harnesses", &["name", "version"]),
    ("runtimes", &["type", "devcontainer_path"]),
];

/// Columns of an issue that change together: its claim and status.
const STATE: [&str; 8] =
    ["status", "assignee", "lease_expires_at", "lease_ms", "claim_session", "claim_host", "closed_at", "close_reason"];

/// The scope of a change: two changes conflict if their scopes overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChangeScope {
    /// A whole issue with everything about it.
    Issue,
    /// The claim and status of an issue.
    State,
    /// A row, or one of its columns.
    Row(String, Option<String>),
}

impl ChangeScope {
    /// Whether two scopes overlap, if both concern the same subject.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (ChangeScope::Issue, _) | (_, ChangeScope::Issue) => true,
            (ChangeScope::Row(row, None), ChangeScope::Row(other, _))
            | (ChangeScope::Row(other, _), ChangeScope::Row(row, None)) => row == other,
            _ => self == other,
        }
    }
}

/// A change with its before-image, as stored in `changes`.
#[derive(Debug)]
pub(crate) struct PastChange {
    event: i64,
    table: String,
    key: String,
    kind: ChangeKind,
    before: Map<String, Value>,
}

/// The changes that an event reported, in order.
pub(crate) fn changes_of(tx: &Tx<'_>, event: i64) -> Result<Vec<PastChange>> {
    let sql = "SELECT event, entity, entity_key, kind, before FROM changes WHERE event = ?1 ORDER BY number";
    tx.query(sql, params![event], |row| {
        let before = row.text_or_null(4)?.map_or(Ok(Map::new()), |text| serde_json::from_str(&text));
        Ok(PastChange {
            event: row.int(0)?,
            table: row.text(1)?,
            key: row.text(2)?,
            kind: ChangeKind::parse(row.str(3)?)?,
            before: before.map_err(|e| Error::new(Code::Corrupt, format!("an unreadable change: {e}")))?,
        })
    })
}

impl PastChange {
    /// Whether the before-image was too large to be stored.
    pub(crate) fn is_too_large(&self) -> bool {
        self.kind != ChangeKind::Created && self.before.is_empty()
    }

    /// If the change created or deleted a whole issue, which of the two.
    pub(crate) fn of_whole_issue(&self) -> Option<ChangeKind> {
        (self.table == "issues" && self.kind != ChangeKind::Updated).then_some(self.kind)
    }

    /// The changed columns; `None` for the whole row. `updated_at` does not count.
    fn columns(&self) -> Option<impl Iterator<Item = &String>> {
        let is_some = self.kind == ChangeKind::Updated && !self.is_too_large();
        is_some.then(|| self.before.keys().filter(|column| *column != "updated_at"))
    }

    /// The scopes that it changed.
    pub(crate) fn scopes(&self) -> Vec<ChangeScope> {
        let row = format!("{} {}", self.table, self.key);
        let Some(columns) = self.columns() else {
            return vec![if self.table == "issues" { ChangeScope::Issue } else { ChangeScope::Row(row, None) }];
        };
        let is_state = |column: &str| self.table == "issues" && STATE.contains(&column);
        let scope = |column: &String| match is_state(column) {
            true => ChangeScope::State,
            false => ChangeScope::Row(row.clone(), Some(column.clone())),
        };
        columns.map(scope).collect()
    }

    fn issue_in(&self, column: &str) -> Option<Result<IssueId>> {
        self.before.get(column).and_then(Value::as_str).map(str::parse)
    }

    /// The issues that the before-image needs: the owner of the row, and issues that it refers to.
    pub(crate) fn required_issues(&self) -> Result<Vec<IssueId>> {
        let other = match self.table.as_str() {
            "issues" => Some("fixes"),
            "deps" => Some("depends_on_id"),
            _ => None,
        };
        let columns = ops_of(&self.table)?.schema.owner.into_iter().chain(other);
        columns.filter_map(|column| self.issue_in(column)).collect()
    }

    /// If undoing it restores a dependency or a parent: the waiting issue and the issue it waits for.
    pub(crate) fn restored_dep(&self) -> Result<Option<(IssueId, IssueId)>> {
        if self.table == "issues" {
            return self.issue_in("parent").map(|parent| Ok((parent?, self.key.parse()?))).transpose();
        }
        let ends = self.issue_in("issue_id").zip(self.issue_in("depends_on_id")).filter(|_| self.table == "deps");
        ends.map(|(child, parent)| Ok((child?, parent?))).transpose()
    }

    /// Whether a later event about another subject changed the same columns and is still in effect.
    fn is_overwritten(&self, tx: &Tx<'_>) -> Result<bool> {
        let sql = "SELECT c.event, c.before, e.detail FROM changes c JOIN events e ON e.id = c.event
               JOIN events own ON own.id = ?3
             WHERE c.entity = ?1 AND c.entity_key = ?2 AND c.event > ?3
               AND NOT (e.subject_kind = own.subject_kind AND e.subject_id = own.subject_id)
             ORDER BY c.event DESC";
        let later = tx.query(sql, params![&self.table, &self.key, self.event], |row| {
            Ok((row.int(0)?, row.text_or_null(1)?, operations::undoes(&row.json(2)?)))
        })?;
        // A later creation or deletion has no old value of a single column.
        let has = |before: &str, column: &String| before.contains(&format!("\"{column}\":"));
        let overlaps = |before: &Option<String>| match (before, self.columns()) {
            (Some(before), Some(mut columns)) => columns.any(|column| has(before, column)),
            _ => true,
        };
        let mut undone: Vec<i64> = Vec::new();
        for (event, before, undoes) in later {
            if undone.contains(&event) {
                continue;
            }
            let came_to_nothing = !undoes.is_empty() && undoes.iter().all(|other| *other > self.event);
            undone.extend(undoes);
            if !came_to_nothing && overlaps(&before) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the change created a row that others refer to now.
    pub(crate) fn is_referred_to(&self, tx: &Tx<'_>) -> Result<bool> {
        for (_, table, column) in
            REFERENCES.iter().filter(|(of, ..)| self.kind == ChangeKind::Created && *of == self.table)
        {
            let any = format!("SELECT 1 FROM {table} WHERE {column} = ?1 LIMIT 1");
            if tx.query_one(&any, params![&self.key], |_| Ok(()))?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether restoring the row would violate a unique constraint.
    fn violates_unique(&self, tx: &Tx<'_>) -> Result<bool> {
        let Some((table, columns)) = UNIQUE.iter().find(|(table, _)| *table == self.table) else { return Ok(false) };
        let value = |column: &&str| self.before.get(*column).and_then(Value::as_str).unwrap_or_default();
        let same = columns.iter().enumerate().map(|(at, column)| format!("COALESCE({column}, '') = ?{}", at + 1));
        let any = format!("SELECT 1 FROM {table} WHERE {} LIMIT 1", same.collect::<Vec<_>>().join(" AND "));
        let values: Values = columns.iter().map(|column| value(column).to_owned().into()).collect();
        Ok(tx.query_one(&any, &values, |_| Ok(()))?.is_some())
    }

    /// Restores the before-image. Returns the event detail, or `None` if the row is no longer as the change left it.
    pub(crate) fn revert(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Option<Map<String, Value>>> {
        let ops = ops_of(&self.table)?;
        if ops.kept_on_undo && self.kind == ChangeKind::Created {
            return Ok(Some(Map::new()));
        }
        if self.is_overwritten(tx)? {
            return Ok(None);
        }
        let columns = ops.schema.columns;
        let key: Values = match ops.schema.keys {
            1 => vec![self.key.clone().into()],
            // Only the last part of a key may contain spaces.
            keys => self.key.splitn(keys, ' ').map(|part| part.to_owned().into()).collect(),
        };
        let current = current(tx, &ops.schema, &key)?;
        let collection = Collection::named(&self.table).filter(|collection| collection.carries(&self.key));
        let mut reverted = match (self.kind, &current) {
            (ChangeKind::Created, Some(_)) => None,
            (ChangeKind::Updated, Some(current)) => {
                let mut values = current.clone();
                for (at, column) in
                    columns.iter().enumerate().filter(|(_, column)| self.before.contains_key(column.name))
                {
                    values[at] = from_json(&self.before, column);
                }
                Some(values)
            }
            (ChangeKind::Deleted, None) if self.violates_unique(tx)? => return Ok(None),
            (ChangeKind::Deleted, None) => {
                Some(columns.iter().map(|column| from_json(&self.before, column)).collect::<Values>())
            }
            _ => return Ok(None),
        };
        if let Some(record) = reverted.as_mut().filter(|_| ops.schema.name == "record") {
            super::record::date(record, cx.now);
        }
        if let Some(collection) = collection {
            mark_for_sync(cx, tx, collection, &self.key, columns, current.as_ref(), reverted.as_mut())?;
        }
        let detail = (ops.event_detail)(current.as_ref(), reverted.as_ref())?;
        apply(tx, &ops, current, reverted)?;
        Ok(Some(detail))
    }
}

/// Prepares a restored record for sync: a deleted record leaves a tombstone, and a restored or changed one gets a newer
/// version than all other copies.
fn mark_for_sync(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    collection: &Collection,
    key: &str,
    columns: &[Column],
    before: Option<&Values>,
    after: Option<&mut Values>,
) -> Result<()> {
    let at = collection.version_field().and_then(|field| columns.iter().position(|column| column.name == field));
    let version = |values: &Values| match at.map(|at| &values[at]) {
        Some(Param::Text(text)) => text.parse::<Timestamp>().ok(),
        _ => None,
    };
    let Some(after) = after else {
        return tombstones::write_tombstone(cx, tx, collection, key, before.and_then(version));
    };
    match at {
        Some(at) => {
            let last = before.and_then(version).max(version(after));
            after[at] = tombstones::version_after(cx, tx, collection, key, last)?.into();
            Ok(())
        }
        None => tombstones::mark_restored(cx, tx, collection, key),
    }
}

/// Deletes before-images of events up to `until`. Those of deleted issues stay until the issue is purged, which an open
/// conflict delays.
pub(crate) fn forget_changes(tx: &Tx<'_>, until: i64) -> Result<()> {
    tx.journal("changes_forgotten", &until)?;
    let sql = format!(
        "DELETE FROM changes WHERE event <= ?1 AND NOT EXISTS (
             SELECT 1 FROM events removal WHERE removal.id = changes.event AND {REMOVES} AND removal.detail NOT LIKE ?2)"
    );
    tx.send(&sql, params![until, events::purged_pattern()])
}

/// The last event that reported a change of this kind to a row.
pub(crate) fn last_change(tx: &Tx<'_>, table: &str, key: &str, kind: ChangeKind) -> Result<Option<i64>> {
    let sql =
        "SELECT event FROM changes WHERE entity = ?1 AND entity_key = ?2 AND kind = ?3 ORDER BY event DESC LIMIT 1";
    tx.query_one(sql, params![table, key, kind.as_str()], |row| row.int(0))
}

//! What rows were: the changes that an event reports, and how they are undone.

use pensa_core::entity::Column;
use pensa_core::sync::Collection;
use pensa_core::{Code, Error, Result, Timestamp};
use serde_json::{Map, Value};

use super::row::{Values, from_json};
use super::{ChangeKind, apply, current, ops_of};
use crate::context::Context;
use crate::db::{Param, Tx, params};
use crate::tables::tombstones;

/// Tables whose rows others refer to, with those others and their columns.
const REFERENCES: [(&str, &str, &str); 5] = [
    ("repos", "runs", "repo_id"),
    ("repos", "fs_snapshots", "repo_id"),
    ("harnesses", "runs", "harness_id"),
    ("runtimes", "runs", "runtime_id"),
    ("workspaces", "runs", "workspace_id"),
];

/// Columns that no two rows of a table share, beside its key.
const UNIQUE: [(&str, &[&str]); 4] = [
    ("repos", &["host", "root_path"]),
    ("workspaces", &["name"]),
    ("harnesses", &["name", "version"]),
    ("runtimes", &["type", "devcontainer_path"]),
];

/// What a change was, as `changes` has it.
#[derive(Debug)]
pub(crate) struct PastChange {
    event: i64,
    table: String,
    key: String,
    kind: ChangeKind,
    before: Map<String, Value>,
}

/// The changes that an event reports, in their order.
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
    /// Whether what was there before was too large to be kept.
    pub(crate) fn is_too_large(&self) -> bool {
        self.kind != ChangeKind::Created && self.before.is_empty()
    }

    /// The row that it changed, and the columns; none stands for all of them.
    pub(crate) fn scope(&self) -> (String, Option<Vec<String>>) {
        let columns =
            (self.kind == ChangeKind::Updated && !self.is_too_large()).then(|| self.before.keys().cloned().collect());
        (format!("{} {}", self.table, self.key), columns)
    }

    /// Whether an event about something else has changed the same since.
    fn is_covered(&self, tx: &Tx<'_>) -> Result<bool> {
        let sql = "SELECT c.before FROM changes c JOIN events e ON e.id = c.event JOIN events own ON own.id = ?3
             WHERE c.entity = ?1 AND c.entity_key = ?2 AND c.event > ?3
               AND NOT (e.subject_kind = own.subject_kind AND e.subject_id = own.subject_id)";
        let later = tx.query(sql, params![&self.table, &self.key, self.event], |row| row.text_or_null(0))?;
        let (_, columns) = self.scope();
        // A row that was made or deleted since has no old value of its own for a column.
        let has = |before: &str, column: &String| before.contains(&format!("\"{column}\":"));
        Ok(later.iter().any(|before| match (before, &columns) {
            (Some(before), Some(columns)) => columns.iter().any(|column| has(before, column)),
            _ => true,
        }))
    }

    /// Whether it made a row that others refer to by now.
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

    /// Whether another row has what no two may share.
    fn is_taken(&self, tx: &Tx<'_>) -> Result<bool> {
        let Some((table, columns)) = UNIQUE.iter().find(|(table, _)| *table == self.table) else { return Ok(false) };
        let value = |column: &&str| self.before.get(*column).and_then(Value::as_str).unwrap_or_default();
        let same = columns.iter().enumerate().map(|(at, column)| format!("COALESCE({column}, '') = ?{}", at + 1));
        let any = format!("SELECT 1 FROM {table} WHERE {} LIMIT 1", same.collect::<Vec<_>>().join(" AND "));
        let values: Values = columns.iter().map(|column| value(column).to_owned().into()).collect();
        Ok(tx.query_one(&any, &values, |_| Ok(()))?.is_some())
    }

    /// Puts back what was there before; false if the row is not as the change left it.
    pub(crate) fn revert(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<bool> {
        if self.is_covered(tx)? {
            return Ok(false);
        }
        let ops = ops_of(&self.table)?;
        let columns = ops.schema.columns;
        let key: Values = match ops.schema.keys {
            1 => vec![self.key.clone().into()],
            // Only the last part of a key may have blanks in it.
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
            (ChangeKind::Deleted, None) if self.is_taken(tx)? => return Ok(false),
            (ChangeKind::Deleted, None) => {
                Some(columns.iter().map(|column| from_json(&self.before, column)).collect::<Values>())
            }
            _ => return Ok(false),
        };
        if let Some(collection) = collection {
            travel(cx, tx, collection, &self.key, columns, current.as_ref(), reverted.as_mut())?;
        }
        apply(tx, ops, current, reverted)?;
        Ok(true)
    }
}

/// Has other copies of the store follow: a record that goes leaves a tombstone, and one that stays or comes back is
/// newer than theirs.
fn travel(
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
        return tombstones::bury(cx, tx, collection, key, before.and_then(version));
    };
    match at {
        Some(at) => {
            let last = before.and_then(version).max(version(after));
            after[at] = tombstones::version_after(cx, tx, collection, key, last)?.into();
            Ok(())
        }
        None => tombstones::lift(cx, tx, collection, key),
    }
}

/// Forgets what rows were before changes that were reported up to an event.
pub(crate) fn forget_changes(tx: &Tx<'_>, until: i64) -> Result<()> {
    tx.journal("changes_forgotten", &until)?;
    tx.send("DELETE FROM changes WHERE event <= ?1", params![until])
}

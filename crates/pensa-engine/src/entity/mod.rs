//! The one way in which the state of an entity is read and changed.
//!
//! A change writes the row, keeps what it was in `changes`, feeds what is derived from it, and is noted in the journal;
//! replay applies the same. Which entities there are is listed in [`ENTITIES`].

mod past;
mod record;
mod row;

use pensa_core::entity::{Column, Entity, Schema};
use pensa_core::event::{self, EventType};
use pensa_core::id::IssueId;
use pensa_core::json::ListWriter;
use pensa_core::{Code, Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::db::{Param, Tx, params};
use crate::tables::events;
pub(crate) use past::{PastChange, changes_of, forget_changes};
use row::{Values, from_json, from_values, to_json, to_values};
pub(crate) use row::{from_row, values_of, with_derived};

/// An entity that this engine keeps.
pub(crate) trait Kept: Entity {
    /// Whether anything is derived from it.
    const HAS_PROJECTIONS: bool = false;

    /// Brings up to date what is derived from it.
    fn project(_: &Tx<'_>, _before: Option<&Self>, _after: Option<&Self>) -> Result<()> {
        Ok(())
    }

    /// Whether its changes can be undone, so that what it was is kept.
    const UNDOABLE: bool = true;

    /// What the log calls the making of one.
    const CREATED: EventType = EventType::Created;

    /// Stores one that came into being or has changed, and logs that.
    fn store(cx: &Context<'_>, tx: &Tx<'_>, old: Option<&Self>, new: &Self) -> Result<()> {
        let key = key_of(new)?;
        put(tx, new)?;
        if let Some(issue) = issue_of(new)? {
            return log_attached(cx, tx, &issue, old, Some(new));
        }
        let event_type = if old.is_some() { EventType::Updated } else { Self::CREATED };
        let detail = event::differences(old, new);
        events::append(cx, tx, (Self::SCHEMA.name, &key), None, event_type, detail).map(drop)
    }

    /// Removes one, and logs the whole of it.
    fn remove(cx: &Context<'_>, tx: &Tx<'_>, entity: &Self) -> Result<()> {
        let key = key_of(entity)?;
        let values = to_values(entity)?;
        change::<Self>(tx, current(tx, &Self::SCHEMA, &values[..Self::SCHEMA.keys])?, None)?;
        if let Some(issue) = issue_of(entity)? {
            return log_attached(cx, tx, &issue, Some(entity), None);
        }
        let detail = Map::from_iter([(Self::SCHEMA.name.to_owned(), event::change(entity, Value::Null))]);
        events::append(cx, tx, (Self::SCHEMA.name, &key), None, EventType::Deleted, detail).map(drop)
    }
}

/// An entity, its type erased.
#[derive(Clone, Copy)]
struct EntityOps {
    schema: Schema,
    /// Writes a row and brings up to date what is derived from it.
    write: fn(&Tx<'_>, Option<&Values>, Option<&Values>) -> Result<()>,
    undoable: bool,
}

impl EntityOps {
    const fn of<E: Kept>() -> Self {
        Self { schema: E::SCHEMA, write: write::<E>, undoable: E::UNDOABLE }
    }
}

/// Every entity.
macro_rules! entities {
    ($($entity:ty,)*) => {
        static ENTITIES: &[EntityOps] = &[$(EntityOps::of::<$entity>(),)*];
    };
}

entities! {
    pensa_core::kv::Pair,
    pensa_core::skill::Mapping,
    pensa_core::release::Release,
    pensa_core::learning::Learning,
    pensa_core::comment::Comment,
    pensa_core::agent::Agent,
    pensa_core::repo::Repo,
    pensa_core::repo::Workspace,
    pensa_core::run::Harness,
    pensa_core::run::Runtime,
    pensa_core::snapshot::Snapshot,
    pensa_core::work::Piece,
    pensa_core::run::Run,
    pensa_core::project::Project,
    pensa_core::sync::Tombstone,
    crate::tables::agreements::Agreement,
    crate::tables::peers::PeerRow,
    crate::tables::peers::BaseRow,
    crate::tables::projects::TokenRow,
    crate::tables::sessions::SessionRow,
}

/// Entities from which nothing is derived.
macro_rules! plain {
    ($undoable:literal: $($entity:ty,)*) => { $(impl Kept for $entity { const UNDOABLE: bool = $undoable; })* };
}

plain! { true:
    pensa_core::skill::Mapping,
    pensa_core::repo::Repo,
    pensa_core::repo::Workspace,
    pensa_core::run::Harness,
    pensa_core::run::Runtime,
    pensa_core::work::Piece,
}

// There is more to these than a row: sessions, contents on a machine, a process, a store, a secret that was shown,
// entries. The others are notes about other copies of the store.
plain! { false:
    pensa_core::snapshot::Snapshot,
    pensa_core::run::Run,
    pensa_core::project::Project,
    crate::tables::projects::TokenRow,
    crate::tables::sessions::SessionRow,
    pensa_core::sync::Tombstone,
    crate::tables::agreements::Agreement,
    crate::tables::peers::PeerRow,
    crate::tables::peers::BaseRow,
}

impl Kept for pensa_core::release::Release {
    const CREATED: EventType = EventType::FeatureShipped;
}

macro_rules! attached {
    ($($module:ident $noun:ident $id:ident,)*) => {
        /// What is attached to issues.
        static ATTACHED: &[EntityOps] = &[$(EntityOps::of::<pensa_core::ops::$module::$noun>(),)*];
    };
}

pensa_core::for_each_attached!(attached);

/// Logs a change of what is attached to an issue as a change of the issue.
fn log_attached<E: Entity>(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    issue: &IssueId,
    old: Option<&E>,
    new: Option<&E>,
) -> Result<()> {
    let detail = Map::from_iter([(E::SCHEMA.name.to_owned(), event::change(old, new))]);
    events::log(cx, tx, issue, EventType::Updated, detail)
}

/// What of one kind is attached to an issue, oldest first.
pub(crate) fn attached<E: Kept>(tx: &Tx<'_>, issue: &IssueId) -> Result<Vec<E>> {
    let read = |fields| serde_json::from_value(Value::Object(fields)).map_err(Error::internal);
    record::attached(tx, &E::SCHEMA, issue)?.into_iter().map(read).collect()
}

/// All that is attached to an issue, by the names of their collections.
pub(crate) fn attached_to(tx: &Tx<'_>, issue: &IssueId) -> Result<Map<String, Value>> {
    let mut all = Map::new();
    for EntityOps { schema, .. } in ATTACHED {
        let list: Vec<Value> = record::attached(tx, schema, issue)?.into_iter().map(Value::Object).collect();
        if !list.is_empty() {
            all.insert(schema.table.to_owned(), list.into());
        }
    }
    Ok(all)
}

/// The collections of what is attached to issues.
pub(crate) fn attached_collections() -> impl Iterator<Item = &'static str> {
    ATTACHED.iter().map(|ops| ops.schema.table)
}

fn all() -> impl Iterator<Item = &'static EntityOps> {
    ENTITIES.iter().chain(ATTACHED)
}

/// Most bytes of what a row was that are kept; a larger change cannot be undone.
const MAX_BEFORE: usize = 128 << 10;

/// What a change did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ChangeKind {
    Created,
    Updated,
    Deleted,
}

impl ChangeKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Deleted => "deleted",
        }
    }

    fn parse(text: &str) -> Result<Self> {
        let all = [Self::Created, Self::Updated, Self::Deleted];
        let unknown = || Error::new(Code::Corrupt, format!("unknown kind of change: {text}"));
        all.into_iter().find(|kind| kind.as_str() == text).ok_or_else(unknown)
    }
}

/// A change of one row, as the journal has it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Change {
    table: String,
    kind: ChangeKind,
    /// The number of the event that reports it.
    event: i64,
    /// Its number among the changes of that event.
    number: i64,
    /// The row after it; of one that was deleted, the key.
    row: Map<String, Value>,
    /// What it changed: of an update the old values that are not null, and the names of all; of a deletion the row.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    before: Map<String, Value>,
}

fn names(columns: &[Column]) -> String {
    columns.iter().map(|column| column.name).collect::<Vec<_>>().join(", ")
}

/// The columns of an entity, in a statement that calls its table by another name.
pub(crate) fn columns<E: Entity>(alias: &str) -> String {
    let names = E::SCHEMA.columns.iter().map(|column| format!("{alias}.{}", column.name));
    names.collect::<Vec<_>>().join(", ")
}

/// `a = ?1 AND b = ?2`, with the first number.
fn equals<'c>(columns: impl Iterator<Item = &'c Column>, first: usize, between: &str) -> String {
    let parts = columns.enumerate().map(|(at, column)| format!("{} = ?{}", column.name, first + at));
    parts.collect::<Vec<_>>().join(between)
}

/// The rows that `rest` (conditions, order) selects.
pub(crate) fn query<E: Kept>(tx: &Tx<'_>, rest: &str, params: &[Param<'_>]) -> Result<Vec<E>> {
    tx.query(&select::<E>(rest), params, from_row)
}

/// The statement that selects them, for callers with columns or joins of their own.
pub(crate) fn select<E: Entity>(rest: &str) -> String {
    format!("SELECT {} FROM {} {rest}", names(E::SCHEMA.columns), E::SCHEMA.table)
}

pub(crate) fn for_each<E: Kept>(
    tx: &Tx<'_>,
    rest: &str,
    params: &[Param<'_>],
    mut each: impl FnMut(&E) -> Result<()>,
) -> Result<()> {
    tx.for_each(&select::<E>(rest), params, |row| each(&from_row(row)?))
}

/// The same as a JSON list, one at a time.
pub(crate) fn write_list<E: Kept>(tx: &Tx<'_>, rest: &str, params: &[Param<'_>], to: &mut Vec<u8>) -> Result<()> {
    let mut list = ListWriter::new(to);
    for_each::<E>(tx, rest, params, |entity| list.item(entity))?;
    list.end();
    Ok(())
}

/// All that belong to an issue, or all there are, in the order of `columns`; of records in that of their ids.
pub(crate) fn in_order<E: Kept>(
    tx: &Tx<'_>,
    owner: Option<&IssueId>,
    columns: &[&str],
    mut each: impl FnMut(&E) -> Result<()>,
) -> Result<()> {
    let column = owner.map(|_| E::SCHEMA.owner.ok_or_else(|| Error::internal("no entity of issues"))).transpose()?;
    if E::SCHEMA.indexes.is_some() {
        return record::for_each(tx, &E::SCHEMA, column.zip(owner), |values| each(&from_values(values)?));
    }
    let of_owner = column.map_or_else(String::new, |column| format!("WHERE {column} = ?1 "));
    let values: Values = owner.map(|owner| owner.to_string().into()).into_iter().collect();
    for_each(tx, &format!("{of_owner}ORDER BY {}", columns.join(", ")), &values, each)
}

/// What a statement selects the keys of an entity from.
pub(crate) fn rows(schema: &Schema) -> String {
    match schema.indexes {
        None => schema.table.to_owned(),
        Some(_) => format!("(SELECT id FROM records WHERE collection = '{}') AS r", schema.table),
    }
}

pub(crate) fn get<E: Kept>(tx: &Tx<'_>, key: &[Param<'_>]) -> Result<Option<E>> {
    if E::SCHEMA.indexes.is_some() {
        return current(tx, &E::SCHEMA, key)?.map(from_values).transpose();
    }
    let rest = format!("WHERE {}", equals(E::SCHEMA.columns[..E::SCHEMA.keys].iter(), 1, " AND "));
    Ok(query(tx, &rest, key)?.pop())
}

/// The row with this key.
fn current(tx: &Tx<'_>, schema: &Schema, key: &[Param<'_>]) -> Result<Option<Values>> {
    if schema.indexes.is_some() {
        return record::current(tx, schema, &key_text(key));
    }
    let key_is = equals(schema.columns[..schema.keys].iter(), 1, " AND ");
    let sql = format!("SELECT {} FROM {} WHERE {key_is}", names(schema.columns), schema.table);
    tx.query_one(&sql, key, |row| values_of(row, schema))
}

/// What names an entity: its key, with blanks between the parts, which no id has.
pub(crate) fn key_of<E: Entity>(entity: &E) -> Result<String> {
    Ok(key_text(&to_values(entity)?[..E::SCHEMA.keys]))
}

fn key_text(key: &[Param<'_>]) -> String {
    let part = |param: &Param<'_>| match param {
        Param::Null => String::new(),
        Param::Int(number) => number.to_string(),
        Param::Text(text) => text.to_string(),
    };
    key.iter().map(part).collect::<Vec<_>>().join(" ")
}

/// The issue that an entity belongs to, if it cannot be without one.
pub(crate) fn issue_of<E: Entity>(entity: &E) -> Result<Option<IssueId>> {
    let Some(owner) = E::SCHEMA.owner else { return Ok(None) };
    let fields = serde_json::to_value(entity).map_err(Error::internal)?;
    fields.get(owner).and_then(Value::as_str).map(str::parse).transpose()
}

/// Adds an entity, or puts it in place of the one with its key.
pub(crate) fn put<E: Kept>(tx: &Tx<'_>, entity: &E) -> Result<()> {
    let after = to_values(entity)?;
    let before = current(tx, &E::SCHEMA, &after[..E::SCHEMA.keys])?;
    change::<E>(tx, before, Some(after))
}

/// Adds an entity whose key nobody has.
pub(crate) fn insert<E: Kept>(tx: &Tx<'_>, entity: &E) -> Result<()> {
    change::<E>(tx, None, Some(to_values(entity)?))
}

/// The same for one of many that a backup covers: neither `changes` nor the journal hear of it.
pub(crate) fn load<E: Kept>(tx: &Tx<'_>, entity: &E) -> Result<()> {
    let values = match E::SCHEMA.indexes {
        None => Some(to_values(entity)?),
        Some(_) => record::revised(tx, None, Some(to_values(entity)?))?,
    };
    write::<E>(tx, None, values.as_ref())
}

/// Removes the entity with this key; false if it is not there.
pub(crate) fn delete<E: Kept>(tx: &Tx<'_>, key: &[Param<'_>]) -> Result<bool> {
    let before = current(tx, &E::SCHEMA, key)?;
    let is_there = before.is_some();
    change::<E>(tx, before, None)?;
    Ok(is_there)
}

/// The tables of entities that belong to issues, each with the column that names the issue.
pub(crate) fn owned() -> impl Iterator<Item = (&'static str, &'static str)> {
    ENTITIES.iter().filter_map(|ops| ops.schema.owner.map(|owner| (ops.schema.table, owner)))
}

/// Removes all that belongs to an issue.
pub(crate) fn delete_owned(tx: &Tx<'_>, issue: &IssueId) -> Result<()> {
    for ops in all() {
        let (schema, mut rows) = (&ops.schema, Vec::new());
        let Some(owner) = schema.owner else { continue };
        if schema.indexes.is_some() {
            record::for_each(tx, schema, Some((owner, issue)), |values| {
                rows.push(values);
                Ok(())
            })?;
        } else {
            let sql = format!("SELECT {} FROM {} WHERE {owner} = ?1", names(schema.columns), schema.table);
            rows = tx.query(&sql, params![issue], |row| values_of(row, schema))?;
        }
        rows.into_iter().try_for_each(|row| apply(tx, ops, Some(row), None))?;
    }
    Ok(())
}

fn change<E: Kept>(tx: &Tx<'_>, before: Option<Values>, after: Option<Values>) -> Result<()> {
    apply(tx, &EntityOps::of::<E>(), before, after)
}

fn apply(tx: &Tx<'_>, ops: &EntityOps, before: Option<Values>, after: Option<Values>) -> Result<()> {
    let after = match ops.schema.indexes {
        Some(_) if !tx.is_replaying() => record::revised(tx, before.as_ref(), after)?,
        _ => after,
    };
    if before == after {
        return Ok(());
    }
    (ops.write)(tx, before.as_ref(), after.as_ref())?;
    // Done again from the journal, its own items say what was kept.
    if tx.is_replaying() {
        return Ok(());
    }
    let (event, number) = if ops.undoable { tx.next_change()? } else { (0, 0) };
    let mut change = Change::new(&ops.schema, event, number, before.as_ref(), after.as_ref());
    if !ops.undoable {
        change.before.clear();
    }
    change.keep(tx)?;
    tx.journal("change", &change)
}

fn write<E: Kept>(tx: &Tx<'_>, before: Option<&Values>, after: Option<&Values>) -> Result<()> {
    match E::SCHEMA.indexes {
        None => write_row(tx, &E::SCHEMA, before, after)?,
        Some(indexes) => record::write(tx, &E::SCHEMA, indexes, before, after)?,
    }
    if !E::HAS_PROJECTIONS {
        return Ok(());
    }
    let entity = |values: Option<&Values>| values.cloned().map(from_values::<E>).transpose();
    E::project(tx, entity(before)?.as_ref(), entity(after)?.as_ref())
}

fn write_row(tx: &Tx<'_>, schema: &Schema, before: Option<&Values>, after: Option<&Values>) -> Result<()> {
    let (table, columns, keys) = (schema.table, schema.columns, schema.keys);
    match (before, after) {
        (None, Some(after)) => {
            let places = (1..=columns.len()).map(|at| format!("?{at}")).collect::<Vec<_>>().join(", ");
            tx.add_rows(&format!("INSERT INTO {table} ({}) VALUES ({places})", names(columns)), after)
        }
        (Some(before), Some(after)) => {
            let changed: Vec<usize> = (keys..columns.len()).filter(|at| before[*at] != after[*at]).collect();
            let set = equals(changed.iter().map(|at| &columns[*at]), keys + 1, ", ");
            let key_is = equals(columns[..keys].iter(), 1, " AND ");
            let values: Values = (0..keys).chain(changed).map(|at| after[at].clone()).collect();
            tx.send(&format!("UPDATE {table} SET {set} WHERE {key_is}"), &values)
        }
        (Some(before), None) => {
            let key_is = equals(columns[..keys].iter(), 1, " AND ");
            tx.send(&format!("DELETE FROM {table} WHERE {key_is}"), &before[..keys])
        }
        (None, None) => Ok(()),
    }
}

impl Change {
    fn new(schema: &Schema, event: i64, number: i64, before: Option<&Values>, after: Option<&Values>) -> Self {
        let columns = schema.columns;
        let (kind, row, was) = match (before, after) {
            (Some(before), Some(after)) => {
                let mut was = Map::new();
                for (at, column) in columns.iter().enumerate().filter(|(at, _)| before[*at] != after[*at]) {
                    let old = to_json([(column, &before[at])].into_iter()).remove(column.name).unwrap_or_default();
                    was.insert(column.name.to_owned(), old);
                }
                (ChangeKind::Updated, to_json(columns.iter().zip(after)), was)
            }
            (Some(before), None) => {
                let key = to_json(columns[..schema.keys].iter().zip(before));
                (ChangeKind::Deleted, key, to_json(columns.iter().zip(before)))
            }
            (None, after) => {
                (ChangeKind::Created, to_json(columns.iter().zip(after.into_iter().flatten())), Map::new())
            }
        };
        let is_large = Value::from(was.clone()).to_string().len() > MAX_BEFORE;
        let before = if is_large { Map::new() } else { was };
        Self { table: schema.table.to_owned(), kind, event, number, row, before }
    }

    fn keep(&self, tx: &Tx<'_>) -> Result<()> {
        let EntityOps { schema, undoable, .. } = ops_of(&self.table)?;
        if !undoable {
            return Ok(());
        }
        let key: Values = schema.columns[..schema.keys].iter().map(|column| from_json(&self.row, column)).collect();
        let before = if self.before.is_empty() { None } else { Some(Value::from(self.before.clone()).to_string()) };
        tx.send(
            "INSERT INTO changes (event, number, entity, entity_key, kind, before) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![self.event, self.number, schema.table, key_text(&key), self.kind.as_str(), before],
        )
    }

    /// Does it again, over whatever the row is by now.
    pub(crate) fn replay(&self, tx: &Tx<'_>) -> Result<()> {
        // One that a newer Pensa made of what is not known here is left out.
        let Some(ops) = all().find(|ops| ops.schema.table == self.table) else { return Ok(()) };
        let values: Values = ops.schema.columns.iter().map(|column| from_json(&self.row, column)).collect();
        let before = current(tx, &ops.schema, &values[..ops.schema.keys])?;
        let after = (self.kind != ChangeKind::Deleted).then_some(values);
        if before != after {
            (ops.write)(tx, before.as_ref(), after.as_ref())?;
        }
        if ops.undoable {
            tx.send("DELETE FROM changes WHERE event = ?1 AND number = ?2", params![self.event, self.number])?;
        }
        self.keep(tx)
    }
}

fn ops_of(table: &str) -> Result<&'static EntityOps> {
    let unknown = || Error::new(Code::Corrupt, format!("{table} is not a table of entities"));
    all().find(|ops| ops.schema.table == table).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Caller;
    use crate::engine::Engine;
    use crate::store::StoreDir;

    /// The columns of a table as the database has them.
    fn columns_in(engine: &Engine, sql: &str, table: &str) -> Vec<String> {
        let read = |_: &Context<'_>, tx: &Tx<'_>| tx.query(sql, params![table], |row| row.text(0));
        let mut columns = engine.run(pensa_core::Access::Read, &Caller::local("a"), read).expect("columns");
        columns.retain(|name| name != "store_id");
        columns.sort();
        columns
    }

    fn declared(schema: &Schema) -> Vec<String> {
        let mut columns: Vec<String> = schema.columns.iter().map(|column| column.name.to_owned()).collect();
        columns.sort();
        columns
    }

    #[test]
    fn declared_columns_are_those_of_the_tables_in_both_databases() {
        let dir = tempfile::tempdir().expect("a directory");
        let (store, _) = StoreDir::create(&dir.path().join(StoreDir::NAME)).expect("a store");
        let sqlite = Engine::open(store).expect("an engine");
        let database = pensa_testkit::postgres::shared().database();
        let postgres = crate::db::Postgres::open(&database.url, 1).expect("opens");
        let postgres = Engine::in_database(&postgres, "p", uuid::Uuid::new_v4());
        for ops in ENTITIES {
            let (declared, table) = (declared(&ops.schema), ops.schema.table);
            assert_eq!(columns_in(&sqlite, "SELECT name FROM pragma_table_info(?1)", table), declared, "{table}");
            let of_postgres = "SELECT column_name::text FROM information_schema.columns
                 WHERE table_schema = 'pensa' AND table_name = ?1";
            assert_eq!(columns_in(&postgres, of_postgres, table), declared, "{table}");
        }
    }

    #[test]
    fn fields_go_into_columns_and_come_back() {
        use pensa_core::learning::Learning;
        let whole = serde_json::json!({"id": "ln-1", "kind": "gotcha", "text": "t", "tags": ["a"], "impact": "high",
            "revision": 2, "value": {"type": "feature"}, "actor": "a", "created_at": "2026-02-27T14:30:00.000Z",
            "updated_at": "2026-02-27T14:30:00.000Z", "later": {"b": [1]}});
        let learning: Learning = serde_json::from_value(whole).expect("a learning");
        let values = to_values(&learning).expect("values");
        let value = |name: &str| {
            let at = Learning::SCHEMA.columns.iter().position(|column| column.name == name).expect("a column");
            values[at].clone()
        };
        assert_eq!(value("files"), Param::from("[]"), "a list that is absent is empty");
        assert_eq!((value("value_type"), value("value_description")), ("feature".into(), Param::Null));
        assert_eq!(value("extra"), Param::from("{\"later\":{\"b\":[1]}}"));
        assert_eq!(from_values::<Learning>(values).expect("read"), learning);
    }
}

//! Reads and changes the rows of entities. All changes of state go through this module.
//!
//! A change writes the row, stores its before-image in `changes` for undo, updates derived data, and adds an item to
//! the journal. Replay applies the same. [`ENTITIES`] lists all entities.

mod past_change;
mod record;
mod row;

use std::borrow::Cow;

use pensa_core::entity::{Column, Entity, EntitySchema};
use pensa_core::event::{self, EventType};
use pensa_core::id::IssueId;
use pensa_core::json::ListWriter;
use pensa_core::recall::TextKind;
use pensa_core::{Code, Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::db::{Param, Tx, params};
use crate::tables::{events, recall};
pub(crate) use past_change::{ChangeScope, PastChange, changes_of, forget_changes, last_change};
pub(crate) use record::record_changed;
use row::{Values, from_json, from_values, to_json, to_values};
pub(crate) use row::{from_row, values_of, with_derived};

/// An entity with rows in the database.
pub(crate) trait StoredEntity: Entity {
    /// Whether other tables are derived from it.
    const HAS_PROJECTIONS: bool = false;

    /// The values of columns that are computed from the entity alone.
    fn computed(&self) -> Vec<(&'static str, Param<'static>)> {
        Vec::new()
    }

    /// Updates the tables derived from it.
    fn project(_: &Tx<'_>, _before: Option<&Self>, _after: Option<&Self>) -> Result<()> {
        Ok(())
    }

    /// Whether its changes can be undone, so that before-images are stored.
    const UNDOABLE: bool = true;

    /// If set, only changes of these columns can be undone, and neither creation nor deletion.
    const UNDOABLE_COLUMNS: Option<&'static [&'static str]> = None;

    /// Whether undoing its creation keeps the entity.
    const KEPT_ON_UNDO: bool = false;

    /// The detail of the event that logs a change of it.
    fn event_detail(old: Option<&Self>, new: Option<&Self>) -> Map<String, Value> {
        Map::from_iter([(Self::SCHEMA.name.to_owned(), event::change(old, new))])
    }

    /// The type of the event that logs its creation.
    const CREATED: EventType = EventType::Created;

    /// Inserts or updates an entity and logs the change.
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

    /// Deletes an entity and logs its last state.
    fn remove(cx: &Context<'_>, tx: &Tx<'_>, entity: &Self) -> Result<()> {
        let key = key_of(entity)?;
        let values = to_values(entity)?;
        change::<Self>(tx, current(tx, &Self::SCHEMA, &values[..Self::SCHEMA.keys])?, None)?;
        if let Some(issue) = issue_of(entity)? {
            return log_attached(cx, tx, &issue, Some(entity), None);
        }
        let detail = Self::event_detail(Some(entity), None);
        events::append(cx, tx, (Self::SCHEMA.name, &key), None, EventType::Deleted, detail).map(drop)
    }
}

/// The detail of an event.
type Detail = Map<String, Value>;

/// A type-erased entity.
#[derive(Clone, Copy)]
struct EntityOps {
    schema: EntitySchema,
    /// Writes a row and updates the tables derived from it.
    write: fn(&Tx<'_>, &EntitySchema, Option<&Values>, Option<&Values>) -> Result<()>,
    event_detail: fn(Option<&Values>, Option<&Values>) -> Result<Detail>,
    undoable: bool,
    undoable_columns: Option<&'static [&'static str]>,
    kept_on_undo: bool,
}

impl EntityOps {
    const fn of<E: StoredEntity>() -> Self {
        let (undoable, undoable_columns, kept_on_undo) = (E::UNDOABLE, E::UNDOABLE_COLUMNS, E::KEPT_ON_UNDO);
        Self {
            schema: E::SCHEMA,
            write: write::<E>,
            event_detail: event_detail_of::<E>,
            undoable,
            undoable_columns,
            kept_on_undo,
        }
    }

    /// Whether the before-image of this change is stored.
    fn is_undoable(&self, before: Option<&Values>, after: Option<&Values>) -> bool {
        let Some(only) = self.undoable_columns else { return self.undoable };
        let Some((before, after)) = before.zip(after) else { return false };
        let mut columns = self.schema.columns.iter().zip(before.iter().zip(after));
        columns.any(|(column, (old, new))| old != new && only.contains(&column.name))
    }
}

/// Decodes two states of a row.
fn decode_both<E: Entity>(before: Option<&Values>, after: Option<&Values>) -> Result<(Option<E>, Option<E>)> {
    let entity = |values: Option<&Values>| values.cloned().map(from_values::<E>).transpose();
    Ok((entity(before)?, entity(after)?))
}

fn event_detail_of<E: StoredEntity>(before: Option<&Values>, after: Option<&Values>) -> Result<Detail> {
    let (old, new) = decode_both::<E>(before, after)?;
    Ok(E::event_detail(old.as_ref(), new.as_ref()))
}

/// Declares all entities.
macro_rules! entities {
    ($($entity:ty,)*) => {
        static ENTITIES: &[EntityOps] = &[$(EntityOps::of::<$entity>(),)*];
    };
}

entities! {
    pensa_core::issue::Issue,
    pensa_core::dep::Dep,
    pensa_core::kv::KvPair,
    pensa_core::skill::Mapping,
    pensa_core::ops::view::View,
    pensa_core::release::Release,
    pensa_core::learning::Learning,
    pensa_core::comment::Comment,
    pensa_core::agent::Agent,
    pensa_core::repo::Repo,
    pensa_core::repo::Workspace,
    pensa_core::run::Harness,
    pensa_core::run::Runtime,
    pensa_core::snapshot::Snapshot,
    pensa_core::work::WorkRecord,
    pensa_core::run::Run,
    pensa_core::project::Project,
    pensa_core::sync::Tombstone,
    crate::tables::conflicts::ConflictRow,
    crate::tables::peers::PeerRow,
    crate::tables::peers::MergeBaseRow,
    crate::tables::projects::TokenRow,
    crate::tables::sessions::SessionRow,
}

/// Implements [`StoredEntity`] for entities without derived data.
macro_rules! plain {
    ($undoable:literal: $($entity:ty,)*) => { $(impl StoredEntity for $entity { const UNDOABLE: bool = $undoable; })* };
}

plain! { true:
    pensa_core::skill::Mapping,
    pensa_core::ops::view::View,
    pensa_core::repo::Repo,
    pensa_core::repo::Workspace,
    pensa_core::run::Harness,
    pensa_core::run::Runtime,
    pensa_core::work::WorkRecord,
}

// Changes of these cannot be undone. Undoing the row would not undo the rest: an agent's sessions, files on a machine,
// a process, a store, a token that was shown. Tombstones, peers and merge bases describe other copies of the store.
plain! { false:
    pensa_core::snapshot::Snapshot,
    pensa_core::run::Run,
    pensa_core::project::Project,
    crate::tables::projects::TokenRow,
    crate::tables::sessions::SessionRow,
    pensa_core::sync::Tombstone,
    crate::tables::peers::PeerRow,
    crate::tables::peers::MergeBaseRow,
}

impl StoredEntity for pensa_core::release::Release {
    const CREATED: EventType = EventType::FeatureShipped;
    const HAS_PROJECTIONS: bool = true;

    fn project(tx: &Tx<'_>, before: Option<&Self>, after: Option<&Self>) -> Result<()> {
        let Some(release) = after.or(before) else { return Ok(()) };
        recall::touch(tx, TextKind::Release, release.id.as_str())
    }
}

macro_rules! attached {
    ($($module:ident $noun:ident $id:ident,)*) => {
        /// Entities attached to issues.
        static ATTACHED: &[EntityOps] = &[$(EntityOps::of::<pensa_core::ops::$module::$noun>(),)*];
    };
}

pensa_core::for_each_attached!(attached);

/// Logs a change of an attached entity as a change of its issue.
fn log_attached<E: StoredEntity>(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    issue: &IssueId,
    old: Option<&E>,
    new: Option<&E>,
) -> Result<()> {
    events::log(cx, tx, issue, EventType::Updated, E::event_detail(old, new))
}

/// The entities of one type attached to an issue, oldest first.
pub(crate) fn attached<E: StoredEntity>(tx: &Tx<'_>, issue: &IssueId) -> Result<Vec<E>> {
    let read = |fields| serde_json::from_value(Value::Object(fields)).map_err(Error::internal);
    record::attached(tx, &E::SCHEMA, issue)?.into_iter().map(read).collect()
}

/// All entities attached to an issue, by collection name.
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

/// The collection names of attached entities.
pub(crate) fn attached_collections() -> impl Iterator<Item = &'static str> {
    ATTACHED.iter().map(|ops| ops.schema.table)
}

fn all() -> impl Iterator<Item = &'static EntityOps> {
    ENTITIES.iter().chain(ATTACHED)
}

/// Size limit for a before-image; a larger change cannot be undone.
const MAX_BEFORE: usize = 2 << 20;

/// The kind of a change.
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

/// A change of one row, as the journal stores it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Change {
    table: String,
    kind: ChangeKind,
    /// The number of the event that reports it; 0 if the change cannot be undone.
    event: i64,
    /// The number of the change within that event.
    number: i64,
    /// The row after the change; for a deletion, the key.
    row: Map<String, Value>,
    /// The before-image: for an update, the old values of all changed columns; for a deletion, the row.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    before: Map<String, Value>,
}

fn names(columns: &[Column]) -> String {
    columns.iter().map(|column| column.name).collect::<Vec<_>>().join(", ")
}

/// The columns of an entity, qualified with a table alias.
pub(crate) fn columns<E: Entity>(alias: &str) -> String {
    let names = E::SCHEMA.columns.iter().map(|column| format!("{alias}.{}", column.name));
    names.collect::<Vec<_>>().join(", ")
}

/// Returns `a = ?1 AND b = ?2` for columns, the number of the first placeholder, and the separator.
fn equals<'c>(columns: impl Iterator<Item = &'c str>, first: usize, between: &str) -> String {
    let parts = columns.enumerate().map(|(at, column)| format!("{column} = ?{}", first + at));
    parts.collect::<Vec<_>>().join(between)
}

fn key_is(schema: &EntitySchema) -> String {
    equals(schema.columns[..schema.keys].iter().map(|column| column.name), 1, " AND ")
}

/// Selects entities; `rest` has the conditions and the order.
pub(crate) fn query<E: StoredEntity>(tx: &Tx<'_>, rest: &str, params: &[Param<'_>]) -> Result<Vec<E>> {
    tx.query(&select::<E>(rest), params, from_row)
}

/// The SQL of [`query`], for callers with columns or joins of their own.
pub(crate) fn select<E: Entity>(rest: &str) -> String {
    format!("SELECT {} FROM {} {rest}", names(E::SCHEMA.columns), visible(&E::SCHEMA))
}

/// What to select the visible rows of a table from. Works for any table.
pub(crate) fn visible_rows(table: &str) -> Cow<'_, str> {
    ENTITIES.iter().find(|ops| ops.schema.table == table).map_or(table.into(), |ops| visible(&ops.schema))
}

/// What to select the visible rows of an entity from: its table, or a subquery without hidden rows.
fn visible(schema: &EntitySchema) -> Cow<'static, str> {
    match schema.shown {
        None => schema.table.into(),
        Some(shown) => format!("(SELECT * FROM {table} WHERE {shown}) AS {table}", table = schema.table).into(),
    }
}

pub(crate) fn for_each<E: StoredEntity>(
    tx: &Tx<'_>,
    rest: &str,
    params: &[Param<'_>],
    mut each: impl FnMut(&E) -> Result<()>,
) -> Result<()> {
    tx.for_each(&select::<E>(rest), params, |row| each(&from_row(row)?))
}

/// As [`query`], written as a JSON list row by row.
pub(crate) fn write_list<E: StoredEntity>(
    tx: &Tx<'_>,
    rest: &str,
    params: &[Param<'_>],
    to: &mut Vec<u8>,
) -> Result<()> {
    let mut list = ListWriter::new(to);
    for_each::<E>(tx, rest, params, |entity| list.item(entity))?;
    list.end();
    Ok(())
}

/// Passes the entities of an issue, or all entities, to `each`, in the order of `columns`. Entities stored as records
/// come in the order of their ids.
pub(crate) fn for_each_in_order<E: StoredEntity>(
    tx: &Tx<'_>,
    owner: Option<&IssueId>,
    columns: &[&str],
    mut each: impl FnMut(&E) -> Result<()>,
) -> Result<()> {
    let column =
        owner.map(|_| E::SCHEMA.owner.ok_or_else(|| Error::internal("not an entity of issues"))).transpose()?;
    if E::SCHEMA.indexes.is_some() {
        return record::for_each(tx, &E::SCHEMA, column.zip(owner), |values| each(&from_values(values)?));
    }
    let of_owner = column.map_or_else(String::new, |column| format!("WHERE {column} = ?1 "));
    let values: Values = owner.map(|owner| owner.to_string().into()).into_iter().collect();
    for_each(tx, &format!("{of_owner}ORDER BY {}", columns.join(", ")), &values, each)
}

/// What to select the keys of an entity from.
pub(crate) fn rows(schema: &EntitySchema) -> String {
    match schema.indexes {
        None => visible(schema).into_owned(),
        Some(_) => format!("(SELECT id FROM records WHERE collection = '{}') AS r", schema.table),
    }
}

pub(crate) fn get<E: StoredEntity>(tx: &Tx<'_>, key: &[Param<'_>]) -> Result<Option<E>> {
    if E::SCHEMA.shown.is_none() {
        return get_hidden(tx, key);
    }
    Ok(query(tx, &format!("WHERE {}", key_is(&E::SCHEMA)), key)?.pop())
}

/// Reads the entity with this key, even if it is hidden.
pub(crate) fn get_hidden<E: StoredEntity>(tx: &Tx<'_>, key: &[Param<'_>]) -> Result<Option<E>> {
    current(tx, &E::SCHEMA, key)?.map(from_values).transpose()
}

/// Reads the row with this key.
fn current(tx: &Tx<'_>, schema: &EntitySchema, key: &[Param<'_>]) -> Result<Option<Values>> {
    if schema.indexes.is_some() {
        return record::current(tx, schema, &key_text(key));
    }
    let sql = format!("SELECT {} FROM {} WHERE {}", names(schema.columns), schema.table, key_is(schema));
    tx.query_one(&sql, key, |row| values_of(row, schema))
}

/// The key of an entity as text. The parts are separated by spaces, which ids never contain.
pub(crate) fn key_of<E: Entity>(entity: &E) -> Result<String> {
    Ok(key_text(&to_values(entity)?[..E::SCHEMA.keys]))
}

fn key_text(key: &[Param<'_>]) -> String {
    let part = |param: &Param<'_>| match param {
        Param::Null | Param::Bytes(_) => String::new(),
        Param::Int(number) => number.to_string(),
        Param::Text(text) => text.to_string(),
    };
    key.iter().map(part).collect::<Vec<_>>().join(" ")
}

/// The issue that an entity belongs to; `None` for entities without an owner.
pub(crate) fn issue_of<E: Entity>(entity: &E) -> Result<Option<IssueId>> {
    let Some(owner) = E::SCHEMA.owner else { return Ok(None) };
    let fields = serde_json::to_value(entity).map_err(Error::internal)?;
    fields.get(owner).and_then(Value::as_str).map(str::parse).transpose()
}

/// Inserts an entity, or replaces the one with the same key.
pub(crate) fn put<E: StoredEntity>(tx: &Tx<'_>, entity: &E) -> Result<()> {
    let after = to_values(entity)?;
    let before = current(tx, &E::SCHEMA, &after[..E::SCHEMA.keys])?;
    change::<E>(tx, before, Some(after))
}

/// Inserts an entity whose key is new.
pub(crate) fn insert<E: StoredEntity>(tx: &Tx<'_>, entity: &E) -> Result<()> {
    change::<E>(tx, None, Some(to_values(entity)?))
}

/// As [`insert`], for bulk loads that a backup covers: nothing is stored in `changes` or the journal.
pub(crate) fn load<E: StoredEntity>(tx: &Tx<'_>, entity: &E) -> Result<()> {
    let values = match E::SCHEMA.indexes {
        None => Some(to_values(entity)?),
        Some(_) => record::revised(tx, None, Some(to_values(entity)?))?,
    };
    write::<E>(tx, &E::SCHEMA, None, values.as_ref())
}

/// As [`load`], writing the row only, with additional columns that the caller computed for all rows at once.
pub(crate) fn load_row<E: StoredEntity>(
    tx: &Tx<'_>,
    entity: &E,
    more: &[(&'static str, Param<'static>)],
) -> Result<()> {
    write_row(tx, &E::SCHEMA, None, Some(&to_values(entity)?), &[&entity.computed(), more].concat())
}

/// Replaces `old`, which must be the current state of the row.
pub(crate) fn replace<E: StoredEntity>(tx: &Tx<'_>, old: &E, new: &E) -> Result<()> {
    change::<E>(tx, Some(to_values(old)?), Some(to_values(new)?))
}

/// Deletes an entity, which must be the current state of the row.
pub(crate) fn remove<E: StoredEntity>(tx: &Tx<'_>, entity: &E) -> Result<()> {
    change::<E>(tx, Some(to_values(entity)?), None)
}

/// Deletes the entity with this key. Returns whether it existed.
pub(crate) fn delete<E: StoredEntity>(tx: &Tx<'_>, key: &[Param<'_>]) -> Result<bool> {
    let before = current(tx, &E::SCHEMA, key)?;
    let is_there = before.is_some();
    change::<E>(tx, before, None)?;
    Ok(is_there)
}

/// The tables of entities that belong to issues, with the column that names the issue.
pub(crate) fn owned() -> impl Iterator<Item = (&'static str, &'static str)> {
    ENTITIES.iter().filter_map(|ops| ops.schema.owner.map(|owner| (ops.schema.table, owner)))
}

/// Deletes all entities that belong to an issue.
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

fn change<E: StoredEntity>(tx: &Tx<'_>, before: Option<Values>, after: Option<Values>) -> Result<()> {
    apply(tx, &EntityOps::of::<E>(), before, after)
}

fn apply(tx: &Tx<'_>, ops: &EntityOps, before: Option<Values>, after: Option<Values>) -> Result<()> {
    let after = match ops.schema.indexes {
        Some(_) if !tx.is_replaying() => record::revised(tx, before.as_ref(), after)?,
        _ => after,
    };
    apply_revised(tx, ops, before, after)
}

/// As [`apply`], for rows that already have their revisions.
fn apply_revised(tx: &Tx<'_>, ops: &EntityOps, before: Option<Values>, after: Option<Values>) -> Result<()> {
    if before == after {
        return Ok(());
    }
    (ops.write)(tx, &ops.schema, before.as_ref(), after.as_ref())?;
    // During replay, the journal's items already have the before-images.
    if tx.is_replaying() {
        return Ok(());
    }
    let is_undoable = ops.is_undoable(before.as_ref(), after.as_ref());
    let (event, number) = if is_undoable { tx.next_change()? } else { (0, 0) };
    let mut change = Change::new(&ops.schema, event, number, before.as_ref(), after.as_ref());
    if !is_undoable {
        change.before.clear();
    }
    change.insert(tx)?;
    tx.journal("change", &change)
}

fn write<E: StoredEntity>(
    tx: &Tx<'_>,
    schema: &EntitySchema,
    before: Option<&Values>,
    after: Option<&Values>,
) -> Result<()> {
    if schema.indexes.is_some() {
        return record::write(tx, schema, before, after);
    }
    if !E::HAS_PROJECTIONS {
        return write_row(tx, schema, before, after, &[]);
    }
    let (old, new) = decode_both::<E>(before, after)?;
    let old_computed = old.as_ref().map(E::computed).unwrap_or_default();
    let mut computed = new.as_ref().map(E::computed).unwrap_or_default();
    computed.retain(|one| !old_computed.contains(one));
    write_row(tx, schema, before, after, &computed)?;
    E::project(tx, old.as_ref(), new.as_ref())
}

/// Writes a row. `computed` has the columns that are not fields.
fn write_row(
    tx: &Tx<'_>,
    schema: &EntitySchema,
    before: Option<&Values>,
    after: Option<&Values>,
    computed: &[(&str, Param<'static>)],
) -> Result<()> {
    let (table, columns, keys) = (schema.table, schema.columns, schema.keys);
    let more = || computed.iter().map(|(_, value)| value.clone());
    match (before, after) {
        (None, Some(after)) => {
            let names: Vec<&str> =
                columns.iter().map(|column| column.name).chain(computed.iter().map(|(name, _)| *name)).collect();
            let places = (1..=names.len()).map(|at| format!("?{at}")).collect::<Vec<_>>().join(", ");
            let values: Values = after.iter().cloned().chain(more()).collect();
            tx.add_rows(&format!("INSERT INTO {table} ({}) VALUES ({places})", names.join(", ")), &values)
        }
        (Some(before), Some(after)) => {
            let changed: Vec<usize> = (keys..columns.len()).filter(|at| before[*at] != after[*at]).collect();
            let names = changed.iter().map(|at| columns[*at].name).chain(computed.iter().map(|(name, _)| *name));
            let set = equals(names, keys + 1, ", ");
            let values: Values = (0..keys).chain(changed).map(|at| after[at].clone()).chain(more()).collect();
            tx.send(&format!("UPDATE {table} SET {set} WHERE {}", key_is(schema)), &values)
        }
        (Some(before), None) => tx.send(&format!("DELETE FROM {table} WHERE {}", key_is(schema)), &before[..keys]),
        (None, None) => Ok(()),
    }
}

impl Change {
    fn new(schema: &EntitySchema, event: i64, number: i64, before: Option<&Values>, after: Option<&Values>) -> Self {
        let columns = schema.columns;
        let (kind, row, old_values) = match (before, after) {
            (Some(before), Some(after)) => {
                let mut old_values = Map::new();
                for (at, column) in columns.iter().enumerate().filter(|(at, _)| before[*at] != after[*at]) {
                    let old = to_json([(column, &before[at])].into_iter()).remove(column.name).unwrap_or_default();
                    old_values.insert(column.name.to_owned(), old);
                }
                (ChangeKind::Updated, to_json(columns.iter().zip(after)), old_values)
            }
            (Some(before), None) => {
                let key = to_json(columns[..schema.keys].iter().zip(before));
                (ChangeKind::Deleted, key, to_json(columns.iter().zip(before)))
            }
            (None, after) => {
                (ChangeKind::Created, to_json(columns.iter().zip(after.into_iter().flatten())), Map::new())
            }
        };
        let is_large = Value::from(old_values.clone()).to_string().len() > MAX_BEFORE;
        let before = if is_large { Map::new() } else { old_values };
        Self { table: schema.table.to_owned(), kind, event, number, row, before }
    }

    fn insert(&self, tx: &Tx<'_>) -> Result<()> {
        if self.event == 0 {
            return Ok(());
        }
        let EntityOps { schema, .. } = ops_of(&self.table)?;
        let key: Values = schema.columns[..schema.keys].iter().map(|column| from_json(&self.row, column)).collect();
        let before = if self.before.is_empty() { None } else { Some(Value::from(self.before.clone()).to_string()) };
        tx.send(
            "INSERT INTO changes (event, number, entity, entity_key, kind, before) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![self.event, self.number, schema.table, key_text(&key), self.kind.as_str(), before],
        )
    }

    /// Applies a journaled change, whatever the current row is.
    pub(crate) fn replay(&self, tx: &Tx<'_>) -> Result<()> {
        // Skip tables of a newer version.
        let Some(ops) = find_ops(&self.table) else { return Ok(()) };
        let values: Values = ops.schema.columns.iter().map(|column| from_json(&self.row, column)).collect();
        let before = current(tx, &ops.schema, &values[..ops.schema.keys])?;
        let after = (self.kind != ChangeKind::Deleted).then_some(values);
        if before != after {
            (ops.write)(tx, &ops.schema, before.as_ref(), after.as_ref())?;
        }
        if self.event > 0 {
            tx.send("DELETE FROM changes WHERE event = ?1 AND number = ?2", params![self.event, self.number])?;
        }
        self.insert(tx)
    }
}

fn find_ops(table: &str) -> Option<EntityOps> {
    all().find(|ops| ops.schema.table == table).copied().or_else(|| record::user_collection(table))
}

fn ops_of(table: &str) -> Result<EntityOps> {
    find_ops(table).ok_or_else(|| Error::new(Code::Corrupt, format!("{table} is not a table of entities")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Caller;
    use crate::engine::Engine;
    use crate::store::StoreDir;

    /// The columns of a table in the database.
    fn columns_in(engine: &Engine, sql: &str, table: &str) -> Vec<String> {
        let read = |_: &Context<'_>, tx: &Tx<'_>| tx.query(sql, params![table], |row| row.text(0));
        let mut columns = engine.run(pensa_core::Access::Read, &Caller::local("a"), read).expect("columns");
        columns.retain(|name| name != "store_id");
        columns.sort();
        columns
    }

    fn declared(schema: &EntitySchema) -> Vec<String> {
        let mut columns: Vec<String> = schema.columns.iter().map(|column| column.name.to_owned()).collect();
        columns.extend(schema.computed.iter().map(|name| (*name).to_owned()));
        columns.sort();
        columns
    }

    #[test]
    fn declared_columns_match_the_tables_in_both_databases() {
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
    fn fields_survive_a_round_trip_through_columns() {
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

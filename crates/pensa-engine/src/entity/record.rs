//! Entities stored as records: their rows are in `records`, found through declared indexes.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use pensa_core::entity::{DATED_RECORD, EntitySchema};
use pensa_core::id::IssueId;
use pensa_core::record::{Filter, Record};
use pensa_core::session::object::Object;
use pensa_core::{Error, Result, Timestamp, json};
use serde_json::{Map, Value};

use super::row::Values;
use super::{EntityOps, apply_revised, ops_of};
use crate::db::{Param, Tx};
use crate::tables::records::{Collection, Query};

/// Positions of columns in [`pensa_core::entity::DATED_RECORD`].
const REV: usize = 1;
const DATA: usize = 2;
const UPDATED_AT: usize = 3;

/// Prefix of the name of a user's collection, which has no entity type.
const USER_PREFIX: &str = "records/";

/// The entity for the records of a user's collection.
pub(super) fn user_collection(table: &str) -> Option<EntityOps> {
    let table = table.strip_prefix(USER_PREFIX).map(|_| interned(table))?;
    let schema = EntitySchema {
        name: "record",
        table,
        keys: 1,
        owner: None,
        shown: None,
        derived: &[],
        computed: &[],
        indexes: Some(&[]),
        columns: DATED_RECORD,
    };
    let event_detail = |_: Option<&Values>, _: Option<&Values>| Ok(Map::new());
    Some(EntityOps { schema, write, event_detail, undoable: true, undoable_columns: None, kept_on_undo: false })
}

/// Interns a name for the life of the process. There are only as many as collections.
fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let new: &'static str = Box::leak(name.into());
    names.insert(new);
    new
}

/// Applies a change of a user's record, which already has its revision.
pub(crate) fn record_changed(tx: &Tx<'_>, collection: &str, old: Option<&Record>, new: Option<&Record>) -> Result<()> {
    let ops = ops_of(&format!("{USER_PREFIX}{collection}"))?;
    let row = |record: Option<&Record>| record.map(|record| values(&ops.schema, record.clone())).transpose();
    apply_revised(tx, &ops, row(old)?, row(new)?)
}

/// The row with this id.
pub(super) fn current(tx: &Tx<'_>, schema: &EntitySchema, id: &str) -> Result<Option<Values>> {
    collection(tx, schema)?.get(tx, id)?.map(|record| values(schema, record)).transpose()
}

/// Sets the time of a record's last change.
pub(super) fn date(values: &mut Values, at: Timestamp) {
    values[UPDATED_AT] = at.into();
}

fn collection(tx: &Tx<'_>, schema: &EntitySchema) -> Result<Collection> {
    Collection::open(tx, schema.table.strip_prefix(USER_PREFIX).unwrap_or(schema.table))
}

/// Passes the rows to `each` in the order of their ids: all, or those whose field names an issue.
pub(super) fn for_each(
    tx: &Tx<'_>,
    schema: &EntitySchema,
    of: Option<(&str, &IssueId)>,
    mut each: impl FnMut(Values) -> Result<()>,
) -> Result<()> {
    let collection = collection(tx, schema)?;
    let filters = of.into_iter().map(|(field, issue)| Filter::eq(field, issue.as_str())).collect();
    let mut query = Query { filters, ..Query::default() };
    loop {
        let page = collection.select(tx, &query)?;
        page.records.into_iter().try_for_each(|record| each(values(schema, record)?))?;
        match page.next {
            Some(next) => query.after = Some(next),
            None => return Ok(()),
        }
    }
}

fn values(schema: &EntitySchema, mut record: Record) -> Result<Values> {
    if schema.columns.len() > UPDATED_AT {
        let Record { id, rev, updated_at, data, .. } = record;
        return Ok(vec![id.into(), rev.into(), json::to_line(&data)?.into(), updated_at.into()]);
    }
    record.data.shift_remove("id");
    Ok(vec![record.id.into(), record.rev.into(), json::to_line(&record.data)?.into()])
}

/// Sets the revision of `after`: a new one, or the old one if nothing changed.
pub(super) fn revised(tx: &Tx<'_>, before: Option<&Values>, after: Option<Values>) -> Result<Option<Values>> {
    let Some(mut after) = after else { return Ok(None) };
    let old = before.map(|before| before[REV].clone());
    after[REV] = old.clone().unwrap_or(Param::Null);
    if before != Some(&after) {
        let old = if let Some(Param::Int(old)) = old { old + 1 } else { 0 };
        after[REV] = tx.next_event()?.max(old).into();
    }
    Ok(Some(after))
}

pub(super) fn write(tx: &Tx<'_>, schema: &EntitySchema, before: Option<&Values>, after: Option<&Values>) -> Result<()> {
    let collection = collection(tx, schema)?.with_indexes(tx, schema.indexes.unwrap_or_default())?;
    let record = |values: &Values| record(schema, values);
    collection.replace(tx, before.map(record).transpose()?.as_ref(), after.map(record).transpose()?.as_ref())
}

/// The records that belong to an issue, oldest first.
pub(super) fn attached(tx: &Tx<'_>, schema: &EntitySchema, issue: &IssueId) -> Result<Vec<Object>> {
    let mut all = Vec::new();
    for_each(tx, schema, schema.owner.zip(Some(issue)), |values| {
        let Record { updated_at, id, data, .. } = record(schema, &values)?;
        all.push((updated_at, id, data));
        Ok(())
    })?;
    all.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
    Ok(all.into_iter().map(|(_, _, data)| data).collect())
}

fn whole(id: &str, data: &str) -> Result<Object> {
    let mut whole = Object::from_iter([("id".to_owned(), Value::from(id))]);
    whole.extend(serde_json::from_str::<Object>(data).map_err(Error::internal)?);
    Ok(whole)
}

fn record(schema: &EntitySchema, values: &Values) -> Result<Record> {
    let [Param::Text(id), Param::Int(rev), Param::Text(data)] = &values[..=DATA] else {
        return Err(Error::internal(format!("not a row of {}: {values:?}", schema.table)));
    };
    if let Some(Param::Text(at)) = values.get(UPDATED_AT) {
        let data = serde_json::from_str(data).map_err(Error::internal)?;
        let collection = schema.table.strip_prefix(USER_PREFIX).unwrap_or(schema.table).to_owned();
        return Ok(Record { collection, id: id.to_string(), rev: *rev, updated_at: at.parse()?, data });
    }
    let whole = whole(id, data)?;
    let at = ["updated_at", "created_at"].iter().find_map(|field| whole.get(*field)?.as_str());
    let updated_at = at.unwrap_or_default().parse()?;
    Ok(Record { collection: schema.table.to_owned(), id: id.to_string(), rev: *rev, updated_at, data: whole })
}

//! Entities that are kept as records: their rows in `records`, found by the indexes that they declare.

use pensa_core::entity::Schema;
use pensa_core::id::IssueId;
use pensa_core::record::{Filter, Record};
use pensa_core::session::object::Object;
use pensa_core::{Error, Result, json};
use serde_json::Value;

use super::row::Values;
use crate::db::{Param, Tx};
use crate::tables::records::{Collection, Query};

/// The places of [`pensa_core::entity::RECORD`].
const REV: usize = 1;
const DATA: usize = 2;

/// The row with this id.
pub(super) fn current(tx: &Tx<'_>, schema: &Schema, id: &str) -> Result<Option<Values>> {
    Collection::open(tx, schema.table)?.get(tx, id)?.map(values).transpose()
}

/// Hands over those whose `field` names an issue, or all, by their ids.
pub(super) fn for_each(
    tx: &Tx<'_>,
    schema: &Schema,
    of: Option<(&str, &IssueId)>,
    mut each: impl FnMut(Values) -> Result<()>,
) -> Result<()> {
    let collection = Collection::open(tx, schema.table)?;
    let filters = of.into_iter().map(|(field, issue)| Filter::eq(field, issue.as_str())).collect();
    let mut query = Query { filters, ..Query::default() };
    loop {
        let found = collection.select(tx, &query)?;
        found.records.into_iter().try_for_each(|record| each(values(record)?))?;
        match found.next {
            Some(next) => query.after = Some(next),
            None => return Ok(()),
        }
    }
}

fn values(mut record: Record) -> Result<Values> {
    record.data.shift_remove("id");
    Ok(vec![record.id.into(), record.rev.into(), json::to_line(&record.data)?.into()])
}

/// The same with a revision that no record ever had, or that of the row it is equal to.
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

pub(super) fn write(
    tx: &Tx<'_>,
    schema: &Schema,
    indexes: &[&str],
    before: Option<&Values>,
    after: Option<&Values>,
) -> Result<()> {
    let collection = Collection::open(tx, schema.table)?.declaring(tx, indexes)?;
    let record = |values: &Values| record(schema, values);
    collection.replace(tx, before.map(record).transpose()?.as_ref(), after.map(record).transpose()?.as_ref())
}

/// What belongs to an issue, oldest first.
pub(super) fn attached(tx: &Tx<'_>, schema: &Schema, issue: &IssueId) -> Result<Vec<Object>> {
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

fn record(schema: &Schema, values: &Values) -> Result<Record> {
    let [Param::Text(id), Param::Int(rev), Param::Text(data)] = &values[..=DATA] else {
        return Err(Error::internal(format!("no row of {}: {values:?}", schema.table)));
    };
    let whole = whole(id, data)?;
    let at = ["updated_at", "created_at"].iter().find_map(|field| whole.get(*field)?.as_str());
    let updated_at = at.unwrap_or_default().parse()?;
    Ok(Record { collection: schema.table.to_owned(), id: id.to_string(), rev: *rev, updated_at, data: whole })
}

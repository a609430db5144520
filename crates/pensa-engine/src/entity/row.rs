//! The fields of an entity in the columns of its table, and back. Nothing here knows which entities there are.

use pensa_core::entity::{Column, ColumnKind, Entity, Schema};
use pensa_core::{Code, Error, Result, json};
use serde_json::{Map, Value};

use crate::db::{Param, Row};

/// The values of a row, in the order of its columns.
pub(crate) type Values = Vec<Param<'static>>;

/// The values of an entity's row.
pub(crate) fn to_values<E: Entity>(entity: &E) -> Result<Values> {
    let Value::Object(fields) = serde_json::to_value(entity).map_err(Error::internal)? else {
        return Err(Error::internal("an entity that is no object"));
    };
    let columns = E::SCHEMA.columns;
    let mut values: Values = columns.iter().map(absent).collect();
    let mut extra = Map::new();
    for (name, value) in fields {
        let is_of_field = |column: &Column| column.field == name && column.kind != ColumnKind::Extra;
        match columns.iter().position(is_of_field) {
            None if E::SCHEMA.derived.contains(&name.as_str()) => {}
            None => drop(extra.insert(name, value)),
            Some(at) if columns[at].member.is_none() => values[at] = to_param(&columns[at], value)?,
            Some(_) => {
                for (at, column) in columns.iter().enumerate().filter(|(_, column)| column.field == name) {
                    let member = column.member.and_then(|member| value.get(member)).cloned().unwrap_or_default();
                    values[at] = to_param(column, member)?;
                }
            }
        }
    }
    if !extra.is_empty() {
        let at = columns.iter().position(|column| column.kind == ColumnKind::Extra);
        let at = at.ok_or_else(|| Error::internal(format!("{} has no column for {extra:?}", E::SCHEMA.table)))?;
        values[at] = json::to_line(&extra)?.into();
    }
    Ok(values)
}

/// What a column holds of a field that is absent.
fn absent(column: &Column) -> Param<'static> {
    match column.kind {
        ColumnKind::List => "[]".into(),
        ColumnKind::Object => "{}".into(),
        _ => Param::Null,
    }
}

fn to_param(column: &Column, value: Value) -> Result<Param<'static>> {
    Ok(match (column.kind, value) {
        (_, Value::Null) => absent(column),
        (ColumnKind::Text, Value::String(text)) => text.into(),
        (ColumnKind::Int, Value::Number(number)) if number.is_i64() => number.as_i64().into(),
        (ColumnKind::Bool, Value::Bool(value)) => Param::Int(value.into()),
        (ColumnKind::Json | ColumnKind::List | ColumnKind::Object, value) => json::to_line(&value)?.into(),
        (_, value) => return Err(Error::internal(format!("{} does not hold {value}", column.name))),
    })
}

/// The values of a row whose first columns are those of a table.
pub(crate) fn values_of(row: &Row<'_>, schema: &Schema) -> Result<Values> {
    let value = |(at, column): (usize, &Column)| match column.kind {
        ColumnKind::Int | ColumnKind::Bool | ColumnKind::Revision => row.int_or_null(at).map(Param::from),
        _ => row.text_or_null(at).map(Param::from),
    };
    schema.columns.iter().enumerate().map(value).collect()
}

/// The entity in such a row.
pub(crate) fn from_row<E: Entity>(row: &Row<'_>) -> Result<E> {
    from_values(values_of(row, &E::SCHEMA)?)
}

pub(crate) fn from_values<E: Entity>(values: Values) -> Result<E> {
    with_derived(values, Map::new())
}

/// The same of an entity with fields that other rows tell.
pub(crate) fn with_derived<E: Entity>(values: Values, derived: Map<String, Value>) -> Result<E> {
    let damaged = |e: &dyn std::fmt::Display| {
        Error::new(Code::Corrupt, format!("the table {} holds an unreadable row: {e}", E::SCHEMA.table))
            .hint("run pn doctor")
    };
    let mut fields = derived;
    for (column, value) in E::SCHEMA.columns.iter().zip(values) {
        let value = match (column.kind, value) {
            (_, Param::Null) => continue,
            (ColumnKind::Revision, _) => continue,
            (ColumnKind::Text, Param::Text(text)) => Value::String(text.into_owned()),
            (ColumnKind::Bool, Param::Int(number)) => Value::Bool(number != 0),
            (_, Param::Int(number)) => number.into(),
            (_, Param::Text(text)) => serde_json::from_str(&text).map_err(|e| damaged(&e))?,
        };
        match (column.kind, column.member, value) {
            (ColumnKind::Extra, _, Value::Object(extra)) => fields.extend(extra),
            (_, None, value) => drop(fields.insert(column.field.to_owned(), value)),
            (_, Some(member), value) => {
                fields.entry(column.field).or_insert_with(|| Value::Object(Map::new()))[member] = value;
            }
        }
    }
    serde_json::from_value(Value::Object(fields)).map_err(|e| damaged(&e))
}

/// Values by the names of their columns, without those that are null.
pub(crate) fn to_json<'v>(named: impl Iterator<Item = (&'static Column, &'v Param<'static>)>) -> Map<String, Value> {
    let member = |(column, value): (&'static Column, &Param<'_>)| {
        let value = match value {
            Param::Null => return None,
            Param::Int(number) => Value::from(*number),
            Param::Text(text) => Value::from(text.as_ref()),
        };
        Some((column.name.to_owned(), value))
    };
    named.filter_map(member).collect()
}

/// The value of a column among those; null if it is not.
pub(crate) fn from_json(named: &Map<String, Value>, column: &Column) -> Param<'static> {
    match named.get(column.name) {
        Some(Value::String(text)) => text.clone().into(),
        Some(Value::Number(number)) => number.as_i64().into(),
        _ => Param::Null,
    }
}

//! Converts between the fields of an entity and the columns of its table, for any entity.

use std::borrow::Cow;

use pensa_core::entity::{Column, ColumnKind, Entity, EntitySchema};
use pensa_core::{Code, Error, Result, json};
use serde::Deserializer;
use serde::de::value::MapDeserializer;
use serde::de::{IntoDeserializer, Visitor};
use serde_json::{Map, Value};

use crate::db::{Param, Row};

/// The values of a row, in the order of its columns.
pub(crate) type Values = Vec<Param<'static>>;

/// The values of an entity's row.
pub(crate) fn to_values<E: Entity>(entity: &E) -> Result<Values> {
    let Value::Object(fields) = serde_json::to_value(entity).map_err(Error::internal)? else {
        return Err(Error::internal("an entity that is not an object"));
    };
    let columns = E::SCHEMA.columns;
    let mut values: Values = columns.iter().map(|column| initial(column, entity)).collect();
    let mut extra = Map::new();
    for (name, value) in fields {
        let is_of_field =
            |column: &Column| column.field == name && !matches!(column.kind, ColumnKind::Extra | ColumnKind::Hidden);
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

/// The value of a column before the fields are applied.
fn initial<E: Entity>(column: &Column, entity: &E) -> Param<'static> {
    match column.kind {
        ColumnKind::Hidden => entity.hidden(column.name).into(),
        _ => absent(column),
    }
}

/// The value of a column whose field is absent.
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

/// The values of a result row whose first columns are those of the table.
pub(crate) fn values_of(row: &Row<'_>, schema: &EntitySchema) -> Result<Values> {
    let value = |(at, column): (usize, &Column)| match column.kind {
        ColumnKind::Int | ColumnKind::Bool | ColumnKind::Revision | ColumnKind::Hidden => {
            row.int_or_null(at).map(Param::from)
        }
        _ => row.text_or_null(at).map(Param::from),
    };
    schema.columns.iter().enumerate().map(value).collect()
}

/// Decodes the entity in such a row.
pub(crate) fn from_row<E: Entity>(row: &Row<'_>) -> Result<E> {
    from_values(values_of(row, &E::SCHEMA)?)
}

pub(crate) fn from_values<E: Entity>(values: Values) -> Result<E> {
    with_derived(values, Map::new())
}

/// As [`from_values`], with fields that are derived from other rows.
pub(crate) fn with_derived<E: Entity>(values: Values, derived: Map<String, Value>) -> Result<E> {
    let damaged = |e: &dyn std::fmt::Display| {
        Error::new(Code::Corrupt, format!("the table {} holds an unreadable row: {e}", E::SCHEMA.table))
            .hint("run pn doctor")
    };
    let parse = |text: &str| serde_json::from_str::<Value>(text).map_err(|e| damaged(&e));
    let mut fields: Vec<(Cow<'static, str>, Field)> = Vec::with_capacity(values.len() + derived.len());
    fields.extend(derived.into_iter().map(|(name, value)| (name.into(), Field::Json(value))));
    let mut hidden = Vec::new();
    for (column, value) in E::SCHEMA.columns.iter().zip(values) {
        let field = match (column.kind, value) {
            (_, Param::Null | Param::Bytes(_)) | (ColumnKind::Revision, _) => continue,
            (ColumnKind::Hidden, Param::Int(number)) => {
                hidden.push((column.name, number));
                continue;
            }
            (ColumnKind::Extra, Param::Text(text)) => {
                let extra: Map<String, Value> = parse(&text)?.as_object_mut().map(std::mem::take).unwrap_or_default();
                fields.extend(extra.into_iter().map(|(name, value)| (name.into(), Field::Json(value))));
                continue;
            }
            (ColumnKind::Text, Param::Text(text)) => Field::Text(text.into_owned()),
            (ColumnKind::Bool, Param::Int(number)) => Field::Json(Value::Bool(number != 0)),
            (_, Param::Int(number)) => Field::Json(number.into()),
            (_, Param::Text(text)) => Field::Json(parse(&text)?),
        };
        let Some(member) = column.member else {
            fields.push((column.field.into(), field));
            continue;
        };
        let at = fields.iter().position(|(name, _)| *name == column.field);
        let at = at.unwrap_or_else(|| {
            fields.push((column.field.into(), Field::Json(Value::Object(Map::new()))));
            fields.len() - 1
        });
        if let Field::Json(whole) = &mut fields[at].1 {
            whole[member] = field.into_value();
        }
    }
    let mut entity =
        E::deserialize(MapDeserializer::new(fields.into_iter())).map_err(|e: serde_json::Error| damaged(&e))?;
    hidden.into_iter().for_each(|(column, value)| entity.set_hidden(column, value));
    Ok(entity)
}

/// A column value on its way into a field. Avoids a copy of its text.
enum Field {
    Text(String),
    Json(Value),
}

impl Field {
    fn into_value(self) -> Value {
        match self {
            Self::Text(text) => text.into(),
            Self::Json(value) => value,
        }
    }
}

impl<'de> IntoDeserializer<'de, serde_json::Error> for Field {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Field {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self {
            Self::Text(text) => visitor.visit_string(text),
            Self::Json(value) => value.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self {
            Self::Json(Value::Null) => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.into_value().deserialize_enum(name, variants, visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

/// Column values by name, without nulls.
pub(crate) fn to_json<'v>(named: impl Iterator<Item = (&'static Column, &'v Param<'static>)>) -> Map<String, Value> {
    let member = |(column, value): (&'static Column, &Param<'_>)| {
        let value = match value {
            Param::Null | Param::Bytes(_) => return None,
            Param::Int(number) => Value::from(*number),
            Param::Text(text) => Value::from(text.as_ref()),
        };
        Some((column.name.to_owned(), value))
    };
    named.filter_map(member).collect()
}

/// The value of a column by name; null if absent.
pub(crate) fn from_json(named: &Map<String, Value>, column: &Column) -> Param<'static> {
    match named.get(column.name) {
        Some(Value::String(text)) => text.clone().into(),
        Some(Value::Number(number)) => number.as_i64().into(),
        _ => Param::Null,
    }
}

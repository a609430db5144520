//! Parameters of statements, and rows of one table as arrays of columns.

use std::borrow::Cow;

use bytes::BytesMut;
use tokio_postgres::Statement;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::db::Param;

type ToSqlError = Box<dyn std::error::Error + Sync + Send>;

/// The value of a placeholder.
#[derive(Debug)]
pub(super) enum Value {
    One(Param<'static>),
    /// The values of a column, as an array.
    Column(Vec<Param<'static>>),
}

impl ToSql for Value {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, ToSqlError> {
        match self {
            Value::One(value) => value.to_sql(ty, out),
            Value::Column(values) => values.to_sql(ty, out),
        }
    }

    /// The shared SQL uses only types that have a value here; the server refuses others.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl ToSql for Param<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, ToSqlError> {
        match self {
            Param::Null => Ok(IsNull::Yes),
            Param::Int(value) if *ty == Type::INT4 => i32::try_from(*value)?.to_sql(ty, out),
            Param::Int(value) => value.to_sql(ty, out),
            Param::Text(text) => text.as_ref().to_sql(ty, out),
            Param::Bytes(bytes) => bytes.as_ref().to_sql(ty, out),
        }
    }

    /// As for [`Value`].
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// An owned copy of a value.
fn to_static(param: &Param<'_>) -> Param<'static> {
    match param {
        Param::Null => Param::Null,
        Param::Int(value) => Param::Int(*value),
        Param::Text(text) => Param::Text(Cow::Owned(text.clone().into_owned())),
        Param::Bytes(bytes) => Param::Bytes(Cow::Owned(bytes.clone().into_owned())),
    }
}

pub(super) fn owned(params: &[Param<'_>]) -> Vec<Value> {
    params.iter().map(|param| Value::One(to_static(param))).collect()
}

/// Turns the values of many rows, row by row, into one array per column.
pub(super) fn columns(width: usize, rows: &[Param<'_>]) -> Vec<Value> {
    (0..width).map(|at| Value::Column(rows.iter().skip(at).step_by(width).map(to_static).collect())).collect()
}

/// The statement that inserts one row with these columns.
pub(super) fn insert_one(insert: &str, width: usize) -> String {
    let places: Vec<String> = (1..=width).map(|at| format!("${at}")).collect();
    format!("{insert} VALUES ({})", places.join(", "))
}

/// The statement that inserts any number of rows from one array per column. `one` has the types of the columns.
pub(super) fn insert_many(insert: &str, one: &Statement) -> String {
    let arrays = one.params().iter().enumerate().map(|(at, ty)| format!("${}::{}[]", at + 1, ty.name()));
    let arrays = arrays.collect::<Vec<_>>().join(", ");
    // The default of `store_id` would look up the store for every row.
    match insert.strip_suffix(')') {
        Some(columns) => format!("{columns}, store_id) SELECT *, (SELECT pensa.this_store()) FROM unnest({arrays})"),
        None => format!("{insert} SELECT * FROM unnest({arrays})"),
    }
}

/// Converts the shared placeholders `?1` to `$1`.
pub(super) fn placeholders(sql: &str) -> String {
    let mut text = String::with_capacity(sql.len());
    let mut rest = sql.chars().peekable();
    while let Some(letter) = rest.next() {
        let is_placeholder = letter == '?' && rest.peek().is_some_and(char::is_ascii_digit);
        text.push(if is_placeholder { '$' } else { letter });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_rewritten_and_nothing_else() {
        assert_eq!(placeholders("a = ?1 AND b IN (?2, ?10)"), "a = $1 AND b IN ($2, $10)");
        assert_eq!(placeholders("why? '?'"), "why? '?'");
    }
}

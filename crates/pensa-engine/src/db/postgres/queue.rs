//! What a connection has yet to send: statements, and rows that are gathered so that one statement adds many.
//!
//! When it is sent, and what may overtake what, is left to the connection and those who queue.

use std::sync::Arc;

use bytes::BytesMut;
use tokio_postgres::types::{IsNull, Kind, ToSql, Type, to_sql_checked};

use super::dialogue::Statement;
use crate::db::Param;

/// Most values gathered for one statement.
const MAX_VALUES: usize = 4096;
/// Most rows that are written out in a statement, which is another one for each number of them, and the least columns that
/// make it worth that. Otherwise there is an array for each column: the server unpacks all of them before it begins, which
/// for a few wide rows costs more than to add them.
const FEW: usize = 8;
const WIDE: usize = 6;

#[derive(Debug)]
pub(super) enum Queued {
    Statement(Arc<Statement>, Vec<Value>),
    Rows(Added),
}

impl Queued {
    pub(super) fn into_added(self) -> Option<Added> {
        match self {
            Self::Statement(..) => None,
            Self::Rows(added) => Some(added),
        }
    }

    pub(super) fn as_added(&mut self) -> Option<&mut Added> {
        match self {
            Self::Statement(..) => None,
            Self::Rows(added) => Some(added),
        }
    }
}

/// What a placeholder stands for.
#[derive(Debug)]
pub(super) enum Value {
    One(Param<'static>),
    /// The values of a column, as an array.
    Column(Vec<Param<'static>>),
}

/// Rows for some columns of a table.
#[derive(Debug)]
pub(super) struct Added {
    /// `INSERT INTO table (columns)`.
    pub(super) insert: String,
    width: usize,
    /// One row after the other.
    values: Vec<Param<'static>>,
}

impl Added {
    pub(super) fn new(insert: &str, width: usize) -> Self {
        Self { insert: insert.to_owned(), width: width.max(1), values: Vec::new() }
    }

    /// Takes rows, value by value.
    pub(super) fn take_in(&mut self, values: &[Param<'_>]) {
        self.values.extend(values.iter().map(Param::to_static));
    }

    pub(super) fn rows(&self) -> usize {
        self.values.len() / self.width
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn is_full(&self) -> bool {
        self.values.len() >= MAX_VALUES
    }

    /// How many rows there are, if they are written out.
    fn few(&self) -> Option<usize> {
        let most = if self.width() >= WIDE { FEW } else { 1 };
        Some(self.rows()).filter(|rows| *rows <= most)
    }

    /// The statement that adds one row.
    pub(super) fn of_one(&self) -> String {
        self.of_few(1, 0)
    }

    /// The statement that adds these rows, whose placeholders come after so many others. `one` knows the types of the
    /// columns.
    pub(super) fn text(&self, one: &Statement, before: usize) -> String {
        if let Some(rows) = self.few() {
            return self.of_few(rows, before);
        }
        let arrays = one.params().iter().enumerate().map(|(at, of)| format!("${}::{}[]", before + at + 1, of.name()));
        let arrays = arrays.collect::<Vec<_>>().join(", ");
        // As a default, the store would be found out again for every row.
        match self.insert.strip_suffix(')') {
            Some(columns) => {
                format!("{columns}, store_id) SELECT *, (SELECT pensa.this_store()) FROM unnest({arrays})")
            }
            None => format!("{} SELECT * FROM unnest({arrays})", self.insert),
        }
    }

    fn of_few(&self, rows: usize, before: usize) -> String {
        let row = |row: usize| {
            let first = before + row * self.width() + 1;
            let places: Vec<String> = (first..first + self.width()).map(|at| format!("${at}")).collect();
            format!("({})", places.join(", "))
        };
        format!("{} VALUES {}", self.insert, (0..rows).map(row).collect::<Vec<_>>().join(", "))
    }

    /// How many placeholders its statement has.
    pub(super) fn placeholders(&self) -> usize {
        self.few().unwrap_or(1) * self.width()
    }

    pub(super) fn into_values(self) -> Vec<Value> {
        if self.few().is_some() {
            return self.values.into_iter().map(Value::One).collect();
        }
        let rows = self.rows();
        let mut columns: Vec<_> = (0..self.width).map(|_| Vec::with_capacity(rows)).collect();
        for (at, value) in self.values.into_iter().enumerate() {
            columns[at % self.width].push(value);
        }
        columns.into_iter().map(Value::Column).collect()
    }
}

/// The text of a statement that adds rows of several tables as well, and what makes it the right one.
#[derive(Debug)]
pub(super) struct Merged {
    sql: String,
    /// What begins the insertion into each table, and for how many rows if they are few.
    rows: Vec<(String, Option<usize>)>,
    pub(super) text: Arc<str>,
}

impl Merged {
    pub(super) fn new(sql: &str, rows: &[Added], text: Arc<str>) -> Self {
        let rows = rows.iter().map(|added| (added.insert.clone(), added.few())).collect();
        Self { sql: sql.to_owned(), rows, text }
    }

    pub(super) fn is_of(&self, sql: &str, rows: &[Added]) -> bool {
        let is_same =
            |((insert, few), added): (&(String, Option<usize>), &Added)| *few == added.few() && *insert == added.insert;
        self.sql == sql && self.rows.len() == rows.len() && self.rows.iter().zip(rows).all(is_same)
    }
}

type Refused = Box<dyn std::error::Error + Sync + Send>;

impl ToSql for Value {
    fn to_sql(&self, of: &Type, out: &mut BytesMut) -> Result<IsNull, Refused> {
        let values = match self {
            Value::One(value) => return value.to_sql(of, out),
            Value::Column(values) => values,
        };
        match of.kind() {
            Kind::Array(_) => values.to_sql(of, out),
            _ => Err(format!("a column of values for one of type {of}").into()),
        }
    }

    /// The shared SQL keeps to types that have a value here; the server refuses the rest.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl ToSql for Param<'_> {
    fn to_sql(&self, of: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Param::Null => Ok(IsNull::Yes),
            Param::Int(value) if *of == Type::INT4 => i32::try_from(*value)?.to_sql(of, out),
            Param::Int(value) => value.to_sql(of, out),
            Param::Text(text) => text.as_ref().to_sql(of, out),
        }
    }

    /// The shared SQL keeps to types that have a value here; the server refuses the rest.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

//! A row of an answer of PostgreSQL, in its binary form.

use std::error::Error;
use std::ops::Range;
use std::sync::Arc;

use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::DataRowBody;
use tokio_postgres::types::{FromSql, Type, WrongType};

use super::failure::Failure;

/// The types of the columns of an answer.
pub(super) type Columns = Arc<[Type]>;

#[derive(Debug)]
pub(crate) struct Row {
    columns: Columns,
    body: DataRowBody,
    values: Vec<Option<Range<usize>>>,
}

impl Row {
    pub(super) fn new(columns: &Columns, body: DataRowBody) -> std::io::Result<Self> {
        let values = body.ranges().collect()?;
        Ok(Self { columns: Arc::clone(columns), body, values })
    }

    /// A number, of an answer that has it.
    pub(super) fn int(&self, column: usize) -> Result<i64, Failure> {
        self.get(column).map_err(|e| Failure::other(pensa_core::Error::internal(e)))
    }

    /// The value of a column, which are counted from 0.
    pub(crate) fn get<'a, T: FromSql<'a>>(&'a self, column: usize) -> Result<T, Box<dyn Error + Sync + Send>> {
        let (Some(of), Some(value)) = (self.columns.get(column), self.values.get(column)) else {
            return Err(format!("there are {} columns", self.values.len()).into());
        };
        if !T::accepts(of) {
            return Err(Box::new(WrongType::new::<T>(of.clone())));
        }
        let raw = value.clone().map(|range| &self.body.buffer()[range]);
        T::from_sql_nullable(of, raw)
    }
}

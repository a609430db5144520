//! Rows whatever their table: put in place of the one with the same key, or added; and listed newest first.

use pensa_core::Result;

use crate::db::{Param, Tx};

/// What a listing wants: columns and what they must be.
pub(crate) type Wanted = Vec<(&'static str, String)>;

/// The end of a question for the rows that a listing wants, newest first by the column `at`; all columns stand behind
/// `alias`.
pub(crate) fn newest(alias: &str, at: &str, wanted: Wanted, limit: Option<u32>) -> (String, Vec<Param<'static>>) {
    let (mut conditions, mut values) = (vec!["1 = 1".to_owned()], Vec::new());
    for (column, value) in wanted {
        values.push(Param::from(value));
        conditions.push(format!("{alias}.{column} = ?{}", values.len()));
    }
    values.push(Param::Int(limit.map_or(i64::MAX, i64::from)));
    let (conditions, last) = (conditions.join(" AND "), values.len());
    (format!("WHERE {conditions} ORDER BY {alias}.{at} DESC, {alias}.id DESC LIMIT ?{last}"), values)
}

/// A table as far as writing a row goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) table: &'static str,
    /// Its columns, separated by blanks; those that make up the key come first.
    pub(crate) columns: &'static str,
    /// How many columns make up the key.
    pub(crate) keys: usize,
}

impl Shape {
    pub(crate) fn put(&self, tx: &Tx<'_>, values: &[Param<'_>]) -> Result<()> {
        let columns: Vec<&str> = self.columns.split_whitespace().collect();
        let set = |from: usize, to: usize, between: &str| {
            let parts = (from..to).map(|at| format!("{} = ?{}", columns[at], at + 1));
            parts.collect::<Vec<_>>().join(between)
        };
        let (table, keys) = (self.table, set(0, self.keys, " AND "));
        let update = format!("UPDATE {table} SET {} WHERE {keys}", set(self.keys, columns.len(), ", "));
        if tx.execute(&update, values)? > 0 {
            return Ok(());
        }
        let places = (1..=columns.len()).map(|at| format!("?{at}")).collect::<Vec<_>>().join(", ");
        tx.send(&format!("INSERT INTO {table} ({}) VALUES ({places})", columns.join(", ")), values)
    }
}

//! SQL for listings filtered by columns, newest first.

use crate::db::Param;

/// Filters of a listing: columns and the values they must have.
pub(crate) type ColumnFilters = Vec<(&'static str, String)>;

/// The `WHERE … ORDER BY … LIMIT` clause of a listing and its parameters. Columns are qualified with `alias`; rows are
/// sorted by the column `at`, newest first.
pub(crate) fn newest_first(
    alias: &str,
    at: &str,
    filters: ColumnFilters,
    limit: Option<u32>,
) -> (String, Vec<Param<'static>>) {
    let (mut conditions, mut values) = (vec!["1 = 1".to_owned()], Vec::new());
    for (column, value) in filters {
        values.push(Param::from(value));
        conditions.push(format!("{alias}.{column} = ?{}", values.len()));
    }
    values.push(Param::Int(limit.map_or(i64::MAX, i64::from)));
    let (conditions, last) = (conditions.join(" AND "), values.len());
    (format!("WHERE {conditions} ORDER BY {alias}.{at} DESC, {alias}.id DESC LIMIT ?{last}"), values)
}

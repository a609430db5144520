//! Listings of rows, newest first.

use crate::db::Param;

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

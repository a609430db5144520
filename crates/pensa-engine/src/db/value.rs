//! Parameters and result rows of statements, the same for both drivers.

use std::borrow::Cow;
use std::str::FromStr;

use pensa_core::id::{CommentId, IssueId};
use pensa_core::issue::{IssueType, Priority, Status};
use pensa_core::{Code, Error, Result, Span, Timestamp};

use super::postgres;

/// The value of a placeholder.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Param<'a> {
    Null,
    Int(i64),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
}

/// `params![a, b]`: the values of `?1, ?2`.
macro_rules! params {
    ($($value:expr),* $(,)?) => { &[$($crate::db::Param::from($value)),*] };
}
pub(crate) use params;

impl From<i64> for Param<'_> {
    fn from(value: i64) -> Self {
        Param::Int(value)
    }
}

impl<'a> From<&'a str> for Param<'a> {
    fn from(value: &'a str) -> Self {
        Param::Text(Cow::Borrowed(value))
    }
}

impl<'a> From<&'a String> for Param<'a> {
    fn from(value: &'a String) -> Self {
        Param::Text(Cow::Borrowed(value))
    }
}

impl From<String> for Param<'_> {
    fn from(value: String) -> Self {
        Param::Text(Cow::Owned(value))
    }
}

impl<'a> From<&'a [u8]> for Param<'a> {
    fn from(value: &'a [u8]) -> Self {
        Param::Bytes(Cow::Borrowed(value))
    }
}

impl<'a> From<&'a IssueId> for Param<'a> {
    fn from(value: &'a IssueId) -> Self {
        value.as_str().into()
    }
}

impl<'a> From<&'a CommentId> for Param<'a> {
    fn from(value: &'a CommentId) -> Self {
        value.as_str().into()
    }
}

impl From<Timestamp> for Param<'_> {
    fn from(value: Timestamp) -> Self {
        value.to_string().into()
    }
}

impl From<Span> for Param<'_> {
    fn from(value: Span) -> Self {
        Param::Int(value.as_millis())
    }
}

impl From<Status> for Param<'_> {
    fn from(value: Status) -> Self {
        value.as_str().into()
    }
}

impl From<Priority> for Param<'_> {
    fn from(value: Priority) -> Self {
        value.as_str().into()
    }
}

impl From<IssueType> for Param<'_> {
    fn from(value: IssueType) -> Self {
        value.as_str().into()
    }
}

impl<'a, T: Into<Param<'a>>> From<Option<T>> for Param<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Param::Null, Into::into)
    }
}

/// A result row; columns are counted from 0.
#[derive(Debug)]
pub(crate) enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "no such database can be opened"))]
    Postgres(&'r postgres::Row),
}

impl Row<'_> {
    pub(crate) fn text(&self, column: usize) -> Result<String> {
        match self {
            Row::Sqlite(row) => row.get(column).map_err(|e| damaged(column, &e)),
            Row::Postgres(row) => row.try_get(column).map_err(|e| damaged(column, &e)),
        }
    }

    pub(crate) fn text_or_null(&self, column: usize) -> Result<Option<String>> {
        match self {
            Row::Sqlite(row) => row.get(column).map_err(|e| damaged(column, &e)),
            Row::Postgres(row) => row.try_get(column).map_err(|e| damaged(column, &e)),
        }
    }

    pub(crate) fn bytes(&self, column: usize) -> Result<Vec<u8>> {
        match self {
            Row::Sqlite(row) => row.get(column).map_err(|e| damaged(column, &e)),
            Row::Postgres(row) => row.try_get(column).map_err(|e| damaged(column, &e)),
        }
    }

    pub(crate) fn int(&self, column: usize) -> Result<i64> {
        match self {
            Row::Sqlite(row) => row.get(column).map_err(|e| damaged(column, &e)),
            Row::Postgres(row) => row.try_get(column).map_err(|e| damaged(column, &e)),
        }
    }

    pub(crate) fn int_or_null(&self, column: usize) -> Result<Option<i64>> {
        match self {
            Row::Sqlite(row) => row.get(column).map_err(|e| damaged(column, &e)),
            Row::Postgres(row) => row.try_get(column).map_err(|e| damaged(column, &e)),
        }
    }

    /// Parses the text of a column.
    pub(crate) fn parse<T: FromStr<Err = Error>>(&self, column: usize) -> Result<T> {
        self.str(column)?.parse().map_err(|e: Error| damaged(column, &e))
    }

    pub(crate) fn parse_or_null<T: FromStr<Err = Error>>(&self, column: usize) -> Result<Option<T>> {
        match self.text_or_null(column)? {
            None => Ok(None),
            Some(text) => text.parse().map(Some).map_err(|e: Error| damaged(column, &e)),
        }
    }

    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self, column: usize) -> Result<T> {
        serde_json::from_str(self.str(column)?).map_err(|e| damaged(column, &e))
    }

    pub(crate) fn str(&self, column: usize) -> Result<&str> {
        match self {
            Row::Sqlite(row) => {
                row.get_ref(column).map_err(|e| damaged(column, &e))?.as_str().map_err(|e| damaged(column, &e))
            }
            Row::Postgres(row) => row.try_get(column).map_err(|e| damaged(column, &e)),
        }
    }
}

fn damaged(column: usize, error: &dyn std::fmt::Display) -> Error {
    Error::new(Code::Corrupt, format!("the database holds an unreadable value (column {column}): {error}"))
        .hint("run pn doctor")
}

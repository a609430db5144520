//! Ids of rows: a new one that no row has, and the one that a caller means by the beginning of it.

use std::fmt::Display;

use pensa_core::{Code, Error, Result, id};

use crate::db::{Tx, params};

/// Rows that have ids.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind<'a> {
    /// What one of them is called.
    pub(crate) name: &'static str,
    pub(crate) table: &'a str,
    /// How an id that was made here begins.
    pub(crate) prefix: &'static str,
    /// What to do about an id that is not there.
    pub(crate) hint: &'a str,
}

impl Kind<'_> {
    /// A new id.
    pub(crate) fn new_id<I: Display>(&self, tx: &Tx<'_>, mut make: impl FnMut() -> I) -> Result<I> {
        let sql = format!("SELECT 1 FROM {} WHERE id = ?1", self.table);
        loop {
            let id = make();
            if tx.query_one(&sql, params![id.to_string()], |_| Ok(()))?.is_none() {
                return Ok(id);
            }
        }
    }

    /// The id of the one row that a text means.
    pub(crate) fn find(&self, tx: &Tx<'_>, text: &str) -> Result<String> {
        let mut matches = self.candidates(tx, text)?;
        if matches.len() > 1 {
            return Err(ambiguous(text, matches.iter().map(String::as_str)));
        }
        matches.pop().ok_or_else(|| self.unknown(text))
    }

    pub(crate) fn unknown(&self, text: &str) -> Error {
        Error::not_found(self.name, text).hint(self.hint)
    }

    /// The ids that a text may mean: just this one, else all that begin with it.
    pub(crate) fn candidates(&self, tx: &Tx<'_>, text: &str) -> Result<Vec<String>> {
        id::check(text)?;
        if !id::is_possible(text) {
            return Ok(Vec::new());
        }
        let exact = format!("SELECT id FROM {} WHERE id = ?1", self.table);
        let mut matches = tx.query(&exact, params![text], |row| row.text(0))?;
        let range = format!("SELECT id FROM {} WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 6", self.table);
        let mut wanted = vec![text.to_owned()];
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            // Ids that are made here have no capitals.
            wanted.push(text.to_ascii_lowercase());
        }
        for prefix in wanted.iter().flat_map(|text| [text.clone(), format!("{}{text}", self.prefix)]) {
            if matches.is_empty() {
                matches = tx.query(&range, params![&prefix, format!("{prefix}\u{10FFFF}")], |row| row.text(0))?;
            }
        }
        Ok(matches)
    }
}

/// The error of a text that may mean several things.
pub(crate) fn ambiguous<'a>(wanted: impl Display, ids: impl Iterator<Item = &'a str>) -> Error {
    let ids: Vec<&str> = ids.collect();
    let more = if ids.len() > 5 { ", …" } else { "" };
    let some = ids.into_iter().take(5).collect::<Vec<_>>().join(", ");
    Error::new(Code::AmbiguousId, format!("ambiguous id: {wanted} could be {some}{more}"))
        .hint("give the id, or more of it")
}

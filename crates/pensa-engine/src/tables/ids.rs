//! Creates unused ids, and resolves ids from a prefix.

use std::fmt::Display;

use pensa_core::{Code, Error, Result, id};

use crate::db::{Tx, params};
use crate::entity;

/// A table whose rows have ids.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IdTable<'a> {
    /// What error messages call a row
    pub(crate) name: &'static str,
    pub(crate) table: &'a str,
    /// The prefix of ids created here
    pub(crate) prefix: &'static str,
    /// The hint of the error for an unknown id
    pub(crate) hint: &'a str,
}

impl IdTable<'_> {
    /// An unused id.
    pub(crate) fn new_id<I: Display>(&self, tx: &Tx<'_>, mut make: impl FnMut() -> I) -> Result<I> {
        let sql = format!("SELECT 1 FROM {} WHERE id = ?1", self.table);
        loop {
            let id = make();
            if tx.query_one(&sql, params![id.to_string()], |_| Ok(()))?.is_none() {
                return Ok(id);
            }
        }
    }

    /// The id of the one row that a text refers to.
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

    /// The ids that a text may refer to: the exact id, else all that start with it.
    pub(crate) fn candidates(&self, tx: &Tx<'_>, text: &str) -> Result<Vec<String>> {
        id::check(text)?;
        if !id::is_possible(text) {
            return Ok(Vec::new());
        }
        let table = entity::visible_rows(self.table);
        let exact = format!("SELECT id FROM {table} WHERE id = ?1");
        let mut matches = tx.query(&exact, params![text], |row| row.text(0))?;
        let range = format!("SELECT id FROM {table} WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 6");
        let mut prefixes = vec![text.to_owned()];
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            // Ids created here have no capitals.
            prefixes.push(text.to_ascii_lowercase());
        }
        for prefix in prefixes.iter().flat_map(|text| [text.clone(), format!("{}{text}", self.prefix)]) {
            if matches.is_empty() {
                matches = tx.query(&range, params![&prefix, format!("{prefix}\u{10FFFF}")], |row| row.text(0))?;
            }
        }
        Ok(matches)
    }
}

/// The error for a text that matches several ids.
pub(crate) fn ambiguous<'a>(reference: impl Display, ids: impl Iterator<Item = &'a str>) -> Error {
    let ids: Vec<&str> = ids.collect();
    let more = if ids.len() > 5 { ", …" } else { "" };
    let some = ids.into_iter().take(5).collect::<Vec<_>>().join(", ");
    Error::new(Code::AmbiguousId, format!("ambiguous id: {reference} could be {some}{more}"))
        .hint("give the id, or more of it")
}

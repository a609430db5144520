//! Operations on what two clones disagreed about.

use pensa_core::ops::conflict::{List, Resolve, Side};
use pensa_core::sync::{Conflict, ConflictId, Record};
use pensa_core::{Code, Error, Result, id};

use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::sync;
use crate::tables::conflicts;

/// Most conflicts that one answer holds.
const MAX_LISTED: u32 = 10_000;

/// As people are told of it.
fn told(conflict: Conflict) -> Conflict {
    Conflict { whole: Record::new(), version: String::new(), ..conflict }
}

impl Execute for List {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Conflict>> {
        let limit = self.limit.unwrap_or(MAX_LISTED).min(MAX_LISTED);
        Ok(conflicts::open(tx, i64::from(limit))?.into_iter().map(told).collect())
    }
}

impl Execute for Resolve {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Conflict> {
        let conflict = find(tx, self.id.trim())?;
        sync::settle(cx, tx, &conflict, self.take == Side::Other)?;
        Ok(told(conflict))
    }
}

fn find(tx: &Tx<'_>, wanted: &str) -> Result<Conflict> {
    id::check(wanted)?;
    // All of them were made here, and none has capitals.
    let wanted = &wanted.to_ascii_lowercase();
    let mut matches = conflicts::with_prefix(tx, wanted)?;
    if matches.is_empty() {
        matches = conflicts::with_prefix(tx, &format!("{}{wanted}", ConflictId::PREFIX))?;
    }
    let found = matches.pop().ok_or_else(|| Error::not_found("conflict", wanted).hint("pn conflicts lists them"))?;
    match matches.pop() {
        None => Ok(found),
        Some(other) => {
            Err(Error::new(Code::AmbiguousId, format!("ambiguous id: {wanted} could be {} or {}", other.id, found.id))
                .hint("give more of the id"))
        }
    }
}

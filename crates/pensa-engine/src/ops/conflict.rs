//! Operations on merge conflicts.

use pensa_core::ops::conflict::{List, Resolve, Side};
use pensa_core::sync::{Conflict, ConflictId, SyncObject};
use pensa_core::{Code, Error, Result, id};

use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::sync;
use crate::tables::conflicts;

/// Most conflicts listed.
const MAX_LISTED: u32 = 10_000;

/// The conflict as users see it, without the full record and its version.
fn without_internals(conflict: Conflict) -> Conflict {
    Conflict { whole: SyncObject::new(), version: String::new(), ..conflict }
}

impl Execute for List {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Conflict>> {
        let limit = self.limit.unwrap_or(MAX_LISTED).min(MAX_LISTED);
        Ok(conflicts::open(tx, i64::from(limit))?.into_iter().map(without_internals).collect())
    }
}

impl Execute for Resolve {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Conflict> {
        let conflict = find(tx, self.id.trim())?;
        sync::resolve(cx, tx, &conflict, self.take == Side::Other)?;
        Ok(without_internals(conflict))
    }
}

fn find(tx: &Tx<'_>, reference: &str) -> Result<Conflict> {
    id::check(reference)?;
    // Conflict ids are generated without capitals.
    let reference = &reference.to_ascii_lowercase();
    let mut matches = conflicts::with_prefix(tx, reference)?;
    if matches.is_empty() {
        matches = conflicts::with_prefix(tx, &format!("{}{reference}", ConflictId::PREFIX))?;
    }
    let conflict =
        matches.pop().ok_or_else(|| Error::not_found("conflict", reference).hint("pn conflicts lists them"))?;
    match matches.pop() {
        None => Ok(conflict),
        Some(other) => Err(Error::new(
            Code::AmbiguousId,
            format!("ambiguous id: {reference} could be {} or {}", other.id, conflict.id),
        )
        .hint("give more of the id")),
    }
}

//! Two stores that gave the same random id to two records: both stay, one under another id.
//!
//! Which one moves, and to which id, follows from the two alone, so that every clone does the same.

use std::collections::HashMap;

use pensa_core::Result;
use pensa_core::event::{self, EventType};
use pensa_core::id::IssueId;
use pensa_core::similar::hash64;
use pensa_core::sync::{Collection, ISSUES, Record};
use serde_json::{Map, Value};

use super::shared::Table;
use crate::context::Context;
use crate::db::Tx;
use crate::tables::{events, issues};

/// Whether ours is the one that gets another id: the younger one.
pub(super) fn ours_moves(collection: &Collection, ours: &Record, theirs: &Record) -> bool {
    collection.birth(ours) > collection.birth(theirs)
}

/// The id for the one that moves.
pub(super) fn new_name(collection: &Collection, ours: &Record, theirs: &Record) -> Result<String> {
    let moved = if ours_moves(collection, ours, theirs) { ours } else { theirs };
    let key = collection.key(moved);
    let prefix = key.rsplit_once('-').map_or("pn", |(prefix, _)| prefix);
    let bits = hash64(format!("{key} {}", collection.birth(moved)).as_bytes()) >> 32;
    Ok(format!("{prefix}-{bits:08x}"))
}

/// Gives a row another id, and everything that refers to it.
pub(super) fn move_row(cx: &Context<'_>, tx: &Tx<'_>, table: &dyn Table, old: &str, new: &str) -> Result<()> {
    if table.collection().name != ISSUES.name {
        return table.rename(cx, tx, old, new, moved(old, new));
    }
    let id: IssueId = new.parse()?;
    // For a moment others refer to an issue that is not there.
    tx.expect_many_rows()?;
    issues::rename(tx, &old.parse()?, &id)?;
    events::log(cx, tx, &id, EventType::Updated, moved(old, new))
}

fn moved(old: &str, new: &str) -> Map<String, Value> {
    let mut detail = Map::new();
    detail.insert("id".into(), event::change(old, new));
    detail
}

/// Ids of the files that became others.
#[derive(Debug, Default)]
pub(super) struct Renamed {
    issues: HashMap<String, String>,
}

impl Renamed {
    pub(super) fn note(&mut self, table: &dyn Table, old: String, new: String) {
        if table.collection().name == "issues" {
            self.issues.insert(old, new);
        }
    }

    /// Makes a record of the files follow its issue, unless the store has it for the issue of its own.
    pub(super) fn follow(&self, tx: &Tx<'_>, table: &dyn Table, record: &mut Record) -> Result<()> {
        if self.issues.is_empty() || table.get(tx, &table.collection().key(record))?.is_some() {
            return Ok(());
        }
        for field in ["issue_id", "depends_on_id", "fixes", "work"] {
            let new = record.get(field).and_then(Value::as_str).and_then(|id| self.issues.get(id)).cloned();
            if let Some(new) = new {
                record.insert(field.into(), new.into());
            }
        }
        for id in record.get_mut("issues").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(new) = id.as_str().and_then(|id| self.issues.get(id)) {
                *id = new.clone().into();
            }
        }
        Ok(())
    }
}

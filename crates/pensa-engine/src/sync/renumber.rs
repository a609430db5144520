//! Resolves id clashes: if two stores gave the same random id to two records, one gets a new id.
//!
//! Which one, and which id, depends on the two records only, so every clone does the same.

use std::collections::HashMap;

use pensa_core::Result;
use pensa_core::event::{self, EventType};
use pensa_core::id::IssueId;
use pensa_core::similar::hash64;
use pensa_core::sync::{Collection, ISSUES, SyncObject};
use serde_json::{Map, Value};

use super::synced_tables::SyncedTable;
use crate::context::Context;
use crate::db::Tx;
use crate::tables::{events, issues};

/// Whether our record gets the new id: the younger one does.
pub(super) fn ours_moves(collection: &Collection, ours: &SyncObject, theirs: &SyncObject) -> bool {
    collection.birth(ours) > collection.birth(theirs)
}

/// The new id.
pub(super) fn new_id(collection: &Collection, ours: &SyncObject, theirs: &SyncObject) -> Result<String> {
    let moved = if ours_moves(collection, ours, theirs) { ours } else { theirs };
    let key = collection.key(moved);
    let prefix = key.rsplit_once('-').map_or("pn", |(prefix, _)| prefix);
    let bits = hash64(format!("{key} {}", collection.birth(moved)).as_bytes()) >> 32;
    Ok(format!("{prefix}-{bits:08x}"))
}

/// Changes the id of a record, and of all references to it.
pub(super) fn rename_row(cx: &Context<'_>, tx: &Tx<'_>, table: &dyn SyncedTable, old: &str, new: &str) -> Result<()> {
    if table.collection().name != ISSUES.name {
        return table.rename(cx, tx, old, new, moved(old, new));
    }
    let id: IssueId = new.parse()?;
    // References dangle for a moment.
    tx.expect_many_rows()?;
    issues::rename(tx, &old.parse()?, &id)?;
    events::log(cx, tx, &id, EventType::Updated, moved(old, new))
}

fn moved(old: &str, new: &str) -> Map<String, Value> {
    let mut detail = Map::new();
    detail.insert("id".into(), event::change(old, new));
    detail
}

/// Ids of received records that were changed.
#[derive(Debug, Default)]
pub(super) struct RenamedIds {
    issues: HashMap<String, String>,
}

impl RenamedIds {
    pub(super) fn add(&mut self, table: &dyn SyncedTable, old: String, new: String) {
        if table.collection().name == "issues" {
            self.issues.insert(old, new);
        }
    }

    /// Adapts the references of a received record, unless the store already has the record with its own issue.
    pub(super) fn follow(&self, tx: &Tx<'_>, table: &dyn SyncedTable, record: &mut SyncObject) -> Result<()> {
        if self.issues.is_empty() || table.get(tx, &table.collection().key(record))?.is_some() {
            return Ok(());
        }
        for field in ["issue_id", "depends_on_id", "fixes", "parent", "work"] {
            let new = record.get(field).and_then(Value::as_str).and_then(|id| self.issues.get(id)).cloned();
            if let Some(new) = new {
                record.insert(field.into(), new.into());
            }
        }
        for link in record.get_mut("links").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(new) = link["to"].as_str().and_then(|id| self.issues.get(id)) {
                link["to"] = new.clone().into();
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

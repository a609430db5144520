//! Records and resolves conflicts, with an event for each.

use pensa_core::event::{self, EventType};
use pensa_core::id::IssueId;
use pensa_core::sync::{Conflict, ISSUES, SyncObject};
use pensa_core::{Code, Error, Result, Timestamp};
use serde_json::{Map, Value};

use super::synced_tables;
use crate::context::Context;
use crate::db::Tx;
use crate::ops::undo;
use crate::tables::{conflicts, cycle, events, issues, tombstones};

/// Records a conflict. Returns whether it is new.
pub(crate) fn record_conflict(cx: &Context<'_>, tx: &Tx<'_>, conflict: &Conflict) -> Result<bool> {
    let is_new = conflicts::note(tx, conflict, cx.now)?;
    if is_new {
        log(cx, tx, conflict, EventType::ConflictFound, event::change(Value::Null, &conflict.id))?;
    }
    Ok(is_new)
}

/// Resolves a conflict; `take_other` if the rejected value was right.
pub(crate) fn resolve(cx: &Context<'_>, tx: &Tx<'_>, conflict: &Conflict, take_other: bool) -> Result<()> {
    if take_other {
        self::take_other(cx, tx, conflict)?;
    }
    conflicts::mark_resolved(tx, &conflict.id, cx.now)?;
    log(cx, tx, conflict, EventType::ConflictResolved, event::change(&conflict.id, Value::Null))
}

/// A conflict needs an event, because a database that falls behind its journal is recognised by its last event.
fn log(cx: &Context<'_>, tx: &Tx<'_>, conflict: &Conflict, event_type: EventType, change: Value) -> Result<()> {
    let mut detail = Map::new();
    detail.insert("conflict".into(), change);
    if let Some(table) = synced_tables::of(&conflict.collection).filter(|table| !table.is_about_issues()) {
        return events::append(cx, tx, (table.subject(), &conflict.record_id), None, event_type, detail).map(drop);
    }
    let issue = issue_of(tx, conflict)?;
    let is_there = issues::get(tx, &issue)?.is_some();
    events::append(cx, tx, ("issue", issue.as_str()), is_there.then_some(&issue), event_type, detail).map(drop)
}

/// The issue that a conflict is about.
fn issue_of(tx: &Tx<'_>, conflict: &Conflict) -> Result<IssueId> {
    if conflict.collection == ISSUES.name {
        return conflict.record_id.parse();
    }
    let table = synced_tables::of(&conflict.collection);
    let record = match &table {
        Some(_) if conflict.field == Conflict::DELETED => Some(conflict.whole.clone()),
        Some(table) => table.get(tx, &conflict.record_id)?,
        None => None,
    };
    let issue = table.zip(record).and_then(|(table, record)| table.required_issues(&record).into_iter().next());
    issue.as_deref().unwrap_or(&conflict.record_id).parse()
}

/// Applies the rejected value.
fn take_other(cx: &Context<'_>, tx: &Tx<'_>, conflict: &Conflict) -> Result<()> {
    let table = synced_tables::of(&conflict.collection)
        .ok_or_else(|| Error::invalid(format!("{} is no collection of this version", conflict.collection)))?;
    let collection = table.collection();
    if conflict.field == Conflict::DELETED && table.is_about_issues() {
        restore_issue(cx, tx, table, conflict)?;
    }
    let ours = table.get(tx, &conflict.record_id)?;
    let mut record = match (&ours, conflict.field == Conflict::DELETED) {
        (None, true) => SyncObject::new(),
        (Some(record), _) => record.clone(),
        (None, false) => return Err(Error::not_found("record", &conflict.record_id).hint("it was deleted meanwhile")),
    };
    for (field, value) in &conflict.whole {
        match value {
            Value::Null => drop(record.remove(field)),
            value => drop(record.insert(field.clone(), value.clone())),
        }
    }
    if let Some(version) = collection.version_field() {
        let deleted_at =
            tombstones::get(tx, collection.name, &conflict.record_id)?.map(|tombstone| tombstone.deleted_at);
        let known = ours.as_ref().and_then(|ours| collection.version(ours).parse::<Timestamp>().ok());
        let last = [deleted_at, known].into_iter().flatten().max().unwrap_or(cx.now);
        record.insert(version.into(), Value::String(issues::after(cx, last).to_string()));
    } else {
        tombstones::mark_restored(cx, tx, collection, &conflict.record_id)?;
    }
    let record = collection.normalise(record)?;
    let parent = record.get("parent").and_then(Value::as_str).filter(|_| collection.name == ISSUES.name);
    if let Some(parent) = parent
        && cycle::would_close(tx, &parent.parse()?, &conflict.record_id.parse()?)?
    {
        let message = format!("cycle detected: {} waits for {parent}", conflict.record_id);
        return Err(Error::new(Code::CycleDetected, message).hint("pn dep tree shows the chain"));
    }
    if ours.as_ref() == Some(&record) { Ok(()) } else { table.put(cx, tx, ours, record) }
}

/// Restores a deleted issue as it was, with its comments and dependencies.
fn restore_issue(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    table: &dyn synced_tables::SyncedTable,
    conflict: &Conflict,
) -> Result<()> {
    let issue = issue_of(tx, conflict)?;
    if issues::get(tx, &issue)?.is_some() {
        return Ok(());
    }
    let revived = tx.savepoint(|| undo::reverse::restore_deleted(cx, tx, &issue));
    match revived {
        Ok(true) => Ok(()),
        // If the log no longer has the issue, or it depends on deleted ones, restore only the record.
        Ok(false) | Err(Error { code: Code::Conflict | Code::CycleDetected, .. })
            if table.collection().name == ISSUES.name =>
        {
            Ok(())
        }
        Ok(false) => Err(Error::not_found("issue", &issue).hint("it was deleted, and what it belonged to with it")),
        Err(e) => Err(e),
    }
}

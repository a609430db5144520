//! Finds, lists and stores loops as records, with their tree and the queue of runnable loops.
//!
//! `pensa_core::loops` defines the transitions.

use std::borrow::Cow;
use std::collections::HashMap;

use pensa_core::event::EventType;
use pensa_core::id::{LoopId, LoopRef};
use pensa_core::loops::{COLLECTION, Loop, LoopStatus, LoopType};
use pensa_core::record::{Filter, Order, Record};
use pensa_core::{Code, Error, Result};
use serde_json::{Map, Value};

use super::ids::IdTable;
use super::records::{Collection, Expect, Query, RecordDraft};
use crate::context::Context;
use crate::db::Tx;
use crate::tables::events;

const LOOPS: IdTable<'static> = IdTable {
    name: "loop",
    table: "(SELECT id FROM records WHERE collection = 'loops') AS l",
    prefix: LoopId::PREFIX,
    hint: "pn loop list shows the ids",
};

/// The indexed fields.
const INDEXED: [&str; 7] = ["loop_type", "status", "parent_id", "issue_id", "holder", "runnable", "created_at"];

/// Most loops per query.
const LOOPS_PER_QUERY: usize = 500;

pub(crate) fn open(tx: &Tx<'_>) -> Result<Collection> {
    Collection::open(tx, COLLECTION)
}

/// The collection with its indexes, for writing.
pub(crate) fn open_to_write(tx: &Tx<'_>) -> Result<Collection> {
    open(tx)?.with_indexes(tx, &INDEXED)
}

pub(crate) fn read(record: Record) -> Result<Loop> {
    serde_json::from_value(Value::Object(record.data)).map_err(|e| {
        Error::new(Code::Corrupt, format!("loop {} is unreadable: {e}", record.id)).hint("run pn doctor --deep")
    })
}

pub(crate) fn new_id(cx: &Context<'_>, tx: &Tx<'_>) -> Result<LoopId> {
    LOOPS.new_id(tx, || LoopId::from_uuid(cx.uuid()))
}

/// The loop ids that a text may refer to.
pub(crate) fn candidates(tx: &Tx<'_>, text: &str) -> Result<Vec<String>> {
    LOOPS.candidates(tx, text)
}

/// Finds a loop by its id or a prefix.
pub(crate) fn find(tx: &Tx<'_>, loops: &Collection, reference: &LoopRef) -> Result<Loop> {
    let id = LOOPS.find(tx, reference.as_str())?;
    loops.get(tx, &id)?.map(read).transpose()?.ok_or_else(|| LOOPS.unknown(&id))
}

/// All loops that match, up to the limit, over any number of pages.
pub(crate) fn select(tx: &Tx<'_>, loops: &Collection, query: &Query) -> Result<Vec<Loop>> {
    let mut rest = query.clone();
    let mut all = Vec::new();
    loop {
        let page = loops.select(tx, &rest)?;
        for record in page.records {
            all.push(read(record)?);
        }
        let remaining = query.limit.map(|limit| limit.saturating_sub(all.len()));
        match page.next {
            Some(next) if remaining != Some(0) => (rest.after, rest.limit) = (Some(next), remaining),
            _ => return Ok(all),
        }
    }
}

/// The first runnable loop in the queue.
pub(crate) fn next_runnable(tx: &Tx<'_>, loops: &Collection, of: Option<LoopType>) -> Result<Option<Loop>> {
    let mut filters = vec![Filter::is_not_null("runnable")];
    filters.extend(of.map(|loop_type| Filter::eq("loop_type", loop_type.as_str())));
    let query = Query { filters, order: Order::by("runnable"), limit: Some(1), after: None };
    Ok(select(tx, loops, &query)?.pop())
}

/// The children of several loops, oldest first.
fn children_of_all(tx: &Tx<'_>, loops: &Collection, parents: &[LoopId]) -> Result<Vec<Loop>> {
    let mut all = Vec::new();
    for chunk in parents.chunks(LOOPS_PER_QUERY) {
        let filters = vec![Filter::one_of("parent_id", chunk.iter().map(LoopId::as_str))];
        all.extend(select(tx, loops, &Query { filters, order: Order::by("parent_id"), ..Query::default() })?);
    }
    all.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    Ok(all)
}

/// The children of a loop, oldest first.
pub(crate) fn children(tx: &Tx<'_>, loops: &Collection, id: &LoopId) -> Result<Vec<Loop>> {
    children_of_all(tx, loops, std::slice::from_ref(id))
}

/// All descendants of a loop, parents before their children.
pub(crate) fn descendants(tx: &Tx<'_>, loops: &Collection, id: &LoopId) -> Result<Vec<Loop>> {
    let mut all = Vec::new();
    let mut level = vec![id.clone()];
    while !level.is_empty() {
        let next = children_of_all(tx, loops, &level)?;
        level = next.iter().map(|child| child.id.clone()).collect();
        all.extend(next);
    }
    Ok(all)
}

/// The queue position of a new pending loop; `None` while its parent is not complete.
pub(crate) fn queue_position(tx: &Tx<'_>, parent: Option<&Loop>) -> Result<Option<i64>> {
    // Event numbers only grow, so the queue is first in, first out.
    let may_run = parent.is_none_or(|parent| parent.status == LoopStatus::Complete);
    if may_run { tx.next_event().map(Some) } else { Ok(None) }
}

/// Stores a changed loop and logs it; does nothing if nothing changed.
pub(crate) fn save(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    loops: &Collection,
    old: Option<&Loop>,
    mut new: Loop,
    event: EventType,
) -> Result<Loop> {
    if old == Some(&new) {
        return Ok(new);
    }
    if old.is_some() {
        new.updated_at = cx.now.max(new.updated_at);
    }
    let Value::Object(data) = serde_json::to_value(&new).map_err(Error::internal)? else {
        return Err(Error::internal("a loop is an object"));
    };
    let expect = if old.is_some() { Expect::Present } else { Expect::Absent };
    let put = loops.put(
        tx,
        RecordDraft { id: new.id.to_string(), data: Cow::Owned(data), updated_at: new.updated_at },
        expect,
    )?;
    let mut detail = changes(put.detail());
    // Followers of the issue see the events of its loops.
    if let (Some(issue), Some(_)) = (&new.issue_id, old) {
        detail.insert("issue".into(), Value::from(issue.as_str()));
    }
    events::append(cx, tx, ("loop", new.id.as_str()), None, event, detail)?;
    Ok(new)
}

/// The changed fields, from the change of a record.
pub(crate) fn changes(mut detail: Map<String, Value>) -> Map<String, Value> {
    match detail.remove("data") {
        Some(Value::Object(mut fields)) => {
            fields.shift_remove("updated_at");
            fields
        }
        _ => Map::new(),
    }
}

/// Makes the pending children of a completed loop runnable.
pub(crate) fn release_children(cx: &Context<'_>, tx: &Tx<'_>, loops: &Collection, parent: &Loop) -> Result<()> {
    for child in children(tx, loops, &parent.id)? {
        if child.status == LoopStatus::Pending && child.runnable.is_none() {
            let runnable = Loop { runnable: queue_position(tx, Some(parent))?, ..child.clone() };
            save(cx, tx, loops, Some(&child), runnable, EventType::LoopUpdated)?;
        }
    }
    Ok(())
}

/// Loops whose `runnable` field contradicts their status or parent, each with the right value.
pub(crate) fn with_wrong_runnable(tx: &Tx<'_>, loops: &Collection) -> Result<Vec<(Loop, Option<i64>)>> {
    let with = |filter: Filter| select(tx, loops, &Query { filters: vec![filter], ..Query::default() });
    let mut wrong = Vec::new();
    let mut known: HashMap<LoopId, bool> = HashMap::new();
    for child in with(Filter::eq("status", LoopStatus::Pending.as_str()))? {
        let may_run = match &child.parent_id {
            None => true,
            Some(parent) => match known.get(parent) {
                Some(is_complete) => *is_complete,
                None => {
                    let loaded = loops.get(tx, parent.as_str())?.map(read).transpose()?;
                    let is_complete = loaded.is_some_and(|parent| parent.status == LoopStatus::Complete);
                    known.insert(parent.clone(), is_complete);
                    is_complete
                }
            },
        };
        if child.runnable.is_some() != may_run {
            let right = if may_run { Some(events::last(tx)? + 1) } else { None };
            wrong.push((child, right));
        }
    }
    let started = with(Filter::is_not_null("runnable"))?.into_iter().filter(|one| one.status != LoopStatus::Pending);
    wrong.extend(started.map(|one| (one, None)));
    Ok(wrong)
}

//! Loops as records: which of them a caller means, which stand below which, and which can be claimed.
//!
//! How a loop may move is for `pensa_core::loops` to say.

use std::borrow::Cow;
use std::collections::HashMap;

use pensa_core::event::EventType;
use pensa_core::id::{LoopId, LoopRef};
use pensa_core::loops::{COLLECTION, Loop, LoopStatus, LoopType};
use pensa_core::record::{Filter, Order, Record};
use pensa_core::{Code, Error, Result};
use serde_json::{Map, Value};

use super::ids::Kind;
use super::records::{Collection, Draft, Expect, Query};
use crate::context::Context;
use crate::db::Tx;
use crate::tables::events;

const LOOPS: Kind<'static> = Kind {
    name: "loop",
    table: "(SELECT id FROM records WHERE collection = 'loops') AS l",
    prefix: LoopId::PREFIX,
    hint: "pn loop list shows the ids",
};

/// The fields by which loops are found.
const INDEXED: [&str; 7] = ["loop_type", "status", "parent_id", "issue_id", "holder", "runnable", "created_at"];

/// Most values of one question for several loops.
const ASKED_AT_ONCE: usize = 500;

pub(crate) fn open(tx: &Tx<'_>) -> Result<Collection> {
    Collection::open(tx, COLLECTION)
}

/// The collection with its indexes, for who writes.
pub(crate) fn open_to_write(tx: &Tx<'_>) -> Result<Collection> {
    open(tx)?.declaring(tx, &INDEXED)
}

pub(crate) fn read(record: Record) -> Result<Loop> {
    serde_json::from_value(Value::Object(record.data)).map_err(|e| {
        Error::new(Code::Corrupt, format!("loop {} is unreadable: {e}", record.id)).hint("run pn doctor --deep")
    })
}

pub(crate) fn new_id(cx: &Context<'_>, tx: &Tx<'_>) -> Result<LoopId> {
    LOOPS.new_id(tx, || LoopId::from_uuid(cx.uuid()))
}

/// The ids that a text may mean.
pub(crate) fn candidates(tx: &Tx<'_>, text: &str) -> Result<Vec<String>> {
    LOOPS.candidates(tx, text)
}

/// The loop that a caller means.
pub(crate) fn find(tx: &Tx<'_>, loops: &Collection, wanted: &LoopRef) -> Result<Loop> {
    let id = LOOPS.find(tx, wanted.as_str())?;
    loops.get(tx, &id)?.map(read).transpose()?.ok_or_else(|| LOOPS.unknown(&id))
}

/// All loops that a question means, as far as its limit.
pub(crate) fn select(tx: &Tx<'_>, loops: &Collection, query: &Query) -> Result<Vec<Loop>> {
    let mut rest = query.clone();
    let mut all = Vec::new();
    loop {
        let found = loops.select(tx, &rest)?;
        for record in found.records {
            all.push(read(record)?);
        }
        let wanted = query.limit.map(|limit| limit.saturating_sub(all.len()));
        match found.next {
            Some(next) if wanted != Some(0) => (rest.after, rest.limit) = (Some(next), wanted),
            _ => return Ok(all),
        }
    }
}

/// The next loop that can be run. Those that can be have an index of their own.
pub(crate) fn next_runnable(tx: &Tx<'_>, loops: &Collection, of: Option<LoopType>) -> Result<Option<Loop>> {
    let mut filters = vec![Filter::is_not_null("runnable")];
    filters.extend(of.map(|loop_type| Filter::eq("loop_type", loop_type.as_str())));
    let query = Query { filters, order: Order::by("runnable"), limit: Some(1), after: None };
    Ok(select(tx, loops, &query)?.pop())
}

/// The loops just below any of these, oldest first.
fn below(tx: &Tx<'_>, loops: &Collection, parents: &[LoopId]) -> Result<Vec<Loop>> {
    let mut all = Vec::new();
    for some in parents.chunks(ASKED_AT_ONCE) {
        let filters = vec![Filter::one_of("parent_id", some.iter().map(LoopId::as_str))];
        all.extend(select(tx, loops, &Query { filters, order: Order::by("parent_id"), ..Query::default() })?);
    }
    all.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    Ok(all)
}

/// The loops just below one.
pub(crate) fn children(tx: &Tx<'_>, loops: &Collection, id: &LoopId) -> Result<Vec<Loop>> {
    below(tx, loops, std::slice::from_ref(id))
}

/// All loops below one; each comes after its parent.
pub(crate) fn descendants(tx: &Tx<'_>, loops: &Collection, id: &LoopId) -> Result<Vec<Loop>> {
    let mut all = Vec::new();
    let mut level = vec![id.clone()];
    while !level.is_empty() {
        let next = below(tx, loops, &level)?;
        level = next.iter().map(|child| child.id.clone()).collect();
        all.extend(next);
    }
    Ok(all)
}

/// The place of a pending loop among those that can be claimed, if its parent lets it.
pub(crate) fn place(tx: &Tx<'_>, parent: Option<&Loop>) -> Result<Option<i64>> {
    // Numbers of events only grow, so that who could be claimed first is.
    let may_run = parent.is_none_or(|parent| parent.status == LoopStatus::Complete);
    if may_run { tx.next_event().map(Some) } else { Ok(None) }
}

/// Stores a changed loop and logs the change; leaves everything alone if nothing changed.
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
    let put =
        loops.put(tx, Draft { id: new.id.to_string(), data: Cow::Owned(data), updated_at: new.updated_at }, expect)?;
    let mut detail = changes(put.detail());
    // Whoever follows an issue finds what became of its loops.
    if let (Some(issue), Some(_)) = (&new.issue_id, old) {
        detail.insert("issue".into(), Value::from(issue.as_str()));
    }
    events::append(cx, tx, ("loop", new.id.as_str()), None, event, detail)?;
    Ok(new)
}

/// The fields that changed, of what a record tells of its change.
pub(crate) fn changes(mut detail: Map<String, Value>) -> Map<String, Value> {
    match detail.remove("data") {
        Some(Value::Object(mut fields)) => {
            fields.shift_remove("updated_at");
            fields
        }
        _ => Map::new(),
    }
}

/// Lets those that waited for a loop be claimed.
pub(crate) fn release_children(cx: &Context<'_>, tx: &Tx<'_>, loops: &Collection, parent: &Loop) -> Result<()> {
    for child in children(tx, loops, &parent.id)? {
        if child.status == LoopStatus::Pending && child.runnable.is_none() {
            let freed = Loop { runnable: place(tx, Some(parent))?, ..child.clone() };
            save(cx, tx, loops, Some(&child), freed, EventType::LoopUpdated)?;
        }
    }
    Ok(())
}

/// Loops that can be claimed and should not be, or the other way round, each with its right place.
pub(crate) fn misplaced(tx: &Tx<'_>, loops: &Collection) -> Result<Vec<(Loop, Option<i64>)>> {
    let with = |filter: Filter| select(tx, loops, &Query { filters: vec![filter], ..Query::default() });
    let mut wrong = Vec::new();
    let mut known: HashMap<LoopId, bool> = HashMap::new();
    for one in with(Filter::eq("status", LoopStatus::Pending.as_str()))? {
        let may_run = match &one.parent_id {
            None => true,
            Some(parent) => match known.get(parent) {
                Some(is_complete) => *is_complete,
                None => {
                    let found = loops.get(tx, parent.as_str())?.map(read).transpose()?;
                    let is_complete = found.is_some_and(|parent| parent.status == LoopStatus::Complete);
                    known.insert(parent.clone(), is_complete);
                    is_complete
                }
            },
        };
        if one.runnable.is_some() != may_run {
            let right = if may_run { Some(events::last(tx)? + 1) } else { None };
            wrong.push((one, right));
        }
    }
    let begun = with(Filter::is_not_null("runnable"))?.into_iter().filter(|one| one.status != LoopStatus::Pending);
    wrong.extend(begun.map(|one| (one, None)));
    Ok(wrong)
}

//! Selects operations to undo: the caller's last one, one by an event number, or all of an actor or since a time.

use std::collections::HashSet;

use pensa_core::event::EventType;
use pensa_core::ops::undo::{MAX_EVENTS, MAX_OPERATIONS, Undo, Undoable};
use pensa_core::{Code, Error, Result, text};

use super::dependents::Dependents;
use super::{missing_state_reason, nothing_to_undo, original, purged, refused, reversing_command};
use crate::context::Context;
use crate::db::Tx;
use crate::entity;
use crate::tables::operations::{self, ActorFilter, LoggedEvent};

/// The events that one request wrote, oldest first.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) events: Vec<LoggedEvent>,
}

impl Operation {
    /// Whether it undid others.
    pub(super) fn is_undo(&self) -> bool {
        self.events.iter().any(LoggedEvent::is_undo)
    }

    /// The events that it undid.
    pub(super) fn undoes(&self) -> HashSet<i64> {
        self.events.iter().flat_map(LoggedEvent::undoes).collect()
    }
}

/// The selected operations, newest first, and those that were skipped because they cannot be undone.
pub(super) fn select(cx: &Context<'_>, tx: &Tx<'_>, request: &Undo) -> Result<(Vec<Operation>, Vec<Undoable>)> {
    let mut passed_over = Vec::new();
    let operations = match request {
        Undo { event: None, by: None, since: None, any, .. } => {
            let last = last_undoable(cx, tx, *any, &mut passed_over)?;
            match last {
                Some(last) => vec![last],
                None => return Err(nothing_left(cx, tx, *any, &passed_over)?),
            }
        }
        Undo { any: true, .. }
        | Undo { event: Some(_), by: Some(_), .. }
        | Undo { event: Some(_), since: Some(_), .. } => {
            return Err(Error::invalid("an event says by itself which operation is meant, and so does any")
                .hint("give an event, or any, or an actor and a time"));
        }
        Undo { event: Some(id), .. } => {
            let operation = of_event(tx, *id)?;
            if operation.is_undo() {
                let event = &operation.events[0];
                return Err(refused(event, "it is an undo itself")
                    .hint(format!("pn redo --event {id} brings back what it took")));
            }
            vec![operation]
        }
        Undo { by, since, .. } => {
            let by = by.as_ref().map(|actor| text::line("actor", actor)).transpose()?;
            let since = since.map_or_else(String::new, |since| since.as_of(cx.now).to_string());
            group_by_operation(operations::matching(tx, by, &since, max_events())?)?
        }
    };
    let operations = without_sync_bookkeeping(operations);
    refuse_too_many(&operations)?;
    Ok((operations, passed_over))
}

/// The operation that wrote an event.
pub(super) fn of_event(tx: &Tx<'_>, number: i64) -> Result<Operation> {
    let event = operations::get(tx, number)?;
    complete(tx, event.ok_or_else(|| Error::not_found("event", number).hint("pn undo --list shows the numbers"))?)
}

/// Iterates over operations in effect, newest first, up to the number that can be undone at once.
pub(super) struct OperationWalk<'t, 'c> {
    cx: &'t Context<'c>,
    tx: &'t Tx<'t>,
    /// `None` for all actors
    actor: Option<&'t str>,
    any_session: bool,
    before: i64,
    /// How many more operations to read
    remaining: usize,
}

impl<'t, 'c> OperationWalk<'t, 'c> {
    pub(super) fn new(cx: &'t Context<'c>, tx: &'t Tx<'t>, actor: Option<&'t str>) -> Self {
        Self { cx, tx, actor, any_session: false, before: i64::MAX, remaining: MAX_OPERATIONS }
    }

    /// The next earlier operation in effect. If the events of an operation are unknown, it has the one event.
    pub(super) fn next(&mut self) -> Result<Option<Operation>> {
        let session = (!self.any_session).then_some(self.cx.origin.claim_session());
        let own = self.actor.map(|actor| ActorFilter { actor, token: self.cx.token.as_deref(), session });
        while self.remaining > 0
            && let Some(event) = operations::last_before(self.tx, self.before, own)?
        {
            self.remaining -= 1;
            self.before = event.op.unwrap_or(event.id);
            let events = match event.op {
                Some(op) => operations::events_of(self.tx, op, max_events())?,
                None => vec![event],
            };
            let operation = Operation { events };
            if !Dependents::since(self.tx, self.before).is_undone(&operation)? {
                return Ok(Some(operation));
            }
        }
        Ok(None)
    }
}

/// Most skipped operations reported.
const MAX_PASSED_OVER: usize = 20;

fn last_undoable(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    any: bool,
    passed_over: &mut Vec<Undoable>,
) -> Result<Option<Operation>> {
    let mut walk = OperationWalk::new(cx, tx, (!any).then_some(&cx.actor));
    while let Some(operation) = walk.next()? {
        if operation.is_undo() {
            continue;
        }
        let Some(description) = describe(tx, &operation)? else { continue };
        if description.refused.is_none() {
            return Ok(Some(operation));
        }
        if passed_over.len() < MAX_PASSED_OVER {
            passed_over.push(description);
        }
    }
    Ok(None)
}

fn nothing_left(cx: &Context<'_>, tx: &Tx<'_>, any: bool, passed_over: &[Undoable]) -> Result<Error> {
    if let Some(last) = passed_over.first() {
        let event = last.events.first().map(|event| format!("{} {}", event.event_type, event.subject_id));
        let why = last.refused.as_deref().unwrap_or_default();
        let message = format!("cannot take back {}: {why}", event.unwrap_or_default());
        let error = Error::new(Code::Conflict, message);
        return Ok(match &last.instead {
            Some(command) => error.hint(format!("{command} reverses it")),
            None => error.hint("there is nothing before it to undo; pn undo --list shows all"),
        });
    }
    if any {
        return Ok(nothing_to_undo("nobody has done anything here that is still in effect"));
    }
    let mut walk = OperationWalk { any_session: true, ..OperationWalk::new(cx, tx, Some(&cx.actor)) };
    while let Some(operation) = walk.next()? {
        if let Some(event) = operation.events.first().filter(|_| !operation.is_undo()) {
            let hint = format!("{} is of another session: pn undo --event {} takes it back", event.summary(), event.id);
            return Ok(nothing_to_undo("nothing was done in this session").hint(hint));
        }
    }
    Ok(nothing_to_undo(&format!(
        "{} has done nothing here that is still in effect; --any looks at everybody",
        cx.actor
    )))
}

/// The last undo in effect.
pub(super) fn last_undo(cx: &Context<'_>, tx: &Tx<'_>, any: bool) -> Result<Operation> {
    let mut walk = OperationWalk::new(cx, tx, (!any).then_some(&cx.actor));
    while let Some(operation) = walk.next()? {
        if operation.is_undo() {
            return Ok(operation);
        }
    }
    let hint = if any { "nobody has undone anything" } else { "--any looks at the undos of everybody" };
    Err(Error::new(Code::NotFound, "there is nothing to bring back").hint(hint))
}

/// Operations with the reason if they cannot be undone, newest first.
pub(super) fn list(cx: &Context<'_>, tx: &Tx<'_>, actor: Option<&str>, limit: usize) -> Result<Vec<Undoable>> {
    let (mut walk, mut list) = (OperationWalk::new(cx, tx, actor), Vec::new());
    let mut redone_events = HashSet::new();
    while list.len() < limit
        && let Some(operation) = walk.next()?
    {
        if operation.is_undo() || operation.events.iter().any(|event| redone_events.contains(&event.id)) {
            continue;
        }
        if let Some(one) = describe(tx, &operation)? {
            // List an operation once: where it was redone.
            redone_events.extend(one.events.iter().map(|event| event.event));
            redone_events.extend(operation.undoes());
            list.push(one);
        }
    }
    Ok(list)
}

/// Describes an operation; `None` if all its events are sync bookkeeping.
fn describe(tx: &Tx<'_>, operation: &Operation) -> Result<Option<Undoable>> {
    let events: Vec<&LoggedEvent> = operation.events.iter().filter(|event| !is_sync_bookkeeping(event)).collect();
    let Some(first) = events.first() else { return Ok(None) };
    let mut originals = Vec::new();
    let (mut why, mut command) = (None, None);
    for event in &events {
        if why.is_none() {
            why = irreversible(tx, event)?;
            command = why.as_ref().and_then(|_| reversing_command(event));
        }
        originals.push(original(tx, event)?);
    }
    Ok(Some(Undoable { event: first.id, events: originals, refused: why, instead: command }))
}

/// Why an event can never be undone.
fn irreversible(tx: &Tx<'_>, event: &LoggedEvent) -> Result<Option<String>> {
    if event.op.is_none() {
        return Ok(Some(UNKNOWN_OP.into()));
    }
    if event.is_purged() {
        return Ok(Some("pn gc has removed for good what was deleted".into()));
    }
    if event.event_type == EventType::LeaseExpired.as_str() {
        return Ok(Some("the lease has run out".into()));
    }
    let changes = entity::changes_of(tx, event.id)?;
    if changes.iter().any(entity::PastChange::is_too_large) {
        return Ok(Some("what was there before is too large to be kept".into()));
    }
    if !changes.is_empty() && event.subject_kind != "store" {
        return Ok(None);
    }
    Ok(Some(missing_state_reason(event)))
}

/// Drops sync bookkeeping (received tombstones and peer states), which is never undone. If an operation has nothing
/// else, it stays and is refused later.
fn without_sync_bookkeeping(operations: Vec<Operation>) -> Vec<Operation> {
    let is_issues = |event: &LoggedEvent| !is_sync_bookkeeping(event);
    let is_left = operations.iter().any(|operation| operation.events.iter().any(is_issues));
    if !is_left {
        return operations;
    }
    let remaining = operations.into_iter().map(|mut operation| {
        operation.events.retain(is_issues);
        operation
    });
    remaining.filter(|operation| !operation.events.is_empty()).collect()
}

fn is_sync_bookkeeping(event: &LoggedEvent) -> bool {
    ["tombstone", "peer"].contains(&event.subject_kind.as_str())
}

fn max_events() -> i64 {
    i64::try_from(MAX_EVENTS + 1).unwrap_or(i64::MAX)
}

/// The complete operation of an event.
fn complete(tx: &Tx<'_>, event: LoggedEvent) -> Result<Operation> {
    match event.op {
        Some(op) => Ok(Operation { events: operations::events_of(tx, op, max_events())? }),
        None => Err(unknown_op(&event)),
    }
}

const UNKNOWN_OP: &str = "its operation is unknown: an older Pensa wrote it, or pn gc has removed a part";

/// The error for an event of unknown operation: undoing a part of it would be worse than nothing.
fn unknown_op(event: &LoggedEvent) -> Error {
    if event.is_purged() { purged(event) } else { refused(event, UNKNOWN_OP) }
}

/// Groups events, newest first, by operation.
fn group_by_operation(events: Vec<LoggedEvent>) -> Result<Vec<Operation>> {
    let mut operations: Vec<Operation> = Vec::new();
    for event in events {
        if event.op.is_none() {
            return Err(unknown_op(&event).hint("a later --since leaves it out"));
        }
        match operations.last_mut() {
            Some(operation) if operation.events[0].op == event.op => operation.events.push(event),
            _ => operations.push(Operation { events: vec![event] }),
        }
    }
    operations.iter_mut().for_each(|operation| operation.events.reverse());
    if operations.is_empty() {
        return Err(
            Error::new(Code::NotFound, "there is nothing to undo").hint("nothing was done by them or since then")
        );
    }
    Ok(operations)
}

fn refuse_too_many(operations: &[Operation]) -> Result<()> {
    let events: usize = operations.iter().map(|operation| operation.events.len()).sum();
    if operations.len() <= MAX_OPERATIONS && events <= MAX_EVENTS {
        return Ok(());
    }
    let message =
        format!("too much to take back at once; the limit is {MAX_OPERATIONS} operations with {MAX_EVENTS} events");
    Err(Error::new(Code::TooLarge, message).hint("select less, with --by and --since, and do it again"))
}

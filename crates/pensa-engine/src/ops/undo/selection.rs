//! Which operations are meant: the caller's last one, one by an event of it, or all of an actor and since a time.

use std::collections::HashSet;

use pensa_core::effect::Effect;
use pensa_core::event::EventType;
use pensa_core::ops::undo::{MAX_EVENTS, MAX_OPERATIONS, Undo, Undoable};
use pensa_core::{Code, Error, Result, text};

use super::standing::Standing;
use super::{instead, nothing, original, purged, refused};
use crate::context::Context;
use crate::db::Tx;
use crate::entity;
use crate::tables::operations::{self, Doer, Line};

/// What one request wrote, oldest first.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) lines: Vec<Line>,
}

impl Operation {
    /// Whether it took back others.
    pub(super) fn is_undo(&self) -> bool {
        self.lines.iter().any(Line::is_undo)
    }

    /// The events that it took back.
    pub(super) fn undoes(&self) -> HashSet<i64> {
        self.lines.iter().flat_map(Line::undoes).collect()
    }
}

/// The operations that are meant, newest first, and those that were passed over.
pub(super) fn select(cx: &Context<'_>, tx: &Tx<'_>, wanted: &Undo) -> Result<(Vec<Operation>, Vec<Undoable>)> {
    let mut passed_over = Vec::new();
    let operations = match wanted {
        Undo { event: None, by: None, since: None, any, .. } => {
            let last = last_undoable(cx, tx, *any, &mut passed_over)?;
            match last {
                Some(last) => vec![last],
                None => return Err(none_left(cx, tx, *any, &passed_over)?),
            }
        }
        Undo { any: true, .. }
        | Undo { event: Some(_), by: Some(_), .. }
        | Undo { event: Some(_), since: Some(_), .. } => {
            return Err(Error::invalid("an event says by itself which operation is meant, and so does any")
                .hint("give an event, or any, or an actor and a time"));
        }
        Undo { event: Some(id), .. } => {
            let operation = named(tx, *id)?;
            if operation.is_undo() {
                let line = &operation.lines[0];
                return Err(refused(line, "it is an undo itself")
                    .hint(format!("pn redo --event {id} brings back what it took")));
            }
            vec![operation]
        }
        Undo { by, since, .. } => {
            let by = by.as_ref().map(|actor| text::line("actor", actor)).transpose()?;
            let since = since.map_or_else(String::new, |since| since.as_of(cx.now).to_string());
            grouped(operations::matching(tx, by, &since, limit())?)?
        }
    };
    let operations = without_books(operations);
    refuse_too_many(&operations)?;
    Ok((operations, passed_over))
}

/// The operation that wrote an event.
pub(super) fn named(tx: &Tx<'_>, event: i64) -> Result<Operation> {
    let line = operations::line(tx, event)?;
    whole(tx, line.ok_or_else(|| Error::not_found("event", event).hint("pn undo --list shows the numbers"))?)
}

/// The operations of the caller, or of anybody, newest first; no more than can be taken back at once.
pub(super) struct Walk<'t, 'c> {
    cx: &'t Context<'c>,
    tx: &'t Tx<'t>,
    /// Whose; none for anybody's.
    actor: Option<&'t str>,
    any_session: bool,
    before: i64,
    /// How many operations are still looked at.
    left: usize,
}

impl<'t, 'c> Walk<'t, 'c> {
    pub(super) fn new(cx: &'t Context<'c>, tx: &'t Tx<'t>, actor: Option<&'t str>) -> Self {
        Self { cx, tx, actor, any_session: false, before: i64::MAX, left: MAX_OPERATIONS }
    }

    /// The one before, if it is in effect. One of which nothing tells what belongs to it is given as the line it has.
    pub(super) fn next(&mut self) -> Result<Option<Operation>> {
        let session = (!self.any_session).then_some(self.cx.origin.claim_session());
        let own = self.actor.map(|actor| Doer { actor, token: self.cx.token.as_deref(), session });
        while self.left > 0
            && let Some(line) = operations::last_before(self.tx, self.before, own)?
        {
            self.left -= 1;
            self.before = line.op.unwrap_or(line.id);
            let lines = match line.op {
                Some(op) => operations::of(self.tx, op, limit())?,
                None => vec![line],
            };
            let operation = Operation { lines };
            if !Standing::since(self.tx, self.before).is_taken_back(&operation)? {
                return Ok(Some(operation));
            }
        }
        Ok(None)
    }
}

/// Most operations that are named as passed over.
const MAX_PASSED_OVER: usize = 20;

fn last_undoable(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    any: bool,
    passed_over: &mut Vec<Undoable>,
) -> Result<Option<Operation>> {
    let mut walk = Walk::new(cx, tx, (!any).then_some(&cx.actor));
    while let Some(operation) = walk.next()? {
        if operation.is_undo() {
            continue;
        }
        let Some(told) = describe(tx, &operation)? else { continue };
        if told.refused.is_none() {
            return Ok(Some(operation));
        }
        if passed_over.len() < MAX_PASSED_OVER {
            passed_over.push(told);
        }
    }
    Ok(None)
}

fn none_left(cx: &Context<'_>, tx: &Tx<'_>, any: bool, passed_over: &[Undoable]) -> Result<Error> {
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
        return Ok(nothing("nobody has done anything here that is still in effect"));
    }
    let mut walk = Walk { any_session: true, ..Walk::new(cx, tx, Some(&cx.actor)) };
    while let Some(operation) = walk.next()? {
        if let Some(line) = operation.lines.first().filter(|_| !operation.is_undo()) {
            let hint = format!("{} is of another session: pn undo --event {} takes it back", line.told(), line.id);
            return Ok(nothing("nothing was done in this session").hint(hint));
        }
    }
    Ok(nothing(&format!("{} has done nothing here that is still in effect; --any looks at everybody", cx.actor)))
}

/// The last undo that is in effect.
pub(super) fn last_undo(cx: &Context<'_>, tx: &Tx<'_>, any: bool) -> Result<Operation> {
    let mut walk = Walk::new(cx, tx, (!any).then_some(&cx.actor));
    while let Some(operation) = walk.next()? {
        if operation.is_undo() {
            return Ok(operation);
        }
    }
    let hint = if any { "nobody has undone anything" } else { "--any looks at the undos of everybody" };
    Err(Error::new(Code::NotFound, "there is nothing to bring back").hint(hint))
}

/// What can be undone and what cannot, newest first.
pub(super) fn list(cx: &Context<'_>, tx: &Tx<'_>, actor: Option<&str>, limit: usize) -> Result<Vec<Undoable>> {
    let (mut walk, mut list) = (Walk::new(cx, tx, actor), Vec::new());
    let mut brought_back = HashSet::new();
    while list.len() < limit
        && let Some(operation) = walk.next()?
    {
        if operation.is_undo() || operation.lines.iter().any(|line| brought_back.contains(&line.id)) {
            continue;
        }
        if let Some(one) = describe(tx, &operation)? {
            // It is shown where it was brought back, and no second time.
            brought_back.extend(one.events.iter().map(|event| event.event));
            brought_back.extend(operation.undoes());
            list.push(one);
        }
    }
    Ok(list)
}

/// An operation, and why it cannot be undone; none if there is nothing in it that anybody did.
fn describe(tx: &Tx<'_>, operation: &Operation) -> Result<Option<Undoable>> {
    let lines: Vec<&Line> = operation.lines.iter().filter(|line| !is_of_books(line)).collect();
    let Some(first) = lines.first() else { return Ok(None) };
    let mut events = Vec::new();
    let (mut why, mut command) = (None, None);
    for line in &lines {
        if why.is_none() {
            why = irreversible(tx, line)?;
            command = why.as_ref().and_then(|_| instead(line));
        }
        events.push(original(tx, line)?);
    }
    Ok(Some(Undoable { event: first.id, events, refused: why, instead: command }))
}

/// Why what a line says can never be undone.
fn irreversible(tx: &Tx<'_>, line: &Line) -> Result<Option<String>> {
    if line.op.is_none() {
        return Ok(Some(UNKNOWN_OP.into()));
    }
    if line.is_of_issue() {
        return Ok(match line.effect()? {
            Effect::Purged => Some("pn gc has removed for good what was deleted".into()),
            Effect::Changed(fields) if fields.iter().any(|field| field.name == "id") => {
                Some("clones know the issue by its new id".into())
            }
            _ if line.event_type == EventType::LeaseExpired.as_str() => Some("the lease has run out".into()),
            _ => None,
        });
    }
    let changes = entity::changes_of(tx, line.id)?;
    if changes.iter().any(entity::PastChange::is_too_large) {
        return Ok(Some("what was there before is too large to be kept".into()));
    }
    Ok(changes.is_empty().then(|| format!("what is done to a {} cannot be undone", line.subject_kind)))
}

/// Lines of tombstones that came from elsewhere and of the books on other stores go along with others: they stay. Where
/// they are all there is of an operation, it is refused like any other that is not about issues.
fn without_books(operations: Vec<Operation>) -> Vec<Operation> {
    let is_issues = |line: &Line| !is_of_books(line);
    let is_left = operations.iter().any(|operation| operation.lines.iter().any(is_issues));
    if !is_left {
        return operations;
    }
    let left = operations.into_iter().map(|mut operation| {
        operation.lines.retain(is_issues);
        operation
    });
    left.filter(|operation| !operation.lines.is_empty()).collect()
}

fn is_of_books(line: &Line) -> bool {
    ["tombstone", "peer"].contains(&line.subject_kind.as_str())
}

fn limit() -> i64 {
    i64::try_from(MAX_EVENTS + 1).unwrap_or(i64::MAX)
}

/// All of the operation that a line is a part of.
fn whole(tx: &Tx<'_>, line: Line) -> Result<Operation> {
    match line.op {
        Some(op) => Ok(Operation { lines: operations::of(tx, op, limit())? }),
        None => Err(unknown_op(&line)),
    }
}

const UNKNOWN_OP: &str = "nothing tells what belongs to it: an older Pensa wrote it, or pn gc has removed a part";

/// An undo of a part would be worse than none.
fn unknown_op(line: &Line) -> Error {
    match line.effect() {
        Ok(Effect::Purged) => purged(line),
        _ => refused(line, UNKNOWN_OP),
    }
}

/// Lines, newest first, as operations.
fn grouped(lines: Vec<Line>) -> Result<Vec<Operation>> {
    let mut operations: Vec<Operation> = Vec::new();
    for line in lines {
        if line.op.is_none() {
            return Err(unknown_op(&line).hint("a later --since leaves it out"));
        }
        match operations.last_mut() {
            Some(operation) if operation.lines[0].op == line.op => operation.lines.push(line),
            _ => operations.push(Operation { lines: vec![line] }),
        }
    }
    operations.iter_mut().for_each(|operation| operation.lines.reverse());
    if operations.is_empty() {
        return Err(
            Error::new(Code::NotFound, "there is nothing to undo").hint("nothing was done by them or since then")
        );
    }
    Ok(operations)
}

fn refuse_too_many(operations: &[Operation]) -> Result<()> {
    let events: usize = operations.iter().map(|operation| operation.lines.len()).sum();
    if operations.len() <= MAX_OPERATIONS && events <= MAX_EVENTS {
        return Ok(());
    }
    let message =
        format!("too much to take back at once; the limit is {MAX_OPERATIONS} operations with {MAX_EVENTS} events");
    Err(Error::new(Code::TooLarge, message).hint("select less, with --by and --since, and do it again"))
}

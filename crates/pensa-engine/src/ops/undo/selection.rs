//! Which operations are meant: the last one, one by an event of it, or all of an actor and since a time.

use pensa_core::effect::Effect;
use pensa_core::ops::undo::{MAX_EVENTS, MAX_OPERATIONS, Undo};
use pensa_core::{Code, Error, Result, text};

use super::{nothing, purged, refused};
use crate::context::Context;
use crate::db::Tx;
use crate::tables::operations::{self, Line};

/// What one request wrote, oldest first.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) lines: Vec<Line>,
}

/// The operations that are meant, newest first.
pub(super) fn select(cx: &Context<'_>, tx: &Tx<'_>, wanted: &Undo) -> Result<Vec<Operation>> {
    let operations = match wanted {
        Undo { event: None, by: None, since: None, .. } => {
            let last = operations::last(tx)?;
            vec![whole(tx, last.ok_or_else(|| nothing("nobody has done anything here yet"))?)?]
        }
        Undo { event: Some(id), by: None, since: None, .. } => {
            let line = operations::line(tx, *id)?;
            let unknown = || Error::not_found("event", id).hint("pn history shows the numbers");
            vec![whole(tx, line.ok_or_else(unknown)?)?]
        }
        Undo { event: Some(_), .. } => {
            return Err(Error::invalid("an event says by itself which operation is meant")
                .hint("leave out either the event or the actor and the time"));
        }
        Undo { by, since, .. } => {
            let by = by.as_ref().map(|actor| text::line("actor", actor)).transpose()?;
            let since = since.map_or_else(String::new, |since| since.as_of(cx.now).to_string());
            grouped(operations::matching(tx, by, &since, limit())?)?
        }
    };
    let operations = without_books(operations);
    refuse_too_many(&operations)?;
    Ok(operations)
}

/// Lines of tombstones that came from elsewhere and of the books on other stores go along with others: they stay. Where
/// they are all there is of an operation, it is refused like any other that is not about issues.
fn without_books(operations: Vec<Operation>) -> Vec<Operation> {
    let is_issues = |line: &Line| !["tombstone", "peer"].contains(&line.subject_kind.as_str());
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

/// An undo of a part would be worse than none.
fn unknown_op(line: &Line) -> Error {
    match line.effect() {
        Ok(Effect::Purged) => purged(line),
        _ => refused(line, "nothing tells what belongs to it: an older Pensa wrote it, or pn gc has removed a part"),
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

//! Taking back operations: all that were selected, newest first, in one transaction.
//!
//! Which they are is left to [`selection`], what forbids it to [`standing`], how it is done to [`reverse`].

pub(crate) mod reverse;
mod selection;
mod standing;

use std::collections::HashSet;

use pensa_core::effect::Thing;
use pensa_core::event::EventType;
use pensa_core::ops::undo::{List, Redo, Redone, TakenBack, Undo, Undoable, Undone};
use pensa_core::{Access, Code, Error, Result};

use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::lease;
use crate::tables::issues;
use crate::tables::operations::{self, Line};
use selection::Operation;
use serde_json::{Map, Value};
use standing::Standing;

impl Execute for Undo {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Undone> {
        let mut undone = tried(tx, self.dry_run, || take_back(cx, tx, self))?;
        undone.event = undone.event.filter(|_| !self.dry_run);
        Ok(undone)
    }
}

impl Execute for Redo {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Redone> {
        let mut redone = tried(tx, self.dry_run, || bring_back(cx, tx, self))?;
        redone.event = redone.event.filter(|_| !self.dry_run);
        Ok(redone)
    }
}

impl Execute for List {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Undoable>> {
        let actor = self.actor.as_deref().unwrap_or(&cx.actor);
        selection::list(cx, tx, (!self.any).then_some(actor), self.limit.unwrap_or(20) as usize)
    }
}

/// Does something, or only tries it: in earnest and then dropped, so that it is refused for every reason that would
/// refuse the real one.
fn tried<T>(tx: &Tx<'_>, is_dry: bool, work: impl FnOnce() -> Result<T>) -> Result<T> {
    if !is_dry {
        return work();
    }
    let mut done = None;
    let dropped: Result<()> = tx.savepoint(|| {
        done = Some(work()?);
        Err(Error::internal("only tried"))
    });
    tx.begin_operation();
    match (done, dropped) {
        (Some(done), _) => Ok(done),
        (None, Err(error)) => Err(error),
        (None, Ok(())) => Err(Error::internal("nothing was tried")),
    }
}

/// What becomes of an undo that was selected together with what it took back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pairs {
    /// They come to nothing already.
    Leave,
    /// Both are taken back: what lies between them may need what the undo removed.
    Replay,
}

fn take_back(cx: &Context<'_>, tx: &Tx<'_>, wanted: &Undo) -> Result<Undone> {
    let (operations, passed_over) = selection::select(cx, tx, wanted)?;
    let selected = Selected::new(operations, wanted.force, EventType::Undone);
    let (event, undone) = take_back_selected(cx, tx, wanted, &selected)?;
    Ok(Undone { event, undone, passed_over })
}

fn take_back_selected(cx: &Context<'_>, tx: &Tx<'_>, wanted: &Undo, selected: &Selected) -> Result<Reversed> {
    if wanted.by.is_none() && wanted.since.is_none() {
        return selected.take_back(cx, tx, Pairs::Replay, false);
    }
    if !selected.operations.iter().any(|operation| selected.is_pair(operation)) {
        return selected.take_back(cx, tx, Pairs::Leave, true);
    }
    let first = tx.savepoint(|| selected.take_back(cx, tx, Pairs::Leave, true));
    match first {
        Err(error) if [Code::Conflict, Code::CycleDetected].contains(&error.code) => {
            tx.begin_operation();
            selected.take_back(cx, tx, Pairs::Replay, true).map_err(|_| error)
        }
        other => other,
    }
}

fn bring_back(cx: &Context<'_>, tx: &Tx<'_>, wanted: &Redo) -> Result<Redone> {
    let operation = match wanted.event {
        Some(event) => selection::named(tx, event)?,
        None => selection::last_undo(cx, tx, wanted.any)?,
    };
    if let Some(line) = operation.lines.first().filter(|_| !operation.is_undo()) {
        let hint = format!("pn undo --event {} takes it back", line.id);
        return Err(Error::invalid(format!("{} is no undo", line.told())).hint(hint));
    }
    let selected = Selected::new(vec![operation], wanted.force, EventType::Redone);
    let (event, mut redone) = selected.take_back(cx, tx, Pairs::Replay, false)?;
    redone.reverse();
    Ok(Redone { event, redone })
}

/// The number of the first event of an operation that reversed others, and what those did, newest first.
type Reversed = (Option<i64>, Vec<TakenBack>);

/// What is to be taken back, newest first.
struct Selected {
    operations: Vec<Operation>,
    events: HashSet<i64>,
    /// Whether claims that others hold are overridden.
    force: bool,
    /// What the log calls it.
    event_type: EventType,
}

impl Selected {
    fn new(operations: Vec<Operation>, force: bool, event_type: EventType) -> Self {
        let events = operations.iter().flat_map(|operation| operation.lines.iter().map(|line| line.id)).collect();
        Self { operations, events, force, event_type }
    }

    /// Whether an operation took back what is itself selected, and nothing else.
    fn is_pair(&self, operation: &Operation) -> bool {
        let undoes = operation.undoes();
        !undoes.is_empty() && undoes.iter().all(|id| self.events.contains(id))
    }

    /// Takes back all of it. What was taken back already is passed over or, if it was asked for by name, refused.
    fn take_back(&self, cx: &Context<'_>, tx: &Tx<'_>, pairs: Pairs, pass_over: bool) -> Result<Reversed> {
        let mut standing = Standing::since(tx, self.events.iter().min().copied().unwrap_or_default());
        let mut undone = Vec::new();
        for operation in &self.operations {
            let is_over = pairs == Pairs::Leave && self.is_pair(operation);
            if is_over || (pass_over && standing.is_taken_back(operation)?) {
                continue;
            }
            refuse_others(cx, operation)?;
            for line in operation.lines.iter().rev() {
                standing.refuse(line)?;
                let note = refuse_claimed(cx, tx, line, self.force)?;
                undone.push(if pass_over { told(line)? } else { original(tx, line)? });
                let mark = reverse::reverse(cx, tx, line, self.event_type, note)?;
                standing.settle(line, mark)?;
            }
        }
        if undone.is_empty() {
            return Err(nothing("all of it was taken back already"));
        }
        refuse_dead_leases(cx, tx, &self.operations)?;
        Ok((tx.operation(), undone))
    }
}

/// Whoever has no more rights than to work takes back only what they did themselves. Names can be made up, so it
/// must have come with the same token too.
fn refuse_others(cx: &Context<'_>, operation: &Operation) -> Result<()> {
    let is_own = |line: &Line| line.actor == cx.actor && line.token_id == cx.token;
    let Some(foreign) = operation.lines.iter().find(|line| !is_own(line)) else { return Ok(()) };
    let Err(error) = cx.require(Access::Maintain, &format!("taking back {}", foreign.told())) else { return Ok(()) };
    Err(error.hint("pn undo without --any, --by and --since takes back what is yours"))
}

/// Refuses to change the state of an issue whose claim is protected from the caller.
fn refuse_claimed(cx: &Context<'_>, tx: &Tx<'_>, line: &Line, force: bool) -> Result<Map<String, Value>> {
    if !line.is_of_issue() {
        return Ok(Map::new());
    }
    if !line.effect()?.things().iter().any(|thing| matches!(thing, Thing::State | Thing::Whole)) {
        return Ok(Map::new());
    }
    match issues::get(tx, &line.subject_id.parse()?)? {
        Some(issue) => lease::check_claim(cx, tx, &issue, &cx.requester(force)),
        None => Ok(Map::new()),
    }
}

/// A claim whose time has run out would be given back again at once.
fn refuse_dead_leases(cx: &Context<'_>, tx: &Tx<'_>, operations: &[Operation]) -> Result<()> {
    let lines = operations.iter().flat_map(|operation| &operation.lines);
    for line in lines.filter(|line| line.event_type == EventType::LeaseExpired.as_str()) {
        let issue = issues::get(tx, &line.subject_id.parse()?)?;
        if let Some(end) = issue.and_then(|issue| issue.lease_expires_at).filter(|end| *end <= cx.now) {
            return Err(refused(line, &format!("the lease ended at {end}")).hint("claim the issue again"));
        }
    }
    Ok(())
}

/// What a line did; of an undo or a redo, what that took or brought back.
fn original(tx: &Tx<'_>, line: &Line) -> Result<TakenBack> {
    match line.undoes().first().map(|first| operations::line(tx, *first)).transpose()?.flatten() {
        Some(before) => original(tx, &before),
        None => told(line),
    }
}

fn told(line: &Line) -> Result<TakenBack> {
    Ok(TakenBack {
        event: line.id,
        op: line.op.unwrap_or(line.id),
        subject_kind: line.subject_kind.clone(),
        subject_id: line.subject_id.clone(),
        issue_id: if line.is_of_issue() { Some(line.subject_id.parse()?) } else { None },
        event_type: line.event_type.clone(),
        actor: line.actor.clone(),
        created_at: line.created_at,
    })
}

/// The command that reverses what a line says, if there is one.
fn instead(line: &Line) -> Option<String> {
    let id = &line.subject_id;
    Some(match (line.subject_kind.as_str(), line.event_type.as_str()) {
        ("store", _) => "pn restore, with a backup that pn backup --list shows,".into(),
        ("run", "created" | "started") => format!("pn run cancel {id}"),
        ("job", "created" | "started") => format!("pn job cancel {id}"),
        ("lock", "lock.acquired" | "lock.renewed") => format!("pn lock release {id}"),
        ("lock", "lock.released") => format!("pn lock acquire {id}"),
        ("snapshot", "created") => format!("pn snapshot delete {id}"),
        ("agent", "created") => format!("pn agent delete {id}"),
        ("agent", "slept") => format!("pn agent wake {id}"),
        ("agent", "woken") => format!("pn agent sleep {id}"),
        ("agent", "updated") => format!("pn agent update {id}"),
        ("loop", "loop.created") => format!("pn loop archive {id}"),
        ("token", "created") => format!("pn token revoke {id}"),
        ("project", "created") => format!("pn project archive {id}"),
        _ => return None,
    })
}

fn nothing(why: &str) -> Error {
    Error::new(Code::NotFound, "there is nothing to undo").hint(why)
}

/// The error of a deletion that is older than `pn gc` keeps them.
fn purged(line: &Line) -> Error {
    refused(line, "pn gc has removed for good what was deleted")
        .hint("a deletion can be taken back until it is older than gc.older-than")
}

/// Why a line can't be taken back.
fn refused(line: &Line, why: &str) -> Error {
    Error::new(Code::Conflict, format!("cannot take back {}: {why}", line.told()))
}

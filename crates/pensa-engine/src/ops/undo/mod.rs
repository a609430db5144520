//! Undoes and redoes operations: all selected ones, newest first, in one transaction.
//!
//! [`selection`] chooses the operations, [`dependents`] decides what forbids an undo, and [`reverse`] does it.

mod dependents;
pub(crate) mod reverse;
mod selection;

use std::collections::HashSet;

use pensa_core::event::EventType;
use pensa_core::ops::undo::{List, Redo, Redone, Undo, Undoable, Undone, UndoneEvent};
use pensa_core::{Access, Code, Error, Result};

use crate::context::Context;
use crate::db::Tx;
use crate::entity::ChangeScope;
use crate::execute::Execute;
use crate::lease;
use crate::tables::issues;
use crate::tables::operations::{self, LoggedEvent};
use dependents::Dependents;
use selection::Operation;
use serde_json::{Map, Value};

impl Execute for Undo {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Undone> {
        let mut undone = with_dry_run(tx, self.dry_run, || undo(cx, tx, self))?;
        undone.event = undone.event.filter(|_| !self.dry_run);
        Ok(undone)
    }
}

impl Execute for Redo {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Redone> {
        let mut redone = with_dry_run(tx, self.dry_run, || redo(cx, tx, self))?;
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

/// Runs `work`. A dry run does everything and rolls it back, so that it fails for the same reasons as the real one.
pub(super) fn with_dry_run<T>(tx: &Tx<'_>, is_dry: bool, work: impl FnOnce() -> Result<T>) -> Result<T> {
    if !is_dry {
        return work();
    }
    let mut done = None;
    let dropped: Result<()> = tx.savepoint(|| {
        done = Some(work()?);
        Err(Error::internal("only a dry run"))
    });
    tx.begin_operation();
    match (done, dropped) {
        (Some(done), _) => Ok(done),
        (None, Err(error)) => Err(error),
        (None, Ok(())) => Err(Error::internal("a dry run was committed")),
    }
}

/// What to do with an undo that is selected together with everything it undid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UndonePairs {
    /// Leave both: together they change nothing.
    Leave,
    /// Reverse both: operations between them may need what the undo removed.
    Replay,
}

fn undo(cx: &Context<'_>, tx: &Tx<'_>, request: &Undo) -> Result<Undone> {
    let (operations, passed_over) = selection::select(cx, tx, request)?;
    let selected = SelectedOperations::new(operations, request.force, EventType::Undone);
    let (event, undone) = undo_selected(cx, tx, request, &selected)?;
    Ok(Undone { event, undone, passed_over })
}

fn undo_selected(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    request: &Undo,
    selected: &SelectedOperations,
) -> Result<ReversedEvents> {
    if request.by.is_none() && request.since.is_none() {
        return selected.reverse_all(cx, tx, UndonePairs::Replay, false);
    }
    if !selected.operations.iter().any(|operation| selected.is_pair(operation)) {
        return selected.reverse_all(cx, tx, UndonePairs::Leave, true);
    }
    let first = tx.savepoint(|| selected.reverse_all(cx, tx, UndonePairs::Leave, true));
    match first {
        Err(error) if [Code::Conflict, Code::CycleDetected].contains(&error.code) => {
            tx.begin_operation();
            selected.reverse_all(cx, tx, UndonePairs::Replay, true).map_err(|_| error)
        }
        other => other,
    }
}

fn redo(cx: &Context<'_>, tx: &Tx<'_>, request: &Redo) -> Result<Redone> {
    let operation = match request.event {
        Some(event) => selection::of_event(tx, event)?,
        None => selection::last_undo(cx, tx, request.any)?,
    };
    if let Some(event) = operation.events.first().filter(|_| !operation.is_undo()) {
        let hint = format!("pn undo --event {} takes it back", event.id);
        return Err(Error::invalid(format!("{} is no undo", event.summary())).hint(hint));
    }
    let selected = SelectedOperations::new(vec![operation], request.force, EventType::Redone);
    let (event, mut redone) = selected.reverse_all(cx, tx, UndonePairs::Replay, false)?;
    redone.reverse();
    Ok(Redone { event, redone })
}

/// The first event of the operation that reversed others, and the events it reversed, newest first.
type ReversedEvents = (Option<i64>, Vec<UndoneEvent>);

/// The selected operations, newest first.
struct SelectedOperations {
    operations: Vec<Operation>,
    events: HashSet<i64>,
    /// Whether to override claims held by others
    force: bool,
    /// The type of the events that are logged
    event_type: EventType,
}

impl SelectedOperations {
    fn new(operations: Vec<Operation>, force: bool, event_type: EventType) -> Self {
        let events = operations.iter().flat_map(|operation| operation.events.iter().map(|event| event.id)).collect();
        Self { operations, events, force, event_type }
    }

    /// Whether an operation undid only events that are selected too.
    fn is_pair(&self, operation: &Operation) -> bool {
        let undoes = operation.undoes();
        !undoes.is_empty() && undoes.iter().all(|id| self.events.contains(id))
    }

    /// Reverses all selected operations. Those already undone are skipped, or refused if they were requested by number.
    fn reverse_all(
        &self,
        cx: &Context<'_>,
        tx: &Tx<'_>,
        pairs: UndonePairs,
        skip_undone: bool,
    ) -> Result<ReversedEvents> {
        let mut dependents = Dependents::since(tx, self.events.iter().min().copied().unwrap_or_default());
        let mut undone = Vec::new();
        for operation in &self.operations {
            let is_over = pairs == UndonePairs::Leave && self.is_pair(operation);
            if is_over || (skip_undone && dependents.is_undone(operation)?) {
                continue;
            }
            refuse_others(cx, operation)?;
            for event in operation.events.iter().rev() {
                dependents.refuse_dependents(event)?;
                let note = refuse_claimed(cx, tx, event, self.force)?;
                undone.push(if skip_undone { undone_event(event)? } else { original(tx, event)? });
                let change = reverse::reverse(cx, tx, event, self.event_type, note)?;
                dependents.record_undone(event, change)?;
            }
        }
        if undone.is_empty() {
            return Err(nothing_to_undo("all of it was taken back already"));
        }
        refuse_expired_leases(cx, tx, &self.operations)?;
        Ok((tx.operation(), undone))
    }
}

/// Refuses operations of others unless the caller may maintain. Names can be made up, so an own operation must have
/// come with the same token.
fn refuse_others(cx: &Context<'_>, operation: &Operation) -> Result<()> {
    let is_own = |event: &LoggedEvent| event.actor == cx.actor && event.token_id == cx.token;
    let Some(foreign) = operation.events.iter().find(|event| !is_own(event)) else { return Ok(()) };
    let Err(error) = cx.require(Access::Maintain, &format!("taking back {}", foreign.summary())) else { return Ok(()) };
    Err(error.hint("pn undo without --any, --by and --since takes back what is yours"))
}

/// Refuses to change the state of an issue whose claim is protected from the caller.
fn refuse_claimed(cx: &Context<'_>, tx: &Tx<'_>, event: &LoggedEvent, force: bool) -> Result<Map<String, Value>> {
    if !event.is_about_issue() {
        return Ok(Map::new());
    }
    if !dependents::changed_scopes(tx, event)?
        .iter()
        .any(|scope| matches!(scope, ChangeScope::State | ChangeScope::Issue))
    {
        return Ok(Map::new());
    }
    match issues::get(tx, &event.subject_id.parse()?)? {
        Some(issue) => lease::check_claim(cx, tx, &issue, &cx.requester(force)),
        None => Ok(Map::new()),
    }
}

/// Refuses to restore a claim whose lease has ended: it would be released again immediately.
fn refuse_expired_leases(cx: &Context<'_>, tx: &Tx<'_>, operations: &[Operation]) -> Result<()> {
    let events = operations.iter().flat_map(|operation| &operation.events);
    for event in events.filter(|event| event.event_type == EventType::LeaseExpired.as_str()) {
        let issue = issues::get(tx, &event.subject_id.parse()?)?;
        if let Some(end) = issue.and_then(|issue| issue.lease_expires_at).filter(|end| *end <= cx.now) {
            return Err(refused(event, &format!("the lease ended at {end}")).hint("claim the issue again"));
        }
    }
    Ok(())
}

/// What an event did; for an undo or redo, the event that it reversed.
fn original(tx: &Tx<'_>, event: &LoggedEvent) -> Result<UndoneEvent> {
    match event.undoes().first().map(|first| operations::get(tx, *first)).transpose()?.flatten() {
        Some(before) => original(tx, &before),
        None => undone_event(event),
    }
}

fn undone_event(event: &LoggedEvent) -> Result<UndoneEvent> {
    Ok(UndoneEvent {
        event: event.id,
        op: event.op.unwrap_or(event.id),
        subject_kind: event.subject_kind.clone(),
        subject_id: event.subject_id.clone(),
        issue_id: if event.is_about_issue() { Some(event.subject_id.parse()?) } else { None },
        event_type: event.event_type.clone(),
        actor: event.actor.clone(),
        created_at: event.created_at,
    })
}

/// The command that reverses an event, if there is one.
fn reversing_command(event: &LoggedEvent) -> Option<String> {
    let id = &event.subject_id;
    Some(match (event.subject_kind.as_str(), event.event_type.as_str()) {
        ("store", _) => match event.detail.get("backup").and_then(Value::as_str) {
            Some(backup) => format!("pn restore {backup}"),
            None => "pn restore, with a backup that pn backup --list shows,".into(),
        },
        ("collection", _) => "pn restore, with a backup that pn backup --list shows,".into(),
        ("run", "created" | "started") => format!("pn run cancel {id}"),
        ("job", "created" | "started") => format!("pn job cancel {id}"),
        ("lock", "lock.acquired" | "lock.renewed") => format!("pn lock release {id}"),
        ("lock", "lock.released") => format!("pn lock acquire {id}"),
        ("snapshot", "created") => format!("pn snapshot delete {id}"),
        ("agent", "created") => format!("pn agent delete {id}"),
        ("loop", "loop.created") => format!("pn loop archive {id}"),
        ("token", "created") => format!("pn token revoke {id}"),
        ("project", "created") => format!("pn project archive {id}"),
        _ => return None,
    })
}

/// Why an event without stored changes cannot be undone.
fn missing_state_reason(event: &LoggedEvent) -> String {
    if !event.is_about_issue() {
        return format!("what is done to a {} cannot be undone", event.subject_kind);
    }
    let is_other = |change: &Value| change["old"].is_string();
    match event.detail.get("id").is_some_and(is_other) {
        true => "clones know the issue by its new id".to_owned(),
        false => "what was there before is no longer kept".to_owned(),
    }
}

fn nothing_to_undo(why: &str) -> Error {
    Error::new(Code::NotFound, "there is nothing to undo").hint(why)
}

/// The error for a deletion that `pn gc` has purged.
fn purged(event: &LoggedEvent) -> Error {
    refused(event, "pn gc has removed for good what was deleted")
        .hint("a deletion can be taken back until it is older than gc.older-than")
}

/// The error for an event that cannot be undone.
fn refused(event: &LoggedEvent, why: &str) -> Error {
    Error::new(Code::Conflict, format!("cannot take back {}: {why}", event.summary()))
}

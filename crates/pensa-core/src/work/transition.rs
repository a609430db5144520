//! The only function that changes the status and actor of work.

use super::{WorkRecord, WorkStatus};
use crate::error::{Code, Error, Result};
use crate::event::EventType;
use crate::time::Timestamp;

/// A status change of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkTransition {
    /// Start or continue work. The actor must have claimed the issue.
    Start,
    /// Continue work; `take` allows taking over another actor's work.
    Resume {
        take: bool,
    },
    Pause,
    Done,
}

/// Applies a status change. Returns the event to log, `None` if nothing changed, or an error if it is not allowed.
///
/// `record` must have its current status; see [`WorkRecord::with_issue`].
pub fn apply(record: &mut WorkRecord, step: WorkTransition, actor: &str, now: Timestamp) -> Result<Option<EventType>> {
    use WorkStatus::{Active, Done, Paused};
    let is_own = record.actor == actor;
    let (to, event) = match (step, record.status) {
        (WorkTransition::Start | WorkTransition::Resume { .. }, Active) if is_own => return Ok(None),
        (WorkTransition::Start | WorkTransition::Resume { take: false }, Active) => return Err(held(record)),
        (WorkTransition::Resume { take: true }, Active) => (Active, EventType::TaskResumed),
        (WorkTransition::Start | WorkTransition::Resume { .. }, Paused) => (Active, EventType::TaskResumed),
        (WorkTransition::Start, Done) => (Active, EventType::TaskStarted),
        (WorkTransition::Resume { .. }, Done) => return Err(over(record, "resume")),
        (WorkTransition::Pause, Done) => return Err(over(record, "pause")),
        (WorkTransition::Done, Done) => return Err(over(record, "finish")),
        (WorkTransition::Pause | WorkTransition::Done, Active | Paused) if !is_own => return Err(held(record)),
        (WorkTransition::Pause, Active) => (Paused, EventType::TaskPaused),
        (WorkTransition::Pause, Paused) => return Ok(None),
        (WorkTransition::Done, Active | Paused) => (Done, EventType::TaskCompleted),
    };
    if event == EventType::TaskStarted {
        record.started_at = now;
    }
    record.status = to;
    record.actor = actor.to_owned();
    record.done_at = (to == Done).then_some(now);
    Ok(Some(event))
}

/// The error for acting on another actor's work.
fn held(record: &WorkRecord) -> Error {
    let id = &record.issue_id;
    let what = if record.status == WorkStatus::Active { "does" } else { "paused" };
    Error::new(Code::AlreadyClaimed, format!("{} {what} {id}", record.actor))
        .hint(format!("pn work resume {id} --take takes it over"))
}

fn over(record: &WorkRecord, verb: &str) -> Error {
    let id = &record.issue_id;
    Error::new(Code::InvalidStatusTransition, format!("cannot {verb} work on {id}: it is done"))
        .hint(format!("pn reopen {id} and pn work start {id} begin it again"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(status: WorkStatus, actor: &str) -> WorkRecord {
        let at = "2026-02-27T14:30:00.000Z";
        let done_at = (status == WorkStatus::Done).then_some(at);
        serde_json::from_value(json!({"issue_id": "pn-1", "kind": "bug", "status": status, "steps": [], "actor": actor,
            "created_at": at, "started_at": at, "updated_at": at, "done_at": done_at}))
        .expect("a record")
    }

    /// Every status, of own and of another actor's work, with every change: the new status and the event, or the error.
    #[test]
    fn every_status_with_every_change() {
        use Code::{AlreadyClaimed as Held, InvalidStatusTransition as Over};
        use EventType::{TaskCompleted, TaskPaused, TaskResumed, TaskStarted};
        use WorkStatus::{Active, Done, Paused};
        let moves = [
            WorkTransition::Start,
            WorkTransition::Resume { take: false },
            WorkTransition::Resume { take: true },
            WorkTransition::Pause,
            WorkTransition::Done,
        ];
        let (on, off) = (Ok(Some((Active, TaskResumed))), Ok(Some((Paused, TaskPaused))));
        let (end, anew) = (Ok(Some((Done, TaskCompleted))), Ok(Some((Active, TaskStarted))));
        let table = [
            (Active, "ana", [Ok(None), Ok(None), Ok(None), off, end]),
            (Active, "ben", [Err(Held), Err(Held), on, Err(Held), Err(Held)]),
            (Paused, "ana", [on, on, on, Ok(None), end]),
            (Paused, "ben", [on, on, on, Err(Held), Err(Held)]),
            (Done, "ana", [anew, Err(Over), Err(Over), Err(Over), Err(Over)]),
            (Done, "ben", [anew, Err(Over), Err(Over), Err(Over), Err(Over)]),
        ];
        let now: Timestamp = "2026-02-27T14:31:00.000Z".parse().expect("a time");
        for (from, whose, expected) in table {
            for (step, expected) in moves.into_iter().zip(expected) {
                let mut subject = record(from, whose);
                let got = apply(&mut subject, step, "ana", now);
                if let Err(error) = &got {
                    assert!(error.message.contains("pn-1") && error.hint.is_some(), "{error}");
                }
                let result = got.map_err(|error| error.code).map(|event| event.map(|event| (subject.status, event)));
                assert_eq!(result, expected, "{whose}'s {from}: {step:?}");
                if let Ok(Some((to, event))) = expected {
                    assert_eq!((subject.actor.as_str(), subject.done_at), ("ana", (to == Done).then_some(now)));
                    assert_eq!(subject.started_at == now, event == TaskStarted);
                } else {
                    assert_eq!(subject, record(from, whose), "nothing else changes it");
                }
            }
        }
    }
}

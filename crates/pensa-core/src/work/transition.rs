//! The one function through which a piece of work changes its status and its actor.

use super::{Piece, WorkStatus};
use crate::error::{Code, Error, Result};
use crate::event::EventType;
use crate::time::Timestamp;

/// A step in the life of a piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// Begin it, or go on with it. Whoever does so has claimed its issue.
    Start,
    /// Go on with it; `take` if it may be another's.
    Resume {
        take: bool,
    },
    Pause,
    Done,
}

/// Applies `step` to `piece`, which must be as it stands, as `actor` at `now`, or says why it can't be. Tells the event
/// to log; none if nothing changed.
pub fn apply(piece: &mut Piece, step: Move, actor: &str, now: Timestamp) -> Result<Option<EventType>> {
    use WorkStatus::{Active, Done, Paused};
    let is_own = piece.actor == actor;
    let (to, event) = match (step, piece.status) {
        (Move::Start | Move::Resume { .. }, Active) if is_own => return Ok(None),
        (Move::Start | Move::Resume { take: false }, Active) => return Err(held(piece)),
        (Move::Resume { take: true }, Active) => (Active, EventType::TaskResumed),
        (Move::Start | Move::Resume { .. }, Paused) => (Active, EventType::TaskResumed),
        (Move::Start, Done) => (Active, EventType::TaskStarted),
        (Move::Resume { .. }, Done) => return Err(over(piece, "resume")),
        (Move::Pause, Done) => return Err(over(piece, "pause")),
        (Move::Done, Done) => return Err(over(piece, "finish")),
        (Move::Pause | Move::Done, Active | Paused) if !is_own => return Err(held(piece)),
        (Move::Pause, Active) => (Paused, EventType::TaskPaused),
        (Move::Pause, Paused) => return Ok(None),
        (Move::Done, Active | Paused) => (Done, EventType::TaskCompleted),
    };
    if event == EventType::TaskStarted {
        piece.started_at = now;
    }
    piece.status = to;
    piece.actor = actor.to_owned();
    piece.done_at = (to == Done).then_some(now);
    Ok(Some(event))
}

/// The error of one who acts on what another does.
fn held(piece: &Piece) -> Error {
    let id = &piece.issue_id;
    let what = if piece.status == WorkStatus::Active { "does" } else { "paused" };
    Error::new(Code::AlreadyClaimed, format!("{} {what} {id}", piece.actor))
        .hint(format!("pn work resume {id} --take takes it over"))
}

fn over(piece: &Piece, verb: &str) -> Error {
    let id = &piece.issue_id;
    Error::new(Code::InvalidStatusTransition, format!("cannot {verb} work on {id}: it is done"))
        .hint(format!("pn reopen {id} and pn work start {id} begin it again"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn piece(status: WorkStatus, actor: &str) -> Piece {
        let at = "2026-02-27T14:30:00.000Z";
        let done_at = (status == WorkStatus::Done).then_some(at);
        serde_json::from_value(json!({"issue_id": "pn-1", "kind": "bug", "status": status, "steps": [], "actor": actor,
            "created_at": at, "started_at": at, "updated_at": at, "done_at": done_at}))
        .expect("a piece")
    }

    /// Every status, of one's own work and of another's, against every move: where it leads and the event, or the error.
    #[test]
    fn the_whole_table_of_work() {
        use Code::{AlreadyClaimed as Held, InvalidStatusTransition as Over};
        use EventType::{TaskCompleted, TaskPaused, TaskResumed, TaskStarted};
        use WorkStatus::{Active, Done, Paused};
        let moves = [Move::Start, Move::Resume { take: false }, Move::Resume { take: true }, Move::Pause, Move::Done];
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
                let mut subject = piece(from, whose);
                let got = apply(&mut subject, step, "ana", now);
                if let Err(error) = &got {
                    assert!(error.message.contains("pn-1") && error.hint.is_some(), "{error}");
                }
                let told = got.map_err(|error| error.code).map(|event| event.map(|event| (subject.status, event)));
                assert_eq!(told, expected, "{whose}'s {from}: {step:?}");
                if let Ok(Some((to, event))) = expected {
                    assert_eq!((subject.actor.as_str(), subject.done_at), ("ana", (to == Done).then_some(now)));
                    assert_eq!(subject.started_at == now, event == TaskStarted);
                } else {
                    assert_eq!(subject, piece(from, whose), "nothing else changes it");
                }
            }
        }
    }
}

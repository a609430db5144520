//! The one function through which a loop changes its status.

use super::{Loop, LoopStatus};
use crate::error::{Code, Error, Result};
use crate::event::EventType;
use crate::time::Timestamp;

/// A step in the life of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    Start,
    Pause,
    Resume,
    Rebase,
    /// Begin the next iteration.
    Iterate,
    /// Ask for approval.
    Submit,
    Approve,
    Reject,
    Complete,
    Fail,
    Invalidate,
    Archive,
    /// Its runner is gone, its work is there.
    Recover,
}

impl Move {
    pub const ALL: [Move; 13] = [
        Move::Start,
        Move::Pause,
        Move::Resume,
        Move::Rebase,
        Move::Iterate,
        Move::Submit,
        Move::Approve,
        Move::Reject,
        Move::Complete,
        Move::Fail,
        Move::Invalidate,
        Move::Archive,
        Move::Recover,
    ];

    fn verb(self) -> &'static str {
        match self {
            Move::Start => "start",
            Move::Pause => "pause",
            Move::Resume => "resume",
            Move::Rebase => "rebase",
            Move::Iterate => "iterate",
            Move::Submit => "submit",
            Move::Approve => "approve",
            Move::Reject => "reject",
            Move::Complete => "complete",
            Move::Fail => "fail",
            Move::Invalidate => "invalidate",
            Move::Archive => "archive",
            Move::Recover => "recover",
        }
    }
}

/// Applies `step` to `subject` at `now`, or says why it can't be. Tells the event to log; none if nothing changed.
///
/// Whether a pending loop has to wait for its parent is for the caller to know.
pub fn apply(subject: &mut Loop, step: Move, now: Timestamp) -> Result<Option<EventType>> {
    use LoopStatus::{AwaitingApproval, Complete, Failed, Invalidated, Paused, Pending, Rebasing, Running};
    let to = match (step, subject.status) {
        (Move::Start, Pending) => Running,
        (Move::Start, Running) => return Err(held(subject)),
        (Move::Pause, Running | Rebasing) => Paused,
        (Move::Resume, Paused | Rebasing) => Running,
        (Move::Rebase, Running | Paused) => Rebasing,
        (Move::Iterate, Running) => return iterate(subject).map(Some),
        (Move::Submit, Running) => AwaitingApproval,
        (Move::Approve, AwaitingApproval) => Complete,
        (Move::Reject, AwaitingApproval) => Running,
        (Move::Complete, Running) => Complete,
        (Move::Fail, Pending | Running | Paused | Rebasing | AwaitingApproval) => Failed,
        (Move::Invalidate, Pending | Running | Paused | Rebasing | AwaitingApproval | Complete | Failed) => Invalidated,
        (Move::Recover, Running | Rebasing) => Pending,
        (Move::Archive, Complete | Failed | Invalidated) if subject.archived_at.is_none() => {
            subject.archived_at = Some(now);
            return Ok(Some(EventType::LoopArchived));
        }
        // The same again changes nothing, so that whoever is not sure can ask twice.
        (Move::Pause, Paused)
        | (Move::Resume, Running)
        | (Move::Rebase, Rebasing)
        | (Move::Submit, AwaitingApproval)
        | (Move::Complete, Complete)
        | (Move::Fail, Failed)
        | (Move::Invalidate, Invalidated)
        | (Move::Archive, Complete | Failed | Invalidated) => return Ok(None),
        _ => return Err(refused(subject, step)),
    };
    subject.status = to;
    subject.runnable = None;
    Ok(Some(EventType::LoopStatusChange))
}

fn iterate(subject: &mut Loop) -> Result<EventType> {
    if subject.iteration >= subject.max_iterations {
        let Loop { id, max_iterations, .. } = subject;
        let message = format!("{id} has had all of its {max_iterations} iterations");
        return Err(Error::new(Code::InvalidStatusTransition, message)
            .hint(format!("pn loop fail {id} gives it up; pn loop submit {id} has somebody look at what there is")));
    }
    subject.iteration += 1;
    Ok(EventType::LoopIterated)
}

/// The error of one who starts what another runs.
fn held(subject: &Loop) -> Error {
    let (id, holder) = (&subject.id, subject.holder.as_deref().unwrap_or("somebody"));
    Error::new(Code::AlreadyClaimed, format!("{holder} runs {id}"))
        .hint("pn loop claim takes another; whoever takes this one over pauses and resumes it")
}

fn refused(subject: &Loop, step: Move) -> Error {
    let Loop { id, status, .. } = subject;
    let hint = match (status, step) {
        (LoopStatus::Complete | LoopStatus::Failed | LoopStatus::Invalidated, _) => {
            "what is over stays so; pn loop create makes another".to_owned()
        }
        (_, Move::Archive) => format!("only what is over is archived; pn loop fail {id} gives it up"),
        (LoopStatus::Pending, _) => format!("pn loop start {id} begins it"),
        (LoopStatus::Paused | LoopStatus::Rebasing, _) => format!("pn loop resume {id} goes on with it"),
        (LoopStatus::AwaitingApproval, _) => format!("pn loop approve {id} or pn loop reject {id} decides"),
        (LoopStatus::Running, _) => format!("pn loop submit {id} asks for approval"),
    };
    Error::new(Code::InvalidStatusTransition, format!("cannot {} {id}: it is {status}", step.verb())).hint(hint)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn subject(status: LoopStatus) -> Loop {
        let at = "2026-02-27T14:30:00.000Z";
        serde_json::from_value(
            json!({"id": "lp-1", "loop_type": "code", "prompt_path": "p", "validation_command": "true",
            "max_iterations": 2, "worktree": "w", "iteration": 0, "status": status, "runnable": 7, "created_at": at,
            "updated_at": at}),
        )
        .expect("a loop")
    }

    /// Every status against every move: where it leads, or the error.
    #[test]
    fn the_whole_table_of_loops() {
        use Code::{AlreadyClaimed as Held, InvalidStatusTransition as No};
        use LoopStatus::{
            AwaitingApproval as Asks, Complete as Done, Failed, Invalidated as Void, Paused, Pending, Rebasing, Running,
        };
        let to = |status| Ok(Some(status));
        // In the order of `Move::ALL`.
        let table = [
            (
                Pending,
                [
                    to(Running),
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    to(Failed),
                    to(Void),
                    Err(No),
                    Err(No),
                ],
            ),
            (
                Running,
                [
                    Err(Held),
                    to(Paused),
                    Ok(None),
                    to(Rebasing),
                    to(Running),
                    to(Asks),
                    Err(No),
                    Err(No),
                    to(Done),
                    to(Failed),
                    to(Void),
                    Err(No),
                    to(Pending),
                ],
            ),
            (
                Paused,
                [
                    Err(No),
                    Ok(None),
                    to(Running),
                    to(Rebasing),
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    to(Failed),
                    to(Void),
                    Err(No),
                    Err(No),
                ],
            ),
            (
                Rebasing,
                [
                    Err(No),
                    to(Paused),
                    to(Running),
                    Ok(None),
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    to(Failed),
                    to(Void),
                    Err(No),
                    to(Pending),
                ],
            ),
            (
                Asks,
                [
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    Ok(None),
                    to(Done),
                    to(Running),
                    Err(No),
                    to(Failed),
                    to(Void),
                    Err(No),
                    Err(No),
                ],
            ),
            (
                Done,
                [
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    Ok(None),
                    Err(No),
                    to(Void),
                    to(Done),
                    Err(No),
                ],
            ),
            (
                Failed,
                [
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    Ok(None),
                    to(Void),
                    to(Failed),
                    Err(No),
                ],
            ),
            (
                Void,
                [
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    Err(No),
                    Ok(None),
                    to(Void),
                    Err(No),
                ],
            ),
        ];
        assert_eq!(table.len(), LoopStatus::ALL.len());
        let now: Timestamp = "2026-02-27T14:31:00.000Z".parse().expect("a time");
        for (from, expected) in table {
            for (step, expected) in Move::ALL.into_iter().zip(expected) {
                let mut moved = subject(from);
                let got = apply(&mut moved, step, now);
                if let Err(error) = &got {
                    assert!(error.message.contains("lp-1") && error.hint.is_some(), "{error}");
                    assert_eq!(moved, subject(from), "what is refused changes nothing");
                }
                let told = got.map_err(|error| error.code).map(|event| event.map(|_| moved.status));
                assert_eq!(told, expected, "{step:?} of {from}");
                let is_moved = moved.status != from;
                assert_eq!(moved.runnable.is_none(), is_moved, "{step:?} of {from}");
                assert_eq!(moved.archived_at, (step == Move::Archive && expected == to(from)).then_some(now));
            }
        }
    }

    #[test]
    fn iterations_are_counted_and_end() {
        let mut subject = subject(LoopStatus::Running);
        let now: Timestamp = "2026-02-27T14:31:00.000Z".parse().expect("a time");
        for number in 1..=2 {
            assert_eq!(apply(&mut subject, Move::Iterate, now).expect("one more"), Some(EventType::LoopIterated));
            assert_eq!(subject.iteration, number);
        }
        let error = apply(&mut subject, Move::Iterate, now).expect_err("no more");
        assert!(error.message.contains("all of its 2 iterations"), "{error}");
        assert_eq!(subject.iteration, 2);
    }

    #[test]
    fn archiving_twice_keeps_the_first_time() {
        let mut subject = subject(LoopStatus::Failed);
        let first: Timestamp = "2026-02-27T14:31:00.000Z".parse().expect("a time");
        let later: Timestamp = "2026-02-27T14:32:00.000Z".parse().expect("a time");
        assert_eq!(apply(&mut subject, Move::Archive, first).expect("archived"), Some(EventType::LoopArchived));
        assert_eq!(apply(&mut subject, Move::Archive, later).expect("again"), None);
        assert_eq!(subject.archived_at, Some(first));
    }
}

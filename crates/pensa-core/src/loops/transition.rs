//! The only function that changes the status of a loop.

use super::{Loop, LoopStatus};
use crate::error::{Code, Error, Result};
use crate::event::EventType;
use crate::time::Timestamp;

/// A status change of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopTransition {
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
    /// Its runner is gone, but its worktree exists.
    Recover,
}

impl LoopTransition {
    pub const ALL: [LoopTransition; 13] = [
        LoopTransition::Start,
        LoopTransition::Pause,
        LoopTransition::Resume,
        LoopTransition::Rebase,
        LoopTransition::Iterate,
        LoopTransition::Submit,
        LoopTransition::Approve,
        LoopTransition::Reject,
        LoopTransition::Complete,
        LoopTransition::Fail,
        LoopTransition::Invalidate,
        LoopTransition::Archive,
        LoopTransition::Recover,
    ];

    fn verb(self) -> &'static str {
        match self {
            LoopTransition::Start => "start",
            LoopTransition::Pause => "pause",
            LoopTransition::Resume => "resume",
            LoopTransition::Rebase => "rebase",
            LoopTransition::Iterate => "iterate",
            LoopTransition::Submit => "submit",
            LoopTransition::Approve => "approve",
            LoopTransition::Reject => "reject",
            LoopTransition::Complete => "complete",
            LoopTransition::Fail => "fail",
            LoopTransition::Invalidate => "invalidate",
            LoopTransition::Archive => "archive",
            LoopTransition::Recover => "recover",
        }
    }
}

/// Applies a status change. Returns the event to log, `None` if nothing changed, or an error if it is not allowed.
///
/// The caller checks whether a pending loop must wait for its parent.
pub fn apply(subject: &mut Loop, step: LoopTransition, now: Timestamp) -> Result<Option<EventType>> {
    use LoopStatus::{AwaitingApproval, Complete, Failed, Invalidated, Paused, Pending, Rebasing, Running};
    let to = match (step, subject.status) {
        (LoopTransition::Start, Pending) => Running,
        (LoopTransition::Start, Running) => return Err(held(subject)),
        (LoopTransition::Pause, Running | Rebasing) => Paused,
        (LoopTransition::Resume, Paused | Rebasing) => Running,
        (LoopTransition::Rebase, Running | Paused) => Rebasing,
        (LoopTransition::Iterate, Running) => return iterate(subject).map(Some),
        (LoopTransition::Submit, Running) => AwaitingApproval,
        (LoopTransition::Approve, AwaitingApproval) => Complete,
        (LoopTransition::Reject, AwaitingApproval) => Running,
        (LoopTransition::Complete, Running) => Complete,
        (LoopTransition::Fail, Pending | Running | Paused | Rebasing | AwaitingApproval) => Failed,
        (LoopTransition::Invalidate, Pending | Running | Paused | Rebasing | AwaitingApproval | Complete | Failed) => {
            Invalidated
        }
        (LoopTransition::Recover, Running | Rebasing) => Pending,
        (LoopTransition::Archive, Complete | Failed | Invalidated) if subject.archived_at.is_none() => {
            subject.archived_at = Some(now);
            return Ok(Some(EventType::LoopArchived));
        }
        // Repeating a change succeeds without effect, so that callers can retry.
        (LoopTransition::Pause, Paused)
        | (LoopTransition::Resume, Running)
        | (LoopTransition::Rebase, Rebasing)
        | (LoopTransition::Submit, AwaitingApproval)
        | (LoopTransition::Complete, Complete)
        | (LoopTransition::Fail, Failed)
        | (LoopTransition::Invalidate, Invalidated)
        | (LoopTransition::Archive, Complete | Failed | Invalidated) => return Ok(None),
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
            .hint(format!("pn loop fail {id} fails it; pn loop submit {id} submits the current result for approval")));
    }
    subject.iteration += 1;
    Ok(EventType::LoopIterated)
}

/// The error for starting a loop that is already running.
fn held(subject: &Loop) -> Error {
    let (id, holder) = (&subject.id, subject.holder.as_deref().unwrap_or("somebody"));
    Error::new(Code::AlreadyClaimed, format!("{holder} runs {id}"))
        .hint("pn loop claim claims another; to take this one over, pause and resume it")
}

fn refused(subject: &Loop, step: LoopTransition) -> Error {
    let Loop { id, status, .. } = subject;
    let hint = match (status, step) {
        (LoopStatus::Complete | LoopStatus::Failed | LoopStatus::Invalidated, _) => {
            "what is over stays so; pn loop create makes another".to_owned()
        }
        (_, LoopTransition::Archive) => format!("only what is over is archived; pn loop fail {id} gives it up"),
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

    /// Every status with every change: the new status, or the error.
    #[test]
    fn every_status_with_every_change() {
        use Code::{AlreadyClaimed as Held, InvalidStatusTransition as No};
        use LoopStatus::{
            AwaitingApproval as Asks, Complete as Done, Failed, Invalidated as Void, Paused, Pending, Rebasing, Running,
        };
        let to = |status| Ok(Some(status));
        // In the order of `LoopTransition::ALL`.
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
            for (step, expected) in LoopTransition::ALL.into_iter().zip(expected) {
                let mut moved = subject(from);
                let got = apply(&mut moved, step, now);
                if let Err(error) = &got {
                    assert!(error.message.contains("lp-1") && error.hint.is_some(), "{error}");
                    assert_eq!(moved, subject(from), "what is refused changes nothing");
                }
                let result = got.map_err(|error| error.code).map(|event| event.map(|_| moved.status));
                assert_eq!(result, expected, "{step:?} of {from}");
                let is_moved = moved.status != from;
                assert_eq!(moved.runnable.is_none(), is_moved, "{step:?} of {from}");
                assert_eq!(moved.archived_at, (step == LoopTransition::Archive && expected == to(from)).then_some(now));
            }
        }
    }

    #[test]
    fn iterations_are_counted_and_end() {
        let mut subject = subject(LoopStatus::Running);
        let now: Timestamp = "2026-02-27T14:31:00.000Z".parse().expect("a time");
        for number in 1..=2 {
            assert_eq!(
                apply(&mut subject, LoopTransition::Iterate, now).expect("one more"),
                Some(EventType::LoopIterated)
            );
            assert_eq!(subject.iteration, number);
        }
        let error = apply(&mut subject, LoopTransition::Iterate, now).expect_err("no more");
        assert!(error.message.contains("all of its 2 iterations"), "{error}");
        assert_eq!(subject.iteration, 2);
    }

    #[test]
    fn archiving_twice_keeps_the_first_time() {
        let mut subject = subject(LoopStatus::Failed);
        let first: Timestamp = "2026-02-27T14:31:00.000Z".parse().expect("a time");
        let later: Timestamp = "2026-02-27T14:32:00.000Z".parse().expect("a time");
        assert_eq!(
            apply(&mut subject, LoopTransition::Archive, first).expect("archived"),
            Some(EventType::LoopArchived)
        );
        assert_eq!(apply(&mut subject, LoopTransition::Archive, later).expect("again"), None);
        assert_eq!(subject.archived_at, Some(first));
    }
}

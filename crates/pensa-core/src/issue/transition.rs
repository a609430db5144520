//! The one function through which an issue's state changes, whatever command asks for it.

use serde_json::{Map, Value, json};

use super::{Issue, Status};
use crate::error::{Code, Error, Result};
use crate::event::EventType;
use crate::time::{Span, Timestamp};

/// A step in an issue's life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Move {
    /// Take it, for good or until a lease runs out; again, to renew the lease.
    Claim {
        lease: Option<Span>,
    },
    /// Give it back.
    Release,
    /// Its lease ran out.
    Expire,
    Close {
        reason: Option<String>,
        force: bool,
    },
    Reopen {
        reason: Option<String>,
    },
    /// Set the status by hand; closing and reopening this way are [`Move::Close`] and [`Move::Reopen`].
    Status(Status),
}

/// What a move did: the event to log, if anything happened, and what to add to its detail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub event: Option<EventType>,
    pub note: Map<String, Value>,
}

impl Outcome {
    fn of(event: EventType) -> Self {
        Self { event: Some(event), note: Map::new() }
    }

    fn nothing() -> Self {
        Self { event: None, note: Map::new() }
    }
}

/// Applies `step` to `issue` as `actor` at `now`, or says why it can't be.
pub fn apply(issue: &mut Issue, step: Move, actor: &str, now: Timestamp) -> Result<Outcome> {
    match step {
        Move::Claim { lease } => claim(issue, lease, actor, now),
        Move::Release => release(issue),
        Move::Expire => {
            open(issue);
            issue.assignee = None;
            Ok(Outcome::of(EventType::LeaseExpired))
        }
        Move::Close { reason, force } => close(issue, reason, force, now),
        Move::Reopen { reason } => reopen(issue, reason),
        Move::Status(to) => set_status(issue, to, now),
    }
}

fn claim(issue: &mut Issue, lease: Option<Span>, actor: &str, now: Timestamp) -> Result<Outcome> {
    if issue.status == Status::Closed {
        return Err(refused(issue, "claim").hint("reopen it first, or pick another from pn ready"));
    }
    let holder = issue.assignee.as_deref().filter(|_| issue.status == Status::InProgress);
    match holder {
        Some(holder) if holder != actor => {
            return Err(Error::new(
                Code::AlreadyClaimed,
                format!("issue already claimed: {} is held by {holder}", issue.id),
            )
            .hint("pick another from pn ready"));
        }
        Some(_) if lease.or(issue.lease).is_none() => return Ok(Outcome::nothing()),
        _ => {}
    }
    issue.status = Status::InProgress;
    issue.assignee = Some(actor.to_owned());
    issue.lease = lease.or(issue.lease);
    issue.lease_expires_at = issue.lease.map(|span| now.plus(span));
    Ok(Outcome::of(EventType::Claimed))
}

fn release(issue: &mut Issue) -> Result<Outcome> {
    if issue.status == Status::Closed {
        return Err(refused(issue, "release"));
    }
    let held = issue.status == Status::InProgress || issue.assignee.is_some();
    open(issue);
    issue.assignee = None;
    Ok(if held { Outcome::of(EventType::Released) } else { Outcome::nothing() })
}

fn close(issue: &mut Issue, reason: Option<String>, force: bool, now: Timestamp) -> Result<Outcome> {
    if issue.status == Status::Closed && !force {
        return Err(refused(issue, "close").hint("it is closed already"));
    }
    issue.status = Status::Closed;
    end_lease(issue);
    issue.closed_at = Some(now);
    issue.close_reason = reason;
    Ok(Outcome::of(EventType::Closed))
}

fn reopen(issue: &mut Issue, reason: Option<String>) -> Result<Outcome> {
    if issue.status != Status::Closed {
        return Err(refused(issue, "reopen").hint("only a closed issue can be reopened"));
    }
    open(issue);
    issue.closed_at = None;
    issue.close_reason = None;
    let mut outcome = Outcome::of(EventType::Reopened);
    if let Some(reason) = reason {
        outcome.note.insert("reason".into(), json!(reason));
    }
    Ok(outcome)
}

fn set_status(issue: &mut Issue, to: Status, now: Timestamp) -> Result<Outcome> {
    match (issue.status, to) {
        (_, Status::Closed) => close(issue, None, false, now),
        (Status::Closed, Status::Open) => reopen(issue, None),
        (Status::Closed, Status::InProgress) => Err(refused(issue, "start").hint("reopen it first")),
        (Status::InProgress, Status::Open) => {
            open(issue);
            Ok(Outcome::of(EventType::Released))
        }
        (Status::Open, Status::InProgress) => {
            issue.status = Status::InProgress;
            Ok(Outcome::of(EventType::Updated))
        }
        (Status::Open, Status::Open) | (Status::InProgress, Status::InProgress) => Ok(Outcome::nothing()),
    }
}

/// Open again; a lease never outlives the work it was for.
fn open(issue: &mut Issue) {
    issue.status = Status::Open;
    end_lease(issue);
}

fn end_lease(issue: &mut Issue) {
    issue.lease = None;
    issue.lease_expires_at = None;
}

fn refused(issue: &Issue, verb: &str) -> Error {
    Error::new(Code::InvalidStatusTransition, format!("cannot {verb} {}: it is {}", issue.id, issue.status))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issue::{IssueType, Priority};

    fn now() -> Timestamp {
        "2026-02-27T14:30:00Z".parse().expect("a time")
    }

    fn issue(status: Status, assignee: Option<&str>) -> Issue {
        Issue {
            id: "pn-1".parse().expect("an id"),
            title: "t".into(),
            description: None,
            issue_type: IssueType::Task,
            status,
            priority: Priority::P2,
            spec: None,
            fixes: None,
            assignee: assignee.map(str::to_owned),
            lease_expires_at: None,
            lease: None,
            created_at: now(),
            updated_at: now(),
            closed_at: (status == Status::Closed).then(now),
            close_reason: None,
            extra: Default::default(),
        }
    }

    /// Every status against every move, as alice: the resulting status and event, or the error.
    #[test]
    fn the_whole_table_of_moves() {
        use Code::{AlreadyClaimed as Held, InvalidStatusTransition as Bad};
        use EventType as E;
        use Status::{Closed, InProgress, Open};
        type Case = (Status, Option<&'static str>, Move, Result<(Status, Option<E>), Code>);
        let claim = || Move::Claim { lease: None };
        let shut = |force| Move::Close { reason: None, force };
        let reopen = || Move::Reopen { reason: None };
        let table: Vec<Case> = vec![
            (Open, None, claim(), Ok((InProgress, Some(E::Claimed)))),
            (Open, Some("bob"), claim(), Ok((InProgress, Some(E::Claimed)))),
            (InProgress, Some("bob"), claim(), Err(Held)),
            (InProgress, Some("alice"), claim(), Ok((InProgress, None))),
            (InProgress, None, claim(), Ok((InProgress, Some(E::Claimed)))),
            (Closed, None, claim(), Err(Bad)),
            (Open, None, Move::Release, Ok((Open, None))),
            (Open, Some("bob"), Move::Release, Ok((Open, Some(E::Released)))),
            (InProgress, Some("bob"), Move::Release, Ok((Open, Some(E::Released)))),
            (Closed, None, Move::Release, Err(Bad)),
            (Open, None, shut(false), Ok((Closed, Some(E::Closed)))),
            (InProgress, Some("bob"), shut(false), Ok((Closed, Some(E::Closed)))),
            (Closed, None, shut(false), Err(Bad)),
            (Closed, None, shut(true), Ok((Closed, Some(E::Closed)))),
            (Open, None, reopen(), Err(Bad)),
            (InProgress, None, reopen(), Err(Bad)),
            (Closed, None, reopen(), Ok((Open, Some(E::Reopened)))),
            (Open, None, Move::Status(Open), Ok((Open, None))),
            (Open, None, Move::Status(InProgress), Ok((InProgress, Some(E::Updated)))),
            (Open, None, Move::Status(Closed), Ok((Closed, Some(E::Closed)))),
            (InProgress, None, Move::Status(Open), Ok((Open, Some(E::Released)))),
            (InProgress, None, Move::Status(InProgress), Ok((InProgress, None))),
            (InProgress, None, Move::Status(Closed), Ok((Closed, Some(E::Closed)))),
            (Closed, None, Move::Status(Open), Ok((Open, Some(E::Reopened)))),
            (Closed, None, Move::Status(InProgress), Err(Bad)),
            (Closed, None, Move::Status(Closed), Err(Bad)),
            (InProgress, Some("bob"), Move::Expire, Ok((Open, Some(E::LeaseExpired)))),
        ];
        for (status, assignee, step, expected) in table {
            let mut subject = issue(status, assignee);
            let got = apply(&mut subject, step.clone(), "alice", now())
                .map(|outcome| (subject.status, outcome.event))
                .map_err(|error| error.code);
            assert_eq!(got, expected, "{status} held by {assignee:?}: {step:?}");
            assert_eq!(subject.closed_at.is_some(), subject.status == Closed, "{status}: {step:?}");
        }
    }

    #[test]
    fn a_refused_move_changes_nothing() {
        let before = issue(Status::InProgress, Some("bob"));
        let mut after = before.clone();
        apply(&mut after, Move::Claim { lease: None }, "alice", now()).expect_err("held");
        assert_eq!(after, before);
    }

    #[test]
    fn a_lease_ends_with_the_claim() {
        let lease = Some("30m".parse().expect("a span"));
        let mut subject = issue(Status::Open, None);
        apply(&mut subject, Move::Claim { lease }, "alice", now()).expect("claimed");
        assert_eq!(subject.lease_expires_at, Some("2026-02-27T15:00:00Z".parse().expect("a time")));
        for step in
            [Move::Release, Move::Expire, Move::Status(Status::Open), Move::Close { reason: None, force: false }]
        {
            let mut copy = subject.clone();
            apply(&mut copy, step, "alice", now()).expect("moves");
            assert_eq!(copy.lease_expires_at, None);
        }
    }
}

//! The only function that changes the state of an issue.

use serde_json::{Map, Value, json};

use super::{Issue, Requester, Status};
use crate::error::{Code, Error, Result};
use crate::event::EventType;
use crate::time::{Span, Timestamp};

/// A state change of an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IssueTransition {
    /// Claim the issue, until it is released or its lease expires.
    Claim {
        lease: Option<Span>,
    },
    /// Renew the lease from now on, by default with the same duration.
    Renew {
        lease: Option<Span>,
    },
    /// Give the issue back.
    Release,
    /// The lease expired.
    Expire,
    Close {
        reason: Option<String>,
    },
    Reopen {
        reason: Option<String>,
    },
    /// Set the status directly. Closing and reopening have the rules of `Close` and `Reopen`.
    Status(Status),
}

/// The event to log, `None` if nothing changed, and what to add to its detail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransitionResult {
    pub event: Option<EventType>,
    pub note: Map<String, Value>,
}

impl TransitionResult {
    fn of(event: EventType) -> Self {
        Self { event: Some(event), note: Map::new() }
    }

    fn nothing() -> Self {
        Self { event: None, note: Map::new() }
    }
}

/// Applies a state change, or returns an error if it is not allowed.
pub fn apply(issue: &mut Issue, step: IssueTransition, by: &Requester<'_>, now: Timestamp) -> Result<TransitionResult> {
    let forced = match step {
        IssueTransition::Claim { .. } | IssueTransition::Reopen { .. } | IssueTransition::Expire => false,
        IssueTransition::Renew { .. }
        | IssueTransition::Release
        | IssueTransition::Close { .. }
        | IssueTransition::Status(_) => issue.check_claim(by, now)?,
    };
    let mut outcome = match step {
        IssueTransition::Claim { lease } => claim(issue, lease, by, now),
        IssueTransition::Renew { lease } => renew(issue, lease, now),
        IssueTransition::Release => release(issue),
        IssueTransition::Expire => {
            open(issue);
            issue.assignee = None;
            Ok(TransitionResult::of(EventType::LeaseExpired))
        }
        IssueTransition::Close { reason } => close(issue, reason, by.force, now),
        IssueTransition::Reopen { reason } => reopen(issue, reason),
        IssueTransition::Status(to) => set_status(issue, to, now),
    }?;
    if forced {
        outcome.note.insert("forced".into(), json!(true));
    }
    Ok(outcome)
}

/// Only an open issue can be claimed, even by its holder: agents share names, so the name does not prove who holds it.
fn claim(issue: &mut Issue, lease: Option<Span>, by: &Requester<'_>, now: Timestamp) -> Result<TransitionResult> {
    match issue.status {
        Status::Open => {}
        Status::InProgress => return Err(issue.already_claimed(None)),
        Status::Closed => {
            return Err(refused(issue, "claim").hint("reopen it first, or pick another from pn ready"));
        }
    }
    issue.status = Status::InProgress;
    issue.assignee = Some(by.actor.to_owned());
    issue.claim_session = by.origin.claim_session().map(str::to_owned);
    issue.claim_host = by.origin.host.clone();
    extend(issue, lease, now);
    Ok(TransitionResult::of(EventType::Claimed))
}

fn renew(issue: &mut Issue, lease: Option<Span>, now: Timestamp) -> Result<TransitionResult> {
    if issue.status != Status::InProgress {
        return Err(refused(issue, "renew the claim on"));
    }
    let lease = lease.or(issue.lease);
    if lease.is_none() {
        return Ok(TransitionResult::nothing());
    }
    extend(issue, lease, now);
    Ok(TransitionResult::of(EventType::LeaseRenewed))
}

fn extend(issue: &mut Issue, lease: Option<Span>, now: Timestamp) {
    issue.lease = lease;
    issue.lease_expires_at = lease.map(|span| now.plus(span));
}

fn release(issue: &mut Issue) -> Result<TransitionResult> {
    if issue.status == Status::Closed {
        return Err(refused(issue, "release"));
    }
    let held = issue.status == Status::InProgress || issue.assignee.is_some();
    open(issue);
    issue.assignee = None;
    Ok(if held { TransitionResult::of(EventType::Released) } else { TransitionResult::nothing() })
}

fn close(issue: &mut Issue, reason: Option<String>, force: bool, now: Timestamp) -> Result<TransitionResult> {
    if issue.status == Status::Closed && !force {
        return Err(refused(issue, "close").hint("it is closed already"));
    }
    issue.status = Status::Closed;
    issue.end_claim();
    issue.closed_at = Some(now);
    issue.close_reason = reason;
    Ok(TransitionResult::of(EventType::Closed))
}

fn reopen(issue: &mut Issue, reason: Option<String>) -> Result<TransitionResult> {
    if issue.status != Status::Closed {
        return Err(refused(issue, "reopen").hint("only a closed issue can be reopened"));
    }
    open(issue);
    issue.closed_at = None;
    issue.close_reason = None;
    let mut outcome = TransitionResult::of(EventType::Reopened);
    if let Some(reason) = reason {
        outcome.note.insert("reason".into(), json!(reason));
    }
    Ok(outcome)
}

fn set_status(issue: &mut Issue, to: Status, now: Timestamp) -> Result<TransitionResult> {
    match (issue.status, to) {
        (_, Status::Closed) => close(issue, None, false, now),
        (Status::Closed, Status::Open) => reopen(issue, None),
        (Status::Closed, Status::InProgress) => Err(refused(issue, "start").hint("reopen it first")),
        (Status::InProgress, Status::Open) => {
            open(issue);
            Ok(TransitionResult::of(EventType::Released))
        }
        (Status::Open, Status::InProgress) => {
            issue.status = Status::InProgress;
            Ok(TransitionResult::of(EventType::Updated))
        }
        (Status::Open, Status::Open) | (Status::InProgress, Status::InProgress) => Ok(TransitionResult::nothing()),
    }
}

/// Sets the status to open and ends the claim with its lease.
fn open(issue: &mut Issue) {
    issue.status = Status::Open;
    issue.end_claim();
}

fn refused(issue: &Issue, verb: &str) -> Error {
    Error::new(Code::InvalidStatusTransition, format!("cannot {verb} {}: it is {}", issue.id, issue.status))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issue::{IssueType, Origin};

    fn now() -> Timestamp {
        "2026-02-27T14:30:00Z".parse().expect("a time")
    }

    fn apply_as(actor: &str, force: bool, subject: &mut Issue, step: IssueTransition) -> Result<TransitionResult> {
        apply(subject, step, &Requester { actor, origin: &Origin::default(), force }, now())
    }

    fn issue(status: Status, assignee: Option<&str>) -> Issue {
        Issue {
            status,
            assignee: assignee.map(str::to_owned),
            closed_at: (status == Status::Closed).then(now),
            ..Issue::new("pn-1".parse().expect("an id"), "t".into(), IssueType::Task, now())
        }
    }

    /// Every status with every change, as alice: the new status and event, or the error.
    #[test]
    fn every_status_with_every_change() {
        use Code::{AlreadyClaimed as Held, InvalidStatusTransition as Bad};
        use EventType as E;
        use Status::{Closed, InProgress, Open};
        type Case = (Status, Option<&'static str>, IssueTransition, Result<(Status, Option<E>), Code>);
        let claim = || IssueTransition::Claim { lease: None };
        let renew = |lease: &str| IssueTransition::Renew { lease: lease.parse().ok() };
        let shut = || IssueTransition::Close { reason: None };
        let reopen = || IssueTransition::Reopen { reason: None };
        let table: Vec<Case> = vec![
            (Open, None, claim(), Ok((InProgress, Some(E::Claimed)))),
            (Open, Some("bob"), claim(), Ok((InProgress, Some(E::Claimed)))),
            (InProgress, Some("bob"), claim(), Err(Held)),
            (InProgress, Some("alice"), claim(), Err(Held)),
            (InProgress, None, claim(), Err(Held)),
            (Closed, None, claim(), Err(Bad)),
            (Open, None, renew("5m"), Err(Bad)),
            (InProgress, Some("alice"), renew(""), Ok((InProgress, None))),
            (InProgress, Some("alice"), renew("5m"), Ok((InProgress, Some(E::LeaseRenewed)))),
            (Closed, None, renew("5m"), Err(Bad)),
            (Open, None, IssueTransition::Release, Ok((Open, None))),
            (Open, Some("bob"), IssueTransition::Release, Ok((Open, Some(E::Released)))),
            (InProgress, Some("bob"), IssueTransition::Release, Ok((Open, Some(E::Released)))),
            (Closed, None, IssueTransition::Release, Err(Bad)),
            (Open, None, shut(), Ok((Closed, Some(E::Closed)))),
            (InProgress, Some("bob"), shut(), Ok((Closed, Some(E::Closed)))),
            (Closed, None, shut(), Err(Bad)),
            (Open, None, reopen(), Err(Bad)),
            (InProgress, None, reopen(), Err(Bad)),
            (Closed, None, reopen(), Ok((Open, Some(E::Reopened)))),
            (Open, None, IssueTransition::Status(Open), Ok((Open, None))),
            (Open, None, IssueTransition::Status(InProgress), Ok((InProgress, Some(E::Updated)))),
            (Open, None, IssueTransition::Status(Closed), Ok((Closed, Some(E::Closed)))),
            (InProgress, None, IssueTransition::Status(Open), Ok((Open, Some(E::Released)))),
            (InProgress, None, IssueTransition::Status(InProgress), Ok((InProgress, None))),
            (InProgress, None, IssueTransition::Status(Closed), Ok((Closed, Some(E::Closed)))),
            (Closed, None, IssueTransition::Status(Open), Ok((Open, Some(E::Reopened)))),
            (Closed, None, IssueTransition::Status(InProgress), Err(Bad)),
            (Closed, None, IssueTransition::Status(Closed), Err(Bad)),
            (InProgress, Some("bob"), IssueTransition::Expire, Ok((Open, Some(E::LeaseExpired)))),
        ];
        for (status, assignee, step, expected) in table {
            let mut subject = issue(status, assignee);
            let got = apply_as("alice", false, &mut subject, step.clone())
                .map(|outcome| (subject.status, outcome.event))
                .map_err(|error| error.code);
            assert_eq!(got, expected, "{status} held by {assignee:?}: {step:?}");
            assert_eq!(subject.closed_at.is_some(), subject.status == Closed, "{status}: {step:?}");
        }
    }

    #[test]
    fn refused_change_has_no_effect() {
        let before = issue(Status::InProgress, Some("bob"));
        let mut after = before.clone();
        apply_as("alice", false, &mut after, IssueTransition::Claim { lease: None }).expect_err("held");
        assert_eq!(after, before);
    }

    #[test]
    fn force_overrides_a_live_lease_and_is_noted() {
        let mut subject = issue(Status::Open, None);
        apply_as("bob", false, &mut subject, IssueTransition::Claim { lease: "30m".parse().ok() }).expect("claimed");
        for step in [
            IssueTransition::Renew { lease: None },
            IssueTransition::Release,
            IssueTransition::Close { reason: None },
            IssueTransition::Status(Status::Open),
            IssueTransition::Status(Status::Closed),
        ] {
            let refused = apply_as("alice", false, &mut subject.clone(), step.clone()).expect_err("held by bob");
            assert_eq!(refused.code, Code::AlreadyClaimed, "{step:?}");
            let outcome = apply_as("alice", true, &mut subject.clone(), step.clone()).expect("forced");
            assert_eq!(outcome.note.get("forced"), Some(&json!(true)), "{step:?}");
            let outcome = apply_as("bob", true, &mut subject.clone(), step.clone()).expect("his own");
            assert_eq!(outcome.note.get("forced"), None, "{step:?}");
        }
        let mut closed = issue(Status::Closed, None);
        apply_as("alice", true, &mut closed, IssueTransition::Close { reason: None }).expect("closed again");
    }

    #[test]
    fn a_lease_ends_with_the_claim() {
        let lease = Some("30m".parse().expect("a span"));
        let mut subject = issue(Status::Open, None);
        apply_as("alice", false, &mut subject, IssueTransition::Claim { lease }).expect("claimed");
        assert_eq!(subject.lease_expires_at, Some("2026-02-27T15:00:00Z".parse().expect("a time")));
        for step in [
            IssueTransition::Release,
            IssueTransition::Expire,
            IssueTransition::Status(Status::Open),
            IssueTransition::Close { reason: None },
        ] {
            let mut copy = subject.clone();
            apply_as("alice", false, &mut copy, step).expect("moves");
            assert_eq!(copy.lease_expires_at, None);
        }
    }
}

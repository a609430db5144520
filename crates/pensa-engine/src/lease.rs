//! Expires leases: a claim whose lease has run out is released before anybody reads it.
//!
//! Expiry is a write with an event, like any other. It runs in the first transaction after the lease ends, so all
//! readers see the same state and no timer is needed.

use pensa_core::issue::{self, Issue, IssueTransition, Origin, Requester, Status};
use pensa_core::{Code, Error, Result, Timestamp};

use crate::clock_check;
use crate::context::{Context, SYSTEM};
use crate::db::{Tx, params};
use crate::tables::{events, issues};
use serde_json::{Map, Value, json};

const ANY_DUE: &str = "SELECT 1 FROM issues WHERE lease_expires_at <= ?1 LIMIT 1";
const NEXT: &str =
    "SELECT lease_expires_at FROM issues WHERE lease_expires_at IS NOT NULL ORDER BY lease_expires_at LIMIT 1";

pub(crate) fn any_due(cx: &Context<'_>, tx: &Tx<'_>) -> Result<bool> {
    Ok(tx.query_one(ANY_DUE, params![cx.now], |_| Ok(()))?.is_some())
}

/// When the next lease expires.
pub(crate) fn next_expiry(tx: &Tx<'_>) -> Result<Option<Timestamp>> {
    tx.query_one(NEXT, params![], |row| row.parse(0))
}

/// A warning if the clock is implausible, in which case no lease expires.
pub(crate) fn clock_warning(cx: &Context<'_>, tx: &Tx<'_>) -> Result<Option<String>> {
    let confirmed = clock_check::confirmed(cx, tx)?;
    Ok((confirmed < cx.now)
        .then(|| format!("the clock says {}, and the disk {confirmed}: no lease was ended; set the clock", cx.now)))
}

/// Releases every claim whose lease has expired. If the clock is implausible, returns a warning and changes nothing.
pub(crate) fn expire(cx: &Context<'_>, tx: &Tx<'_>) -> Result<Option<String>> {
    if !any_due(cx, tx)? {
        return Ok(None);
    }
    if let Some(warning) = clock_warning(cx, tx)? {
        return Ok(Some(warning));
    }
    let system = cx.as_system();
    for old in issues::query(tx, "WHERE i.lease_expires_at <= ?1 ORDER BY i.id", params![cx.now])? {
        let mut new = old.clone();
        let by = Requester { actor: SYSTEM, origin: &Origin::default(), force: false };
        let outcome = issue::apply(&mut new, IssueTransition::Expire, &by, cx.now)?;
        if let Some(event) = outcome.event {
            // Each expiry is an operation of its own, because nobody requested them together.
            tx.begin_operation();
            issues::save(&system, tx, &old, new, event, outcome.note)?;
        }
    }
    Ok(None)
}

/// Refuses a change if the claim is protected from `by`. Returns the event detail that records an override.
pub(crate) fn check_claim(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    issue: &Issue,
    by: &Requester<'_>,
) -> Result<Map<String, Value>> {
    let forced = issue.check_claim(by, cx.now).map_err(|error| since(tx, issue, error))?;
    Ok(if forced { Map::from_iter([("forced".to_owned(), json!(true))]) } else { Map::new() })
}

/// Adds to an `AlreadyClaimed` error since when the claim exists.
pub(crate) fn since(tx: &Tx<'_>, issue: &Issue, error: Error) -> Error {
    if error.code != Code::AlreadyClaimed {
        return error;
    }
    events::claimed_at(tx, &issue.id).map_or_else(|e| e, |since| issue.already_claimed(since))
}

/// The error for an actor whose claim was lost.
pub(crate) fn lost(issue: &Issue, actor: &str) -> Error {
    let now = match &issue.assignee {
        Some(holder) if issue.status == Status::InProgress => format!("{holder} holds it now"),
        _ => format!("it is {}", issue.status),
    };
    Error::new(Code::LeaseLost, format!("{actor} does not hold {}: {now}", issue.id))
        .hint("claim it again if it is free, or pick another from pn ready")
}

/// Prevents a former holder, whose lease expired, from ending the claim of the next holder.
pub(crate) fn refuse_former_holder(cx: &Context<'_>, tx: &Tx<'_>, issue: &Issue) -> Result<()> {
    let taken_over =
        issue.status == Status::InProgress && issue.assignee.as_ref().is_some_and(|holder| *holder != cx.actor);
    if taken_over && events::has_lost_lease(tx, &issue.id, &cx.actor)? {
        return Err(lost(issue, &cx.actor));
    }
    Ok(())
}

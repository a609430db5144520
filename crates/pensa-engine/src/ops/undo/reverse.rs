//! Reverses one event: restores the rows that it changed, and logs that.
//!
//! The caller has checked for dependents. A row that is not in the state that the event left is never touched.

use pensa_core::event::filter::KINDS;
use pensa_core::event::{self, EventType};
use pensa_core::id::IssueId;
use pensa_core::issue::{Issue, IssueDetail};
use pensa_core::sync::ISSUES;
use pensa_core::{Code, Error, Result};
use serde_json::{Map, Value, json};

use super::dependents::LoggedChange;
use super::{missing_state_reason, purged, refused, reversing_command};
use crate::context::Context;
use crate::db::{Tx, params};
use crate::entity::{self, ChangeKind, PastChange};
use crate::tables::operations::{self, LoggedEvent};
use crate::tables::{comments, cycle, deps, events, issues, tombstones};

/// Reverses an event and logs that as `event_type` with `note`.
pub(super) fn reverse(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    event: &LoggedEvent,
    event_type: EventType,
    note: Map<String, Value>,
) -> Result<LoggedChange> {
    if event.is_purged() {
        return Err(purged(event));
    }
    let changes = entity::changes_of(tx, event.id)?;
    // The state before an import is in a backup.
    if changes.is_empty() || event.subject_kind == "store" {
        let error = refused(event, &missing_state_reason(event));
        return Err(match reversing_command(event) {
            Some(command) => error.hint(format!("{command} reverses it")),
            None => error,
        });
    }
    let mut detail = match (event.is_about_issue(), changes.iter().find_map(PastChange::of_whole_issue)) {
        (true, Some(ChangeKind::Created)) => reverse_creation(cx, tx, event)?,
        (true, Some(_)) => reverse_deletion(cx, tx, event, &changes)?,
        (true, None) => revert(cx, tx, event, &changes)?,
        // Only the log of issues has the changes of an undo.
        (false, _) => revert(cx, tx, event, &changes).map(|_| Map::new())?,
    };
    detail.extend(note);
    detail.insert("undoes".into(), json!([event.id]));
    let kind = KINDS.iter().copied().find(|kind| *kind == event.subject_kind);
    let kind = kind.ok_or_else(|| Error::internal(format!("{} is no kind", event.subject_kind)))?;
    let issue: Option<IssueId> = event.is_about_issue().then(|| event.subject_id.parse()).transpose()?;
    let existing = match &issue {
        Some(id) => issues::get(tx, id)?.and(issue.as_ref()),
        None => None,
    };
    let event = events::log_undone(cx, tx, (kind, &event.subject_id), existing, event_type, detail)?;
    LoggedChange::of(tx, &event)
}

/// Restores previous rows; returns the changes for the log.
fn revert(cx: &Context<'_>, tx: &Tx<'_>, event: &LoggedEvent, changes: &[PastChange]) -> Result<Map<String, Value>> {
    let mut detail = Map::new();
    for change in changes.iter().rev() {
        if change.is_too_large() {
            return Err(refused(event, "what was there before is too large to be kept"));
        }
        if change.is_referred_to(tx)? {
            return Err(refused(event, &format!("{} is in use", event.subject_id)));
        }
        for issue in change.required_issues()? {
            existing_issue(tx, event, &issue)?;
        }
        if let Some((child, parent)) = change.restored_dep()?
            && cycle::would_close(tx, &child, &parent)?
        {
            let message = format!("cannot take back {}: {parent} waits for {child} by now", event.summary());
            return Err(Error::new(Code::CycleDetected, message).hint("pn dep tree shows the chain"));
        }
        match change.revert(cx, tx)? {
            Some(changed) => detail.extend(changed),
            None => return Err(refused(event, &format!("{} is not as it was left", event.subject_id))),
        }
    }
    Ok(detail)
}

/// Restores a deleted issue with its comments and dependencies; false if its content is unknown.
pub(crate) fn restore_deleted(cx: &Context<'_>, tx: &Tx<'_>, id: &IssueId) -> Result<bool> {
    let Some(event) = operations::last_removal(tx, id)?.filter(|event| !event.is_purged()) else { return Ok(false) };
    if entity::changes_of(tx, event.id)?.is_empty() {
        return Ok(false);
    }
    reverse(cx, tx, &event, EventType::Undone, Map::new()).map(|_| true)
}

fn existing_issue(tx: &Tx<'_>, event: &LoggedEvent, id: &IssueId) -> Result<Issue> {
    if let Some(issue) = issues::get(tx, id)? {
        return Ok(issue);
    }
    Err(match last_change_summary(tx, "issues", id.as_str(), ChangeKind::Deleted)? {
        Some(by) => refused(event, &format!("{by} took {id} away")).hint("take the later change back first"),
        None => refused(event, &format!("{id} is gone")),
    })
}

/// A summary of the last event that made a certain change to a row.
fn last_change_summary(tx: &Tx<'_>, table: &str, key: &str, kind: ChangeKind) -> Result<Option<String>> {
    let event = entity::last_change(tx, table, key, kind)?;
    Ok(event.map(|event| operations::get(tx, event)).transpose()?.flatten().map(|event| event.summary()))
}

/// An issue with everything that belongs to it.
fn full_detail(tx: &Tx<'_>, issue: Issue) -> Result<IssueDetail> {
    let (deps, comments) = (deps::parents(tx, &issue.id)?, comments::of_issue(tx, &issue.id)?);
    let attached = entity::attached_to(tx, &issue.id)?;
    Ok(IssueDetail::alone(issue, deps, comments, attached))
}

/// Reverses the creation or restoration of an issue.
fn reverse_creation(cx: &Context<'_>, tx: &Tx<'_>, event: &LoggedEvent) -> Result<Map<String, Value>> {
    let id: IssueId = event.subject_id.parse()?;
    let issue = existing_issue(tx, event, &id)?;
    if let Some(child) = deps::children(tx, &id)?.first() {
        let by = last_change_summary(tx, "deps", &format!("{} {id}", child.id), ChangeKind::Created)?;
        return Err(dependent_error(event, by, &format!("{} waits for it", child.id)));
    }
    if let Some(fix) = issues::query(tx, "WHERE i.fixes = ?1 ORDER BY i.id LIMIT 1", params![&id])?.first() {
        let by = last_change_summary(tx, "issues", fix.id.as_str(), ChangeKind::Created)?;
        return Err(dependent_error(event, by, &format!("{} fixes it", fix.id)));
    }
    let whole = full_detail(tx, issue.clone())?;
    let came_alone = !event.detail.contains_key("issue");
    if came_alone && !(whole.deps.is_empty() && whole.comments.is_empty()) {
        return Err(refused(event, "the issue has comments or dependencies by now"));
    }
    let comments = whole.comments.iter().map(|comment| comment.id.to_string()).collect();
    tombstones::write_tombstone_with_comments(cx, tx, &ISSUES, id.as_str(), Some(whole.issue.updated_at), comments)?;
    issues::delete(tx, &issue)?;
    Ok(Map::from_iter([("issue".to_owned(), event::change(&whole, Value::Null))]))
}

fn dependent_error(event: &LoggedEvent, by: Option<String>, why: &str) -> Error {
    let why = by.map_or_else(|| why.to_owned(), |by| format!("{by} depends on it: {why}"));
    refused(event, &why).hint("take the later change back first, or select both")
}

/// Reverses the deletion of an issue.
fn reverse_deletion(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    event: &LoggedEvent,
    changes: &[PastChange],
) -> Result<Map<String, Value>> {
    let id: IssueId = event.subject_id.parse()?;
    if issues::get(tx, &id)?.is_some() {
        return Err(refused(event, &format!("there is an issue {id} again")));
    }
    revert(cx, tx, event, changes)?;
    operations::reattach(tx, &id)?;
    let whole = full_detail(tx, existing_issue(tx, event, &id)?)?;
    Ok(Map::from_iter([("issue".to_owned(), event::change(Value::Null, &whole))]))
}

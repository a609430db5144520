//! Appends to the log and reads it: by issue, by subject, in full, or as an audit.

use pensa_core::event::filter::KINDS;
use pensa_core::event::{Event, EventType, LogEntry};
use pensa_core::id::IssueId;
use pensa_core::ops::audit::{Audit, AuditLine};
use pensa_core::{Code, Error, Result, Timestamp};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::db::{NewEvent, Row, Tx, params};
use crate::tables::operations::LoggedEvent;

/// Appends an event about a subject, given by kind and id, and its issue; returns the event's number.
pub(crate) fn append(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    (subject_kind, subject_id): (&'static str, &str),
    issue_id: Option<&IssueId>,
    event_type: EventType,
    detail: Map<String, Value>,
) -> Result<i64> {
    debug_assert!(KINDS.contains(&subject_kind), "{subject_kind} is no kind that can be asked for");
    let (actor, token_id, session) = (cx.actor.as_str(), cx.token.as_deref(), cx.origin.claim_session());
    tx.append_event(&NewEvent {
        subject_kind,
        subject_id,
        issue_id,
        event_type,
        actor,
        token_id,
        session,
        detail,
        at: cx.now,
    })
}

/// Logs an event about an issue.
pub(crate) fn log(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    id: &IssueId,
    event_type: EventType,
    detail: Map<String, Value>,
) -> Result<()> {
    // The row of a deleted issue is gone, so this event must not refer to it.
    let issue_id = (event_type != EventType::Deleted).then_some(id);
    append(cx, tx, ("issue", id.as_str()), issue_id, event_type, detail).map(drop)
}

/// Logs an undo or redo. The detail has the changes, and in `undoes` the events that were reversed.
pub(crate) fn log_undone(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    (kind, id): (&'static str, &str),
    issue_id: Option<&IssueId>,
    event_type: EventType,
    detail: Map<String, Value>,
) -> Result<LoggedEvent> {
    let number = append(cx, tx, (kind, id), issue_id, event_type, detail.clone())?;
    Ok(LoggedEvent {
        id: number,
        op: tx.operation(),
        subject_kind: kind.to_owned(),
        subject_id: id.to_string(),
        event_type: event_type.as_str().to_owned(),
        actor: cx.actor.clone(),
        token_id: cx.token.clone(),
        detail,
        created_at: cx.now,
    })
}

fn parse_detail(text: &str) -> Result<Map<String, Value>> {
    serde_json::from_str(text).map_err(|e| {
        Error::new(Code::Corrupt, format!("the log holds an unreadable detail: {e}")).hint("run pn doctor --deep")
    })
}

fn read(row: &Row<'_>) -> Result<Event> {
    Ok(Event {
        id: row.int(0)?,
        issue_id: row.parse(1)?,
        event_type: row.text(2)?,
        actor: row.text(3)?,
        detail: shown(parse_detail(row.str(4)?)?),
        created_at: row.parse(5)?,
    })
}

/// The events of an issue, newest first.
pub(crate) fn of_issue(tx: &Tx<'_>, id: &IssueId, limit: i64) -> Result<Vec<Event>> {
    tx.query(
        "SELECT id, issue_id, event_type, actor, detail, created_at FROM events
         WHERE issue_id = ?1 AND subject_kind = 'issue' ORDER BY id DESC LIMIT ?2",
        params![id, limit],
        read,
    )
}

/// The SQL condition for `removal` to be an event that removed an issue.
macro_rules! removes {
    () => {
        "removal.issue_id IS NULL AND removal.subject_kind = 'issue' AND (removal.event_type = 'deleted' \
             OR (removal.event_type IN ('undone', 'redone') AND instr(removal.detail, '{\"issue\":{\"old\":{') = 1))"
    };
}

pub(crate) const REMOVES: &str = removes!();

/// The SQL condition for an event to be shown. Deleting an issue hides the history of the issue, its work and its
/// comments, except the removal itself, until the deletion is undone.
pub(crate) const SHOWN: &str = concat!(
    "(issue_id IS NOT NULL OR (subject_kind NOT IN ('comment', 'dep') \
     AND (subject_kind NOT IN ('issue', 'work') OR NOT EXISTS ( \
         SELECT 1 FROM events AS removal WHERE removal.subject_id = events.subject_id AND removal.id > events.id AND ",
    removes!(),
    "))))"
);

/// Marks the detail of a deletion of which only ids are left.
pub(crate) const PURGED: &str = "purged";

/// A `LIKE` pattern for such a detail.
pub(crate) fn purged_pattern() -> String {
    format!("%\"{PURGED}\":true}}")
}

/// Reduces the detail of a deletion to ids. Those of comments and dependencies stay, because peers need to know what
/// was deleted along.
pub(crate) fn reduce_to_ids(mut detail: Map<String, Value>) -> Map<String, Value> {
    let only = |record: &mut Value, fields: &[&str]| {
        if let Value::Object(record) = record {
            record.retain(|field, _| fields.contains(&field.as_str()));
        }
    };
    if let Some(old) = detail.get_mut("issue").and_then(|change| change.get_mut("old")) {
        only(old, &["id", "deps", "comments"]);
        for list in ["deps", "comments"] {
            let records = old.get_mut(list).and_then(Value::as_array_mut);
            records.into_iter().flatten().for_each(|record| only(record, &["id"]));
        }
    }
    // It must be last, because `purge::due` matches the end.
    detail.shift_remove(PURGED);
    detail.insert(PURGED.into(), Value::Bool(true));
    detail
}

/// The detail of an event as shown: of a removed issue only id and title.
fn shown(mut detail: Map<String, Value>) -> Map<String, Value> {
    if let Some(change) = detail.get_mut("issue").filter(|change| change["new"].is_null())
        && let Some(Value::Object(removed)) = change.get_mut("old")
    {
        removed.retain(|field, _| ["id", "title"].contains(&field.as_str()));
    }
    detail
}

/// Whether an event removed an issue.
pub(crate) fn is_removal(entry: &LogEntry) -> bool {
    let change = entry.detail.get("issue").filter(|_| entry.subject_kind == "issue");
    change.is_some_and(|change| change["old"].is_object() && change["new"].is_null())
}

/// An event as shown to users.
pub(crate) fn as_shown(entry: LogEntry) -> LogEntry {
    LogEntry { detail: shown(entry.detail), ..entry }
}

pub(crate) fn read_shown(row: &Row<'_>) -> Result<LogEntry> {
    read_entry(row).map(as_shown)
}

/// Reads an event with its full detail.
pub(crate) fn read_entry(row: &Row<'_>) -> Result<LogEntry> {
    Ok(LogEntry {
        id: row.int(0)?,
        subject_kind: row.text(1)?,
        subject_id: row.text(2)?,
        issue_id: row.parse_or_null(3)?,
        event_type: row.text(4)?,
        actor: row.text(5)?,
        detail: parse_detail(row.str(6)?)?,
        created_at: row.parse(7)?,
    })
}

/// The events of something other than an issue after `after`, oldest first.
pub(crate) fn of_subject(tx: &Tx<'_>, kind: &str, id: &str, after: i64, limit: Option<u32>) -> Result<Vec<LogEntry>> {
    tx.query(
        "SELECT id, subject_kind, subject_id, issue_id, event_type, actor, detail, created_at FROM events
         WHERE issue_id IS NULL AND subject_id = ?1 AND id > ?2 AND subject_kind = ?3 ORDER BY id LIMIT ?4",
        params![id, after, kind, limit.map_or(i64::MAX, i64::from)],
        read_entry,
    )
}

/// All events after `line` with full details, oldest first.
pub fn after(tx: &Tx<'_>, line: i64, limit: i64) -> Result<Vec<LogEntry>> {
    tx.query(
        "SELECT id, subject_kind, subject_id, issue_id, event_type, actor, detail, created_at FROM events
         WHERE id > ?1 ORDER BY id LIMIT ?2",
        params![line, limit],
        read_entry,
    )
}

/// Calls `each` with all events with full details, oldest first.
pub(crate) fn for_each(tx: &Tx<'_>, mut each: impl FnMut(&LogEntry) -> Result<()>) -> Result<()> {
    tx.for_each(
        "SELECT id, subject_kind, subject_id, issue_id, event_type, actor, detail, created_at FROM events ORDER BY id",
        params![],
        |row| each(&read_entry(row)?),
    )
}

/// Calls `each` with all events as shown to users, oldest first.
pub(crate) fn for_each_shown(tx: &Tx<'_>, mut each: impl FnMut(&LogEntry) -> Result<()>) -> Result<()> {
    let columns = "SELECT id, subject_kind, subject_id, issue_id, event_type, actor, detail, created_at FROM events";
    tx.for_each(&format!("{columns} WHERE {SHOWN} ORDER BY id"), params![], |row| each(&read_shown(row)?))
}

/// The number of the last event; 0 if there is none.
pub fn last(tx: &Tx<'_>) -> Result<i64> {
    let last = tx.query_one("SELECT id FROM events ORDER BY id DESC LIMIT 1", params![], |row| row.int(0))?;
    Ok(last.unwrap_or_default())
}

/// Most events of one store in an audit.
const MAX_AUDIT: u32 = 10_000;

/// Who changed what with which token in this store, newest first.
pub(crate) fn audit(cx: &Context<'_>, tx: &Tx<'_>, request: &Audit) -> Result<Vec<AuditLine>> {
    let since = request.since.map_or_else(String::new, |since| since.as_of(cx.now).to_string());
    let limit = i64::from(request.limit.unwrap_or(MAX_AUDIT).min(MAX_AUDIT));
    let columns = "SELECT id, subject_kind, subject_id, event_type, actor, token_id, detail, created_at FROM events";
    let read = |row: &Row<'_>| {
        Ok(AuditLine {
            at: row.parse(7)?,
            project: None,
            token: row.parse_or_null(5)?,
            actor: row.text(4)?,
            event_type: row.text(3)?,
            subject_kind: row.text(1)?,
            subject_id: row.text(2)?,
            event: row.int(0)?,
            detail: shown(parse_detail(row.str(6)?)?),
        })
    };
    match &request.token {
        Some(token) => tx.query(
            &format!("{columns} WHERE token_id = ?1 AND created_at >= ?2 AND {SHOWN} ORDER BY id DESC LIMIT ?3"),
            params![token.as_str(), since, limit],
            read,
        ),
        None => tx.query(
            &format!("{columns} WHERE created_at >= ?1 AND {SHOWN} ORDER BY id DESC LIMIT ?2"),
            params![since, limit],
            read,
        ),
    }
}

/// The last time that a field of an issue changed away from this value.
pub(crate) fn last_changed_from(tx: &Tx<'_>, id: &IssueId, field: &str, value: &Value) -> Result<Option<String>> {
    let lines =
        tx.query("SELECT detail, created_at FROM events WHERE issue_id = ?1 ORDER BY id", params![id], |row| {
            Ok((row.json::<Map<String, Value>>(0)?, row.text(1)?))
        })?;
    let changes =
        lines.into_iter().filter(|(detail, _)| detail.get(field).is_some_and(|change| change["old"] == *value));
    // For imported changes, the time in the file counts, not the time of the import.
    let at = |(detail, at): (Map<String, Value>, String)| {
        detail.get("updated_at").and_then(|change| change["new"].as_str()).map_or(at, str::to_owned)
    };
    Ok(changes.map(at).max())
}

/// When the current claim of an issue was made.
pub(crate) fn claimed_at(tx: &Tx<'_>, id: &IssueId) -> Result<Option<Timestamp>> {
    let last = "SELECT created_at FROM events WHERE issue_id = ?1 AND event_type = 'claimed' ORDER BY id DESC LIMIT 1";
    tx.query_one(last, params![id], |row| row.parse(0))
}

/// Whether `actor` lost an issue through an expired lease, and has not claimed or renewed it since.
pub(crate) fn has_lost_lease(tx: &Tx<'_>, id: &IssueId, actor: &str) -> Result<bool> {
    let claims = tx.query(
        "SELECT event_type, actor, detail FROM events
         WHERE issue_id = ?1 AND event_type IN ('claimed', 'lease_renewed', 'released', 'lease_expired') ORDER BY id DESC",
        params![id],
        |row| Ok((row.text(0)?, row.text(1)?, row.text(2)?)),
    )?;
    for (event_type, by, detail) in claims {
        let detail: Value = serde_json::from_str(&detail).map_err(Error::internal)?;
        let former = detail["assignee"]["old"].as_str();
        let is_claim = event_type == "claimed" || event_type == "lease_renewed";
        if (is_claim && by == actor) || (event_type == "released" && former == Some(actor)) {
            return Ok(false);
        }
        if event_type == "lease_expired" && former == Some(actor) {
            return Ok(true);
        }
    }
    Ok(false)
}

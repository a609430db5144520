//! Reads the log by operation: the events that one request wrote, and the history of an issue, even a deleted one.

use pensa_core::event::EventType;
use pensa_core::id::IssueId;
use pensa_core::{Error, Result, Timestamp};
use serde_json::{Map, Value};

use super::events::{PURGED, REMOVES};
use crate::context::SYSTEM;
use crate::db::{Param, Row, Tx, params};

/// An event with all its columns.
#[derive(Debug)]
pub(crate) struct LoggedEvent {
    pub(crate) id: i64,
    /// The first event of the same operation; `None` if unknown
    pub(crate) op: Option<i64>,
    pub(crate) subject_kind: String,
    pub(crate) subject_id: String,
    pub(crate) event_type: String,
    pub(crate) actor: String,
    pub(crate) token_id: Option<String>,
    pub(crate) detail: Map<String, Value>,
    pub(crate) created_at: Timestamp,
}

impl LoggedEvent {
    /// How error messages name the event.
    pub(crate) fn summary(&self) -> String {
        format!("event {} ({} {} by {})", self.id, self.event_type, self.subject_id, self.actor)
    }

    /// Whether it is a deletion of which only ids are left.
    pub(crate) fn is_purged(&self) -> bool {
        self.detail.get(PURGED) == Some(&Value::Bool(true))
    }

    pub(crate) fn is_about_issue(&self) -> bool {
        self.subject_kind == "issue"
    }

    /// Whether it undid other events.
    pub(crate) fn is_undo(&self) -> bool {
        self.event_type == EventType::Undone.as_str()
    }

    /// The events that it undid.
    pub(crate) fn undoes(&self) -> Vec<i64> {
        undoes(&self.detail)
    }
}

/// The events undone by an event with this detail.
pub(crate) fn undoes(detail: &Map<String, Value>) -> Vec<i64> {
    let list = detail.get("undoes").and_then(Value::as_array);
    list.map(|ids| ids.iter().filter_map(Value::as_i64).collect()).unwrap_or_default()
}

const COLUMNS: &str = "id, op, subject_kind, subject_id, event_type, actor, token_id, detail, created_at";

fn read(row: &Row<'_>) -> Result<LoggedEvent> {
    Ok(LoggedEvent {
        id: row.int(0)?,
        op: row.int_or_null(1)?,
        subject_kind: row.text(2)?,
        subject_id: row.text(3)?,
        event_type: row.text(4)?,
        actor: row.text(5)?,
        token_id: row.text_or_null(6)?,
        detail: serde_json::from_str(row.str(7)?).map_err(Error::internal)?,
        created_at: row.parse(8)?,
    })
}

pub(crate) fn get(tx: &Tx<'_>, id: i64) -> Result<Option<LoggedEvent>> {
    tx.query_one(&format!("SELECT {COLUMNS} FROM events WHERE id = ?1"), params![id], read)
}

/// Appends are no candidates for undo: they run in the background, and no user means them.
const NOT_APPENDED: &str = "event_type <> 'appended'";

/// Whose operations to search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ActorFilter<'a> {
    pub(crate) actor: &'a str,
    pub(crate) token: Option<&'a str>,
    /// The session; `None` for any
    pub(crate) session: Option<Option<&'a str>>,
}

/// The last event before another that was not caused by the system. Lease renewals and appends do not count.
pub(crate) fn last_before(tx: &Tx<'_>, id: i64, by: Option<ActorFilter<'_>>) -> Result<Option<LoggedEvent>> {
    let mut values = vec![Param::from(id), SYSTEM.into()];
    let mut conditions = String::new();
    let mut is = |column: &str, value: Option<&str>| {
        values.push(value.unwrap_or_default().to_owned().into());
        conditions.push_str(&format!(" AND COALESCE({column}, '') = ?{}", values.len()));
    };
    if let Some(by) = by {
        is("actor", Some(by.actor));
        is("token_id", by.token);
        by.session.into_iter().for_each(|session| is("session", session));
    }
    let sql = format!(
        "SELECT {COLUMNS} FROM events WHERE id < ?1 AND actor <> ?2 AND {NOT_APPENDED} AND event_type <> 'lease_renewed'
         {conditions} ORDER BY id DESC LIMIT 1"
    );
    tx.query_one(&sql, &values, read)
}

/// The first event after an operation. Events of an operation are consecutive, because a store has one writer at a
/// time.
fn end_of(tx: &Tx<'_>, op: i64) -> Result<i64> {
    let next = "SELECT id FROM events WHERE id > ?1 AND (op IS NULL OR op <> ?1) ORDER BY id LIMIT 1";
    Ok(tx.query_one(next, params![op], |row| row.int(0))?.unwrap_or(i64::MAX))
}

/// The events of one operation, oldest first.
pub(crate) fn events_of(tx: &Tx<'_>, op: i64, limit: i64) -> Result<Vec<LoggedEvent>> {
    let end = end_of(tx, op)?;
    let sql = format!("SELECT {COLUMNS} FROM events WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3");
    tx.query(&sql, params![op, end, limit], read)
}

/// Forgets which events belong to an operation, so that it cannot be undone in part.
pub(crate) fn ungroup(tx: &Tx<'_>, op: i64) -> Result<()> {
    let end = end_of(tx, op)?;
    tx.send("UPDATE events SET op = NULL WHERE op = ?1 AND id >= ?1 AND id < ?2", params![op, end])
}

/// The last event that removed an issue which does not exist now.
pub(crate) fn last_removal(tx: &Tx<'_>, id: &IssueId) -> Result<Option<LoggedEvent>> {
    let sql =
        format!("SELECT {COLUMNS} FROM events AS removal WHERE subject_id = ?1 AND {REMOVES} ORDER BY id DESC LIMIT 1");
    tx.query_one(&sql, params![id], read)
}

/// The events since a time, of one actor or of all, newest first. All events of an operation have the same actor and
/// time, so operations are never split.
pub(crate) fn matching(tx: &Tx<'_>, by: Option<&str>, since: &str, limit: i64) -> Result<Vec<LoggedEvent>> {
    let columns = format!("SELECT {COLUMNS} FROM events WHERE created_at >= ?1 AND {NOT_APPENDED}");
    match by {
        Some(actor) => {
            tx.query(&format!("{columns} AND actor = ?2 ORDER BY id DESC LIMIT ?3"), params![since, actor, limit], read)
        }
        None => tx.query(&format!("{columns} ORDER BY id DESC LIMIT ?2"), params![since, limit], read),
    }
}

/// The events of an issue from an event on, oldest first, whether the issue exists or not.
pub(crate) fn of_issue(tx: &Tx<'_>, id: &str, from: i64) -> Result<Vec<LoggedEvent>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM events WHERE issue_id = ?1 AND id >= ?2
         UNION ALL
         SELECT {COLUMNS} FROM events
         WHERE issue_id IS NULL AND subject_id = ?1 AND subject_kind = 'issue' AND id >= ?2
         ORDER BY 1"
    );
    tx.query(&sql, params![id, from], read)
}

/// The events of something other than an issue from an event on, oldest first.
pub(crate) fn of_subject(tx: &Tx<'_>, kind: &str, id: &str, from: i64) -> Result<Vec<LoggedEvent>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM events WHERE issue_id IS NULL AND subject_id = ?1 AND subject_kind = ?2 AND id >= ?3
         ORDER BY id"
    );
    tx.query(&sql, params![id, kind, from], read)
}

/// Attaches the events of a deleted issue to it again.
pub(crate) fn reattach(tx: &Tx<'_>, id: &IssueId) -> Result<()> {
    tx.send(
        "UPDATE events SET issue_id = subject_id
         WHERE issue_id IS NULL AND subject_id = ?1 AND subject_kind = 'issue'",
        params![id],
    )
}

//! The log by operation: which events one request wrote, and what happened to an issue, also to one that is gone.

use pensa_core::effect::Effect;
use pensa_core::event::EventType;
use pensa_core::id::IssueId;
use pensa_core::{Error, Result, Timestamp};
use serde_json::{Map, Value};

use super::events::REMOVES;
use crate::context::SYSTEM;
use crate::db::{Param, Row, Tx, params};

/// A line of the log with all that is known of it.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) id: i64,
    /// The first event of the same operation; none if nobody noted it.
    pub(crate) op: Option<i64>,
    pub(crate) subject_kind: String,
    pub(crate) subject_id: String,
    pub(crate) event_type: String,
    pub(crate) actor: String,
    pub(crate) token_id: Option<String>,
    pub(crate) detail: Map<String, Value>,
    pub(crate) created_at: Timestamp,
}

impl Line {
    /// How an error names it.
    pub(crate) fn told(&self) -> String {
        format!("event {} ({} {} by {})", self.id, self.event_type, self.subject_id, self.actor)
    }

    pub(crate) fn effect(&self) -> Result<Effect> {
        Effect::of(&self.event_type, &self.detail)
    }

    pub(crate) fn is_of_issue(&self) -> bool {
        self.subject_kind == "issue"
    }

    /// Whether it took something back.
    pub(crate) fn is_undo(&self) -> bool {
        self.event_type == EventType::Undone.as_str()
    }

    /// The events that this one took back.
    pub(crate) fn undoes(&self) -> Vec<i64> {
        let list = self.detail.get("undoes").and_then(Value::as_array);
        list.map(|ids| ids.iter().filter_map(Value::as_i64).collect()).unwrap_or_default()
    }
}

const COLUMNS: &str = "id, op, subject_kind, subject_id, event_type, actor, token_id, detail, created_at";

fn read(row: &Row<'_>) -> Result<Line> {
    Ok(Line {
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

pub(crate) fn line(tx: &Tx<'_>, id: i64) -> Result<Option<Line>> {
    tx.query_one(&format!("SELECT {COLUMNS} FROM events WHERE id = ?1"), params![id], read)
}

/// What nobody means who asks for the last that was done, or for all since a time: entries of sessions are appended in
/// the background.
const NO_APPEND: &str = "event_type <> 'appended'";

/// Whose operations are meant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Doer<'a> {
    pub(crate) actor: &'a str,
    pub(crate) token: Option<&'a str>,
    /// The session; none for any.
    pub(crate) session: Option<Option<&'a str>>,
}

/// The last line before another that somebody caused by an operation of their own. Renewals of leases are none.
pub(crate) fn last_before(tx: &Tx<'_>, id: i64, by: Option<Doer<'_>>) -> Result<Option<Line>> {
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
        "SELECT {COLUMNS} FROM events WHERE id < ?1 AND actor <> ?2 AND {NO_APPEND} AND event_type <> 'lease_renewed'
         {conditions} ORDER BY id DESC LIMIT 1"
    );
    tx.query_one(&sql, &values, read)
}

/// The first event after an operation. Its own follow each other: a store has one writer at a time.
fn end(tx: &Tx<'_>, op: i64) -> Result<i64> {
    let next = "SELECT id FROM events WHERE id > ?1 AND (op IS NULL OR op <> ?1) ORDER BY id LIMIT 1";
    Ok(tx.query_one(next, params![op], |row| row.int(0))?.unwrap_or(i64::MAX))
}

/// The events of one operation, oldest first.
pub(crate) fn of(tx: &Tx<'_>, op: i64, limit: i64) -> Result<Vec<Line>> {
    let end = end(tx, op)?;
    let sql = format!("SELECT {COLUMNS} FROM events WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3");
    tx.query(&sql, params![op, end, limit], read)
}

/// Has nothing tell any more which events belong to an operation, so that it is not undone in part.
pub(crate) fn disband(tx: &Tx<'_>, op: i64) -> Result<()> {
    let end = end(tx, op)?;
    tx.send("UPDATE events SET op = NULL WHERE op = ?1 AND id >= ?1 AND id < ?2", params![op, end])
}

/// The last line that tells that an issue was removed, which is not there.
pub(crate) fn removal(tx: &Tx<'_>, id: &IssueId) -> Result<Option<Line>> {
    let sql =
        format!("SELECT {COLUMNS} FROM events AS removal WHERE subject_id = ?1 AND {REMOVES} ORDER BY id DESC LIMIT 1");
    tx.query_one(&sql, params![id], read)
}

/// What was done since a time, by one actor or by all, newest first. The events of an operation have all the same
/// actor and time, so none is given in part.
pub(crate) fn matching(tx: &Tx<'_>, by: Option<&str>, since: &str, limit: i64) -> Result<Vec<Line>> {
    let columns = format!("SELECT {COLUMNS} FROM events WHERE created_at >= ?1 AND {NO_APPEND}");
    match by {
        Some(actor) => {
            tx.query(&format!("{columns} AND actor = ?2 ORDER BY id DESC LIMIT ?3"), params![since, actor, limit], read)
        }
        None => tx.query(&format!("{columns} ORDER BY id DESC LIMIT ?2"), params![since, limit], read),
    }
}

/// What happened to an issue from a line on, oldest first, whether it is still there or not.
pub(crate) fn of_issue(tx: &Tx<'_>, id: &str, from: i64) -> Result<Vec<Line>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM events WHERE issue_id = ?1 AND id >= ?2
         UNION ALL
         SELECT {COLUMNS} FROM events
         WHERE issue_id IS NULL AND subject_id = ?1 AND subject_kind = 'issue' AND id >= ?2
         ORDER BY 1"
    );
    tx.query(&sql, params![id, from], read)
}

/// What happened to something that is not an issue from a line on, oldest first.
pub(crate) fn of_subject(tx: &Tx<'_>, kind: &str, id: &str, from: i64) -> Result<Vec<Line>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM events WHERE issue_id IS NULL AND subject_id = ?1 AND subject_kind = ?2 AND id >= ?3
         ORDER BY id"
    );
    tx.query(&sql, params![id, kind, from], read)
}

/// Makes what is left in the log of an issue that was gone its history again.
pub(crate) fn recall(tx: &Tx<'_>, id: &IssueId) -> Result<()> {
    tx.journal("issue_recalled", id)?;
    tx.send(
        "UPDATE events SET issue_id = subject_id
         WHERE issue_id IS NULL AND subject_id = ?1 AND subject_kind = 'issue'",
        params![id],
    )
}

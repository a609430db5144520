//! Rows of `sessions`, and which of them a caller means.

use pensa_core::agent::Agent;
use pensa_core::event::EventType;
use pensa_core::id::{AgentId, IssueId, SessionId, SessionRef};
use pensa_core::session::Session;
use pensa_core::{Code, Error, Result, Timestamp};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::db::{Param, Row, Tx, params};
use crate::replay::SessionRow;
use crate::tables::events;
use crate::tables::ids::Kind;

const SESSIONS: Kind =
    Kind { name: "session", table: "sessions", prefix: SessionId::PREFIX, hint: "pn session list shows the ids" };

const COLUMNS: &str = "s.id, s.agent_id, s.opened_by, s.inference_session_id, s.reset_message, s.issue_id, s.run_id, \
     s.created_at, s.ended_at, s.archived_at";

/// Runs whose sessions one statement asks for.
const RUNS_AT_ONCE: usize = 256;

fn read(row: &Row<'_>) -> Result<Session> {
    Ok(Session {
        id: row.parse(0)?,
        agent_id: row.parse(1)?,
        opened_by: row.parse(2)?,
        inference_session_id: row.text_or_null(3)?,
        reset_message: row.text_or_null(4)?,
        issue_id: row.parse_or_null(5)?,
        run_id: row.parse_or_null(6)?,
        created_at: row.parse(7)?,
        ended_at: row.parse_or_null(8)?,
        archived_at: row.parse_or_null(9)?,
    })
}

fn query(tx: &Tx<'_>, rest: &str, params: &[Param<'_>]) -> Result<Vec<Session>> {
    tx.query(&format!("SELECT {COLUMNS} FROM sessions s {rest}"), params, read)
}

pub(crate) fn get(tx: &Tx<'_>, id: &SessionId) -> Result<Option<Session>> {
    Ok(query(tx, "WHERE s.id = ?1", params![id.as_str()])?.pop())
}

/// The session that an agent is in.
pub(crate) fn active(tx: &Tx<'_>, agent: &Agent) -> Result<Session> {
    let missing =
        || Error::new(Code::Corrupt, format!("agent {} has no active session", agent.id)).hint("run pn doctor --deep");
    let id = agent.active_session_id.as_ref().ok_or_else(missing)?;
    get(tx, id)?.ok_or_else(missing)
}

pub(crate) fn new_id(cx: &Context<'_>, tx: &Tx<'_>) -> Result<SessionId> {
    SESSIONS.new_id(tx, || SessionId::from_uuid(cx.uuid()))
}

/// The session that a caller means.
pub(crate) fn find(tx: &Tx<'_>, wanted: &SessionRef) -> Result<Session> {
    let id = SESSIONS.find(tx, wanted.as_str())?;
    get(tx, &id.parse()?)?.ok_or_else(|| SESSIONS.unknown(&id))
}

/// The sessions that a text may mean: the one with this id, else all whose id begins with it.
pub(crate) fn candidates(tx: &Tx<'_>, text: &str) -> Result<Vec<Session>> {
    let mut matches = Vec::new();
    for id in SESSIONS.candidates(tx, text)? {
        matches.extend(get(tx, &id.parse()?)?);
    }
    Ok(matches)
}

/// The sessions of one agent or of all, oldest first.
pub(crate) fn list(tx: &Tx<'_>, of: Option<&AgentId>, limit: Option<u32>) -> Result<Vec<Session>> {
    let (rest, values) = listing(of, limit);
    query(tx, rest, &values)
}

/// Those of one agent or of all that are not archived, oldest first.
pub(crate) fn unarchived(tx: &Tx<'_>, of: Option<&AgentId>, limit: Option<u32>) -> Result<Vec<Session>> {
    let limit = Param::Int(limit.map_or(i64::MAX, i64::from));
    match of {
        Some(agent) => {
            let rest = "WHERE s.agent_id = ?1 AND s.archived_at IS NULL ORDER BY s.number LIMIT ?2";
            query(tx, rest, &[agent.as_str().into(), limit])
        }
        None => query(tx, "WHERE s.archived_at IS NULL ORDER BY s.created_at, s.agent_id, s.number LIMIT ?1", &[limit]),
    }
}

/// Sessions that ended before a time, oldest first. One that is active has not ended.
pub(crate) fn ended_before(tx: &Tx<'_>, at: Timestamp, of: Option<&AgentId>, limit: u32) -> Result<Vec<Session>> {
    let rest = "WHERE s.ended_at < ?1 AND (?2 = '' OR s.agent_id = ?2)
         AND NOT EXISTS (SELECT 1 FROM agents a WHERE a.active_session_id = s.id)
         ORDER BY s.ended_at, s.id LIMIT ?3";
    query(tx, rest, params![at, of.map_or("", AgentId::as_str), i64::from(limit)])
}

/// Takes a session out of listings.
pub(crate) fn archive(tx: &Tx<'_>, id: &SessionId, at: Timestamp) -> Result<()> {
    tx.journal("session_archived", &(id, at))?;
    tx.send("UPDATE sessions SET archived_at = ?2 WHERE id = ?1", params![id.as_str(), at])
}

/// Removes a session with its entries.
pub(crate) fn delete(tx: &Tx<'_>, id: &SessionId) -> Result<()> {
    tx.journal("session_deleted", id)?;
    tx.send("DELETE FROM session_history WHERE session_id = ?1", params![id.as_str()])?;
    tx.send("DELETE FROM sessions WHERE id = ?1", params![id.as_str()])
}

fn listing(of: Option<&AgentId>, limit: Option<u32>) -> (&'static str, Vec<Param<'static>>) {
    let limit = Param::Int(limit.map_or(i64::MAX, i64::from));
    match of {
        Some(agent) => {
            ("WHERE s.agent_id = ?1 ORDER BY s.number LIMIT ?2", vec![agent.as_str().to_owned().into(), limit])
        }
        None => ("ORDER BY s.created_at, s.agent_id, s.number LIMIT ?1", vec![limit]),
    }
}

/// The sessions about an issue, and those of runs, oldest first.
pub(crate) fn about(tx: &Tx<'_>, issue: &IssueId, runs: &[&str], limit: u32) -> Result<Vec<Session>> {
    let limit = i64::from(limit);
    let mut all = query(tx, "WHERE s.issue_id = ?1 ORDER BY s.created_at, s.id LIMIT ?2", params![issue, limit])?;
    for some in runs.chunks(RUNS_AT_ONCE) {
        let places: Vec<String> = (2..some.len() + 2).map(|at| format!("?{at}")).collect();
        let rest = format!("WHERE s.run_id IN ({}) ORDER BY s.created_at, s.id LIMIT ?1", places.join(", "));
        let values: Vec<Param<'_>> =
            [Param::Int(limit)].into_iter().chain(some.iter().map(|run| (*run).into())).collect();
        all.extend(query(tx, &rest, &values)?);
    }
    Ok(all)
}

/// How many sessions an agent has.
pub(crate) fn count(tx: &Tx<'_>, agent: &AgentId) -> Result<i64> {
    let sql = "SELECT COUNT(*) FROM sessions WHERE agent_id = ?1";
    Ok(tx.query_one(sql, params![agent.as_str()], |row| row.int(0))?.unwrap_or_default())
}

/// Adds the next session of an agent.
pub(crate) fn insert(tx: &Tx<'_>, session: &Session) -> Result<()> {
    let sql = "SELECT COALESCE(MAX(number), 0) + 1 FROM sessions WHERE agent_id = ?1";
    let number = tx.query_one(sql, params![session.agent_id.as_str()], |row| row.int(0))?.unwrap_or(1);
    put(tx, session, number)
}

/// Adds a session as the one with this number, or puts it in place of what is there.
pub(crate) fn put(tx: &Tx<'_>, session: &Session, number: i64) -> Result<()> {
    tx.journal("session", &SessionRow { number, session })?;
    tx.send(
        "INSERT INTO sessions (id, agent_id, number, opened_by, inference_session_id, reset_message, issue_id, run_id,
            created_at, ended_at, archived_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        &[
            session.id.as_str().into(),
            session.agent_id.as_str().into(),
            number.into(),
            session.opened_by.as_str().into(),
            session.inference_session_id.as_ref().into(),
            session.reset_message.as_ref().into(),
            session.issue_id.as_ref().into(),
            session.run_id.as_ref().map(|id| id.as_str()).into(),
            session.created_at.into(),
            session.ended_at.into(),
            session.archived_at.into(),
        ],
    )
}

/// Says that the next session has taken the place of this one.
pub(crate) fn end(tx: &Tx<'_>, id: &SessionId, at: Timestamp) -> Result<()> {
    tx.journal("session_ended", &(id, at))?;
    tx.send("UPDATE sessions SET ended_at = ?2 WHERE id = ?1", params![id.as_str(), at])
}

/// Logs what happened to a session.
pub(crate) fn log(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    id: &SessionId,
    event_type: EventType,
    detail: Map<String, Value>,
) -> Result<()> {
    events::append(cx, tx, ("session", id.as_str()), None, event_type, detail).map(drop)
}

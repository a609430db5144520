//! Rows of `sessions`, and which of them a caller means.

use pensa_core::agent::Agent;
use pensa_core::event::EventType;
use pensa_core::id::{AgentId, IssueId, SessionId, SessionRef};
use pensa_core::session::Session;
use pensa_core::{Code, Error, Result, Timestamp, entity as declare};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::db::{Param, Tx, params};
use crate::entity;
use crate::tables::events;
use crate::tables::ids::Kind;

const SESSIONS: Kind =
    Kind { name: "session", table: "sessions", prefix: SessionId::PREFIX, hint: "pn session list shows the ids" };

/// Runs whose sessions one statement asks for.
const RUNS_AT_ONCE: usize = 256;

/// A session with its number among those of its agent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SessionRow {
    number: i64,
    #[serde(flatten)]
    session: Session,
}

declare!(SessionRow: "session" in "sessions", keys 1 {
    id, agent_id, number: Int, opened_by, inference_session_id, reset_message, issue_id, run_id, created_at, ended_at,
    archived_at,
});

fn query(tx: &Tx<'_>, rest: &str, params: &[Param<'_>]) -> Result<Vec<Session>> {
    Ok(entity::query::<SessionRow>(tx, rest, params)?.into_iter().map(|row| row.session).collect())
}

pub(crate) fn get(tx: &Tx<'_>, id: &SessionId) -> Result<Option<Session>> {
    Ok(entity::get(tx, params![id.as_str()])?.map(|row: SessionRow| row.session))
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
            let rest = "WHERE agent_id = ?1 AND archived_at IS NULL ORDER BY number LIMIT ?2";
            query(tx, rest, &[agent.as_str().into(), limit])
        }
        None => query(tx, "WHERE archived_at IS NULL ORDER BY created_at, agent_id, number LIMIT ?1", &[limit]),
    }
}

/// Sessions that ended before a time, oldest first. One that is active has not ended.
pub(crate) fn ended_before(tx: &Tx<'_>, at: Timestamp, of: Option<&AgentId>, limit: u32) -> Result<Vec<Session>> {
    let rest = "WHERE ended_at < ?1 AND (?2 = '' OR agent_id = ?2)
         AND NOT EXISTS (SELECT 1 FROM agents a WHERE a.active_session_id = sessions.id)
         ORDER BY ended_at, id LIMIT ?3";
    query(tx, rest, params![at, of.map_or("", AgentId::as_str), i64::from(limit)])
}

/// Changes a session.
pub(crate) fn update(tx: &Tx<'_>, id: &SessionId, change: impl FnOnce(&mut Session)) -> Result<()> {
    let Some(mut row) = entity::get::<SessionRow>(tx, params![id.as_str()])? else { return Ok(()) };
    change(&mut row.session);
    entity::put(tx, &row)
}

/// Removes a session with its entries.
pub(crate) fn delete(tx: &Tx<'_>, id: &SessionId) -> Result<()> {
    delete_entries(tx, id)?;
    entity::delete::<SessionRow>(tx, params![id.as_str()]).map(drop)
}

pub(crate) fn delete_entries(tx: &Tx<'_>, id: &SessionId) -> Result<()> {
    tx.journal("session_deleted", id)?;
    tx.send("DELETE FROM session_history WHERE session_id = ?1", params![id.as_str()])
}

fn listing(of: Option<&AgentId>, limit: Option<u32>) -> (&'static str, Vec<Param<'static>>) {
    let limit = Param::Int(limit.map_or(i64::MAX, i64::from));
    match of {
        Some(agent) => ("WHERE agent_id = ?1 ORDER BY number LIMIT ?2", vec![agent.as_str().to_owned().into(), limit]),
        None => ("ORDER BY created_at, agent_id, number LIMIT ?1", vec![limit]),
    }
}

/// The sessions about an issue, and those of runs, oldest first.
pub(crate) fn about(tx: &Tx<'_>, issue: &IssueId, runs: &[&str], limit: u32) -> Result<Vec<Session>> {
    let limit = i64::from(limit);
    let mut all = query(tx, "WHERE issue_id = ?1 ORDER BY created_at, id LIMIT ?2", params![issue, limit])?;
    for some in runs.chunks(RUNS_AT_ONCE) {
        let places: Vec<String> = (2..some.len() + 2).map(|at| format!("?{at}")).collect();
        let rest = format!("WHERE run_id IN ({}) ORDER BY created_at, id LIMIT ?1", places.join(", "));
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
    entity::insert(tx, &SessionRow { number, session: session.clone() })
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

//! Finds, lists and stores rows of `sessions`.

use pensa_core::agent::Agent;
use pensa_core::event::EventType;
use pensa_core::id::{AgentId, IssueId, SessionId, SessionRef};
use pensa_core::session::{Session, SessionHead};
use pensa_core::{Code, Error, Result, Timestamp, entity as declare};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::db::{Param, Tx, params};
use crate::entity;
use crate::tables::ids::IdTable;
use crate::tables::{entries, events, recall};

const SESSIONS: IdTable =
    IdTable { name: "session", table: "sessions", prefix: SessionId::PREFIX, hint: "pn session list shows the ids" };

/// Most runs per query.
const RUNS_AT_ONCE: usize = 256;

/// A session with its number among the sessions of its agent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SessionRow {
    number: i64,
    #[serde(flatten)]
    session: Session,
}

declare!(SessionRow: "session" in "sessions", keys 1,
    shown "agent_id NOT IN (SELECT id FROM agents WHERE deleted_ms IS NOT NULL)" {
    id, agent_id, number: Int, opened_by, inference_session_id, reset_message, issue_id, run_id, created_at, ended_at,
    archived_at, extra: Extra,
});

fn query(tx: &Tx<'_>, rest: &str, params: &[Param<'_>]) -> Result<Vec<Session>> {
    Ok(entity::query::<SessionRow>(tx, rest, params)?.into_iter().map(|row| row.session).collect())
}

pub(crate) fn get(tx: &Tx<'_>, id: &SessionId) -> Result<Option<Session>> {
    Ok(entity::get(tx, params![id.as_str()])?.map(|row: SessionRow| row.session))
}

/// The active session of an agent.
pub(crate) fn active(tx: &Tx<'_>, agent: &Agent) -> Result<Session> {
    let missing =
        || Error::new(Code::Corrupt, format!("agent {} has no active session", agent.id)).hint("run pn doctor --deep");
    let id = agent.active_session_id.as_ref().ok_or_else(missing)?;
    get(tx, id)?.ok_or_else(missing)
}

pub(crate) fn new_id(cx: &Context<'_>, tx: &Tx<'_>) -> Result<SessionId> {
    SESSIONS.new_id(tx, || SessionId::from_uuid(cx.uuid()))
}

/// Finds a session by its id or a prefix.
pub(crate) fn find(tx: &Tx<'_>, reference: &SessionRef) -> Result<Session> {
    let id = SESSIONS.find(tx, reference.as_str())?;
    get(tx, &id.parse()?)?.ok_or_else(|| SESSIONS.unknown(&id))
}

/// The sessions that a text may refer to: the one with this id, else all whose id starts with it.
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

/// The sessions of one agent or of all that are not archived, oldest first.
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

/// Sessions that ended before a time, oldest first. An agent's active session has not ended.
pub(crate) fn ended_before(tx: &Tx<'_>, at: Timestamp, of: Option<&AgentId>, limit: u32) -> Result<Vec<Session>> {
    let rest = "WHERE ended_at < ?1 AND (?2 = '' OR agent_id = ?2)
         AND NOT EXISTS (SELECT 1 FROM agents a WHERE a.active_session_id = sessions.id)
         ORDER BY ended_at, id LIMIT ?3";
    query(tx, rest, params![at, of.map_or("", AgentId::as_str), i64::from(limit)])
}

/// Changes a session if it exists.
pub(crate) fn update(tx: &Tx<'_>, id: &SessionId, change: impl FnOnce(&mut Session)) -> Result<()> {
    let Some(mut row) = entity::get::<SessionRow>(tx, params![id.as_str()])? else { return Ok(()) };
    change(&mut row.session);
    entity::put(tx, &row)
}

/// Deletes a session with its entries.
pub(crate) fn delete(tx: &Tx<'_>, id: &SessionId) -> Result<()> {
    recall::touch_entries(tx, "session_id = ?1", params![id.as_str()])?;
    // Not journalled: replay deletes the entries of deleted sessions.
    tx.send("DELETE FROM session_history WHERE session_id = ?1", params![id.as_str()])?;
    entity::delete::<SessionRow>(tx, params![id.as_str()]).map(drop)
}

fn listing(of: Option<&AgentId>, limit: Option<u32>) -> (&'static str, Vec<Param<'static>>) {
    let limit = Param::Int(limit.map_or(i64::MAX, i64::from));
    match of {
        Some(agent) => ("WHERE agent_id = ?1 ORDER BY number LIMIT ?2", vec![agent.as_str().to_owned().into(), limit]),
        None => ("ORDER BY created_at, agent_id, number LIMIT ?1", vec![limit]),
    }
}

/// The sessions of an issue and of runs, oldest first.
pub(crate) fn about(tx: &Tx<'_>, issue: &IssueId, runs: &[&str], limit: u32) -> Result<Vec<Session>> {
    let limit = i64::from(limit);
    let mut all = query(tx, "WHERE issue_id = ?1 ORDER BY created_at, id LIMIT ?2", params![issue, limit])?;
    for chunk in runs.chunks(RUNS_AT_ONCE) {
        let placeholders: Vec<String> = (2..chunk.len() + 2).map(|at| format!("?{at}")).collect();
        let rest = format!("WHERE run_id IN ({}) ORDER BY created_at, id LIMIT ?1", placeholders.join(", "));
        let values: Vec<Param<'_>> =
            [Param::Int(limit)].into_iter().chain(chunk.iter().map(|run| (*run).into())).collect();
        all.extend(query(tx, &rest, &values)?);
    }
    Ok(all)
}

/// The number of an agent's sessions.
pub(crate) fn count(tx: &Tx<'_>, agent: &AgentId) -> Result<i64> {
    let sql = "SELECT COUNT(*) FROM sessions WHERE agent_id = ?1";
    Ok(tx.query_one(sql, params![agent.as_str()], |row| row.int(0))?.unwrap_or_default())
}

/// Inserts the next session of an agent.
pub(crate) fn insert(tx: &Tx<'_>, session: &Session) -> Result<()> {
    let sql = "SELECT COALESCE(MAX(number), 0) + 1 FROM sessions WHERE agent_id = ?1";
    let number = tx.query_one(sql, params![session.agent_id.as_str()], |row| row.int(0))?.unwrap_or(1);
    entity::insert(tx, &SessionRow { number, session: session.clone() })
}

/// Logs that entries are appended to a session; returns the number of the first.
pub(crate) fn log_append(cx: &Context<'_>, tx: &Tx<'_>, id: &SessionId, count: i64) -> Result<i64> {
    let first = entries::next_number(tx)?;
    // Numbers only, because the log is read often and by many.
    let detail = Map::from_iter([("first".to_owned(), json!(first)), ("count".to_owned(), json!(count))]);
    log(cx, tx, id, EventType::Appended, detail)?;
    Ok(first)
}

/// A session in its exchange format.
pub(crate) fn head(tx: &Tx<'_>, session: Session) -> Result<SessionHead> {
    let times = [Some(session.created_at), entries::last_at(tx, &session.id)?, session.ended_at, session.archived_at];
    let updated_at = times.into_iter().flatten().max().unwrap_or(session.created_at);
    Ok(SessionHead { entries: entries::count_of_session(tx, &session.id)?, updated_at, session })
}

/// The newest session of an agent that has not ended, except this one.
pub(crate) fn newest_open(tx: &Tx<'_>, of: &AgentId, except: &SessionId) -> Result<Option<Session>> {
    let rest = "WHERE agent_id = ?1 AND id <> ?2 AND ended_at IS NULL ORDER BY created_at DESC, number DESC LIMIT 1";
    Ok(query(tx, rest, params![of.as_str(), except.as_str()])?.pop())
}

/// Logs an event about a session.
pub(crate) fn log(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    id: &SessionId,
    event_type: EventType,
    detail: Map<String, Value>,
) -> Result<()> {
    events::append(cx, tx, ("session", id.as_str()), None, event_type, detail).map(drop)
}

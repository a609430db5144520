//! Rows of `agents`, and which of them a caller means.

use pensa_core::agent::Agent;
use pensa_core::event::{self, EventType};
use pensa_core::id::{self, AgentId, AgentRef};
use pensa_core::json::{self, ListWriter};
use pensa_core::ops::agent::List;
use pensa_core::session::Object;
use pensa_core::{Code, Error, Result};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::db::{Param, Row, Tx, params};
use crate::tables::events;
use crate::tables::ids::{self, Kind};

const AGENTS: Kind =
    Kind { name: "agent", table: "agents", prefix: AgentId::PREFIX, hint: "pn agent list shows the ids" };

const COLUMNS: &str = "a.id, a.type, a.name, a.parent_id, a.descriptor, a.active_session_id, a.permissions, a.tokens, \
     a.stats, a.lifecycle, a.created_at, a.updated_at";

fn read(row: &Row<'_>) -> Result<Agent> {
    let tokens = row.text_or_null(7)?;
    let tokens = tokens.map(|text| serde_json::from_str::<Object>(&text)).transpose();
    Ok(Agent {
        id: row.parse(0)?,
        agent_type: row.parse(1)?,
        name: row.text_or_null(2)?,
        parent_id: row.parse_or_null(3)?,
        descriptor: row.json(4)?,
        active_session_id: row.parse_or_null(5)?,
        permissions: row.json(6)?,
        tokens: tokens.map_err(|e| Error::new(Code::Corrupt, format!("the tokens of an agent are unreadable: {e}")))?,
        stats: row.json(8)?,
        lifecycle: row.parse(9)?,
        created_at: row.parse(10)?,
        updated_at: row.parse(11)?,
    })
}

fn query(tx: &Tx<'_>, rest: &str, params: &[Param<'_>]) -> Result<Vec<Agent>> {
    tx.query(&format!("SELECT {COLUMNS} FROM agents a {rest}"), params, read)
}

pub(crate) fn get(tx: &Tx<'_>, id: &AgentId) -> Result<Option<Agent>> {
    Ok(query(tx, "WHERE a.id = ?1", params![id.as_str()])?.pop())
}

pub(crate) fn new_id(cx: &Context<'_>, tx: &Tx<'_>) -> Result<AgentId> {
    AGENTS.new_id(tx, || AgentId::from_uuid(cx.uuid()))
}

/// The agent that a caller means.
pub(crate) fn find(tx: &Tx<'_>, wanted: &AgentRef) -> Result<Agent> {
    let mut matches = candidates(tx, wanted.as_str())?;
    if matches.len() > 1 {
        return Err(ids::ambiguous(wanted, matches.iter().map(|agent| agent.id.as_str())));
    }
    matches.pop().ok_or_else(|| AGENTS.unknown(wanted.as_str()))
}

/// The agents that a text may mean: the one with this id, else all with this name, else all whose id begins with it.
pub(crate) fn candidates(tx: &Tx<'_>, text: &str) -> Result<Vec<Agent>> {
    id::check(text)?;
    let named = || query(tx, "WHERE a.name = ?1 ORDER BY a.created_at, a.id LIMIT 6", params![text]);
    if id::is_possible(text)
        && let Some(agent) = get(tx, &text.parse()?)?
    {
        return Ok(vec![agent]);
    }
    let mut matches = named()?;
    if matches.is_empty() {
        for id in AGENTS.candidates(tx, text)? {
            matches.extend(get(tx, &id.parse()?)?);
        }
    }
    Ok(matches)
}

/// The agents that a listing wants.
pub(crate) fn list(tx: &Tx<'_>, wanted: &List) -> Result<Vec<Agent>> {
    let (rest, values) = listing(wanted);
    query(tx, &rest, &values)
}

/// The same as JSON, an agent at a time.
pub(crate) fn write_list(tx: &Tx<'_>, wanted: &List, to: &mut Vec<u8>) -> Result<()> {
    let (rest, values) = listing(wanted);
    let mut list = ListWriter::new(to);
    tx.for_each(&format!("SELECT {COLUMNS} FROM agents a {rest}"), &values, |row| list.item(&read(row)?))?;
    list.end();
    Ok(())
}

fn listing(wanted: &List) -> (String, Vec<Param<'static>>) {
    let (mut conditions, mut values) = (vec!["1 = 1".to_owned()], Vec::new());
    let given = [
        ("type", wanted.agent_type.as_ref().map(ToString::to_string)),
        ("lifecycle", wanted.lifecycle.map(|lifecycle| lifecycle.to_string())),
    ];
    for (column, value) in given {
        if let Some(value) = value {
            values.push(Param::from(value));
            conditions.push(format!("a.{column} = ?{}", values.len()));
        }
    }
    values.push(Param::Int(wanted.limit.map_or(i64::MAX, i64::from)));
    let conditions = conditions.join(" AND ");
    (format!("WHERE {conditions} ORDER BY a.created_at, a.id LIMIT ?{}", values.len()), values)
}

/// The agents that work for another.
pub(crate) fn children(tx: &Tx<'_>, id: &AgentId) -> Result<Vec<Agent>> {
    query(tx, "WHERE a.parent_id = ?1 ORDER BY a.id", params![id.as_str()])
}

pub(crate) fn insert(tx: &Tx<'_>, agent: &Agent) -> Result<()> {
    tx.journal("agent", agent)?;
    tx.send(
        "INSERT INTO agents (id, type, name, parent_id, descriptor, active_session_id, permissions, tokens, stats,
            lifecycle, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        &row(agent)?,
    )
}

pub(crate) fn replace(tx: &Tx<'_>, agent: &Agent) -> Result<()> {
    tx.journal("agent", agent)?;
    tx.send(
        "UPDATE agents SET type = ?2, name = ?3, parent_id = ?4, descriptor = ?5, active_session_id = ?6,
            permissions = ?7, tokens = ?8, stats = ?9, lifecycle = ?10, created_at = ?11, updated_at = ?12
         WHERE id = ?1",
        &row(agent)?,
    )
}

fn row(agent: &Agent) -> Result<[Param<'_>; 12]> {
    Ok([
        agent.id.as_str().into(),
        agent.agent_type.as_str().into(),
        agent.name.as_ref().into(),
        agent.parent_id.as_ref().map(AgentId::as_str).into(),
        json::to_line(&agent.descriptor)?.into(),
        agent.active_session_id.as_ref().map(|id| id.as_str()).into(),
        json::to_line(&agent.permissions)?.into(),
        agent.tokens.as_ref().map(json::to_line).transpose()?.into(),
        json::to_line(&agent.stats)?.into(),
        agent.lifecycle.as_str().into(),
        agent.created_at.into(),
        agent.updated_at.into(),
    ])
}

/// Removes an agent with its sessions and their entries. Nobody may work for it any more.
pub(crate) fn delete(tx: &Tx<'_>, id: &AgentId) -> Result<()> {
    tx.journal("agent_deleted", id)?;
    for sql in [
        "DELETE FROM session_history WHERE session_id IN (SELECT s.id FROM sessions s WHERE s.agent_id = ?1)",
        "UPDATE agents SET active_session_id = NULL WHERE id = ?1",
        "DELETE FROM sessions WHERE agent_id = ?1",
        "DELETE FROM agents WHERE id = ?1",
    ] {
        tx.send(sql, params![id.as_str()])?;
    }
    Ok(())
}

/// Logs what happened to an agent.
pub(crate) fn log(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    id: &AgentId,
    event_type: EventType,
    detail: Map<String, Value>,
) -> Result<()> {
    events::append(cx, tx, ("agent", id.as_str()), None, event_type, detail).map(drop)
}

/// Stores a changed agent and logs the change; leaves everything alone if nothing changed.
pub(crate) fn save(cx: &Context<'_>, tx: &Tx<'_>, old: &Agent, mut new: Agent, event: EventType) -> Result<Agent> {
    let detail = event::differences(Some(old), &new);
    if detail.is_empty() {
        return Ok(new);
    }
    new.updated_at = cx.now;
    replace(tx, &new)?;
    log(cx, tx, &new.id, event, detail)?;
    Ok(new)
}

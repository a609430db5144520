//! Rows of `agents`, and which of them a caller means.

use pensa_core::Result;
use pensa_core::agent::Agent;
use pensa_core::event::{self, EventType};
use pensa_core::id::{self, AgentId, AgentRef};
use pensa_core::ops::agent::List;
use serde_json::{Map, Value};

use crate::context::Context;
use crate::db::{Param, Tx, params};
use crate::entity;
use crate::tables::ids::{self, Kind};
use crate::tables::{events, issues};

const AGENTS: Kind =
    Kind { name: "agent", table: "agents", prefix: AgentId::PREFIX, hint: "pn agent list shows the ids" };

pub(crate) fn get(tx: &Tx<'_>, id: &AgentId) -> Result<Option<Agent>> {
    entity::get(tx, params![id.as_str()])
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
    let named = || entity::query::<Agent>(tx, "WHERE name = ?1 ORDER BY created_at, id LIMIT 6", params![text]);
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
    entity::query::<Agent>(tx, &rest, &values)
}

/// The same as JSON, an agent at a time.
pub(crate) fn write_list(tx: &Tx<'_>, wanted: &List, to: &mut Vec<u8>) -> Result<()> {
    let (rest, values) = listing(wanted);
    entity::write_list::<Agent>(tx, &rest, &values, to)
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
            conditions.push(format!("{column} = ?{}", values.len()));
        }
    }
    values.push(Param::Int(wanted.limit.map_or(i64::MAX, i64::from)));
    let conditions = conditions.join(" AND ");
    (format!("WHERE {conditions} ORDER BY created_at, id LIMIT ?{}", values.len()), values)
}

/// The agents that work for another.
pub(crate) fn children(tx: &Tx<'_>, id: &AgentId) -> Result<Vec<Agent>> {
    entity::query::<Agent>(tx, "WHERE parent_id = ?1 ORDER BY id", params![id.as_str()])
}

/// Removes an agent with its sessions and their entries. Nobody may work for it any more.
pub(crate) fn delete(tx: &Tx<'_>, id: &AgentId) -> Result<()> {
    tx.journal("agent_deleted", id)?;
    delete_sessions(tx, id)?;
    entity::delete::<Agent>(tx, params![id.as_str()]).map(drop)
}

/// Removes the sessions of an agent, which is about to go, and their entries.
pub(crate) fn delete_sessions(tx: &Tx<'_>, id: &AgentId) -> Result<()> {
    for sql in [
        "DELETE FROM session_history WHERE session_id IN (SELECT s.id FROM sessions s WHERE s.agent_id = ?1)",
        "UPDATE agents SET active_session_id = NULL WHERE id = ?1",
        "DELETE FROM sessions WHERE agent_id = ?1",
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
    new.updated_at = if cx.now < old.updated_at { issues::after(cx, old.updated_at) } else { cx.now };
    entity::put(tx, &new)?;
    log(cx, tx, &new.id, event, detail)?;
    Ok(new)
}

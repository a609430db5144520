//! Finds, lists and stores rows of `agents`.

use pensa_core::agent::Agent;
use pensa_core::event::{self, EventType};
use pensa_core::id::{self, AgentId, AgentRef};
use pensa_core::ops::agent::List;
use pensa_core::{Result, Timestamp};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::db::{Param, Tx, params};
use crate::entity;
use crate::tables::ids::{self, IdTable};
use crate::tables::{events, issues, recall};

const AGENTS: IdTable =
    IdTable { name: "agent", table: "agents", prefix: AgentId::PREFIX, hint: "pn agent list shows the ids" };

pub(crate) fn get(tx: &Tx<'_>, id: &AgentId) -> Result<Option<Agent>> {
    entity::get(tx, params![id.as_str()])
}

pub(crate) fn new_id(cx: &Context<'_>, tx: &Tx<'_>) -> Result<AgentId> {
    AGENTS.new_id(tx, || AgentId::from_uuid(cx.uuid()))
}

/// Finds an agent by id, name or id prefix.
pub(crate) fn find(tx: &Tx<'_>, reference: &AgentRef) -> Result<Agent> {
    let mut matches = candidates(tx, reference.as_str())?;
    if matches.len() > 1 {
        return Err(ids::ambiguous(reference, matches.iter().map(|agent| agent.id.as_str())));
    }
    matches.pop().ok_or_else(|| AGENTS.unknown(reference.as_str()))
}

/// The agents that a text may refer to: the one with this id, else all with this name, else all whose id starts with
/// it.
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

/// The agents that match, oldest first.
pub(crate) fn list(tx: &Tx<'_>, request: &List) -> Result<Vec<Agent>> {
    let (rest, values) = listing(request);
    entity::query::<Agent>(tx, &rest, &values)
}

/// Like [`list`], as JSON, one agent at a time.
pub(crate) fn write_list(tx: &Tx<'_>, request: &List, to: &mut Vec<u8>) -> Result<()> {
    let (rest, values) = listing(request);
    entity::write_list::<Agent>(tx, &rest, &values, to)
}

fn listing(request: &List) -> (String, Vec<Param<'static>>) {
    let (mut conditions, mut values) = (vec!["1 = 1".to_owned()], Vec::new());
    let given = [
        ("type", request.agent_type.as_ref().map(ToString::to_string)),
        ("lifecycle", request.lifecycle.map(|lifecycle| lifecycle.to_string())),
    ];
    for (column, value) in given {
        if let Some(value) = value {
            values.push(Param::from(value));
            conditions.push(format!("{column} = ?{}", values.len()));
        }
    }
    values.push(Param::Int(request.limit.map_or(i64::MAX, i64::from)));
    let conditions = conditions.join(" AND ");
    (format!("WHERE {conditions} ORDER BY created_at, id LIMIT ?{}", values.len()), values)
}

/// The agents whose parent is this one.
pub(crate) fn children(tx: &Tx<'_>, id: &AgentId) -> Result<Vec<Agent>> {
    entity::query::<Agent>(tx, "WHERE parent_id = ?1 ORDER BY id", params![id.as_str()])
}

/// A deleted agent, which can still be restored.
pub(crate) fn deleted(tx: &Tx<'_>, id: &AgentId) -> Result<Option<Agent>> {
    Ok(entity::get_hidden(tx, params![id.as_str()])?.filter(|agent: &Agent| agent.deleted_ms.is_some()))
}

/// The agents deleted before a time.
pub(crate) fn deleted_before(tx: &Tx<'_>, until: Timestamp) -> Result<Vec<AgentId>> {
    let sql = "SELECT id FROM agents WHERE deleted_ms IS NOT NULL AND deleted_ms < ?1 ORDER BY id";
    tx.query(sql, params![until.as_millis()], |row| row.parse(0))
}

/// Removes a deleted agent for good, with its sessions, their entries and its previous states. It has no children.
pub(crate) fn purge(tx: &Tx<'_>, id: &AgentId) -> Result<()> {
    tx.journal("agent_purged", id)?;
    let of_agent = "session_id IN (SELECT s.id FROM sessions s WHERE s.agent_id = ?1)";
    recall::touch_entries(tx, of_agent, params![id.as_str()])?;
    for sql in [
        "DELETE FROM changes WHERE entity = 'agents' AND entity_key = ?1",
        "DELETE FROM session_history WHERE session_id IN (SELECT s.id FROM sessions s WHERE s.agent_id = ?1)",
        "UPDATE agents SET active_session_id = NULL WHERE id = ?1",
        "DELETE FROM sessions WHERE agent_id = ?1",
        "DELETE FROM agents WHERE id = ?1",
    ] {
        tx.send(sql, params![id.as_str()])?;
    }
    Ok(())
}

/// Logs an event about an agent.
pub(crate) fn log(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    id: &AgentId,
    event_type: EventType,
    detail: Map<String, Value>,
) -> Result<()> {
    events::append(cx, tx, ("agent", id.as_str()), None, event_type, detail).map(drop)
}

/// Stores a changed agent and logs it; does nothing if nothing changed.
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

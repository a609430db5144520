//! Operations on agents.

use pensa_core::agent::{self, Agent, AgentTransition, Lifecycle};
use pensa_core::event::{self, EventType};
use pensa_core::ops::agent::{Create, Delete, Deleted, Kill, List, Show, Sleep, Update, Wake};
use pensa_core::session::Session;
use pensa_core::sync::AGENTS;
use pensa_core::{Code, Error, Result, text};
use serde_json::Map;

use super::session;
use crate::context::Context;
use crate::db::Tx;
use crate::entity::{self, StoredEntity};
use crate::execute::Execute;
use crate::tables::{agents, entries, sessions, tombstones};

impl Execute for Create {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Agent> {
        let name = text::optional_line("name", self.name.as_ref())?;
        let parent = self.parent.as_ref().map(|parent| agents::find(tx, parent)).transpose()?;
        let links = session::links(cx, tx, &self.session)?;
        let (id, session_id) = (agents::new_id(cx, tx)?, sessions::new_id(cx, tx)?);
        let agent = Agent {
            id: id.clone(),
            agent_type: self.agent_type.into(),
            name,
            parent_id: parent.map(|parent| parent.id),
            descriptor: self.descriptor.clone().unwrap_or_default(),
            active_session_id: Some(session_id.clone()),
            permissions: self.permissions.clone().unwrap_or_default(),
            tokens: None,
            stats: Map::new(),
            lifecycle: Lifecycle::Active,
            created_at: cx.now,
            updated_at: cx.now,
            deleted_ms: None,
            extra: Map::new(),
        };
        agent.check()?;
        let first = session::first(cx, session_id, id, links);
        create(cx, tx, &agent, &first)?;
        Ok(agent)
    }
}

impl Execute for List {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Agent>> {
        agents::list(tx, self)
    }

    fn write_json(&self, _: &Context<'_>, tx: &Tx<'_>, to: &mut Vec<u8>) -> Result<()> {
        agents::write_list(tx, self, to)
    }
}

impl Execute for Show {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Agent> {
        agents::find(tx, &self.id)
    }
}

impl Execute for Update {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Agent> {
        if self.is_empty() {
            return Err(Error::invalid("nothing to update").hint("give at least one field to change"));
        }
        let agent = agents::find(tx, &self.id)?;
        let mut edited = agent.clone();
        self.edit(&mut edited)?;
        agents::save(cx, tx, &agent, edited, EventType::Updated)
    }
}

/// Applies a transition to an agent and logs it.
fn advance(cx: &Context<'_>, tx: &Tx<'_>, agent: Agent, step: AgentTransition, event: EventType) -> Result<Agent> {
    let mut moved = agent.clone();
    if !agent::apply(&mut moved, step)? {
        return Ok(agent);
    }
    agents::save(cx, tx, &agent, moved, event)
}

impl Execute for Sleep {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Agent> {
        advance(cx, tx, agents::find(tx, &self.id)?, AgentTransition::Sleep, EventType::Slept)
    }
}

impl Execute for Wake {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Agent> {
        advance(cx, tx, agents::find(tx, &self.id)?, AgentTransition::Wake, EventType::Woken)
    }
}

impl Execute for Kill {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Agent> {
        advance(cx, tx, agents::find(tx, &self.id)?, AgentTransition::Kill, EventType::Killed)
    }
}

impl Execute for Delete {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Deleted> {
        let agent = agents::find(tx, &self.id)?;
        let (sessions, entries) = (sessions::count(tx, &agent.id)?, entries::count(tx, &agent.id)?);
        if !self.force {
            let message = format!("cannot delete {}: it has {}", agent.id, held(sessions, entries));
            return Err(Error::new(Code::Conflict, message)
                .hint("pn agent kill ends it and keeps what it has said; --force deletes all of it, until pn undo"));
        }
        tombstones::write_tombstone(cx, tx, &AGENTS, agent.id.as_str(), Some(agent.updated_at))?;
        Agent::remove(cx, tx, &agent)?;
        if self.purge {
            agents::purge(tx, &agent.id)?;
        }
        Ok(Deleted { status: "deleted".into(), id: agent.id, sessions, entries })
    }
}

impl StoredEntity for Agent {
    /// Statistics and the active session change often, and are not undoable.
    const UNDOABLE_COLUMNS: Option<&'static [&'static str]> =
        Some(&["type", "name", "parent_id", "descriptor", "permissions", "lifecycle", "deleted_ms"]);

    /// Stores an agent that was created or changed by sync or undo. Its active session stays.
    fn store(cx: &Context<'_>, tx: &Tx<'_>, old: Option<&Self>, new: &Self) -> Result<()> {
        if let Some(old) = old {
            entity::put(tx, new)?;
            return agents::log(cx, tx, &new.id, EventType::Updated, event::differences(Some(old), new));
        }
        if let Some(Agent { active_session_id, permissions, tokens, .. }) = agents::deleted(tx, &new.id)? {
            // Restored agents keep their sessions.
            let back = Agent { active_session_id, permissions, tokens, ..new.clone() };
            entity::put(tx, &back)?;
            return agents::log(cx, tx, &back.id, EventType::Created, event::differences(None, &back));
        }
        let first = session::first(cx, sessions::new_id(cx, tx)?, new.id.clone(), session::Links::default());
        create(cx, tx, &Agent { active_session_id: Some(first.id.clone()), ..new.clone() }, &first)
    }

    /// Marks an agent and its sessions as deleted. It has no children.
    fn remove(cx: &Context<'_>, tx: &Tx<'_>, agent: &Self) -> Result<()> {
        let (sessions, entries) = (sessions::count(tx, &agent.id)?, entries::count(tx, &agent.id)?);
        for child in agents::children(tx, &agent.id)? {
            let mut freed = child.clone();
            freed.parent_id = None;
            agents::save(cx, tx, &child, freed, EventType::Updated)?;
        }
        entity::put(tx, &Agent { deleted_ms: Some(cx.now.as_millis()), ..agent.clone() })?;
        let mut detail = Self::event_detail(Some(agent), None);
        detail.insert("sessions".into(), sessions.into());
        detail.insert("entries".into(), entries.into());
        agents::log(cx, tx, &agent.id, EventType::Deleted, detail)
    }
}

/// Stores an agent with its first session.
fn create(cx: &Context<'_>, tx: &Tx<'_>, agent: &Agent, first: &Session) -> Result<()> {
    entity::insert(tx, agent)?;
    agents::log(cx, tx, &agent.id, EventType::Created, event::differences(None, agent))?;
    sessions::insert(tx, first)?;
    sessions::log(cx, tx, &first.id, EventType::Opened, event::differences(None, first))
}

fn held(sessions: i64, entries: i64) -> String {
    let counted = |count: i64, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    format!("{} with {}", counted(sessions, "session", "sessions"), counted(entries, "entry", "entries"))
}

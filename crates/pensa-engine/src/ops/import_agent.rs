//! Imports an agent from another tool.

use pensa_core::agent::Agent;
use pensa_core::event::{self, EventType};
use pensa_core::id::{AgentId, SessionId};
use pensa_core::issue::Extra;
use pensa_core::ops::agent::{Import, Imported, ImportedSession};
use pensa_core::session::Session;
use pensa_core::{Error, Result, Timestamp, text};
use serde_json::Map;

use super::session::stored;
use crate::context::Context;
use crate::db::Tx;
use crate::entity;
use crate::execute::Execute;
use crate::tables::{agents, entries, sessions};

impl Execute for Import {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Imported> {
        let parent = self.parent_id.as_ref().filter(|parent| **parent != self.id);
        let parent_id = parent.map(|parent| agents::get(tx, parent)).transpose()?.flatten().map(|parent| parent.id);
        let mut imported = Imported {
            id: self.id.clone(),
            imported: false,
            parent_missing: parent.is_some() && parent_id.is_none(),
            sessions: 0,
            entries: 0,
            redactions: 0,
        };
        if let Some(here) = agents::get(tx, &self.id)? {
            if here.parent_id.is_none() && parent_id.is_some() {
                let adopted = Agent { parent_id, ..here.clone() };
                agents::save(cx, tx, &here, adopted, EventType::Updated)?;
            }
            return Ok(imported);
        }
        let ids = self.sessions.iter().map(|_| sessions::new_id(cx, tx)).collect::<Result<Vec<_>>>()?;
        let Some(last) = ids.last() else {
            return Err(Error::invalid(format!("{} has no session", self.id)).hint("one without entries is enough"));
        };
        let agent = new_agent(cx, self, parent_id, last)?;
        if agents::deleted(tx, &self.id)?.is_some() {
            agents::purge(tx, &self.id)?;
        }
        entity::insert(tx, &agent)?;
        agents::log(cx, tx, &agent.id, EventType::Imported, event::differences(None, &agent))?;
        for (at, (id, given)) in ids.into_iter().zip(&self.sessions).enumerate() {
            let ended_at = self.sessions.get(at + 1).map(|next| next.created_at.unwrap_or(agent.created_at));
            let position = SessionPosition { id, started_at: given.created_at.unwrap_or(agent.created_at), ended_at };
            insert_session(cx, tx, self, given, position, &mut imported)?;
        }
        (imported.imported, imported.redactions) = (true, cx.redacted());
        Ok(imported)
    }
}

fn new_agent(cx: &Context<'_>, given: &Import, parent_id: Option<AgentId>, active: &SessionId) -> Result<Agent> {
    let created_at = given.created_at.unwrap_or(cx.now);
    let agent = Agent {
        id: given.id.clone(),
        agent_type: given.agent_type.clone(),
        name: text::optional_line("name", given.name.as_ref())?,
        parent_id,
        descriptor: given.descriptor.clone(),
        active_session_id: Some(active.clone()),
        permissions: given.permissions.clone(),
        tokens: given.tokens.clone(),
        stats: given.stats.clone(),
        lifecycle: given.lifecycle,
        created_at,
        updated_at: given.updated_at.unwrap_or(created_at),
        deleted_ms: None,
        extra: Extra::new(),
    };
    agent.check()?;
    Ok(agent)
}

/// Id and times of an imported session.
struct SessionPosition {
    id: SessionId,
    /// The agent's creation time if unknown
    started_at: Timestamp,
    ended_at: Option<Timestamp>,
}

/// Inserts a session with its entries.
fn insert_session(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    import: &Import,
    given: &ImportedSession,
    SessionPosition { id, started_at, ended_at }: SessionPosition,
    imported: &mut Imported,
) -> Result<()> {
    let reset_message = given.reset_message.clone();
    if let Some(message) = &reset_message {
        text::fits_block("reset message", message)?;
    }
    let session = Session {
        id,
        agent_id: import.id.clone(),
        opened_by: given.opened_by,
        inference_session_id: text::optional_line("inference session", given.inference_session_id.as_ref())?,
        reset_message,
        issue_id: None,
        run_id: None,
        created_at: started_at,
        ended_at,
        archived_at: None,
        extra: Map::new(),
    };
    sessions::insert(tx, &session)?;
    sessions::log(cx, tx, &session.id, EventType::Opened, event::differences(None, &session))?;
    let mut stored = stored(&given.entries)?;
    let count = i64::try_from(stored.len()).map_err(Error::internal)?;
    if count > 0 {
        let first = sessions::log_append(cx, tx, &session.id, count)?;
        entries::append(tx, &session.id, &mut stored, first, session.created_at)?;
    }
    imported.sessions += 1;
    imported.entries += count;
    Ok(())
}

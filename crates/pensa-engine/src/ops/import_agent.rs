//! Taking in an agent that lived elsewhere.

use pensa_core::agent::Agent;
use pensa_core::event::{self, EventType};
use pensa_core::id::{AgentId, SessionId};
use pensa_core::ops::agent::{Import, Imported, ImportedSession};
use pensa_core::session::Session;
use pensa_core::{Error, Result, Timestamp, text};
use serde_json::{Map, json};

use super::session::stored;
use crate::context::Context;
use crate::db::Tx;
use crate::entity;
use crate::execute::Execute;
use crate::tables::{agents, entries, sessions};

impl Execute for Import {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Imported> {
        let wanted = self.parent_id.as_ref().filter(|parent| **parent != self.id);
        let parent_id = wanted.map(|parent| agents::get(tx, parent)).transpose()?.flatten().map(|parent| parent.id);
        let mut told = Imported {
            id: self.id.clone(),
            imported: false,
            parent_missing: wanted.is_some() && parent_id.is_none(),
            sessions: 0,
            entries: 0,
            redactions: 0,
        };
        if let Some(here) = agents::get(tx, &self.id)? {
            if here.parent_id.is_none() && parent_id.is_some() {
                let adopted = Agent { parent_id, ..here.clone() };
                agents::save(cx, tx, &here, adopted, EventType::Updated)?;
            }
            return Ok(told);
        }
        let ids = self.sessions.iter().map(|_| sessions::new_id(cx, tx)).collect::<Result<Vec<_>>>()?;
        let Some(last) = ids.last() else {
            return Err(Error::invalid(format!("{} has no session", self.id)).hint("one without entries is enough"));
        };
        let agent = agent(cx, self, parent_id, last)?;
        entity::insert(tx, &agent)?;
        agents::log(cx, tx, &agent.id, EventType::Imported, event::differences(None, &agent))?;
        for (at, (id, given)) in ids.into_iter().zip(&self.sessions).enumerate() {
            let ended_at = self.sessions.get(at + 1).map(|next| next.created_at.unwrap_or(agent.created_at));
            let place = Place { id, begun_at: given.created_at.unwrap_or(agent.created_at), ended_at };
            session(cx, tx, self, given, place, &mut told)?;
        }
        (told.imported, told.redactions) = (true, cx.redacted());
        Ok(told)
    }
}

fn agent(cx: &Context<'_>, given: &Import, parent_id: Option<AgentId>, active: &SessionId) -> Result<Agent> {
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
    };
    agent.check()?;
    Ok(agent)
}

/// Where a session stands among the others.
struct Place {
    id: SessionId,
    /// As old as its agent, if nothing else is known.
    begun_at: Timestamp,
    ended_at: Option<Timestamp>,
}

/// Adds a session with its entries.
fn session(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    import: &Import,
    given: &ImportedSession,
    Place { id, begun_at, ended_at }: Place,
    told: &mut Imported,
) -> Result<()> {
    let reset_message = given.reset_message.clone();
    if let Some(message) = &reset_message {
        text::fits_block("reset message", message)?;
    }
    let made = Session {
        id,
        agent_id: import.id.clone(),
        opened_by: given.opened_by,
        inference_session_id: text::optional_line("inference session", given.inference_session_id.as_ref())?,
        reset_message,
        issue_id: None,
        run_id: None,
        created_at: begun_at,
        ended_at,
        archived_at: None,
    };
    sessions::insert(tx, &made)?;
    sessions::log(cx, tx, &made.id, EventType::Opened, event::differences(None, &made))?;
    let mut stored = stored(&given.entries)?;
    let count = i64::try_from(stored.len()).map_err(Error::internal)?;
    if count > 0 {
        let first = entries::next_number(tx)?;
        let detail = Map::from_iter([("first".to_owned(), json!(first)), ("count".to_owned(), json!(count))]);
        sessions::log(cx, tx, &made.id, EventType::Appended, detail)?;
        entries::append(tx, &made.id, &mut stored, first, made.created_at)?;
    }
    told.sessions += 1;
    told.entries += count;
    Ok(())
}

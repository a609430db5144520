//! Does again what the journal says was done to agents, sessions and entries.

use pensa_core::id::SessionId;
use pensa_core::session::{Entry, Session};
use pensa_core::{Result, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::read;
use crate::db::{Tx, params};
use crate::tables::{agents, entries, sessions};

/// A row of `sessions` as the journal has it: also which of the agent's sessions it is.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SessionRow<S> {
    pub(crate) number: i64,
    #[serde(flatten)]
    pub(crate) session: S,
}

/// Does one item again.
pub(super) fn apply(tx: &Tx<'_>, kind: &str, value: Value) -> Result<()> {
    match kind {
        "agent_deleted" => agents::delete_sessions(tx, &read(value)?)?,
        "session" => put_session(tx, &read(value)?)?,
        "session_ended" => {
            let (id, at): (SessionId, Timestamp) = read(value)?;
            sessions::end(tx, &id, at)?;
        }
        "session_archived" => {
            let (id, at): (SessionId, Timestamp) = read(value)?;
            sessions::archive(tx, &id, at)?;
        }
        "session_deleted" => sessions::delete(tx, &read(value)?)?,
        "entry" => put_entry(tx, &read(value)?)?,
        _ => {}
    }
    Ok(())
}

/// Takes out what refers to something that is lost.
pub(super) fn settle(tx: &Tx<'_>) -> Result<()> {
    for sql in [
        "DELETE FROM sessions WHERE agent_id NOT IN (SELECT id FROM agents)",
        "DELETE FROM session_history WHERE session_id NOT IN (SELECT id FROM sessions)",
        "UPDATE agents SET parent_id = NULL WHERE parent_id NOT IN (SELECT id FROM agents)",
        "UPDATE agents SET active_session_id =
            (SELECT s.id FROM sessions s WHERE s.agent_id = agents.id ORDER BY s.number DESC LIMIT 1)
         WHERE active_session_id NOT IN (SELECT id FROM sessions)",
    ] {
        tx.execute(sql, params![])?;
    }
    Ok(())
}

fn put_session(tx: &Tx<'_>, row: &SessionRow<Session>) -> Result<()> {
    tx.send("DELETE FROM sessions WHERE id = ?1", params![row.session.id.as_str()])?;
    sessions::put(tx, &row.session, row.number)
}

fn put_entry(tx: &Tx<'_>, entry: &Entry) -> Result<()> {
    tx.send("DELETE FROM session_history WHERE id = ?1", params![entry.id])?;
    entries::insert(tx, entry)
}

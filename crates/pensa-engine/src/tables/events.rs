//! The log of an issue.

use pensa_core::event::{Event, EventType};
use pensa_core::id::IssueId;
use pensa_core::{Error, Result};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::db::{NewEvent, Row, Tx, params};

/// Logs what happened to an issue.
pub(crate) fn log(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    id: &IssueId,
    event_type: EventType,
    detail: Map<String, Value>,
) -> Result<()> {
    // The row of a deleted issue is gone, so its last event stands on its own.
    let issue_id = (event_type != EventType::Deleted).then_some(id);
    tx.append_event(&NewEvent {
        subject_kind: "issue",
        subject_id: id.as_str(),
        issue_id,
        event_type,
        actor: &cx.actor,
        detail,
        at: cx.now,
    })
}

fn read(row: &Row<'_>) -> Result<Event> {
    Ok(Event {
        id: row.int(0)?,
        issue_id: row.parse(1)?,
        event_type: row.text(2)?,
        actor: row.text(3)?,
        detail: serde_json::from_str(&row.text(4)?).map_err(Error::internal)?,
        created_at: row.parse(5)?,
    })
}

/// What happened to an issue, newest first.
pub(crate) fn of_issue(tx: &Tx<'_>, id: &IssueId, limit: i64) -> Result<Vec<Event>> {
    tx.query(
        "SELECT id, issue_id, event_type, actor, detail, created_at FROM events
         WHERE issue_id = ?1 AND subject_kind = 'issue' ORDER BY id DESC LIMIT ?2",
        params![id, limit],
        read,
    )
}

/// Whether the last that `actor` had to do with the claim of an issue was to lose it with its lease.
pub(crate) fn lost_lease(tx: &Tx<'_>, id: &IssueId, actor: &str) -> Result<bool> {
    let claims = tx.query(
        "SELECT event_type, actor, detail FROM events
         WHERE issue_id = ?1 AND event_type IN ('claimed', 'released', 'lease_expired') ORDER BY id DESC",
        params![id],
        |row| Ok((row.text(0)?, row.text(1)?, row.text(2)?)),
    )?;
    for (event_type, by, detail) in claims {
        let detail: Value = serde_json::from_str(&detail).map_err(Error::internal)?;
        let former = detail["assignee"]["old"].as_str();
        if (event_type == "claimed" && by == actor) || (event_type == "released" && former == Some(actor)) {
            return Ok(false);
        }
        if event_type == "lease_expired" && former == Some(actor) {
            return Ok(true);
        }
    }
    Ok(false)
}

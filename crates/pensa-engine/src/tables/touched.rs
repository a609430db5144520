//! Finds the issues that were changed since an event, including their dependencies and comments.
//!
//! Caches of issue data use this to update only what changed.

use pensa_core::Result;
use pensa_core::event::EventType;
use pensa_core::id::IssueId;

use crate::db::{Tx, params};

/// Subjects whose events never change issues, dependencies or comments.
const UNRELATED_KINDS: [&str; 21] = [
    "agent",
    "collection",
    "harness",
    "job",
    "kv",
    "learning",
    "lock",
    "loop",
    "record",
    "release",
    "repo",
    "run",
    "runtime",
    "session",
    "signal",
    "skill",
    "skills",
    "snapshot",
    "view",
    "work",
    "workspace",
];

/// The issues changed after an event, by id; `None` if more issues may have changed, or if there were more than `max_events`
/// events.
pub(crate) fn since(tx: &Tx<'_>, line: i64, max_events: i64) -> Result<Option<Vec<IssueId>>> {
    // An issue with a new id is logged under its old id, which callers may not find any more.
    let sql =
        "SELECT subject_kind, subject_id, event_type, CAST(instr(detail, '\"id\":{\"old\":\"') AS BIGINT), issue_id
               FROM events WHERE id > ?1 ORDER BY id LIMIT ?2";
    let log = tx.query(sql, params![line, max_events + 1], |row| {
        Ok((row.text(0)?, row.text(1)?, row.text(2)?, row.int(3)? > 0, row.parse_or_null(4)?))
    })?;
    if log.len() as i64 > max_events {
        return Ok(None);
    }
    let mut touched: Vec<IssueId> = Vec::new();
    for (kind, subject, event, is_renamed, issue) in log {
        match (kind.as_str(), issue) {
            ("issue", _) if !is_sweeping(&event) && !is_renamed => touched.push(subject.parse()?),
            (other, _) if UNRELATED_KINDS.contains(&other) => {}
            // Something attached to an issue.
            (other, Some(issue)) if other != "issue" && !is_renamed => touched.push(issue),
            _ => return Ok(None),
        }
    }
    touched.sort();
    touched.dedup();
    Ok(Some(touched))
}

/// Whether the event may have changed more than its own issue.
fn is_sweeping(event: &str) -> bool {
    [
        EventType::Deleted,
        EventType::Undone,
        EventType::Redone,
        EventType::ConflictResolved,
        EventType::Imported,
        EventType::Restored,
    ]
    .iter()
    .any(|sweeping| sweeping.as_str() == event)
}

//! Which issues were touched since a line of the log: they, what they depend on, or what was said about them.
//!
//! What is to be done about those is left to whoever keeps something that was made of issues.

use pensa_core::Result;
use pensa_core::event::EventType;
use pensa_core::id::IssueId;

use crate::db::{Tx, params};

/// Subjects whose events say nothing of issues, their dependencies and comments.
const OTHERS: [&str; 20] = [
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
    "work",
    "workspace",
];

/// The issues that were touched after a line, in their order; nothing if more may have been, or if that is more than so
/// many lines ago.
pub(crate) fn since(tx: &Tx<'_>, line: i64, most: i64) -> Result<Option<Vec<IssueId>>> {
    // One that got another id is told by what it was called: others may still call it that.
    let sql =
        "SELECT subject_kind, subject_id, event_type, CAST(instr(detail, '\"id\":{\"old\":\"') AS BIGINT), issue_id
               FROM events WHERE id > ?1 ORDER BY id LIMIT ?2";
    let log = tx.query(sql, params![line, most + 1], |row| {
        Ok((row.text(0)?, row.text(1)?, row.text(2)?, row.int(3)? > 0, row.parse_or_null(4)?))
    })?;
    if log.len() as i64 > most {
        return Ok(None);
    }
    let mut touched: Vec<IssueId> = Vec::new();
    for (kind, subject, event, is_renamed, issue) in log {
        match (kind.as_str(), issue) {
            ("issue", _) if !is_sweeping(&event) && !is_renamed => touched.push(subject.parse()?),
            (other, _) if OTHERS.contains(&other) => {}
            // Something that belongs to an issue.
            (other, Some(issue)) if other != "issue" && !is_renamed => touched.push(issue),
            _ => return Ok(None),
        }
    }
    touched.sort();
    touched.dedup();
    Ok(Some(touched))
}

/// Whether more than the event's own issue may have changed with it.
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

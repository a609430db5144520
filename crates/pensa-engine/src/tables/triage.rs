//! What triage looks at: a few columns of issues that are not closed, what waits for what, and when issues were closed.

use std::collections::{BTreeMap, HashMap};

use pensa_core::event::LogEntry;
use pensa_core::id::IssueId;
use pensa_core::issue::Status;
use pensa_core::time::Date;
use pensa_core::triage::chart::StatusHistory;
use pensa_core::triage::{Input, OpenIssue};
use pensa_core::{Result, Timestamp};

use super::deps::WAITS;
use super::events::read_entry;
use crate::db::{Row, Tx, params};

const ITEMS: &str = "SELECT id, title, issue_type, status, priority, assignee, created_at, updated_at,
     estimate, defer FROM issues
     WHERE status <> 'closed'";

fn item(row: &Row<'_>) -> Result<OpenIssue> {
    Ok(OpenIssue {
        id: row.parse(0)?,
        title: row.text(1)?,
        issue_type: row.parse(2)?,
        status: row.parse(3)?,
        priority: row.parse(4)?,
        assignee: row.text_or_null(5)?,
        created_at: row.parse(6)?,
        updated_at: row.parse(7)?,
        estimate: row.parse_or_null(8)?,
        defer: row.parse_or_null::<Date>(9)?.map(Date::start),
    })
}

/// Everything that is not closed. When issues were closed is read only if it is wanted.
pub(crate) fn input(tx: &Tx<'_>, now: Timestamp, with_closings: bool) -> Result<Input> {
    let issues = tx.query(ITEMS, params![], item)?;
    let ids: HashMap<&str, &IssueId> = issues.iter().map(|item| (item.id.as_str(), &item.id)).collect();
    let mut waits = Vec::new();
    tx.for_each(WAITS, params![], |row| {
        if let (Some(from), Some(to)) = (ids.get(row.str(0)?), ids.get(row.str(1)?)) {
            waits.push(((*from).clone(), (*to).clone()));
        }
        Ok(())
    })?;
    let closings = match with_closings {
        true => tx.query("SELECT closed_at FROM issues WHERE status = 'closed'", params![], |row| row.parse(0))?,
        false => Vec::new(),
    };
    Ok(Input { issues, waits, closings, now })
}

/// Hands over what the log has on issues from one time to before another, oldest first.
pub(crate) fn log_between(
    tx: &Tx<'_>,
    since: Timestamp,
    until: Timestamp,
    mut each: impl FnMut(&LogEntry),
) -> Result<()> {
    tx.for_each(
        "SELECT id, subject_kind, subject_id, issue_id, event_type, actor, detail, created_at FROM events
         WHERE subject_kind = 'issue' AND created_at >= ?1 AND created_at < ?2 ORDER BY id",
        params![since, until],
        |row| {
            each(&read_entry(row)?);
            Ok(())
        },
    )
}

/// The titles of these issues, as far as they are there.
pub(crate) fn titles<'a>(tx: &Tx<'_>, ids: impl Iterator<Item = &'a IssueId>) -> Result<BTreeMap<IssueId, String>> {
    let mut titles = BTreeMap::new();
    for id in ids {
        let title = tx.query_one("SELECT title FROM issues WHERE id = ?1", params![id], |row| row.text(0))?;
        titles.extend(title.map(|title| (id.clone(), title)));
    }
    Ok(titles)
}

/// The life of every issue, by its status.
pub(crate) fn lives(tx: &Tx<'_>) -> Result<Vec<StatusHistory>> {
    let mut lives = tx.query("SELECT id, created_at, status, closed_at FROM issues ORDER BY id", params![], |row| {
        let [id, created_at] = [row.text(0)?, row.text(1)?];
        let (id, created_at) = (id.try_into()?, created_at.parse()?);
        Ok(StatusHistory {
            id,
            created_at,
            status: row.parse(2)?,
            closed_at: row.parse_or_null(3)?,
            changes: Vec::new(),
        })
    })?;
    let places: HashMap<IssueId, usize> = lives.iter().enumerate().map(|(at, life)| (life.id.clone(), at)).collect();
    let changed = "SELECT id, subject_kind, subject_id, issue_id, event_type, actor, detail, created_at FROM events
         WHERE issue_id IS NOT NULL AND subject_kind = 'issue' AND event_type <> 'created'
         AND instr(detail, '\"status\":{') > 0 ORDER BY id";
    tx.for_each(changed, params![], |row| {
        let entry = read_entry(row)?;
        let status = |side: &str| entry.detail["status"][side].as_str()?.parse::<Status>().ok();
        let place = entry.issue_id.as_ref().and_then(|id| places.get(id));
        if let (Some(place), Some(old), Some(new)) = (place, status("old"), status("new")) {
            lives[*place].changes.push((entry.created_at, old, new));
        }
        Ok(())
    })?;
    Ok(lives)
}

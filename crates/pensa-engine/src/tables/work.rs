//! Rows of `work`, joined with the state of their issues.

use pensa_core::Result;
use pensa_core::entity::Entity;
use pensa_core::event::{self, EventType};
use pensa_core::id::IssueId;
use pensa_core::work::{Work, WorkIssue, WorkRecord, WorkStatus};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::db::{Param, Row, Tx, params};
use crate::entity::{self, from_row};
use crate::tables::{events, issues};

/// A work row, and the state of its issue if that exists.
type WorkAndIssue = (WorkRecord, Option<WorkIssue>);

fn read(row: &Row<'_>) -> Result<WorkAndIssue> {
    let piece: WorkRecord = from_row(row)?;
    let at = WorkRecord::SCHEMA.columns.len();
    let ground = match row.text_or_null(at)? {
        Some(title) => Some(WorkIssue {
            title,
            status: row.parse(at + 1)?,
            assignee: row.text_or_null(at + 2)?,
            closed_at: row.parse_or_null(at + 3)?,
        }),
        None => None,
    };
    Ok((piece, ground))
}

fn query(tx: &Tx<'_>, rest: &str, params: &[Param<'_>]) -> Result<Vec<WorkAndIssue>> {
    let columns = entity::columns::<WorkRecord>("w");
    let sql = format!(
        "SELECT {columns}, i.title, i.status, i.assignee, i.closed_at
         FROM work w LEFT JOIN issues i ON i.id = w.issue_id {rest}"
    );
    tx.query(&sql, params, read)
}

/// The stored work on an issue.
pub(crate) fn get(tx: &Tx<'_>, issue: &IssueId) -> Result<Option<WorkRecord>> {
    entity::get(tx, params![issue])
}

/// An actor's rows with the stored status `active`, which the issue's state may have made obsolete. More than one only
/// if an old version wrote them.
pub(crate) fn stored_active(tx: &Tx<'_>, actor: &str) -> Result<Vec<WorkAndIssue>> {
    query(tx, "WHERE w.actor = ?1 AND w.status = 'active' ORDER BY w.updated_at DESC, w.issue_id", params![actor])
}

/// The actor's active work.
pub(crate) fn current(tx: &Tx<'_>, actor: &str) -> Result<Option<Work>> {
    let rows = stored_active(tx, actor)?;
    Ok(with_effective_status(rows).find(|work| work.status == WorkStatus::Active))
}

/// Work with its effective status; rows whose issue is gone are dropped.
fn with_effective_status(rows: Vec<WorkAndIssue>) -> impl Iterator<Item = Work> {
    rows.into_iter().filter_map(|(piece, ground)| Some(Work::of(piece, &ground?)))
}

/// Work with its effective status, last updated first.
pub(crate) fn list(
    tx: &Tx<'_>,
    status: Option<WorkStatus>,
    actor: Option<&str>,
    limit: Option<u32>,
) -> Result<Vec<Work>> {
    // Rows stored as paused or done never become active by themselves, so these conditions cover all matches.
    let status_matches = match status {
        Some(WorkStatus::Active) => "w.status = 'active'",
        Some(WorkStatus::Paused) => "w.status <> 'done' AND i.status <> 'closed'",
        Some(WorkStatus::Done) => "(w.status = 'done' OR i.status = 'closed')",
        None => "1 = 1",
    };
    let actor_matches = if actor.is_some() { "w.actor = ?2" } else { "?2 = ''" };
    // A row stored as active may be paused effectively, so the filter below decides, and the limit must wait.
    let sql_limit = if matches!(status, Some(WorkStatus::Active | WorkStatus::Paused)) { None } else { limit };
    let rest = format!(
        "WHERE i.id IS NOT NULL AND {status_matches} AND {actor_matches} ORDER BY w.updated_at DESC, w.issue_id LIMIT ?1"
    );
    let sql_limit = Param::Int(sql_limit.map_or(i64::MAX, i64::from));
    let rows = query(tx, &rest, &[sql_limit, actor.unwrap_or_default().into()])?;
    let matching = with_effective_status(rows).filter(|work| status.is_none_or(|status| work.status == status));
    Ok(matching.take(limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))).collect())
}

/// Branches in which everything ends up, so that they say nothing about one issue.
const SHARED_BRANCHES: [&str; 5] = ["main", "master", "trunk", "develop", "HEAD"];

/// The issue whose work is done in this branch, last started first.
pub(crate) fn on_branch(tx: &Tx<'_>, branch: &str) -> Result<Option<IssueId>> {
    if SHARED_BRANCHES.contains(&branch) {
        return Ok(None);
    }
    let sql = "SELECT w.issue_id FROM work w JOIN issues i ON i.id = w.issue_id WHERE w.branch = ?1
         ORDER BY w.started_at DESC, w.issue_id LIMIT 1";
    tx.query_one(sql, params![branch], |row| row.parse(0))
}

/// Stores changed work and logs it; does nothing if nothing changed. There may be many steps, so the event has `note`
/// instead of them.
pub(crate) fn save(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    old: Option<&WorkRecord>,
    mut new: WorkRecord,
    event: EventType,
    note: Map<String, Value>,
) -> Result<WorkRecord> {
    let mut detail = event::differences(old, &new);
    if detail.is_empty() {
        return Ok(new);
    }
    if old.is_some() {
        detail.remove("steps");
    }
    detail.extend(note);
    let last = old.map_or(new.updated_at, |old| old.updated_at);
    new.updated_at = if cx.now < last { issues::after(cx, last) } else { cx.now };
    entity::put(tx, &new)?;
    events::append(cx, tx, ("work", new.issue_id.as_str()), None, event, detail)?;
    Ok(new)
}

//! Rows of `work`, each with what has to be known of its issue.

use pensa_core::Result;
use pensa_core::event::{self, EventType};
use pensa_core::id::IssueId;
use pensa_core::work::{Ground, Piece, Work, WorkStatus};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::db::{Param, Row, Tx, params};
use crate::entity::{self, from_row};
use crate::tables::{events, issues};

/// Work as it was left, and its issue if that is there.
type Found = (Piece, Option<Ground>);

fn read(row: &Row<'_>) -> Result<Found> {
    let piece: Piece = from_row(row)?;
    let ground = match row.text_or_null(10)? {
        Some(title) => Some(Ground {
            title,
            status: row.parse(11)?,
            assignee: row.text_or_null(12)?,
            closed_at: row.parse_or_null(13)?,
        }),
        None => None,
    };
    Ok((piece, ground))
}

fn query(tx: &Tx<'_>, rest: &str, params: &[Param<'_>]) -> Result<Vec<Found>> {
    let columns = entity::columns::<Piece>("w");
    let sql = format!(
        "SELECT {columns}, i.title, i.status, i.assignee, i.closed_at
         FROM work w LEFT JOIN issues i ON i.id = w.issue_id {rest}"
    );
    tx.query(&sql, params, read)
}

/// Work on an issue, as it was left.
pub(crate) fn get(tx: &Tx<'_>, issue: &IssueId) -> Result<Option<Piece>> {
    entity::get(tx, params![issue])
}

/// What was left as the active work of an actor, whether that still holds or not. More than one only if an old version
/// wrote it.
pub(crate) fn left_active(tx: &Tx<'_>, actor: &str) -> Result<Vec<Found>> {
    query(tx, "WHERE w.actor = ?1 AND w.status = 'active' ORDER BY w.updated_at DESC, w.issue_id", params![actor])
}

/// What an actor is doing.
pub(crate) fn current(tx: &Tx<'_>, actor: &str) -> Result<Option<Work>> {
    let found = left_active(tx, actor)?;
    Ok(standing(found).find(|work| work.status == WorkStatus::Active))
}

/// What of it has an issue, as it stands.
fn standing(found: Vec<Found>) -> impl Iterator<Item = Work> {
    found.into_iter().filter_map(|(piece, ground)| Some(Work::of(piece, &ground?)))
}

/// Work as it stands, what was touched last first.
pub(crate) fn list(
    tx: &Tx<'_>,
    status: Option<WorkStatus>,
    actor: Option<&str>,
    limit: Option<u32>,
) -> Result<Vec<Work>> {
    // What was left as paused or done is never active again by itself, so these are all that can stand there.
    let left = match status {
        Some(WorkStatus::Active) => "w.status = 'active'",
        Some(WorkStatus::Paused) => "w.status <> 'done' AND i.status <> 'closed'",
        Some(WorkStatus::Done) => "(w.status = 'done' OR i.status = 'closed')",
        None => "1 = 1",
    };
    let of = if actor.is_some() { "w.actor = ?2" } else { "?2 = ''" };
    // What was left as active may be paused by now, and is taken out below.
    let most = if matches!(status, Some(WorkStatus::Active | WorkStatus::Paused)) { None } else { limit };
    let rest = format!("WHERE i.id IS NOT NULL AND {left} AND {of} ORDER BY w.updated_at DESC, w.issue_id LIMIT ?1");
    let most = Param::Int(most.map_or(i64::MAX, i64::from));
    let found = query(tx, &rest, &[most, actor.unwrap_or_default().into()])?;
    let wanted = standing(found).filter(|work| status.is_none_or(|status| work.status == status));
    Ok(wanted.take(limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))).collect())
}

/// Stores changed work and logs the change; leaves everything alone if nothing changed. Of steps, which may be many, the
/// log has what `note` says.
pub(crate) fn save(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    old: Option<&Piece>,
    mut new: Piece,
    event: EventType,
    note: Map<String, Value>,
) -> Result<Piece> {
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

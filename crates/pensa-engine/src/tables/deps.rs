//! Rows of `deps`, and the count of open blockers that each issue keeps.

use pensa_core::Result;
use pensa_core::dep::Dep;
use pensa_core::event;
use pensa_core::id::IssueId;
use pensa_core::issue::Issue;
use serde_json::{Map, Value};

use crate::db::{Tx, params};
use crate::entity::{self, StoredEntity};
use crate::tables::issues;

impl StoredEntity for Dep {
    const HAS_PROJECTIONS: bool = true;

    /// Counts it among the blockers of the issue that waits, if the other is not closed.
    fn project(tx: &Tx<'_>, before: Option<&Self>, after: Option<&Self>) -> Result<()> {
        let (dep, step) = match (before, after) {
            (None, Some(dep)) => (dep, 1),
            (Some(dep), None) => (dep, -1),
            _ => return Ok(()),
        };
        tx.send(
            "UPDATE issues SET blockers = blockers + ?3
             WHERE id = ?1 AND EXISTS (SELECT 1 FROM issues p WHERE p.id = ?2 AND p.status <> 'closed')",
            params![&dep.issue_id, &dep.depends_on_id, step],
        )
    }

    fn event_detail(old: Option<&Self>, new: Option<&Self>) -> Map<String, Value> {
        let parent = |dep: Option<&Self>| dep.map(|dep| dep.depends_on_id.clone());
        Map::from_iter([("depends_on_id".to_owned(), event::change(parent(old), parent(new)))])
    }
}

pub(crate) fn exists(tx: &Tx<'_>, child: &IssueId, parent: &IssueId) -> Result<bool> {
    let sql = "SELECT 1 FROM deps WHERE issue_id = ?1 AND depends_on_id = ?2";
    Ok(tx.query_one(sql, params![child, parent], |_| Ok(()))?.is_some())
}

/// Tells everything that depends on `parent` that it was closed, or opened again.
pub(crate) fn parent_moved(tx: &Tx<'_>, parent: &IssueId, closed: bool) -> Result<()> {
    let step: i64 = if closed { -1 } else { 1 };
    tx.send(
        "UPDATE issues SET blockers = blockers + ?2
         WHERE id IN (SELECT issue_id FROM deps WHERE depends_on_id = ?1)",
        params![parent, step],
    )
}

/// Adds a child that is not closed to the blockers of its parent, or takes it away.
pub(crate) fn count_child(tx: &Tx<'_>, parent: &IssueId, step: i64) -> Result<()> {
    tx.send("UPDATE issues SET blockers = blockers + ?2 WHERE id = ?1", params![parent, step])
}

/// Whether an issue has children. They may be there before it, when issues arrive from elsewhere.
pub(crate) fn has_children(tx: &Tx<'_>, id: &IssueId) -> Result<bool> {
    Ok(tx.query_one("SELECT 1 FROM issues WHERE parent = ?1 LIMIT 1", params![id], |_| Ok(()))?.is_some())
}

/// Counts the children of a new issue that are not closed.
pub(crate) fn count_children(tx: &Tx<'_>, id: &IssueId) -> Result<()> {
    tx.send(
        "UPDATE issues SET blockers = blockers +
             (SELECT COUNT(*) FROM issues c WHERE c.parent = ?1 AND c.status <> 'closed') WHERE id = ?1",
        params![id],
    )
}

/// Counts the blockers of issues that were loaded without.
pub(crate) fn count_blockers(tx: &Tx<'_>) -> Result<()> {
    tx.send(
        "UPDATE issues SET blockers = counted.blockers
         FROM (SELECT open.id AS id, COUNT(*) AS blockers
               FROM (SELECT d.issue_id AS id FROM deps d JOIN issues p ON p.id = d.depends_on_id
                     WHERE p.status <> 'closed'
                     UNION ALL SELECT c.parent FROM issues c WHERE c.parent IS NOT NULL AND c.status <> 'closed') AS open
               GROUP BY open.id) AS counted
         WHERE issues.id = counted.id",
        params![],
    )
}

/// Recounts every issue's blockers; returns how many counts were wrong.
pub(crate) fn recount(tx: &Tx<'_>) -> Result<usize> {
    tx.execute(&format!("UPDATE issues SET blockers = {TRUE_COUNT} WHERE blockers <> {TRUE_COUNT}"), params![])
}

/// Issues whose count of blockers is wrong.
pub(crate) fn miscounted(tx: &Tx<'_>) -> Result<Vec<IssueId>> {
    tx.query(&format!("SELECT id FROM issues WHERE blockers <> {TRUE_COUNT} ORDER BY id"), params![], |row| {
        row.parse(0)
    })
}

const TRUE_COUNT: &str = "((SELECT COUNT(*) FROM deps d JOIN issues p ON p.id = d.depends_on_id
     WHERE d.issue_id = issues.id AND p.status <> 'closed') +
     (SELECT COUNT(*) FROM issues c WHERE c.parent = issues.id AND c.status <> 'closed'))";

/// What `id` waits for.
pub(crate) fn parents(tx: &Tx<'_>, id: &IssueId) -> Result<Vec<Issue>> {
    issues::query(
        tx,
        "JOIN deps d ON d.depends_on_id = i.id WHERE d.issue_id = ?1 ORDER BY i.priority, i.created_at, i.id",
        params![id],
    )
}

/// What waits for `id`.
pub(crate) fn children(tx: &Tx<'_>, id: &IssueId) -> Result<Vec<Issue>> {
    issues::query(
        tx,
        "JOIN deps d ON d.issue_id = i.id WHERE d.depends_on_id = ?1 ORDER BY i.priority, i.created_at, i.id",
        params![id],
    )
}

/// Dependencies of or on an issue that is not there.
pub(crate) fn orphans(tx: &Tx<'_>) -> Result<Vec<Dep>> {
    entity::query(
        tx,
        "WHERE NOT EXISTS (SELECT 1 FROM issues WHERE id = issue_id)
            OR NOT EXISTS (SELECT 1 FROM issues WHERE id = depends_on_id)
         ORDER BY issue_id, depends_on_id",
        params![],
    )
}

/// Every pair of an issue that waits and what it waits for, whatever their status. A parent waits for its children.
pub(crate) const WAITS: &str =
    "SELECT issue_id, depends_on_id FROM deps UNION SELECT parent, id FROM issues WHERE parent IS NOT NULL";

/// The same as dependencies.
pub(crate) fn waits(tx: &Tx<'_>) -> Result<Vec<Dep>> {
    tx.query(WAITS, params![], |row| Ok(Dep::new(row.parse(0)?, row.parse(1)?)))
}

/// What an issue waits for, and what waits for it.
pub(crate) fn of_issue(tx: &Tx<'_>, id: &IssueId) -> Result<Vec<Dep>> {
    entity::query(tx, "WHERE issue_id = ?1 OR depends_on_id = ?1 ORDER BY issue_id, depends_on_id", params![id])
}

//! Rows of `deps`, and the count of open blockers that each issue keeps.

use pensa_core::Result;
use pensa_core::dep::Dep;
use pensa_core::id::IssueId;
use pensa_core::issue::{Issue, Status};

use crate::db::{Row, Tx, params};
use crate::tables::{extra, issues};

fn read(row: &Row<'_>) -> Result<Dep> {
    Ok(Dep { issue_id: row.parse(0)?, depends_on_id: row.parse(1)?, extra: row.extra(2)? })
}

pub(crate) fn exists(tx: &Tx<'_>, child: &IssueId, parent: &IssueId) -> Result<bool> {
    let sql = "SELECT 1 FROM deps WHERE issue_id = ?1 AND depends_on_id = ?2";
    Ok(tx.query_one(sql, params![child, parent], |_| Ok(()))?.is_some())
}

/// Makes an issue wait for `parent`; false if it does already.
pub(crate) fn insert(tx: &Tx<'_>, dep: &Dep, parent: &Issue) -> Result<bool> {
    let added = tx.execute(
        "INSERT INTO deps (issue_id, depends_on_id, extra) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        params![&dep.issue_id, &dep.depends_on_id, extra(&dep.extra)?],
    )? > 0;
    if added {
        tx.journal("dep", dep)?;
    }
    if added && parent.status != Status::Closed {
        tx.send("UPDATE issues SET blockers = blockers + 1 WHERE id = ?1", params![&dep.issue_id])?;
    }
    Ok(added)
}

pub(crate) fn get(tx: &Tx<'_>, child: &str, parent: &str) -> Result<Option<Dep>> {
    let sql = "SELECT issue_id, depends_on_id, extra FROM deps WHERE issue_id = ?1 AND depends_on_id = ?2";
    tx.query_one(sql, params![child, parent], read)
}

/// Adds a row without counting blockers, which the caller does for all at once.
pub(crate) fn load(tx: &Tx<'_>, dep: &Dep) -> Result<()> {
    tx.send(
        "INSERT INTO deps (issue_id, depends_on_id, extra) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        params![&dep.issue_id, &dep.depends_on_id, extra(&dep.extra)?],
    )
}

/// Replaces the fields that this version does not know.
pub(crate) fn set_extra(tx: &Tx<'_>, dep: &Dep) -> Result<()> {
    tx.journal("dep", dep)?;
    tx.send(
        "UPDATE deps SET extra = ?3 WHERE issue_id = ?1 AND depends_on_id = ?2",
        params![&dep.issue_id, &dep.depends_on_id, extra(&dep.extra)?],
    )
}

/// Makes `child` no longer wait for `parent`; false if it did not.
pub(crate) fn remove(tx: &Tx<'_>, child: &IssueId, parent: &Issue) -> Result<bool> {
    let removed =
        tx.execute("DELETE FROM deps WHERE issue_id = ?1 AND depends_on_id = ?2", params![child, &parent.id])? > 0;
    if removed {
        tx.journal("dep_removed", &Dep::new(child.clone(), parent.id.clone()))?;
    }
    if removed && parent.status != Status::Closed {
        tx.send("UPDATE issues SET blockers = blockers - 1 WHERE id = ?1", params![child])?;
    }
    Ok(removed)
}

/// Removes a dependency one of whose issues is not there.
pub(crate) fn forget(tx: &Tx<'_>, dep: &Dep) -> Result<()> {
    tx.journal("dep_removed", dep)?;
    tx.send("DELETE FROM deps WHERE issue_id = ?1 AND depends_on_id = ?2", params![&dep.issue_id, &dep.depends_on_id])
}

/// Tells everything that waits for `parent` that it was closed, or opened again.
pub(crate) fn parent_moved(tx: &Tx<'_>, parent: &IssueId, closed: bool) -> Result<()> {
    let step: i64 = if closed { -1 } else { 1 };
    tx.send(
        "UPDATE issues SET blockers = blockers + ?2
         WHERE id IN (SELECT issue_id FROM deps WHERE depends_on_id = ?1)",
        params![parent, step],
    )
}

/// Counts the blockers of issues that were loaded without.
pub(crate) fn count_blockers(tx: &Tx<'_>) -> Result<()> {
    tx.send(
        "UPDATE issues SET blockers = counted.blockers
         FROM (SELECT d.issue_id AS id, COUNT(*) AS blockers FROM deps d JOIN issues p ON p.id = d.depends_on_id
               WHERE p.status <> 'closed' GROUP BY d.issue_id) AS counted
         WHERE issues.id = counted.id",
        params![],
    )
}

/// Counts every issue's blockers anew; tells how many counts were wrong.
pub(crate) fn recount(tx: &Tx<'_>) -> Result<usize> {
    tx.execute(&format!("UPDATE issues SET blockers = {TRUE_COUNT} WHERE blockers <> {TRUE_COUNT}"), params![])
}

/// Issues whose count of blockers is wrong.
pub(crate) fn miscounted(tx: &Tx<'_>) -> Result<Vec<IssueId>> {
    tx.query(&format!("SELECT id FROM issues WHERE blockers <> {TRUE_COUNT} ORDER BY id"), params![], |row| {
        row.parse(0)
    })
}

const TRUE_COUNT: &str = "(SELECT COUNT(*) FROM deps d JOIN issues p ON p.id = d.depends_on_id
     WHERE d.issue_id = issues.id AND p.status <> 'closed')";

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
    tx.query(
        "SELECT issue_id, depends_on_id, extra FROM deps
         WHERE NOT EXISTS (SELECT 1 FROM issues WHERE id = issue_id)
            OR NOT EXISTS (SELECT 1 FROM issues WHERE id = depends_on_id)
         ORDER BY issue_id, depends_on_id",
        params![],
        read,
    )
}

pub(crate) fn all(tx: &Tx<'_>) -> Result<Vec<Dep>> {
    let mut deps = Vec::new();
    for_each(tx, |dep| {
        deps.push(dep.clone());
        Ok(())
    })?;
    Ok(deps)
}

/// What an issue waits for, and what waits for it.
pub(crate) fn of_issue(tx: &Tx<'_>, id: &IssueId) -> Result<Vec<Dep>> {
    let sql = "SELECT issue_id, depends_on_id, extra FROM deps WHERE issue_id = ?1
               UNION SELECT issue_id, depends_on_id, extra FROM deps WHERE depends_on_id = ?1";
    tx.query(sql, params![id], read)
}

pub(crate) fn for_each(tx: &Tx<'_>, mut each: impl FnMut(&Dep) -> Result<()>) -> Result<()> {
    let sql = "SELECT issue_id, depends_on_id, extra FROM deps ORDER BY issue_id, depends_on_id";
    tx.for_each(sql, params![], |row| each(&read(row)?))
}

//! Rows of `deps`, and the count of open blockers that each issue keeps.

use pensa_core::Result;
use pensa_core::dep::Dep;
use pensa_core::id::IssueId;
use pensa_core::issue::{Issue, Status};

use crate::db::{Row, Tx, params};
use crate::tables::issues;

fn read(row: &Row<'_>) -> Result<Dep> {
    Ok(Dep { issue_id: row.parse(0)?, depends_on_id: row.parse(1)? })
}

pub(crate) fn exists(tx: &Tx<'_>, child: &IssueId, parent: &IssueId) -> Result<bool> {
    let sql = "SELECT 1 FROM deps WHERE issue_id = ?1 AND depends_on_id = ?2";
    Ok(tx.query_one(sql, params![child, parent], |_| Ok(()))?.is_some())
}

/// Makes `child` wait for `parent`; false if it does already.
pub(crate) fn insert(tx: &Tx<'_>, child: &IssueId, parent: &Issue) -> Result<bool> {
    let added = tx.execute(
        "INSERT INTO deps (issue_id, depends_on_id) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        params![child, &parent.id],
    )? > 0;
    if added {
        note(tx, "dep", child, parent)?;
    }
    if added && parent.status != Status::Closed {
        tx.send("UPDATE issues SET blockers = blockers + 1 WHERE id = ?1", params![child])?;
    }
    Ok(added)
}

/// Makes `child` no longer wait for `parent`; false if it did not.
pub(crate) fn remove(tx: &Tx<'_>, child: &IssueId, parent: &Issue) -> Result<bool> {
    let removed =
        tx.execute("DELETE FROM deps WHERE issue_id = ?1 AND depends_on_id = ?2", params![child, &parent.id])? > 0;
    if removed {
        note(tx, "dep_removed", child, parent)?;
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

fn note(tx: &Tx<'_>, kind: &str, child: &IssueId, parent: &Issue) -> Result<()> {
    tx.journal(kind, &Dep { issue_id: child.clone(), depends_on_id: parent.id.clone() })
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
        "SELECT issue_id, depends_on_id FROM deps
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

pub(crate) fn for_each(tx: &Tx<'_>, mut each: impl FnMut(&Dep) -> Result<()>) -> Result<()> {
    tx.for_each("SELECT issue_id, depends_on_id FROM deps ORDER BY issue_id, depends_on_id", params![], |row| {
        each(&read(row)?)
    })
}

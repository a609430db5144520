//! Rows of `releases`.

use pensa_core::id::{IssueId, ReleaseId};
use pensa_core::release::Release;
use pensa_core::{Result, Timestamp, json};

use super::ids::Kind;
use super::row::Shape;
use crate::context::Context;
use crate::db::{Param, Row, Tx, params};
use crate::tables::extra;

const RELEASES: Kind =
    Kind { name: "release", table: "releases", prefix: ReleaseId::PREFIX, hint: "pn shipped shows the ids" };

const SHAPE: Shape =
    Shape { table: "releases", columns: "id name version kind issues notes actor shipped_at extra", keys: 1 };

fn read(row: &Row<'_>) -> Result<Release> {
    Ok(Release {
        id: row.parse(0)?,
        name: row.text(1)?,
        version: row.text(2)?,
        kind: row.parse(3)?,
        issues: row.json(4)?,
        notes: row.text_or_null(5)?,
        actor: row.text(6)?,
        shipped_at: row.parse(7)?,
        extra: row.extra(8)?,
    })
}

const SELECT: &str = "SELECT id, name, version, kind, issues, notes, actor, shipped_at, extra FROM releases";

fn query(tx: &Tx<'_>, rest: &str, params: &[Param<'_>]) -> Result<Vec<Release>> {
    tx.query(&format!("{SELECT} {rest}"), params, read)
}

pub(crate) fn new_id(cx: &Context<'_>, tx: &Tx<'_>) -> Result<ReleaseId> {
    RELEASES.new_id(tx, || ReleaseId::from_uuid(cx.uuid()))
}

pub(crate) fn get(tx: &Tx<'_>, id: &str) -> Result<Option<Release>> {
    Ok(query(tx, "WHERE id = ?1", params![id])?.pop())
}

/// Every release, oldest first.
pub(crate) fn for_each(tx: &Tx<'_>, mut each: impl FnMut(&Release) -> Result<()>) -> Result<()> {
    tx.for_each(&format!("{SELECT} ORDER BY shipped_at, id"), params![], |row| each(&read(row)?))
}

/// Those after a time, newest first.
pub(crate) fn list(tx: &Tx<'_>, after: Option<Timestamp>, limit: Option<u32>) -> Result<Vec<Release>> {
    let after = after.map_or_else(String::new, |after| after.to_string());
    let limit = limit.map_or(i64::MAX, i64::from);
    query(tx, "WHERE shipped_at > ?1 ORDER BY shipped_at DESC, id DESC LIMIT ?2", params![after, limit])
}

/// When something was last shipped in a version.
pub(crate) fn shipped_in(tx: &Tx<'_>, version: &str) -> Result<Option<Timestamp>> {
    let sql = "SELECT shipped_at FROM releases WHERE version = ?1 ORDER BY shipped_at DESC LIMIT 1";
    tx.query_one(sql, params![version], |row| row.parse(0))
}

/// Adds a row, or puts it in place of what is there.
pub(crate) fn put(tx: &Tx<'_>, release: &Release) -> Result<()> {
    tx.journal("release", release)?;
    SHAPE.put(
        tx,
        &[
            release.id.as_str().into(),
            release.name.as_str().into(),
            release.version.as_str().into(),
            release.kind.as_str().into(),
            json::to_line(&release.issues)?.into(),
            release.notes.as_ref().into(),
            release.actor.as_str().into(),
            release.shipped_at.into(),
            extra(&release.extra)?,
        ],
    )
}

pub(crate) fn delete(tx: &Tx<'_>, id: &str) -> Result<()> {
    tx.journal("release_deleted", id)?;
    tx.send("DELETE FROM releases WHERE id = ?1", params![id])
}

/// Those that name an issue.
pub(crate) fn naming(tx: &Tx<'_>, issue: &IssueId) -> Result<Vec<Release>> {
    // An id has no characters that JSON would write in another way.
    query(tx, "WHERE instr(issues, ?1) > 0", params![format!("\"{issue}\"")])
}

/// Makes releases know an issue by its new id.
pub(crate) fn rename_issue(tx: &Tx<'_>, old: &IssueId, new: &IssueId) -> Result<()> {
    for mut release in naming(tx, old)? {
        release.issues.iter_mut().filter(|id| *id == old).for_each(|id| *id = new.clone());
        put(tx, &release)?;
    }
    Ok(())
}

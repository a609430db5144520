//! Lists and stores rows of `releases`.

use pensa_core::event::EventType;
use pensa_core::id::{IssueId, ReleaseId};
use pensa_core::recall::TextKind;
use pensa_core::release::Release;
use pensa_core::{Result, Timestamp};

use super::ids::IdTable;
use super::recall;
use crate::context::Context;
use crate::db::{Tx, params};
use crate::entity::{self, StoredEntity};

const RELEASES: IdTable =
    IdTable { name: "release", table: "releases", prefix: ReleaseId::PREFIX, hint: "pn shipped shows the ids" };

pub(crate) fn new_id(cx: &Context<'_>, tx: &Tx<'_>) -> Result<ReleaseId> {
    RELEASES.new_id(tx, || ReleaseId::from_uuid(cx.uuid()))
}

impl StoredEntity for Release {
    const CREATED: EventType = EventType::FeatureShipped;
    const HAS_PROJECTIONS: bool = true;

    fn project(tx: &Tx<'_>, before: Option<&Self>, after: Option<&Self>) -> Result<()> {
        let Some(release) = after.or(before) else { return Ok(()) };
        recall::touch(tx, TextKind::Release, release.id.as_str())
    }
}

/// Releases after a time, newest first.
pub(crate) fn list(tx: &Tx<'_>, after: Option<Timestamp>, limit: Option<u32>) -> Result<Vec<Release>> {
    let after = after.map_or_else(String::new, |after| after.to_string());
    let limit = limit.map_or(i64::MAX, i64::from);
    entity::query(tx, "WHERE shipped_at > ?1 ORDER BY shipped_at DESC, id DESC LIMIT ?2", params![after, limit])
}

/// The latest release time of a version.
pub(crate) fn shipped_in(tx: &Tx<'_>, version: &str) -> Result<Option<Timestamp>> {
    let sql = "SELECT shipped_at FROM releases WHERE version = ?1 ORDER BY shipped_at DESC LIMIT 1";
    tx.query_one(sql, params![version], |row| row.parse(0))
}

/// The releases that contain an issue.
pub(crate) fn containing(tx: &Tx<'_>, issue: &IssueId) -> Result<Vec<Release>> {
    // An id has no characters that JSON would escape.
    entity::query(tx, "WHERE instr(issues, ?1) > 0", params![format!("\"{issue}\"")])
}

/// Updates releases when an issue gets a new id.
pub(crate) fn issue_renamed(tx: &Tx<'_>, old: &IssueId, new: &IssueId) -> Result<()> {
    for mut release in containing(tx, old)? {
        release.issues.iter_mut().filter(|id| *id == old).for_each(|id| *id = new.clone());
        entity::put(tx, &release)?;
    }
    Ok(())
}

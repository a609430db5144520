//! Removes the remaining data of deleted issues from the log and the tables for good.
//!
//! The tombstone stays for other stores, and the deletion event stays with ids only. `pn gc` decides when an issue is
//! old enough.

use pensa_core::id::IssueId;
use pensa_core::sync::{COMMENTS, ISSUES};
use pensa_core::{Result, Timestamp, json};
use serde_json::{Map, Value};

use super::events::{self, REMOVES};
use super::operations;
use super::peers::{self, PeerKind};
use crate::db::{Tx, params};

/// The issues deleted before `until` that were neither restored nor purged, by id. An issue with an open conflict is
/// excluded, because resolving the conflict may restore it.
pub(crate) fn due(tx: &Tx<'_>, until: Timestamp) -> Result<Vec<IssueId>> {
    let later = REMOVES.replace("removal.", "later.");
    let sql = format!(
        "SELECT t.record_id FROM tombstones t JOIN events removal ON removal.subject_id = t.record_id
         WHERE t.collection = ?1 AND {REMOVES} AND removal.created_at < ?2 AND removal.detail NOT LIKE ?3
           AND NOT EXISTS (SELECT 1 FROM issues i WHERE i.id = t.record_id)
           AND NOT EXISTS (SELECT 1 FROM events later
               WHERE later.subject_id = t.record_id AND later.id > removal.id AND {later})
           AND NOT EXISTS (SELECT 1 FROM conflicts c WHERE c.resolved_at IS NULL AND (
               (c.collection = ?1 AND c.record_id = t.record_id)
               OR (c.collection IN ('comments', 'deps')
                   AND instr(c.whole, '\"issue_id\":\"' || t.record_id || '\"') > 0)))
         ORDER BY t.record_id"
    );
    tx.query(&sql, params![ISSUES.name, until, events::purged_pattern()], |row| row.parse(0))
}

/// Removes all data of deleted issues except their tombstones and deletion events.
pub(crate) fn purge(tx: &Tx<'_>, issues: &[IssueId]) -> Result<()> {
    tx.journal("issues_purged", issues)?;
    for id in issues {
        // A journal with gaps may lack the deletion.
        if let Some(removal) = operations::last_removal(tx, id)? {
            let comments: Vec<String> = deleted_comments(&removal.detail).map(str::to_owned).collect();
            remove_history(tx, id, removal.id, &comments)?;
            remove_rows(tx, id, &comments)?;
            set_detail(tx, removal.id, &events::reduce_to_ids(removal.detail))?;
        }
    }
    remove_from_dependents(tx, issues)
}

fn deleted_comments(detail: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let old = detail.get("issue").map(|change| &change["old"]["comments"]);
    old.and_then(Value::as_array).into_iter().flatten().filter_map(|comment| comment["id"].as_str())
}

fn set_detail(tx: &Tx<'_>, event: i64, detail: &Map<String, Value>) -> Result<()> {
    tx.send("UPDATE events SET detail = ?2 WHERE id = ?1", params![event, json::to_line(detail)?])
}

/// Removes the events before the deletion and the stored previous states of rows. The operations that wrote them can no
/// longer be undone.
fn remove_history(tx: &Tx<'_>, id: &IssueId, removal: i64, comments: &[String]) -> Result<()> {
    let hidden = "FROM events WHERE issue_id IS NULL AND subject_id = ?1 AND subject_kind IN ('issue', 'work')
         AND id < ?2";
    tx.send(&format!("DELETE FROM changes WHERE event = ?2 OR event IN (SELECT id {hidden})"), params![id, removal])?;
    let ops = format!("SELECT DISTINCT op {hidden} AND op IS NOT NULL");
    for op in tx.query(&ops, params![id, removal], |row| row.int(0))? {
        operations::ungroup(tx, op)?;
    }
    tx.send(&format!("DELETE {hidden}"), params![id, removal])?;
    let of_comment = "DELETE FROM events WHERE issue_id IS NULL AND subject_id = ?1 AND subject_kind = 'comment'";
    comments.iter().try_for_each(|comment| tx.send(of_comment, params![comment]))?;
    let of_deps = "DELETE FROM events
         WHERE issue_id IS NULL AND subject_id > ?1 AND subject_id < ?2 AND subject_kind = 'dep'";
    tx.send(of_deps, params![format!("{id} "), format!("{id}!")])
}

/// Removes work, resolved conflicts and merge bases.
fn remove_rows(tx: &Tx<'_>, id: &IssueId, comments: &[String]) -> Result<()> {
    tx.send("DELETE FROM work WHERE issue_id = ?1", params![id])?;
    let of_parts = "DELETE FROM conflicts WHERE collection IN ('comments', 'deps') AND instr(whole, ?1) > 0";
    tx.send(of_parts, params![format!("\"issue_id\":\"{id}\"")])?;
    let peers = peers::all(tx, PeerKind::Server)?;
    let comments = comments.iter().map(|comment| (COMMENTS.name, comment.as_str()));
    for (collection, id) in comments.chain([(ISSUES.name, id.as_str())]) {
        tx.send("DELETE FROM conflicts WHERE collection = ?1 AND record_id = ?2", params![collection, id])?;
        for peer in &peers {
            let base = "DELETE FROM merge_bases WHERE peer = ?1 AND collection = ?2 AND record_id = ?3";
            tx.send(base, params![&peer.peer, collection, id])?;
        }
    }
    Ok(())
}

/// Removes purged issues from the events of other issues' deletions and restorations, which contain all dependencies.
fn remove_from_dependents(tx: &Tx<'_>, issues: &[IssueId]) -> Result<()> {
    let is_purged = |dep: &Value| issues.iter().any(|id| dep["id"] == id.as_str());
    let mut changed = Vec::new();
    let sql = "SELECT id, detail FROM events WHERE subject_kind = 'issue' AND instr(detail, '\"deps\":[{') > 0";
    tx.for_each(sql, params![], |row| {
        let mut detail: Map<String, Value> = row.json(1)?;
        let mut is_changed = false;
        for side in ["old", "new"] {
            let whole = detail.get_mut("issue").and_then(|change| change.get_mut(side));
            if let Some(Value::Array(deps)) = whole.and_then(|whole| whole.get_mut("deps")) {
                let before = deps.len();
                deps.retain(|dep| !is_purged(dep));
                is_changed |= deps.len() < before;
            }
        }
        if is_changed {
            changed.push((row.int(0)?, detail));
        }
        Ok(())
    })?;
    changed.iter().try_for_each(|(event, detail)| set_detail(tx, *event, detail))
}

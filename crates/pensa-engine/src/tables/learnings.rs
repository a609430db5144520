//! Finds, lists and stores rows of `learnings`, and maintains the keys of recall.
//!
//! `pensa_core::learning::recall` defines the keys and the ranking.

use std::collections::{BTreeSet, HashMap};

use pensa_core::id::{IssueId, LearningId, LearningRef};
use pensa_core::learning::recall;
use pensa_core::learning::{Learning, LearningDetail};
use pensa_core::recall::TextKind;
use pensa_core::{Result, Timestamp, json, similar};

use super::ids::IdTable;
use super::recall as index;
use crate::context::Context;
use crate::db::{Param, Tx, params};
use crate::entity::{self, StoredEntity};

const LEARNINGS: IdTable<'static> = IdTable {
    name: "learning",
    table: "learnings",
    prefix: LearningId::PREFIX,
    hint: "pn learning list --all shows the ids",
};

/// The id of the learning that supersedes a row.
const SUCCESSOR: &str = "(SELECT MIN(s.id) FROM learnings s WHERE s.supersedes = learnings.id)";

/// Keys added or removed per statement.
const KEYS_PER_STATEMENT: usize = 64;
/// Most learnings compared when looking for one with the same text.
const MAX_SAME: usize = 50;
pub(crate) fn new_id(cx: &Context<'_>, tx: &Tx<'_>) -> Result<LearningId> {
    LEARNINGS.new_id(tx, || LearningId::from_uuid(cx.uuid()))
}

pub(crate) fn get(tx: &Tx<'_>, id: &LearningId) -> Result<Option<Learning>> {
    entity::get(tx, params![id.as_str()])
}

/// Whether anything was learned: opening the index to find nothing takes longer than the rest of many commands.
pub(crate) fn is_any(tx: &Tx<'_>) -> Result<bool> {
    Ok(tx.query_one("SELECT 1 FROM learnings LIMIT 1", params![], |_| Ok(()))?.is_some())
}

/// Finds a learning by its id or a prefix.
pub(crate) fn find(tx: &Tx<'_>, reference: &LearningRef) -> Result<LearningDetail> {
    let id: LearningId = LEARNINGS.find(tx, reference.as_str())?.parse()?;
    let learning = get(tx, &id)?.ok_or_else(|| LEARNINGS.unknown(id.as_str()))?;
    Ok(LearningDetail { superseded_by: successor(tx, &id)?, learning })
}

/// The learning that supersedes this one.
fn successor(tx: &Tx<'_>, id: &LearningId) -> Result<Option<LearningId>> {
    let sql = "SELECT MIN(id) FROM learnings WHERE supersedes = ?1";
    Ok(tx.query_one(sql, params![id.as_str()], |row| row.parse_or_null(0))?.flatten())
}

/// Filters of a listing.
#[derive(Debug, Default)]
pub(crate) struct LearningFilter {
    pub(crate) kind: Option<String>,
    pub(crate) tag: Option<String>,
    pub(crate) issue: Option<String>,
    /// Only learnings that are valid at this time
    pub(crate) valid_at: Option<Timestamp>,
    pub(crate) limit: Option<u32>,
}

/// The learnings that match, newest first.
pub(crate) fn list(tx: &Tx<'_>, filter: LearningFilter) -> Result<Vec<LearningDetail>> {
    let (mut conditions, mut values) = (vec!["1 = 1".to_owned()], Vec::new());
    let mut add = |condition: &str, value: Option<Param<'static>>| {
        if let Some(value) = value {
            values.push(value);
            conditions.push(condition.replace('#', &format!("?{}", values.len())));
        }
    };
    add("kind = #", filter.kind.map(Param::from));
    let tag = filter.tag.map(|tag| json::to_line(&tag)).transpose()?;
    add("instr(tags, #) > 0", tag.map(Param::from));
    add("(issue_id = # OR work = #)", filter.issue.map(Param::from));
    let is_valid = format!("(expires_at IS NULL OR expires_at > #) AND {SUCCESSOR} IS NULL");
    add(&is_valid, filter.valid_at.map(Param::from));
    values.push(Param::Int(filter.limit.map_or(i64::MAX, i64::from)));
    let rest = format!("WHERE {} ORDER BY created_at DESC, id DESC LIMIT ?{}", conditions.join(" AND "), values.len());
    let shown = |learning: Learning| Ok(LearningDetail { superseded_by: successor(tx, &learning.id)?, learning });
    entity::query(tx, &rest, &values)?.into_iter().map(shown).collect()
}

/// All learnings, also those that no longer hold.
pub(crate) fn all(tx: &Tx<'_>) -> Result<Vec<Learning>> {
    entity::query(tx, "ORDER BY id", &[])
}

/// The valid learnings that nothing superseded, newest first; at most `limit`.
pub(crate) fn valid(tx: &Tx<'_>, now: Timestamp, limit: usize) -> Result<Vec<Learning>> {
    newest(tx, now, u32::try_from(limit).unwrap_or(u32::MAX))
}

/// The ids of learnings that others replaced.
pub(crate) fn superseded(tx: &Tx<'_>) -> Result<BTreeSet<LearningId>> {
    let sql = "SELECT DISTINCT supersedes FROM learnings WHERE supersedes IS NOT NULL";
    Ok(tx.query(sql, params![], |row| row.parse(0))?.into_iter().collect())
}

/// The learnings with any file.
pub(crate) fn with_files(tx: &Tx<'_>) -> Result<Vec<Learning>> {
    entity::query(tx, "WHERE files <> '[]' ORDER BY created_at DESC, id DESC", &[])
}

impl StoredEntity for Learning {
    const HAS_PROJECTIONS: bool = true;

    /// Updates the keys of this learning, and those of the learning that it supersedes.
    fn project(tx: &Tx<'_>, before: Option<&Self>, after: Option<&Self>) -> Result<()> {
        if let Some(learning) = after.or(before) {
            index::touch(tx, TextKind::Learning, learning.id.as_str())?;
        }
        if let Some(before) = before {
            remove_keys(tx, before)?;
        }
        if let Some(after) = after
            && successor(tx, &after.id)?.is_none()
        {
            add_keys(tx, after)?;
        }
        let supersedes = |learning: Option<&Self>| learning.and_then(|learning| learning.supersedes.clone());
        let (old, new) = (supersedes(before), supersedes(after));
        if old != new {
            [old, new].into_iter().flatten().try_for_each(|id| refresh_keys(tx, &id))?;
        }
        Ok(())
    }
}

/// Updates learnings when their issue gets a new id.
pub(crate) fn issue_renamed(tx: &Tx<'_>, old: &IssueId, new: &IssueId) -> Result<()> {
    for mut learning in entity::query::<Learning>(tx, "WHERE issue_id = ?1 OR work = ?1 ORDER BY id", params![old])? {
        for id in [&mut learning.issue_id, &mut learning.work].into_iter().flatten().filter(|id| *id == old) {
            *id = new.clone();
        }
        entity::put(tx, &learning)?;
    }
    Ok(())
}

/// Adds the keys of a learning, or removes them if it is superseded.
fn refresh_keys(tx: &Tx<'_>, id: &LearningId) -> Result<()> {
    let Some(learning) = get(tx, id)? else { return Ok(()) };
    index::touch(tx, TextKind::Learning, id.as_str())?;
    remove_keys(tx, &learning)?;
    if successor(tx, id)?.is_none() { add_keys(tx, &learning) } else { Ok(()) }
}

fn add_keys(tx: &Tx<'_>, learning: &Learning) -> Result<()> {
    let rank = recall::rank(learning);
    for keys in recall::keys(learning).chunks(KEYS_PER_STATEMENT) {
        let of_key = |key: &i64| [Param::from(*key), rank.into(), learning.id.as_str().into()];
        let values: Vec<Param<'_>> = keys.iter().flat_map(of_key).collect();
        tx.add_rows("INSERT INTO learning_keys (learning_key, standing, learning_id) VALUES (?1, ?2, ?3)", &values)?;
    }
    Ok(())
}

fn remove_keys(tx: &Tx<'_>, learning: &Learning) -> Result<()> {
    let rank = recall::rank(learning);
    for keys in recall::keys(learning).chunks(KEYS_PER_STATEMENT) {
        let sql = format!(
            "DELETE FROM learning_keys WHERE learning_key IN ({}) AND standing = ?1 AND learning_id = ?2",
            placeholders(3, keys.len())
        );
        let values = [Param::from(rank), learning.id.as_str().into()];
        tx.send(&sql, &values.into_iter().chain(keys.iter().map(|key| Param::from(*key))).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// Derives the keys of all learnings anew.
pub(crate) fn rebuild_keys(tx: &Tx<'_>) -> Result<()> {
    tx.send("DELETE FROM learning_keys", params![])?;
    let current = format!("WHERE {SUCCESSOR} IS NULL ORDER BY id");
    entity::query::<Learning>(tx, &current, params![])?.iter().try_for_each(|learning| add_keys(tx, learning))
}

fn placeholders(first: usize, count: usize) -> String {
    (first..first + count).map(|at| format!("?{at}")).collect::<Vec<_>>().join(", ")
}

/// A valid learning of the same kind that says the same as a new one; the highest ranked of several.
pub(crate) fn find_same(tx: &Tx<'_>, new: &Learning, now: Timestamp) -> Result<Option<Learning>> {
    let keys = recall::duplicate_keys(new.kind, &new.text);
    if keys.is_empty() {
        return Ok(None);
    }
    let sql = format!(
        "SELECT DISTINCT learning_id, standing FROM learning_keys WHERE learning_key IN ({})
         ORDER BY standing DESC, learning_id LIMIT {MAX_SAME}",
        placeholders(1, keys.len())
    );
    let ids: Vec<String> =
        tx.query(&sql, &keys.iter().map(|key| Param::from(*key)).collect::<Vec<_>>(), |row| row.text(0))?;
    let mut known = by_ids(tx, ids.iter().map(String::as_str))?;
    let is_same = |known: &Learning| {
        known.kind == new.kind && !known.has_expired(now) && similar::restates(&known.text, &new.text)
    };
    Ok(ids.iter().filter_map(|id| known.remove(id)).find(is_same))
}

/// Learnings by id.
pub(crate) fn by_ids<'i>(tx: &Tx<'_>, ids: impl Iterator<Item = &'i str>) -> Result<HashMap<String, Learning>> {
    let values: Vec<Param<'_>> = ids.map(Param::from).collect();
    if values.is_empty() {
        return Ok(HashMap::new());
    }
    let learnings =
        entity::query::<Learning>(tx, &format!("WHERE id IN ({})", placeholders(1, values.len())), &values)?;
    Ok(learnings.into_iter().map(|learning| (learning.id.to_string(), learning)).collect())
}

/// The newest valid learnings.
pub(crate) fn newest(tx: &Tx<'_>, now: Timestamp, limit: u32) -> Result<Vec<Learning>> {
    entity::query(
        tx,
        &format!(
            "WHERE (expires_at IS NULL OR expires_at > ?1) AND {SUCCESSOR} IS NULL
             ORDER BY created_at DESC, id DESC LIMIT ?2"
        ),
        params![now, i64::from(limit)],
    )
}

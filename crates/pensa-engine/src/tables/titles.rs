//! Finds open issues with nearly the same title, through the keys in `title_keys`.
//!
//! `pensa_core::similar` defines when titles are alike.

use pensa_core::Result;
use pensa_core::id::IssueId;
use pensa_core::issue::{Issue, Similar, Status};
use pensa_core::similar;

use crate::context::Context;
use crate::db::{Param, Tx};

/// Adds the keys of an issue that has none yet. Closed issues have no keys, because only open ones are searched.
pub(crate) fn add(tx: &Tx<'_>, issue: &Issue) -> Result<()> {
    load(tx, keys(issue))
}

/// The title keys of an issue; none if it is closed.
pub(crate) fn keys(issue: &Issue) -> Vec<(i64, IssueId)> {
    if issue.status == Status::Closed {
        return Vec::new();
    }
    similar::keys(&issue.title).into_iter().map(|key| (key, issue.id.clone())).collect()
}

pub(crate) fn remove(tx: &Tx<'_>, issue: &Issue) -> Result<()> {
    let keys = similar::keys(&issue.title);
    if keys.is_empty() {
        return Ok(());
    }
    let placeholders = join_per_key(2, &keys, |at| format!("?{at}"));
    let sql = format!("DELETE FROM title_keys WHERE issue_id = ?1 AND title_key IN ({placeholders})");
    tx.send(&sql, &with_id(&issue.id, &keys))
}

/// Joins a piece of SQL per key; parameters start at `?first`.
fn join_per_key(first: usize, keys: &[i64], piece: impl Fn(usize) -> String) -> String {
    (first..first + keys.len()).map(piece).collect::<Vec<_>>().join(", ")
}

fn with_id<'a>(id: &'a IssueId, keys: &[i64]) -> Vec<Param<'a>> {
    std::iter::once(Param::from(id)).chain(keys.iter().map(|key| Param::from(*key))).collect()
}

/// Adds the keys of many issues, sorted: insertion in index order is several times faster.
pub(crate) fn load(tx: &Tx<'_>, mut keys: Vec<(i64, IssueId)>) -> Result<()> {
    keys.sort_unstable();
    keys.dedup();
    for chunk in keys.chunks(KEYS_PER_STATEMENT) {
        let values: Vec<Param<'_>> = chunk.iter().flat_map(|(key, id)| [(*key).into(), id.into()]).collect();
        tx.add_rows(INSERT_KEY, &values)?;
    }
    Ok(())
}

const INSERT_KEY: &str = "INSERT INTO title_keys (title_key, issue_id) VALUES (?1, ?2)";

/// Keys added per statement.
const KEYS_PER_STATEMENT: usize = 64;

/// Most near-duplicates reported.
const MAX_SIMILAR: usize = 5;

/// Most issues read per key, however many have it.
const MAX_PER_KEY: usize = 20;

/// An unused id for a new issue, and the open issues with nearly the same title, newest first.
///
/// One query for both, because over a network the round trips dominate the cost of a create.
pub(crate) fn new_id_and_similar(cx: &Context<'_>, tx: &Tx<'_>, title: &str) -> Result<(IssueId, Vec<Similar>)> {
    let keys = similar::keys(title);
    loop {
        let id = IssueId::from_uuid(cx.uuid());
        let mut search = TitleSearch { title, id: &id, is_id_taken: false, rows: 0, found: Vec::new() };
        search.run(tx, &search_keys_at_once(&keys), &keys)?;
        if !keys.is_empty() && search.rows >= MAX_PER_KEY * keys.len() {
            // A very frequent key may have used up the limit, so every key gets its own.
            search.run(tx, &search_each_key(&keys), &keys)?;
        }
        if !search.is_id_taken {
            let similar = search.newest();
            return Ok((id, similar));
        }
    }
}

/// A possible near-duplicate and its creation time.
#[derive(Debug)]
struct SimilarIssue {
    similar: Similar,
    at: String,
}

/// The issue of a key. Subqueries instead of a join, so that any query planner looks up issues by id.
const ISSUE_COLUMNS: &str = "k.issue_id, (SELECT i.title FROM issues i WHERE i.id = k.issue_id),
        (SELECT i.created_at FROM issues i WHERE i.id = k.issue_id)";

fn issues_with_key(condition: &str, limit: usize) -> String {
    format!(
        " UNION ALL SELECT * FROM (SELECT {ISSUE_COLUMNS} FROM title_keys k WHERE k.title_key {condition} LIMIT {limit}) AS found"
    )
}

const EXISTING_ID: &str = "SELECT id, NULL, NULL FROM issues WHERE id = ?1";

/// One condition for all keys, which is faster than a subquery per key.
fn search_keys_at_once(keys: &[i64]) -> String {
    if keys.is_empty() {
        return EXISTING_ID.to_owned();
    }
    let placeholders = join_per_key(2, keys, |at| format!("?{at}"));
    format!("{EXISTING_ID}{}", issues_with_key(&format!("IN ({placeholders})"), MAX_PER_KEY * keys.len()))
}

/// A subquery with its own limit per key.
fn search_each_key(keys: &[i64]) -> String {
    let pieces = (2..keys.len() + 2).map(|at| issues_with_key(&format!("= ?{at}"), MAX_PER_KEY));
    pieces.fold(EXISTING_ID.to_owned(), |sql, piece| sql + &piece)
}

/// Searches for an id and for similar titles at once.
struct TitleSearch<'a> {
    title: &'a str,
    id: &'a IssueId,
    is_id_taken: bool,
    /// Rows read through keys
    rows: usize,
    found: Vec<SimilarIssue>,
}

impl TitleSearch<'_> {
    fn run(&mut self, tx: &Tx<'_>, sql: &str, keys: &[i64]) -> Result<()> {
        self.rows = 0;
        tx.for_each(sql, &with_id(self.id, keys), |row| {
            let id: IssueId = row.parse(0)?;
            if id == *self.id {
                self.is_id_taken = true;
                return Ok(());
            }
            self.rows += 1;
            if let (Some(title), Some(at)) = (row.text_or_null(1)?, row.text_or_null(2)?) {
                self.consider(SimilarIssue { similar: Similar { id, title }, at });
            }
            Ok(())
        })
    }

    fn consider(&mut self, new: SimilarIssue) {
        let is_known = self.found.iter().any(|known| known.similar.id == new.similar.id);
        if !is_known && similar::alike(self.title, &new.similar.title) {
            self.found.push(new);
        }
    }

    fn newest(mut self) -> Vec<Similar> {
        self.found.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.similar.id.cmp(&b.similar.id)));
        self.found.truncate(MAX_SIMILAR);
        self.found.into_iter().map(|found| found.similar).collect()
    }
}

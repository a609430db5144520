//! Rows of `title_keys`, and the issues whose titles they find: near-duplicates of a new one.
//!
//! When titles are alike is left to `pensa_core::similar`.

use pensa_core::Result;
use pensa_core::id::IssueId;
use pensa_core::issue::{Issue, Similar, Status};
use pensa_core::similar;

use crate::context::Context;
use crate::db::{Param, Tx};

/// Only issues that are not closed are ever looked for.
pub(crate) fn add(tx: &Tx<'_>, issue: &Issue) -> Result<()> {
    if issue.status == Status::Closed {
        return Ok(());
    }
    let keys = similar::keys(&issue.title);
    if keys.is_empty() {
        return Ok(());
    }
    let rows = list(2, &keys, |at| format!("(?{at}, ?1)"));
    let sql = format!("INSERT INTO title_keys (title_key, issue_id) VALUES {rows} ON CONFLICT DO NOTHING");
    tx.send(&sql, &with_id(&issue.id, &keys))
}

pub(crate) fn remove(tx: &Tx<'_>, issue: &Issue) -> Result<()> {
    let keys = similar::keys(&issue.title);
    if keys.is_empty() {
        return Ok(());
    }
    let places = list(2, &keys, |at| format!("?{at}"));
    let sql = format!("DELETE FROM title_keys WHERE issue_id = ?1 AND title_key IN ({places})");
    tx.send(&sql, &with_id(&issue.id, &keys))
}

/// A piece of SQL for each key, whose values begin at `?first`.
fn list(first: usize, keys: &[i64], piece: impl Fn(usize) -> String) -> String {
    (first..first + keys.len()).map(piece).collect::<Vec<_>>().join(", ")
}

fn with_id<'a>(id: &'a IssueId, keys: &[i64]) -> Vec<Param<'a>> {
    std::iter::once(Param::from(id)).chain(keys.iter().map(|key| Param::from(*key))).collect()
}

/// Adds the keys of an issue whose id nobody has had: none can be in the way.
pub(crate) fn add_new(tx: &Tx<'_>, issue: &Issue) -> Result<()> {
    load(tx, similar::keys(&issue.title).into_iter().map(|key| (key, issue.id.clone())).collect())
}

/// Adds the keys of many issues. In the order of the index this costs a fraction of what any other does.
pub(crate) fn load(tx: &Tx<'_>, mut keys: Vec<(i64, IssueId)>) -> Result<()> {
    keys.sort_unstable();
    keys.dedup();
    for chunk in keys.chunks(KEYS_AT_ONCE) {
        let values: Vec<Param<'_>> = chunk.iter().flat_map(|(key, id)| [(*key).into(), id.into()]).collect();
        tx.add_rows(INSERT_KEY, &values)?;
    }
    Ok(())
}

const INSERT_KEY: &str = "INSERT INTO title_keys (title_key, issue_id) VALUES (?1, ?2)";

/// Keys that one statement adds.
const KEYS_AT_ONCE: usize = 64;

/// Most near-duplicates that are worth telling.
const MAX_SIMILAR: usize = 5;

/// Most issues that are looked at for one key of a title, however many have it.
const MAX_PER_KEY: usize = 20;

/// An id for a new issue, and the issues that are not closed and whose title is nearly `title`, newest first.
///
/// One query for both: over a network a create is mostly round trips.
pub(crate) fn new_id_and_similar(cx: &Context<'_>, tx: &Tx<'_>, title: &str) -> Result<(IssueId, Vec<Similar>)> {
    let keys = similar::keys(title);
    loop {
        let id = IssueId::from_uuid(cx.uuid());
        let mut look = Look { title, id: &id, taken: false, rows: 0, found: Vec::new() };
        look.at(tx, &of_all_keys(&keys), &keys)?;
        if !keys.is_empty() && look.rows >= MAX_PER_KEY * keys.len() {
            // A key that very many have may have left no room for the others.
            look.at(tx, &of_each_key(&keys), &keys)?;
        }
        if !look.taken {
            let similar = look.newest();
            return Ok((id, similar));
        }
    }
}

/// An issue that may be a near-duplicate, and when it was made.
#[derive(Debug)]
struct Found {
    similar: Similar,
    at: String,
}

/// What is known of an issue that has a key. No join: an issue is looked up by its id for each of a few keys, whatever
/// a planner thinks of the tables.
const OF_ISSUE: &str = "k.issue_id, (SELECT i.title FROM issues i WHERE i.id = k.issue_id),
        (SELECT i.created_at FROM issues i WHERE i.id = k.issue_id)";

fn of_keys(condition: &str, limit: usize) -> String {
    format!(
        " UNION ALL SELECT * FROM (SELECT {OF_ISSUE} FROM title_keys k WHERE k.title_key {condition} LIMIT {limit}) AS found"
    )
}

const IS_TAKEN: &str = "SELECT id, NULL, NULL FROM issues WHERE id = ?1";

/// One look for all keys: a part of a statement for each would cost more to begin than to do.
fn of_all_keys(keys: &[i64]) -> String {
    if keys.is_empty() {
        return IS_TAKEN.to_owned();
    }
    let places = list(2, keys, |at| format!("?{at}"));
    format!("{IS_TAKEN}{}", of_keys(&format!("IN ({places})"), MAX_PER_KEY * keys.len()))
}

/// The same with a share for each key.
fn of_each_key(keys: &[i64]) -> String {
    let pieces = (2..keys.len() + 2).map(|at| of_keys(&format!("= ?{at}"), MAX_PER_KEY));
    pieces.fold(IS_TAKEN.to_owned(), |sql, piece| sql + &piece)
}

/// A look for an id and for titles like a new one.
struct Look<'a> {
    title: &'a str,
    id: &'a IssueId,
    taken: bool,
    /// How many were looked at under some key.
    rows: usize,
    found: Vec<Found>,
}

impl Look<'_> {
    fn at(&mut self, tx: &Tx<'_>, sql: &str, keys: &[i64]) -> Result<()> {
        self.rows = 0;
        tx.for_each(sql, &with_id(self.id, keys), |row| {
            let id: IssueId = row.parse(0)?;
            if id == *self.id {
                self.taken = true;
                return Ok(());
            }
            self.rows += 1;
            if let (Some(title), Some(at)) = (row.text_or_null(1)?, row.text_or_null(2)?) {
                self.consider(Found { similar: Similar { id, title }, at });
            }
            Ok(())
        })
    }

    fn consider(&mut self, new: Found) {
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

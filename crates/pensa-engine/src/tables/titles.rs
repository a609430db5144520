//! Rows of `title_keys`, and the issues whose titles they find: near-duplicates of a new one.
//!
//! When titles are alike is left to `pensa_core::similar`.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use pensa_core::Result;
use pensa_core::id::IssueId;
use pensa_core::issue::{Issue, Similar, Status};
use pensa_core::similar;

use crate::context::Context;
use crate::db::{Param, Question, Tx, of_each};

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
    let mut keys = keys_of(tx, &issue.title);
    keys.sort_unstable();
    keys.dedup();
    if !keys.is_empty() {
        let values: Vec<Param<'_>> = keys.iter().flat_map(|key| [(*key).into(), (&issue.id).into()]).collect();
        tx.add_rows(INSERT_KEY, &values)?;
    }
    if let Some(sending) = tx.sending() {
        let similar = Similar { id: issue.id.clone(), title: issue.title.clone() };
        let found = Found { similar, at: issue.created_at.to_string() };
        tx.ahead.borrow_mut().unsent.push(Unsent { sending, found, keys });
    }
    Ok(())
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
/// One question for both: over a network a create is mostly journeys. None at all if it was foreseen; whether the id
/// is free then shows when the row is added, and if not, all is done again.
pub(crate) fn new_id_and_similar(cx: &Context<'_>, tx: &Tx<'_>, title: &str) -> Result<(IssueId, Vec<Similar>)> {
    let keys = keys_of(tx, title);
    let foreseen = foreseen(tx, &keys)?;
    loop {
        let id = IssueId::from_uuid(cx.uuid());
        let mut look = Look { title, id: &id, taken: false, rows: 0, found: Vec::new() };
        match &foreseen {
            Some(foreseen) => foreseen.iter().for_each(|found| look.consider(found.clone())),
            None => look.at(tx, &of_all_keys(&keys), &keys)?,
        }
        look.at_unsent(tx, &keys);
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

/// What a transaction knows of titles beside what the database tells.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// New issues that the database may not yet know of.
    unsent: Vec<Unsent>,
    /// Titles of issues that are about to be made.
    coming: Vec<Coming>,
    /// For how many of them the database was asked.
    asked: usize,
    seen: Option<Seen>,
}

/// The title of an issue that is about to be made, and its keys.
#[derive(Debug, Clone)]
pub(crate) struct Coming {
    title: String,
    keys: Vec<i64>,
}

impl Coming {
    pub(crate) fn titled(title: &str) -> Self {
        Self { title: title.to_owned(), keys: similar::keys(title) }
    }
}

/// The keys of a title, which are known if it was said to be coming.
fn keys_of(tx: &Tx<'_>, title: &str) -> Vec<i64> {
    let ahead = tx.ahead.borrow();
    let known = ahead.coming.iter().find(|coming| coming.title == title);
    known.map_or_else(|| similar::keys(title), |coming| coming.keys.clone())
}

#[derive(Debug)]
struct Unsent {
    sending: u64,
    found: Found,
    keys: Vec<i64>,
}

/// An issue that may be a near-duplicate, and when it was made.
#[derive(Debug, Clone)]
struct Found {
    similar: Similar,
    at: String,
}

/// What the database had under some keys, as long as nothing but new rows came after.
#[derive(Debug)]
struct Seen {
    sending: u64,
    under: HashMap<i64, Vec<Found>>,
}

/// Most keys that one question looks ahead for, and a number of which it always has a multiple, so that there are few
/// different questions.
const MAX_AHEAD: usize = 64;
const STEP: usize = 8;

/// Says which issues are about to be made, so that one question can look for the near-duplicates of all.
pub(crate) fn foresee(tx: &Tx<'_>, coming: Vec<Coming>) {
    let mut ahead = tx.ahead.borrow_mut();
    (ahead.coming, ahead.asked) = (coming, 0);
}

/// What the database has under these keys, if that was or can be asked together with what others need.
fn foreseen(tx: &Tx<'_>, keys: &[i64]) -> Result<Option<Vec<Found>>> {
    let Some(sending) = tx.gathering() else { return Ok(None) };
    let seen = |ahead: &Ahead| {
        let seen = ahead.seen.as_ref().filter(|seen| seen.sending == sending)?;
        let of_each: Option<Vec<_>> = keys.iter().map(|key| seen.under.get(key)).collect();
        Some(of_each?.into_iter().flatten().cloned().collect())
    };
    if let Some(found) = seen(&tx.ahead.borrow()) {
        return Ok(Some(found));
    }
    let wanted = {
        let mut ahead = tx.ahead.borrow_mut();
        let (wanted, titles) = next_keys(&ahead.coming[ahead.asked..]);
        ahead.asked += titles;
        wanted
    };
    if wanted.is_empty() || keys.iter().any(|key| !wanted.contains(key)) {
        return Ok(None);
    }
    let under = look_ahead(tx, &wanted)?;
    let mut ahead = tx.ahead.borrow_mut();
    ahead.seen = under.map(|under| Seen { sending, under });
    Ok(seen(&ahead))
}

/// What will be asked first for issues with these titles.
pub(crate) fn question(coming: &[Coming]) -> Option<Question> {
    let (keys, _) = next_keys(coming);
    (!keys.is_empty()).then(|| under_keys(&keys))
}

/// The keys of the titles that come next, and how many titles that is.
fn next_keys(coming: &[Coming]) -> (Vec<i64>, usize) {
    let (mut keys, mut titles) = (Vec::new(), 0);
    for next in coming {
        if keys.len() + next.keys.len() > MAX_AHEAD {
            break;
        }
        keys.extend(&next.keys);
        titles += 1;
    }
    (keys, titles)
}

/// What the database has under any of these keys; nothing if that is too much.
fn look_ahead(tx: &Tx<'_>, keys: &[i64]) -> Result<Option<HashMap<i64, Vec<Found>>>> {
    let mut under: HashMap<i64, Vec<Found>> = keys.iter().map(|key| (*key, Vec::new())).collect();
    let Question { sql, params } = under_keys(keys);
    let (mut rows, limit) = (0, MAX_PER_KEY * params.len());
    tx.for_each_beside(&sql, &params, |row| {
        rows += 1;
        if let (Some(title), Some(at)) = (row.text_or_null(2)?, row.text_or_null(3)?) {
            let found = Found { similar: Similar { id: row.parse(1)?, title }, at };
            under.entry(row.int(0)?).or_default().push(found);
        }
        Ok(())
    })?;
    Ok((rows < limit).then_some(under))
}

/// Asks what there is under any of these keys.
fn under_keys(keys: &[i64]) -> Question {
    let mut keys = keys.to_vec();
    keys.sort_unstable();
    keys.dedup();
    let padding = keys.len().next_multiple_of(STEP) - keys.len();
    let params: Arc<[Param<'static>]> =
        keys.into_iter().map(Param::from).chain((0..padding).map(|_| Param::Null)).collect();
    let sql = match UNDER_KEYS.get(params.len() / STEP) {
        Some(text) => text.as_str().into(),
        None => under_so_many(params.len()).into(),
    };
    Question { sql, params }
}

/// The texts of the questions that are asked all the time, by how often [`STEP`] keys are looked for.
static UNDER_KEYS: LazyLock<Vec<String>> =
    LazyLock::new(|| (0..=MAX_AHEAD / STEP).map(|steps| under_so_many(steps * STEP)).collect());

fn under_so_many(keys: usize) -> String {
    let under_one = format!("SELECT k.title_key, {OF_ISSUE} FROM title_keys k WHERE k.title_key = wanted.column1");
    format!("{} LIMIT {}", of_each("BIGINT", keys, &under_one), MAX_PER_KEY * keys)
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
        tx.for_each_beside(sql, &with_id(self.id, keys), |row| {
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

    /// Looks at those that the database could not tell of.
    fn at_unsent(&mut self, tx: &Tx<'_>, keys: &[i64]) {
        let unsent = &mut tx.ahead.borrow_mut().unsent;
        unsent.retain(|new| tx.sending() == Some(new.sending));
        for new in unsent.iter() {
            self.taken |= new.found.similar.id == *self.id;
            if new.keys.iter().any(|key| keys.contains(key)) {
                self.consider(new.found.clone());
            }
        }
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

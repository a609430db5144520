//! The tables that git carries, each as a collection of records. A new entity is one more entry in [`TABLES`].

use std::collections::HashSet;
use std::marker::PhantomData;

use pensa_core::agent::Agent;
use pensa_core::comment::Comment;
use pensa_core::dep::Dep;
use pensa_core::event::{self, EventType};
use pensa_core::id::IssueId;
use pensa_core::issue::{Issue, Status};
use pensa_core::kv::Pair;
use pensa_core::learning::Learning;
use pensa_core::release::Release;
use pensa_core::skill::Mapping;
use pensa_core::sync::{
    AGENTS, COMMENTS, Collection, DEPS, ISSUES, KV, LEARNINGS, Noun, RELEASES, Record, SKILLS, WORK,
};
use pensa_core::work::Piece;
use pensa_core::{Error, Result, for_each_attached, json};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::count::Blockers;
use crate::context::Context;
use crate::db::{Param, Tx, params};
use crate::entity::{self, Kept};
use crate::meter;
use crate::ops;
use crate::tables::{deps, events, issues};

/// Lines of a file, and how many they are.
pub(super) type Part = (Vec<u8>, i64);

/// A table whose rows travel as lines.
pub(super) trait Table: Sync {
    fn collection(&self) -> &'static Collection;

    /// What the log calls one of its records.
    fn subject(&self) -> &'static str;

    /// The keys of its records after one of them, in order.
    fn keys(&self, tx: &Tx<'_>, after: &str, limit: usize) -> Result<Vec<String>> {
        let columns: Vec<&str> = self.collection().key_columns().collect();
        match columns.as_slice() {
            [first, second] => pairs(tx, [self.collection().name, first, second], after, limit),
            columns => keys(tx, &self.rows(), columns[0], after, limit),
        }
    }

    /// What a statement selects its keys from.
    fn rows(&self) -> String {
        self.collection().name.to_owned()
    }

    /// Removes all records, without a word in the log.
    fn clear(&self, tx: &Tx<'_>) -> Result<()> {
        tx.send(&format!("DELETE FROM {}", self.collection().name), params![])
    }

    /// Every row as a line, in order.
    fn render(&self, tx: &Tx<'_>, to: &mut Part) -> Result<()>;

    fn get(&self, tx: &Tx<'_>, key: &str) -> Result<Option<Record>>;

    /// Adds a record, or replaces the one it was, and logs it.
    fn put(&self, cx: &Context<'_>, tx: &Tx<'_>, old: Option<Record>, new: Record) -> Result<()>;

    fn remove(&self, cx: &Context<'_>, tx: &Tx<'_>, record: Record) -> Result<()>;

    /// The issues without which a record makes no sense.
    fn rests_on(&self, record: &Record) -> Vec<String>;

    /// Whether a record changes only with an event of an issue that it is about.
    fn is_about_issues(&self) -> bool {
        false
    }

    /// The records about an issue.
    fn about(&self, _: &Tx<'_>, _issue: &IssueId) -> Result<Vec<Record>> {
        Ok(Vec::new())
    }

    /// When a record last had this value of a field, and another after.
    fn left_at(&self, _: &Tx<'_>, _key: &str, _field: &str, _: &Value) -> Result<Option<String>> {
        Ok(None)
    }

    /// Gives a record another id, and logs that with `detail`.
    fn rename(&self, _: &Context<'_>, _: &Tx<'_>, old: &str, _new: &str, _detail: Map<String, Value>) -> Result<()> {
        Err(Error::internal(format!("{old} cannot have another id")))
    }

    /// Adds the record of a line to a table that was empty, without a word in the log.
    fn load(&self, tx: &Tx<'_>, line: &[u8], seen: &mut Seen) -> Result<Loaded>;
}

/// What was loaded so far.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) issues: HashSet<IssueId>,
    pub(super) deps: HashSet<String>,
    /// Of the entities, with the names of their collections.
    pub(super) keys: HashSet<(&'static str, String)>,
    /// What each issue waits for, if that was counted beforehand.
    pub(super) blockers: Blockers,
    /// Keys of titles, to be written in their order.
    pub(super) title_keys: Vec<(i64, IssueId)>,
    /// Issues and the bugs they fix, to be looked at when all are there.
    pub(super) fixes: Vec<(IssueId, IssueId)>,
}

/// What became of a line.
#[derive(Debug)]
pub(super) enum Loaded {
    Taken,
    /// Another line has the same name.
    Again,
    /// It rests on an issue that is not there.
    Dangling(String),
}

macro_rules! attached {
    ($($module:ident $noun:ident $id:ident,)*) => {
        const ATTACHED: &[&dyn Table] = &[$(
            &Entities::<pensa_core::ops::$module::$noun>::of(&const { Collection::of_attached::<pensa_core::ops::$module::$noun>() }),
        )*];
    };
}

for_each_attached!(attached);

/// Every table, in the order in which they refer to each other.
pub(super) static TABLES: [&dyn Table; 6 + ATTACHED.len()] = {
    let first: [&dyn Table; 6] = [
        &Issues,
        &Deps,
        &Entities::<Comment>::of(&COMMENTS),
        &Entities::<Release>::of(&RELEASES),
        &Entities::<Learning>::of(&LEARNINGS),
        &Entities::<Mapping>::of(&SKILLS),
    ];
    let (mut all, mut at) = ([first[0]; 6 + ATTACHED.len()], 0);
    while at < all.len() {
        all[at] = if at < first.len() { first[at] } else { ATTACHED[at - first.len()] };
        at += 1;
    }
    all
};

/// Those that servers carry and git does not.
static BETWEEN_STORES: [&dyn Table; 3] =
    [&Entities::<Piece>::of(&WORK), &Entities::<Agent>::of(&AGENTS), &Entities::<Pair>::of(&KV)];

/// Every table that servers carry.
pub(super) fn all() -> impl Iterator<Item = &'static dyn Table> {
    TABLES.into_iter().chain(BETWEEN_STORES)
}

pub(super) fn of(collection: &str) -> Option<&'static dyn Table> {
    all().find(|table| table.collection().name == collection)
}

pub(super) fn add_line<T: Serialize>((bytes, count): &mut Part, record: &T) -> Result<()> {
    json::write_line(bytes, record)?;
    bytes.push(b'\n');
    *count += 1;
    meter().advance(1);
    Ok(())
}

pub(super) fn count(tx: &Tx<'_>, rows: &str) -> Result<i64> {
    let count = tx.query_one(&format!("SELECT COUNT(*) FROM {rows}"), params![], |row| row.int(0))?;
    Ok(count.unwrap_or_default())
}

/// Keys that are one column.
fn keys(tx: &Tx<'_>, table: &str, column: &str, after: &str, limit: usize) -> Result<Vec<String>> {
    let sql = format!("SELECT {column} FROM {table} WHERE {column} > ?1 ORDER BY {column} LIMIT ?2");
    tx.query(&sql, params![after, i64::try_from(limit).unwrap_or(i64::MAX)], |row| row.text(0))
}

/// Keys that are two columns, with a blank between.
pub(super) fn pairs(tx: &Tx<'_>, [table, first, second]: [&str; 3], after: &str, limit: usize) -> Result<Vec<String>> {
    let (one, other) = after.split_once(' ').unwrap_or((after, ""));
    let sql = format!(
        "SELECT {first}, {second} FROM {table} WHERE ({first}, {second}) > (?1, ?2)
         ORDER BY {first}, {second} LIMIT ?3"
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    tx.query(&sql, params![one, other, limit], |row| Ok(format!("{} {}", row.text(0)?, row.text(1)?)))
}

fn record<T: Serialize>(noun: &T) -> Result<Record> {
    match serde_json::to_value(noun).map_err(Error::internal)? {
        Value::Object(record) => Ok(record),
        _ => Err(Error::internal("a record that is not an object")),
    }
}

fn noun<T: Noun>(record: Record) -> Result<T> {
    serde_json::from_value::<T>(Value::Object(record)).map_err(|e| Error::invalid(e.to_string()))?.adopt()
}

fn parse<T: Noun + DeserializeOwned>(line: &[u8]) -> Result<T> {
    serde_json::from_slice::<T>(line).map_err(|e| Error::invalid(e.to_string()))?.adopt()
}

fn text(record: &Record, field: &str) -> String {
    record.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Logs a change of something that nobody changes here, but that others may have with fields of their own.
fn log_other<T: Serialize>(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    subject: (&'static str, &str),
    issue: &IssueId,
    (old, new): (&T, &T),
) -> Result<()> {
    let detail = event::differences(Some(old), new);
    events::append(cx, tx, subject, Some(issue), EventType::Updated, detail).map(drop)
}

struct Issues;

impl Table for Issues {
    fn collection(&self) -> &'static Collection {
        &ISSUES
    }

    fn subject(&self) -> &'static str {
        "issue"
    }

    fn render(&self, tx: &Tx<'_>, to: &mut Part) -> Result<()> {
        issues::for_each(tx, |issue| add_line(to, issue))
    }

    fn get(&self, tx: &Tx<'_>, key: &str) -> Result<Option<Record>> {
        issues::get(tx, &key.parse()?)?.map(|issue| record(&issue)).transpose()
    }

    fn put(&self, cx: &Context<'_>, tx: &Tx<'_>, old: Option<Record>, new: Record) -> Result<()> {
        let new: Issue = noun(new)?;
        let Some(old) = old else {
            issues::insert(tx, &new)?;
            return events::log(cx, tx, &new.id, EventType::Created, event::changes(None, &new));
        };
        let old: Issue = noun(old)?;
        let mut new = new;
        // How long a renewal lasts is better known here, if it is the same lease.
        if let Some(here) = issues::get(tx, &new.id)?.filter(|here| here.lease_expires_at == new.lease_expires_at) {
            new.lease = here.lease;
        }
        issues::replace(tx, &old, &new)?;
        let mut detail = event::changes(Some(&old), &new);
        if old.updated_at != new.updated_at {
            // Unlike that of a change made here, it is not the time of the event.
            detail.insert("updated_at".into(), event::change(old.updated_at, new.updated_at));
        }
        let event = match (old.status == Status::Closed, new.status == Status::Closed) {
            (false, true) => EventType::Closed,
            (true, false) => EventType::Reopened,
            _ => EventType::Updated,
        };
        events::log(cx, tx, &new.id, event, detail)
    }

    fn remove(&self, cx: &Context<'_>, tx: &Tx<'_>, record: Record) -> Result<()> {
        ops::issue::remove(cx, tx, noun(record)?, Map::new())
    }

    fn rests_on(&self, _: &Record) -> Vec<String> {
        Vec::new()
    }

    fn is_about_issues(&self) -> bool {
        true
    }

    fn about(&self, tx: &Tx<'_>, issue: &IssueId) -> Result<Vec<Record>> {
        issues::get(tx, issue)?.iter().map(record).collect()
    }

    fn left_at(&self, tx: &Tx<'_>, key: &str, field: &str, value: &Value) -> Result<Option<String>> {
        events::left_at(tx, &key.parse()?, field, value)
    }

    fn load(&self, tx: &Tx<'_>, line: &[u8], seen: &mut Seen) -> Result<Loaded> {
        let issue: Issue = parse(line)?;
        if !seen.issues.insert(issue.id.clone()) {
            return Ok(Loaded::Again);
        }
        let blockers = seen.blockers.get(issue.id.as_str()).copied().unwrap_or_default();
        let keys = issues::load(tx, &issue, blockers)?;
        seen.title_keys.extend(keys.into_iter().map(|key| (key, issue.id.clone())));
        if let Some(bug) = issue.fixes {
            seen.fixes.push((issue.id, bug));
        }
        Ok(Loaded::Taken)
    }
}

struct Deps;

impl Table for Deps {
    fn collection(&self) -> &'static Collection {
        &DEPS
    }

    fn subject(&self) -> &'static str {
        "dep"
    }

    fn render(&self, tx: &Tx<'_>, to: &mut Part) -> Result<()> {
        deps::for_each(tx, |dep| add_line(to, dep))
    }

    fn get(&self, tx: &Tx<'_>, key: &str) -> Result<Option<Record>> {
        let (child, parent) = key.split_once(' ').unwrap_or((key, ""));
        deps::get(tx, child, parent)?.map(|dep| record(&dep)).transpose()
    }

    fn put(&self, cx: &Context<'_>, tx: &Tx<'_>, old: Option<Record>, new: Record) -> Result<()> {
        let dep: Dep = noun(new)?;
        if let Some(old) = old {
            deps::set_extra(tx, &dep)?;
            return log_other(cx, tx, ("dep", &dep.key()), &dep.issue_id, (&noun(old)?, &dep));
        }
        match issues::get(tx, &dep.depends_on_id)? {
            Some(parent) => ops::dep::link(cx, tx, &dep, &parent),
            None => Ok(()),
        }
    }

    fn remove(&self, cx: &Context<'_>, tx: &Tx<'_>, record: Record) -> Result<()> {
        let dep: Dep = noun(record)?;
        match issues::get(tx, &dep.depends_on_id)? {
            Some(parent) => ops::dep::unlink(cx, tx, &dep.issue_id, &parent).map(drop),
            None => Ok(()),
        }
    }

    fn rests_on(&self, record: &Record) -> Vec<String> {
        vec![text(record, "issue_id"), text(record, "depends_on_id")]
    }

    fn is_about_issues(&self) -> bool {
        true
    }

    fn about(&self, tx: &Tx<'_>, issue: &IssueId) -> Result<Vec<Record>> {
        deps::of_issue(tx, issue)?.iter().map(record).collect()
    }

    fn load(&self, tx: &Tx<'_>, line: &[u8], seen: &mut Seen) -> Result<Loaded> {
        let dep: Dep = parse(line)?;
        for end in [&dep.issue_id, &dep.depends_on_id] {
            if !seen.issues.contains(end) {
                return Ok(Loaded::Dangling(end.to_string()));
            }
        }
        if !seen.deps.insert(dep.key()) {
            return Ok(Loaded::Again);
        }
        deps::load(tx, &dep)?;
        Ok(Loaded::Taken)
    }
}

/// The rows of an entity.
struct Entities<E> {
    collection: &'static Collection,
    entity: PhantomData<fn() -> E>,
}

impl<E> Entities<E> {
    const fn of(collection: &'static Collection) -> Self {
        Self { collection, entity: PhantomData }
    }
}

impl<E: Kept> Entities<E> {
    /// The row with this key, of which only the last part may have blanks.
    fn row(&self, tx: &Tx<'_>, key: &str) -> Result<Option<E>> {
        let parts: Vec<Param<'_>> = key.splitn(E::SCHEMA.keys, ' ').map(Param::from).collect();
        if parts.len() == E::SCHEMA.keys { entity::get(tx, &parts) } else { Ok(None) }
    }
}

impl<E: Kept + Noun> Table for Entities<E> {
    fn collection(&self) -> &'static Collection {
        self.collection
    }

    fn subject(&self) -> &'static str {
        E::SCHEMA.name
    }

    fn rows(&self) -> String {
        entity::rows(&E::SCHEMA)
    }

    fn clear(&self, tx: &Tx<'_>) -> Result<()> {
        if E::SCHEMA.indexes.is_none() {
            return tx.send(&format!("DELETE FROM {}", E::SCHEMA.table), params![]);
        }
        for key in self.keys(tx, "", usize::MAX)? {
            entity::delete::<E>(tx, params![&key])?;
        }
        Ok(())
    }

    fn render(&self, tx: &Tx<'_>, to: &mut Part) -> Result<()> {
        let order = self.collection.order_columns();
        if E::SCHEMA.indexes.is_none() {
            return entity::in_order::<E>(tx, None, &order, |entity| add_line(to, entity));
        }
        // Those that are kept as records come by their ids.
        let mut all = Vec::new();
        entity::in_order::<E>(tx, None, &order, |entity| {
            all.push(record(entity)?);
            Ok(())
        })?;
        all.sort_by_cached_key(|record| self.collection.place(record));
        all.into_iter().try_for_each(|record| add_line(to, &noun::<E>(record)?))
    }

    fn get(&self, tx: &Tx<'_>, key: &str) -> Result<Option<Record>> {
        if !self.collection.carries(key) {
            return Ok(None);
        }
        let here = self.row(tx, key)?.map(|entity| record(&entity)).transpose()?;
        Ok(here.map(|record| self.collection.without_local(record)))
    }

    fn put(&self, cx: &Context<'_>, tx: &Tx<'_>, old: Option<Record>, new: Record) -> Result<()> {
        if self.collection.local.is_empty() {
            return E::store(cx, tx, old.map(noun).transpose()?.as_ref(), &noun(new)?);
        }
        let (here, mut new) = (self.row(tx, &self.collection.key(&new))?, new);
        if let Some(mut whole) = here.as_ref().map(record).transpose()? {
            let own = self.collection.local.iter().filter_map(|field| whole.remove_entry(*field));
            new.extend(own.collect::<Vec<_>>());
        }
        E::store(cx, tx, here.as_ref(), &noun(new)?)
    }

    fn remove(&self, cx: &Context<'_>, tx: &Tx<'_>, record: Record) -> Result<()> {
        let here = self.row(tx, &self.collection.key(&record))?;
        here.map_or(Ok(()), |here| E::remove(cx, tx, &here))
    }

    fn rests_on(&self, record: &Record) -> Vec<String> {
        E::SCHEMA.owner.map(|owner| text(record, owner)).into_iter().collect()
    }

    fn is_about_issues(&self) -> bool {
        E::SCHEMA.owner.is_some()
    }

    fn about(&self, tx: &Tx<'_>, issue: &IssueId) -> Result<Vec<Record>> {
        let mut owned = Vec::new();
        if E::SCHEMA.owner.is_some() {
            entity::in_order::<E>(tx, Some(issue), &self.collection.order_columns(), |entity| {
                owned.push(record(entity)?);
                Ok(())
            })?;
        }
        Ok(owned)
    }

    fn rename(&self, cx: &Context<'_>, tx: &Tx<'_>, old: &str, new: &str, detail: Map<String, Value>) -> Result<()> {
        let Some(mut moved) = self.get(tx, old)? else { return Ok(()) };
        entity::delete::<E>(tx, params![old])?;
        moved.insert("id".into(), new.into());
        let moved: E = noun(moved)?;
        // Another clone that moved it too may have brought it already.
        entity::put(tx, &moved)?;
        let issue = entity::issue_of(&moved)?;
        events::append(cx, tx, (E::SCHEMA.name, new), issue.as_ref(), EventType::Updated, detail).map(drop)
    }

    fn load(&self, tx: &Tx<'_>, line: &[u8], seen: &mut Seen) -> Result<Loaded> {
        let entity: E = parse(line)?;
        if let Some(issue) = entity::issue_of(&entity)?.filter(|issue| !seen.issues.contains(issue)) {
            return Ok(Loaded::Dangling(issue.to_string()));
        }
        if !seen.keys.insert((self.collection.name, entity::key_of(&entity)?)) {
            return Ok(Loaded::Again);
        }
        entity::load(tx, &entity)?;
        Ok(Loaded::Taken)
    }
}

/// What is said about an issue is logged as an event of the issue, which has what it takes to undo it.
impl Kept for Comment {
    const UNDOABLE: bool = false;

    fn store(cx: &Context<'_>, tx: &Tx<'_>, old: Option<&Self>, new: &Self) -> Result<()> {
        match old {
            None => ops::comment::record(cx, tx, new),
            Some(old) => {
                entity::put(tx, new)?;
                log_other(cx, tx, ("comment", new.id.as_str()), &new.issue_id, (old, new))
            }
        }
    }

    fn remove(cx: &Context<'_>, tx: &Tx<'_>, comment: &Self) -> Result<()> {
        entity::delete::<Self>(tx, params![&comment.id])?;
        let detail = Map::from_iter([("comment".to_owned(), event::change(comment, Value::Null))]);
        events::log(cx, tx, &comment.issue_id, EventType::Updated, detail)
    }
}

//! The tables that are synchronised, each as a collection of records. To add an entity, add it to [`TABLES`].

use std::collections::HashSet;
use std::marker::PhantomData;

use pensa_core::agent::Agent;
use pensa_core::comment::Comment;
use pensa_core::dep::Dep;
use pensa_core::event::{self, EventType};
use pensa_core::id::IssueId;
use pensa_core::issue::{Issue, Status};
use pensa_core::kv::KvPair;
use pensa_core::learning::Learning;
use pensa_core::ops::view::View;
use pensa_core::recall::TextKind;
use pensa_core::release::Release;
use pensa_core::skill::Mapping;
use pensa_core::sync::{
    AGENTS, COMMENTS, Collection, DEPS, ISSUES, KV, LEARNINGS, RELEASES, SKILLS, SyncEntity, SyncObject, VIEWS, WORK,
};
use pensa_core::work::WorkRecord;
use pensa_core::{Error, Result, for_each_attached, json, text};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::blocker_counts::BlockerCounts;
use super::sessions::SessionTable;
use crate::context::Context;
use crate::db::{Param, Tx, params};
use crate::entity::{self, StoredEntity};
use crate::ops;
use crate::progress;
use crate::tables::{deps, events, issues, operations, recall, titles};

/// Lines of a file, and their number.
pub(super) type RenderedLines = (Vec<u8>, i64);

/// A table whose rows are exchanged as lines.
pub(super) trait SyncedTable: Sync {
    fn collection(&self) -> &'static Collection;

    /// The subject kind of its events.
    fn subject(&self) -> &'static str;

    /// The keys of its records after a key, in order.
    fn keys(&self, tx: &Tx<'_>, after: &str, limit: usize) -> Result<Vec<String>> {
        let columns: Vec<&str> = self.collection().key_columns().collect();
        match columns.as_slice() {
            [first, second] => pairs(tx, [self.collection().name, first, second], after, limit),
            columns => keys(tx, &self.rows(), columns[0], after, limit),
        }
    }

    /// What to select its keys from.
    fn rows(&self) -> String {
        self.collection().name.to_owned()
    }

    /// Deletes all records without events.
    fn clear(&self, tx: &Tx<'_>) -> Result<()> {
        tx.send(&format!("DELETE FROM {}", self.collection().name), params![])
    }

    /// Writes all rows as lines, in order.
    fn render(&self, tx: &Tx<'_>, to: &mut RenderedLines) -> Result<()>;

    fn get(&self, tx: &Tx<'_>, key: &str) -> Result<Option<SyncObject>>;

    /// Inserts a record or replaces the old one, and logs it.
    fn put(&self, cx: &Context<'_>, tx: &Tx<'_>, old: Option<SyncObject>, new: SyncObject) -> Result<()>;

    fn remove(&self, cx: &Context<'_>, tx: &Tx<'_>, record: SyncObject) -> Result<()>;

    /// The issues that a record refers to and cannot exist without.
    fn required_issues(&self, record: &SyncObject) -> Vec<String>;

    /// Whether its records belong to issues, so that they change only with an issue's event.
    fn is_about_issues(&self) -> bool {
        false
    }

    /// The records that belong to an issue.
    fn records_of_issue(&self, _: &Tx<'_>, _issue: &IssueId) -> Result<Vec<SyncObject>> {
        Ok(Vec::new())
    }

    /// When a record's field last changed from this value to another.
    fn replaced_at(&self, _: &Tx<'_>, _key: &str, _field: &str, _: &Value) -> Result<Option<String>> {
        Ok(None)
    }

    /// Changes the id of a record, and logs that with `detail`.
    fn rename(&self, _: &Context<'_>, _: &Tx<'_>, old: &str, _new: &str, _detail: Map<String, Value>) -> Result<()> {
        Err(Error::internal(format!("{old} cannot have another id")))
    }

    /// Inserts the record of a line into an empty table, without an event.
    fn load(&self, tx: &Tx<'_>, line: &[u8], seen: &mut LoadedIds) -> Result<Loaded>;
}

/// What a bulk load has loaded so far.
#[derive(Debug, Default)]
pub(super) struct LoadedIds {
    pub(super) issues: HashSet<IssueId>,
    pub(super) deps: HashSet<String>,
    /// Keys of entities, with their collections.
    pub(super) keys: HashSet<(&'static str, String)>,
    /// Blockers of each issue, if counted beforehand.
    pub(super) blockers: BlockerCounts,
    /// Title keys, to be written in sorted order.
    pub(super) title_keys: Vec<(i64, IssueId)>,
    /// Issues and the bugs they fix, to be checked when all are loaded.
    pub(super) fixes: Vec<(IssueId, IssueId)>,
}

/// The result of loading a line.
#[derive(Debug)]
pub(super) enum Loaded {
    Added,
    /// Another line has the same key.
    Duplicate,
    /// Its issue does not exist.
    Dangling(String),
}

macro_rules! attached {
    ($($module:ident $noun:ident $id:ident,)*) => {
        const ATTACHED: &[&dyn SyncedTable] = &[$(
            &EntityTable::<pensa_core::ops::$module::$noun>::of(&const { Collection::of_attached::<pensa_core::ops::$module::$noun>() }),
        )*];
    };
}

for_each_attached!(attached);

/// All tables that git carries, in the order in which they refer to each other.
pub(super) static TABLES: [&dyn SyncedTable; 7 + ATTACHED.len()] = {
    let first: [&dyn SyncedTable; 7] = [
        &IssueTable,
        &DepTable,
        &EntityTable::<Comment>::of(&COMMENTS),
        &EntityTable::<Release>::of(&RELEASES),
        &EntityTable::<Learning>::of(&LEARNINGS),
        &EntityTable::<Mapping>::of(&SKILLS),
        &EntityTable::<View>::of(&VIEWS),
    ];
    let (mut all, mut at) = ([first[0]; 7 + ATTACHED.len()], 0);
    while at < all.len() {
        all[at] = if at < first.len() { first[at] } else { ATTACHED[at - first.len()] };
        at += 1;
    }
    all
};

/// Tables that only servers carry.
static BETWEEN_STORES: [&dyn SyncedTable; 4] = [
    &EntityTable::<WorkRecord>::of(&WORK),
    &EntityTable::<Agent>::of(&AGENTS),
    &EntityTable::<KvPair>::of(&KV),
    &SessionTable,
];

/// All tables that servers carry.
pub(super) fn all() -> impl Iterator<Item = &'static dyn SyncedTable> {
    TABLES.into_iter().chain(BETWEEN_STORES)
}

pub(super) fn of(collection: &str) -> Option<&'static dyn SyncedTable> {
    all().find(|table| table.collection().name == collection)
}

pub(super) fn add_line<T: Serialize>((bytes, count): &mut RenderedLines, record: &T) -> Result<()> {
    json::write_line(bytes, record)?;
    bytes.push(b'\n');
    *count += 1;
    progress().advance(1);
    Ok(())
}

pub(super) fn count(tx: &Tx<'_>, rows: &str) -> Result<i64> {
    let count = tx.query_one(&format!("SELECT COUNT(*) FROM {rows}"), params![], |row| row.int(0))?;
    Ok(count.unwrap_or_default())
}

/// Keys of one column.
fn keys(tx: &Tx<'_>, table: &str, column: &str, after: &str, limit: usize) -> Result<Vec<String>> {
    let sql = format!("SELECT {column} FROM {table} WHERE {column} > ?1 ORDER BY {column} LIMIT ?2");
    tx.query(&sql, params![after, i64::try_from(limit).unwrap_or(i64::MAX)], |row| row.text(0))
}

/// Keys of two columns, separated by a space.
pub(super) fn pairs(tx: &Tx<'_>, [table, first, second]: [&str; 3], after: &str, limit: usize) -> Result<Vec<String>> {
    let (one, other) = after.split_once(' ').unwrap_or((after, ""));
    let sql = format!(
        "SELECT {first}, {second} FROM {table} WHERE ({first}, {second}) > (?1, ?2)
         ORDER BY {first}, {second} LIMIT ?3"
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    tx.query(&sql, params![one, other, limit], |row| Ok(format!("{} {}", row.text(0)?, row.text(1)?)))
}

pub(super) fn record<T: Serialize>(entity: &T) -> Result<SyncObject> {
    match serde_json::to_value(entity).map_err(Error::internal)? {
        Value::Object(record) => Ok(record),
        _ => Err(Error::internal("a record that is not an object")),
    }
}

pub(super) fn parse_record<T: SyncEntity>(record: SyncObject) -> Result<T> {
    serde_json::from_value::<T>(Value::Object(record)).map_err(|e| Error::invalid(e.to_string()))?.normalise()
}

fn parse_line<T: SyncEntity + DeserializeOwned>(line: &[u8]) -> Result<T> {
    serde_json::from_slice::<T>(line).map_err(|e| Error::invalid(e.to_string()))?.normalise()
}

fn text(record: &SyncObject, field: &str) -> String {
    record.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Logs an update of a record that no local command changes, such as new fields from another version.
fn log_foreign_change<T: Serialize>(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    subject: (&'static str, &str),
    issue: &IssueId,
    (old, new): (&T, &T),
) -> Result<()> {
    let detail = event::differences(Some(old), new);
    events::append(cx, tx, subject, Some(issue), EventType::Updated, detail).map(drop)
}

struct IssueTable;

impl SyncedTable for IssueTable {
    fn collection(&self) -> &'static Collection {
        &ISSUES
    }

    fn subject(&self) -> &'static str {
        "issue"
    }

    fn render(&self, tx: &Tx<'_>, to: &mut RenderedLines) -> Result<()> {
        issues::for_each(tx, |issue| add_line(to, issue))
    }

    fn get(&self, tx: &Tx<'_>, key: &str) -> Result<Option<SyncObject>> {
        issues::get(tx, &key.parse()?)?.map(|issue| record(&issue)).transpose()
    }

    fn put(&self, cx: &Context<'_>, tx: &Tx<'_>, old: Option<SyncObject>, new: SyncObject) -> Result<()> {
        let new: Issue = parse_record(new)?;
        let Some(old) = old else {
            entity::insert(tx, &new)?;
            // It may have been here before: then its history is its own again, as after a replay.
            operations::reattach(tx, &new.id)?;
            return events::log(cx, tx, &new.id, EventType::Created, event::changes(None, &new));
        };
        let old: Issue = parse_record(old)?;
        let mut new = new;
        // If the lease is the same, keep its duration, which is only known here.
        if let Some(here) = issues::get(tx, &new.id)?.filter(|here| here.lease_expires_at == new.lease_expires_at) {
            new.lease = here.lease;
        }
        entity::put(tx, &new)?;
        let mut detail = event::changes(Some(&old), &new);
        if old.updated_at != new.updated_at {
            // The time of the change, which is not the time of this event.
            detail.insert("updated_at".into(), event::change(old.updated_at, new.updated_at));
        }
        let event = match (old.status == Status::Closed, new.status == Status::Closed) {
            (false, true) => EventType::Closed,
            (true, false) => EventType::Reopened,
            _ => EventType::Updated,
        };
        events::log(cx, tx, &new.id, event, detail)
    }

    fn remove(&self, cx: &Context<'_>, tx: &Tx<'_>, record: SyncObject) -> Result<()> {
        ops::issue::remove(cx, tx, parse_record(record)?, Map::new())
    }

    fn required_issues(&self, _: &SyncObject) -> Vec<String> {
        Vec::new()
    }

    fn is_about_issues(&self) -> bool {
        true
    }

    fn records_of_issue(&self, tx: &Tx<'_>, issue: &IssueId) -> Result<Vec<SyncObject>> {
        issues::get(tx, issue)?.iter().map(record).collect()
    }

    fn replaced_at(&self, tx: &Tx<'_>, key: &str, field: &str, value: &Value) -> Result<Option<String>> {
        events::last_changed_from(tx, &key.parse()?, field, value)
    }

    fn load(&self, tx: &Tx<'_>, line: &[u8], seen: &mut LoadedIds) -> Result<Loaded> {
        let issue: Issue = parse_line(line)?;
        if !seen.issues.insert(issue.id.clone()) {
            return Ok(Loaded::Duplicate);
        }
        let blockers = seen.blockers.get(issue.id.as_str()).copied().unwrap_or_default();
        entity::load_row(tx, &issue, &[("blockers", blockers.into())])?;
        seen.title_keys.extend(titles::keys(&issue));
        if let Some(bug) = issue.fixes {
            seen.fixes.push((issue.id, bug));
        }
        Ok(Loaded::Added)
    }
}

struct DepTable;

impl SyncedTable for DepTable {
    fn collection(&self) -> &'static Collection {
        &DEPS
    }

    fn subject(&self) -> &'static str {
        "dep"
    }

    fn render(&self, tx: &Tx<'_>, to: &mut RenderedLines) -> Result<()> {
        entity::for_each::<Dep>(tx, "ORDER BY issue_id, depends_on_id", params![], |dep| add_line(to, dep))
    }

    fn get(&self, tx: &Tx<'_>, key: &str) -> Result<Option<SyncObject>> {
        let (child, parent) = key.split_once(' ').unwrap_or((key, ""));
        entity::get::<Dep>(tx, params![child, parent])?.map(|dep| record(&dep)).transpose()
    }

    fn put(&self, cx: &Context<'_>, tx: &Tx<'_>, old: Option<SyncObject>, new: SyncObject) -> Result<()> {
        let dep: Dep = parse_record(new)?;
        if let Some(old) = old {
            entity::put(tx, &dep)?;
            return log_foreign_change(cx, tx, ("dep", &dep.key()), &dep.issue_id, (&parse_record(old)?, &dep));
        }
        match issues::get(tx, &dep.depends_on_id)? {
            Some(_) => ops::dep::link(cx, tx, &dep),
            None => Ok(()),
        }
    }

    fn remove(&self, cx: &Context<'_>, tx: &Tx<'_>, record: SyncObject) -> Result<()> {
        let dep: Dep = parse_record(record)?;
        ops::dep::unlink(cx, tx, &dep.issue_id, &dep.depends_on_id).map(drop)
    }

    fn required_issues(&self, record: &SyncObject) -> Vec<String> {
        vec![text(record, "issue_id"), text(record, "depends_on_id")]
    }

    fn is_about_issues(&self) -> bool {
        true
    }

    fn records_of_issue(&self, tx: &Tx<'_>, issue: &IssueId) -> Result<Vec<SyncObject>> {
        deps::of_issue(tx, issue)?.iter().map(record).collect()
    }

    fn load(&self, tx: &Tx<'_>, line: &[u8], seen: &mut LoadedIds) -> Result<Loaded> {
        let dep: Dep = parse_line(line)?;
        for end in [&dep.issue_id, &dep.depends_on_id] {
            if !seen.issues.contains(end) {
                return Ok(Loaded::Dangling(end.to_string()));
            }
        }
        if !seen.deps.insert(dep.key()) {
            return Ok(Loaded::Duplicate);
        }
        entity::load_row(tx, &dep, &[])?;
        Ok(Loaded::Added)
    }
}

/// The rows of an entity.
struct EntityTable<E> {
    collection: &'static Collection,
    entity: PhantomData<fn() -> E>,
}

impl<E> EntityTable<E> {
    const fn of(collection: &'static Collection) -> Self {
        Self { collection, entity: PhantomData }
    }
}

impl<E: StoredEntity> EntityTable<E> {
    /// The row with this key. Only the last part of a key may contain spaces.
    fn row(&self, tx: &Tx<'_>, key: &str) -> Result<Option<E>> {
        let parts: Vec<Param<'_>> = key.splitn(E::SCHEMA.keys, ' ').map(Param::from).collect();
        if parts.len() == E::SCHEMA.keys { entity::get(tx, &parts) } else { Ok(None) }
    }
}

impl<E: StoredEntity + SyncEntity> SyncedTable for EntityTable<E> {
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

    fn render(&self, tx: &Tx<'_>, to: &mut RenderedLines) -> Result<()> {
        let order = self.collection.order_columns();
        if E::SCHEMA.indexes.is_none() {
            return entity::for_each_in_order::<E>(tx, None, &order, |entity| add_line(to, entity));
        }
        // Entities stored as records come in the order of their ids.
        let mut all = Vec::new();
        entity::for_each_in_order::<E>(tx, None, &order, |entity| {
            all.push(record(entity)?);
            Ok(())
        })?;
        all.sort_by_cached_key(|record| self.collection.sort_key(record));
        all.into_iter().try_for_each(|record| add_line(to, &parse_record::<E>(record)?))
    }

    fn get(&self, tx: &Tx<'_>, key: &str) -> Result<Option<SyncObject>> {
        if !self.collection.carries(key) {
            return Ok(None);
        }
        let here = self.row(tx, key)?.map(|entity| record(&entity)).transpose()?;
        Ok(here.map(|record| self.collection.without_local(record)))
    }

    fn put(&self, cx: &Context<'_>, tx: &Tx<'_>, old: Option<SyncObject>, new: SyncObject) -> Result<()> {
        if self.collection.local.is_empty() {
            return E::store(cx, tx, old.map(parse_record).transpose()?.as_ref(), &parse_record(new)?);
        }
        let (here, mut new) = (self.row(tx, &self.collection.key(&new))?, new);
        if let Some(mut whole) = here.as_ref().map(record).transpose()? {
            let own = self.collection.local.iter().filter_map(|field| whole.remove_entry(*field));
            new.extend(own.collect::<Vec<_>>());
        }
        E::store(cx, tx, here.as_ref(), &parse_record(new)?)
    }

    fn remove(&self, cx: &Context<'_>, tx: &Tx<'_>, record: SyncObject) -> Result<()> {
        let here = self.row(tx, &self.collection.key(&record))?;
        here.map_or(Ok(()), |here| E::remove(cx, tx, &here))
    }

    fn required_issues(&self, record: &SyncObject) -> Vec<String> {
        E::SCHEMA.owner.map(|owner| text(record, owner)).into_iter().collect()
    }

    fn is_about_issues(&self) -> bool {
        E::SCHEMA.owner.is_some()
    }

    fn records_of_issue(&self, tx: &Tx<'_>, issue: &IssueId) -> Result<Vec<SyncObject>> {
        let mut owned = Vec::new();
        if E::SCHEMA.owner.is_some() {
            entity::for_each_in_order::<E>(tx, Some(issue), &self.collection.order_columns(), |entity| {
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
        let moved: E = parse_record(moved)?;
        // Another clone may have brought the renamed record already.
        entity::put(tx, &moved)?;
        let issue = entity::issue_of(&moved)?;
        events::append(cx, tx, (E::SCHEMA.name, new), issue.as_ref(), EventType::Updated, detail).map(drop)
    }

    fn load(&self, tx: &Tx<'_>, line: &[u8], seen: &mut LoadedIds) -> Result<Loaded> {
        let entity: E = parse_line(line)?;
        if let Some(issue) = entity::issue_of(&entity)?.filter(|issue| !seen.issues.contains(issue)) {
            return Ok(Loaded::Dangling(issue.to_string()));
        }
        if !seen.keys.insert((self.collection.name, entity::key_of(&entity)?)) {
            return Ok(Loaded::Duplicate);
        }
        entity::load(tx, &entity)?;
        Ok(Loaded::Added)
    }
}

/// A comment is logged as an event of its issue.
impl StoredEntity for Comment {
    const HAS_PROJECTIONS: bool = true;

    fn computed(&self) -> Vec<(&'static str, Param<'static>)> {
        vec![("search_text", text::fold(&self.text).into())]
    }

    fn project(tx: &Tx<'_>, before: Option<&Self>, after: Option<&Self>) -> Result<()> {
        let Some(comment) = after.or(before) else { return Ok(()) };
        recall::touch(tx, TextKind::Comment, comment.id.as_str())
    }

    fn store(cx: &Context<'_>, tx: &Tx<'_>, old: Option<&Self>, new: &Self) -> Result<()> {
        match old {
            None => ops::comment::record(cx, tx, new),
            Some(old) => {
                entity::put(tx, new)?;
                log_foreign_change(cx, tx, ("comment", new.id.as_str()), &new.issue_id, (old, new))
            }
        }
    }

    fn remove(cx: &Context<'_>, tx: &Tx<'_>, comment: &Self) -> Result<()> {
        entity::delete::<Self>(tx, params![&comment.id])?;
        events::log(cx, tx, &comment.issue_id, EventType::Updated, Self::event_detail(Some(comment), None))
    }
}

//! Changes of records: put, deleted, and done again from the journal, with the keys of every index of the collection.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use pensa_core::id::IssueId;
use pensa_core::record::{self, Filter, Record, View, line};
use pensa_core::session::object::{self, Object};
use pensa_core::{Code, Error, Result, Timestamp, event, job, json, loops};
use serde_json::{Map, Value};

use super::{COLUMNS, Collection, Declared, Query, read};
use crate::db::{Param, Tx, params};
use crate::entity;

/// How many records are asked for at once to see whether they are there.
const LOOKED_UP_AT_ONCE: usize = 200;
/// How many keys one statement adds.
const KEYS_AT_ONCE: usize = 128;
/// The field of loops and jobs that names their issue.
const OF_ISSUE: &str = "issue_id";
/// Longest JSON of a value that an event tells; of longer ones it tells how long they are.
const TOLD_BYTES: usize = 500;
/// Most fields whose change an event tells.
const TOLD_FIELDS: usize = 32;

/// What a record is to be.
#[derive(Debug, Clone)]
pub(crate) struct Draft<'d> {
    pub(crate) id: String,
    pub(crate) data: Cow<'d, Object>,
    pub(crate) updated_at: Timestamp,
}

/// What must be there before a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expect {
    /// Whatever there is.
    Any,
    Absent,
    Present,
    Rev(i64),
}

impl Expect {
    fn check(self, collection: &str, id: &str, old: Option<&Record>) -> Result<()> {
        let conflict = |what: String| Error::new(Code::Conflict, what).hint("look at it again, then decide");
        match (self, old) {
            (Expect::Any, _) | (Expect::Absent, None) | (Expect::Present, Some(_)) => Ok(()),
            (Expect::Rev(rev), Some(old)) if old.rev == rev => Ok(()),
            (Expect::Absent, Some(old)) => {
                Err(conflict(format!("record {id} in {collection} is there already, with revision {}", old.rev)))
            }
            (Expect::Rev(rev), Some(old)) => {
                Err(conflict(format!("record {id} in {collection} has revision {}, not {rev}", old.rev)))
            }
            (Expect::Rev(_), None) => Err(conflict(format!("record {id} in {collection} is gone"))),
            (Expect::Present, None) => Err(Error::not_found("record", format!("{id} in {collection}"))),
        }
    }
}

/// A draft that was put.
#[derive(Debug)]
pub(crate) struct Done<'d> {
    pub(crate) draft: Draft<'d>,
    pub(crate) old: Option<Record>,
    pub(crate) rev: i64,
    pub(crate) is_change: bool,
}

impl Done<'_> {
    /// The record that there is now.
    pub(crate) fn into_put(self, collection: &str) -> Put {
        let Done { draft: Draft { id, data, updated_at }, old, rev, is_change } = self;
        let new = match &old {
            Some(old) if !is_change => old.clone(),
            _ => Record { collection: collection.to_owned(), id, rev, updated_at, data: data.into_owned() },
        };
        Put { old, new }
    }
}

/// A record that was put.
#[derive(Debug)]
pub(crate) struct Put {
    pub(crate) old: Option<Record>,
    pub(crate) new: Record,
}

impl Put {
    /// Whether anything is not as it was.
    pub(crate) fn is_change(&self) -> bool {
        self.old.as_ref().is_none_or(|old| old.rev != self.new.rev)
    }

    /// What changed, for an event.
    pub(crate) fn detail(&self) -> Map<String, Value> {
        detail(self.old.as_ref(), Some(&self.new))
    }
}

/// What is different between two states of a record: its revision, and each field that has another value. Large values
/// are told by their size, for the log is read again and again.
pub(crate) fn detail(old: Option<&Record>, new: Option<&Record>) -> Map<String, Value> {
    let rev = |record: Option<&Record>| record.map(|record| record.rev);
    let mut detail = Map::new();
    detail.insert("rev".into(), event::change(rev(old), rev(new)));
    let empty = Object::new();
    let (was, is) = (old.map_or(&empty, |old| &old.data), new.map_or(&empty, |new| &new.data));
    let names = was.keys().chain(is.keys().filter(|name| !was.contains_key(*name)));
    let changed: Vec<&String> = names.filter(|name| was.get(*name) != is.get(*name)).collect();
    let mut fields = Map::new();
    for name in changed.iter().take(TOLD_FIELDS) {
        fields.insert(told_name(name), event::change(told(was.get(*name)), told(is.get(*name))));
    }
    if changed.len() > TOLD_FIELDS {
        detail.insert("more_fields".into(), Value::from(changed.len() - TOLD_FIELDS));
    }
    detail.insert("data".into(), Value::Object(fields));
    detail
}

fn told_name(name: &str) -> String {
    name.chars().take(record::ID_BYTES).collect()
}

fn told(value: Option<&Value>) -> Value {
    let Some(value) = value else { return Value::Null };
    let bytes = json::to_line(value).map_or(0, |line| line.len());
    if bytes <= TOLD_BYTES { value.clone() } else { Map::from_iter([("bytes".to_owned(), Value::from(bytes))]).into() }
}

/// What is known of a record that is about to be put.
enum Known {
    Old(Option<Record>),
    /// It is among those that are put just before it.
    Again,
}

/// Records of a collection on their way into it. What the indexes have of them is added in the end.
#[derive(Debug)]
pub(crate) struct Putting<'p, 'c> {
    collection: &'p Collection,
    tx: &'p Tx<'c>,
    next_event: i64,
    keys: Keys,
}

impl Putting<'_, '_> {
    /// Puts some, in order; if one is refused, `told` says of its number which it was.
    pub(crate) fn put<'d>(
        &mut self,
        drafts: Vec<(Draft<'d>, Expect)>,
        told: impl Fn(usize, Error) -> Error,
    ) -> Result<Vec<Done<'d>>> {
        let mut puts = Vec::with_capacity(drafts.len());
        let mut drafts = drafts.into_iter();
        loop {
            let some: Vec<(Draft<'_>, Expect)> = drafts.by_ref().take(LOOKED_UP_AT_ONCE).collect();
            if some.is_empty() {
                return Ok(puts);
            }
            let known = self.known(&some)?;
            for ((draft, expect), known) in some.into_iter().zip(known) {
                let old = match known {
                    Known::Old(old) => old,
                    Known::Again => self.collection.get(self.tx, &draft.id)?,
                };
                let put = self.collection.put_over(self.tx, old, (draft, expect), self.next_event, &mut self.keys);
                puts.push(put.map_err(|e| told(puts.len(), e))?);
            }
        }
    }

    /// What is there of each of these.
    fn known(&self, some: &[(Draft<'_>, Expect)]) -> Result<Vec<Known>> {
        // What must not be there is refused if it is, without having been looked for.
        if self.tx.tells_clashes() && some.iter().all(|(_, expect)| *expect == Expect::Absent) {
            return Ok(some.iter().map(|_| Known::Old(None)).collect());
        }
        let mut known = self.collection.by_ids(self.tx, some.iter().map(|(draft, _)| draft.id.as_str()))?;
        let mut ids = HashSet::with_capacity(some.len());
        let mut of = |id| if ids.insert(id) { Known::Old(known.remove(id)) } else { Known::Again };
        Ok(some.iter().map(|(draft, _)| of(draft.id.as_str())).collect())
    }

    /// Adds what the indexes have of them.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.keys.add(self.tx)
    }
}

impl Collection {
    /// Puts one record in its place, or adds it.
    pub(crate) fn put(&self, tx: &Tx<'_>, draft: Draft<'_>, expect: Expect) -> Result<Put> {
        let (old, mut keys) = (self.get(tx, &draft.id)?, Keys::default());
        let done = self.put_over(tx, old, (draft, expect), tx.next_event()?, &mut keys)?;
        keys.add(tx)?;
        Ok(done.into_put(&self.name))
    }

    /// Puts many, in order; if one is refused, `told` says of its number which it was.
    pub(crate) fn put_many(
        &self,
        tx: &Tx<'_>,
        drafts: Vec<(Draft<'_>, Expect)>,
        told: impl Fn(usize, Error) -> Error,
    ) -> Result<()> {
        let mut putting = self.putting(tx)?;
        putting.put(drafts, told)?;
        putting.finish()
    }

    /// Begins to put many, some at a time. No event may be logged meanwhile.
    pub(crate) fn putting<'p, 'c>(&'p self, tx: &'p Tx<'c>) -> Result<Putting<'p, 'c>> {
        Ok(Putting { collection: self, tx, next_event: tx.next_event()?, keys: Keys::default() })
    }

    fn by_ids<'i>(&self, tx: &Tx<'_>, ids: impl Iterator<Item = &'i str>) -> Result<HashMap<String, Record>> {
        let ids: Vec<&str> = ids.collect();
        let places: Vec<String> = (0..ids.len()).map(|at| format!("?{}", at + 2)).collect();
        let sql =
            format!("SELECT {COLUMNS} FROM records r WHERE r.collection = ?1 AND r.id IN ({})", places.join(", "));
        let values: Vec<Param<'_>> =
            std::iter::once(self.name.as_str()).chain(ids.iter().copied()).map(Param::from).collect();
        Ok(tx.query(&sql, &values, read)?.into_iter().map(|record| (record.id.clone(), record)).collect())
    }

    /// Puts one record over the one that is there; what has to be added to the indexes goes to `keys`.
    fn put_over<'d>(
        &self,
        tx: &Tx<'_>,
        old: Option<Record>,
        (draft, expect): (Draft<'d>, Expect),
        next_event: i64,
        keys: &mut Keys,
    ) -> Result<Done<'d>> {
        let (id, data) = (draft.id.as_str(), &*draft.data);
        record::check_id(id)?;
        // Depth first: to write a bottomless document would itself be the accident.
        object::check_depth("the record", data)?;
        expect.check(&self.name, id, old.as_ref())?;
        if let Some(rev) = old.as_ref().filter(|old| old.data == *data).map(|old| old.rev) {
            return Ok(Done { draft, old, rev, is_change: false });
        }
        let written = json::to_line(data)?;
        record::check_written(id, data, &written)?;
        // Numbers of events are never given out twice, so no record ever has a revision that it, or another of the same
        // id, had before.
        let rev = old.as_ref().map_or(0, |old| old.rev + 1).max(next_event);
        let new = View { collection: &self.name, id, rev, updated_at: draft.updated_at, data };
        tx.journal_written("record", |to| new.write_json(&written, to))?;
        tx.write_through(&self.name, |to| line::of_written(new, &written, to))?;
        self.write(tx, old.as_ref(), new, &written, keys)?;
        Ok(Done { draft, old, rev, is_change: true })
    }

    /// Puts a record in place of another, adds or removes it, as somebody else has decided and noted for the journal.
    pub(crate) fn replace(&self, tx: &Tx<'_>, old: Option<&Record>, new: Option<&Record>) -> Result<()> {
        match (old, new) {
            (old, Some(new)) => {
                let (written, mut keys) = (json::to_line(&new.data)?, Keys::default());
                record::check_written(&new.id, &new.data, &written)?;
                tx.write_through(&self.name, |to| line::of_written(new.view(), &written, to))?;
                self.write(tx, old, new.view(), &written, &mut keys)?;
                keys.add(tx)
            }
            (Some(old), None) => {
                let rev = tx.next_event()?.max(old.rev);
                tx.write_through(&self.name, |to| line::of_deleted(&old.id, rev, old.updated_at, to))?;
                self.remove(tx, old)
            }
            (None, None) => Ok(()),
        }
    }

    fn write(&self, tx: &Tx<'_>, old: Option<&Record>, new: View<'_>, written: &str, keys: &mut Keys) -> Result<()> {
        let values = params![new.collection, new.id, new.rev, new.updated_at, written];
        let Some(old) = old else {
            let insert = "INSERT INTO records (collection, id, rev, updated_at, data) VALUES (?1, ?2, ?3, ?4, ?5)";
            tx.add_rows(insert, values).map_err(|e| self.explain(tx, new.id, e))?;
            keys.note(&self.indexes, new);
            return Ok(());
        };
        tx.send("UPDATE records SET rev = ?3, updated_at = ?4, data = ?5 WHERE collection = ?1 AND id = ?2", values)?;
        // The keys that are removed may be among those yet to be added.
        keys.add(tx)?;
        let moved = |index: &&Declared| old.key(&index.field) != new.key(&index.field);
        let moved: Vec<&Declared> = self.indexes.iter().filter(moved).collect();
        remove_keys(tx, &moved, old)?;
        keys.note(moved, new);
        Ok(())
    }

    /// Why a record could not be added.
    fn explain(&self, tx: &Tx<'_>, id: &str, error: Error) -> Error {
        let there = self.get(tx, id).ok().flatten();
        Expect::Absent.check(&self.name, id, there.as_ref()).err().unwrap_or(error)
    }

    /// Deletes a record, and gives back what it was.
    pub(crate) fn delete(&self, tx: &Tx<'_>, id: &str, expect: Expect, at: Timestamp) -> Result<Record> {
        let old = self.find(tx, id)?;
        expect.check(&self.name, id, Some(&old))?;
        self.end(tx, &old, at)?;
        Ok(old)
    }

    /// Deletes all that a question means, in its order, and gives back what they were without their documents.
    pub(crate) fn delete_where(&self, tx: &Tx<'_>, query: &Query, at: Timestamp) -> Result<Vec<Record>> {
        let mut deleted = Vec::new();
        let mut rest = query.clone();
        loop {
            let found = self.select(tx, &rest)?;
            for record in found.records {
                self.end(tx, &record, at)?;
                deleted.push(Record { data: Object::new(), ..record });
            }
            let wanted = query.limit.map(|limit| limit.saturating_sub(deleted.len()));
            match found.next {
                Some(next) if wanted != Some(0) => (rest.after, rest.limit) = (Some(next), wanted),
                _ => return Ok(deleted),
            }
        }
    }

    fn end(&self, tx: &Tx<'_>, old: &Record, at: Timestamp) -> Result<()> {
        let rev = tx.next_event()?.max(old.rev);
        tx.write_through(&self.name, |to| line::of_deleted(&old.id, rev, at, to))?;
        tx.journal("record_deleted", &(&old.collection, &old.id, old.rev))?;
        self.remove(tx, old)
    }

    fn remove(&self, tx: &Tx<'_>, old: &Record) -> Result<()> {
        remove_keys(tx, &self.indexes.iter().collect::<Vec<_>>(), old)?;
        tx.send("DELETE FROM records WHERE collection = ?1 AND id = ?2", params![&old.collection, &old.id])
    }
}

/// Puts a record as it was, unless a later state of it is there.
pub(crate) fn restore(tx: &Tx<'_>, record: &Record) -> Result<()> {
    tx.journal("record", record)?;
    let collection = Collection::open(tx, &record.collection)?;
    match collection.get(tx, &record.id)? {
        Some(later) if later.rev > record.rev => Ok(()),
        old => {
            let mut keys = Keys::default();
            collection.write(tx, old.as_ref(), record.view(), &json::to_line(&record.data)?, &mut keys)?;
            keys.add(tx)
        }
    }
}

/// Deletes a record, unless a later state than this is there.
pub(crate) fn forget(tx: &Tx<'_>, collection: &str, id: &str, rev: i64) -> Result<()> {
    let collection = Collection::open(tx, collection)?;
    match collection.get(tx, id)? {
        Some(old) if old.rev <= rev => {
            tx.journal("record_deleted", &(&old.collection, &old.id, old.rev))?;
            collection.remove(tx, &old)
        }
        _ => Ok(()),
    }
}

/// Has what nouns keep as records be about an issue under its new id.
pub(crate) fn issue_renamed(tx: &Tx<'_>, old: &IssueId, new: &IssueId) -> Result<()> {
    for name in [loops::COLLECTION, job::COLLECTION].into_iter().chain(entity::attached_collections()) {
        let collection = Collection::open(tx, name)?;
        let of_it = Query { filters: vec![Filter::eq(OF_ISSUE, old.as_str())], ..Query::default() };
        loop {
            let found = collection.select(tx, &of_it)?;
            for Record { id, rev, updated_at, mut data, .. } in found.records {
                data.insert(OF_ISSUE.to_owned(), new.as_str().into());
                collection.put(tx, Draft { id, data: Cow::Owned(data), updated_at }, Expect::Rev(rev))?;
            }
            if found.next.is_none() {
                break;
            }
        }
    }
    Ok(())
}

/// What indexes are to have of records. There may be many of them, so their texts lie side by side.
#[derive(Debug, Default)]
pub(super) struct Keys {
    text: String,
    keys: Vec<Key>,
}

/// A key of a record in an index, by its places in the text.
#[derive(Debug)]
struct Key {
    index: i64,
    key: Range<usize>,
    record: Range<usize>,
}

impl Keys {
    /// Notes what these indexes have of a record.
    pub(super) fn note<'i>(&mut self, indexes: impl IntoIterator<Item = &'i Declared>, new: View<'_>) {
        let record = self.keep(new.id);
        for index in indexes {
            let key = self.keep(&new.key(&index.field));
            self.keys.push(Key { index: index.id, key, record: record.clone() });
        }
    }

    fn keep(&mut self, text: &str) -> Range<usize> {
        let start = self.text.len();
        self.text.push_str(text);
        start..self.text.len()
    }

    /// Adds them to the indexes. In their order this costs a fraction of what any other does.
    pub(super) fn add(&mut self, tx: &Tx<'_>) -> Result<()> {
        let Self { text, keys } = self;
        let text = |place: &Range<usize>| text.get(place.clone()).unwrap_or_default();
        // Few indexes have many keys: told apart first, what is in order already stays so.
        keys.sort_by_key(|key| key.index);
        for of_one in keys.chunk_by_mut(|a, b| a.index == b.index) {
            of_one.sort_by(|a, b| text(&a.key).cmp(text(&b.key)).then_with(|| text(&a.record).cmp(text(&b.record))));
        }
        for some in keys.chunks(KEYS_AT_ONCE) {
            let places = some.iter().map(|key| [key.index.into(), text(&key.key).into(), text(&key.record).into()]);
            let values: Vec<Param<'_>> = places.flatten().collect();
            tx.add_rows("INSERT INTO record_keys (index_id, k, record_id) VALUES (?1, ?2, ?3)", &values)?;
        }
        keys.clear();
        self.text.clear();
        Ok(())
    }
}

fn remove_keys(tx: &Tx<'_>, indexes: &[&Declared], record: &Record) -> Result<()> {
    let sql = "DELETE FROM record_keys WHERE index_id = ?1 AND k = ?2 AND record_id = ?3";
    indexes.iter().try_for_each(|index| tx.send(sql, params![index.id, record.key(&index.field), &record.id]))
}

//! Operations on records.
//!
//! How rows are found and changed is left to the tables.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use pensa_core::event::EventType;
use pensa_core::id::RecordId;
use pensa_core::ops::record::{
    Applied, Apply, Change, Collections, Compact, Compacted, Count, Counted, Delete, Deleted, Get, Index, Indexed,
    MAX_CHANGES, Page, Put, Query, Removal,
};
use pensa_core::record::{self as rules, Record};
use pensa_core::{Code, Error, Result, ops};
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::db::Tx;
use crate::execute::{AloneCalls, Execute, ExecuteAlone};
use crate::tables::events;
use crate::tables::records::{self, Collection, Draft, Expect, Put as Changed, detail};
use crate::taskstore;

/// Most changes of one operation that have an event each; of more, each collection has one.
const TOLD_EACH: usize = 100;
/// Most ids that such an event tells.
const TOLD_IDS: usize = 1000;

fn log(cx: &Context<'_>, tx: &Tx<'_>, record: &Record, event_type: EventType, what: Map<String, Value>) -> Result<()> {
    let mut told = Map::new();
    told.insert("collection".into(), Value::from(record.collection.as_str()));
    told.insert("id".into(), Value::from(record.id.as_str()));
    told.extend(what);
    let subject = format!("{}/{}", record.collection, record.id);
    events::append(cx, tx, ("record", &subject), None, event_type, told).map(drop)
}

fn log_put(cx: &Context<'_>, tx: &Tx<'_>, put: &Changed) -> Result<()> {
    log(cx, tx, &put.new, EventType::RecordPut, put.detail())
}

fn log_deleted(cx: &Context<'_>, tx: &Tx<'_>, gone: &Record) -> Result<()> {
    log(cx, tx, gone, EventType::RecordDeleted, detail(Some(gone), None))
}

/// Logs many changes of one collection in one line.
fn log_many(cx: &Context<'_>, tx: &Tx<'_>, collection: &str, event_type: EventType, ids: &[&str]) -> Result<()> {
    let mut told = Map::new();
    told.insert("collection".into(), Value::from(collection));
    told.insert("records".into(), Value::from(ids.len()));
    told.insert("ids".into(), ids.iter().take(TOLD_IDS).copied().collect());
    events::append(cx, tx, ("collection", collection), None, event_type, told).map(drop)
}

/// The revision that a caller expects; 0 is that of what is not there.
fn expect(if_rev: Option<i64>) -> Expect {
    match if_rev {
        None => Expect::Any,
        Some(0) => Expect::Absent,
        Some(rev) => Expect::Rev(rev),
    }
}

/// What a request wants a record to be, with an id of its own if it has none.
fn draft<'p>(cx: &Context<'_>, tx: &Tx<'_>, collection: &Collection, put: &'p Put) -> Result<(Draft<'p>, Expect)> {
    let Put { id, data, if_rev, if_present, updated_at, .. } = put;
    let given = match id {
        Some(id) => Some(id.clone()),
        None => rules::own_id(data)?,
    };
    let id = match given {
        Some(id) => id,
        None => loop {
            let id = RecordId::from_uuid(cx.uuid()).to_string();
            if collection.get(tx, &id)?.is_none() {
                break id;
            }
        },
    };
    let mut data = Cow::Borrowed(data);
    if collection.indexes.iter().any(|index| index.field == rules::REDACTED) && !cx.no_redact {
        cx.redactor().map(data.to_mut());
    }
    let expect = if *if_present && if_rev.is_none() { Expect::Present } else { expect(*if_rev) };
    Ok((Draft { id, data, updated_at: updated_at.unwrap_or(cx.now) }, expect))
}

impl Execute for Put {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Record> {
        rules::refuse_owned(&self.collection)?;
        let collection = Collection::open(tx, &self.collection)?;
        let (draft, expect) = draft(cx, tx, &collection, self)?;
        let put = collection.put(tx, draft, expect)?;
        if put.is_change() {
            log_put(cx, tx, &put)?;
        }
        Ok(put.new)
    }
}

impl Execute for Get {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Record> {
        Collection::open(tx, &self.collection)?.find(tx, &self.id)
    }
}

impl Execute for Query {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Page> {
        let query = records::Query {
            filters: self.filters.clone(),
            order: self.order.clone().unwrap_or_default(),
            limit: self.limit.map(|limit| limit as usize),
            after: self.after.clone(),
        };
        let found = Collection::open(tx, &self.collection)?.select(tx, &query)?;
        Ok(Page { records: found.records, next: found.next })
    }
}

impl Execute for Count {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Counted> {
        let count = Collection::open(tx, &self.collection)?.count(tx, &self.filters)?;
        Ok(Counted { collection: self.collection.clone(), count })
    }
}

impl Execute for Delete {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Deleted> {
        rules::refuse_owned(&self.collection)?;
        let collection = Collection::open(tx, &self.collection)?;
        let gone = match (&self.id, self.filters.as_slice()) {
            (Some(id), []) => {
                let gone = collection.delete(tx, id, expect(self.if_rev), cx.now)?;
                log_deleted(cx, tx, &gone)?;
                vec![gone]
            }
            (None, filters) if !filters.is_empty() && self.if_rev.is_none() => {
                let query = records::Query { filters: filters.to_vec(), ..records::Query::default() };
                let gone = collection.delete_where(tx, &query, cx.now)?;
                let ids: Vec<&str> = gone.iter().map(|record| record.id.as_str()).collect();
                if !ids.is_empty() {
                    log_many(cx, tx, &self.collection, EventType::RecordDeleted, &ids)?;
                }
                gone
            }
            _ => {
                return Err(Error::invalid("either one record is deleted by its id, or those that pass tests")
                    .hint("pn record delete COLLECTION ID, or pn record delete COLLECTION --where TEST"));
            }
        };
        let ids = gone.into_iter().map(|record| record.id).collect();
        Ok(Deleted { status: "deleted".into(), collection: self.collection.clone(), ids })
    }
}

impl Execute for Collections {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<ops::record::Collection>> {
        collections(tx)
    }
}

fn collections(tx: &Tx<'_>) -> Result<Vec<ops::record::Collection>> {
    let mut known: BTreeMap<String, ops::record::Collection> = BTreeMap::new();
    for (name, records, updated_at) in records::sizes(tx)? {
        let collection = ops::record::Collection { records, updated_at: Some(updated_at.parse()?), ..empty(&name) };
        known.insert(name, collection);
    }
    for index in records::indexes(tx)? {
        let collection = known.entry(index.collection.clone()).or_insert_with(|| empty(&index.collection));
        if index.field == rules::REDACTED {
            collection.redact = true;
        } else {
            collection.indexes.push(index.field);
        }
    }
    Ok(known.into_values().collect())
}

fn empty(name: &str) -> ops::record::Collection {
    ops::record::Collection {
        collection: name.to_owned(),
        records: 0,
        updated_at: None,
        indexes: Vec::new(),
        redact: false,
    }
}

impl Execute for Index {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Indexed> {
        let collection = Collection::open(tx, &self.collection)?;
        let known = collection.indexes.len();
        if !self.fields.is_empty() || self.redact {
            rules::refuse_owned(&self.collection)?;
        }
        let mut fields: Vec<&str> = self.fields.iter().map(String::as_str).collect();
        fields.extend(self.redact.then_some(rules::REDACTED));
        let collection = collection.declaring(tx, &fields)?;
        let new: Vec<&str> = collection.indexes.iter().skip(known).map(|index| index.field.as_str()).collect();
        let rebuilt = self.rebuild || (self.check && !collection.is_indexed_rightly(tx)?);
        if rebuilt {
            collection.reindex(tx)?;
        }
        if rebuilt || !new.is_empty() {
            let mut told = Map::new();
            told.insert("collection".into(), Value::from(self.collection.as_str()));
            told.insert("fields".into(), new.into_iter().collect());
            told.insert("rebuilt".into(), json!(rebuilt));
            events::append(cx, tx, ("collection", &self.collection), None, EventType::RecordIndexed, told)?;
        }
        let known = collections(tx)?.into_iter().find(|known| known.collection == self.collection);
        Ok(Indexed { collection: known.unwrap_or_else(|| empty(&self.collection)), rebuilt })
    }
}

impl Execute for Apply {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Applied>> {
        if self.changes.len() > MAX_CHANGES {
            let message = format!("{} changes are too many: at most {MAX_CHANGES}", self.changes.len());
            return Err(Error::new(Code::TooLarge, message).hint("make them in several transactions"));
        }
        let mut work = Work::begin(cx, tx, self.changes.len())?;
        let mut changes = self.changes.iter().peekable();
        while let Some(change) = changes.next() {
            match change {
                Change::Delete(removal) => {
                    let at = work.done.len() + 1;
                    work.delete(removal).map_err(|e| e.within(format!("change {at}")))?;
                }
                Change::Put(first) => {
                    let mut first_put = Some(first);
                    work.put(&first.collection, || {
                        let put = first_put.take().or_else(|| match changes.peek() {
                            Some(Change::Put(next)) if next.collection == first.collection => {
                                changes.next();
                                Some(next)
                            }
                            _ => None,
                        });
                        put.map(|put| Ok(Cow::Borrowed(put)))
                    })?;
                }
            }
        }
        work.finish()
    }
}

/// Puts up to `count` records of one collection in a transaction. Each is made when its turn has come, by its number, so
/// that there are never many of them; where there is none, that was all.
pub fn put_each(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    (collection, count): (&str, usize),
    make: impl Fn(usize) -> Option<Result<Put>>,
) -> Result<Vec<Applied>> {
    let mut work = Work::begin(cx, tx, count)?;
    let mut numbers = 0..count.min(MAX_CHANGES);
    work.put(collection, || make(numbers.next()?).map(|put| put.map(Cow::Owned)))?;
    work.finish()
}

/// The collections that a transaction has to do with, and what was done to them.
struct Work<'w, 'c, 't> {
    cx: &'w Context<'c>,
    tx: &'w Tx<'t>,
    /// Whether each change has an event of its own.
    each: bool,
    open: BTreeMap<String, Collection>,
    done: Vec<(Rc<str>, Applied, bool)>,
}

impl<'w, 'c, 't> Work<'w, 'c, 't> {
    /// Begins a number of changes.
    fn begin(cx: &'w Context<'c>, tx: &'w Tx<'t>, count: usize) -> Result<Self> {
        let each = count <= TOLD_EACH;
        if !each {
            tx.expect_many_rows()?;
        }
        Ok(Self { cx, tx, each, open: BTreeMap::new(), done: Vec::new() })
    }

    fn open(&mut self, name: &str) -> Result<&Collection> {
        if !self.open.contains_key(name) {
            rules::refuse_owned(name)?;
            self.open.insert(name.to_owned(), Collection::open(self.tx, name)?);
        }
        self.open.get(name).ok_or_else(|| Error::internal("a collection that is not open"))
    }

    /// Puts all records of one collection that `next` has.
    fn put<'p>(&mut self, name: &str, mut next: impl FnMut() -> Option<Result<Cow<'p, Put>>>) -> Result<()> {
        let (cx, tx, each) = (self.cx, self.tx, self.each);
        let (shared, first): (Rc<str>, usize) = (name.into(), self.done.len() + 1);
        let collection = self.open(name).map_err(|e| e.within(format!("change {first}")))?;
        let (mut putting, mut done) = (collection.putting(tx)?, Vec::new());
        loop {
            // Some at a time: nothing of those before is needed any more.
            let told = |ahead: usize, e: Error| e.within(format!("change {}", first + done.len() + ahead));
            let some = std::iter::from_fn(&mut next).take(TOLD_EACH).enumerate();
            let some: Vec<Cow<'p, Put>> = some.map(|(n, put)| put.map_err(|e| told(n, e))).collect::<Result<_>>()?;
            if some.is_empty() {
                break;
            }
            let drafts = some.iter().enumerate();
            let drafts = drafts.map(|(n, put)| draft(cx, tx, collection, put).map_err(|e| told(n, e)));
            for put in putting.put(drafts.collect::<Result<_>>()?, told)? {
                let applied = Applied { id: put.draft.id.clone(), rev: Some(put.rev) };
                done.push((Rc::clone(&shared), applied, put.is_change));
                if each && put.is_change {
                    log_put(cx, tx, &put.into_put(name))?;
                }
            }
        }
        putting.finish()?;
        self.done.extend(done);
        Ok(())
    }

    fn delete(&mut self, removal: &Removal) -> Result<()> {
        let (cx, tx, each) = (self.cx, self.tx, self.each);
        let collection = self.open(&removal.collection)?;
        rules::check_id(&removal.id)?;
        let is_there = collection.get(tx, &removal.id)?.is_some();
        if is_there || removal.if_rev.is_some() {
            let gone = collection.delete(tx, &removal.id, expect(removal.if_rev), cx.now)?;
            if each {
                log_deleted(cx, tx, &gone)?;
            }
        }
        self.done.push((removal.collection.as_str().into(), Applied { id: removal.id.clone(), rev: None }, is_there));
        Ok(())
    }

    fn finish(self) -> Result<Vec<Applied>> {
        if !self.each {
            let mut told: BTreeMap<(&str, bool), Vec<&str>> = BTreeMap::new();
            for (collection, applied, _) in self.done.iter().filter(|(_, _, is_change)| *is_change) {
                told.entry((collection, applied.rev.is_some())).or_default().push(&applied.id);
            }
            for ((collection, is_there), ids) in told {
                let event_type = if is_there { EventType::RecordPut } else { EventType::RecordDeleted };
                log_many(self.cx, self.tx, collection, event_type, &ids)?;
            }
        }
        Ok(self.done.into_iter().map(|(_, applied, _)| applied).collect())
    }
}

impl Execute for Compact {
    /// Nobody else's changes may be in the files before they are committed.
    const ALONE: Option<AloneCalls<Self>> = Some(AloneCalls::new());

    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Compacted> {
        let Some(store) = cx.store.own_dir() else {
            return Err(Error::new(Code::Unsupported, "this store is kept in a database, and has no files of records"));
        };
        let bytes_before = taskstore::bytes(store);
        let collections = taskstore::rewrite(tx, store)?;
        Ok(Compacted { collections, bytes_before, bytes: taskstore::bytes(store) })
    }
}

impl ExecuteAlone for Compact {}

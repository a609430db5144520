//! Operations on records.
//!
//! `tables::records` finds and changes the rows.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use pensa_core::event::EventType;
use pensa_core::id::RecordId;
use pensa_core::ops::record::{
    Applied, Apply, Change, Collections, Compact, Compacted, Count, Counted, Delete, Deleted, Get, Index, Indexed,
    MAX_CHANGES, Put, Query, QueryPage, Removal,
};
use pensa_core::record::{self as rules, Record};
use pensa_core::{Code, Error, Result, ops};
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::db::Tx;
use crate::execute::{AloneCalls, Execute, ExecuteAlone};
use crate::tables::events;
use crate::tables::records::{self, Collection, Expect, RecordDraft, RecordUpdate, detail};
use crate::taskstore;

/// Up to this many changes, an operation logs an event per change; above, one per collection.
const MAX_SEPARATE_EVENTS: usize = 100;
/// Most ids in an event about many changes.
const MAX_EVENT_IDS: usize = 1000;

fn log(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    record: &Record,
    event_type: EventType,
    changes: Map<String, Value>,
) -> Result<()> {
    let mut detail = Map::new();
    detail.insert("collection".into(), Value::from(record.collection.as_str()));
    detail.insert("id".into(), Value::from(record.id.as_str()));
    detail.extend(changes);
    let subject = format!("{}/{}", record.collection, record.id);
    events::append(cx, tx, ("record", &subject), None, event_type, detail).map(drop)
}

fn log_put(cx: &Context<'_>, tx: &Tx<'_>, put: &RecordUpdate) -> Result<()> {
    log(cx, tx, &put.new, EventType::RecordPut, put.detail())
}

fn log_deleted(cx: &Context<'_>, tx: &Tx<'_>, deleted: &Record) -> Result<()> {
    log(cx, tx, deleted, EventType::RecordDeleted, detail(Some(deleted), None))
}

/// Logs many changes of one collection as one event.
fn log_many(cx: &Context<'_>, tx: &Tx<'_>, collection: &str, event_type: EventType, ids: &[&str]) -> Result<()> {
    let mut detail = Map::new();
    detail.insert("collection".into(), Value::from(collection));
    detail.insert("records".into(), Value::from(ids.len()));
    detail.insert("ids".into(), ids.iter().take(MAX_EVENT_IDS).copied().collect());
    events::append(cx, tx, ("collection", collection), None, event_type, detail).map(drop)
}

/// The expected revision; 0 means that the record must not exist.
fn expect(if_rev: Option<i64>) -> Expect {
    match if_rev {
        None => Expect::Any,
        Some(0) => Expect::Absent,
        Some(rev) => Expect::Rev(rev),
    }
}

/// The record that a request puts, with a new id if it has none.
fn draft<'p>(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    collection: &Collection,
    put: &'p Put,
) -> Result<(RecordDraft<'p>, Expect)> {
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
    Ok((RecordDraft { id, data, updated_at: updated_at.unwrap_or(cx.now) }, expect))
}

impl Execute for Put {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Record> {
        rules::refuse_owned(&self.collection)?;
        let collection = Collection::open(tx, &self.collection)?.undoable();
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
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<QueryPage> {
        let query = records::Query {
            filters: self.filters.clone(),
            order: self.order.clone().unwrap_or_default(),
            limit: self.limit.map(|limit| limit as usize),
            after: self.after.clone(),
        };
        let page = Collection::open(tx, &self.collection)?.select(tx, &query)?;
        Ok(QueryPage { records: page.records, next: page.next })
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
        let deleted = match (&self.id, self.filters.as_slice()) {
            (Some(id), []) => {
                let deleted = collection.undoable().delete(tx, id, expect(self.if_rev), cx.now)?;
                log_deleted(cx, tx, &deleted)?;
                vec![deleted]
            }
            (None, filters) if !filters.is_empty() && self.if_rev.is_none() => {
                let query = records::Query { filters: filters.to_vec(), ..records::Query::default() };
                let deleted = collection.delete_where(tx, &query, cx.now)?;
                let ids: Vec<&str> = deleted.iter().map(|record| record.id.as_str()).collect();
                if !ids.is_empty() {
                    log_many(cx, tx, &self.collection, EventType::RecordDeleted, &ids)?;
                }
                deleted
            }
            _ => {
                return Err(Error::invalid("either one record is deleted by its id, or those that pass tests")
                    .hint("pn record delete COLLECTION ID, or pn record delete COLLECTION --where TEST"));
            }
        };
        let ids = deleted.into_iter().map(|record| record.id).collect();
        Ok(Deleted { status: "deleted".into(), collection: self.collection.clone(), ids })
    }
}

impl Execute for Collections {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<ops::record::CollectionInfo>> {
        collections(tx)
    }
}

fn collections(tx: &Tx<'_>) -> Result<Vec<ops::record::CollectionInfo>> {
    let mut known: BTreeMap<String, ops::record::CollectionInfo> = BTreeMap::new();
    for (name, records, updated_at) in records::sizes(tx)? {
        let collection =
            ops::record::CollectionInfo { records, updated_at: Some(updated_at.parse()?), ..empty_collection(&name) };
        known.insert(name, collection);
    }
    for index in records::indexes(tx)? {
        let collection = known.entry(index.collection.clone()).or_insert_with(|| empty_collection(&index.collection));
        if index.field == rules::REDACTED {
            collection.redact = true;
        } else {
            collection.indexes.push(index.field);
        }
    }
    Ok(known.into_values().collect())
}

fn empty_collection(name: &str) -> ops::record::CollectionInfo {
    ops::record::CollectionInfo {
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
        let collection = collection.with_indexes(tx, &fields)?;
        let new: Vec<&str> = collection.indexes.iter().skip(known).map(|index| index.field.as_str()).collect();
        let rebuilt = self.rebuild || (self.check && !collection.has_valid_indexes(tx)?);
        if rebuilt {
            collection.reindex(tx)?;
        }
        if rebuilt || !new.is_empty() {
            let mut detail = Map::new();
            detail.insert("collection".into(), Value::from(self.collection.as_str()));
            detail.insert("fields".into(), new.into_iter().collect());
            detail.insert("rebuilt".into(), json!(rebuilt));
            events::append(cx, tx, ("collection", &self.collection), None, EventType::RecordIndexed, detail)?;
        }
        let known = collections(tx)?.into_iter().find(|known| known.collection == self.collection);
        Ok(Indexed { collection: known.unwrap_or_else(|| empty_collection(&self.collection)), rebuilt })
    }
}

impl Execute for Apply {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Applied>> {
        if self.changes.len() > MAX_CHANGES {
            let message = format!("{} changes are too many: at most {MAX_CHANGES}", self.changes.len());
            return Err(Error::new(Code::TooLarge, message).hint("make them in several transactions"));
        }
        let mut changes = RecordChanges::begin(cx, tx, self.changes.len())?;
        let mut requests = self.changes.iter().peekable();
        while let Some(change) = requests.next() {
            match change {
                Change::Delete(removal) => {
                    let at = changes.done.len() + 1;
                    changes.delete(removal).map_err(|e| e.within(format!("change {at}")))?;
                }
                Change::Put(first) => {
                    let mut first_put = Some(first);
                    changes.put(&first.collection, || {
                        let put = first_put.take().or_else(|| match requests.peek() {
                            Some(Change::Put(next)) if next.collection == first.collection => {
                                requests.next();
                                Some(next)
                            }
                            _ => None,
                        });
                        put.map(|put| Ok(Cow::Borrowed(put)))
                    })?;
                }
            }
        }
        changes.finish()
    }
}

/// Puts up to `count` records into one collection, in one transaction. `make` creates them one by one, so that memory
/// use stays low, and returns `None` when there are no more.
pub fn put_each(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    (collection, count): (&str, usize),
    make: impl Fn(usize) -> Option<Result<Put>>,
) -> Result<Vec<Applied>> {
    let mut changes = RecordChanges::begin(cx, tx, count)?;
    let mut numbers = 0..count.min(MAX_CHANGES);
    changes.put(collection, || make(numbers.next()?).map(|put| put.map(Cow::Owned)))?;
    changes.finish()
}

/// The collections used by a transaction, and the changes made so far.
struct RecordChanges<'w, 'c, 't> {
    cx: &'w Context<'c>,
    tx: &'w Tx<'t>,
    /// Whether each change gets an event of its own
    has_own_events: bool,
    open: BTreeMap<String, Collection>,
    done: Vec<(Rc<str>, Applied, bool)>,
}

impl<'w, 'c, 't> RecordChanges<'w, 'c, 't> {
    fn begin(cx: &'w Context<'c>, tx: &'w Tx<'t>, count: usize) -> Result<Self> {
        let has_own_events = count <= MAX_SEPARATE_EVENTS;
        if !has_own_events {
            tx.expect_many_rows()?;
        }
        Ok(Self { cx, tx, has_own_events, open: BTreeMap::new(), done: Vec::new() })
    }

    fn open(&mut self, name: &str) -> Result<&Collection> {
        if !self.open.contains_key(name) {
            rules::refuse_owned(name)?;
            let collection = Collection::open(self.tx, name)?;
            self.open.insert(name.to_owned(), if self.has_own_events { collection.undoable() } else { collection });
        }
        self.open.get(name).ok_or_else(|| Error::internal("a collection that is not open"))
    }

    /// Puts all records that `next` returns into one collection.
    fn put<'p>(&mut self, name: &str, mut next: impl FnMut() -> Option<Result<Cow<'p, Put>>>) -> Result<()> {
        let (cx, tx, has_own_events) = (self.cx, self.tx, self.has_own_events);
        let (shared, first): (Rc<str>, usize) = (name.into(), self.done.len() + 1);
        let collection = self.open(name).map_err(|e| e.within(format!("change {first}")))?;
        let (mut writer, mut done) = (collection.writer(tx)?, Vec::new());
        loop {
            // In chunks, so that earlier records can be freed.
            let error_of = |index: usize, e: Error| e.within(format!("change {}", first + done.len() + index));
            // With an event per change, the event follows its change immediately.
            let chunk =
                std::iter::from_fn(&mut next).take(if has_own_events { 1 } else { MAX_SEPARATE_EVENTS }).enumerate();
            let chunk: Vec<Cow<'p, Put>> =
                chunk.map(|(n, put)| put.map_err(|e| error_of(n, e))).collect::<Result<_>>()?;
            if chunk.is_empty() {
                break;
            }
            let drafts = chunk.iter().enumerate();
            let drafts = drafts.map(|(n, put)| draft(cx, tx, collection, put).map_err(|e| error_of(n, e)));
            for put in writer.put(drafts.collect::<Result<_>>()?, error_of)? {
                let applied = Applied { id: put.draft.id.clone(), rev: Some(put.rev) };
                done.push((Rc::clone(&shared), applied, put.is_change));
                if has_own_events && put.is_change {
                    log_put(cx, tx, &put.into_put(name))?;
                }
            }
        }
        writer.finish()?;
        self.done.extend(done);
        Ok(())
    }

    fn delete(&mut self, removal: &Removal) -> Result<()> {
        let (cx, tx, has_own_events) = (self.cx, self.tx, self.has_own_events);
        let collection = self.open(&removal.collection)?;
        rules::check_id(&removal.id)?;
        let is_there = collection.get(tx, &removal.id)?.is_some();
        if is_there || removal.if_rev.is_some() {
            let deleted = collection.delete(tx, &removal.id, expect(removal.if_rev), cx.now)?;
            if has_own_events {
                log_deleted(cx, tx, &deleted)?;
            }
        }
        self.done.push((removal.collection.as_str().into(), Applied { id: removal.id.clone(), rev: None }, is_there));
        Ok(())
    }

    fn finish(self) -> Result<Vec<Applied>> {
        if !self.has_own_events {
            let mut ids: BTreeMap<(&str, bool), Vec<&str>> = BTreeMap::new();
            for (collection, applied, _) in self.done.iter().filter(|(_, _, is_change)| *is_change) {
                ids.entry((collection, applied.rev.is_some())).or_default().push(&applied.id);
            }
            for ((collection, is_there), ids) in ids {
                let event_type = if is_there { EventType::RecordPut } else { EventType::RecordDeleted };
                log_many(self.cx, self.tx, collection, event_type, &ids)?;
            }
        }
        Ok(self.done.into_iter().map(|(_, applied, _)| applied).collect())
    }
}

impl Execute for Compact {
    /// The files may only contain committed changes, so nothing else may run in this transaction.
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

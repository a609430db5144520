//! Puts and deletes records, and replays them from the journal, together with all index keys.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use pensa_core::id::IssueId;
use pensa_core::record::{self, Filter, Record, RecordView, line};
use pensa_core::session::object::{self, Object};
use pensa_core::{Code, Error, Result, Timestamp, event, job, json, loops};
use serde_json::{Map, Value};

use super::{COLUMNS, Collection, FieldIndex, Query, read};
use crate::db::{Param, Tx, params};
use crate::entity;

/// Existing records looked up per query.
const LOOKUPS_PER_QUERY: usize = 200;
/// Index keys added per statement.
const KEYS_PER_STATEMENT: usize = 128;
/// The field of loops and jobs that names their issue.
const ISSUE_FIELD: &str = "issue_id";
/// Longest JSON of a value in an event; for a longer value the event has its length.
const MAX_EVENT_VALUE_BYTES: usize = 500;
/// Most changed fields in an event.
const MAX_EVENT_FIELDS: usize = 32;

/// A record to be put.
#[derive(Debug, Clone)]
pub(crate) struct RecordDraft<'d> {
    pub(crate) id: String,
    pub(crate) data: Cow<'d, Object>,
    pub(crate) updated_at: Timestamp,
}

/// The precondition of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expect {
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
pub(crate) struct StoredDraft<'d> {
    pub(crate) draft: RecordDraft<'d>,
    pub(crate) old: Option<Record>,
    pub(crate) rev: i64,
    pub(crate) is_change: bool,
}

impl StoredDraft<'_> {
    /// Combines draft and revision into the stored record.
    pub(crate) fn into_put(self, collection: &str) -> RecordUpdate {
        let StoredDraft { draft: RecordDraft { id, data, updated_at }, old, rev, is_change } = self;
        let new = match &old {
            Some(old) if !is_change => old.clone(),
            _ => Record { collection: collection.to_owned(), id, rev, updated_at, data: data.into_owned() },
        };
        RecordUpdate { old, new }
    }
}

/// A put record, before and after.
#[derive(Debug)]
pub(crate) struct RecordUpdate {
    pub(crate) old: Option<Record>,
    pub(crate) new: Record,
}

impl RecordUpdate {
    /// Whether the record changed.
    pub(crate) fn is_change(&self) -> bool {
        self.old.as_ref().is_none_or(|old| old.rev != self.new.rev)
    }

    /// The change, as an event has it.
    pub(crate) fn detail(&self) -> Map<String, Value> {
        detail(self.old.as_ref(), Some(&self.new))
    }
}

/// The difference between two states of a record: its revision, and each changed field. Of large values only the size
/// is given, because the log is read often.
pub(crate) fn detail(old: Option<&Record>, new: Option<&Record>) -> Map<String, Value> {
    let rev = |record: Option<&Record>| record.map(|record| record.rev);
    let mut detail = Map::new();
    detail.insert("rev".into(), event::change(rev(old), rev(new)));
    let empty = Object::new();
    let (was, is) = (old.map_or(&empty, |old| &old.data), new.map_or(&empty, |new| &new.data));
    let names = was.keys().chain(is.keys().filter(|name| !was.contains_key(*name)));
    let changed: Vec<&String> = names.filter(|name| was.get(*name) != is.get(*name)).collect();
    let mut fields = Map::new();
    for name in changed.iter().take(MAX_EVENT_FIELDS) {
        fields.insert(event_field_name(name), event::change(event_value(was.get(*name)), event_value(is.get(*name))));
    }
    if changed.len() > MAX_EVENT_FIELDS {
        detail.insert("more_fields".into(), Value::from(changed.len() - MAX_EVENT_FIELDS));
    }
    detail.insert("data".into(), Value::Object(fields));
    detail
}

fn event_field_name(name: &str) -> String {
    name.chars().take(record::ID_BYTES).collect()
}

fn event_value(value: Option<&Value>) -> Value {
    let Some(value) = value else { return Value::Null };
    let bytes = json::to_line(value).map_or(0, |line| line.len());
    if bytes <= MAX_EVENT_VALUE_BYTES {
        value.clone()
    } else {
        Map::from_iter([("bytes".to_owned(), Value::from(bytes))]).into()
    }
}

/// The stored state of a record that is about to be put.
enum ExistingRecord {
    Stored(Option<Record>),
    /// The same put contains it already, so it must be read again.
    InThisPut,
}

/// Puts many records into a collection; adds their index keys at the end.
#[derive(Debug)]
pub(crate) struct RecordWriter<'p, 'c> {
    collection: &'p Collection,
    tx: &'p Tx<'c>,
    next_event: i64,
    keys: NewKeys,
}

impl RecordWriter<'_, '_> {
    /// Puts drafts in order. If one is refused, `error_of` adds its number to the error.
    pub(crate) fn put<'d>(
        &mut self,
        drafts: Vec<(RecordDraft<'d>, Expect)>,
        error_of: impl Fn(usize, Error) -> Error,
    ) -> Result<Vec<StoredDraft<'d>>> {
        let mut puts = Vec::with_capacity(drafts.len());
        let mut drafts = drafts.into_iter();
        loop {
            let chunk: Vec<(RecordDraft<'_>, Expect)> = drafts.by_ref().take(LOOKUPS_PER_QUERY).collect();
            if chunk.is_empty() {
                return Ok(puts);
            }
            let existing = self.existing(&chunk)?;
            for ((draft, expect), existing) in chunk.into_iter().zip(existing) {
                let old = match existing {
                    ExistingRecord::Stored(old) => old,
                    ExistingRecord::InThisPut => self.collection.get(self.tx, &draft.id)?,
                };
                let put = self.collection.replace_with(self.tx, old, (draft, expect), self.next_event, &mut self.keys);
                puts.push(put.map_err(|e| error_of(puts.len(), e))?);
            }
        }
    }

    /// Looks up the stored states of drafts.
    fn existing(&self, chunk: &[(RecordDraft<'_>, Expect)]) -> Result<Vec<ExistingRecord>> {
        // The insert itself reports duplicates, so no lookup is needed.
        if self.tx.reports_duplicates_at_once() && chunk.iter().all(|(_, expect)| *expect == Expect::Absent) {
            return Ok(chunk.iter().map(|_| ExistingRecord::Stored(None)).collect());
        }
        let mut stored = self.collection.by_ids(self.tx, chunk.iter().map(|(draft, _)| draft.id.as_str()))?;
        let mut ids = HashSet::with_capacity(chunk.len());
        let mut of =
            |id| if ids.insert(id) { ExistingRecord::Stored(stored.remove(id)) } else { ExistingRecord::InThisPut };
        Ok(chunk.iter().map(|(draft, _)| of(draft.id.as_str())).collect())
    }

    /// Adds the index keys of all records.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.keys.insert(self.tx)
    }
}

impl Collection {
    /// Inserts or replaces one record.
    pub(crate) fn put(&self, tx: &Tx<'_>, draft: RecordDraft<'_>, expect: Expect) -> Result<RecordUpdate> {
        let (old, mut keys) = (self.get(tx, &draft.id)?, NewKeys::default());
        let done = self.replace_with(tx, old, (draft, expect), tx.next_event()?, &mut keys)?;
        keys.insert(tx)?;
        Ok(done.into_put(&self.name))
    }

    /// Puts many drafts in order. If one is refused, `error_of` adds its number to the error.
    pub(crate) fn put_many(
        &self,
        tx: &Tx<'_>,
        drafts: Vec<(RecordDraft<'_>, Expect)>,
        error_of: impl Fn(usize, Error) -> Error,
    ) -> Result<()> {
        let mut writer = self.writer(tx)?;
        writer.put(drafts, error_of)?;
        writer.finish()
    }

    /// Starts to put many records in chunks. No event may be logged meanwhile.
    pub(crate) fn writer<'p, 'c>(&'p self, tx: &'p Tx<'c>) -> Result<RecordWriter<'p, 'c>> {
        Ok(RecordWriter { collection: self, tx, next_event: tx.next_event()?, keys: NewKeys::default() })
    }

    /// The records with these ids, by id.
    pub(crate) fn by_ids<'i>(
        &self,
        tx: &Tx<'_>,
        ids: impl Iterator<Item = &'i str>,
    ) -> Result<HashMap<String, Record>> {
        let ids: Vec<&str> = ids.collect();
        let placeholders: Vec<String> = (0..ids.len()).map(|at| format!("?{}", at + 2)).collect();
        let sql = format!(
            "SELECT {COLUMNS} FROM records r WHERE r.collection = ?1 AND r.id IN ({})",
            placeholders.join(", ")
        );
        let values: Vec<Param<'_>> =
            std::iter::once(self.name.as_str()).chain(ids.iter().copied()).map(Param::from).collect();
        Ok(tx.query(&sql, &values, read)?.into_iter().map(|record| (record.id.clone(), record)).collect())
    }

    /// Replaces `old` with the draft; collects the new index keys in `keys`.
    fn replace_with<'d>(
        &self,
        tx: &Tx<'_>,
        old: Option<Record>,
        (draft, expect): (RecordDraft<'d>, Expect),
        next_event: i64,
        keys: &mut NewKeys,
    ) -> Result<StoredDraft<'d>> {
        let (id, data) = (draft.id.as_str(), &*draft.data);
        record::check_id(id)?;
        // Check the depth first: serialising an endlessly nested document would overflow the stack.
        object::check_depth("the record", data)?;
        expect.check(&self.name, id, old.as_ref())?;
        if let Some(rev) = old.as_ref().filter(|old| old.data == *data).map(|old| old.rev) {
            return Ok(StoredDraft { draft, old, rev, is_change: false });
        }
        let written = json::to_line(data)?;
        record::check_written(id, data, &written)?;
        // Event numbers are never reused, so a record never gets a revision that it, or a deleted record with the same
        // id, had before.
        let rev = old.as_ref().map_or(0, |old| old.rev + 1).max(next_event);
        let new = RecordView { collection: &self.name, id, rev, updated_at: draft.updated_at, data };
        if self.is_undoable {
            entity::record_changed(tx, &self.name, old.as_ref(), Some(&new.to_record()))?;
            return Ok(StoredDraft { draft, old, rev, is_change: true });
        }
        tx.journal_written("record", |to| new.write_json(&written, to))?;
        tx.write_through(&self.name, |to| line::write_record_json(new, &written, to))?;
        self.write(tx, old.as_ref(), new, &written, keys)?;
        Ok(StoredDraft { draft, old, rev, is_change: true })
    }

    /// Inserts, replaces or removes a record without writing the journal; the caller has done that.
    pub(crate) fn replace(&self, tx: &Tx<'_>, old: Option<&Record>, new: Option<&Record>) -> Result<()> {
        match (old, new) {
            (old, Some(new)) => {
                let (written, mut keys) = (json::to_line(&new.data)?, NewKeys::default());
                record::check_written(&new.id, &new.data, &written)?;
                tx.write_through(&self.name, |to| line::write_record_json(new.view(), &written, to))?;
                self.write(tx, old, new.view(), &written, &mut keys)?;
                keys.insert(tx)
            }
            (Some(old), None) => {
                let rev = tx.next_event()?.max(old.rev);
                tx.write_through(&self.name, |to| line::write_deletion(&old.id, rev, old.updated_at, to))?;
                self.remove(tx, old)
            }
            (None, None) => Ok(()),
        }
    }

    fn write(
        &self,
        tx: &Tx<'_>,
        old: Option<&Record>,
        new: RecordView<'_>,
        written: &str,
        keys: &mut NewKeys,
    ) -> Result<()> {
        let values = params![new.collection, new.id, new.rev, new.updated_at, written];
        let Some(old) = old else {
            let insert = "INSERT INTO records (collection, id, rev, updated_at, data) VALUES (?1, ?2, ?3, ?4, ?5)";
            tx.add_rows(insert, values).map_err(|e| self.explain_insert_error(tx, new.id, e))?;
            keys.collect(&self.indexes, new);
            return Ok(());
        };
        tx.send("UPDATE records SET rev = ?3, updated_at = ?4, data = ?5 WHERE collection = ?1 AND id = ?2", values)?;
        // A key to be removed may still be waiting to be added.
        keys.insert(tx)?;
        let moved = |index: &&FieldIndex| old.key(&index.field) != new.key(&index.field);
        let moved: Vec<&FieldIndex> = self.indexes.iter().filter(moved).collect();
        remove_keys(tx, &moved, old)?;
        keys.collect(moved, new);
        Ok(())
    }

    /// Turns an insert error into a conflict if the record exists by now.
    fn explain_insert_error(&self, tx: &Tx<'_>, id: &str, error: Error) -> Error {
        let existing = self.get(tx, id).ok().flatten();
        Expect::Absent.check(&self.name, id, existing.as_ref()).err().unwrap_or(error)
    }

    /// Deletes a record and returns its last state.
    pub(crate) fn delete(&self, tx: &Tx<'_>, id: &str, expect: Expect, at: Timestamp) -> Result<Record> {
        let old = self.find(tx, id)?;
        expect.check(&self.name, id, Some(&old))?;
        self.delete_known(tx, &old, at)?;
        Ok(old)
    }

    /// Deletes all records that a query matches, in its order; returns them without their documents.
    pub(crate) fn delete_where(&self, tx: &Tx<'_>, query: &Query, at: Timestamp) -> Result<Vec<Record>> {
        let mut deleted = Vec::new();
        let mut rest = query.clone();
        loop {
            let page = self.select(tx, &rest)?;
            for record in page.records {
                self.delete_known(tx, &record, at)?;
                deleted.push(Record { data: Object::new(), ..record });
            }
            let remaining = query.limit.map(|limit| limit.saturating_sub(deleted.len()));
            match page.next {
                Some(next) if remaining != Some(0) => (rest.after, rest.limit) = (Some(next), remaining),
                _ => return Ok(deleted),
            }
        }
    }

    fn delete_known(&self, tx: &Tx<'_>, old: &Record, at: Timestamp) -> Result<()> {
        if self.is_undoable {
            let gone = Record { updated_at: at, ..old.clone() };
            return entity::record_changed(tx, &self.name, Some(&gone), None);
        }
        let rev = tx.next_event()?.max(old.rev);
        tx.write_through(&self.name, |to| line::write_deletion(&old.id, rev, at, to))?;
        tx.journal("record_deleted", &(&old.collection, &old.id, old.rev))?;
        self.remove(tx, old)
    }

    fn remove(&self, tx: &Tx<'_>, old: &Record) -> Result<()> {
        remove_keys(tx, &self.indexes.iter().collect::<Vec<_>>(), old)?;
        tx.send("DELETE FROM records WHERE collection = ?1 AND id = ?2", params![&old.collection, &old.id])
    }
}

/// Restores a record from the journal unless a later revision exists.
pub(crate) fn restore_unless_newer(tx: &Tx<'_>, record: &Record) -> Result<()> {
    tx.journal("record", record)?;
    let collection = Collection::open(tx, &record.collection)?;
    match collection.get(tx, &record.id)? {
        Some(later) if later.rev > record.rev => Ok(()),
        old => {
            let mut keys = NewKeys::default();
            collection.write(tx, old.as_ref(), record.view(), &json::to_line(&record.data)?, &mut keys)?;
            keys.insert(tx)
        }
    }
}

/// Deletes a record unless a later revision exists.
pub(crate) fn delete_unless_newer(tx: &Tx<'_>, collection: &str, id: &str, rev: i64) -> Result<()> {
    let collection = Collection::open(tx, collection)?;
    match collection.get(tx, id)? {
        Some(old) if old.rev <= rev => {
            tx.journal("record_deleted", &(&old.collection, &old.id, old.rev))?;
            collection.remove(tx, &old)
        }
        _ => Ok(()),
    }
}

/// Updates records of loops, jobs and attachments when their issue gets a new id.
pub(crate) fn issue_renamed(tx: &Tx<'_>, old: &IssueId, new: &IssueId) -> Result<()> {
    for name in [loops::COLLECTION, job::COLLECTION].into_iter().chain(entity::attached_collections()) {
        let collection = Collection::open(tx, name)?;
        let query = Query { filters: vec![Filter::eq(ISSUE_FIELD, old.as_str())], ..Query::default() };
        loop {
            let page = collection.select(tx, &query)?;
            for Record { id, rev, updated_at, mut data, .. } in page.records {
                data.insert(ISSUE_FIELD.to_owned(), new.as_str().into());
                collection.put(tx, RecordDraft { id, data: Cow::Owned(data), updated_at }, Expect::Rev(rev))?;
            }
            if page.next.is_none() {
                break;
            }
        }
    }
    Ok(())
}

/// Index keys to be added. There may be many, so their texts share one string.
#[derive(Debug, Default)]
pub(super) struct NewKeys {
    text: String,
    keys: Vec<NewKey>,
}

/// An index key, by its ranges in the shared text.
#[derive(Debug)]
struct NewKey {
    index: i64,
    key: Range<usize>,
    record: Range<usize>,
}

impl NewKeys {
    /// Collects the keys of a record for these indexes.
    pub(super) fn collect<'i>(&mut self, indexes: impl IntoIterator<Item = &'i FieldIndex>, new: RecordView<'_>) {
        let record = self.push_text(new.id);
        for index in indexes {
            let key = self.push_text(&new.key(&index.field));
            self.keys.push(NewKey { index: index.id, key, record: record.clone() });
        }
    }

    fn push_text(&mut self, text: &str) -> Range<usize> {
        let start = self.text.len();
        self.text.push_str(text);
        start..self.text.len()
    }

    /// Inserts the keys, sorted: insertion in index order is several times faster.
    pub(super) fn insert(&mut self, tx: &Tx<'_>) -> Result<()> {
        let Self { text, keys } = self;
        let text = |range: &Range<usize>| text.get(range.clone()).unwrap_or_default();
        // Group by index first: the keys of each are often sorted already.
        keys.sort_by_key(|key| key.index);
        for of_one in keys.chunk_by_mut(|a, b| a.index == b.index) {
            of_one.sort_by(|a, b| text(&a.key).cmp(text(&b.key)).then_with(|| text(&a.record).cmp(text(&b.record))));
        }
        for chunk in keys.chunks(KEYS_PER_STATEMENT) {
            let rows = chunk.iter().map(|key| [key.index.into(), text(&key.key).into(), text(&key.record).into()]);
            let values: Vec<Param<'_>> = rows.flatten().collect();
            tx.add_rows("INSERT INTO record_keys (index_id, k, record_id) VALUES (?1, ?2, ?3)", &values)?;
        }
        keys.clear();
        self.text.clear();
        Ok(())
    }
}

fn remove_keys(tx: &Tx<'_>, indexes: &[&FieldIndex], record: &Record) -> Result<()> {
    let sql = "DELETE FROM record_keys WHERE index_id = ?1 AND k = ?2 AND record_id = ?3";
    indexes.iter().try_for_each(|index| tx.send(sql, params![index.id, record.key(&index.field), &record.id]))
}

//! Stores records, the indexed fields of each collection, and the index keys that find records.
//!
//! `pensa_core::record` defines how values compare and which records a query matches; `select` reads and `write`
//! changes them. An operation of any entity can store its state here, in its own transaction, and log what it did:
//!
//! ```text
//! let loops = Collection::open(tx, "loops")?.with_indexes(tx, &["status", "parent_id"])?;
//! let put = loops.put(tx, RecordDraft { id, data, updated_at: cx.now }, Expect::Absent)?;
//! events::append(cx, tx, ("loop", &put.new.id), None, EventType::Created, put.detail())?;
//! let running = Query { filters: vec![Filter::eq("status", "running")], ..Query::default() };
//! for mut record in loops.select(tx, &running)?.records {
//!     record.data.insert("status".into(), "failed".into());
//!     let draft = RecordDraft { id: record.id, data: record.data, updated_at: cx.now };
//!     loops.put(tx, draft, Expect::Rev(record.rev))?;
//! }
//! ```
//!
//! Reading operations only open the collection. This module writes the journal for every put and delete; the operation
//! appends the event in the same transaction.

mod select;
mod write;

use pensa_core::record::{self, Record};
use pensa_core::{Code, Error, Result, Timestamp, json};
use serde::{Deserialize, Serialize};

use crate::db::{Param, Row, Tx, params};
use crate::store::record_files;

pub(crate) use select::Query;
pub(crate) use write::{
    Expect, RecordDraft, RecordUpdate, delete_unless_newer, detail, issue_renamed, restore_unless_newer,
};

const COLUMNS: &str = "r.collection, r.id, r.rev, r.updated_at, r.data";

fn read(row: &Row<'_>) -> Result<Record> {
    Ok(Record {
        collection: row.text(0)?,
        id: row.text(1)?,
        rev: row.int(2)?,
        updated_at: row.parse(3)?,
        data: row.json(4)?,
    })
}

/// An indexed field of a collection, with the number that its keys are stored under.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FieldIndex {
    pub(crate) id: i64,
    pub(crate) collection: String,
    pub(crate) field: String,
}

/// A collection opened by one operation.
#[derive(Debug)]
pub(crate) struct Collection {
    pub(crate) name: String,
    pub(crate) indexes: Vec<FieldIndex>,
    /// Whether previous states are stored, so that changes can be undone.
    is_undoable: bool,
}

impl Collection {
    /// Opens a collection. A collection exists as soon as it has a record, so only an invalid name is refused.
    pub(crate) fn open(tx: &Tx<'_>, name: &str) -> Result<Self> {
        record::check_collection(name)?;
        let sql = "SELECT id, collection, field FROM record_indexes WHERE collection = ?1 ORDER BY id";
        let indexes = tx.query(sql, params![name], read_index)?;
        Ok(Self { name: name.to_owned(), indexes, is_undoable: false })
    }

    /// Makes changes undoable. Each change then needs an event of its own.
    pub(crate) fn undoable(mut self) -> Self {
        self.is_undoable = true;
        self
    }

    /// Creates the missing indexes on these fields.
    pub(crate) fn with_indexes(mut self, tx: &Tx<'_>, fields: &[&str]) -> Result<Self> {
        for field in fields {
            self.add_index(tx, field)?;
        }
        Ok(self)
    }

    fn add_index(&mut self, tx: &Tx<'_>, field: &str) -> Result<()> {
        record::check_field(field)?;
        if self.indexes.iter().any(|index| index.field == field) {
            return Ok(());
        }
        if self.indexes.len() >= record::MAX_INDEXES {
            let message = format!("collection {} has {} indexes already", self.name, self.indexes.len());
            return Err(Error::new(Code::TooLarge, message).hint("pn record collections shows them"));
        }
        let last = tx.query_one("SELECT MAX(id) FROM record_indexes", params![], |row| row.int_or_null(0))?;
        let id = last.flatten().unwrap_or_default() + 1;
        let index = FieldIndex { id, collection: self.name.clone(), field: field.to_owned() };
        put_index(tx, &index)?;
        tx.write_through(record_files::INDEXES, |to| index_line(&index, to))?;
        self.indexes.push(index);
        Ok(())
    }

    pub(crate) fn get(&self, tx: &Tx<'_>, id: &str) -> Result<Option<Record>> {
        let sql = format!("SELECT {COLUMNS} FROM records r WHERE r.collection = ?1 AND r.id = ?2");
        tx.query_one(&sql, params![self.name.as_str(), id], read)
    }

    /// The record with this id; an error with a hint if it does not exist.
    pub(crate) fn find(&self, tx: &Tx<'_>, id: &str) -> Result<Record> {
        record::check_id(id)?;
        self.get(tx, id)?.ok_or_else(|| {
            Error::not_found("record", format!("{id} in {}", self.name))
                .hint("pn record query shows those that are there")
        })
    }

    /// Rebuilds the keys of all indexes.
    pub(crate) fn reindex(&self, tx: &Tx<'_>) -> Result<()> {
        tx.expect_many_rows()?;
        for index in &self.indexes {
            tx.send("DELETE FROM record_keys WHERE index_id = ?1", params![index.id])?;
        }
        add_keys(tx, &self.name, &self.indexes.iter().collect::<Vec<_>>())
    }

    /// Whether all indexes have exactly the keys of the records.
    pub(crate) fn has_valid_indexes(&self, tx: &Tx<'_>) -> Result<bool> {
        let (mut records, mut is_valid) = (0, true);
        let has_key = "SELECT 1 FROM record_keys WHERE index_id = ?1 AND k = ?2 AND record_id = ?3";
        for_each_page(tx, &self.name, |page| {
            for (record, index) in page.iter().flat_map(|record| self.indexes.iter().map(move |index| (record, index)))
            {
                let values = params![index.id, record.key(&index.field), &record.id];
                is_valid &= tx.query_one(has_key, values, |_| Ok(()))?.is_some();
            }
            records += i64::try_from(page.len()).unwrap_or(i64::MAX);
            Ok(())
        })?;
        for index in &self.indexes {
            let sql = "SELECT COUNT(*) FROM record_keys WHERE index_id = ?1";
            is_valid &= tx.query_one(sql, params![index.id], |row| row.int(0))? == Some(records);
        }
        Ok(is_valid)
    }

    fn index_of(&self, field: &str) -> Option<&FieldIndex> {
        self.indexes.iter().find(|index| index.field == field)
    }
}

fn read_index(row: &Row<'_>) -> Result<FieldIndex> {
    Ok(FieldIndex { id: row.int(0)?, collection: row.text(1)?, field: row.text(2)? })
}

/// The indexes of all collections.
pub(crate) fn indexes(tx: &Tx<'_>) -> Result<Vec<FieldIndex>> {
    tx.query("SELECT id, collection, field FROM record_indexes ORDER BY collection, id", params![], read_index)
}

/// Each collection with its number of records and the time of its last change.
pub(crate) fn sizes(tx: &Tx<'_>) -> Result<Vec<(String, i64, String)>> {
    tx.query(
        "SELECT collection, COUNT(*), MAX(updated_at) FROM records GROUP BY collection ORDER BY collection",
        params![],
        |row| Ok((row.text(0)?, row.int(1)?, row.text(2)?)),
    )
}

/// Whether any record exists.
pub(crate) fn has_any(tx: &Tx<'_>) -> Result<bool> {
    Ok(tx.query_one("SELECT 1 FROM records LIMIT 1", params![], |_| Ok(()))?.is_some())
}

/// Total size of all documents in bytes.
pub(crate) fn bytes(tx: &Tx<'_>) -> Result<u64> {
    let sql = "SELECT CAST(COALESCE(SUM(LENGTH(data)), 0) AS BIGINT) FROM records";
    Ok(tx.query_one(sql, params![], |row| row.int(0))?.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or_default())
}

/// Adds an index with the keys of all existing records. Does nothing if the field already has an index.
pub(crate) fn put_index(tx: &Tx<'_>, index: &FieldIndex) -> Result<()> {
    tx.journal("record_index", index)?;
    let existing = "SELECT 1 FROM record_indexes WHERE id = ?1 OR collection = ?2 AND field = ?3";
    if tx.query_one(existing, params![index.id, &index.collection, &index.field], |_| Ok(()))?.is_some() {
        return Ok(());
    }
    let insert = "INSERT INTO record_indexes (id, collection, field) VALUES (?1, ?2, ?3)";
    tx.send(insert, params![index.id, &index.collection, &index.field])?;
    add_keys(tx, &index.collection, &[index])
}

/// The ids of a collection's records last changed before a time.
pub(crate) fn ids_changed_before(tx: &Tx<'_>, collection: &str, until: Timestamp) -> Result<Vec<String>> {
    let sql = "SELECT r.id FROM records r WHERE r.collection = ?1 AND r.updated_at < ?2 ORDER BY r.id";
    tx.query(sql, params![collection, until], |row| row.text(0))
}

/// Records read per query.
const PAGE_SIZE: i64 = 128;

/// Adds the keys of all records to new indexes.
fn add_keys(tx: &Tx<'_>, collection: &str, indexes: &[&FieldIndex]) -> Result<()> {
    if indexes.is_empty() {
        return Ok(());
    }
    let mut keys = write::NewKeys::default();
    for_each_page(tx, collection, |page| {
        page.iter().for_each(|record| keys.collect(indexes.iter().copied(), record.view()));
        keys.insert(tx)
    })
}

/// Calls `each` with all records of a collection in pages, ordered by id.
pub(crate) fn for_each_page(
    tx: &Tx<'_>,
    collection: &str,
    mut each: impl FnMut(&[Record]) -> Result<()>,
) -> Result<()> {
    let sql = format!(
        "SELECT {COLUMNS} FROM records r WHERE r.collection = ?1 AND r.id > ?2 ORDER BY r.id LIMIT CAST(?3 AS BIGINT)"
    );
    let mut after = String::new();
    loop {
        let values = [Param::from(collection), Param::from(after.as_str()), Param::Int(PAGE_SIZE)];
        let page = tx.query(&sql, &values, read)?;
        let Some(last) = page.last() else { return Ok(()) };
        each(&page)?;
        after.clone_from(&last.id);
    }
}

/// Writes a line of the index file.
pub(crate) fn index_line(index: &FieldIndex, to: &mut Vec<u8>) -> Result<()> {
    json::write_line(to, index)?;
    to.push(b'\n');
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use pensa_core::Access;
    use pensa_core::record::{Filter, Order};
    use serde_json::{Value, json};

    use super::*;
    use crate::{Caller, Engine, StoreDir};

    #[test]
    fn another_entity_is_stored_as_records() {
        let dir = tempfile::tempdir().expect("a directory");
        let (store, _) = StoreDir::create(&dir.path().join(StoreDir::NAME)).expect("a store");
        let engine = Engine::open(store).expect("opens");
        let object = |value: Value| value.as_object().cloned().expect("an object");
        let ids = engine.run(Access::Write, &Caller::local("a"), |cx, tx| {
            let loops = Collection::open(tx, "loops")?.with_indexes(tx, &["status"])?;
            for (id, status, n) in [("b", "running", 1), ("a", "running", 2), ("c", "done", 3)] {
                let draft = RecordDraft {
                    id: id.into(),
                    data: Cow::Owned(object(json!({"status": status, "n": n}))),
                    updated_at: cx.now,
                };
                assert!(loops.put(tx, draft, Expect::Absent)?.is_change());
            }
            let running = Query { filters: vec![Filter::eq("status", "running")], ..Query::default() };
            let by_n = Query { order: Order::by("n").descending(), ..running.clone() };
            let ids =
                |found: select::SelectedRecords| found.records.into_iter().map(|record| record.id).collect::<Vec<_>>();
            let stale =
                RecordDraft { id: "a".into(), data: Cow::Owned(object(json!({"status": "done"}))), updated_at: cx.now };
            assert_eq!(loops.put(tx, stale, Expect::Rev(0)).expect_err("stale").code, Code::Conflict);
            Ok((ids(loops.select(tx, &running)?), ids(loops.select(tx, &by_n)?)))
        });
        assert_eq!(ids.expect("done"), (vec!["a".to_owned(), "b".to_owned()], vec!["a".to_owned(), "b".to_owned()]));
    }
}

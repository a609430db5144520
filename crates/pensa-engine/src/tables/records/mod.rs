//! Rows of `records`, the fields of each collection that have an index, and the keys under which those find a record.
//!
//! How values compare and which records a question means is for `pensa_core::record` to say; `select` asks, `write`
//! changes. An operation of any noun can keep its things here, in the transaction that it has, and log what it did:
//!
//! ```text
//! let loops = Collection::open(tx, "loops")?.declaring(tx, &["status", "parent_id"])?;
//! let put = loops.put(tx, Draft { id, data, updated_at: cx.now }, Expect::Absent)?;
//! events::append(cx, tx, ("loop", &put.new.id), None, EventType::Created, put.detail())?;
//! let running = Query { filters: vec![Filter::eq("status", "running")], ..Query::default() };
//! for mut record in loops.select(tx, &running)?.records {
//!     record.data.insert("status".into(), "failed".into());
//!     let draft = Draft { id: record.id, data: record.data, updated_at: cx.now };
//!     loops.put(tx, draft, Expect::Rev(record.rev))?;
//! }
//! ```
//!
//! A reading operation opens the collection only. Whatever is put or deleted is noted for the journal here; the event is
//! for the operation to append, in the same transaction.

mod select;
mod write;

use pensa_core::record::{self, Record};
use pensa_core::{Code, Error, Result, Timestamp, json};
use serde::{Deserialize, Serialize};

use crate::db::{Param, Row, Tx, params};
use crate::store::record_files;

pub(crate) use select::Query;
pub(crate) use write::{Draft, Expect, Put, detail, forget, issue_renamed, restore};

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

/// A field of a collection that has an index, and the number by which its keys are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Declared {
    pub(crate) id: i64,
    pub(crate) collection: String,
    pub(crate) field: String,
}

/// A collection, as far as one operation has to do with it.
#[derive(Debug)]
pub(crate) struct Collection {
    pub(crate) name: String,
    pub(crate) indexes: Vec<Declared>,
}

impl Collection {
    /// A collection is there as soon as it has a record; so this refuses nothing but what is no name.
    pub(crate) fn open(tx: &Tx<'_>, name: &str) -> Result<Self> {
        record::check_collection(name)?;
        let sql = "SELECT id, collection, field FROM record_indexes WHERE collection = ?1 ORDER BY id";
        let indexes = tx.query(sql, params![name], read_declared)?;
        Ok(Self { name: name.to_owned(), indexes })
    }

    /// The same with indexes on these fields, which are made if they are not there.
    pub(crate) fn declaring(mut self, tx: &Tx<'_>, fields: &[&str]) -> Result<Self> {
        for field in fields {
            self.declare(tx, field)?;
        }
        Ok(self)
    }

    fn declare(&mut self, tx: &Tx<'_>, field: &str) -> Result<()> {
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
        let index = Declared { id, collection: self.name.clone(), field: field.to_owned() };
        put_index(tx, &index)?;
        tx.write_through(record_files::INDEXES, |to| index_line(&index, to))?;
        self.indexes.push(index);
        Ok(())
    }

    pub(crate) fn get(&self, tx: &Tx<'_>, id: &str) -> Result<Option<Record>> {
        let sql = format!("SELECT {COLUMNS} FROM records r WHERE r.collection = ?1 AND r.id = ?2");
        tx.query_one(&sql, params![self.name.as_str(), id], read)
    }

    /// The record with this id, or why there is none.
    pub(crate) fn find(&self, tx: &Tx<'_>, id: &str) -> Result<Record> {
        record::check_id(id)?;
        self.get(tx, id)?.ok_or_else(|| {
            Error::not_found("record", format!("{id} in {}", self.name))
                .hint("pn record query shows those that are there")
        })
    }

    /// Makes the keys of every index anew.
    pub(crate) fn reindex(&self, tx: &Tx<'_>) -> Result<()> {
        tx.expect_many_rows()?;
        for index in &self.indexes {
            tx.send("DELETE FROM record_keys WHERE index_id = ?1", params![index.id])?;
        }
        fill(tx, &self.name, &self.indexes.iter().collect::<Vec<_>>())
    }

    /// Whether the keys of every index are those of the records.
    pub(crate) fn is_indexed_rightly(&self, tx: &Tx<'_>) -> Result<bool> {
        let (mut records, mut is_right) = (0, true);
        let has_key = "SELECT 1 FROM record_keys WHERE index_id = ?1 AND k = ?2 AND record_id = ?3";
        for_each_page(tx, &self.name, |page| {
            for (record, index) in page.iter().flat_map(|record| self.indexes.iter().map(move |index| (record, index)))
            {
                let values = params![index.id, record.key(&index.field), &record.id];
                is_right &= tx.query_one(has_key, values, |_| Ok(()))?.is_some();
            }
            records += i64::try_from(page.len()).unwrap_or(i64::MAX);
            Ok(())
        })?;
        for index in &self.indexes {
            let sql = "SELECT COUNT(*) FROM record_keys WHERE index_id = ?1";
            is_right &= tx.query_one(sql, params![index.id], |row| row.int(0))? == Some(records);
        }
        Ok(is_right)
    }

    fn index_of(&self, field: &str) -> Option<&Declared> {
        self.indexes.iter().find(|index| index.field == field)
    }
}

fn read_declared(row: &Row<'_>) -> Result<Declared> {
    Ok(Declared { id: row.int(0)?, collection: row.text(1)?, field: row.text(2)? })
}

/// The indexes of all collections.
pub(crate) fn indexes(tx: &Tx<'_>) -> Result<Vec<Declared>> {
    tx.query("SELECT id, collection, field FROM record_indexes ORDER BY collection, id", params![], read_declared)
}

/// A collection, how many records it has, and when the last of them was changed.
pub(crate) fn sizes(tx: &Tx<'_>) -> Result<Vec<(String, i64, String)>> {
    tx.query(
        "SELECT collection, COUNT(*), MAX(updated_at) FROM records GROUP BY collection ORDER BY collection",
        params![],
        |row| Ok((row.text(0)?, row.int(1)?, row.text(2)?)),
    )
}

/// Whether there is any record.
pub(crate) fn any(tx: &Tx<'_>) -> Result<bool> {
    Ok(tx.query_one("SELECT 1 FROM records LIMIT 1", params![], |_| Ok(()))?.is_some())
}

/// How large all documents are together.
pub(crate) fn bytes(tx: &Tx<'_>) -> Result<u64> {
    let sql = "SELECT CAST(COALESCE(SUM(LENGTH(data)), 0) AS BIGINT) FROM records";
    Ok(tx.query_one(sql, params![], |row| row.int(0))?.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or_default())
}

/// Adds an index, with the keys of all records that are there. One that is there under another number stays.
pub(crate) fn put_index(tx: &Tx<'_>, index: &Declared) -> Result<()> {
    tx.journal("record_index", index)?;
    let known = "SELECT 1 FROM record_indexes WHERE id = ?1 OR collection = ?2 AND field = ?3";
    if tx.query_one(known, params![index.id, &index.collection, &index.field], |_| Ok(()))?.is_some() {
        return Ok(());
    }
    let insert = "INSERT INTO record_indexes (id, collection, field) VALUES (?1, ?2, ?3)";
    tx.send(insert, params![index.id, &index.collection, &index.field])?;
    fill(tx, &index.collection, &[index])
}

/// The ids of a collection's records that were last changed before a time.
pub(crate) fn heads(tx: &Tx<'_>, collection: &str, until: Timestamp) -> Result<Vec<String>> {
    let sql = "SELECT r.id FROM records r WHERE r.collection = ?1 AND r.updated_at < ?2 ORDER BY r.id";
    tx.query(sql, params![collection, until], |row| row.text(0))
}

/// How many records are looked at at once.
const PAGE: i64 = 128;

/// Adds the keys that indexes without any should have.
fn fill(tx: &Tx<'_>, collection: &str, indexes: &[&Declared]) -> Result<()> {
    if indexes.is_empty() {
        return Ok(());
    }
    let mut keys = write::Keys::default();
    for_each_page(tx, collection, |page| {
        page.iter().for_each(|record| keys.note(indexes.iter().copied(), record.view()));
        keys.add(tx)
    })
}

/// Hands every record of a collection to `each`, some at a time, by their ids.
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
        let values = [Param::from(collection), Param::from(after.as_str()), Param::Int(PAGE)];
        let page = tx.query(&sql, &values, read)?;
        let Some(last) = page.last() else { return Ok(()) };
        each(&page)?;
        after.clone_from(&last.id);
    }
}

/// Writes a line of the file of indexes.
pub(crate) fn index_line(index: &Declared, to: &mut Vec<u8>) -> Result<()> {
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
    fn another_noun_keeps_its_things_as_records() {
        let dir = tempfile::tempdir().expect("a directory");
        let (store, _) = StoreDir::create(&dir.path().join(StoreDir::NAME)).expect("a store");
        let engine = Engine::open(store).expect("opens");
        let object = |value: Value| value.as_object().cloned().expect("an object");
        let ids = engine.run(Access::Write, &Caller::local("a"), |cx, tx| {
            let loops = Collection::open(tx, "loops")?.declaring(tx, &["status"])?;
            for (id, status, n) in [("b", "running", 1), ("a", "running", 2), ("c", "done", 3)] {
                let draft = Draft {
                    id: id.into(),
                    data: Cow::Owned(object(json!({"status": status, "n": n}))),
                    updated_at: cx.now,
                };
                assert!(loops.put(tx, draft, Expect::Absent)?.is_change());
            }
            let running = Query { filters: vec![Filter::eq("status", "running")], ..Query::default() };
            let by_n = Query { order: Order::by("n").descending(), ..running.clone() };
            let ids = |found: select::Found| found.records.into_iter().map(|record| record.id).collect::<Vec<_>>();
            let stale =
                Draft { id: "a".into(), data: Cow::Owned(object(json!({"status": "done"}))), updated_at: cx.now };
            assert_eq!(loops.put(tx, stale, Expect::Rev(0)).expect_err("stale").code, Code::Conflict);
            Ok((ids(loops.select(tx, &running)?), ids(loops.select(tx, &by_n)?)))
        });
        assert_eq!(ids.expect("done"), (vec!["a".to_owned(), "b".to_owned()], vec!["a".to_owned(), "b".to_owned()]));
    }
}

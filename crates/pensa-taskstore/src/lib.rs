//! Typed records for Rust programs, stored in Pensa: find them by field, change them by revision.
//!
//! A [`Record`] names its id, its collection and its indexed fields. A [`TaskStore`] stores it in a local store, or
//! through a daemon or server on any database. Every record is also a line in its collection's file, so it survives the
//! loss of the database. `pn record` works with the same records. Without the feature `embedded` the build contains no
//! database, and [`TaskStore::connect`] is the only way to a store.
//!
//! ```
//! use pensa_taskstore::{Filter, Record, TaskStore};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Loop {
//!     id: String,
//!     status: String,
//!     iteration: u32,
//!     updated_at: i64,
//! }
//!
//! impl Record for Loop {
//!     fn collection_name() -> &'static str {
//!         "items"
//!     }
//!     fn id(&self) -> &str {
//!         &self.id
//!     }
//!     fn updated_at(&self) -> i64 {
//!         self.updated_at
//!     }
//!     fn indexed_fields() -> &'static [&'static str] {
//!         &["status"]
//!     }
//! }
//!
//! # let dir = tempfile::tempdir().unwrap();
//! # let project = dir.path();
//! let store = TaskStore::create_at(project, "my-daemon")?;
//! store.declare::<Loop>()?;
//! let mut one = Loop { id: "lp-1".into(), status: "pending".into(), iteration: 0, updated_at: 1_772_202_600_000 };
//! let rev = store.create(&one)?;
//!
//! one.status = "running".into();
//! let rev = store.update_if(&one, rev)?;
//! assert_eq!(store.update_if(&one, rev - 1).unwrap_err().code, pensa_taskstore::Code::Conflict);
//!
//! let running: Vec<Loop> = store.query(&[Filter::eq("status", "running")])?;
//! assert_eq!(running[0].id, "lp-1");
//! assert_eq!(store.delete_where::<Loop>(&[Filter::gte("iteration", 1)])?, 0);
//! # Ok::<(), pensa_taskstore::Error>(())
//! ```

#[cfg(feature = "embedded")]
mod embedded;
#[cfg(feature = "embedded")]
mod listing;
mod transaction;

use std::cell::Cell;
use std::fmt;

use pensa_client::{Call, Client, Remote, RemoteOptions};
use pensa_core::Timestamp;
use pensa_core::ops::record::{
    Applied, Apply, Change, Collections, Compact, Count, Delete, Get, Index, Put, Query, QueryPage,
};
use pensa_core::session::Object;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

#[cfg(feature = "embedded")]
pub use listing::{CorruptLine, RecordListing};
pub use pensa_core::record::{Cursor, Filter, Order};
pub use pensa_core::{Code, Error, Result};
pub use transaction::Transaction;

/// A type that is stored in a collection. It must serialise to a JSON object.
pub trait Record: Serialize + DeserializeOwned {
    /// The collection: a word of a-z, 0-9, - and _ that starts with a letter.
    fn collection_name() -> &'static str;

    /// The id in the collection.
    fn id(&self) -> &str;

    /// Time of the last change, in milliseconds since 1970.
    fn updated_at(&self) -> i64;

    /// Fields with an index, for fast queries. [`TaskStore::declare`] creates the indexes.
    fn indexed_fields() -> &'static [&'static str] {
        &[]
    }
}

/// A record and its revision, which the engine assigns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRecord<T> {
    pub rev: i64,
    pub record: T,
}

/// Which records to return, and in which order.
#[derive(Debug, Clone, Default)]
pub struct RecordQuery {
    pub filters: Vec<Filter>,
    /// Default: by id.
    pub order: Option<Order>,
    pub limit: Option<u32>,
    /// Continues after the last page.
    pub after: Option<Cursor>,
}

/// One page of results, with a cursor if there are more.
#[derive(Debug, Clone)]
pub struct RecordPage<T> {
    pub records: Vec<StoredRecord<T>>,
    pub next: Option<Cursor>,
}

/// Approximate size of the documents in one transaction of [`TaskStore::create_many`].
const TRANSACTION_BYTES: usize = 64 << 20;
/// Maximum records in one transaction.
const TRANSACTION_RECORDS: usize = 100_000;

/// A store of records.
pub struct TaskStore {
    client: Client,
    /// The directory of the record files; `None` for a remote store.
    #[cfg(feature = "embedded")]
    files: Option<std::path::PathBuf>,
}

impl fmt::Debug for TaskStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskStore({:?})", self.client)
    }
}

impl TaskStore {
    /// Connects to the store of a daemon or server.
    pub fn connect(options: RemoteOptions, actor: &str) -> Result<Self> {
        Ok(Self::on(Client::http(Remote::new(options)?, actor_source(actor))))
    }

    /// Uses an existing client.
    pub fn on(client: Client) -> Self {
        Self {
            client,
            #[cfg(feature = "embedded")]
            files: None,
        }
    }

    fn call<O: Call>(&self, op: &O) -> Result<O::Output> {
        self.client.call(op)
    }

    /// Creates a record and returns its revision. A conflict if the id exists.
    pub fn create<T: Record>(&self, record: &T) -> Result<i64> {
        self.put_as(record, Some(0), false)
    }

    /// Creates many records and returns their revisions. Up to 64 MiB of documents and 100,000 records are one
    /// transaction, which succeeds or fails as a whole; more are split into several.
    pub fn create_many<T: Record>(&self, records: &[T]) -> Result<Vec<i64>> {
        let mut revs = Vec::with_capacity(records.len());
        while let Some(rest @ [_, ..]) = records.get(revs.len()..) {
            let bytes = Cell::new(0);
            let made = self.client.put_records(T::collection_name(), rest.len().min(TRANSACTION_RECORDS), |n| {
                if n == 0 {
                    bytes.set(0);
                }
                if bytes.get() >= TRANSACTION_BYTES {
                    return None;
                }
                let put = to_put(rest.get(n)?, Some(0), false);
                bytes.set(bytes.get() + put.as_ref().map_or(0, |put| size(&put.data)));
                Some(put)
            })?;
            if made.is_empty() {
                return Err(Error::internal("records were sent, but none was stored"));
            }
            revs.extend(made.into_iter().filter_map(|applied| applied.rev));
        }
        Ok(revs)
    }

    fn apply(&self, changes: Vec<Change>) -> Result<Vec<Applied>> {
        self.call(&Apply { changes })
    }

    /// The record with this id; `None` if it does not exist.
    pub fn get<T: Record>(&self, id: &str) -> Result<Option<StoredRecord<T>>> {
        let op = Get { collection: T::collection_name().to_owned(), id: id.to_owned() };
        match self.call(&op) {
            Ok(record) => stored(record).map(Some),
            Err(e) if e.code == Code::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Replaces an existing record, whatever its revision. Returns the new revision.
    pub fn update<T: Record>(&self, record: &T) -> Result<i64> {
        self.put_as(record, None, true)
    }

    /// Replaces a record if it still has the revision `rev`; otherwise a conflict.
    pub fn update_if<T: Record>(&self, record: &T, rev: i64) -> Result<i64> {
        self.put_as(record, Some(rev), true)
    }

    /// Creates or replaces a record.
    pub fn put<T: Record>(&self, record: &T) -> Result<i64> {
        self.put_as(record, None, false)
    }

    fn put_as<T: Record>(&self, record: &T, if_rev: Option<i64>, if_present: bool) -> Result<i64> {
        Ok(self.call(&to_put(record, if_rev, if_present)?)?.rev)
    }

    /// Deletes a record. Returns whether it existed.
    pub fn delete<T: Record>(&self, id: &str) -> Result<bool> {
        match self.call(&to_delete::<T>(Some(id), &[])) {
            Ok(_) => Ok(true),
            Err(e) if e.code == Code::NotFound => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// All records that match every filter, ordered by id.
    pub fn query<T: Record>(&self, filters: &[Filter]) -> Result<Vec<T>> {
        let query = RecordQuery { filters: filters.to_vec(), ..RecordQuery::default() };
        Ok(self.select(query)?.into_iter().map(|stored| stored.record).collect())
    }

    /// All records of a query, in its order and up to its limit, with their revisions.
    ///
    /// ```
    /// # use pensa_taskstore::{Order, Record, TaskStore, RecordQuery};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Job { id: String, ms: u64 }
    /// # impl Record for Job {
    /// #     fn collection_name() -> &'static str { "tool_calls" }
    /// #     fn id(&self) -> &str { &self.id }
    /// #     fn updated_at(&self) -> i64 { 0 }
    /// # }
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let store = TaskStore::create_at(dir.path(), "me")?;
    /// store.create_many(&[("a", 20), ("b", 5), ("c", 80)].map(|(id, ms)| Job { id: id.into(), ms }))?;
    /// let order = Some(Order::by("ms").descending());
    /// let slowest = RecordQuery { order, limit: Some(2), ..RecordQuery::default() };
    /// let ids: Vec<String> = store.select::<Job>(slowest)?.into_iter().map(|job| job.record.id).collect();
    /// assert_eq!(ids, ["c", "a"]);
    /// # Ok::<(), pensa_taskstore::Error>(())
    /// ```
    pub fn select<T: Record>(&self, mut query: RecordQuery) -> Result<Vec<StoredRecord<T>>> {
        let mut all = Vec::new();
        loop {
            let page = self.page(query.clone())?;
            let got = u32::try_from(page.records.len()).unwrap_or(u32::MAX);
            if all.is_empty() {
                all = page.records;
            } else {
                all.extend(page.records);
            }
            query.limit = query.limit.map(|limit| limit.saturating_sub(got));
            query.after = page.next;
            if query.after.is_none() || query.limit == Some(0) {
                return Ok(all);
            }
        }
    }

    /// One page of a query: at most 10,000 records or 8 MiB.
    pub fn page<T: Record>(&self, query: RecordQuery) -> Result<RecordPage<T>> {
        let RecordQuery { filters, order, limit, after } = query;
        let collection = T::collection_name().to_owned();
        let QueryPage { records, next } = self.call(&Query { collection, filters, order, limit, after })?;
        Ok(RecordPage { records: records.into_iter().map(stored).collect::<Result<_>>()?, next })
    }

    /// The number of records that match every filter.
    pub fn count<T: Record>(&self, filters: &[Filter]) -> Result<u64> {
        let op = Count { collection: T::collection_name().to_owned(), filters: filters.to_vec() };
        Ok(u64::try_from(self.call(&op)?.count).unwrap_or_default())
    }

    /// Deletes all records that match every filter. Returns how many.
    pub fn delete_where<T: Record>(&self, filters: &[Filter]) -> Result<usize> {
        Ok(self.call(&to_delete::<T>(None, filters))?.ids.len())
    }

    /// Starts a transaction: changes in any collections that succeed or fail together.
    pub fn transaction(&self) -> Transaction<'_> {
        Transaction::new(self)
    }

    /// Creates the missing indexes of a record type.
    pub fn declare<T: Record>(&self) -> Result<()> {
        let fields = T::indexed_fields().iter().map(|field| (*field).to_owned()).collect();
        self.index::<T>(Index { fields, ..Index::default() }).map(drop)
    }

    /// Rebuilds the indexes of a record type.
    pub fn rebuild_index<T: Record>(&self) -> Result<()> {
        self.index::<T>(Index { rebuild: true, ..Index::default() }).map(drop)
    }

    /// Compares the indexes of a record type with its records, and rebuilds them if they differ. Returns whether they
    /// were correct. A damaged or missing database needs no call: it is rebuilt automatically when it is next used.
    pub fn ensure_valid<T: Record>(&self) -> Result<bool> {
        Ok(!self.index::<T>(Index { check: true, ..Index::default() })?)
    }

    fn index<T: Record>(&self, op: Index) -> Result<bool> {
        Ok(self.call(&Index { collection: T::collection_name().to_owned(), ..op })?.rebuilt)
    }

    /// All collections, with their number of records.
    pub fn collections(&self) -> Result<Vec<(String, u64)>> {
        let collections = self.call(&Collections {})?;
        Ok(collections.into_iter().map(|of| (of.collection, u64::try_from(of.records).unwrap_or_default())).collect())
    }

    /// Rewrites the files of all collections without replaced and deleted records.
    pub fn compact(&self) -> Result<()> {
        self.call(&Compact {}).map(drop)
    }
}

fn actor_source(actor: &str) -> pensa_client::ActorSource {
    let actor = actor.to_owned();
    Box::new(move || actor.clone())
}

fn to_delete<T: Record>(id: Option<&str>, filters: &[Filter]) -> Delete {
    let (collection, id) = (T::collection_name().to_owned(), id.map(str::to_owned));
    Delete { collection, id, filters: filters.to_vec(), if_rev: None }
}

fn to_put<T: Record>(record: &T, if_rev: Option<i64>, if_present: bool) -> Result<Put> {
    let (collection, id) = (T::collection_name().to_owned(), record.id().to_owned());
    let error = |what: String| Error::invalid(format!("record {id} of {collection} {what}"));
    let data = match serde_json::to_value(record).map_err(|e| error(format!("is no JSON: {e}")))? {
        Value::Object(data) => data,
        _ => return Err(error("is not an object".into())),
    };
    let updated_at = Some(Timestamp::from_millis(record.updated_at())?);
    Ok(Put { collection, data, id: Some(id), if_rev, if_present, updated_at })
}

fn stored<T: Record>(record: pensa_core::record::Record) -> Result<StoredRecord<T>> {
    let (id, rev) = (record.id, record.rev);
    let error = |e: serde_json::Error| {
        let message = format!("record {id} in {} is no such record: {e}", T::collection_name());
        Error::new(Code::Corrupt, message).hint("list_tolerant tells them all")
    };
    Ok(StoredRecord { rev, record: T::deserialize(Value::Object(record.data)).map_err(error)? })
}

/// Estimates the size of a document as JSON, without serialising it.
fn size(data: &Object) -> usize {
    fn of(value: &Value) -> usize {
        match value {
            Value::String(text) => text.len() + 2,
            Value::Array(items) => items.iter().map(|item| of(item) + 1).sum::<usize>() + 2,
            Value::Object(object) => object.iter().map(|(name, value)| name.len() + of(value) + 4).sum::<usize>() + 2,
            _ => 8,
        }
    }
    data.iter().map(|(name, value)| name.len() + of(value) + 4).sum()
}

//! Typed records for Rust programs: kept in a Pensa store, found by their fields, changed by revision.
//!
//! A [`Record`] says its id, its collection and which of its fields have an index. A [`TaskStore`] keeps it: in a store's
//! own files, or through a daemon or server, whatever database that has. Everything that is kept is also a line of a file
//! of its collection, and outlives the database. What the command line does with the same records is told by
//! `pn record --help`. Without the feature `embedded` there is no database in the build, and [`TaskStore::connect`] is
//! the way to a store.
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
    Applied, Apply, Change, Collections, Compact, Count, Delete, Get, Index, Page, Put, Query,
};
use pensa_core::session::Object;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

#[cfg(feature = "embedded")]
pub use listing::{Corrupt, Listing};
pub use pensa_core::record::{Cursor, Filter, Order};
pub use pensa_core::{Code, Error, Result};
pub use transaction::Transaction;

/// Something that is kept in a collection. Its JSON is an object.
pub trait Record: Serialize + DeserializeOwned {
    /// The collection: a word of a-z, 0-9, - and _ that begins with a letter.
    fn collection_name() -> &'static str;

    /// What it is known by in its collection.
    fn id(&self) -> &str;

    /// When it was last changed, in milliseconds since 1970.
    fn updated_at(&self) -> i64;

    /// Fields that questions find records by without looking at all of them. [`TaskStore::declare`] makes their indexes.
    fn indexed_fields() -> &'static [&'static str] {
        &[]
    }
}

/// A record and the revision that the engine has given it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored<T> {
    pub rev: i64,
    pub record: T,
}

/// What a question asks for.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    pub filters: Vec<Filter>,
    /// By id, if nothing is said.
    pub order: Option<Order>,
    pub limit: Option<u32>,
    /// Where an answer before has stopped.
    pub after: Option<Cursor>,
}

/// Some of the records that were asked for, and where to go on if there are more.
#[derive(Debug, Clone)]
pub struct Found<T> {
    pub records: Vec<Stored<T>>,
    pub next: Option<Cursor>,
}

/// About how many bytes of documents go into one transaction of [`TaskStore::create_many`].
const BYTES_AT_ONCE: usize = 64 << 20;
/// Most records of one transaction.
const AT_ONCE: usize = 100_000;

/// A store of records.
pub struct TaskStore {
    client: Client,
    /// Where its files are, if that is on this machine.
    #[cfg(feature = "embedded")]
    files: Option<std::path::PathBuf>,
}

impl fmt::Debug for TaskStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskStore({:?})", self.client)
    }
}

impl TaskStore {
    /// Uses the store that a daemon or server serves, on whatever database.
    pub fn connect(options: RemoteOptions, actor: &str) -> Result<Self> {
        Ok(Self::on(Client::http(Remote::new(options)?, actor_source(actor))))
    }

    /// Uses a client that is there already.
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

    /// Keeps a new record, and gives its revision. One with the same id is a conflict.
    pub fn create<T: Record>(&self, record: &T) -> Result<i64> {
        self.put_as(record, Some(0), false)
    }

    /// Keeps many new records, and gives their revisions. Up to 64 MiB of documents, and 100,000 records, are one
    /// transaction: all of them are kept, or none. More are several, one after the other.
    pub fn create_many<T: Record>(&self, records: &[T]) -> Result<Vec<i64>> {
        let mut revs = Vec::with_capacity(records.len());
        while let Some(rest @ [_, ..]) = records.get(revs.len()..) {
            let bytes = Cell::new(0);
            let made = self.client.put_records(T::collection_name(), rest.len().min(AT_ONCE), |n| {
                if n == 0 {
                    bytes.set(0);
                }
                if bytes.get() >= BYTES_AT_ONCE {
                    return None;
                }
                let put = to_put(rest.get(n)?, Some(0), false);
                bytes.set(bytes.get() + put.as_ref().map_or(0, |put| size(&put.data)));
                Some(put)
            })?;
            if made.is_empty() {
                return Err(Error::internal("records were put, and none of them is told"));
            }
            revs.extend(made.into_iter().filter_map(|applied| applied.rev));
        }
        Ok(revs)
    }

    fn apply(&self, changes: Vec<Change>) -> Result<Vec<Applied>> {
        self.call(&Apply { changes })
    }

    /// The record with this id, if there is one.
    pub fn get<T: Record>(&self, id: &str) -> Result<Option<Stored<T>>> {
        let op = Get { collection: T::collection_name().to_owned(), id: id.to_owned() };
        match self.call(&op) {
            Ok(record) => stored(record).map(Some),
            Err(e) if e.code == Code::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Keeps a record in place of the one with the same id, which has to be there, whatever its revision.
    pub fn update<T: Record>(&self, record: &T) -> Result<i64> {
        self.put_as(record, None, true)
    }

    /// The same, if that one still has the revision `rev`. Otherwise somebody else was first, which is a conflict.
    pub fn update_if<T: Record>(&self, record: &T, rev: i64) -> Result<i64> {
        self.put_as(record, Some(rev), true)
    }

    /// Keeps a record, whether one with the same id is there or not.
    pub fn put<T: Record>(&self, record: &T) -> Result<i64> {
        self.put_as(record, None, false)
    }

    fn put_as<T: Record>(&self, record: &T, if_rev: Option<i64>, if_present: bool) -> Result<i64> {
        Ok(self.call(&to_put(record, if_rev, if_present)?)?.rev)
    }

    /// Deletes a record, and says whether it was there.
    pub fn delete<T: Record>(&self, id: &str) -> Result<bool> {
        match self.call(&deletion::<T>(Some(id), &[])) {
            Ok(_) => Ok(true),
            Err(e) if e.code == Code::NotFound => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// All records that pass every test, by their ids.
    pub fn query<T: Record>(&self, filters: &[Filter]) -> Result<Vec<T>> {
        let wanted = Wanted { filters: filters.to_vec(), ..Wanted::default() };
        Ok(self.select(wanted)?.into_iter().map(|stored| stored.record).collect())
    }

    /// All records that a question asks for, in its order and up to its limit, with their revisions.
    ///
    /// ```
    /// # use pensa_taskstore::{Order, Record, TaskStore, Wanted};
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
    /// let slowest = Wanted { order: Some(Order::by("ms").descending()), limit: Some(2), ..Wanted::default() };
    /// let ids: Vec<String> = store.select::<Job>(slowest)?.into_iter().map(|job| job.record.id).collect();
    /// assert_eq!(ids, ["c", "a"]);
    /// # Ok::<(), pensa_taskstore::Error>(())
    /// ```
    pub fn select<T: Record>(&self, mut wanted: Wanted) -> Result<Vec<Stored<T>>> {
        let mut all = Vec::new();
        loop {
            let found = self.page(wanted.clone())?;
            let got = u32::try_from(found.records.len()).unwrap_or(u32::MAX);
            if all.is_empty() {
                all = found.records;
            } else {
                all.extend(found.records);
            }
            wanted.limit = wanted.limit.map(|limit| limit.saturating_sub(got));
            wanted.after = found.next;
            if wanted.after.is_none() || wanted.limit == Some(0) {
                return Ok(all);
            }
        }
    }

    /// One page of what a question asks for: at most 10,000 records or 8 MiB, and where to go on.
    pub fn page<T: Record>(&self, wanted: Wanted) -> Result<Found<T>> {
        let Wanted { filters, order, limit, after } = wanted;
        let collection = T::collection_name().to_owned();
        let Page { records, next } = self.call(&Query { collection, filters, order, limit, after })?;
        Ok(Found { records: records.into_iter().map(stored).collect::<Result<_>>()?, next })
    }

    /// How many records pass every test.
    pub fn count<T: Record>(&self, filters: &[Filter]) -> Result<u64> {
        let op = Count { collection: T::collection_name().to_owned(), filters: filters.to_vec() };
        Ok(u64::try_from(self.call(&op)?.count).unwrap_or_default())
    }

    /// Deletes all records that pass every test, and says how many those were.
    pub fn delete_where<T: Record>(&self, filters: &[Filter]) -> Result<usize> {
        Ok(self.call(&deletion::<T>(None, filters))?.ids.len())
    }

    /// Begins to gather changes of any collections that happen together, or not at all.
    pub fn transaction(&self) -> Transaction<'_> {
        Transaction::new(self)
    }

    /// Makes the indexes of a kind of record, if they are not there.
    pub fn declare<T: Record>(&self) -> Result<()> {
        let fields = T::indexed_fields().iter().map(|field| (*field).to_owned()).collect();
        self.index::<T>(Index { fields, ..Index::default() }).map(drop)
    }

    /// Makes anew what the indexes of a kind of record hold.
    pub fn rebuild_index<T: Record>(&self) -> Result<()> {
        self.index::<T>(Index { rebuild: true, ..Index::default() }).map(drop)
    }

    /// Compares the indexes of a kind of record with the records, and makes them anew if they differ; says whether all was
    /// well. A database that is damaged or gone is rebuilt when it is next used, without being asked.
    pub fn ensure_valid<T: Record>(&self) -> Result<bool> {
        Ok(!self.index::<T>(Index { check: true, ..Index::default() })?)
    }

    fn index<T: Record>(&self, op: Index) -> Result<bool> {
        Ok(self.call(&Index { collection: T::collection_name().to_owned(), ..op })?.rebuilt)
    }

    /// The collections that there are, and how many records each has.
    pub fn collections(&self) -> Result<Vec<(String, u64)>> {
        let told = self.call(&Collections {})?;
        Ok(told.into_iter().map(|of| (of.collection, u64::try_from(of.records).unwrap_or_default())).collect())
    }

    /// Writes the files of all collections anew, without what was replaced or deleted.
    pub fn compact(&self) -> Result<()> {
        self.call(&Compact {}).map(drop)
    }
}

fn actor_source(actor: &str) -> pensa_client::ActorSource {
    let actor = actor.to_owned();
    Box::new(move || actor.clone())
}

fn deletion<T: Record>(id: Option<&str>, filters: &[Filter]) -> Delete {
    let (collection, id) = (T::collection_name().to_owned(), id.map(str::to_owned));
    Delete { collection, id, filters: filters.to_vec(), if_rev: None }
}

fn to_put<T: Record>(record: &T, if_rev: Option<i64>, if_present: bool) -> Result<Put> {
    let (collection, id) = (T::collection_name().to_owned(), record.id().to_owned());
    let told = |what: String| Error::invalid(format!("record {id} of {collection} {what}"));
    let data = match serde_json::to_value(record).map_err(|e| told(format!("is no JSON: {e}")))? {
        Value::Object(data) => data,
        _ => return Err(told("is not an object".into())),
    };
    let updated_at = Some(Timestamp::from_millis(record.updated_at())?);
    Ok(Put { collection, data, id: Some(id), if_rev, if_present, updated_at })
}

fn stored<T: Record>(record: pensa_core::record::Record) -> Result<Stored<T>> {
    let (id, rev) = (record.id, record.rev);
    let told = |e: serde_json::Error| {
        let message = format!("record {id} in {} is no such record: {e}", T::collection_name());
        Error::new(Code::Corrupt, message).hint("list_tolerant tells them all")
    };
    Ok(Stored { rev, record: T::deserialize(Value::Object(record.data)).map_err(told)? })
}

/// About how long the JSON of a document is, without writing it.
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

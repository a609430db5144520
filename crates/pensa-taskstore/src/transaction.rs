//! Collects changes in several collections, which succeed or fail together.

use pensa_core::ops::record::{Change, Removal};

use crate::{Record, Result, TaskStore, to_put};

/// A list of changes. Nothing happens until [`commit`](Self::commit).
///
/// ```
/// # use pensa_taskstore::{Record, TaskStore};
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # struct Loop { id: String }
/// # impl Record for Loop {
/// #     fn collection_name() -> &'static str { "items" }
/// #     fn id(&self) -> &str { &self.id }
/// #     fn updated_at(&self) -> i64 { 0 }
/// # }
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # struct Signal { id: String }
/// # impl Record for Signal {
/// #     fn collection_name() -> &'static str { "slips" }
/// #     fn id(&self) -> &str { &self.id }
/// #     fn updated_at(&self) -> i64 { 0 }
/// # }
/// # let dir = tempfile::tempdir().unwrap();
/// # let store = TaskStore::create_at(dir.path(), "me")?;
/// let both = |id: &str| {
///     let (one, signal) = (Loop { id: id.into() }, Signal { id: "sg-1".into() });
///     store.transaction().create(&one)?.create(&signal)?.commit()
/// };
/// both("lp-1")?;
/// assert!(both("lp-2").is_err(), "the signal is there already");
/// assert_eq!(store.count::<Loop>(&[])?, 1);
/// # Ok::<(), pensa_taskstore::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing happens before it is committed"]
pub struct Transaction<'s> {
    store: &'s TaskStore,
    changes: Vec<Change>,
}

impl<'s> Transaction<'s> {
    pub(crate) fn new(store: &'s TaskStore) -> Self {
        Self { store, changes: Vec::new() }
    }

    fn with<T: Record>(mut self, record: &T, if_rev: Option<i64>, if_present: bool) -> Result<Self> {
        self.changes.push(Change::Put(to_put(record, if_rev, if_present)?));
        Ok(self)
    }

    /// Creates a record.
    pub fn create<T: Record>(self, record: &T) -> Result<Self> {
        self.with(record, Some(0), false)
    }

    /// Creates or replaces a record.
    pub fn put<T: Record>(self, record: &T) -> Result<Self> {
        self.with(record, None, false)
    }

    /// Replaces an existing record.
    pub fn update<T: Record>(self, record: &T) -> Result<Self> {
        self.with(record, None, true)
    }

    /// Replaces a record with this revision.
    pub fn update_if<T: Record>(self, record: &T, rev: i64) -> Result<Self> {
        self.with(record, Some(rev), true)
    }

    /// Deletes a record, if it exists.
    pub fn delete<T: Record>(self, id: &str) -> Self {
        self.without::<T>(id, None)
    }

    /// Deletes a record with this revision.
    pub fn delete_if<T: Record>(self, id: &str, rev: i64) -> Self {
        self.without::<T>(id, Some(rev))
    }

    fn without<T: Record>(mut self, id: &str, if_rev: Option<i64>) -> Self {
        let (collection, id) = (T::collection_name().to_owned(), id.to_owned());
        self.changes.push(Change::Delete(Removal { collection, id, if_rev }));
        self
    }

    /// Makes all changes in order. Returns the new revisions, `None` for deletions.
    pub fn commit(self) -> Result<Vec<Option<i64>>> {
        Ok(self.store.apply(self.changes)?.into_iter().map(|applied| applied.rev).collect())
    }
}

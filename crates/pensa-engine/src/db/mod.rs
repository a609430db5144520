//! The database access of the engine: one SQL text, one transaction type, and a driver for each database.
//!
//! Operations use placeholders `?1, ?2` and columns of type TEXT, BIGINT and BOOLEAN, and never ask which driver runs
//! them.

pub(crate) mod backup;
pub(crate) mod migrations;
#[cfg_attr(not(feature = "postgres"), path = "no_postgres.rs")]
mod postgres;
mod recording;
pub(crate) mod snapshot;
mod sqlite;
mod value;

use std::cell::Cell;
use std::path::Path;
use std::time::Instant;

use pensa_core::event::EventType;
use pensa_core::id::IssueId;
use pensa_core::{Error, Result, Timestamp};
use serde::Serialize;
use serde_json::{Map, Value};

use self::snapshot::{Compared, Difference};
use crate::store::StoreDir;
pub use postgres::{Postgres, Wakeups};
pub(crate) use value::{Param, Row, params};

/// The state of a connection pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolState {
    pub size: usize,
    pub open: usize,
    pub idle: usize,
}

/// An open database.
#[derive(Debug)]
pub(crate) enum Db {
    Sqlite(Box<sqlite::Database>),
    Postgres(postgres::Database),
}

impl Db {
    /// Opens the database of a store directory. `seed` fills a new database in the transaction that creates it, so that
    /// no process sees it empty.
    pub(crate) fn open(store: &StoreDir, now: Timestamp, seed: impl FnOnce(&Tx<'_>) -> Result<()>) -> Result<Self> {
        let seed = |tx: sqlite::Transaction<'_>| {
            let tx = Tx::new(Driver::Sqlite(tx));
            seed(&tx)?;
            tx.commit().map_err(|uncommitted| uncommitted.error)
        };
        sqlite::Database::open(store, now, seed).map(|database| Db::Sqlite(Box::new(database)))
    }

    /// Opens a scratch database without a journal, in a file of its own or in memory.
    pub(crate) fn scratch(store: &StoreDir, file: Option<&Path>, now: Timestamp) -> Result<Self> {
        sqlite::Database::scratch(store, file, now).map(|database| Db::Sqlite(Box::new(database)))
    }

    /// Replaces the content of a scratch database with that of a file.
    pub(crate) fn fill_from(&mut self, file: &Path, now: Timestamp) -> Result<()> {
        match self {
            Db::Sqlite(database) => database.fill_from(file, now),
            Db::Postgres(_) => Err(Error::internal("not a file")),
        }
    }

    /// Closes a scratch file so that it can become a store's database.
    pub(crate) fn finish(self) -> Result<()> {
        match self {
            Db::Sqlite(database) => database.finish(),
            Db::Postgres(_) => Ok(()),
        }
    }

    /// The number of the last event of a database in a file.
    pub(crate) fn last_event(&self) -> Result<i64> {
        match self {
            Db::Sqlite(database) => database.last_event(),
            Db::Postgres(_) => Err(Error::internal("not a file")),
        }
    }

    /// Whether an event was stored although its commit failed.
    pub(crate) fn is_stored(&self, event: &Value) -> Result<bool> {
        match self {
            Db::Sqlite(database) => database.is_stored(event),
            Db::Postgres(_) => Ok(false),
        }
    }

    /// Creates a backup if the journal has become long.
    pub(crate) fn backup_if_journal_is_long(&self) {
        match self {
            Db::Sqlite(database) => database.backup_if_journal_is_long(),
            Db::Postgres(_) => {}
        }
    }

    /// Returns the store, once, if its record files should be checked.
    pub(crate) fn take_files_need_check(&self) -> Option<&StoreDir> {
        match self {
            Db::Sqlite(database) => database.take_files_need_check().then(|| database.store()),
            Db::Postgres(_) => None,
        }
    }

    /// Before closing: checkpoints a large write-ahead log, which the next process would have to read.
    pub(crate) fn checkpoint_if_large(&self) {
        match self {
            Db::Sqlite(database) => database.checkpoint_if_large(),
            Db::Postgres(_) => {}
        }
    }

    pub(crate) fn is_orphaned(&self) -> bool {
        match self {
            Db::Sqlite(database) => database.is_orphaned(),
            Db::Postgres(_) => false,
        }
    }

    /// Prepares a connection for many writes.
    pub(crate) fn expect_many_writes(&self) -> Result<()> {
        match self {
            Db::Sqlite(database) => database.expect_many_writes(),
            Db::Postgres(_) => Ok(()),
        }
    }

    /// A number that changes whenever another connection commits.
    pub(crate) fn data_version(&self) -> Result<i64> {
        match self {
            Db::Sqlite(database) => database.data_version(),
            Db::Postgres(_) => Err(Error::internal("not a file")),
        }
    }

    /// Sets a deadline for beginning transactions and for waiting on locks. Only PostgreSQL uses it.
    pub(crate) fn wait_until(&self, until: Option<Instant>) {
        if let Db::Postgres(database) = self {
            database.wait_until(until);
        }
    }

    pub(crate) fn begin_read(&self) -> Result<Tx<'_>> {
        let driver = match self {
            Db::Sqlite(database) => Driver::Sqlite(database.begin_read()?),
            Db::Postgres(database) => Driver::Postgres(Box::new(database.begin_read()?)),
        };
        Ok(Tx::new(driver))
    }

    /// Waits for the write permit and begins a write transaction. The caller checks whether the database is behind its
    /// journal.
    pub(crate) fn begin_write(&self) -> Result<Tx<'_>> {
        let driver = match self {
            Db::Sqlite(database) => Driver::Sqlite(database.begin_write()?),
            Db::Postgres(database) => Driver::Postgres(Box::new(database.begin_write()?)),
        };
        Ok(Tx::new(driver))
    }
}

/// A transaction. Rolled back when dropped without a commit.
#[derive(Debug)]
pub struct Tx<'c> {
    driver: Driver<'c>,
    /// The first event of the current operation, once it is written.
    op: Cell<Option<i64>>,
    /// The event of the last change, and the number of the change within it.
    last_change: Cell<(i64, i64)>,
    replaying: Cell<bool>,
}

#[derive(Debug)]
enum Driver<'c> {
    Sqlite(sqlite::Transaction<'c>),
    Postgres(Box<postgres::Transaction<'c>>),
}

/// Who runs an operation, and when.
#[derive(Debug, Serialize)]
pub(crate) struct Operation<'a> {
    pub(crate) actor: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<&'a str>,
    pub(crate) at: Timestamp,
}

/// A new event: what happened to which subject, and which issue it concerns.
#[derive(Debug)]
pub(crate) struct NewEvent<'a> {
    pub(crate) subject_kind: &'static str,
    pub(crate) subject_id: &'a str,
    pub(crate) issue_id: Option<&'a IssueId>,
    pub(crate) event_type: EventType,
    pub(crate) actor: &'a str,
    pub(crate) token_id: Option<&'a str>,
    pub(crate) session: Option<&'a str>,
    pub(crate) detail: Map<String, Value>,
    pub(crate) at: Timestamp,
}

impl<'c> Tx<'c> {
    fn new(driver: Driver<'c>) -> Self {
        Self { driver, op: Cell::new(None), last_change: Cell::default(), replaying: Cell::default() }
    }
}

impl Tx<'_> {
    /// Whether a statement failed because another transaction held a lock for too long. Further statements would wait
    /// as long.
    pub(crate) fn is_locked_out(&self) -> bool {
        match &self.driver {
            Driver::Sqlite(_) => false,
            Driver::Postgres(tx) => tx.is_locked_out(),
        }
    }

    /// Runs a statement. Returns the number of changed rows.
    pub(crate) fn execute(&self, sql: &str, params: &[Param<'_>]) -> Result<usize> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.execute(sql, params),
            Driver::Postgres(tx) => tx.execute(sql, params),
        }
    }

    /// Runs a statement whose result is not needed. PostgreSQL sends it together with the next statement; if it fails,
    /// the next awaited statement or the commit fails.
    pub(crate) fn send(&self, sql: &str, params: &[Param<'_>]) -> Result<()> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.execute(sql, params).map(drop),
            Driver::Postgres(tx) => tx.send(sql, params),
        }
    }

    /// Inserts rows as [`send`](Self::send) would; `insert_one` inserts one row, and `values` has the values of all
    /// rows in order.
    pub(crate) fn add_rows(&self, insert_one: &str, values: &[Param<'_>]) -> Result<()> {
        let (insert, width) = columns_of(insert_one);
        match &self.driver {
            Driver::Sqlite(tx) => tx.execute_each(insert_one, values.chunks(width)),
            Driver::Postgres(tx) => tx.add_rows(insert, width, values),
        }
    }

    /// Whether a duplicate row fails at once and the transaction can go on after that.
    pub(crate) fn reports_duplicates_at_once(&self) -> bool {
        matches!(self.driver, Driver::Sqlite(_))
    }

    /// Passes each result row to `each`.
    pub(crate) fn for_each(
        &self,
        sql: &str,
        params: &[Param<'_>],
        mut each: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.prepare(sql)?.for_each(params, &mut each),
            Driver::Postgres(tx) => tx.for_each(sql, params, &mut each),
        }
    }

    /// Returns all result rows.
    pub(crate) fn query<T>(
        &self,
        sql: &str,
        params: &[Param<'_>],
        mut map: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut rows = Vec::new();
        self.for_each(sql, params, |row| {
            rows.push(map(row)?);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Returns the result row of a query with at most one row.
    pub(crate) fn query_one<T>(
        &self,
        sql: &str,
        params: &[Param<'_>],
        map: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        Ok(self.query(sql, params, map)?.pop())
    }

    /// Starts a new operation: later events belong to it.
    pub(crate) fn begin_operation(&self) {
        self.op.set(None);
        self.last_change.take();
        if let Driver::Sqlite(tx) = &self.driver {
            tx.begin_operation();
        }
    }

    /// Adds to the journal who ran the finished operation.
    pub(crate) fn end_operation(&self, operation: &Operation<'_>) -> Result<()> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.end_operation(operation),
            Driver::Postgres(_) => Ok(()),
        }
    }

    /// The number of the current operation, which is that of its first event.
    pub(crate) fn operation(&self) -> Option<i64> {
        self.op.get()
    }

    /// Appends an event to the log, as a part of the current operation. Returns its number.
    pub(crate) fn append_event(&self, event: &NewEvent<'_>) -> Result<i64> {
        let number = match &self.driver {
            Driver::Sqlite(tx) => tx.append_event(event, self.op.get()),
            Driver::Postgres(tx) => tx.append_event(event, self.op.get()),
        }?;
        self.op.set(self.op.get().or(Some(number)));
        Ok(number)
    }

    /// Switches to replaying the journal.
    pub(crate) fn begin_replay(&self) {
        self.replaying.set(true);
    }

    pub(crate) fn is_replaying(&self) -> bool {
        self.replaying.get()
    }

    /// The number of the event that will report the next change, and the number of the change within it.
    pub(crate) fn next_change(&self) -> Result<(i64, i64)> {
        let (event, (last, number)) = (self.next_event()?, self.last_change.get());
        let next = (event, if last == event { number + 1 } else { 1 });
        self.last_change.set(next);
        Ok(next)
    }

    /// The number of the next event.
    pub(crate) fn next_event(&self) -> Result<i64> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.next_event(),
            Driver::Postgres(tx) => Ok(tx.next_event()),
        }
    }

    /// Prepares for many rows in any order: foreign keys are checked at the commit.
    pub(crate) fn expect_many_rows(&self) -> Result<()> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.expect_many_rows(),
            Driver::Postgres(tx) => tx.expect_many_rows(),
        }
    }

    /// Fills empty tables. Their indexes are created afterwards, which is much faster.
    pub(crate) fn bulk_load<T>(&self, tables: &[&str], work: impl FnOnce() -> Result<T>) -> Result<T> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.bulk_load(tables, work),
            Driver::Postgres(_) => work(),
        }
    }

    /// Adds an item to the journal, so that replay can repeat it. A transaction with items must also log an event,
    /// because lost transactions are detected by event numbers.
    pub(crate) fn journal(&self, kind: &str, value: &(impl Serialize + ?Sized)) -> Result<()> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.journal(kind, value),
            // PostgreSQL has a log of its own.
            Driver::Postgres(_) => Ok(()),
        }
    }

    /// As [`journal`](Self::journal), for a value that writes its own JSON.
    pub(crate) fn journal_written(&self, kind: &str, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.journal_written(kind, write),
            Driver::Postgres(_) => Ok(()),
        }
    }

    /// Appends a line to a record file after the commit, in stores with such files.
    pub(crate) fn write_through(&self, file: &str, line: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.write_through(file, line),
            Driver::Postgres(_) => Ok(()),
        }
    }

    /// Reserves all event numbers up to `last`.
    pub(crate) fn skip_events(&self, last: i64) -> Result<()> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.skip_events(last),
            Driver::Postgres(_) => Err(Error::internal("not a file")),
        }
    }

    /// The journal items of this transaction so far.
    pub(crate) fn journaled(&self) -> Result<Vec<(String, Value)>> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.journaled(),
            Driver::Postgres(_) => Ok(Vec::new()),
        }
    }

    /// The last event of the database, and its store, if the journal has later events.
    pub(crate) fn behind_journal(&self) -> Result<Option<(i64, &StoreDir)>> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.behind_journal(),
            Driver::Postgres(_) => Ok(None),
        }
    }

    /// Runs `work`, which repeats journaled changes up to event `last`, without journaling them again.
    pub(crate) fn without_journaling(&self, last: i64, work: impl FnOnce() -> Result<()>) -> Result<()> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.without_journaling(last, work),
            Driver::Postgres(_) => work(),
        }
    }

    /// Replaces all content with that of a file. Later events get numbers above `last`.
    pub(crate) fn replace_all(&self, file: &Path, last: i64) -> Result<()> {
        match &self.driver {
            Driver::Sqlite(tx) => snapshot::replace_all(tx, file, last),
            Driver::Postgres(_) => Err(Error::internal("not a file")),
        }
    }

    /// Compares this database with another SQLite database.
    pub(crate) fn differences(&self, expected: &Tx<'_>, compared: &[Compared]) -> Result<Vec<Difference>> {
        match (&self.driver, &expected.driver) {
            (Driver::Sqlite(tx), Driver::Sqlite(expected)) => snapshot::differences(tx, expected, compared),
            _ => Err(Error::internal("not a file")),
        }
    }

    /// Replaces the differing records with those of another database.
    pub(crate) fn repair(&self, expected: &Tx<'_>, differences: &[Difference]) -> Result<()> {
        match (&self.driver, &expected.driver) {
            (Driver::Sqlite(tx), Driver::Sqlite(expected)) => snapshot::repair(tx, expected, differences),
            _ => Err(Error::internal("not a file")),
        }
    }

    /// The database's own integrity check. A thorough check also compares each index with its table.
    pub(crate) fn integrity_problems(&self, thorough: bool) -> Result<Vec<String>> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.integrity_problems(thorough),
            Driver::Postgres(tx) => tx.integrity_problems(),
        }
    }

    /// Runs `work` in a savepoint: if it fails or panics, its changes are undone and the transaction goes on.
    pub(crate) fn savepoint<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let last_change = self.last_change.get();
        let done = match &self.driver {
            Driver::Sqlite(tx) => tx.savepoint(work),
            Driver::Postgres(tx) => tx.savepoint(work),
        };
        done.inspect_err(|_| self.last_change.set(last_change))
    }

    /// Whether the transaction is still open. Some failures, such as a full disk, roll it back.
    pub(crate) fn is_alive(&self) -> bool {
        match &self.driver {
            Driver::Sqlite(tx) => tx.is_alive(),
            Driver::Postgres(tx) => tx.is_alive(),
        }
    }

    /// Whether a failure was due to the connection or a concurrent transaction, so that the whole transaction may be
    /// retried.
    pub(crate) fn is_retryable(&self) -> bool {
        match &self.driver {
            Driver::Sqlite(_) => false,
            Driver::Postgres(tx) => tx.is_retryable(),
        }
    }

    /// Makes the commit wait until everything committed before is durable, even if this transaction changed nothing.
    pub(crate) fn force_commit(&self) {
        match &self.driver {
            // On SQLite, committed data is already synced when it can be read.
            Driver::Sqlite(_) => {}
            Driver::Postgres(tx) => tx.force_commit(),
        }
    }

    pub(crate) fn commit(self) -> Result<(), CommitError> {
        let (last, _) = self.last_change.get();
        let is_reported = || last == 0 || self.next_event().map_or(true, |next| last < next);
        debug_assert!(!self.is_alive() || is_reported(), "a change that no event reports");
        match self.driver {
            Driver::Sqlite(tx) => tx.commit(),
            Driver::Postgres(tx) => tx.commit(),
        }
    }
}

/// Splits an INSERT of one row into the part before VALUES and the number of values.
fn columns_of(insert_one: &str) -> (&str, usize) {
    let (insert, places) = insert_one.rsplit_once("VALUES").unwrap_or((insert_one, ""));
    (insert.trim_end(), places.matches('?').count().max(1))
}

/// A failed commit, and whether the transaction may be retried because nothing was stored.
#[derive(Debug)]
pub(crate) struct CommitError {
    pub(crate) error: Error,
    pub(crate) is_retryable: bool,
    /// An event by which to find out whether the transaction was stored anyway.
    pub(crate) uncertain_event: Option<Box<Value>>,
}

impl From<Error> for CommitError {
    fn from(error: Error) -> Self {
        Self { error, is_retryable: false, uncertain_event: None }
    }
}

//! The database behind the engine: one SQL text, one transaction type, a driver for each database.
//!
//! Operations write `?1, ?2`, use TEXT, BIGINT and BOOLEAN columns, and never ask which driver runs them.

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

/// How the connections to a database are doing.
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
    /// Opens the database of a store's directory. One that had to be made is filled by `seed` in the transaction that
    /// makes it, so that nobody ever sees it empty.
    pub(crate) fn open(store: &StoreDir, now: Timestamp, seed: impl FnOnce(&Tx<'_>) -> Result<()>) -> Result<Self> {
        let seed = |tx: sqlite::Transaction<'_>| {
            let tx = Tx::new(Driver::Sqlite(tx));
            seed(&tx)?;
            tx.commit().map_err(|uncommitted| uncommitted.error)
        };
        sqlite::Database::open(store, now, seed).map(|database| Db::Sqlite(Box::new(database)))
    }

    /// A database that nobody else can see, with no journal: in a file of its own, or in memory.
    pub(crate) fn loose(store: &StoreDir, file: Option<&Path>, now: Timestamp) -> Result<Self> {
        sqlite::Database::loose(store, file, now).map(|database| Db::Sqlite(Box::new(database)))
    }

    /// Takes the contents of a file in place of what a loose database holds.
    pub(crate) fn fill_from(&mut self, file: &Path, now: Timestamp) -> Result<()> {
        match self {
            Db::Sqlite(database) => database.fill_from(file, now),
            Db::Postgres(_) => Err(Error::internal("not a file")),
        }
    }

    /// Makes a loose file one that a store can use.
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

    /// Whether an event is stored after its commit has failed.
    pub(crate) fn is_stored(&self, event: &Value) -> Result<bool> {
        match self {
            Db::Sqlite(database) => database.is_stored(event),
            Db::Postgres(_) => Ok(false),
        }
    }

    /// Makes a backup if the journal has grown long.
    pub(crate) fn keep_journal_short(&self) {
        match self {
            Db::Sqlite(database) => database.keep_journal_short(),
            Db::Postgres(_) => {}
        }
    }

    /// The store whose files of records have to be looked at since this was last asked.
    pub(crate) fn take_files_due(&self) -> Option<&StoreDir> {
        match self {
            Db::Sqlite(database) => database.take_files_due().then(|| database.store()),
            Db::Postgres(_) => None,
        }
    }

    /// Leaves the database as the next to open it would like to find it.
    pub(crate) fn tidy_up(&self) {
        match self {
            Db::Sqlite(database) => database.tidy_up(),
            Db::Postgres(_) => {}
        }
    }

    pub(crate) fn is_orphaned(&self) -> bool {
        match self {
            Db::Sqlite(database) => database.is_orphaned(),
            Db::Postgres(_) => false,
        }
    }

    /// Prepares for a life of writing.
    pub(crate) fn expect_many_writes(&self) -> Result<()> {
        match self {
            Db::Sqlite(database) => database.expect_many_writes(),
            Db::Postgres(_) => Ok(()),
        }
    }

    /// A number that changes when another connection commits.
    pub(crate) fn changes_seen(&self) -> Result<i64> {
        match self {
            Db::Sqlite(database) => database.changes_seen(),
            Db::Postgres(_) => Err(Error::internal("not a file")),
        }
    }

    /// Has transactions from now on, and the locks they need, waited for until then at most, where others may hold them
    /// for long.
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

    /// Begins as the store's only writer, waiting for the others. Whether the database is behind its journal is for the
    /// caller to see.
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
    /// The first event of the operation that is under way, once it has written one.
    op: Cell<Option<i64>>,
    /// The event of the last change, and the number of that change among those of the event.
    last_change: Cell<(i64, i64)>,
    replaying: Cell<bool>,
}

#[derive(Debug)]
enum Driver<'c> {
    Sqlite(sqlite::Transaction<'c>),
    Postgres(Box<postgres::Transaction<'c>>),
}

/// A line for the log: what happened to which subject, and which issue that concerns.
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
    /// Whether something failed because somebody else holds a lock for too long: what follows would wait as long.
    pub(crate) fn is_locked_out(&self) -> bool {
        match &self.driver {
            Driver::Sqlite(_) => false,
            Driver::Postgres(tx) => tx.is_locked_out(),
        }
    }

    /// Runs a statement and tells how many rows it changed.
    pub(crate) fn execute(&self, sql: &str, params: &[Param<'_>]) -> Result<usize> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.execute(sql, params),
            Driver::Postgres(tx) => tx.execute(sql, params),
        }
    }

    /// Runs a statement of which nobody needs to know how it went before the next: over a network the two travel
    /// together. If it fails, the next one that is waited for fails, or the commit.
    pub(crate) fn send(&self, sql: &str, params: &[Param<'_>]) -> Result<()> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.execute(sql, params).map(drop),
            Driver::Postgres(tx) => tx.send(sql, params),
        }
    }

    /// Adds rows, as `send` does with what adds one: `values` are those of one row after the other.
    pub(crate) fn add_rows(&self, insert_one: &str, values: &[Param<'_>]) -> Result<()> {
        let (insert, width) = columns_of(insert_one);
        match &self.driver {
            Driver::Sqlite(tx) => tx.execute_each(insert_one, values.chunks(width)),
            Driver::Postgres(tx) => tx.add_rows(insert, width, values),
        }
    }

    /// Whether a row that is there already is refused as soon as it is added, and other things can be asked after that.
    pub(crate) fn tells_clashes(&self) -> bool {
        matches!(self.driver, Driver::Sqlite(_))
    }

    /// Hands every row of an answer to `each`.
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

    /// Every row of an answer.
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

    /// The last row of an answer that has one at most.
    pub(crate) fn query_one<T>(
        &self,
        sql: &str,
        params: &[Param<'_>],
        map: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        Ok(self.query(sql, params, map)?.pop())
    }

    /// From here on, events belong to another operation than those before.
    pub(crate) fn begin_operation(&self) {
        self.op.set(None);
        self.last_change.take();
    }

    /// The number of the operation that is under way, which is that of its first event.
    pub(crate) fn operation(&self) -> Option<i64> {
        self.op.get()
    }

    /// Appends a line to the log, as a part of the operation that is under way. The driver hands out its number.
    pub(crate) fn append_event(&self, event: &NewEvent<'_>) -> Result<i64> {
        let number = match &self.driver {
            Driver::Sqlite(tx) => tx.append_event(event, self.op.get()),
            Driver::Postgres(tx) => tx.append_event(event, self.op.get()),
        }?;
        self.op.set(self.op.get().or(Some(number)));
        Ok(number)
    }

    /// From here on, the journal is done again.
    pub(crate) fn begin_replay(&self) {
        self.replaying.set(true);
    }

    pub(crate) fn is_replaying(&self) -> bool {
        self.replaying.get()
    }

    /// The event that will report the next change, which is the next to be logged, and the number of the change there.
    pub(crate) fn next_change(&self) -> Result<(i64, i64)> {
        let (event, (last, number)) = (self.next_event()?, self.last_change.get());
        let next = (event, if last == event { number + 1 } else { 1 });
        self.last_change.set(next);
        Ok(next)
    }

    /// The number that the next event will be given.
    pub(crate) fn next_event(&self) -> Result<i64> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.next_event(),
            Driver::Postgres(tx) => Ok(tx.next_event()),
        }
    }

    /// Prepares for many rows in any order: foreign keys need to hold only at the commit.
    pub(crate) fn expect_many_rows(&self) -> Result<()> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.expect_many_rows(),
            Driver::Postgres(tx) => tx.expect_many_rows(),
        }
    }

    /// Fills empty tables: whatever helps to find rows is made when all are there, which costs a fraction.
    pub(crate) fn filling<T>(&self, tables: &[&str], work: impl FnOnce() -> Result<T>) -> Result<T> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.filling(tables, work),
            Driver::Postgres(_) => work(),
        }
    }

    /// Notes for the journal what was done to the tables, so that `replay` can do it again. A transaction that notes
    /// anything also logs an event, by whose number a lost transaction is missed.
    pub(crate) fn journal(&self, kind: &str, value: &(impl Serialize + ?Sized)) -> Result<()> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.journal(kind, value),
            // It has a log of its own.
            Driver::Postgres(_) => Ok(()),
        }
    }

    /// The same of what writes its own JSON.
    pub(crate) fn journal_written(&self, kind: &str, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.journal_written(kind, write),
            Driver::Postgres(_) => Ok(()),
        }
    }

    /// Has a line appended to a file of records, for stores that have such files, once the transaction is committed.
    pub(crate) fn write_through(&self, file: &str, line: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.write_through(file, line),
            Driver::Postgres(_) => Ok(()),
        }
    }

    /// Has no event get a number up to `last`.
    pub(crate) fn skip_events(&self, last: i64) -> Result<()> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.skip_events(last),
            Driver::Postgres(_) => Err(Error::internal("not a file")),
        }
    }

    /// What this transaction has noted for the journal so far.
    pub(crate) fn journaled(&self) -> Result<Vec<(String, Value)>> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.journaled(),
            Driver::Postgres(_) => Ok(Vec::new()),
        }
    }

    /// The last event of the database and its store, if the journal has later ones.
    pub(crate) fn is_behind(&self) -> Result<Option<(i64, &StoreDir)>> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.is_behind(),
            Driver::Postgres(_) => Ok(None),
        }
    }

    /// Does what the journal has already, up to event `last`, without noting it again.
    pub(crate) fn repeat(&self, last: i64, work: impl FnOnce() -> Result<()>) -> Result<()> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.repeat(last, work),
            Driver::Postgres(_) => work(),
        }
    }

    /// Puts the contents of a file in place of everything; its events are followed by numbers above `last`.
    pub(crate) fn replace_all(&self, file: &Path, last: i64) -> Result<()> {
        match &self.driver {
            Driver::Sqlite(tx) => snapshot::replace_all(tx, file, last),
            Driver::Postgres(_) => Err(Error::internal("not a file")),
        }
    }

    /// Where this database differs from another of the same kind.
    pub(crate) fn differences(&self, expected: &Tx<'_>, compared: &[Compared]) -> Result<Vec<Difference>> {
        match (&self.driver, &expected.driver) {
            (Driver::Sqlite(tx), Driver::Sqlite(expected)) => snapshot::differences(tx, expected, compared),
            _ => Err(Error::internal("not a file")),
        }
    }

    /// Takes the records that differ from another database.
    pub(crate) fn mend(&self, expected: &Tx<'_>, differences: &[Difference]) -> Result<()> {
        match (&self.driver, &expected.driver) {
            (Driver::Sqlite(tx), Driver::Sqlite(expected)) => snapshot::mend(tx, expected, differences),
            _ => Err(Error::internal("not a file")),
        }
    }

    /// What the database itself says is wrong with it; a thorough look also compares each index with its table.
    pub(crate) fn integrity_problems(&self, thorough: bool) -> Result<Vec<String>> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.integrity_problems(thorough),
            Driver::Postgres(tx) => tx.integrity_problems(),
        }
    }

    /// Runs `work`; if it fails or panics, what it did is undone and the transaction goes on.
    pub(crate) fn savepoint<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let last_change = self.last_change.get();
        let done = match &self.driver {
            Driver::Sqlite(tx) => tx.savepoint(work),
            Driver::Postgres(tx) => tx.savepoint(work),
        };
        done.inspect_err(|_| self.last_change.set(last_change))
    }

    /// Whether the transaction is still there. Some failures, such as a full disk, end all of it at once.
    pub(crate) fn is_alive(&self) -> bool {
        match &self.driver {
            Driver::Sqlite(tx) => tx.is_alive(),
            Driver::Postgres(tx) => tx.is_alive(),
        }
    }

    /// Whether what failed was the way to the database, or another transaction in the way, so that all of it may be
    /// done again in a new transaction.
    pub(crate) fn is_worth_another_try(&self) -> bool {
        match &self.driver {
            Driver::Sqlite(_) => false,
            Driver::Postgres(tx) => tx.is_worth_another_try(),
        }
    }

    /// Makes the commit wait for what was committed before it to be safe, even if nothing has changed since.
    pub(crate) fn insist(&self) {
        match &self.driver {
            // Whatever can be read was synced before.
            Driver::Sqlite(_) => {}
            Driver::Postgres(tx) => tx.insist(),
        }
    }

    pub(crate) fn commit(self) -> Result<(), Uncommitted> {
        let (last, _) = self.last_change.get();
        let is_reported = || last == 0 || self.next_event().map_or(true, |next| last < next);
        debug_assert!(!self.is_alive() || is_reported(), "a change that no event reports");
        match self.driver {
            Driver::Sqlite(tx) => tx.commit(),
            Driver::Postgres(tx) => tx.commit(),
        }
    }
}

/// The part of a statement that names the columns of a row it adds, and how many values that has.
fn columns_of(insert_one: &str) -> (&str, usize) {
    let (insert, places) = insert_one.rsplit_once("VALUES").unwrap_or((insert_one, ""));
    (insert.trim_end(), places.matches('?').count().max(1))
}

/// A commit that failed, and whether the same may be tried again because nothing of it was stored.
#[derive(Debug)]
pub(crate) struct Uncommitted {
    pub(crate) error: Error,
    pub(crate) again: bool,
    /// An event of it by which can be found out whether it was stored all the same.
    pub(crate) doubt: Option<Box<Value>>,
}

impl From<Error> for Uncommitted {
    fn from(error: Error) -> Self {
        Self { error, again: false, doubt: None }
    }
}

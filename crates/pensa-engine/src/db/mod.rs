//! The database behind the engine: one SQL text, one transaction type, a driver for each database.
//!
//! Operations write `?1, ?2`, use TEXT, BIGINT and BOOLEAN columns, and never ask which driver runs them.

pub(crate) mod migrations;
mod postgres;
mod sqlite;
mod value;

use std::cell::Cell;

use pensa_core::event::EventType;
use pensa_core::id::IssueId;
use pensa_core::{Error, Result, Timestamp};
use serde_json::{Map, Value};

use crate::store::StoreDir;
pub use postgres::{PoolState, Postgres, Wakeups};
pub(crate) use value::{Param, Row, params};

/// An open database.
#[derive(Debug)]
pub(crate) enum Db {
    Sqlite(sqlite::Database),
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
        sqlite::Database::open(store, now, seed).map(Db::Sqlite)
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
            Db::Postgres(database) => Ok(database.begin_read()?.changes()),
        }
    }

    pub(crate) fn begin_read(&self) -> Result<Tx<'_>> {
        let driver = match self {
            Db::Sqlite(database) => Driver::Sqlite(database.begin_read()?),
            Db::Postgres(database) => Driver::Postgres(Box::new(database.begin_read()?)),
        };
        Ok(Tx::new(driver))
    }

    /// Begins as the store's only writer, waiting for the others.
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
}

#[derive(Debug)]
enum Driver<'c> {
    Sqlite(sqlite::Transaction<'c>),
    Postgres(Box<postgres::Transaction<'c>>),
}

/// A prepared statement.
#[derive(Debug)]
pub(crate) enum Statement<'t> {
    Sqlite(sqlite::Statement<'t>),
    /// Prepared by the connection, which knows it by its text.
    Postgres(&'t postgres::Transaction<'t>, String),
}

impl Statement<'_> {
    /// Hands every row of the answer to `each`.
    pub(crate) fn for_each(
        &mut self,
        params: &[Param<'_>],
        mut each: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        match self {
            Statement::Sqlite(statement) => statement.for_each(params, &mut each),
            Statement::Postgres(tx, sql) => tx.for_each(sql, params, &mut each),
        }
    }
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
    pub(crate) detail: Map<String, Value>,
    pub(crate) at: Timestamp,
}

impl<'c> Tx<'c> {
    fn new(driver: Driver<'c>) -> Self {
        Self { driver, op: Cell::new(None) }
    }
}

impl Tx<'_> {
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

    /// A statement that will be asked many times.
    pub(crate) fn prepare(&self, sql: &str) -> Result<Statement<'_>> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.prepare(sql).map(Statement::Sqlite),
            Driver::Postgres(tx) => Ok(Statement::Postgres(tx, sql.to_owned())),
        }
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

    /// Prepares for many rows in any order: foreign keys need to hold only at the commit.
    pub(crate) fn expect_many_rows(&self) -> Result<()> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.expect_many_rows(),
            Driver::Postgres(tx) => tx.expect_many_rows(),
        }
    }

    /// Fills empty tables: whatever helps to find rows is made when all are there, which costs a fraction.
    pub(crate) fn filling<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.filling(work),
            Driver::Postgres(_) => work(),
        }
    }

    /// What the database itself says is wrong with it.
    pub(crate) fn integrity_problems(&self) -> Result<Vec<String>> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.integrity_problems(),
            Driver::Postgres(tx) => tx.integrity_problems(),
        }
    }

    /// Runs `work`; if it fails or panics, what it did is undone and the transaction goes on.
    pub(crate) fn savepoint<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.savepoint(work),
            Driver::Postgres(tx) => tx.savepoint(work),
        }
    }

    /// Whether the transaction is still there. Some failures, such as a full disk, end all of it at once.
    pub(crate) fn is_alive(&self) -> bool {
        match &self.driver {
            Driver::Sqlite(tx) => tx.is_alive(),
            Driver::Postgres(tx) => tx.is_alive(),
        }
    }

    /// Whether something has failed, and with it all that would follow.
    pub(crate) fn is_spoilt(&self) -> bool {
        match &self.driver {
            Driver::Sqlite(_) => false,
            Driver::Postgres(tx) => tx.is_spoilt(),
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

    /// How often the store had been changed when the transaction began, if the database counts that.
    pub(crate) fn changes(&self) -> Option<i64> {
        match &self.driver {
            Driver::Sqlite(_) => None,
            Driver::Postgres(tx) => Some(tx.changes()),
        }
    }

    /// Gives each savepoint what it says. Without, a driver may spoil the whole transaction instead of undoing a part.
    pub(crate) fn be_careful(&self) {
        match &self.driver {
            Driver::Sqlite(_) => {}
            Driver::Postgres(tx) => tx.be_careful(),
        }
    }

    pub(crate) fn commit(self) -> Result<(), Uncommitted> {
        match self.driver {
            Driver::Sqlite(tx) => tx.commit().map_err(Uncommitted::from),
            Driver::Postgres(tx) => tx.commit(),
        }
    }
}

/// A commit that failed, and whether the same may be tried again because nothing of it was stored.
#[derive(Debug)]
pub(crate) struct Uncommitted {
    pub(crate) error: Error,
    pub(crate) again: bool,
}

impl From<Error> for Uncommitted {
    fn from(error: Error) -> Self {
        Self { error, again: false }
    }
}

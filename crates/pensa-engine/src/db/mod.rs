//! The database behind the engine: one SQL text, one transaction type, a driver for each database.
//!
//! Operations write `?1, ?2`, use TEXT, BIGINT and BOOLEAN columns, and never ask which driver runs them.

pub(crate) mod migrations;
mod sqlite;
mod value;

use pensa_core::event::EventType;
use pensa_core::id::IssueId;
use pensa_core::{Result, Timestamp};
use serde_json::{Map, Value};

use crate::store::StoreDir;
pub(crate) use value::{Param, Row, params};

/// An open database.
#[derive(Debug)]
pub(crate) enum Db {
    Sqlite(sqlite::Database),
}

impl Db {
    /// Opens the database of a store. One that had to be made is filled by `seed` in the transaction that makes it,
    /// so that nobody ever sees it empty.
    pub(crate) fn open(store: &StoreDir, now: Timestamp, seed: impl FnOnce(&Tx<'_>) -> Result<()>) -> Result<Self> {
        let seed = |tx: sqlite::Transaction<'_>| {
            let tx = Tx { driver: Driver::Sqlite(tx) };
            seed(&tx)?;
            tx.commit()
        };
        sqlite::Database::open(store, now, seed).map(Db::Sqlite)
    }

    /// Whether there is something to tidy up that is better done without a caller waiting for it.
    pub(crate) fn needs_tidying(&self) -> bool {
        match self {
            Db::Sqlite(database) => database.log_is_large(),
        }
    }

    pub(crate) fn tidy_up(&self) {
        match self {
            Db::Sqlite(database) => database.fold_log(),
        }
    }

    pub(crate) fn is_orphaned(&self) -> bool {
        match self {
            Db::Sqlite(database) => database.is_orphaned(),
        }
    }

    /// Prepares for a life of writing.
    pub(crate) fn expect_many_writes(&self) -> Result<()> {
        match self {
            Db::Sqlite(database) => database.expect_many_writes(),
        }
    }

    /// A number that changes when another connection commits.
    pub(crate) fn changes_seen(&self) -> Result<i64> {
        match self {
            Db::Sqlite(database) => database.changes_seen(),
        }
    }

    pub(crate) fn begin_read(&self) -> Result<Tx<'_>> {
        match self {
            Db::Sqlite(database) => Ok(Tx { driver: Driver::Sqlite(database.begin("BEGIN")?) }),
        }
    }

    pub(crate) fn begin_write(&self) -> Result<Tx<'_>> {
        match self {
            Db::Sqlite(database) => Ok(Tx { driver: Driver::Sqlite(database.begin("BEGIN IMMEDIATE")?) }),
        }
    }
}

/// A transaction. Rolled back when dropped without a commit.
#[derive(Debug)]
pub struct Tx<'c> {
    driver: Driver<'c>,
}

#[derive(Debug)]
enum Driver<'c> {
    Sqlite(sqlite::Transaction<'c>),
}

/// A prepared statement.
#[derive(Debug)]
pub(crate) enum Statement<'t> {
    Sqlite(sqlite::Statement<'t>),
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
    pub(crate) detail: Map<String, Value>,
    pub(crate) at: Timestamp,
}

impl Tx<'_> {
    /// Runs a statement and tells how many rows it changed.
    pub(crate) fn execute(&self, sql: &str, params: &[Param<'_>]) -> Result<usize> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.execute(sql, params),
        }
    }

    /// A statement that will be asked many times.
    pub(crate) fn prepare(&self, sql: &str) -> Result<Statement<'_>> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.prepare(sql).map(Statement::Sqlite),
        }
    }

    /// Hands every row of an answer to `each`.
    pub(crate) fn for_each(
        &self,
        sql: &str,
        params: &[Param<'_>],
        each: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        self.prepare(sql)?.for_each(params, each)
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

    /// Appends a line to the log. The driver hands out the sequence number.
    pub(crate) fn append_event(&self, event: &NewEvent<'_>) -> Result<()> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.append_event(event),
        }
    }

    /// Prepares for many rows in any order: foreign keys need to hold only at the commit.
    pub(crate) fn expect_many_rows(&self) -> Result<()> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.expect_many_rows(),
        }
    }

    /// What the database itself says is wrong with it.
    pub(crate) fn integrity_problems(&self) -> Result<Vec<String>> {
        match &self.driver {
            Driver::Sqlite(tx) => tx.integrity_problems(),
        }
    }

    /// Runs `work`; if it fails or panics, what it did is undone and the transaction goes on.
    pub(crate) fn savepoint<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.execute("SAVEPOINT op", params![])?;
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        if self.is_alive() {
            if !matches!(outcome, Ok(Ok(_))) {
                self.execute("ROLLBACK TO op", params![])?;
            }
            self.execute("RELEASE op", params![])?;
        }
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Whether the transaction is still there. Some failures, such as a full disk, end all of it at once.
    pub(crate) fn is_alive(&self) -> bool {
        match &self.driver {
            Driver::Sqlite(tx) => tx.is_alive(),
        }
    }

    pub(crate) fn commit(self) -> Result<()> {
        match self.driver {
            Driver::Sqlite(tx) => tx.commit(),
        }
    }
}

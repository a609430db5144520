//! The PostgreSQL driver: many stores in one database, separated by row-level security.
//!
//! Each transaction first sets its store. All tables fill in and check the store themselves, so the shared SQL never
//! mentions it. A write transaction first locks the row of its store: this makes it the store's only writer and yields
//! the next event number.

mod address;
mod connection;
mod failure;
mod set_up;
mod values;
mod wake;

use std::cell::{Cell, RefCell, RefMut};
use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::rc::Rc;
use std::time::{Duration, Instant};

use deadpool::managed::{Object, Pool, PoolError};
use futures_util::TryStreamExt;
use pensa_core::{Code, Error, Result, json};
use tokio::time::timeout_at;
pub(crate) use tokio_postgres::Row;
use tokio_postgres::RowStream;
use uuid::Uuid;

use super::value::{self, Param};
use super::{CommitError, NewEvent, PoolState, params};
use address::Address;
use connection::{ANSWER_TIMEOUT, LOCK_TIMEOUT, Pending, PgConnection, PgConnectionManager, block_on};
use failure::{Failure, FailureKind};
pub use wake::Wakeups;

/// Timeout for beginning a transaction: for a connection, the database, and the other writers of a store.
const BEGIN_TIMEOUT: Duration = Duration::from_millis(4000);
/// A server without any answer for this long is considered silent rather than slow.
const SILENCE_THRESHOLD: Duration = Duration::from_secs(2);
/// How long after the deadline the server may still report a lock timeout.
const SERVER_GRACE: Duration = Duration::from_millis(500);
/// Timeout for a commit, which waits for the disk and for a standby.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections reserved for the control store.
const RESERVED: usize = 2;
/// Limit for statements sent in one batch.
const MAX_PENDING: usize = 24;
/// Limit for rows inserted by one statement.
const MAX_ROWS: usize = 512;
/// Rows read at a time.
const CHUNK: usize = 256;

/// A PostgreSQL database that holds many stores.
#[derive(Debug, Clone)]
pub struct Postgres {
    address: Address,
    pool: Pool<PgConnectionManager>,
    /// For the control store: authentication must work even if all other connections are in use.
    reserved: Pool<PgConnectionManager>,
    wakeups: Wakeups,
}

impl Postgres {
    /// Migrates the schema and creates the connection pools.
    pub fn open(address: &str, connections: usize) -> Result<Self> {
        let address = Address::parse(address)?;
        set_up::bring_up_to_date(&address)?;
        let pool = |size: usize| {
            Pool::builder(PgConnectionManager(address.clone())).max_size(size.max(1)).build().map_err(Error::internal)
        };
        let (pool, reserved) = (pool(connections)?, pool(RESERVED)?);
        let wakeups = Wakeups::new(address.clone());
        Ok(Self { address, pool, reserved, wakeups })
    }

    /// The schema version of a database. Error if it is newer than this build knows. Changes nothing.
    pub(crate) fn schema_version(address: &str) -> Result<i64> {
        set_up::version(&Address::parse(address)?)
    }

    /// Host, port and name of the database, without user and password.
    pub fn display_name(&self) -> String {
        self.address.to_string()
    }

    pub fn pool_state(&self) -> PoolState {
        let status = self.pool.status();
        PoolState { size: status.max_size, open: status.size, idle: status.available }
    }

    /// Notifications about changed stores.
    pub fn wakeups(&self) -> &Wakeups {
        &self.wakeups
    }

    pub(crate) fn store(&self, id: Uuid) -> Database {
        let pool = if id.is_nil() { &self.reserved } else { &self.pool };
        Database { pool: pool.clone(), wakeups: self.wakeups.clone(), store: id, until: Cell::new(None) }
    }
}

/// One store of a database.
#[derive(Debug)]
pub(crate) struct Database {
    pool: Pool<PgConnectionManager>,
    wakeups: Wakeups,
    store: Uuid,
    /// The caller's deadline.
    until: Cell<Option<Instant>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Read,
    Write,
}

impl Database {
    /// Sets a deadline for beginning transactions and waiting on locks.
    pub(crate) fn wait_until(&self, until: Option<Instant>) {
        self.until.set(until);
    }

    pub(crate) fn begin_read(&self) -> Result<Transaction<'_>> {
        self.begin(Mode::Read)
    }

    pub(crate) fn begin_write(&self) -> Result<Transaction<'_>> {
        self.begin(Mode::Write)
    }

    /// Begins a transaction. If that fails on a dead connection or a conflict, nothing has been changed yet, so it is
    /// retried until the deadline.
    fn begin(&self, mode: Mode) -> Result<Transaction<'_>> {
        let deadline = Instant::now() + BEGIN_TIMEOUT;
        let deadline = self.until.get().map_or(deadline, |until| deadline.min(until));
        // If little time is left, a slow server looks like a silent one.
        let is_short = deadline < Instant::now() + SILENCE_THRESHOLD;
        let reported =
            |failure: Failure| if is_short && failure.kind == FailureKind::Silent { busy() } else { failure.error };
        loop {
            let session = block_on(self.connection(deadline)).map_err(reported)?;
            match Transaction::begin(self, session, mode, deadline) {
                Ok(tx) => return Ok(tx),
                Err(failure) => {
                    if failure.is_lost() {
                        self.close_idle();
                    }
                    let passing = matches!(failure.kind, FailureKind::Lost | FailureKind::Again);
                    if !passing || Instant::now() >= deadline {
                        return Err(reported(failure));
                    }
                }
            }
        }
    }

    async fn connection(&self, deadline: Instant) -> Result<Object<PgConnectionManager>, Failure> {
        match timeout_at(deadline.into(), self.pool.get()).await {
            Ok(Ok(session)) => Ok(session),
            Ok(Err(PoolError::Backend(failure))) => Err(failure),
            Ok(Err(e)) => Err(Failure::other(Error::internal(format!("{e:?}")))),
            Err(_) if self.pool.status().size < self.pool.status().max_size => Err(failure::silent()),
            Err(_) => Err(Failure::other(exhausted(self.pool.status().max_size))),
        }
    }

    /// Closes all idle connections, after one of them turned out to be dead.
    fn close_idle(&self) {
        self.pool.retain(|_, _| false);
    }
}

fn busy() -> Error {
    Error::new(Code::Busy, "the database is busy").hint("try again in a moment")
}

fn exhausted(size: usize) -> Error {
    Error::new(Code::Busy, format!("all {size} connections to the database are in use")).hint("try again in a moment")
}

/// A transaction on one store.
#[derive(Debug)]
pub(crate) struct Transaction<'c> {
    database: &'c Database,
    /// Taken when the transaction ends.
    session: RefCell<Option<Object<PgConnectionManager>>>,
    mode: Mode,
    /// The failure that ended the transaction early, if any.
    ended: Cell<Option<FailureKind>>,
    last_event: Cell<i64>,
    dirty: Cell<bool>,
    /// Statements to be sent with the next awaited one.
    pending: RefCell<Vec<Pending>>,
    /// How often pending statements were sent.
    flushes: Cell<u64>,
    /// The query whose rows are still being read.
    reading: RefCell<Option<Rc<RefCell<Cursor>>>>,
}

/// The rows of a query, read as they are needed.
#[derive(Default)]
struct Cursor {
    /// `None` once all rows are read.
    stream: Option<Pin<Box<RowStream>>>,
    rows: VecDeque<Row>,
}

impl std::fmt::Debug for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cursor")
    }
}

impl Cursor {
    /// Reads rows until `most` are buffered or none are left.
    async fn read(&mut self, session: &mut PgConnection, most: usize) -> Result<(), Failure> {
        let reading = async {
            while self.rows.len() < most
                && let Some(stream) = &mut self.stream
            {
                match stream.try_next().await? {
                    Some(row) => self.rows.push_back(row),
                    None => self.stream = None,
                }
            }
            Ok(())
        };
        session.wait(reading, answer_deadline()).await
    }
}

/// The state of a transaction at a savepoint.
struct SavepointState {
    flushes: u64,
    pending: usize,
    last_event: i64,
    dirty: bool,
}

/// Sets the store and the lock timeout, for this transaction only.
const SCOPE: &str = "SELECT set_config('pensa.store_id', ?1, true), set_config('lock_timeout', ?2, true)";
const HEAD: &str = "SELECT last_event FROM stores";
const HEAD_LOCKED: &str = "SELECT last_event FROM stores FOR NO KEY UPDATE";

/// The lock timeout of a statement that must end by `until`.
fn lock_timeout(until: Instant) -> String {
    let left = until.saturating_duration_since(Instant::now()).clamp(Duration::from_millis(50), LOCK_TIMEOUT);
    format!("{}ms", left.as_millis())
}

impl<'c> Transaction<'c> {
    fn begin(
        database: &'c Database,
        mut session: Object<PgConnectionManager>,
        mode: Mode,
        deadline: Instant,
    ) -> Result<Self, Failure> {
        let begun = session.run(async |session| {
            if let Some(last_event) = Self::open(database, session, mode, deadline).await? {
                return Ok(last_event);
            }
            if mode == Mode::Read {
                return Ok(0);
            }
            // The first write to this store: its row must be committed before it can be locked.
            session.batch("INSERT INTO stores DEFAULT VALUES ON CONFLICT DO NOTHING; COMMIT").await?;
            Ok(Self::open(database, session, mode, deadline).await?.unwrap_or_default())
        });
        match begun {
            Ok(last_event) => Ok(Self {
                database,
                session: RefCell::new(Some(session)),
                mode,
                ended: Cell::new(None),
                last_event: Cell::new(last_event),
                dirty: Cell::new(false),
                pending: RefCell::default(),
                flushes: Cell::new(0),
                reading: RefCell::default(),
            }),
            Err(failure) => {
                roll_back(session);
                Err(failure)
            }
        }
    }

    /// Begins a transaction on the store. Returns the number of the last event, or `None` if the store has no row yet.
    async fn open(
        database: &Database,
        session: &mut PgConnection,
        mode: Mode,
        deadline: Instant,
    ) -> Result<Option<i64>, Failure> {
        let (begin, head) = match mode {
            Mode::Read => ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", HEAD),
            Mode::Write => ("BEGIN", HEAD_LOCKED),
        };
        let begin = session.pending(begin, params![]).await?;
        let scope = params![database.store.to_string(), lock_timeout(deadline)];
        let mut first = vec![begin, session.pending(SCOPE, scope).await?];
        let deadline = deadline + SERVER_GRACE;
        if !session.is_prepared(head) {
            // Planning a statement takes locks too, so set the lock timeout before that.
            session.run(&first, deadline).await?;
            first.clear();
        }
        let rows = session.query_after(&first, head, params![], deadline).await?;
        Ok(rows.first().map(|row| row.try_get(0)).transpose()?)
    }

    /// The connection. Error after the transaction has ended.
    fn session(&self) -> Result<RefMut<'_, Object<PgConnectionManager>>> {
        let gone = |_| Error::internal("the transaction is over");
        RefMut::filter_map(self.session.borrow_mut(), Option::as_mut).map_err(gone)
    }

    /// Runs work on the connection, after reading the rows that are still on their way.
    fn on_session<T>(&self, work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, Failure>) -> Result<T> {
        let reading = self.reading.take();
        let done = self.session()?.run(async |session| {
            if let Some(cursor) = reading {
                let mut rest = cursor.take();
                rest.read(session, usize::MAX).await?;
                cursor.replace(rest);
            }
            work(session).await
        });
        done.map_err(|failure| self.failed(failure))
    }

    /// Takes the pending statements, to be sent now.
    fn take_pending(&self) -> Vec<Pending> {
        self.flushes.set(self.flushes.get() + 1);
        self.pending.take()
    }

    pub(crate) fn is_alive(&self) -> bool {
        !matches!(self.ended.get(), Some(FailureKind::Lost | FailureKind::Silent)) && !self.is_broken()
    }

    fn is_broken(&self) -> bool {
        self.session.borrow().as_ref().is_none_or(|session| session.is_broken())
    }

    /// Whether a statement failed because another transaction held a lock for too long.
    pub(crate) fn is_locked_out(&self) -> bool {
        self.ended.get() == Some(FailureKind::Locked)
    }

    /// Whether the transaction may be retried: it failed for a transient reason before its commit.
    pub(crate) fn is_retryable(&self) -> bool {
        match self.ended.get() {
            Some(kind) => matches!(kind, FailureKind::Lost | FailureKind::Again),
            // The connection may have been closed while no answer was awaited.
            None => self.is_broken(),
        }
    }

    pub(crate) fn execute(&self, sql: &str, params: &[Param<'_>]) -> Result<usize> {
        let mut statements = self.take_pending();
        let count = self.on_session(async |session| {
            statements.push(session.pending(sql, params).await?);
            session.run(&statements, answer_deadline()).await
        })?;
        if count > 0 {
            self.dirty.set(true);
        }
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// Queues a statement, to be sent with the next awaited one. If it fails, that one fails.
    pub(crate) fn send(&self, sql: &str, params: &[Param<'_>]) -> Result<()> {
        self.dirty.set(true);
        self.control(sql, params)
    }

    /// As [`send`](Self::send), for a statement that changes no rows.
    fn control(&self, sql: &str, params: &[Param<'_>]) -> Result<()> {
        let pending = self.on_session(async |session| session.pending(sql, params).await)?;
        self.push(pending)
    }

    fn push(&self, pending: Pending) -> Result<()> {
        self.pending.borrow_mut().push(pending);
        if self.pending.borrow().len() < MAX_PENDING { Ok(()) } else { self.flush() }
    }

    /// Inserts rows, queued as by [`send`](Self::send).
    pub(crate) fn add_rows(&self, insert: &str, width: usize, values: &[Param<'_>]) -> Result<()> {
        self.dirty.set(true);
        for rows in values.chunks(width * MAX_ROWS) {
            let pending = self.on_session(async |session| {
                let one = session.prepare(&values::insert_one(insert, width)).await?;
                if rows.len() == width {
                    return Ok(Pending { statement: one, values: values::owned(rows) });
                }
                let statement = session.prepare(&values::insert_many(insert, &one)).await?;
                Ok(Pending { statement, values: values::columns(width, rows) })
            })?;
            self.push(pending)?;
        }
        Ok(())
    }

    pub(crate) fn for_each(
        &self,
        sql: &str,
        params: &[Param<'_>],
        each: &mut dyn FnMut(&value::Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let statements = self.take_pending();
        let mut cursor = self.on_session(async |session| {
            let query = session.prepare(sql).await?;
            let stream = session.stream(&statements, &query, params, answer_deadline()).await?;
            let mut cursor = Cursor { stream: Some(Box::pin(stream)), rows: VecDeque::new() };
            cursor.read(session, CHUNK).await?;
            Ok(cursor)
        })?;
        let mut rows = std::mem::take(&mut cursor.rows);
        let cursor = Rc::new(RefCell::new(cursor));
        while !rows.is_empty() {
            if cursor.borrow().stream.is_some() {
                self.reading.replace(Some(Rc::clone(&cursor)));
            }
            // No `RefCell` is borrowed here, because `each` may run queries.
            rows.iter().try_for_each(|row| each(&value::Row::Postgres(row)))?;
            if self.reading.take().is_some() {
                let mut rest = cursor.take();
                self.on_session(async |session| rest.read(session, CHUNK).await)?;
                cursor.replace(rest);
            }
            rows = std::mem::take(&mut cursor.borrow_mut().rows);
        }
        Ok(())
    }

    pub(crate) fn next_event(&self) -> i64 {
        self.last_event.get() + 1
    }

    pub(crate) fn append_event(&self, event: &NewEvent<'_>, op: Option<i64>) -> Result<i64> {
        let number = self.next_event();
        self.send(
            "INSERT INTO events
                 (id, subject_kind, subject_id, issue_id, event_type, actor, token_id, session, detail, created_at,
                  op)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            params![
                number,
                event.subject_kind,
                event.subject_id,
                event.issue_id,
                event.event_type.as_str(),
                event.actor,
                event.token_id,
                event.session,
                json::to_line(&event.detail)?,
                event.at,
                op.unwrap_or(number),
            ],
        )?;
        self.last_event.set(number);
        Ok(number)
    }

    /// Runs work that must change nothing if it fails.
    pub(crate) fn savepoint<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let before = SavepointState {
            flushes: self.flushes.get(),
            pending: self.pending.borrow().len(),
            last_event: self.last_event.get(),
            dirty: self.dirty.get(),
        };
        self.control("SAVEPOINT op", params![])?;
        let outcome = panic::catch_unwind(AssertUnwindSafe(work));
        let outcome = match outcome {
            Ok(Ok(value)) => self.control("RELEASE op", params![]).and_then(|()| self.flush()).map(|()| value),
            Ok(Err(e)) => Err(e),
            Err(panic) => {
                self.undo(&before);
                panic::resume_unwind(panic)
            }
        };
        outcome.inspect_err(|_| self.undo(&before))
    }

    /// Rolls back to the savepoint. If that fails, the transaction is lost.
    fn undo(&self, before: &SavepointState) {
        if !self.is_alive() {
            return;
        }
        if self.flushes.get() == before.flushes {
            self.pending.borrow_mut().truncate(before.pending);
        } else {
            self.pending.take();
            let undone = self.on_session(async |session| session.batch("ROLLBACK TO op; RELEASE op").await);
            if undone.is_err() {
                return self.ended.set(Some(FailureKind::Lost));
            }
        }
        self.last_event.set(before.last_event);
        self.dirty.set(before.dirty);
        // A failure inside the savepoint is undone with it.
        if !matches!(self.ended.get(), Some(FailureKind::Again | FailureKind::Locked)) {
            self.ended.set(None);
        }
    }

    fn flush(&self) -> Result<()> {
        let statements = self.take_pending();
        if statements.is_empty() {
            return Ok(());
        }
        self.on_session(async |session| session.run(&statements, answer_deadline()).await).map(drop)
    }

    pub(crate) fn expect_many_rows(&self) -> Result<()> {
        self.execute("SET CONSTRAINTS ALL DEFERRED", params![]).map(drop)
    }

    pub(crate) fn integrity_problems(&self) -> Result<Vec<String>> {
        let mut problems = Vec::new();
        let sql = "SELECT c.relname::text FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
             WHERE c.relnamespace = 'pensa'::regnamespace AND NOT (x.indisvalid AND x.indisready) ORDER BY 1";
        self.for_each(sql, params![], &mut |row| {
            problems.push(format!("the index {} is not valid", row.text(0)?));
            Ok(())
        })?;
        Ok(problems)
    }

    /// Forces a real commit even if nothing changed, so that it waits for earlier commits to be durable.
    pub(crate) fn force_commit(&self) {
        self.dirty.set(true);
    }

    pub(crate) fn commit(self) -> Result<(), CommitError> {
        if self.mode == Mode::Read || !self.dirty.get() {
            return self.flush().map_err(CommitError::from);
        }
        let mut statements = self.take_pending();
        let number = self.last_event.get();
        let committed = self.on_session(async |session| {
            session.take_unreplicated();
            statements.push(session.pending("UPDATE stores SET last_event = ?1", params![number]).await?);
            statements.push(session.pending("COMMIT", params![]).await?);
            session.run(&statements, Instant::now() + COMMIT_TIMEOUT).await?;
            Ok(session.take_unreplicated())
        });
        match committed {
            Ok(unreplicated) => {
                self.session.take();
                self.database.wakeups.changed(self.database.store);
                unreplicated.map_or(Ok(()), |said| Err(unknown(&said).into()))
            }
            // Without an answer, the commit may have happened.
            Err(error) if matches!(self.ended.get(), Some(FailureKind::Lost | FailureKind::Silent)) => {
                Err(unknown(&error.message).into())
            }
            Err(error) => Err(CommitError {
                is_retryable: self.ended.get() == Some(FailureKind::Again),
                error,
                uncertain_event: None,
            }),
        }
    }

    fn failed(&self, failure: Failure) -> Error {
        if !matches!(self.ended.get(), Some(FailureKind::Lost | FailureKind::Silent)) {
            self.ended.set(Some(failure.kind));
        }
        if failure.kind == FailureKind::Silent {
            self.database.close_idle();
        }
        failure.error
    }
}

fn unknown(why: &str) -> Error {
    Error::new(Code::Unreachable, format!("it is not known whether the change was stored: {why}"))
        .hint("look before trying again, or try again with the same Idempotency-Key")
}

fn answer_deadline() -> Instant {
    Instant::now() + ANSWER_TIMEOUT
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        let has_unread_rows = self.reading.take().is_some();
        match self.session.take() {
            // The server would process the rollback only after all rows are read, so close the connection instead.
            Some(session) if has_unread_rows => drop(Object::take(session)),
            Some(session) => roll_back(session),
            None => {}
        }
    }
}

/// Rolls a transaction back without waiting, so that the connection is free for others.
fn roll_back(mut session: Object<PgConnectionManager>) {
    if !session.is_broken() {
        session.roll_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UP_TO: &str = "SELECT n FROM generate_series(1, CAST(?1 AS BIGINT)) AS n";

    fn numbers(tx: &Transaction<'_>, up_to: i64, mut between: impl FnMut(i64)) -> Vec<i64> {
        let mut all = Vec::new();
        let read = tx.for_each(UP_TO, params![up_to], &mut |row| {
            all.push(row.int(0)?);
            between(row.int(0)?);
            Ok(())
        });
        read.expect("an answer");
        all
    }

    #[test]
    fn queries_between_the_rows_of_a_long_answer_leave_it_whole() {
        let database = pensa_testkit::postgres::shared().database();
        let postgres = Postgres::open(&database.url, 1).expect("opens");
        let store = postgres.store(Uuid::new_v4());
        let tx = store.begin_read().expect("a transaction");
        let chunk = i64::try_from(CHUNK).expect("small");
        for at in [1, chunk, chunk + 1, 3 * chunk] {
            let between = |row| {
                if row == at {
                    assert_eq!(numbers(&tx, 2 * chunk, |_| {}), (1..=2 * chunk).collect::<Vec<_>>());
                    // A part of it is never asked for.
                    let stop = tx.for_each(UP_TO, params![1_000], &mut |_| Err(Error::internal("enough")));
                    assert!(stop.is_err());
                }
            };
            assert_eq!(numbers(&tx, 1_000, between), (1..=1_000).collect::<Vec<_>>(), "at {at}");
        }
    }

    #[test]
    fn failed_queued_statement_fails_the_next_one_and_is_undone_by_its_savepoint() {
        let database = pensa_testkit::postgres::shared().database();
        let postgres = Postgres::open(&database.url, 1).expect("opens");
        let store = postgres.store(Uuid::new_v4());
        let tx = store.begin_write().expect("a transaction");
        let failed = tx.savepoint(|| tx.send("SELECT 1 / CAST(?1 AS BIGINT)", params![0]));
        assert!(failed.expect_err("a division by zero").message.contains("22012"));
        assert_eq!(numbers(&tx, 3, |_| {}), [1, 2, 3], "the transaction goes on");
    }

    #[test]
    fn transaction_dropped_amid_its_rows_releases_the_store() {
        let database = pensa_testkit::postgres::shared().database();
        let postgres = Postgres::open(&database.url, 2).expect("opens");
        let store = postgres.store(Uuid::new_v4());
        let tx = store.begin_write().expect("a transaction");
        // More than the sockets hold, so that the server still has rows to send.
        tx.for_each(UP_TO, params![3_000_000], &mut |_| Err(Error::internal("enough"))).expect_err("stopped");
        drop(tx);
        store.begin_write().expect("the store's row is free");
    }

    #[test]
    fn statements_kept_prepared_are_bounded() {
        let database = pensa_testkit::postgres::shared().database();
        let postgres = Postgres::open(&database.url, 1).expect("opens");
        let store = postgres.store(Uuid::new_v4());
        let tx = store.begin_read().expect("a transaction");
        for at in 0..2 * connection::MAX_PREPARED {
            assert_eq!(tx.execute(&format!("SELECT {at}"), params![]).expect("runs"), 1);
        }
        let mut kept = 0;
        let count = "SELECT COUNT(*) FROM pg_prepared_statements";
        let read = tx.for_each(count, params![], &mut |row| {
            kept = row.int(0)?;
            Ok(())
        });
        read.expect("a count");
        assert!(kept <= connection::MAX_PREPARED as i64 + 2, "the server keeps {kept}");
    }
}

//! The PostgreSQL driver: many stores in one database, kept apart by row-level security.
//!
//! A transaction names its store before anything else; every table fills in and checks that name by itself, so the
//! shared SQL never mentions it. A write first locks the row of its store, which makes it the store's only writer and
//! gives it the next event number.

mod address;
mod failure;
mod session;
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
use super::{NewEvent, PoolState, Uncommitted, params};
use address::Address;
use failure::{Failure, Kind};
use session::{ANSWER, LOCK, Pending, Session, Sessions, block_on};
pub use wake::Wakeups;

/// Longest wait until a transaction has begun: for a connection, for the database, for the other writers of a store.
const BEGIN: Duration = Duration::from_millis(4000);
/// A server that answers nothing in this time is silent rather than slow.
const ENOUGH: Duration = Duration::from_secs(2);
/// How much later than its deadline the server may report that it gave up waiting for a lock.
const LATE: Duration = Duration::from_millis(500);
/// Longest wait for a commit: for the disk, and for a standby that must have it too.
const COMMIT: Duration = Duration::from_secs(10);
/// Connections kept for the list of projects and tokens.
const RESERVED: usize = 2;
/// Most statements that are sent together.
const MAX_PENDING: usize = 24;
/// Most rows that one statement adds.
const MAX_ROWS: usize = 512;
/// Rows read at a time.
const CHUNK: usize = 256;

/// A PostgreSQL database that holds many stores.
#[derive(Debug, Clone)]
pub struct Postgres {
    address: Address,
    pool: Pool<Sessions>,
    /// For the list of projects and tokens: who may come in must not depend on how many are inside.
    reserved: Pool<Sessions>,
    wakeups: Wakeups,
}

impl Postgres {
    /// Connects, and brings the schema up to date.
    pub fn open(address: &str, connections: usize) -> Result<Self> {
        let address = Address::parse(address)?;
        set_up::bring_up_to_date(&address)?;
        let pool = |size: usize| {
            Pool::builder(Sessions(address.clone())).max_size(size.max(1)).build().map_err(Error::internal)
        };
        let (pool, reserved) = (pool(connections)?, pool(RESERVED)?);
        let wakeups = Wakeups::new(address.clone());
        Ok(Self { address, pool, reserved, wakeups })
    }

    /// How many steps the schema of a database has; one that is too new is an error. Changes nothing.
    pub(crate) fn schema_version(address: &str) -> Result<i64> {
        set_up::version(&Address::parse(address)?)
    }

    /// Host, port and name of the database, without user and password.
    pub fn place(&self) -> String {
        self.address.to_string()
    }

    pub fn pool_state(&self) -> PoolState {
        let status = self.pool.status();
        PoolState { size: status.max_size, open: status.size, idle: status.available }
    }

    /// Tells which stores have changed, whoever changed them.
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
    pool: Pool<Sessions>,
    wakeups: Wakeups,
    store: Uuid,
    /// How long the caller is willing to wait.
    until: Cell<Option<Instant>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Read,
    Write,
}

impl Database {
    /// Bounds how long transactions from now on wait for their begin and for locks.
    pub(crate) fn wait_until(&self, until: Option<Instant>) {
        self.until.set(until);
    }

    pub(crate) fn begin_read(&self) -> Result<Transaction<'_>> {
        self.begin(Mode::Read)
    }

    pub(crate) fn begin_write(&self) -> Result<Transaction<'_>> {
        self.begin(Mode::Write)
    }

    /// Begins a transaction. Nothing has happened yet if that fails, so a connection that turns out to be dead, or a
    /// database that wants it done again, costs another try as long as there is time.
    fn begin(&self, mode: Mode) -> Result<Transaction<'_>> {
        let deadline = Instant::now() + BEGIN;
        let deadline = self.until.get().map_or(deadline, |until| deadline.min(until));
        // A caller that has waited elsewhere for most of its time cannot tell slow from silent.
        let is_short = deadline < Instant::now() + ENOUGH;
        let reported = |failure: Failure| if is_short && failure.kind == Kind::Silent { busy() } else { failure.error };
        loop {
            let session = block_on(self.connection(deadline)).map_err(reported)?;
            match Transaction::begin(self, session, mode, deadline) {
                Ok(tx) => return Ok(tx),
                Err(failure) => {
                    if failure.is_lost() {
                        self.close_idle();
                    }
                    let passing = matches!(failure.kind, Kind::Lost | Kind::Again);
                    if !passing || Instant::now() >= deadline {
                        return Err(reported(failure));
                    }
                }
            }
        }
    }

    async fn connection(&self, deadline: Instant) -> Result<Object<Sessions>, Failure> {
        match timeout_at(deadline.into(), self.pool.get()).await {
            Ok(Ok(session)) => Ok(session),
            Ok(Err(PoolError::Backend(failure))) => Err(failure),
            Ok(Err(e)) => Err(Failure::other(Error::internal(format!("{e:?}")))),
            Err(_) if self.pool.status().size < self.pool.status().max_size => Err(failure::silent()),
            Err(_) => Err(Failure::other(exhausted(self.pool.status().max_size))),
        }
    }

    /// Closes every connection that nobody uses: one of their kind turned out to be dead.
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
    session: RefCell<Option<Object<Sessions>>>,
    mode: Mode,
    /// What ended the transaction before its time, if anything did.
    ended: Cell<Option<Kind>>,
    last_event: Cell<i64>,
    dirty: Cell<bool>,
    /// Statements of which nobody needs to know how they went before the next one.
    pending: RefCell<Vec<Pending>>,
    /// How often what was pending has been sent.
    flushes: Cell<u64>,
    /// The query whose rows are still being read.
    reading: RefCell<Option<Rc<RefCell<Cursor>>>>,
}

/// The rows of a query, read as they are needed.
#[derive(Default)]
struct Cursor {
    /// None once all are read.
    stream: Option<Pin<Box<RowStream>>>,
    rows: VecDeque<Row>,
}

impl std::fmt::Debug for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cursor")
    }
}

impl Cursor {
    /// Reads rows until there are so many, or no more.
    async fn read(&mut self, session: &mut Session, most: usize) -> Result<(), Failure> {
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
        session.wait(reading, soon()).await
    }
}

/// Where a transaction was before it tried something.
struct Before {
    flushes: u64,
    pending: usize,
    last_event: i64,
    dirty: bool,
}

/// Names the store and bounds the waits for locks, for this transaction only.
const SCOPE: &str = "SELECT set_config('pensa.store_id', ?1, true), set_config('lock_timeout', ?2, true)";
const HEAD: &str = "SELECT last_event FROM stores";
const HEAD_LOCKED: &str = "SELECT last_event FROM stores FOR NO KEY UPDATE";

/// How long a statement may wait for a lock if all is to be over by then.
fn lock_timeout(until: Instant) -> String {
    let left = until.saturating_duration_since(Instant::now()).clamp(Duration::from_millis(50), LOCK);
    format!("{}ms", left.as_millis())
}

impl<'c> Transaction<'c> {
    fn begin(
        database: &'c Database,
        mut session: Object<Sessions>,
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
            // The first write to this store: its row cannot be locked before it is there for all.
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

    /// Opens a transaction on the store; the number of its last event, if it has a row.
    async fn open(
        database: &Database,
        session: &mut Session,
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
        let deadline = deadline + LATE;
        if !session.is_prepared(head) {
            // To plan a statement takes locks too, so the limit on waiting for them is set before that.
            session.run(&first, deadline).await?;
            first.clear();
        }
        let rows = session.query_after(&first, head, params![], deadline).await?;
        Ok(rows.first().map(|row| row.try_get(0)).transpose()?)
    }

    /// The session; gone only after the transaction has ended.
    fn session(&self) -> Result<RefMut<'_, Object<Sessions>>> {
        let gone = |_| Error::internal("the transaction is over");
        RefMut::filter_map(self.session.borrow_mut(), Option::as_mut).map_err(gone)
    }

    /// Runs work on the session. Nothing else can be asked while rows are on their way, so those are read first.
    fn on_session<T>(&self, work: impl AsyncFnOnce(&mut Session) -> Result<T, Failure>) -> Result<T> {
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

    /// What is to be sent now.
    fn take_pending(&self) -> Vec<Pending> {
        self.flushes.set(self.flushes.get() + 1);
        self.pending.take()
    }

    pub(crate) fn is_alive(&self) -> bool {
        !matches!(self.ended.get(), Some(Kind::Lost | Kind::Silent)) && !self.is_broken()
    }

    fn is_broken(&self) -> bool {
        self.session.borrow().as_ref().is_none_or(|session| session.is_broken())
    }

    /// Whether something failed because somebody else holds a lock for too long.
    pub(crate) fn is_locked_out(&self) -> bool {
        self.ended.get() == Some(Kind::Locked)
    }

    /// Whether all of it may be done again, in another transaction: it failed for a passing reason, before its commit.
    pub(crate) fn is_worth_another_try(&self) -> bool {
        match self.ended.get() {
            Some(kind) => matches!(kind, Kind::Lost | Kind::Again),
            // The connection may have been closed while nobody waited for an answer.
            None => self.is_broken(),
        }
    }

    pub(crate) fn execute(&self, sql: &str, params: &[Param<'_>]) -> Result<usize> {
        let mut statements = self.take_pending();
        let count = self.on_session(async |session| {
            statements.push(session.pending(sql, params).await?);
            session.run(&statements, soon()).await
        })?;
        if count > 0 {
            self.dirty.set(true);
        }
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// Sends a statement with the next one whose answer is needed; if it fails, that one fails.
    pub(crate) fn send(&self, sql: &str, params: &[Param<'_>]) -> Result<()> {
        self.dirty.set(true);
        self.control(sql, params)
    }

    /// The same of a statement that changes nothing by itself.
    fn control(&self, sql: &str, params: &[Param<'_>]) -> Result<()> {
        let pending = self.on_session(async |session| session.pending(sql, params).await)?;
        self.push(pending)
    }

    fn push(&self, pending: Pending) -> Result<()> {
        self.pending.borrow_mut().push(pending);
        if self.pending.borrow().len() < MAX_PENDING { Ok(()) } else { self.flush() }
    }

    /// Adds rows as `send` does.
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
            let stream = session.stream(&statements, &query, params, soon()).await?;
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
            // Nothing is borrowed here: `each` may ask the database something else.
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

    /// Runs an operation that must leave no trace if it fails.
    pub(crate) fn savepoint<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let before = Before {
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

    /// Goes back to the savepoint; a transaction that cannot is lost.
    fn undo(&self, before: &Before) {
        if !self.is_alive() {
            return;
        }
        if self.flushes.get() == before.flushes {
            self.pending.borrow_mut().truncate(before.pending);
        } else {
            self.pending.take();
            let undone = self.on_session(async |session| session.batch("ROLLBACK TO op; RELEASE op").await);
            if undone.is_err() {
                return self.ended.set(Some(Kind::Lost));
            }
        }
        self.last_event.set(before.last_event);
        self.dirty.set(before.dirty);
        // What failed inside is undone with it.
        if !matches!(self.ended.get(), Some(Kind::Again | Kind::Locked)) {
            self.ended.set(None);
        }
    }

    fn flush(&self) -> Result<()> {
        let statements = self.take_pending();
        if statements.is_empty() {
            return Ok(());
        }
        self.on_session(async |session| session.run(&statements, soon()).await).map(drop)
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

    /// Makes the commit a real one even if nothing changed, so that it waits for whatever was committed before it.
    pub(crate) fn insist(&self) {
        self.dirty.set(true);
    }

    pub(crate) fn commit(self) -> Result<(), Uncommitted> {
        if self.mode == Mode::Read || !self.dirty.get() {
            return self.flush().map_err(Uncommitted::from);
        }
        let mut statements = self.take_pending();
        let number = self.last_event.get();
        let committed = self.on_session(async |session| {
            session.take_unreplicated();
            statements.push(session.pending("UPDATE stores SET last_event = ?1", params![number]).await?);
            statements.push(session.pending("COMMIT", params![]).await?);
            session.run(&statements, Instant::now() + COMMIT).await?;
            Ok(session.take_unreplicated())
        });
        match committed {
            Ok(unreplicated) => {
                self.session.take();
                self.database.wakeups.changed(self.database.store);
                unreplicated.map_or(Ok(()), |said| Err(unknown(&said).into()))
            }
            // One whose answer never came may have happened.
            Err(error) if matches!(self.ended.get(), Some(Kind::Lost | Kind::Silent)) => {
                Err(unknown(&error.message).into())
            }
            Err(error) => Err(Uncommitted { again: self.ended.get() == Some(Kind::Again), error, doubt: None }),
        }
    }

    fn failed(&self, failure: Failure) -> Error {
        if !matches!(self.ended.get(), Some(Kind::Lost | Kind::Silent)) {
            self.ended.set(Some(failure.kind));
        }
        if failure.kind == Kind::Silent {
            self.database.close_idle();
        }
        failure.error
    }
}

fn unknown(why: &str) -> Error {
    Error::new(Code::Unreachable, format!("it is not known whether the change was stored: {why}"))
        .hint("look before trying again, or try again with the same Idempotency-Key")
}

fn soon() -> Instant {
    Instant::now() + ANSWER
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        let has_unread_rows = self.reading.take().is_some();
        match self.session.take() {
            // The server would not come to the rollback before somebody reads them: closing ends both.
            Some(session) if has_unread_rows => drop(Object::take(session)),
            Some(session) => roll_back(session),
            None => {}
        }
    }
}

/// Ends a transaction without waiting for it; then the session is free for others.
fn roll_back(mut session: Object<Sessions>) {
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
    fn statement_that_was_only_sent_fails_the_next_and_its_savepoint_undoes_it() {
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
        for at in 0..2 * session::MAX_PREPARED {
            assert_eq!(tx.execute(&format!("SELECT {at}"), params![]).expect("runs"), 1);
        }
        let mut kept = 0;
        let count = "SELECT COUNT(*) FROM pg_prepared_statements";
        let read = tx.for_each(count, params![], &mut |row| {
            kept = row.int(0)?;
            Ok(())
        });
        read.expect("a count");
        assert!(kept <= session::MAX_PREPARED as i64 + 2, "the server keeps {kept}");
    }
}

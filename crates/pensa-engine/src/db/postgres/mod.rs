//! The PostgreSQL driver: many stores in one database, kept apart by row-level security.
//!
//! A transaction names its store before anything else; every table fills in and checks that name by itself, so the
//! shared SQL never mentions it. A write first locks the row of its store, which makes it the store's only writer and
//! gives it the next event number.

mod address;
mod binding;
mod connection;
mod dialogue;
mod failure;
mod greeting;
mod pool;
mod queue;
mod row;
mod set_up;
mod wake;
mod wire;

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pensa_core::{Code, Error, Result, json};
use uuid::Uuid;

use super::value::{self, Param, Question};
use super::{NewEvent, Uncommitted, params};
use connection::{ANSWER, LOCK, Place};
use dialogue::Rows;
use failure::{Failure, Kind};
pub use pool::PoolState;
pub(crate) use pool::Turn;
use pool::{Loan, Pool};
pub(crate) use row::Row;
pub use wake::Wakeups;

/// Longest wait until a transaction has begun: for a connection, for the database, for the other writers of a store.
const BEGIN: Duration = Duration::from_millis(4000);

/// Connections kept for the list of projects and tokens.
const RESERVED: usize = 2;
/// Longest wait for a commit: for the disk, and for a standby that must have it too.
const COMMIT: Duration = Duration::from_secs(10);

/// A PostgreSQL database that holds many stores.
#[derive(Debug, Clone)]
pub struct Postgres {
    pool: Arc<Pool>,
    /// For the list of projects and tokens: who may come in must not depend on how many are inside.
    reserved: Arc<Pool>,
    wakeups: Wakeups,
}

impl Postgres {
    /// Connects, and brings the schema up to date.
    pub fn open(address: &str, connections: usize) -> Result<Self> {
        let address = address::Address::parse(address)?;
        set_up::bring_up_to_date(&address)?;
        let reserved = Arc::new(Pool::new(address.clone(), RESERVED));
        let pool = Arc::new(Pool::new(address, connections));
        let wakeups = Wakeups::new(Arc::clone(&pool));
        Ok(Self { pool, reserved, wakeups })
    }

    /// How many steps the schema of a database has; one that is too new is an error. Changes nothing.
    pub(crate) fn schema_version(address: &str) -> Result<i64> {
        set_up::version(&address::Address::parse(address)?)
    }

    /// Host, port and name of the database, without user and password.
    pub fn place(&self) -> String {
        self.pool.address.to_string()
    }

    pub fn pool_state(&self) -> PoolState {
        self.pool.state()
    }

    /// Tells which stores have changed, whoever changed them.
    pub fn wakeups(&self) -> &Wakeups {
        &self.wakeups
    }

    pub(crate) fn store(&self, id: Uuid) -> Database {
        let pool = if id.is_nil() { &self.reserved } else { &self.pool };
        Database { pool: Arc::clone(pool), wakeups: self.wakeups.clone(), store: id, until: Cell::new(None) }
    }
}

/// One store of a database.
#[derive(Debug)]
pub(crate) struct Database {
    pool: Arc<Pool>,
    wakeups: Wakeups,
    store: Uuid,
    /// How long whoever asks is willing to wait.
    until: Cell<Option<Instant>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Read,
    Write,
}

impl Database {
    pub(crate) fn away(&self) -> Option<Error> {
        self.pool.away()
    }

    /// Has transactions from now on, and the locks they need, waited for until then at most.
    pub(crate) fn wait_until(&self, until: Option<Instant>) {
        self.until.set(until);
    }

    /// Has a group of writes begin.
    pub(crate) fn turn(&self) -> Turn {
        self.pool.turn()
    }

    pub(crate) fn is_crowded(&self) -> bool {
        self.pool.is_crowded()
    }

    pub(crate) fn begin_read(&self, sure: &[Question]) -> Result<Transaction<'_>> {
        self.begin(Mode::Read, sure)
    }

    pub(crate) fn begin_write(&self, sure: &[Question]) -> Result<Transaction<'_>> {
        self.begin(Mode::Write, sure)
    }

    /// Begins a transaction. Nothing has happened yet if that fails, so a connection that turns out to be dead, or a
    /// database that wants it done again, costs another try as long as there is time.
    fn begin(&self, mode: Mode, sure: &[Question]) -> Result<Transaction<'_>> {
        let deadline = Instant::now() + BEGIN;
        let deadline = self.until.get().map_or(deadline, |until| deadline.min(until));
        loop {
            let loan = self.pool.take(deadline).map_err(|failure| failure.error)?;
            match Transaction::begin(self, loan, mode, sure, deadline) {
                Ok(tx) => return Ok(tx),
                Err(failure) => {
                    match failure.kind {
                        Kind::Silent => self.pool.went_silent(&failure.error),
                        Kind::Lost => self.pool.forget_idle(),
                        _ => {}
                    }
                    let passing = matches!(failure.kind, Kind::Lost | Kind::Again);
                    if !passing || Instant::now() >= deadline {
                        return Err(failure.error);
                    }
                }
            }
        }
    }
}

/// A transaction on one store.
#[derive(Debug)]
pub(crate) struct Transaction<'c> {
    database: &'c Database,
    loan: RefCell<Loan>,
    mode: Mode,
    open: Cell<bool>,
    /// What ended the transaction before its time, if anything did.
    ended: Cell<Option<Kind>>,
    last_event: Cell<i64>,
    changes: i64,
    dirty: Cell<bool>,
    /// How many statements that may change something were given.
    given: Cell<u64>,
    /// Whether each operation has a savepoint to go back to.
    careful: Cell<bool>,
    /// How long its statements wait for locks.
    lock_wait: Cell<Duration>,
    /// What was sure to be asked, and the answers.
    sure: RefCell<Vec<(Question, Vec<Row>)>>,
}

/// Where a transaction was before it tried something.
struct Before {
    place: Place,
    last_event: i64,
    dirty: bool,
}

/// The columns of a line of the log, its number among them.
const EVENT_COLUMNS: usize = 10;

/// How much later than it should the server may say that it gave up a lock.
const LATE: Duration = Duration::from_millis(500);

/// Says how long the statements of a transaction wait for locks.
const LOCK_WAIT: &str = "SELECT set_config('lock_timeout', ?1, true)";

/// How long a statement may wait for a lock if all is to be over by then, in steps: a wait that is nearly the same is not
/// worth telling the server.
fn left_for_locks(until: Instant) -> Duration {
    const STEP: u64 = 250;
    let left = until.saturating_duration_since(Instant::now()).min(LOCK);
    let steps = u64::try_from(left.as_millis()).unwrap_or(u64::MAX) / STEP;
    Duration::from_millis((steps * STEP).max(STEP / 5))
}

/// A time in the words of a setting.
fn millis(time: Duration) -> String {
    format!("{}ms", time.as_millis())
}

const HEAD: &str = "SELECT last_event, changes FROM stores";
const HEAD_LOCKED: &str = "SELECT last_event, changes FROM stores FOR NO KEY UPDATE";

impl<'c> Transaction<'c> {
    /// Begins, and has the answers to what is `sure` to be asked from the same journey.
    fn begin(
        database: &'c Database,
        mut loan: Loan,
        mode: Mode,
        sure: &[Question],
        deadline: Instant,
    ) -> Result<Self, Failure> {
        let (begin, head) = match mode {
            Mode::Read => ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", HEAD),
            Mode::Write => ("BEGIN", HEAD_LOCKED),
        };
        let store = database.store.to_string();
        let sure_texts = sure.iter().map(|question| (&*question.sql, &*question.params));
        let questions: Vec<(&str, &[Param<'_>])> = std::iter::once((head, &[][..])).chain(sure_texts).collect();
        let (mut found, mut answers, mut lock_wait) = (None, Vec::new(), LOCK);
        for _ in 0..2 {
            loan.forget_rest();
            loan.queue(begin, params![], deadline)?;
            loan.queue("SELECT set_config('pensa.store_id', ?1, true)", params![&store], deadline)?;
            lock_wait = left_for_locks(deadline);
            let is_tight = lock_wait < LOCK;
            // A server that gives up a lock in time is not yet silent if its word comes a little later.
            let answer_by = if is_tight { deadline + LATE } else { deadline };
            // To plan a statement takes locks, too: the server is told before that.
            let bounded = if is_tight { loan.execute(LOCK_WAIT, params![millis(lock_wait)], answer_by) } else { Ok(0) };
            let mut told = match bounded.and_then(|_| loan.query_all(&questions, answer_by)) {
                Ok(told) => told.into_iter(),
                Err(failure) => {
                    loan.leave("ROLLBACK");
                    return Err(failure);
                }
            };
            found = told
                .next()
                .unwrap_or_default()
                .first()
                .map(|row| Ok::<_, Failure>((row.int(0)?, row.int(1)?)))
                .transpose()?;
            answers = told.collect();
            if found.is_some() || mode == Mode::Read {
                break;
            }
            // The first write to this store: its row cannot be locked before it is there for all.
            loan.queue("INSERT INTO stores DEFAULT VALUES ON CONFLICT DO NOTHING", params![], deadline)?;
            loan.execute("COMMIT", params![], deadline)?;
        }
        let (last_event, changes) = found.unwrap_or_default();
        let tx = Self {
            database,
            loan: RefCell::new(loan),
            mode,
            open: Cell::new(true),
            ended: Cell::new(None),
            last_event: Cell::new(last_event),
            changes,
            dirty: Cell::new(false),
            given: Cell::new(0),
            careful: Cell::new(false),
            lock_wait: Cell::new(lock_wait),
            sure: RefCell::new(sure.iter().cloned().zip(answers).collect()),
        };
        tx.bound_locks(deadline)?;
        Ok(tx)
    }

    /// Has statements from now on wait for locks until then at most.
    pub(crate) fn wait_until(&self, until: Instant) -> Result<()> {
        self.bound_locks(until).map_err(|failure| self.failed(failure))
    }

    fn bound_locks(&self, until: Instant) -> Result<(), Failure> {
        let wait = left_for_locks(until);
        if wait == self.lock_wait.get() {
            return Ok(());
        }
        self.loan.borrow_mut().execute(LOCK_WAIT, params![millis(wait)], soon())?;
        self.lock_wait.set(wait);
        Ok(())
    }

    /// Whether something failed because somebody else holds a lock for too long.
    pub(crate) fn is_locked_out(&self) -> bool {
        self.ended.get() == Some(Kind::Locked)
    }

    /// The answer to a question that came with the beginning, as long as nothing can have changed it.
    fn known(&self, sql: &str, params: &[Param<'_>]) -> Option<Vec<Row>> {
        let mut sure = self.sure.borrow_mut();
        if sure.is_empty() || self.given.get() > 0 {
            return None;
        }
        let at = sure.iter().position(|(question, _)| question.is(sql, params))?;
        Some(sure.swap_remove(at).1)
    }

    /// How often the store had been changed when the transaction began.
    pub(crate) fn changes(&self) -> i64 {
        self.changes
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.open.get()
            && !matches!(self.ended.get(), Some(Kind::Lost | Kind::Silent))
            && !self.loan.borrow().is_broken()
    }

    /// Whether something has failed, and with it all that would follow.
    pub(crate) fn is_spoilt(&self) -> bool {
        self.ended.get().is_some()
    }

    /// Whether all of it may be done again, in another transaction: it failed for a passing reason, before its commit.
    pub(crate) fn is_worth_another_try(&self) -> bool {
        match self.ended.get() {
            Some(kind) => matches!(kind, Kind::Lost | Kind::Again | Kind::Undo),
            // The connection may have been closed while nobody waited for an answer.
            None => self.open.get() && self.loan.borrow().is_broken(),
        }
    }

    /// Gives each operation a savepoint from now on.
    pub(crate) fn be_careful(&self) {
        self.careful.set(true);
    }

    pub(crate) fn execute(&self, sql: &str, params: &[Param<'_>]) -> Result<usize> {
        self.given.set(self.given.get() + 1);
        let count = self.loan.borrow_mut().execute(sql, params, soon()).map_err(|e| self.failed(e))?;
        if count > 0 {
            self.dirty.set(true);
        }
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    pub(crate) fn send(&self, sql: &str, params: &[Param<'_>]) -> Result<()> {
        self.given.set(self.given.get() + 1);
        self.dirty.set(true);
        self.loan.borrow_mut().queue(sql, params, soon()).map_err(|e| self.failed(e))
    }

    /// Adds rows as `send` does; those of several operations travel in one statement.
    pub(crate) fn add_rows(&self, insert: &str, width: usize, values: &[Param<'_>]) -> Result<()> {
        self.given.set(self.given.get() + 1);
        self.dirty.set(true);
        self.loan.borrow_mut().queue_rows(insert, width, values, soon()).map_err(|e| self.failed(e))
    }

    /// Whether nothing but added rows waits to be sent.
    pub(crate) fn is_gathering(&self) -> bool {
        self.loan.borrow().has_only_rows_queued()
    }

    /// Tells apart the rows that were added and not yet sent from those that were.
    pub(crate) fn sendings(&self) -> u64 {
        self.loan.borrow().sendings()
    }

    pub(crate) fn for_each(
        &self,
        sql: &str,
        params: &[Param<'_>],
        each: &mut dyn FnMut(&value::Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let answer = match self.known(sql, params) {
            Some(rows) => Ok((rows, None)),
            None => self.loan.borrow_mut().query(sql, params, soon()),
        };
        self.hand_out(answer, each)
    }

    /// Asks without the rows that were added and not yet sent, if only such wait to be; otherwise sends it all first.
    pub(crate) fn for_each_beside(
        &self,
        sql: &str,
        params: &[Param<'_>],
        each: &mut dyn FnMut(&value::Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let answer = if let Some(rows) = self.known(sql, params) {
            Ok((rows, None))
        } else {
            let mut loan = self.loan.borrow_mut();
            if loan.has_only_rows_queued() {
                loan.query_beside(sql, params, soon())
            } else {
                loan.query(sql, params, soon())
            }
        };
        self.hand_out(answer, each)
    }

    fn hand_out(
        &self,
        answer: Result<(Vec<Row>, Option<Rows>), Failure>,
        each: &mut dyn FnMut(&value::Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let (mut rows, mut rest) = answer.map_err(|e| self.failed(e))?;
        loop {
            // Nothing is borrowed here: `each` may ask the database something else.
            for row in &rows {
                each(&value::Row::Postgres(row))?;
            }
            let Some(stream) = rest else { return Ok(()) };
            (rows, rest) = self.loan.borrow_mut().more(stream, soon()).map_err(|e| self.failed(e))?;
        }
    }

    pub(crate) fn next_event(&self) -> i64 {
        self.last_event.get() + 1
    }

    pub(crate) fn append_event(&self, event: &NewEvent<'_>, op: Option<i64>) -> Result<i64> {
        let number = self.next_event();
        self.add_rows(
            "INSERT INTO events
                 (id, subject_kind, subject_id, issue_id, event_type, actor, token_id, detail, created_at, op)",
            EVENT_COLUMNS,
            params![
                number,
                event.subject_kind,
                event.subject_id,
                event.issue_id,
                event.event_type.as_str(),
                event.actor,
                event.token_id,
                json::to_line(&event.detail)?,
                event.at,
                op.unwrap_or(number),
            ],
        )?;
        self.last_event.set(number);
        Ok(number)
    }

    /// Runs an operation that must leave no trace if it fails. Nearly all that are refused are so before they change
    /// anything, and a savepoint for each would cost more than it; so there is none unless the transaction is careful.
    /// One that fails too late then spoils the transaction, and all of it is done again carefully.
    pub(crate) fn savepoint<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.careful.get() {
            return self.savepoint_carefully(work);
        }
        let given = self.given.get();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        let left_a_trace = self.given.get() != given || self.ended.get().is_some();
        if !matches!(outcome, Ok(Ok(_))) && left_a_trace && self.is_alive() && !self.is_locked_out() {
            self.ended.set(Some(Kind::Undo));
        }
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn savepoint_carefully<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let before =
            Before { place: self.loan.borrow().place(), last_event: self.last_event.get(), dirty: self.dirty.get() };
        self.queue("SAVEPOINT op")?;
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        let outcome = match outcome {
            Ok(Ok(value)) => self.queue("RELEASE op").and_then(|()| self.flush()).map(|()| value),
            Ok(Err(e)) => Err(e),
            Err(panic) => {
                self.undo(&before);
                std::panic::resume_unwind(panic)
            }
        };
        if outcome.is_err() {
            self.undo(&before);
        }
        outcome
    }

    /// Goes back to the savepoint; a transaction that cannot is lost.
    fn undo(&self, before: &Before) {
        if !self.is_alive() {
            return;
        }
        let undo = || {
            let mut loan = self.loan.borrow_mut();
            if loan.forget_since(before.place) {
                return Ok(0);
            }
            loan.queue("ROLLBACK TO op", params![], soon())?;
            loan.execute("RELEASE op", params![], soon())
        };
        match undo() {
            Ok(_) => {
                self.last_event.set(before.last_event);
                self.dirty.set(before.dirty);
                // What failed inside is undone with it.
                if !matches!(self.ended.get(), Some(Kind::Again | Kind::Locked)) {
                    self.ended.set(None);
                }
            }
            Err(_) => self.ended.set(Some(Kind::Lost)),
        }
    }

    fn queue(&self, sql: &str) -> Result<()> {
        self.loan.borrow_mut().queue(sql, params![], soon()).map_err(|e| self.failed(e))
    }

    fn flush(&self) -> Result<()> {
        self.loan.borrow_mut().flush(soon()).map_err(|e| self.failed(e))
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
        self.loan.borrow_mut().take_unsure();
        let committed = || {
            let mut loan = self.loan.borrow_mut();
            let number = self.last_event.get();
            let head = "UPDATE stores SET last_event = ?1, changes = changes + 1";
            loan.queue_with_rows(head, params![number], soon()).map_err(|failure| failure.error)?;
            let committed = loan.execute("COMMIT", params![], Instant::now() + COMMIT);
            committed.map_err(|failure| self.uncommitted(failure))?;
            match loan.take_unsure() {
                None => Ok(()),
                Some(said) => Err(unknown(&said).into()),
            }
        };
        let outcome = committed();
        self.open.set(outcome.is_err());
        if outcome.is_ok() {
            self.database.wakeups.changed(self.database.store);
        }
        outcome
    }

    /// What it means that a commit failed. One whose answer never came may have happened.
    fn uncommitted(&self, failure: Failure) -> Uncommitted {
        match failure.kind {
            Kind::Lost | Kind::Silent => unknown(&failure.error.message).into(),
            _ => Uncommitted { again: !self.careful.get(), error: failure.error, doubt: None },
        }
    }

    fn failed(&self, failure: Failure) -> Error {
        if !matches!(self.ended.get(), Some(Kind::Lost | Kind::Silent)) {
            self.ended.set(Some(failure.kind));
        }
        if failure.kind == Kind::Silent {
            self.database.pool.went_silent(&failure.error);
        }
        failure.error
    }
}

/// Asks the same of so many placeholders: the rows of `one`, a question about `wanted.column1`, for each of them.
///
/// Each is looked up by itself, which a join or an `IN` does not promise: of many values, and a store whose size it does
/// not know, the planner thinks that to read everything and leave out the rest costs less.
pub(crate) fn of_each(of_type: &str, count: usize, one: &str) -> String {
    let rest: String = (2..=count).map(|at| format!(", (?{at})")).collect();
    // OFFSET keeps it from being made a join.
    format!(
        "SELECT found.* FROM (VALUES (CAST(?1 AS {of_type})){rest}) AS wanted
         CROSS JOIN LATERAL ({one} OFFSET 0) AS found"
    )
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
        if self.open.get() {
            let loan = self.loan.get_mut();
            loan.forget_rest();
            loan.leave("ROLLBACK");
        }
    }
}

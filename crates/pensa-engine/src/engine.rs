//! An open store, and how operations run on it in read or write transactions.

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Instant;

use pensa_core::issue::IssueRules;
use pensa_core::time::Date;
use pensa_core::{Access, Code, Error, Result, Timestamp, json};
use pensa_redact::Allowlist;
use uuid::Uuid;

use crate::clock::{Clock, SystemClock};
use crate::context::{Caller, CheckUp, Context, Ids, QueryEmbedder, RandomIds, SYSTEM, StoreRole};
use crate::db::{CommitError, Db, Postgres, Tx};
use crate::execute::{Execute, ExecuteAlone};
use crate::group::WriteRequest;
use crate::store::{StoreDir, StoreLocation, replaced};
use crate::tables::answers::{self, IdempotentRequest};
use crate::tables::issues;
use crate::{lease, pages, recover, redaction, replay, sync, taskstore};

/// How often a transaction is attempted that fails before its commit because the connection was lost or another
/// transaction interfered.
const TRIES: usize = 3;

/// An open store. On SQLite it holds one connection; on PostgreSQL it takes a pooled connection for each transaction.
pub struct Engine {
    location: StoreLocation,
    source: StoreSource,
    db: Db,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    role: StoreRole,
    /// Number of transactions committed through this handle.
    writes: Cell<u64>,
    notices: RefCell<Vec<String>>,
    notice_sink: Option<NoticeSink>,
    /// Whether the warning about a wrong clock was given.
    has_warned: Cell<bool>,
    /// Texts that look like secrets but are allowed.
    allow: Option<Arc<Allowlist>>,
    rules: Arc<IssueRules>,
    check_up: Option<CheckUp>,
    embedder: Option<Arc<dyn QueryEmbedder>>,
}

/// Receives notices about automatic actions, such as recovery.
pub type NoticeSink = Arc<dyn Fn(&str) + Send + Sync>;

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Engine({})", self.location.display_name())
    }
}

/// What a new handle on the same store is opened from.
#[derive(Debug, Clone)]
enum StoreSource {
    Dir(StoreDir),
    Database(Postgres, Uuid),
}

/// A version stamp of a store, as seen by one handle. While it stays equal, nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionStamp {
    seen: i64,
    writes: u64,
}

impl Drop for Engine {
    fn drop(&mut self) {
        if self.writes.get() > 0 {
            self.db.checkpoint_if_large();
        }
    }
}

impl Engine {
    /// Opens a store. Migrates its database, recovers it if needed, and creates a missing one from the JSONL files.
    pub fn open(store: StoreDir) -> Result<Self> {
        Self::open_with(store, Arc::new(SystemClock), Arc::new(RandomIds))
    }

    /// Opens a store with the given clock and source of ids.
    pub fn open_with(store: StoreDir, clock: Arc<dyn Clock>, ids: Arc<dyn Ids>) -> Result<Self> {
        store.refuse_tracked_database()?;
        if !store.database().exists() {
            store.refuse_empty()?;
            store.complete()?;
        }
        let store = store.located()?;
        let (fresh, notes) = (Cell::new(false), RefCell::new(Vec::new()));
        let location = StoreLocation::Dir(store.clone());
        let seed = |tx: &Tx<'_>| {
            fresh.set(true);
            let cx = Context::new(&Caller::system(), &*clock, &*ids, &location, StoreRole::Standalone)?;
            if store.has_jsonl() {
                notes.replace(sync::import_fresh(&cx, tx)?);
            }
            taskstore::load_files(&cx, tx, &store)
        };
        let (db, mut notices) = recover::open(&store, clock.now()?, &seed)?;
        notices.extend(notes.take());
        let writes = Cell::new(u64::from(fresh.get()));
        let (source, notices) = (StoreSource::Dir(store), RefCell::new(notices));
        Ok(Self {
            location,
            source,
            db,
            clock,
            ids,
            role: StoreRole::Standalone,
            writes,
            notices,
            notice_sink: None,
            has_warned: Cell::new(false),
            allow: None,
            rules: Arc::default(),
            check_up: None,
            embedder: None,
        })
    }

    /// Sends notices about automatic actions, such as recovery, to `sink` instead of collecting them.
    #[must_use]
    pub fn with_notices(mut self, sink: NoticeSink) -> Self {
        self.notices.take().iter().for_each(|notice| sink(notice));
        self.notice_sink = Some(sink);
        self
    }

    /// Stores the texts that `allow` covers although they look like secrets.
    #[must_use]
    pub fn with_allowed_secrets(mut self, allow: Option<Arc<Allowlist>>) -> Self {
        self.allow = allow;
        self
    }

    /// Applies what the project's settings say about issues.
    #[must_use]
    pub fn with_issue_rules(mut self, rules: Arc<IssueRules>) -> Self {
        self.rules = rules;
        self
    }

    /// Adds checks to `doctor` of things unknown to the engine, such as git hooks.
    #[must_use]
    pub fn with_check_up(mut self, check_up: CheckUp) -> Self {
        self.check_up = Some(check_up);
        self
    }

    /// Lets recall find by meaning, with a model of this machine.
    #[must_use]
    pub fn with_embedder(mut self, embedder: Option<Arc<dyn QueryEmbedder>>) -> Self {
        self.embedder = embedder;
        self
    }

    /// Returns and clears the notices collected since the last call. Empty if a sink receives them.
    pub fn notices(&self) -> Vec<String> {
        self.notices.take()
    }

    /// Opens the store with this id in a shared database.
    pub fn in_database(database: &Postgres, project: &str, id: Uuid) -> Self {
        Self::in_database_with(database, project, id, Arc::new(SystemClock), Arc::new(RandomIds))
    }

    /// As [`in_database`](Self::in_database), with the given clock and source of ids.
    pub fn in_database_with(
        database: &Postgres,
        project: &str,
        id: Uuid,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
    ) -> Self {
        let location = StoreLocation::Database { project: project.to_owned(), id, files: None };
        let (db, source) = (Db::Postgres(database.store(id)), StoreSource::Database(database.clone(), id));
        let (writes, notices) = (Cell::new(0), RefCell::default());
        Self {
            location,
            source,
            db,
            clock,
            ids,
            role: StoreRole::Project,
            writes,
            notices,
            notice_sink: None,
            has_warned: Cell::new(false),
            allow: None,
            rules: Arc::default(),
            check_up: None,
            embedder: None,
        }
    }

    #[must_use]
    fn with_location(mut self, location: StoreLocation) -> Self {
        self.location = location;
        self
    }

    /// Sets the directory for the store's exports.
    #[must_use]
    pub fn with_files(mut self, dir: StoreDir) -> Self {
        if let StoreLocation::Database { files, .. } = &mut self.location {
            *files = Some(dir);
        }
        self
    }

    /// Sets the store's role.
    #[must_use]
    pub(crate) fn with_role(mut self, role: StoreRole) -> Self {
        self.role = role;
        self
    }

    pub fn location(&self) -> &StoreLocation {
        &self.location
    }

    /// The store's current version stamp. Error on PostgreSQL. Much cheaper than any query.
    pub fn version_stamp(&self) -> Result<VersionStamp> {
        let seen = self.noting_damage(self.db.data_version())?;
        Ok(VersionStamp { seen, writes: self.writes.get() })
    }

    /// How long answers stay valid if nothing is written: until the next lease expires, or an issue
    /// is no longer deferred.
    pub fn valid_until(&self) -> Result<Option<Timestamp>> {
        let today = Date::of(self.clock.now()?);
        let next = |tx: &Tx<'_>| {
            let deferred = issues::next_deferred(tx, today)?;
            Ok(lease::next_expiry(tx)?.into_iter().chain(deferred.map(Date::start)).min())
        };
        self.noting_damage(self.db.begin_read().and_then(|tx| next(&tx)))
    }

    /// If `outcome` reports damage, marks the store for a thorough check at the next open.
    fn noting_damage<T>(&self, outcome: Result<T>) -> Result<T> {
        if let Err(error) = &outcome {
            self.requires_new_handle(error);
        }
        outcome
    }

    /// Whether the database file was deleted or replaced while this handle was open. Then open a [new
    /// handle](Self::new_handle).
    pub fn is_orphaned(&self) -> bool {
        self.db.is_orphaned()
    }

    pub fn now(&self) -> Result<Timestamp> {
        self.clock.now()
    }

    /// Opens another handle on the same store, for another thread.
    pub fn new_handle(&self) -> Result<Self> {
        let (clock, ids) = (self.clock.clone(), self.ids.clone());
        match &self.source {
            StoreSource::Dir(store) => {
                let another = Self::open_with(store.clone(), clock, ids)?.with_role(self.role);
                let another = another.with_issue_rules(self.rules.clone());
                let mut another = another.with_allowed_secrets(self.allow.clone());
                another.check_up = self.check_up;
                another.embedder.clone_from(&self.embedder);
                Ok(if let Some(sink) = &self.notice_sink { another.with_notices(sink.clone()) } else { another })
            }
            StoreSource::Database(database, id) => {
                let another = Self::in_database_with(database, &self.location.project(), *id, clock, ids);
                Ok(another.with_role(self.role).with_location(self.location.clone()))
            }
        }
    }

    /// Runs one operation in a transaction of its own, as a local `actor` with all rights.
    pub fn call<O: Execute>(&self, actor: &str, op: &O) -> Result<O::Output> {
        self.call_as(&Caller::local(actor), op)
    }

    /// Runs one operation in a transaction of its own, on behalf of `caller`.
    pub fn call_as<O: Execute>(&self, caller: &Caller, op: &O) -> Result<O::Output> {
        if let Some(alone) = O::ALONE {
            return (alone.call)(self, caller, op);
        }
        self.run(O::ACCESS, caller, |cx, tx| redaction::execute(cx, tx, op))
    }

    /// Runs an operation once per idempotency key: the same request with the same key returns the first answer.
    pub fn call_once<O: Execute>(&self, caller: &Caller, key: &str, op: &O) -> Result<O::Output> {
        let input = serde_json::to_value(op).map_err(Error::internal)?.to_string();
        let parts = [O::NAME, &caller.actor, &input].map(str::as_bytes);
        let once = IdempotentRequest::new(None, key, &parts, O::RETURNS_SECRET)?;
        let answer = match O::ALONE {
            Some(alone) => (alone.call_once)(self, caller, op, Some(&once)),
            None => self.run(O::ACCESS, caller, |cx, tx| {
                answers::execute_once(cx, tx, Some(&once), &mut || json::to_line(&redaction::execute(cx, tx, op)?))
            }),
        };
        serde_json::from_str(&answer?).map_err(Error::internal)
    }

    pub(crate) fn call_alone<O: ExecuteAlone>(&self, caller: &Caller, op: &O) -> Result<O::Output> {
        if let Some(done) = self.run(Access::Read, caller, |cx, tx| op.is_done(cx, tx))? {
            return Ok(done);
        }
        self.run_alone(caller, op, |cx, tx, before| Ok(O::answer(before, op.execute(cx, tx)?)))
    }

    pub(crate) fn call_alone_once<O: ExecuteAlone>(
        &self,
        caller: &Caller,
        op: &O,
        once: Option<&IdempotentRequest>,
    ) -> Result<String> {
        self.run_alone(caller, op, |cx, tx, before| {
            answers::execute_once(cx, tx, once, &mut || json::to_line(&O::answer(before, op.execute(cx, tx)?)))
        })
    }

    /// Runs an operation that needs exclusive transactions: first what must be committed before it, then `work`, then
    /// what follows its commit.
    fn run_alone<O: ExecuteAlone, T>(
        &self,
        caller: &Caller,
        op: &O,
        work: impl Fn(&Context<'_>, &Tx<'_>, Option<&O::Output>) -> Result<T>,
    ) -> Result<T> {
        let mut tries = 1..TRIES;
        let done = loop {
            let before = self.run(O::ACCESS, caller, |cx, tx| {
                cx.require(O::ACCESS, O::NAME)?;
                op.prepare(cx, tx)
            })?;
            match self.run(O::ACCESS, caller, |cx, tx| work(cx, tx, before.as_ref())) {
                Err(e) if e.code == Code::Busy && tries.next().is_some() => {}
                done => break done?,
            }
        };
        op.finish(&self.context(caller)?)?;
        Ok(done)
    }

    /// Runs `work` in a read or write transaction, as `access` requires. `work` may run again if the connection is lost
    /// before the commit.
    pub fn run<T>(
        &self,
        access: Access,
        caller: &Caller,
        work: impl Fn(&Context<'_>, &Tx<'_>) -> Result<T>,
    ) -> Result<T> {
        // Only this part is generic, so the transaction code is compiled once.
        let output = Cell::new(None);
        self.run_untyped(access, caller, &|cx, tx| {
            output.set(Some(work(cx, tx)?));
            Ok(())
        })?;
        output.take().ok_or_else(|| Error::internal("the work was not done"))
    }

    fn run_untyped(&self, access: Access, caller: &Caller, work: TransactionBody<'_>) -> Result<()> {
        let outcome = self.run_here(access, caller, work);
        match &outcome {
            Err(error) if self.requires_new_handle(error) => {
                // Opening checks the database thoroughly and rebuilds it if needed.
                let another = self.new_handle()?;
                let outcome = another.run_here(access, caller, work);
                // Notices that went to no sink.
                self.notices.borrow_mut().extend(another.notices());
                outcome
            }
            _ => outcome,
        }
    }

    /// Whether an operation failed because of this handle's database file, so that a new handle may succeed.
    pub(crate) fn requires_new_handle(&self, error: &Error) -> bool {
        let StoreSource::Dir(store) = &self.source else { return false };
        if error.code == Code::Corrupt {
            recover::mark_damaged(store);
        }
        error.code == Code::Corrupt || *error == replaced()
    }

    fn run_here(&self, access: Access, caller: &Caller, work: TransactionBody<'_>) -> Result<()> {
        let mut tries = 1..;
        loop {
            let last = tries.next().is_none_or(|tried| tried >= TRIES);
            let attempt = match access {
                Access::Read => self.read(caller, work),
                Access::Write | Access::Maintain | Access::Admin | Access::Operate => self.write(caller, work),
            };
            match attempt {
                Ok(()) => return Ok(()),
                Err(failed) if last || !failed.is_retryable => return Err(failed.error),
                Err(_) => {}
            }
        }
    }

    fn context(&self, caller: &Caller) -> Result<Context<'_>> {
        let mut cx = Context::new(caller, &*self.clock, &*self.ids, &self.location, self.role)?;
        cx.allow.clone_from(&self.allow);
        cx.rules.clone_from(&self.rules);
        cx.check_up = self.check_up;
        cx.embedder.clone_from(&self.embedder);
        Ok(cx)
    }

    fn read(&self, caller: &Caller, work: TransactionBody<'_>) -> Result<(), FailedAttempt> {
        let cx = self.context(caller)?;
        let tx = self.db.begin_read()?;
        let is_due = lease::any_due(&cx, &tx).map_err(|e| FailedAttempt::with(&tx, e))?;
        if !is_due {
            return work(&cx, &tx).map_err(|e| FailedAttempt::with(&tx, e));
        }
        if let Some(warning) = lease::clock_warning(&cx, &tx)? {
            self.warn(&warning);
            return work(&cx, &tx).map_err(|e| FailedAttempt::with(&tx, e));
        }
        drop(tx);
        self.expire()?;
        let tx = self.db.begin_read()?;
        work(&cx, &tx).map_err(|e| FailedAttempt::with(&tx, e))
    }

    fn expire_leases(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<(), FailedAttempt> {
        if let Some(warning) = lease::expire(cx, tx).map_err(|e| FailedAttempt::with(tx, e))? {
            self.warn(&warning);
        }
        Ok(())
    }

    /// Warns, once, that the clock cannot be right.
    fn warn(&self, warning: &str) {
        if self.has_warned.replace(true) {
            return;
        }
        match &self.notice_sink {
            Some(sink) => sink(warning),
            None => self.notices.borrow_mut().push(warning.to_owned()),
        }
    }

    /// Releases every claim whose lease has expired.
    fn expire(&self) -> Result<(), FailedAttempt> {
        self.write(&Caller::system(), &|_, _| Ok(()))
    }

    fn write(&self, caller: &Caller, work: TransactionBody<'_>) -> Result<(), FailedAttempt> {
        let cx = self.context(caller)?;
        let tx = replay::begin_write(&self.db)?;
        self.expire_leases(&cx, &tx)?;
        tx.begin_operation();
        work(&cx, &tx).and_then(|()| tx.end_operation(&cx.operation())).map_err(|e| FailedAttempt::with(&tx, e))?;
        self.commit(tx)?;
        self.writes.set(self.writes.get() + 1);
        taskstore::rewrite_if_needed(&self.db);
        self.refresh_pages(&caller.actor);
        Ok(())
    }

    /// Updates `now.md` and `next.md` if the user has requested them. Their failure is only a notice.
    fn refresh_pages(&self, actor: &str) {
        let Some(store) = self.location.own_dir().filter(|store| pages::are_enabled(store)) else { return };
        let read = |reader: &str| pages::Pages::read(&self.context(&Caller::system())?, &self.db.begin_read()?, reader);
        if let Err(e) = pages::refresh(store, actor, read) {
            let notice = format!("the pages in local/context are old: {}", e.message);
            match &self.notice_sink {
                Some(sink) => sink(&notice),
                None => self.notices.borrow_mut().push(notice),
            }
        }
    }

    /// Commits. After an I/O error, the change may or may not be stored, so the database is checked.
    fn commit(&self, tx: Tx<'_>) -> Result<(), FailedAttempt> {
        let Err(uncommitted) = tx.commit() else { return Ok(()) };
        let Some(event) = &uncommitted.uncertain_event else { return Err(uncommitted.into()) };
        if self.db.is_stored(event) == Ok(true) {
            return Ok(());
        }
        let error = uncommitted.error;
        if error.code == Code::DiskFull {
            return Err(error.into());
        }
        let message = format!("not known whether the change was stored: {}", error.message);
        let hint = "look whether it is there; with the same --idempotency-key a second try does not do it twice";
        Err(Error::new(Code::UnknownOutcome, message).hint(hint).into())
    }

    /// Sets a deadline for beginning transactions and for waiting on locks. Only PostgreSQL uses it.
    pub fn wait_until(&self, until: Option<Instant>) {
        self.db.wait_until(until);
    }

    /// Whether the store is a local file. Then other processes may change it without a notification.
    pub fn is_local(&self) -> bool {
        matches!(self.db, Db::Sqlite(_))
    }

    pub(crate) fn expect_many_writes(&self) -> Result<()> {
        self.db.expect_many_writes()
    }

    /// Creates a backup if the journal has become long.
    pub(crate) fn backup_if_journal_is_long(&self) {
        self.db.backup_if_journal_is_long();
    }

    /// Runs all requests in one write transaction, each in a savepoint, so that a failed one changes nothing. `more`
    /// supplies further requests while the transaction runs; a retry starts with all of them.
    pub(crate) fn write_group(
        &self,
        jobs: &mut Vec<WriteRequest>,
        mut more: impl FnMut(usize) -> Option<WriteRequest>,
    ) -> Result<Vec<Result<String>>> {
        let mut tries = 1..TRIES;
        loop {
            match self.try_group(jobs, &mut more) {
                Err(failed) if failed.is_retryable && tries.next().is_some() => {}
                outcome => return outcome.map_err(|failed| failed.error),
            }
        }
    }

    fn try_group(
        &self,
        jobs: &mut Vec<WriteRequest>,
        more: &mut dyn FnMut(usize) -> Option<WriteRequest>,
    ) -> Result<Vec<Result<String>>, FailedAttempt> {
        let system = self.context(&Caller::system())?;
        let tx = replay::begin_write(&self.db)?;
        self.expire_leases(&system, &tx)?;
        let mut answers = Vec::with_capacity(jobs.len());
        loop {
            if answers.len() == jobs.len() {
                jobs.extend(more(jobs.len()));
            }
            let Some(job) = jobs.get(answers.len()) else { break };
            tx.begin_operation();
            let run = || {
                let cx = self.context(&job.caller)?;
                tx.savepoint(|| job.run(&cx, &tx).and_then(|answer| tx.end_operation(&cx.operation()).map(|()| answer)))
            };
            // The savepoint was rolled back while unwinding.
            let answer = panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
                tx.begin_operation();
                Err(Error::internal("the operation failed unexpectedly"))
            });
            if !tx.is_alive() || tx.is_retryable() || tx.is_locked_out() {
                let failed = || Error::new(Code::Unreachable, "the database went away during the transaction");
                let error = answer.err().unwrap_or_else(failed);
                return Err(FailedAttempt::with(&tx, error));
            }
            answers.push(answer);
        }
        self.commit(tx)?;
        self.writes.set(self.writes.get() + 1);
        taskstore::rewrite_if_needed(&self.db);
        self.refresh_pages(jobs.first().map_or(SYSTEM, |job| &job.caller.actor));
        Ok(answers)
    }
}

/// What runs in a transaction, without its result type.
type TransactionBody<'w> = &'w dyn Fn(&Context<'_>, &Tx<'_>) -> Result<()>;

/// A failed transaction, and whether it may be retried.
struct FailedAttempt {
    error: Error,
    is_retryable: bool,
}

impl FailedAttempt {
    fn with(tx: &Tx<'_>, error: Error) -> Self {
        Self { error, is_retryable: tx.is_retryable() }
    }
}

impl From<CommitError> for FailedAttempt {
    fn from(CommitError { error, is_retryable, .. }: CommitError) -> Self {
        Self { error, is_retryable }
    }
}

impl From<Error> for FailedAttempt {
    fn from(error: Error) -> Self {
        Self { error, is_retryable: false }
    }
}

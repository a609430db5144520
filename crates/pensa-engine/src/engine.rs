//! One open store: opens it, and runs operations in read or write transactions.

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Instant;

use pensa_core::{Access, Code, Error, Result, Timestamp, json};
use pensa_redact::Allow;
use uuid::Uuid;

use crate::clock::{Clock, SystemClock};
use crate::context::{Caller, CheckUp, Context, Ids, Part, RandomIds, SYSTEM};
use crate::db::{Db, Postgres, Tx, Uncommitted};
use crate::execute::{Execute, ExecuteAlone};
use crate::group::Job;
use crate::store::{Home, StoreDir, replaced};
use crate::tables::answers::{self, Once};
use crate::{lease, pages, recover, redaction, replay, sync, taskstore};

/// How often a transaction is tried that fails before its commit because the database went away or another
/// transaction got in its way.
const TRIES: usize = 3;

/// An open store. On SQLite it holds one connection, on PostgreSQL none between transactions.
pub struct Engine {
    home: Home,
    source: Source,
    db: Db,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    part: Part,
    /// How many transactions this handle has committed.
    writes: Cell<u64>,
    notices: RefCell<Vec<String>>,
    ear: Option<Ear>,
    /// Whether it was told that the clock is wrong.
    has_warned: Cell<bool>,
    /// What looks like a secret here and is none.
    allow: Option<Arc<Allow>>,
    check_up: Option<CheckUp>,
}

/// Who is told what happens by itself.
pub type Ear = Arc<dyn Fn(&str) + Send + Sync>;

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Engine({})", self.home.place())
    }
}

/// What another handle on the same store is made from.
#[derive(Debug, Clone)]
enum Source {
    Dir(StoreDir),
    Database(Postgres, Uuid),
}

/// What a store looked like to one handle: while its mark stays the same, nobody has changed anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    seen: i64,
    writes: u64,
}

impl Drop for Engine {
    fn drop(&mut self) {
        if self.writes.get() > 0 {
            self.db.tidy_up();
        }
    }
}

impl Engine {
    /// Opens a store, bringing its database up to date, or making it from the JSONL files beside it.
    pub fn open(store: StoreDir) -> Result<Self> {
        Self::open_with(store, Arc::new(SystemClock), Arc::new(RandomIds))
    }

    /// Opens a store with a clock and a source of ids of the caller's own.
    pub fn open_with(store: StoreDir, clock: Arc<dyn Clock>, ids: Arc<dyn Ids>) -> Result<Self> {
        store.refuse_tracked_database()?;
        if !store.database().exists() {
            store.refuse_empty()?;
            store.complete()?;
        }
        let store = store.located()?;
        let (fresh, notes) = (Cell::new(false), RefCell::new(Vec::new()));
        let home = Home::Dir(store.clone());
        let seed = |tx: &Tx<'_>| {
            fresh.set(true);
            let cx = Context::new(&Caller::system(), &*clock, &*ids, &home, Part::Alone)?;
            if store.has_jsonl() {
                notes.replace(sync::fill(&cx, tx)?);
            }
            taskstore::take_in(&cx, tx, &store)
        };
        let (db, mut notices) = recover::open(&store, clock.now()?, &seed)?;
        notices.extend(notes.take());
        let writes = Cell::new(u64::from(fresh.get()));
        let (source, notices) = (Source::Dir(store), RefCell::new(notices));
        Ok(Self {
            home,
            source,
            db,
            clock,
            ids,
            part: Part::Alone,
            writes,
            notices,
            ear: None,
            has_warned: Cell::new(false),
            allow: None,
            check_up: None,
        })
    }

    /// Tells `ear` what happens by itself and is worth knowing: what was recovered, and how.
    #[must_use]
    pub fn telling(mut self, ear: Ear) -> Self {
        self.notices.take().iter().for_each(|notice| ear(notice));
        self.ear = Some(ear);
        self
    }

    /// Keeps what `allow` covers, although it looks like a secret.
    #[must_use]
    pub fn allowing(mut self, allow: Option<Arc<Allow>>) -> Self {
        self.allow = allow;
        self
    }

    /// Has doctor look at what the engine knows nothing of, such as git hooks.
    #[must_use]
    pub fn with_check_up(mut self, check_up: CheckUp) -> Self {
        self.check_up = Some(check_up);
        self
    }

    /// What has happened by itself since this was last asked, if nobody was told.
    pub fn notices(&self) -> Vec<String> {
        self.notices.take()
    }

    /// The store with this id in a database of many.
    pub fn in_database(database: &Postgres, project: &str, id: Uuid) -> Self {
        Self::in_database_with(database, project, id, Arc::new(SystemClock), Arc::new(RandomIds))
    }

    /// The same with a clock and a source of ids of the caller's own.
    pub fn in_database_with(
        database: &Postgres,
        project: &str,
        id: Uuid,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
    ) -> Self {
        let home = Home::Database { project: project.to_owned(), id, files: None };
        let (db, source) = (Db::Postgres(database.store(id)), Source::Database(database.clone(), id));
        let (writes, notices) = (Cell::new(0), RefCell::default());
        Self {
            home,
            source,
            db,
            clock,
            ids,
            part: Part::Project,
            writes,
            notices,
            ear: None,
            has_warned: Cell::new(false),
            allow: None,
            check_up: None,
        }
    }

    #[must_use]
    fn with_home(mut self, home: Home) -> Self {
        self.home = home;
        self
    }

    /// The same store, with a directory for its exports.
    #[must_use]
    pub fn with_files(mut self, dir: StoreDir) -> Self {
        if let Home::Database { files, .. } = &mut self.home {
            *files = Some(dir);
        }
        self
    }

    /// The same store as a part of a server.
    #[must_use]
    pub(crate) fn being(mut self, part: Part) -> Self {
        self.part = part;
        self
    }

    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The store's mark as of now. On SQLite much cheaper than any question to the store.
    pub fn mark(&self) -> Result<Mark> {
        let seen = self.minding(self.db.changes_seen())?;
        Ok(Mark { seen, writes: self.writes.get() })
    }

    /// How long answers stay right if nobody changes anything: until the next lease runs out.
    pub fn right_until(&self) -> Result<Option<Timestamp>> {
        self.minding(self.db.begin_read().and_then(|tx| lease::next_expiry(&tx)))
    }

    /// Notes damage that shows, so that the next look at the store is a close one.
    fn minding<T>(&self, outcome: Result<T>) -> Result<T> {
        if let Err(error) = &outcome {
            self.needs_another(error);
        }
        outcome
    }

    /// Whether the database was deleted or replaced behind this handle's back: then another one must be opened.
    pub fn is_orphaned(&self) -> bool {
        self.db.is_orphaned()
    }

    pub fn now(&self) -> Result<Timestamp> {
        self.clock.now()
    }

    /// Another handle on the same store, for another thread.
    pub fn another(&self) -> Result<Self> {
        let (clock, ids) = (self.clock.clone(), self.ids.clone());
        match &self.source {
            Source::Dir(store) => {
                let another = Self::open_with(store.clone(), clock, ids)?.being(self.part);
                let mut another = another.allowing(self.allow.clone());
                another.check_up = self.check_up;
                Ok(if let Some(ear) = &self.ear { another.telling(ear.clone()) } else { another })
            }
            Source::Database(database, id) => {
                let another = Self::in_database_with(database, &self.home.project(), *id, clock, ids);
                Ok(another.being(self.part).with_home(self.home.clone()))
            }
        }
    }

    /// Runs one operation as `actor`, who has the store itself in hand, in a transaction of its own.
    pub fn call<O: Execute>(&self, actor: &str, op: &O) -> Result<O::Output> {
        self.call_as(&Caller::local(actor), op)
    }

    /// Runs one operation on behalf of `caller`, in a transaction of its own.
    pub fn call_as<O: Execute>(&self, caller: &Caller, op: &O) -> Result<O::Output> {
        if let Some(alone) = O::ALONE {
            return (alone.call)(self, caller, op);
        }
        self.run(O::ACCESS, caller, |cx, tx| redaction::execute(cx, tx, op))
    }

    /// Runs an operation unless the same was done before with this key; then gives the answer of that time.
    pub fn call_once<O: Execute>(&self, caller: &Caller, key: &str, op: &O) -> Result<O::Output> {
        let input = serde_json::to_value(op).map_err(Error::internal)?.to_string();
        let parts = [O::NAME, &caller.actor, &input].map(str::as_bytes);
        let once = Once::new(None, key, &parts, O::TELLS_SECRET)?;
        let answer = match O::ALONE {
            Some(alone) => (alone.call_once)(self, caller, op, Some(&once)),
            None => self.run(O::ACCESS, caller, |cx, tx| {
                answers::once(cx, tx, Some(&once), &mut || json::to_line(&redaction::execute(cx, tx, op)?))
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
        once: Option<&Once>,
    ) -> Result<String> {
        self.run_alone(caller, op, |cx, tx, before| {
            answers::once(cx, tx, once, &mut || json::to_line(&O::answer(before, op.execute(cx, tx)?)))
        })
    }

    /// Runs an operation that has transactions of its own: what must be committed before it, then `work`, then what
    /// follows.
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

    /// Runs `work` in a transaction of the kind that `access` asks for. It may run again if the database goes away
    /// before the commit.
    pub fn run<T>(
        &self,
        access: Access,
        caller: &Caller,
        work: impl Fn(&Context<'_>, &Tx<'_>) -> Result<T>,
    ) -> Result<T> {
        // The transaction around it is compiled once, not for every operation.
        let output = Cell::new(None);
        self.run_untyped(access, caller, &|cx, tx| {
            output.set(Some(work(cx, tx)?));
            Ok(())
        })?;
        output.take().ok_or_else(|| Error::internal("the work was not done"))
    }

    fn run_untyped(&self, access: Access, caller: &Caller, work: Work<'_>) -> Result<()> {
        let outcome = self.run_here(access, caller, work);
        match &outcome {
            Err(error) if self.needs_another(error) => {
                // To open it is to look closely, and to rebuild it if need be.
                let another = self.another()?;
                let outcome = another.run_here(access, caller, work);
                // Those that `another` could tell nobody.
                self.notices.borrow_mut().extend(another.notices());
                outcome
            }
            _ => outcome,
        }
    }

    /// Whether an operation failed because of the file that this handle has open, so that another may do better.
    pub(crate) fn needs_another(&self, error: &Error) -> bool {
        let Source::Dir(store) = &self.source else { return false };
        if error.code == Code::Corrupt {
            recover::suspect(store);
        }
        error.code == Code::Corrupt || *error == replaced()
    }

    fn run_here(&self, access: Access, caller: &Caller, work: Work<'_>) -> Result<()> {
        let mut tries = 1..;
        loop {
            let last = tries.next().is_none_or(|tried| tried >= TRIES);
            let attempt = match access {
                Access::Read => self.read(caller, work),
                Access::Write | Access::Maintain | Access::Admin | Access::Operate => self.write(caller, work),
            };
            match attempt {
                Ok(()) => return Ok(()),
                Err(lost) if last || !lost.again => return Err(lost.error),
                Err(_) => {}
            }
        }
    }

    fn context(&self, caller: &Caller) -> Result<Context<'_>> {
        let mut cx = Context::new(caller, &*self.clock, &*self.ids, &self.home, self.part)?;
        cx.allow.clone_from(&self.allow);
        cx.check_up = self.check_up;
        Ok(cx)
    }

    fn read(&self, caller: &Caller, work: Work<'_>) -> Result<(), Lost> {
        let cx = self.context(caller)?;
        let tx = self.db.begin_read()?;
        let is_due = lease::any_due(&cx, &tx).map_err(|e| Lost::with(&tx, e))?;
        if !is_due {
            return work(&cx, &tx).map_err(|e| Lost::with(&tx, e));
        }
        if let Some(doubt) = lease::doubt(&cx, &tx)? {
            self.warn(&doubt);
            return work(&cx, &tx).map_err(|e| Lost::with(&tx, e));
        }
        drop(tx);
        self.expire()?;
        let tx = self.db.begin_read()?;
        work(&cx, &tx).map_err(|e| Lost::with(&tx, e))
    }

    fn expire_leases(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<(), Lost> {
        if let Some(doubt) = lease::expire(cx, tx).map_err(|e| Lost::with(tx, e))? {
            self.warn(&doubt);
        }
        Ok(())
    }

    /// Tells, once, that the clock cannot be right.
    fn warn(&self, doubt: &str) {
        if self.has_warned.replace(true) {
            return;
        }
        match &self.ear {
            Some(ear) => ear(doubt),
            None => self.notices.borrow_mut().push(doubt.to_owned()),
        }
    }

    /// Gives back every claim whose lease has run out.
    fn expire(&self) -> Result<(), Lost> {
        self.write(&Caller::system(), &|_, _| Ok(()))
    }

    fn write(&self, caller: &Caller, work: Work<'_>) -> Result<(), Lost> {
        let cx = self.context(caller)?;
        let tx = replay::begin_write(&self.db)?;
        self.expire_leases(&cx, &tx)?;
        tx.begin_operation();
        work(&cx, &tx).map_err(|e| Lost::with(&tx, e))?;
        self.commit(tx)?;
        self.writes.set(self.writes.get() + 1);
        taskstore::keep_files_in_step(&self.db);
        self.refresh_pages(&caller.actor);
        Ok(())
    }

    /// Writes `now.md` and `next.md` again if somebody has asked for them. They are a help, so that nothing fails on them.
    fn refresh_pages(&self, actor: &str) {
        let Some(store) = self.home.own_dir().filter(|store| pages::is_wanted(store)) else { return };
        let read = |reader: &str| pages::Pages::read(&self.context(&Caller::system())?, &self.db.begin_read()?, reader);
        if let Err(e) = pages::refresh(store, actor, read) {
            let notice = format!("the pages in local/context are old: {}", e.message);
            match &self.ear {
                Some(ear) => ear(&notice),
                None => self.notices.borrow_mut().push(notice),
            }
        }
    }

    /// Commits. A disk that fails while it does may have stored the change or not: then another look decides.
    fn commit(&self, tx: Tx<'_>) -> Result<(), Lost> {
        let Err(uncommitted) = tx.commit() else { return Ok(()) };
        let Some(event) = &uncommitted.doubt else { return Err(uncommitted.into()) };
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

    /// Has transactions from now on, and the locks they need, waited for until then at most, where others may hold them
    /// for long.
    pub fn wait_until(&self, until: Option<Instant>) {
        self.db.wait_until(until);
    }

    /// Whether the store is a file of this machine: then other processes may change it without a notification.
    pub fn is_local(&self) -> bool {
        matches!(self.db, Db::Sqlite(_))
    }

    pub(crate) fn expect_many_writes(&self) -> Result<()> {
        self.db.expect_many_writes()
    }

    /// Makes a backup if the journal has grown long.
    pub(crate) fn keep_journal_short(&self) {
        self.db.keep_journal_short();
    }

    /// Runs every job in one write transaction, each in a savepoint: one that fails leaves no trace and does not disturb
    /// the others. Takes in what `more` has while it runs; a retry starts with the same jobs.
    pub(crate) fn write_group(
        &self,
        jobs: &mut Vec<Job>,
        mut more: impl FnMut(usize) -> Option<Job>,
    ) -> Result<Vec<Result<String>>> {
        let mut tries = 1..TRIES;
        loop {
            match self.try_group(jobs, &mut more) {
                Err(lost) if lost.again && tries.next().is_some() => {}
                outcome => return outcome.map_err(|lost| lost.error),
            }
        }
    }

    fn try_group(
        &self,
        jobs: &mut Vec<Job>,
        more: &mut dyn FnMut(usize) -> Option<Job>,
    ) -> Result<Vec<Result<String>>, Lost> {
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
            let run = || self.context(&job.caller).and_then(|cx| tx.savepoint(|| job.run(&cx, &tx)));
            // Unwinding has undone what it did.
            let answer = panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
                tx.begin_operation();
                Err(Error::internal("the operation failed unexpectedly"))
            });
            if !tx.is_alive() || tx.is_worth_another_try() || tx.is_locked_out() {
                let lost = || Error::new(Code::Unreachable, "the database went away during the transaction");
                let error = answer.err().unwrap_or_else(lost);
                return Err(Lost::with(&tx, error));
            }
            answers.push(answer);
        }
        self.commit(tx)?;
        self.writes.set(self.writes.get() + 1);
        taskstore::keep_files_in_step(&self.db);
        self.refresh_pages(jobs.first().map_or(SYSTEM, |job| &job.caller.actor));
        Ok(answers)
    }
}

/// Work in a transaction, without the type of what it gives.
type Work<'w> = &'w dyn Fn(&Context<'_>, &Tx<'_>) -> Result<()>;

/// An attempt that failed, and whether another may succeed.
struct Lost {
    error: Error,
    again: bool,
}

impl Lost {
    fn with(tx: &Tx<'_>, error: Error) -> Self {
        Self { error, again: tx.is_worth_another_try() }
    }
}

impl From<Uncommitted> for Lost {
    fn from(Uncommitted { error, again, .. }: Uncommitted) -> Self {
        Self { error, again }
    }
}

impl From<Error> for Lost {
    fn from(error: Error) -> Self {
        Self { error, again: false }
    }
}

//! One open store: opens it, and runs operations in read or write transactions.

use std::cell::Cell;
use std::sync::Arc;

use pensa_core::{Access, Error, Result, Timestamp};

use crate::context::{Clock, Context, Ids, RandomIds, SYSTEM, SystemClock};
use crate::db::{Db, Tx};
use crate::execute::Execute;
use crate::jsonl;
use crate::ops::lease;
use crate::store::StoreDir;
use crate::ticket;

/// An open store. Holds one connection: give each thread its own.
#[derive(Debug)]
pub struct Engine {
    store: StoreDir,
    db: Db,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    /// How many transactions this handle has committed.
    writes: Cell<u64>,
}

/// What a store looked like to one handle: while its mark stays the same, nobody has changed anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    seen: i64,
    writes: u64,
}

impl Drop for Engine {
    fn drop(&mut self) {
        if self.writes.get() > 0
            && self.db.needs_tidying()
            && let Some(_ticket) = ticket::try_take(&self.store)
        {
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
        if !store.database().exists() {
            store.refuse_empty()?;
            store.complete()?;
        }
        let mut fresh = false;
        let db = Db::open(&store, clock.now()?, |tx| {
            fresh = true;
            if !jsonl::any(&store) {
                return Ok(());
            }
            jsonl::import(&Context::new(SYSTEM, &*clock, &*ids, &store)?, tx).map(drop)
        })?;
        Ok(Self { store, db, clock, ids, writes: Cell::new(u64::from(fresh)) })
    }

    pub fn store(&self) -> &StoreDir {
        &self.store
    }

    /// The store's mark as of now. Much cheaper than any question to the store.
    pub fn mark(&self) -> Result<Mark> {
        Ok(Mark { seen: self.db.changes_seen()?, writes: self.writes.get() })
    }

    /// How long answers stay right if nobody changes anything: until the next lease runs out.
    pub fn right_until(&self) -> Result<Option<Timestamp>> {
        lease::next_expiry(&self.db.begin_read()?)
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
        Self::open_with(self.store.clone(), self.clock.clone(), self.ids.clone())
    }

    /// Runs one operation as `actor`, in a transaction of its own.
    pub fn call<O: Execute>(&self, actor: &str, op: &O) -> Result<O::Output> {
        self.run(O::ACCESS, actor, |cx, tx| op.execute(cx, tx))
    }

    /// Runs `work` in a transaction of the kind that `access` asks for.
    pub fn run<T>(
        &self,
        access: Access,
        actor: &str,
        work: impl FnOnce(&Context<'_>, &Tx<'_>) -> Result<T>,
    ) -> Result<T> {
        match access {
            Access::Read => self.read(actor, work),
            Access::Write | Access::Maintain | Access::Admin => self.write(actor, work),
        }
    }

    fn context(&self, actor: &str) -> Result<Context<'_>> {
        Context::new(actor, &*self.clock, &*self.ids, &self.store)
    }

    fn read<T>(&self, actor: &str, work: impl FnOnce(&Context<'_>, &Tx<'_>) -> Result<T>) -> Result<T> {
        let cx = self.context(actor)?;
        let tx = self.db.begin_read()?;
        if lease::any_due(&cx, &tx)? {
            drop(tx);
            self.write(SYSTEM, |_, _| Ok(()))?;
            return work(&cx, &self.db.begin_read()?);
        }
        work(&cx, &tx)
    }

    fn write<T>(&self, actor: &str, work: impl FnOnce(&Context<'_>, &Tx<'_>) -> Result<T>) -> Result<T> {
        let _ticket = ticket::take(&self.store)?;
        let cx = self.context(actor)?;
        let tx = self.db.begin_write()?;
        lease::expire(&cx, &tx)?;
        let output = work(&cx, &tx)?;
        tx.commit()?;
        self.writes.set(self.writes.get() + 1);
        Ok(output)
    }

    pub(crate) fn expect_many_writes(&self) -> Result<()> {
        self.db.expect_many_writes()
    }

    /// Runs every job that `next` hands out in one write transaction, each under a savepoint of its own, so that
    /// one that fails leaves no trace and does not disturb the others.
    pub(crate) fn write_group(
        &self,
        mut next: impl FnMut(&mut dyn FnMut(&str, crate::group::Work) -> Result<String>) -> bool,
    ) -> Result<()> {
        let _ticket = ticket::take(&self.store)?;
        let tx = self.db.begin_write()?;
        lease::expire(&self.context(SYSTEM)?, &tx)?;
        let mut lost = None;
        let mut run = |actor: &str, work: crate::group::Work| {
            let cx = self.context(actor)?;
            let outcome = tx.savepoint(|| work(&cx, &tx));
            if !tx.is_alive() {
                lost =
                    Some(outcome.as_ref().err().cloned().unwrap_or_else(|| Error::internal("the transaction is lost")));
            }
            outcome
        };
        while next(&mut run) && tx.is_alive() {}
        if let Some(error) = lost {
            return Err(error);
        }
        self.writes.set(self.writes.get() + 1);
        tx.commit()
    }
}

//! Who runs an operation, when, and where new ids come from: everything an operation may not fetch for itself.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::time::{SystemTime, UNIX_EPOCH};

use pensa_core::id::IssueId;
use pensa_core::{Error, Result, Timestamp, text};
use uuid::Uuid;

use crate::store::StoreDir;

/// The actor of what happens by itself: leases that run out, a fresh clone that imports.
pub(crate) const SYSTEM: &str = "pensa";

/// Tells the time.
pub trait Clock: Debug + Send + Sync {
    fn now(&self) -> Result<Timestamp>;
}

/// Gives out the random bits of new ids.
pub trait Ids: Debug + Send + Sync {
    fn next(&self) -> Uuid;
}

#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Result<Timestamp> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).map_err(Error::internal)?;
        Timestamp::from_millis(i64::try_from(since.as_millis()).map_err(Error::internal)?)
    }
}

#[derive(Debug, Clone, Copy)]
pub struct RandomIds;

impl Ids for RandomIds {
    fn next(&self) -> Uuid {
        Uuid::now_v7()
    }
}

/// The circumstances of one operation.
#[derive(Debug)]
pub struct Context<'a> {
    pub actor: String,
    pub now: Timestamp,
    pub store: &'a StoreDir,
    ids: &'a dyn Ids,
    /// What earlier lines of a batch called the issues they made.
    names: RefCell<HashMap<String, IssueId>>,
}

impl<'a> Context<'a> {
    pub fn new(actor: &str, clock: &dyn Clock, ids: &'a dyn Ids, store: &'a StoreDir) -> Result<Self> {
        let actor = text::line("actor", actor)?.to_owned();
        Ok(Self { actor, now: clock.now()?, store, ids, names: RefCell::default() })
    }

    pub fn uuid(&self) -> Uuid {
        self.ids.next()
    }

    /// The same circumstances under another name.
    pub(crate) fn acting_as(&self, actor: &str) -> Self {
        Self { actor: actor.to_owned(), now: self.now, store: self.store, ids: self.ids, names: RefCell::default() }
    }

    pub(crate) fn name(&self, name: String, id: IssueId) {
        self.names.borrow_mut().insert(name, id);
    }

    pub(crate) fn named(&self, name: &str) -> Option<IssueId> {
        self.names.borrow().get(name).cloned()
    }
}

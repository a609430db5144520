//! Runs Pensa's operations on a store, with the engine in this process or over HTTP.
//!
//! ```
//! # #[cfg(feature = "embedded")] {
//! use pensa_client::Client;
//! use pensa_core::ops::issue;
//! use pensa_engine::{Engine, StoreDir};
//!
//! # let dir = tempfile::tempdir()?;
//! # let project = dir.path();
//! let (store, _) = StoreDir::create(&project.join(".pensa"))?;
//! let client = Client::embedded(Engine::open(store)?, Box::new(|| "ana".to_owned()));
//! assert!(client.call(&issue::Ready::default())?.is_empty());
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Without the feature `embedded` there is only [`Client::http`]. Start reading with [`Client`]; [`config`] reads
//! settings, [`locate`] finds stores, [`Remotes`] keeps named servers, and [`StoreSync`] syncs two stores.

pub mod config;
mod follow;
mod http;
pub mod locate;
pub mod memory;
mod remotes;
mod retry;
mod sync;
mod tls;
mod token;
mod toml_file;

use std::cell::Cell;
use std::fmt;

#[cfg(not(feature = "embedded"))]
pub use pensa_core::Op as Call;
use pensa_core::caller::Caller;
use pensa_core::issue::Origin;
use pensa_core::ops::event;
use pensa_core::ops::record::{Applied, Apply, Change, Put};
use pensa_core::{Access, Result};
/// What a client can run: with the feature `embedded` what the engine can, otherwise every operation.
#[cfg(feature = "embedded")]
pub use pensa_engine::Execute as Call;
#[cfg(feature = "embedded")]
use pensa_engine::{Engine, VersionStamp};

pub use follow::LogFollower;
pub use http::{Remote, RemoteOptions};
pub use remotes::{RemoteEntry, RemoteName, Remotes};
pub use sync::{RecordSyncTime, StoreSync, SyncSummary};
pub use tls::check_authorities;
pub use token::Token;

/// Returns the actor of a change. Called only for changes, because finding the name may start a process.
pub type ActorSource = Box<dyn Fn() -> String>;

/// A handle on a store, with the caller that uses it.
pub struct Client {
    transport: Transport,
    actor: ActorSource,
    origin: Origin,
    /// The caller's idempotency key, and how many changes were made with it.
    key: Option<(String, Cell<usize>)>,
    no_redact: bool,
}

enum Transport {
    #[cfg(feature = "embedded")]
    Embedded(Box<Engine>),
    Http(Remote),
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.transport {
            #[cfg(feature = "embedded")]
            Transport::Embedded(engine) => write!(f, "Client({})", engine.location().display_name()),
            Transport::Http(remote) => write!(f, "Client({})", remote.url()),
        }
    }
}

impl Client {
    /// Uses a store on this machine.
    #[cfg(feature = "embedded")]
    pub fn embedded(engine: Engine, actor: ActorSource) -> Self {
        Self::with_transport(Transport::Embedded(Box::new(engine)), actor)
    }

    /// Uses the store of a daemon or server.
    pub fn http(remote: Remote, actor: ActorSource) -> Self {
        Self::with_transport(Transport::Http(remote), actor)
    }

    fn with_transport(transport: Transport, actor: ActorSource) -> Self {
        Self { transport, actor, origin: Origin::default(), key: None, no_redact: false }
    }

    /// Sets the session, run and host of the caller.
    #[must_use]
    pub fn with_origin(self, origin: Origin) -> Self {
        Self { origin, ..self }
    }

    /// The session, run and host of the caller.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    fn caller(&self, actor: &str) -> Caller {
        Caller { origin: self.origin.clone(), no_redact: self.no_redact, ..Caller::local(actor) }
    }

    /// Sets the idempotency key of a caller that may repeat a command: the same changes in the same order are made
    /// once.
    #[must_use]
    pub fn with_idempotency_key(mut self, key: Option<String>) -> Self {
        self.key = key.map(|key| (key, Cell::new(0)));
        self
    }

    /// Turns the redaction of secrets off, or on again.
    #[must_use]
    pub fn without_redaction(mut self, no_redact: bool) -> Self {
        self.no_redact = no_redact;
        self
    }

    /// Runs one operation.
    pub fn call<O: Call>(&self, op: &O) -> Result<O::Output> {
        if O::ACCESS == Access::Read {
            let reader = self.caller("reader");
            return match &self.transport {
                #[cfg(feature = "embedded")]
                Transport::Embedded(engine) => engine.call_as(&reader, op),
                Transport::Http(remote) => remote.call(&reader, op, None),
            };
        }
        let (caller, key) = (self.caller(&(self.actor)()), self.next_key());
        match (&self.transport, key) {
            #[cfg(feature = "embedded")]
            (Transport::Embedded(engine), None) => engine.call_as(&caller, op),
            #[cfg(feature = "embedded")]
            (Transport::Embedded(engine), Some(key)) => engine.call_once(&caller, &key, op),
            (Transport::Http(remote), key) => remote.call(&caller, op, key),
        }
    }

    /// The idempotency key of the next change. A command can make several changes, so later ones get a suffix.
    fn next_key(&self) -> Option<String> {
        let (key, changes) = self.key.as_ref()?;
        let number = changes.replace(changes.get() + 1) + 1;
        Some(if number == 1 { key.clone() } else { format!("{key}#{number}") })
    }

    /// Puts up to `count` records into a collection in one transaction. `make` returns the record with an index, `None`
    /// ends the list early; it is called again if the transaction is retried.
    pub fn put_records(
        &self,
        collection: &str,
        count: usize,
        make: impl Fn(usize) -> Option<Result<Put>>,
    ) -> Result<Vec<Applied>> {
        #[cfg(feature = "embedded")]
        if let (Transport::Embedded(engine), None) = (&self.transport, &self.key) {
            return engine.run(<Apply as pensa_core::Op>::ACCESS, &self.caller(&(self.actor)()), |cx, tx| {
                pensa_engine::put_records(cx, tx, (collection, count), &make)
            });
        }
        let change = |put| Change::Put(Put { collection: collection.to_owned(), ..put });
        let changes = (0..count).map_while(make).map(|put| put.map(change)).collect::<Result<_>>()?;
        self.call(&Apply { changes })
    }

    /// Follows the log after an event number. The follower has its own connection and can move to another thread.
    pub fn follow(&self, query: &event::List, after: i64) -> Result<LogFollower> {
        match &self.transport {
            #[cfg(feature = "embedded")]
            Transport::Embedded(engine) => Ok(LogFollower::store(engine.new_handle()?, query, after)),
            Transport::Http(remote) => Ok(LogFollower::server(remote.clone(), query, after)),
        }
    }

    /// Whether the database was deleted or replaced while this handle was open; then open a new one.
    pub fn is_orphaned(&self) -> bool {
        match &self.transport {
            #[cfg(feature = "embedded")]
            Transport::Embedded(engine) => engine.is_orphaned(),
            Transport::Http(_) => false,
        }
    }

    /// The version stamp of a local store: it stays the same while nothing is committed. `None` for a server.
    #[cfg(feature = "embedded")]
    pub fn version_stamp(&self) -> Result<Option<VersionStamp>> {
        match &self.transport {
            Transport::Embedded(engine) => engine.version_stamp().map(Some),
            Transport::Http(_) => Ok(None),
        }
    }

    /// The actor of changes.
    pub fn actor(&self) -> String {
        (self.actor)()
    }
}

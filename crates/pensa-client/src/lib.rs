//! One handle on a store, two transports: the engine in this process, or a daemon over HTTP.
//!
//! The engine comes with the feature `embedded`; without it there is HTTP only. Also brings two stores together, and knows where stores are kept, and the servers to which the user has given names. How answers are shown is left to the surfaces.

pub mod config;
mod exchange;
mod follow;
mod http;
pub mod locate;
mod remotes;
mod retry;
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
/// What a client can run: with the feature `embedded` what the engine can, else every operation.
#[cfg(feature = "embedded")]
pub use pensa_engine::Execute as Call;
#[cfg(feature = "embedded")]
use pensa_engine::{Engine, Mark};

pub use exchange::{Exchange, Exchanged, Note};
pub use follow::Follow;
pub use http::{Remote, RemoteOptions};
pub use remotes::{RemoteEntry, RemoteName, Remotes};
pub use tls::check_authorities;
pub use token::Token;

/// Who acts; asked only when something is about to change, because finding out may take a process of its own.
pub type ActorSource = Box<dyn Fn() -> String>;

/// A handle on a store.
pub struct Client {
    transport: Transport,
    actor: ActorSource,
    origin: Origin,
    /// The caller's key, and how many changes were made with it.
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
            Transport::Embedded(engine) => write!(f, "Client({})", engine.home().place()),
            Transport::Http(remote) => write!(f, "Client({})", remote.url()),
        }
    }
}

impl Client {
    /// On a store of this machine.
    #[cfg(feature = "embedded")]
    pub fn embedded(engine: Engine, actor: ActorSource) -> Self {
        Self::over(Transport::Embedded(Box::new(engine)), actor)
    }

    /// On whatever store a daemon serves.
    pub fn http(remote: Remote, actor: ActorSource) -> Self {
        Self::over(Transport::Http(remote), actor)
    }

    fn over(transport: Transport, actor: ActorSource) -> Self {
        Self { transport, actor, origin: Origin::default(), key: None, no_redact: false }
    }

    /// The same handle for a caller with a session, a run or a host of its own.
    #[must_use]
    pub fn with_origin(self, origin: Origin) -> Self {
        Self { origin, ..self }
    }

    /// The session, run and host that changes come from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    fn caller(&self, actor: &str) -> Caller {
        Caller { origin: self.origin.clone(), no_redact: self.no_redact, ..Caller::local(actor) }
    }

    /// The same handle for a caller who may have to try again: changes with the same key, in the same order, are done
    /// once.
    #[must_use]
    pub fn with_idempotency_key(mut self, key: Option<String>) -> Self {
        self.key = key.map(|key| (key, Cell::new(0)));
        self
    }

    /// Whether what looks like a secret is kept.
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

    /// The caller's key for the next change: a command may make several.
    fn next_key(&self) -> Option<String> {
        let (key, made) = self.key.as_ref()?;
        let number = made.replace(made.get() + 1) + 1;
        Some(if number == 1 { key.clone() } else { format!("{key}#{number}") })
    }

    /// Puts up to `count` records of one collection, in one transaction. Each is made when its turn has come, by its
    /// number; where there is none, that was all. It may be asked for again if the database goes away.
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

    /// Follows the log after a line. What it gives is on a connection of its own and can go to another thread.
    pub fn follow(&self, wanted: &event::List, after: i64) -> Result<Follow> {
        match &self.transport {
            #[cfg(feature = "embedded")]
            Transport::Embedded(engine) => Ok(Follow::files(engine.another()?, wanted, after)),
            Transport::Http(remote) => Ok(Follow::server(remote.clone(), wanted, after)),
        }
    }

    /// Whether the store's database was deleted or replaced behind this handle's back: then another one must be opened.
    pub fn is_orphaned(&self) -> bool {
        match &self.transport {
            #[cfg(feature = "embedded")]
            Transport::Embedded(engine) => engine.is_orphaned(),
            Transport::Http(_) => false,
        }
    }

    /// What a store of this machine looks like: while that stays the same, nobody has changed anything. None of one that is
    /// somewhere else.
    #[cfg(feature = "embedded")]
    pub fn mark(&self) -> Result<Option<Mark>> {
        match &self.transport {
            Transport::Embedded(engine) => engine.mark().map(Some),
            Transport::Http(_) => Ok(None),
        }
    }

    /// The name under which changes are made.
    pub fn actor(&self) -> String {
        (self.actor)()
    }
}

//! One handle on a store, two transports: the engine in this process, or a daemon over HTTP.
//!
//! Also knows where stores are kept, and the servers to which the user has given names. How answers are shown is left to the surfaces.

pub mod config;
mod follow;
mod http;
pub mod locate;
mod remotes;
mod retry;
mod tls;
mod token;
mod toml_file;

use std::fmt;

use pensa_core::ops::event;
use pensa_core::{Access, Result};
use pensa_engine::{Engine, Execute};

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
}

enum Transport {
    Embedded(Box<Engine>),
    Http(Remote),
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.transport {
            Transport::Embedded(engine) => write!(f, "Client({})", engine.home().place()),
            Transport::Http(remote) => write!(f, "Client({})", remote.url()),
        }
    }
}

impl Client {
    /// On a store of this machine.
    pub fn embedded(engine: Engine, actor: ActorSource) -> Self {
        Self { transport: Transport::Embedded(Box::new(engine)), actor }
    }

    /// On whatever store a daemon serves.
    pub fn http(remote: Remote, actor: ActorSource) -> Self {
        Self { transport: Transport::Http(remote), actor }
    }

    /// Runs one operation.
    pub fn call<O: Execute>(&self, op: &O) -> Result<O::Output> {
        let actor = if O::ACCESS == Access::Read { "reader".to_owned() } else { (self.actor)() };
        match &self.transport {
            Transport::Embedded(engine) => engine.call(&actor, op),
            Transport::Http(remote) => remote.call(&actor, op),
        }
    }

    /// Follows the log after a line. What it gives is on a connection of its own and can go to another thread.
    pub fn follow(&self, wanted: &event::List, after: i64) -> Result<Follow> {
        match &self.transport {
            Transport::Embedded(engine) => Ok(Follow::files(engine.another()?, wanted, after)),
            Transport::Http(remote) => Ok(Follow::server(remote.clone(), wanted, after)),
        }
    }

    /// Whether the store's database was deleted or replaced behind this handle's back: then another one must be opened.
    pub fn is_orphaned(&self) -> bool {
        matches!(&self.transport, Transport::Embedded(engine) if engine.is_orphaned())
    }

    /// The name under which changes are made.
    pub fn actor(&self) -> String {
        (self.actor)()
    }
}

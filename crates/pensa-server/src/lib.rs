//! Serves the operations of a store, or of a team's many stores, over HTTP to whoever may use them.
//!
//! What an operation does is the engine's job; what it is called and where it lives is in the catalog. Nothing
//! here is written for one operation.

mod answer;
mod dispatch;
mod fields;
mod guard;
mod headers;
mod limit;
mod listen;
mod logs;
pub mod mcp;
mod metrics;
mod openapi;
mod peer;
mod percent;
mod request;
mod router;
mod scene;
mod served;
mod service;
mod stream;
mod team;
mod tls;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

use pensa_core::{Error, Result};
use pensa_engine::Engine;
use tokio::runtime::Runtime;
use tokio::sync::watch;

pub use openapi::openapi;
pub use team::{TeamOptions, TeamServer};
pub use tracing::level_filters::LevelFilter;

use crate::guard::Guard;
use crate::listen::{Limits, Signals};
use crate::mcp::http::Callers;
use crate::served::Served;
use crate::service::Service;

/// Where to listen, and under which names.
#[derive(Debug, Clone)]
pub struct Options {
    pub listen: SocketAddr,
    /// Names besides the usual ones by which clients may call this server, with or without a port.
    pub allowed_hosts: Vec<String>,
}

/// A server whose socket is open and whose store is ready.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    service: Service,
    runtime: Runtime,
    signals: Signals,
    stop: Arc<watch::Sender<bool>>,
}

impl Server {
    /// Opens the socket, then the store's connections and its writing thread. From here on signals stop the server
    /// cleanly, also before it serves.
    pub fn bind(engine: Engine, options: Options) -> Result<Self> {
        let runtime = runtime(dispatch::READERS)?;
        let signals = {
            let _inside = runtime.enter();
            Signals::watch()?
        };
        let (listener, address) = listen::bind(options.listen)?;
        let store = engine.home().dir()?;
        let guard = Guard::new(address, &options.allowed_hosts, store.token_secret()?, store.id()?)?;
        let stop = Arc::new(watch::Sender::new(false));
        let router = router::of_catalog(stop.subscribe(), &Callers::At(guard.hosts()))?;
        let service = Service::new(guard, Served::start(engine)?, router);
        Ok(Self { listener, address, service, runtime, signals, stop })
    }

    /// The address in use, with the port that the system chose if none was asked for.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// A handle that stops the server as SIGTERM does.
    pub fn handle(&self) -> ShutdownHandle {
        ShutdownHandle(Arc::clone(&self.stop))
    }

    /// Serves until SIGTERM, SIGINT or the handle says to stop. What is in flight by then is answered, and what
    /// was accepted for writing is written.
    pub fn serve(self) -> Result<()> {
        let Self { listener, service, runtime, signals, stop, .. } = self;
        let served = runtime.block_on(listen::serve(listener, service, signals, stop, Limits::DAEMON, None));
        // Ends the tasks that hold the writer; the last of them waits for its queue to be empty.
        runtime.shutdown_timeout(listen::GRACE);
        served
    }
}

fn runtime(blocking: usize) -> Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(thread::available_parallelism().map_or(2, usize::from).clamp(2, 4))
        .max_blocking_threads(blocking)
        .thread_name("pensa-http")
        .enable_all()
        .build()
        .map_err(Error::internal)
}

/// Stops the server that gave it away.
#[derive(Debug, Clone)]
pub struct ShutdownHandle(Arc<watch::Sender<bool>>);

impl ShutdownHandle {
    pub fn shutdown(&self) {
        self.0.send_replace(true);
    }
}

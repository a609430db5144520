//! Serves Pensa's operations over HTTP: one store for a daemon ([`Server`]), many projects behind tokens for a team
//! ([`TeamServer`]).
//!
//! The routes come from the engine's catalog of operations; no code here is specific to one operation. [`openapi`]
//! describes them all:
//!
//! ```
//! let document = pensa_server::openapi();
//! assert_eq!(document["paths"]["/issues/ready"]["get"]["operationId"], "issue.ready");
//! ```
//!
//! Start reading in `router.rs`, which makes a route of each operation, then `guard.rs` and `team/service.rs`, which
//! authorize requests, and `dispatch.rs`, which runs operations. `stream.rs` is the event stream, `mcp` the tools for
//! models.

mod dispatch;
mod embed;
mod fields;
mod guard;
mod headers;
mod listen;
mod logs;
pub mod mcp;
mod metrics;
mod openapi;
mod peer;
mod percent_decode;
mod rate_limit;
mod request;
mod request_context;
mod response;
mod router;
mod served_store;
mod service;
mod stream;
mod team;
mod tls;
mod web;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

use pensa_core::{Error, Result};
use pensa_engine::{Engine, StoreDir};
use tokio::runtime::Runtime;
use tokio::sync::watch;

pub use openapi::openapi;
pub use team::{TeamOptions, TeamServer};
pub use tracing::level_filters::LevelFilter;

use crate::guard::Guard;
use crate::listen::{Limits, StopSignals};
use crate::mcp::http::AllowedCallers;
use crate::served_store::ServedStore;
use crate::service::DaemonService;
use crate::web::daemon::DaemonPages;

/// How a daemon listens.
#[derive(Debug, Clone)]
pub struct Options {
    pub listen: SocketAddr,
    /// Additional `Host` values to accept, with or without a port.
    pub allowed_hosts: Vec<String>,
    /// Under which name the pages make changes.
    pub actor: String,
}

/// A daemon whose socket is open and whose store is ready.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    service: DaemonService,
    runtime: Runtime,
    signals: StopSignals,
    stop: Arc<watch::Sender<bool>>,
}

impl Server {
    /// Opens the socket, the pooled read handles and the writer thread. From here on, signals stop the server cleanly,
    /// even before [`Self::serve`].
    pub fn bind(engine: Engine, options: Options) -> Result<Self> {
        let runtime = runtime(dispatch::READERS)?;
        let signals = {
            let _inside = runtime.enter();
            StopSignals::watch()?
        };
        let (listener, address) = listen::bind(options.listen)?;
        let store = engine.location().dir()?;
        let guard = Guard::new(address, &options.allowed_hosts, store.token_secret()?, store.id()?)?;
        let stop = Arc::new(watch::Sender::new(false));
        let router = router::build(stop.subscribe(), &AllowedCallers::At(guard.hosts()))?;
        let project = project_name(store);
        let pages = DaemonPages::new(address.port(), project, options.actor, stop.subscribe());
        let service = DaemonService::new(guard, ServedStore::start(engine)?, router, pages);
        Ok(Self { listener, address, service, runtime, signals, stop })
    }

    /// The address in use; its port was chosen by the system if 0 was requested.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The path that lets a browser of any user in, once this is running.
    pub fn entry_path(&self) -> String {
        self.service.entry_path()
    }

    /// Returns a handle that stops the server like SIGTERM.
    pub fn handle(&self) -> ShutdownHandle {
        ShutdownHandle(Arc::clone(&self.stop))
    }

    /// Serves until SIGTERM, SIGINT or the handle stops it. Requests in flight are answered and accepted writes are
    /// committed.
    pub fn serve(self) -> Result<()> {
        let Self { listener, service, runtime, signals, stop, .. } = self;
        let served = runtime.block_on(listen::serve(listener, service, signals, stop, Limits::DAEMON, None));
        // Ends the tasks that hold the writer; dropping the last one waits until its queue is empty.
        runtime.shutdown_timeout(listen::SHUTDOWN_GRACE);
        served
    }
}

/// What a project is called: its directory.
fn project_name(store: &StoreDir) -> String {
    let name = store.project_dir().file_name().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "Pensa".to_owned())
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

/// Stops a running server.
#[derive(Debug, Clone)]
pub struct ShutdownHandle(Arc<watch::Sender<bool>>);

impl ShutdownHandle {
    pub fn shutdown(&self) {
        self.0.send_replace(true);
    }
}

//! The server for a team: many projects behind tokens with roles.
//!
//! Any number of these can run in front of one database. They keep nothing of their own but caches that are a few
//! seconds old at most.

mod admission;
mod desk;
mod service;

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use pensa_core::{Code, Error, Result};
use pensa_engine::Projects;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tracing::level_filters::LevelFilter;

pub(crate) use desk::Desk;

use crate::limit::RateLimit;
use crate::listen::{self, Limits, Signals};
use crate::logs::Log;
use crate::mcp::http::Callers;
use crate::tls::Tls;
use crate::{ShutdownHandle, router};
use service::TeamService;

/// Threads that may wait for a database.
const BLOCKING_THREADS: usize = 128;

/// How a team's server listens and whom it lets do how much.
#[derive(Debug, Clone)]
pub struct TeamOptions {
    pub listen: SocketAddr,
    /// The files of a certificate and its key.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Whether something in front of it sees to encryption.
    pub behind_proxy: bool,
    /// Requests a second for each token; 0 is no limit.
    pub rate: u32,
    /// Requests at once for each token.
    pub burst: u32,
    pub log: LevelFilter,
}

/// A server whose socket is open and whose database was reached.
#[derive(Debug)]
pub struct TeamServer {
    listener: TcpListener,
    address: SocketAddr,
    service: TeamService,
    runtime: Runtime,
    signals: Signals,
    stop: Arc<watch::Sender<bool>>,
    tls: Option<Tls>,
    log: Log,
}

impl TeamServer {
    pub fn bind(projects: Projects, options: &TeamOptions) -> Result<Self> {
        if options.tls.is_none() && !options.behind_proxy && !options.listen.ip().is_loopback() {
            return Err(Error::new(
                Code::Forbidden,
                format!("tokens would travel unencrypted beyond this machine on {}", options.listen),
            )
            .hint("give --tls-cert and --tls-key, or --behind-proxy if a proxy in front encrypts"));
        }
        let runtime = crate::runtime(BLOCKING_THREADS)?;
        let signals = {
            let _inside = runtime.enter();
            Signals::watch()?
        };
        let log = Log::start(options.log);
        let tls = options.tls.as_ref().map(|(cert, key)| Tls::load(cert, key)).transpose()?;
        let (listener, address) = listen::bind(options.listen)?;
        let stop = Arc::new(watch::Sender::new(false));
        let desk = Desk::open(projects, RateLimit::new(options.rate, options.burst))?;
        let router = router::of_catalog(stop.subscribe(), &Callers::WithToken)?;
        let service = TeamService::new(desk, router, log.dropped());
        Ok(Self { listener, address, service, runtime, signals, stop, tls, log })
    }

    /// The address in use, with the port that the system chose if none was asked for.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The address to call.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        match self.address.ip().is_unspecified() {
            true => format!("{scheme}://localhost:{}", self.address.port()),
            false => format!("{scheme}://{}", self.address),
        }
    }

    /// A handle that stops the server as SIGTERM does.
    pub fn handle(&self) -> ShutdownHandle {
        ShutdownHandle(Arc::clone(&self.stop))
    }

    /// Serves until SIGTERM, SIGINT or the handle says to stop; what is in flight by then is answered.
    pub fn serve(self) -> Result<()> {
        let address = self.url();
        let Self { listener, service, runtime, signals, stop, tls, log, .. } = self;
        tracing::info!(address, "serving");
        let served = runtime.block_on(listen::serve(listener, service, signals, stop, Limits::TEAM, tls));
        runtime.shutdown_timeout(listen::GRACE);
        tracing::info!("stopped");
        drop(log);
        served
    }
}

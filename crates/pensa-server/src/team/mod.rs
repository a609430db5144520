//! Serves many projects to a team, behind tokens with roles.
//!
//! Any number of servers can run in front of one database. Their only own state is caches that are at most a few
//! seconds old.

mod badges;
mod service;
mod state;
mod token_cache;
mod web;

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use pensa_core::{Code, Error, Result};
use pensa_engine::Projects;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tracing::level_filters::LevelFilter;

pub(crate) use state::ServerState;

use crate::listen::{self, Limits, StopSignals};
use crate::logs::Log;
use crate::mcp::http::AllowedCallers;
use crate::rate_limit::RateLimit;
use crate::tls::Tls;
use crate::{ShutdownHandle, router};
use badges::PublicBadges;
use service::TeamService;
use web::TeamPages;

/// Threads that may block on the database.
const BLOCKING_THREADS: usize = 128;

/// Options of a team server.
#[derive(Debug, Clone)]
pub struct TeamOptions {
    pub listen: SocketAddr,
    /// Paths of the certificate and its key.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Whether a proxy in front of the server handles encryption.
    pub behind_proxy: bool,
    /// Requests per second for each token; 0 means no limit.
    pub rate: u32,
    /// Burst size for each token.
    pub burst: u32,
    /// Whether badges and charts of every project are shown without a token.
    pub public_badges: bool,
    pub log: LevelFilter,
}

/// A team server whose socket is open and whose database is reachable.
#[derive(Debug)]
pub struct TeamServer {
    listener: TcpListener,
    address: SocketAddr,
    service: TeamService,
    runtime: Runtime,
    signals: StopSignals,
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
            StopSignals::watch()?
        };
        let log = Log::start(options.log);
        let tls = options.tls.as_ref().map(|(cert, key)| Tls::load(cert, key)).transpose()?;
        let (listener, address) = listen::bind(options.listen)?;
        let stop = Arc::new(watch::Sender::new(false));
        let server = ServerState::open(projects, RateLimit::new(options.rate, options.burst))?;
        let router = router::build(stop.subscribe(), &AllowedCallers::WithToken)?;
        let is_encrypted = tls.is_some() || options.behind_proxy;
        let pages = TeamPages::new(Arc::clone(&server), is_encrypted, stop.subscribe());
        let badges = options.public_badges.then(|| Arc::new(PublicBadges::new(Arc::clone(&server))));
        let service = TeamService::new(server, router, pages, badges, log.dropped());
        Ok(Self { listener, address, service, runtime, signals, stop, tls, log })
    }

    /// The address in use; its port was chosen by the system if 0 was requested.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The URL for clients on this machine.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        match self.address.ip().is_unspecified() {
            true => format!("{scheme}://localhost:{}", self.address.port()),
            false => format!("{scheme}://{}", self.address),
        }
    }

    /// Returns a handle that stops the server like SIGTERM.
    pub fn handle(&self) -> ShutdownHandle {
        ShutdownHandle(Arc::clone(&self.stop))
    }

    /// Serves until SIGTERM, SIGINT or the handle stops it; requests in flight are answered.
    pub fn serve(self) -> Result<()> {
        let address = self.url();
        let Self { listener, service, runtime, signals, stop, tls, log, .. } = self;
        tracing::info!(address, "serving");
        let served = runtime.block_on(listen::serve(listener, service, signals, stop, Limits::TEAM, tls));
        runtime.shutdown_timeout(listen::SHUTDOWN_GRACE);
        tracing::info!("stopped");
        drop(log);
        served
    }
}

//! Runs a daemon (`pn daemon`) or a team server (`pn serve`) in the foreground. Without the feature `server`,
//! `serve_absent` is built instead.

use std::cell::OnceCell;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::thread;
use std::time::Duration;

use pensa_client::config::{GC_AFTER, GC_AUTO};
use pensa_client::{Client, locate};
use pensa_core::dirs::{self, Platform};
use pensa_core::ops::gc::Gc;
use pensa_core::ops::store::Info;
use pensa_core::{Error, Result, Span, VERSION};
use pensa_engine::{Engine, Projects};
use pensa_server::{LevelFilter, Options as ServerOptions, Server, TeamOptions, TeamServer};
use serde::Serialize;

use super::daemon::DaemonArgs;
use super::server::MissingDir;
use super::server::{LogLevel, ServeArgs};
use super::web::{PagesAddress, WebArgs};
use super::{daemon, gc, job, recover, run as runs, server, snapshot};
use crate::cli::GlobalOptions;
use crate::connect::{self, StateLocation};
use crate::output::Output;
use crate::render::{Render, Screen};

pub(super) use super::mcp::run as mcp;

/// Pause between two rounds of a collection, so that other writers get the store.
const ROUND_PAUSE: Duration = Duration::from_millis(100);

/// How often a daemon removes old data.
const COLLECT_INTERVAL: Duration = Duration::from_secs(86_400);

/// When a daemon does so first, unless `gc.after` is set.
const FIRST_COLLECT_DELAY: Span = Span::from_millis(60_000);

pub(super) fn daemon(options: &GlobalOptions, output: Output, args: DaemonArgs) -> Result<()> {
    let own;
    let (options, store) = match &args.project_dir {
        Some(dir) => {
            let dir = connect::cwd()?.join(dir);
            let store = connect::create_store(&locate::new_store_root(&dir))?.0;
            // The settings are those of the project, not of the current directory.
            own = GlobalOptions { store: Some(dir), config: OnceCell::new(), ..options.clone() };
            (&own, store)
        }
        None => (options, connect::store(options)?),
    };
    let engine = connect::open_engine(options, store.clone())?;
    let info = engine.call("daemon", &Info {})?;
    let reconciled = engine.new_handle().and_then(|own| {
        let own = Client::embedded(own, Box::new(|| "daemon".to_owned()));
        runs::reconcile(&own, &StateLocation::Store(store.clone()))?;
        job::reconcile(&own)?;
        recover::loops(&own, Some(store.root())).map(drop)
    });
    if let Err(e) = reconciled {
        output.warning(&format!("runs, jobs and loops whose processes are gone were left as they are: {}", e.message));
    }
    collect_daily(options, output, &engine, &store.local_dir("snapshots")?)?;
    let listen = SocketAddr::new(args.listen, args.port);
    #[cfg(feature = "semantic")]
    let engine = super::models::embed_in_background(output, engine)?;
    let server = Server::bind(
        engine,
        ServerOptions { listen, allowed_hosts: args.allowed_hosts, actor: connect::actor_source(options)?() },
    )?;
    output.answer(&daemon::daemon_info(url_of(server.local_addr()), info))?;
    server.serve()
}

/// Serves the pages of the project's store to its user.
pub(super) fn web(options: &GlobalOptions, output: Output, args: &WebArgs) -> Result<()> {
    let engine = connect::open_engine(options, connect::store(options)?)?;
    let listen = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), args.port);
    let actor = connect::actor_source(options)?();
    let server = Server::bind(engine, ServerOptions { listen, allowed_hosts: Vec::new(), actor })?;
    let address = url_of(server.local_addr());
    let entry = format!("{address}{}", server.entry_path());
    // Where the system tells whose connection it is, the plain address suffices.
    let url = if cfg!(target_os = "linux") { format!("{address}/") } else { entry.clone() };
    output.answer(&PagesAddress { url })?;
    args.open(output, &entry);
    server.serve()
}

/// The URL to call the daemon at; `localhost` if it listens on every address.
fn url_of(address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        return format!("http://localhost:{}", address.port());
    }
    format!("http://{address}")
}

/// Removes old data in a thread, soon after the daemon starts and then daily.
fn collect_daily(options: &GlobalOptions, output: Output, engine: &Engine, snapshots: &Path) -> Result<()> {
    let config = connect::config(options)?;
    let limits = gc::limits(&config)?;
    let first = config.parsed::<Span>(&GC_AFTER)?.unwrap_or(FIRST_COLLECT_DELAY);
    let (is_on, older_than) = (config.is_on(&GC_AUTO)?, Some(gc::age(&config, None)?));
    let (own, snapshots) = (engine.new_handle()?, snapshots.to_owned());
    let work = move || {
        let client = Client::embedded(own, Box::new(|| "daemon".to_owned()));
        let context = snapshot::SnapshotContext::at(client, snapshots, output);
        thread::sleep(Duration::from_millis(first.as_millis().unsigned_abs()));
        loop {
            let collected = gc::warnings(&context.client, limits).and_then(|warnings| {
                warnings.iter().for_each(|warning| output.warning(warning));
                if !is_on {
                    return Ok(());
                }
                let op = Gc { older_than, dry_run: false };
                let done = gc::collect(&context.client, &op, || thread::sleep(ROUND_PAUSE))?;
                context.collect(done.until, false).map(drop)
            });
            if let Err(e) = collected {
                output.warning(&format!("what is old was not removed: {}", e.message));
            }
            thread::sleep(COLLECT_INTERVAL);
        }
    };
    // The thread is not joined: each round is one transaction, so it may be cut off.
    thread::Builder::new().name("pensa-gc".into()).spawn(work).map(drop).map_err(Error::internal)
}

#[derive(Debug, Serialize)]
struct ServerInfo {
    url: String,
    place: String,
    version: &'static str,
}

impl Render for ServerInfo {
    fn render(&self, screen: &mut Screen) {
        screen.plain("serving ").text(&self.place).plain(" at ").text(&self.url).plain("/p/PROJECT").end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.url.clone()]
    }
}

pub(super) fn team(output: Output, args: &ServeArgs) -> Result<()> {
    let projects = match server::projects_at(&args.location, usize::from(args.pool_size), MissingDir::Create)? {
        Some(projects) => projects,
        None => {
            let dir = dirs::server_root(Platform::HERE, |name| std::env::var_os(name));
            let dir = dir.ok_or_else(|| Error::invalid("there is no place for projects").hint("give --data-dir"))?;
            Projects::make_directory(&dir)?
        }
    };
    let place = projects.display_name();
    let options = TeamOptions {
        listen: args.listen,
        tls: args.tls_cert.clone().zip(args.tls_key.clone()),
        behind_proxy: args.behind_proxy,
        public_badges: args.public_badges,
        rate: args.rate,
        burst: args.burst,
        log: match args.log {
            LogLevel::Off => LevelFilter::OFF,
            LogLevel::Error => LevelFilter::ERROR,
            LogLevel::Info => LevelFilter::INFO,
        },
    };
    let server = TeamServer::bind(projects, &options)?;
    output.answer(&ServerInfo { url: server.url(), place, version: VERSION })?;
    server.serve()
}

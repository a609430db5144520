//! Runs a daemon (`pn daemon`) or the server of a team (`pn serve`), in the foreground. A build without the feature
//! `server` has `serve_absent` instead.

use std::cell::OnceCell;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::Duration;

use pensa_client::Client;
use pensa_client::config::{GC_AFTER, GC_AUTO};
use pensa_client::locate;
use pensa_core::dirs::{self, Platform};
use pensa_core::ops::gc::Gc;
use pensa_core::ops::store::Info;
use pensa_core::{Error, Result, Span, VERSION};
use pensa_engine::{Engine, Projects};
use pensa_server::{LevelFilter, Options as ServerOptions, Server, TeamOptions, TeamServer};
use serde::Serialize;

pub(super) use super::mcp::run as mcp;
use super::server::Missing;
use super::{daemon, gc, job, recover, run as runs, server, snapshot};
use crate::cli::{Daemon, LogLevel, Options, Serve};
use crate::connect::{self, Home};
use crate::output::Output;
use crate::render::{Render, Screen};

/// How long others have the store to themselves between two rounds of a daemon.
const BREATH: Duration = Duration::from_millis(100);
/// How often a daemon collects.
const DAILY: Duration = Duration::from_secs(86_400);
/// When a daemon collects first, if nobody says another time.
const FIRST: Span = Span::from_millis(60_000);

pub(super) fn daemon(options: &Options, output: Output, args: Daemon) -> Result<()> {
    let own;
    let (options, store) = match &args.project_dir {
        Some(dir) => {
            let dir = connect::cwd()?.join(dir);
            let store = connect::create(&locate::new_store_root(&dir))?.0;
            // Its settings are those of the project, wherever it is started.
            own = Options { store: Some(dir), config: OnceCell::new(), ..options.clone() };
            (&own, store)
        }
        None => (options, connect::store(options)?),
    };
    let engine = connect::open(options, store.clone())?;
    let info = engine.call("daemon", &Info {})?;
    let settled = engine.another().and_then(|own| {
        let own = Client::embedded(own, Box::new(|| "daemon".to_owned()));
        runs::settle(&own, &Home::Store(store.clone()))?;
        job::settle(&own)?;
        recover::loops(&own, Some(store.root())).map(drop)
    });
    if let Err(e) = settled {
        output.warning(&format!("runs, jobs and loops whose processes are gone were left as they are: {}", e.message));
    }
    collect_daily(options, output, &engine, &store.local_dir("snapshots")?)?;
    let listen = SocketAddr::new(args.listen, args.port);
    let server = Server::bind(engine, ServerOptions { listen, allowed_hosts: args.allowed_hosts })?;
    output.answer(&daemon::serving(url_of(server.local_addr()), info))?;
    server.serve()
}

/// The address to call; one that means every network of this machine is called by this machine's name.
fn url_of(address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        return format!("http://localhost:{}", address.port());
    }
    format!("http://{address}")
}

/// Collects in a thread of its own, soon after the start of a daemon and then every day.
fn collect_daily(options: &Options, output: Output, engine: &Engine, snapshots: &Path) -> Result<()> {
    let config = connect::config(options)?;
    let limits = gc::limits(&config)?;
    let first = config.parsed::<Span>(&GC_AFTER)?.unwrap_or(FIRST);
    let (is_on, older_than) = (config.is_on(&GC_AUTO)?, Some(gc::age(&config, None)?));
    let (own, snapshots) = (engine.another()?, snapshots.to_owned());
    let work = move || {
        let client = Client::embedded(own, Box::new(|| "daemon".to_owned()));
        let desk = snapshot::Desk::at(client, snapshots, output);
        thread::sleep(Duration::from_millis(first.as_millis().unsigned_abs()));
        loop {
            let told = gc::warnings(&desk.client, limits).and_then(|told| {
                told.iter().for_each(|warning| output.warning(warning));
                if !is_on {
                    return Ok(());
                }
                let op = Gc { older_than, dry_run: false };
                let done = gc::collect(&desk.client, &op, || thread::sleep(BREATH))?;
                desk.collect(done.until, false).map(drop)
            });
            if let Err(e) = told {
                output.warning(&format!("what is old was not removed: {}", e.message));
            }
            thread::sleep(DAILY);
        }
    };
    // Nobody waits for it: a round is one transaction, done or not.
    thread::Builder::new().name("pensa-gc".into()).spawn(work).map(drop).map_err(Error::internal)
}

#[derive(Debug, Serialize)]
struct ServingTeam {
    url: String,
    place: String,
    version: &'static str,
}

impl Render for ServingTeam {
    fn render(&self, screen: &mut Screen) {
        screen.plain("serving ").text(&self.place).plain(" at ").text(&self.url).plain("/p/PROJECT").end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.url.clone()]
    }
}

pub(super) fn team(output: Output, args: &Serve) -> Result<()> {
    let projects = match server::place(&args.location, usize::from(args.pool_size), Missing::Make)? {
        Some(projects) => projects,
        None => {
            let dir = dirs::server_root(Platform::HERE, |name| std::env::var_os(name));
            let dir = dir.ok_or_else(|| Error::invalid("there is no place for projects").hint("give --data-dir"))?;
            Projects::make_directory(&dir)?
        }
    };
    let place = projects.place();
    let options = TeamOptions {
        listen: args.listen,
        tls: args.tls_cert.clone().zip(args.tls_key.clone()),
        behind_proxy: args.behind_proxy,
        rate: args.rate,
        burst: args.burst,
        log: match args.log {
            LogLevel::Off => LevelFilter::OFF,
            LogLevel::Error => LevelFilter::ERROR,
            LogLevel::Info => LevelFilter::INFO,
        },
    };
    let server = TeamServer::bind(projects, &options)?;
    output.answer(&ServingTeam { url: server.url(), place, version: VERSION })?;
    server.serve()
}

//! `pn daemon` and `pn daemon status`.

use std::cell::OnceCell;
use std::net::SocketAddr;

use pensa_client::{Client, locate};
use pensa_core::Result;
use pensa_core::ops::store::Info;
use pensa_server::{Options as ServerOptions, Server};
use serde::Serialize;

use super::{gc, job, recover, run as runs};
use crate::cli::{Daemon, DaemonCommand, Options};
use crate::connect::{self, Home};
use crate::output::Output;
use crate::render::{Render, Screen};

#[derive(Debug, Serialize)]
struct Serving {
    url: String,
    project_dir: String,
    version: String,
    store_id: String,
}

impl Render for Serving {
    fn render(&self, screen: &mut Screen) {
        screen.plain("daemon at ").text(&self.url).plain(" serves ").text(&self.project_dir).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.store_id.clone()]
    }
}

pub(super) fn run(options: &Options, output: Output, args: Daemon) -> Result<()> {
    match args.command {
        Some(DaemonCommand::Status) => status(options, output),
        None => serve(options, output, args),
    }
}

fn serve(options: &Options, output: Output, args: Daemon) -> Result<()> {
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
    gc::in_daemon(options, output, &engine, &store.local_dir("snapshots")?)?;
    let listen = SocketAddr::new(args.listen, args.port);
    let server = Server::bind(engine, ServerOptions { listen, allowed_hosts: args.allowed_hosts })?;
    output.answer(&serving(url_of(server.local_addr()), info))?;
    server.serve()
}

/// The address to call; one that means every network of this machine is called by this machine's name.
fn url_of(address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        return format!("http://localhost:{}", address.port());
    }
    format!("http://{address}")
}

fn status(options: &Options, output: Output) -> Result<()> {
    let server = connect::server(options)?.unwrap_or_else(connect::Server::local);
    let remote = connect::remote(options, &server)?;
    let url = remote.url().to_owned();
    let info = Client::http(remote, connect::actor_source(options)?).call(&Info {})?;
    output.answer(&serving(url, info))
}

fn serving(url: String, info: pensa_core::ops::store::StoreInfo) -> Serving {
    Serving { url, project_dir: info.project_dir, version: info.version, store_id: info.store_id }
}

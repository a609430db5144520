//! `pn daemon status`. To run a daemon is left to `serve`.

use pensa_client::Client;
use pensa_core::Result;
use pensa_core::ops::store::Info;
use serde::Serialize;

use super::serve;
use crate::cli::{Daemon, DaemonCommand, Options};
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

#[derive(Debug, Serialize)]
pub(super) struct Serving {
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
        None => serve::daemon(options, output, args),
    }
}

fn status(options: &Options, output: Output) -> Result<()> {
    let server = connect::server(options)?.unwrap_or_else(connect::Server::local);
    let remote = connect::remote(options, &server)?;
    let url = remote.url().to_owned();
    let info = Client::http(remote, connect::actor_source(options)?).call(&Info {})?;
    output.answer(&serving(url, info))
}

pub(super) fn serving(url: String, info: pensa_core::ops::store::StoreInfo) -> Serving {
    Serving { url, project_dir: info.project_dir, version: info.version, store_id: info.store_id }
}

//! `pn daemon status`; the module `serve` runs the daemon.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use pensa_client::Client;
use pensa_core::Result;
use pensa_core::ops::store::Info;
use serde::Serialize;

use super::serve;
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

/// Serve the store over HTTP, in the foreground
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct DaemonArgs {
    #[command(subcommand)]
    pub(crate) command: Option<DaemonCommand>,
    /// The port to listen on; 0 picks a free one
    #[arg(long, default_value_t = 7533)]
    pub(crate) port: u16,
    /// The project to serve; its store is created if missing [default: the nearest store above]
    #[arg(long, value_name = "DIR")]
    pub(crate) project_dir: Option<PathBuf>,
    /// The address to listen on; beyond loopback, callers need the token in .pensa/local/token
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub(crate) listen: std::net::IpAddr,
    /// A host name that clients may use besides localhost; may be repeated
    #[arg(long = "allow-host", value_name = "HOST")]
    pub(crate) allowed_hosts: Vec<String>,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum DaemonCommand {
    /// Show whether a daemon answers, and for which project
    Status,
}

#[derive(Debug, Serialize)]
pub(super) struct DaemonInfo {
    url: String,
    project_dir: String,
    version: String,
    store_id: String,
}

impl Render for DaemonInfo {
    fn render(&self, screen: &mut Screen) {
        screen.plain("daemon at ").text(&self.url).plain(" serves ").text(&self.project_dir).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.store_id.clone()]
    }
}

pub(super) fn run(options: &GlobalOptions, output: Output, args: DaemonArgs) -> Result<()> {
    match args.command {
        Some(DaemonCommand::Status) => status(options, output),
        None => serve::daemon(options, output, args),
    }
}

fn status(options: &GlobalOptions, output: Output) -> Result<()> {
    let server = connect::server(options)?.unwrap_or_else(connect::ChosenServer::local);
    let remote = connect::remote(options, &server)?;
    let url = remote.url().to_owned();
    let info = Client::http(remote, connect::actor_source(options)?).call(&Info {})?;
    output.answer(&daemon_info(url, info))
}

pub(super) fn daemon_info(url: String, info: pensa_core::ops::store::StoreInfo) -> DaemonInfo {
    DaemonInfo { url, project_dir: info.project_dir, version: info.version, store_id: info.store_id }
}

//! `pn web`: opens the pages of a project in a browser, and serves them if no server does. Without the feature `server`,
//! `serve_absent` is built instead of what serves.

use std::process::{Command, Stdio};

use clap::Args;
use pensa_core::Result;
use pensa_core::ops::store::Info;
use serde::Serialize;

use super::serve;
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

/// Open the project in a browser: board, list, issues and more, live and editable
///
/// Serves the pages until SIGTERM or Ctrl-C, to you only. With a server configured, its pages are opened instead.
#[derive(Debug, Args)]
pub(crate) struct WebArgs {
    /// The port to listen on [default: a free one]
    #[arg(long, default_value_t = 0, hide_default_value = true, value_name = "N")]
    pub(super) port: u16,
    /// Only print the address
    #[arg(long)]
    no_open: bool,
}

/// Where the pages are.
#[derive(Debug, Serialize)]
pub(super) struct PagesAddress {
    pub(super) url: String,
}

impl Render for PagesAddress {
    fn render(&self, screen: &mut Screen) {
        screen.text(&self.url).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.url.clone()]
    }
}

pub(super) fn run(options: &GlobalOptions, output: Output, args: &WebArgs) -> Result<()> {
    let Some(server) = connect::server(options)? else {
        return serve::web(options, output, args);
    };
    let remote = connect::remote(options, &server)?;
    let url = format!("{}/ui/board", remote.url().trim_end_matches('/'));
    // A server that cannot be reached is an error here, not in the browser.
    connect::client(options)?.call(&Info {})?;
    output.answer(&PagesAddress { url: url.clone() })?;
    args.open(output, &url);
    Ok(())
}

impl WebArgs {
    /// Opens a browser. A machine without one is none the worse.
    pub(super) fn open(&self, output: Output, url: &str) {
        if self.no_open {
            return;
        }
        let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        let mut browser = Command::new(program);
        browser.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Err(e) = browser.spawn() {
            output.note(&format!("note: no browser was opened ({program}: {e}); open the address yourself"));
        }
    }
}

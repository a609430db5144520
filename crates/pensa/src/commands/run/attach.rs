//! `pn run attach`: replaces this process with the multiplexer client that shows the window of a run.

use std::io::{self, IsTerminal};
use std::os::unix::process::CommandExt;

use pensa_client::Client;
use pensa_core::ops::run::Show;
use pensa_core::run::Run;
use pensa_core::{Code, Error, Result};
use pensa_host::supervised::{self, SupervisedKind};
use pensa_host::{self as host, mux};

use super::args::RunAttachArgs;

pub(super) fn run(client: &Client, args: &RunAttachArgs) -> Result<()> {
    let run = client.call(&Show { id: args.id.clone() })?;
    let kind = run.mux.multiplexer_kind.ok_or_else(|| {
        let message = format!("{} is in no window of a terminal multiplexer", run.id);
        Error::new(Code::Unsupported, message).hint("runs of pn run exec --mux are")
    })?;
    if run.status.is_over() {
        let message = format!("{} has {}, and its window is gone", run.id, run.status);
        return Err(Error::new(Code::InvalidStatusTransition, message).hint(format!("see pn run logs {}", run.id)));
    }
    let here = host::name();
    if let Some(host) = run.host.as_ref().filter(|host| **host != here) {
        let message = format!("the window of {} is on {host}, and this is {here}", run.id);
        return Err(Error::new(Code::Unsupported, message).hint("attach to it there"));
    }
    mux::require_installed(kind)?;
    // The record may name any window, so the window is taken from the environment of the command itself.
    let supervised_run = supervised::find(SupervisedKind::Run, run.id.as_str()).ok_or_else(|| unknown(&run))?;
    let theirs = |name: &str| supervised_run.variable(name);
    let mut line = mux::attach(kind, &|name| std::env::var_os(name), &theirs).ok_or_else(|| unknown(&run))?;
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(Error::new(Code::Unsupported, "attaching needs a terminal")
            .hint(format!("pn run logs -f {} shows the output without one", run.id)));
    }
    Err(Error::internal(format!("cannot run {}: {}", kind.as_str(), line.exec())))
}

fn unknown(run: &Run) -> Error {
    Error::new(Code::NotFound, format!("which window {} is in is not known", run.id))
        .hint(format!("pn run logs -f {} shows its output", run.id))
}

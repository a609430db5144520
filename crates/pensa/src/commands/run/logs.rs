//! `pn run logs`: what a run wrote, from the file on the machine that it runs on.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::thread;
use std::time::Duration;

use pensa_client::Client;
use pensa_core::ops::run::Show;
use pensa_core::run::Run;
use pensa_core::{Code, Error, Result};

use crate::cli::RunLogs;
use crate::host;

/// How often a file that grows is looked at.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) fn print(client: &Client, args: &RunLogs) -> Result<()> {
    let mut run = client.call(&Show { id: args.id.clone() })?;
    let mut log = open(&run)?;
    loop {
        // Before the file is read: what comes after the end of a run is nothing.
        let is_over = run.status.is_over();
        if !copy(&mut log)? || !args.follow || is_over {
            return Ok(());
        }
        thread::sleep(PAUSE);
        run = client.call(&Show { id: args.id.clone() })?;
        if !run.status.is_over() {
            super::settle(client)?;
        }
    }
}

fn open(run: &Run) -> Result<File> {
    let path = run.log_path.as_ref().ok_or_else(|| {
        Error::new(Code::NotFound, format!("{} has no log", run.id)).hint("runs of pn run exec have one")
    })?;
    let here = host::name();
    if let Some(host) = run.host.as_ref().filter(|host| **host != here) {
        return Err(Error::new(Code::Unsupported, format!("the log of {} is on {host}, and this is {here}", run.id))
            .hint(format!("look at {path} there")));
    }
    File::open(path).map_err(|e| Error::new(Code::NotFound, format!("cannot read the log of {}: {path}: {e}", run.id)))
}

/// Prints what there is; false if nobody reads it any more.
fn copy(log: &mut File) -> Result<bool> {
    let failed = |e: io::Error| Error::internal(format!("cannot read the log: {e}"));
    let mut buffer = vec![0; 64 << 10];
    let mut to = io::stdout().lock();
    loop {
        let count = log.read(&mut buffer).map_err(failed)?;
        if count == 0 {
            // A file that was cut begins anew.
            let at = log.stream_position().map_err(failed)?;
            if log.metadata().map_err(failed)?.len() < at {
                log.seek(SeekFrom::Start(0)).map_err(failed)?;
                continue;
            }
            return Ok(to.flush().is_ok());
        }
        if to.write_all(&buffer[..count]).is_err() {
            return Ok(false);
        }
    }
}

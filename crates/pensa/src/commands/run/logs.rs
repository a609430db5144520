//! `pn run logs`: prints the log of a run on this machine.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use pensa_client::Client;
use pensa_core::id::RunId;
use pensa_core::ops::run::Show;
use pensa_core::run::Run;
use pensa_core::{Code, Error, Result};
use pensa_host as host;
use rustix::fs::OFlags;

use super::args::RunLogsArgs;
use crate::cli::GlobalOptions;
use crate::connect::{self, StateLocation};

/// The directory of logs among the local files of a store.
pub(super) const LOGS: &str = "runs";

/// How often a growing log is read.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The path of the log of a run.
pub(super) fn log_file(dir: &Path, id: &RunId) -> PathBuf {
    dir.join(format!("{id}.log"))
}

pub(super) fn print(options: &GlobalOptions, home: &StateLocation, client: &Client, args: &RunLogsArgs) -> Result<()> {
    let mut run = client.call(&Show { id: args.id.clone() })?;
    // A run of this project may be queried through a server, but its log is in the store here.
    let project = connect::project_store(options).map(|store| store.root().join("local").join(LOGS));
    let mut log = open(&run, home.private_path(LOGS).into_iter().chain(project))?;
    loop {
        // Checked before reading: after the end of a run nothing is added.
        let is_over = run.status.is_over();
        if !print_rest(&mut log)? || !args.follow || is_over {
            return Ok(());
        }
        thread::sleep(POLL_INTERVAL);
        run = client.call(&Show { id: args.id.clone() })?;
        if !run.status.is_over() {
            super::reconcile(client, home)?;
        }
    }
}

/// Opens the log of a run in one of our log directories. The path in the record may name any file, so it is not used.
fn open(run: &Run, dirs: impl Iterator<Item = PathBuf>) -> Result<File> {
    let path = run.log_path.as_ref().ok_or_else(|| {
        Error::new(Code::NotFound, format!("{} has no log", run.id)).hint("runs of pn run exec have one")
    })?;
    let here = host::name();
    if let Some(host) = run.host.as_ref().filter(|host| **host != here) {
        return Err(Error::new(Code::Unsupported, format!("the log of {} is on {host}, and this is {here}", run.id))
            .hint(format!("look at {path} there")));
    }
    for dir in dirs {
        match open_own(&dir, &run.id) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            opened => return opened.map_err(|e| unreadable(run, &log_file(&dir, &run.id), &e)),
        }
    }
    if Path::new(path).file_name() == log_file(Path::new(""), &run.id).file_name() {
        return Err(unreadable(run, Path::new(path), &io::ErrorKind::NotFound.into()));
    }
    Err(Error::new(Code::Forbidden, format!("the log of {} is not among the logs of this store: {path}", run.id))
        .hint("look at the file yourself if you know who recorded it"))
}

fn unreadable(run: &Run, path: &Path, e: &io::Error) -> Error {
    Error::new(Code::NotFound, format!("cannot read the log of {}: {}: {e}", run.id, path.display()))
}

/// Opens a log without following links; it must be a regular file, and its directory must not be a link.
fn open_own(dir: &Path, id: &RunId) -> io::Result<File> {
    let flags = |flags: OFlags| flags.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags(OFlags::NOFOLLOW | OFlags::DIRECTORY)).open(dir)?;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags(OFlags::NOFOLLOW | OFlags::NONBLOCK))
        .open(log_file(dir, id))?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a file")) }
}

/// Prints the rest of a log. Returns false if the reader closed the pipe.
fn print_rest(log: &mut File) -> Result<bool> {
    let failed = |e: io::Error| Error::internal(format!("cannot read the log: {e}"));
    let mut buffer = vec![0; 64 << 10];
    let mut to = io::stdout().lock();
    loop {
        let count = log.read(&mut buffer).map_err(failed)?;
        if count == 0 {
            // The file was truncated: start again.
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

//! `pn run logs`: what a run wrote, from the file on the machine that it runs on.

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

use crate::cli::{Options, RunLogs};
use crate::connect::{self, Home};

/// The directory of a store in which logs are kept.
pub(super) const LOGS: &str = "runs";

/// How often a file that grows is looked at.
const PAUSE: Duration = Duration::from_millis(100);

/// The log of a run in the directory of logs.
pub(super) fn log_file(dir: &Path, id: &RunId) -> PathBuf {
    dir.join(format!("{id}.log"))
}

pub(super) fn print(options: &Options, home: &Home, client: &Client, args: &RunLogs) -> Result<()> {
    let mut run = client.call(&Show { id: args.id.clone() })?;
    // A run of the project here may be asked for through a server.
    let project = connect::project_store(options).map(|store| store.root().join("local").join(LOGS));
    let mut log = open(&run, home.private_path(LOGS).into_iter().chain(project))?;
    loop {
        // Before the file is read: what comes after the end of a run is nothing.
        let is_over = run.status.is_over();
        if !copy(&mut log)? || !args.follow || is_over {
            return Ok(());
        }
        thread::sleep(PAUSE);
        run = client.call(&Show { id: args.id.clone() })?;
        if !run.status.is_over() {
            super::settle(client, home)?;
        }
    }
}

/// Opens the log of a run. The path in the record is information: it may name any file, so only the directories of logs on
/// this machine are looked in.
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

/// Opens a log that is a file of its own; links and what is no file are refused, as is a directory that is a link.
fn open_own(dir: &Path, id: &RunId) -> io::Result<File> {
    let flags = |flags: OFlags| flags.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags(OFlags::NOFOLLOW | OFlags::DIRECTORY)).open(dir)?;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags(OFlags::NOFOLLOW | OFlags::NONBLOCK))
        .open(log_file(dir, id))?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a file")) }
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

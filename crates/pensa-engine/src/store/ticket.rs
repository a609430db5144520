//! The writer's ticket: a file lock taken before a write transaction, so that writers wait in the kernel's queue.
//!
//! SQLite's own busy handler polls, and past thirty-odd writers some starve beyond any timeout.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use pensa_core::{Code, Error, Result};

use super::{StoreDir, replaced};
use crate::error;

/// The name of the file.
pub(crate) const FILE: &str = "writer.lock";

/// Longest wait for other writers.
const PATIENCE: Duration = Duration::from_secs(30);

/// The right to write; given back when dropped.
#[derive(Debug)]
pub(crate) struct Ticket(File);

pub(crate) fn take(store: &StoreDir) -> Result<Ticket> {
    let path = store.writer_lock();
    if !store.durable().is_dir() {
        if store.durable() != store.local() {
            // It was moved or deleted: the store has to be opened again.
            return Err(replaced());
        }
        store.local_dir("")?;
    }
    let ticket = lock(&path)?;
    // A lock that was moved or deleted excludes nobody.
    if ticket.0.metadata().is_ok_and(|meta| meta.nlink() > 0) { Ok(ticket) } else { Err(replaced()) }
}

/// Takes the lock in this file.
pub(crate) fn lock(path: &Path) -> Result<Ticket> {
    let file = open(path).map_err(|e| error::io("open", path, &e))?;
    match file.try_lock() {
        Ok(()) => Ok(Ticket(file)),
        Err(TryLockError::WouldBlock) => wait(path.to_owned()),
        Err(TryLockError::Error(e)) => Err(error::io("lock", path, &e)),
    }
}

/// Where nothing may be written, as in some sandboxes, a lock that is there can be taken all the same.
fn open(path: &Path) -> io::Result<File> {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    StoreDir::open_private(path).or_else(|e| match e.kind() {
        PermissionDenied | ReadOnlyFilesystem => StoreDir::open_plain(path).map_err(|_| e),
        _ => Err(e),
    })
}

/// The ticket, if nobody else has it or waits for it.
pub(crate) fn try_take(store: &StoreDir) -> Option<Ticket> {
    let file = open(&store.writer_lock()).ok()?;
    file.try_lock().ok().map(|()| Ticket(file))
}

/// Waits in the kernel's queue, on a thread of its own because that wait has no timeout. A thread left behind
/// ends when the lock comes, and its file (opened there, so not shared with ours) gives the lock back at once.
fn wait(path: PathBuf) -> Result<Ticket> {
    let (send, receive) = mpsc::channel();
    let lock = path.clone();
    thread::spawn(move || {
        let locked = open(&lock).and_then(|file| file.lock().map(|()| file));
        let _ = send.send(locked);
    });
    match receive.recv_timeout(PATIENCE) {
        Ok(Ok(file)) => Ok(Ticket(file)),
        Ok(Err(e)) => Err(error::io("lock", &path, &e)),
        Err(_) => Err(Error::new(
            Code::Busy,
            format!("another process has held the store's write lock for {} seconds", PATIENCE.as_secs()),
        )
        .hint("see whether a pn process is stopped or stuck, then try again")),
    }
}

//! The writer's ticket: a file lock taken before a write transaction, so that writers wait in the kernel's queue.
//!
//! SQLite's own busy handler polls, and past thirty-odd writers some starve beyond any timeout.

use std::fs::{File, TryLockError};
use std::io;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use pensa_core::{Code, Error, Result};

use crate::error;
use crate::store::StoreDir;

/// Longest wait for other writers.
const PATIENCE: Duration = Duration::from_secs(30);

/// The right to write; given back when dropped.
#[derive(Debug)]
pub(crate) struct Ticket(#[expect(dead_code, reason = "the lock lives as long as the file is open")] File);

pub(crate) fn take(store: &StoreDir) -> Result<Ticket> {
    let path = store.writer_lock();
    let file = match StoreDir::open_private(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            store.local_dir("")?;
            StoreDir::open_private(&path)
        }
        opened => opened,
    };
    let file = file.map_err(|e| error::io("open", &path, &e))?;
    match file.try_lock() {
        Ok(()) => Ok(Ticket(file)),
        Err(TryLockError::WouldBlock) => wait(path),
        Err(TryLockError::Error(e)) => Err(error::io("lock", &path, &e)),
    }
}

/// The ticket, if nobody else has it or waits for it.
pub(crate) fn try_take(store: &StoreDir) -> Option<Ticket> {
    let file = StoreDir::open_private(&store.writer_lock()).ok()?;
    file.try_lock().ok().map(|()| Ticket(file))
}

/// Waits in the kernel's queue, on a thread of its own because that wait has no timeout. A thread left behind
/// ends when the lock comes, and its file (opened there, so not shared with ours) gives the lock back at once.
fn wait(path: PathBuf) -> Result<Ticket> {
    let (send, receive) = mpsc::channel();
    let lock = path.clone();
    thread::spawn(move || {
        let locked = StoreDir::open_private(&lock).and_then(|file| file.lock().map(|()| file));
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

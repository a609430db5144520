//! The writer lock: a file lock taken before each write transaction, so that writers queue in the kernel.
//!
//! SQLite's own busy handler polls. With more than about thirty writers, some of them starve beyond any timeout.

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

/// How long a writer waits for other writers.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// The held lock; released when dropped.
#[derive(Debug)]
pub(crate) struct WriterLock(File);

/// Waits for the lock of a store.
pub(crate) fn acquire(store: &StoreDir) -> Result<WriterLock> {
    let path = store.writer_lock();
    if !store.durable().is_dir() {
        if store.durable() != store.local() {
            // The durable directory was moved or deleted: the store must be opened again.
            return Err(replaced());
        }
        store.local_dir("")?;
    }
    let lock = lock_file(&path)?;
    // A lock file that was moved or deleted excludes nobody.
    if lock.0.metadata().is_ok_and(|meta| meta.nlink() > 0) { Ok(lock) } else { Err(replaced()) }
}

/// Waits for the lock in this file.
pub(crate) fn lock_file(path: &Path) -> Result<WriterLock> {
    let file = open(path).map_err(|e| error::io("open", path, &e))?;
    match file.try_lock() {
        Ok(()) => Ok(WriterLock(file)),
        Err(TryLockError::WouldBlock) => wait(path.to_owned()),
        Err(TryLockError::Error(e)) => Err(error::io("lock", path, &e)),
    }
}

/// Opens the lock file; where nothing can be written, as in some sandboxes, an existing file can still be locked.
fn open(path: &Path) -> io::Result<File> {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    StoreDir::open_private(path).or_else(|e| match e.kind() {
        PermissionDenied | ReadOnlyFilesystem => StoreDir::open_plain(path).map_err(|_| e),
        _ => Err(e),
    })
}

/// The lock, if no other process holds it or waits for it.
pub(crate) fn try_acquire(store: &StoreDir) -> Option<WriterLock> {
    let file = open(&store.writer_lock()).ok()?;
    file.try_lock().ok().map(|()| WriterLock(file))
}

/// Waits in the kernel's queue. The wait runs on a thread of its own, because it has no timeout. After a timeout, that
/// thread ends as soon as it gets the lock; it opened the file itself, so the lock is released at once.
fn wait(path: PathBuf) -> Result<WriterLock> {
    let (send, receive) = mpsc::channel();
    let lock = path.clone();
    thread::spawn(move || {
        let locked = open(&lock).and_then(|file| file.lock().map(|()| file));
        let _ = send.send(locked);
    });
    match receive.recv_timeout(LOCK_TIMEOUT) {
        Ok(Ok(file)) => Ok(WriterLock(file)),
        Ok(Err(e)) => Err(error::io("lock", &path, &e)),
        Err(_) => Err(Error::new(
            Code::Busy,
            format!("another process has held the store's write lock for {} seconds", LOCK_TIMEOUT.as_secs()),
        )
        .hint("see whether a pn process is stopped or stuck, then try again")),
    }
}

//! Confirms the time before anything runs out by it: a process with a wrong clock must not free what others hold.

use std::fs::File;

use pensa_core::{Result, Span, Timestamp};
use rustix::fs::{Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};

use crate::context::Context;
use crate::db::{Tx, params};
use crate::store::{Home, StoreDir};

/// Clocks of one machine differ by less.
const TOLERATED: Span = Span::from_millis(60_000);

/// The time by which leases and locks run out: the caller's, unless that is far beyond the file system's; without one,
/// beyond the last event's. A server's database has one clock for all, the server's.
pub(crate) fn confirmed(cx: &Context<'_>, tx: &Tx<'_>) -> Result<Timestamp> {
    let Home::Dir(store) = cx.store else { return Ok(cx.now) };
    if !cx.is_by_system_clock {
        return Ok(cx.now);
    }
    let other = match file_system_now(store) {
        Some(now) => Some(now),
        None => {
            tx.query_one("SELECT created_at FROM events ORDER BY id DESC LIMIT 1", params![], |row| row.parse(0))?
        }
    };
    Ok(other.filter(|other| cx.now > other.plus(TOLERATED)).unwrap_or(cx.now))
}

/// The time that the file system gives to a file that is changed now. Asked of the kernel directly: what makes a process
/// believe in another time also changes what its C library says about files.
fn file_system_now(store: &StoreDir) -> Option<Timestamp> {
    let file: File = StoreDir::open_private(&store.writer_lock()).ok()?;
    let at = |nanos| Timespec { tv_sec: 0, tv_nsec: nanos };
    let times = Timestamps { last_access: at(UTIME_OMIT), last_modification: at(UTIME_NOW) };
    rustix::fs::futimens(&file, &times).ok()?;
    let stat = rustix::fs::fstat(&file).ok()?;
    let millis = i64::try_from(stat.st_mtime_nsec).ok()? / 1_000_000;
    Timestamp::from_millis(stat.st_mtime.checked_mul(1000)?.checked_add(millis)?).ok()
}

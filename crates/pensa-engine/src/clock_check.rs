//! Checks the clock before a lease or lock expires: a process with a wrong clock must not release what others hold.

use std::fs::File;

use pensa_core::{Result, Span, Timestamp};
use rustix::fs::{Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};

use crate::context::Context;
use crate::db::{Tx, params};
use crate::store::{StoreDir, StoreLocation};

/// The clocks of one machine differ by less than this.
const TOLERATED: Span = Span::from_millis(60_000);

/// The time used for the expiry of leases and locks. It is the caller's time, unless that is far ahead of the file
/// system's time or, if that is unknown, of the last event. A server's database has a single clock, the server's.
pub(crate) fn confirmed(cx: &Context<'_>, tx: &Tx<'_>) -> Result<Timestamp> {
    let StoreLocation::Dir(store) = cx.store else { return Ok(cx.now) };
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

/// The time that the file system gives to a file that changes now. It uses system calls directly: a library such as
/// libfaketime, which gives a process another time, also changes file times in the C library.
fn file_system_now(store: &StoreDir) -> Option<Timestamp> {
    let file: File = StoreDir::open_private(&store.writer_lock()).ok()?;
    let at = |nanos| Timespec { tv_sec: 0, tv_nsec: nanos };
    let times = Timestamps { last_access: at(UTIME_OMIT), last_modification: at(UTIME_NOW) };
    rustix::fs::futimens(&file, &times).ok()?;
    let stat = rustix::fs::fstat(&file).ok()?;
    let millis = i64::try_from(stat.st_mtime_nsec).ok()? / 1_000_000;
    Timestamp::from_millis(stat.st_mtime.checked_mul(1000)?.checked_add(millis)?).ok()
}

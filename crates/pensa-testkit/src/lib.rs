//! Hermetic surroundings for tests that run the real `pn`: a machine of its own, its daemon, its disks, its PostgreSQL.
//!
//! Knows processes and directories only; what `pn` should answer is left to the tests.

mod daemon;
mod disk;
pub mod http;
pub mod mcp;
pub mod postgres;
pub mod prek;
pub mod pypi;
mod run;
mod sandbox;

use std::thread;
use std::time::{Duration, Instant};

pub use daemon::{Daemon, reap};
pub use disk::Disk;
pub use http::{Http, Reply};
pub use run::{Answer, Run};
pub use sandbox::{Mode, Sandbox};

/// Longest wait for anything that is bound to happen.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Asks again and again until there is an answer; panics, naming `what`, when there never is one.
#[track_caller]
pub fn eventually<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, what, ask)
}

/// The same with a shorter patience, for what is promised to happen in time.
#[track_caller]
pub fn within<T>(time: Duration, what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + time;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "waited {time:?} in vain: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

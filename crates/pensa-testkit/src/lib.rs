//! Hermetic environments for tests that run the real `pn`: a home directory and project, a daemon, small disks,
//! PostgreSQL.
//!
//! ```no_run
//! use pensa_testkit::Sandbox;
//!
//! let sandbox = Sandbox::with_store("target/debug/pn");
//! let issue = sandbox.pn(["create", "Write the report"]).ok_json();
//! sandbox.pn(["show", "no-such-issue"]).fails("not_found");
//! # let _ = issue;
//! ```
//!
//! Start with [`Sandbox`] and [`Run`]. [`Http`] talks to a server, [`postgres::shared`] provides databases.

pub mod browser;
pub mod clients;
mod daemon;
mod disk;
pub mod http;
pub mod mcp;
pub mod models;
pub mod networkx;
mod npm;
pub mod postgres;
pub mod prek;
mod pty;
pub mod pypi;
mod run;
mod sandbox;

use std::thread;
use std::time::{Duration, Instant};

pub use daemon::{Daemon, reap};
pub use disk::Disk;
pub use http::{Http, Reply};
pub use pty::Pty;
pub use run::{Answer, Run};
pub use sandbox::{Mode, Sandbox};

/// Time limit for anything a test waits for.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Polls until there is an answer; panics with `what` after [`PATIENCE`].
#[track_caller]
pub fn eventually<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, what, ask)
}

/// Like [`eventually`] with another time limit.
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

//! Works with this machine: supervised commands, terminals and multiplexers, processes, repositories, git hooks and agents.
//!
//! ```
//! use pensa_core::repo::Vcs;
//!
//! let dir = tempfile::tempdir()?;
//! std::fs::create_dir(dir.path().join(".hg"))?;
//! assert_eq!(pensa_host::detect(dir.path())?.vcs, Vcs::Hg);
//!
//! let this = pensa_host::process(std::process::id());
//! assert!(pensa_host::is_alive(&this));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Start with [`RunningCommand`], which runs the command of a run or job, and [`supervised`], which finds it again from
//! another process. [`hooks`] installs git hooks, [`setup`] sets agents up, [`domains`] describes a repository for them.
//! Nothing here writes to a store.

pub mod domains;
mod exec;
pub mod hooks;
pub mod mux;
mod process;
mod repo;
pub mod setup;
pub mod supervised;
mod terminal;
mod terminator;

pub use exec::{CommandExit, ProcessHandle, RunningCommand, SignalReceiver, StdioMode};
pub use process::{has_members, is_alive, is_gone, process, signal_group};
pub use repo::{DetectedTree, detect, detect_tree};
pub use terminal::enter as enter_terminal;
pub use terminator::{StopEvent, StopReason, Terminator, await_group_exit, is_termination};

/// The name of this machine.
pub fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

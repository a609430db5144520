//! What this machine tells: its name, its processes, and the repository around a directory.

mod exec;
pub(crate) mod mux;
mod process;
mod repo;
pub(crate) mod supervised;
mod terminal;

pub(crate) use exec::{Ended, Job, Leash, Place, Signals};
pub(crate) use process::{has_members, is_alive, is_gone, process, signal_group};
pub(crate) use repo::{Tree, detect, detect_tree};
pub(crate) use terminal::enter as enter_terminal;

/// The name of this machine.
pub(crate) fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

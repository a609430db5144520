//! What happens on this machine: commands under supervision, their terminals and windows, its name and processes, and the
//! repository around a directory.
//!
//! What is recorded about it is left to the commands.

mod ender;
mod exec;
pub mod hooks;
pub mod mux;
mod process;
mod repo;
pub mod supervised;
mod terminal;

pub use ender::{Ender, Why, Word, end_rest, ends};
pub use exec::{Ended, Job, Leash, Place, Signals};
pub use process::{has_members, is_alive, is_gone, process, signal_group};
pub use repo::{Tree, detect, detect_tree};
pub use terminal::enter as enter_terminal;

/// The name of this machine.
pub fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

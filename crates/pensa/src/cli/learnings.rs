//! The flags of commands on what was found out.

use clap::Subcommand;
use pensa_core::ops::learning;

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Learning {
    List(learning::List),
    Show(learning::Show),
    Verify(learning::Verify),
    Forget(learning::Forget),
}

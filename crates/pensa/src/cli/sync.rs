//! The flags of `pn sync`.

use clap::{Args, Subcommand};
use pensa_client::RemoteName;

/// Exchange changes with a server: what each has and the other lacks goes both ways
///
/// The store works on its own meanwhile; what changes waits until the next sync. Changes of the same thing are merged as
/// pn import merges them: of two values the newer is kept, and pn conflicts tells the other. What was sent before is
/// sent again without harm, so a sync may be cut off anywhere.
///
///   pn remote add home https://pensa.example.com/p/web
///   pn sync home
///   pn sync --watch
///
/// With --remote-server it is that server which exchanges changes with the other:
///
///   pn --remote-server here sync there
#[derive(Debug, Args)]
#[command(verbatim_doc_comment, args_conflicts_with_subcommands = true)]
pub(crate) struct SyncArgs {
    #[command(subcommand)]
    pub(crate) command: Option<Sync>,
    /// Which server, by its name in pn remote list [default: the setting sync.remote, else the only one]
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<RemoteName>,
    /// Go on until interrupted: sync soon after anything changes, here or there
    #[arg(long)]
    pub(crate) watch: bool,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Sync {
    Status(SyncStatus),
}

/// Tell what waits to be sent, and when it was last all exchanged
///
/// Asks no server. Without a name, tells of every server that has one:
///
///   pn sync status
///   pn sync status home --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct SyncStatus {
    /// Which server, by its name in pn remote list
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<RemoteName>,
    /// At most this many events that wait
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) limit: Option<u32>,
}

//! The commands on settings.

use clap::{Args, Subcommand};
use pensa_client::config::Layer;

/// Read and change settings
///
/// A setting is looked for in this order, and the first that says something counts:
///
///   a flag, such as --remote-server
///   the environment: PN_ and the key in capitals, such as PN_EXPORT_EVENTS for export.events
///   .pensa/local/config.toml   you, for this project
///   .pensa/config.toml         everybody who works on this project; git carries it
///   the user's config.toml     you, everywhere ($XDG_CONFIG_HOME/pensa)
///   /etc/pensa/config.toml     every user of this machine
///
/// An empty value says that there is none, whatever comes later. pn config list --all tells which keys there are.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
#[command(verbatim_doc_comment)]
pub(crate) enum Config {
    Get(ConfigGet),
    Set(ConfigSet),
    Unset(ConfigUnset),
    List(ConfigList),
}

/// Tell what a setting is
#[derive(Debug, Args)]
pub(crate) struct ConfigGet {
    /// Which one, such as export.events
    #[arg(value_name = "KEY")]
    pub(crate) key: String,
    /// Tell who says so, too: the flag, the variable, or the file and its line
    #[arg(long)]
    pub(crate) show_origin: bool,
}

/// Say what a setting is: for this project if there is one here, else for you everywhere
#[derive(Debug, Args)]
pub(crate) struct ConfigSet {
    /// Which one, such as export.events
    #[arg(value_name = "KEY")]
    pub(crate) key: String,
    /// What it is to be
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) value: String,
    #[command(flatten)]
    pub(crate) layer: In,
}

/// Say nothing any more about a setting
#[derive(Debug, Args)]
pub(crate) struct ConfigUnset {
    /// Which one, such as export.events
    #[arg(value_name = "KEY")]
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) layer: In,
}

/// List what is set
#[derive(Debug, Args)]
pub(crate) struct ConfigList {
    /// Tell who says so, too: the flag, the variable, or the file and its line
    #[arg(long)]
    pub(crate) show_origin: bool,
    /// Every key there is, with what it is for
    #[arg(long)]
    pub(crate) all: bool,
}

/// Which file is meant.
#[derive(Debug, Clone, Copy, Args)]
#[group(multiple = false)]
pub(crate) struct In {
    /// For every user of this machine
    #[arg(long)]
    system: bool,
    /// For you, everywhere
    #[arg(long)]
    user: bool,
    /// For everybody who works on this project
    #[arg(long)]
    project: bool,
    /// For you, in this project
    #[arg(long)]
    local: bool,
}

impl In {
    pub(crate) fn layer(self) -> Option<Layer> {
        let given = [
            (self.system, Layer::System),
            (self.user, Layer::User),
            (self.project, Layer::Project),
            (self.local, Layer::Local),
        ];
        given.into_iter().find(|(given, _)| *given).map(|(_, layer)| layer)
    }
}

/// Trust the server that this repository names as its remote-server
///
/// A repository can name any server. Until you trust it for this store, no command goes there or shows it a token.
#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// The address that you mean to trust: refused if the repository names another
    #[arg(value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Trust it no more
    #[arg(long)]
    pub(crate) revoke: bool,
    /// List what you trust, in all repositories
    #[arg(long, conflicts_with_all = ["url", "revoke"])]
    pub(crate) list: bool,
}

//! Daemons and servers: to run one, to name one, and to manage its projects and tokens.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use pensa_client::RemoteName;
use pensa_core::ops::{audit, project, token};

/// Serve the store over HTTP, in the foreground
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Daemon {
    #[command(subcommand)]
    pub(crate) command: Option<DaemonCommand>,
    /// The port to listen on; 0 picks a free one
    #[arg(long, default_value_t = 7533)]
    pub(crate) port: u16,
    /// The project to serve; its store is made if need be [default: the nearest store above]
    #[arg(long, value_name = "DIR")]
    pub(crate) project_dir: Option<PathBuf>,
    /// The address to listen on; beyond loopback, callers need the token in .pensa/local/token
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub(crate) listen: std::net::IpAddr,
    /// A host name under which clients may call, besides localhost; may be given again
    #[arg(long = "allow-host", value_name = "HOST")]
    pub(crate) allowed_hosts: Vec<String>,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum DaemonCommand {
    /// Tell whether a daemon answers, and for which project
    Status,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Remote {
    Add(RemoteAdd),
    /// List the servers that have names
    List,
    /// Forget a server and its token
    Remove {
        /// What the server is called
        #[arg(value_name = "NAME")]
        name: RemoteName,
    },
}

/// Give a server a name, for PN_DAEMON and --remote-server
///
/// Asks for the token of the server without showing what is typed. Name and token are kept in a file of your own,
/// outside any repository.
#[derive(Debug, Args)]
pub(crate) struct RemoteAdd {
    /// What to call the server: letters, digits, - and _
    #[arg(value_name = "NAME")]
    pub(crate) name: RemoteName,
    /// Its address, such as https://pensa.example.com/p/web
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Read the token from standard input instead of asking for it
    #[arg(long)]
    pub(crate) token_stdin: bool,
    /// The server wants no token
    #[arg(long, conflicts_with = "token_stdin")]
    pub(crate) no_token: bool,
    /// A PEM file of the authorities to trust for this server, instead of the usual ones
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_cert: Option<PathBuf>,
}

// Where a server keeps its projects. No doc comment: it would be what the commands are said to do.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Where the server keeps its projects")]
pub(crate) struct Location {
    /// A PostgreSQL database: postgres://user:password@host/database
    #[arg(long, global = true, env = "PN_DATABASE", hide_env_values = true, value_name = "URL")]
    pub(crate) database: Option<String>,
    /// A directory, with a SQLite store for each project
    #[arg(long, global = true, env = "PN_DATA_DIR", hide_env_values = true, value_name = "DIR",
        value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub(crate) data_dir: Option<PathBuf>,
}

// Commands on a server: on its database or directory if that is named, else over HTTP with an operator's or admin's token. No doc
// comment here either.
#[derive(Debug, Args)]
pub(crate) struct OnServer<C: Subcommand> {
    #[command(subcommand)]
    pub(crate) command: C,
    #[command(flatten)]
    pub(crate) location: Location,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Project {
    Create(project::Create),
    List(project::List),
    Archive(project::Archive),
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Token {
    Create(token::Create),
    List(token::List),
    Revoke(token::Revoke),
}

/// Tell who did what with which token in your project, or as an operator on the server, newest first
#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    #[command(flatten)]
    pub(crate) op: audit::Audit,
    #[command(flatten)]
    pub(crate) location: Location,
}

/// Serve the projects of a team over HTTP, to whoever has a token
///
/// Make the first project and token with pn project create and pn token create on the same database or directory;
/// pn token create --operator makes one that manages the server from elsewhere.
/// Any number of servers can share one database.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) location: Location,
    /// The address and port to listen on; port 0 picks a free one
    #[arg(long, default_value = "127.0.0.1:7533", value_name = "ADDRESS:PORT")]
    pub(crate) listen: std::net::SocketAddr,
    /// The certificate to show, a PEM file with its chain; renewed files are taken up while it runs
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The certificate's key, a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Allow plain HTTP beyond this machine, because a proxy in front encrypts
    #[arg(long)]
    pub(crate) behind_proxy: bool,
    /// Requests a second for each token; 0 is no limit
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub(crate) rate: u32,
    /// Requests at once for each token, before the rate counts
    #[arg(long, default_value_t = 200, value_name = "N")]
    pub(crate) burst: u32,
    /// Most connections to the database
    #[arg(long, default_value_t = 16, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) pool_size: u16,
    /// What to log to standard error, one JSON object a line
    #[arg(long, value_enum, default_value_t = LogLevel::Info)]
    pub(crate) log: LogLevel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    Off,
    Error,
    Info,
}

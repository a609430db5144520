//! `pn project`, `pn token` and `pn audit`: manages a server's projects and tokens. The module `serve` runs the server.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use pensa_core::ops::audit::{Audit, AuditLine};
use pensa_core::ops::{project, token};
use pensa_core::project::{NewToken, Project, ProjectName, Role, Token};
use pensa_core::{Error, Op, Result};
use pensa_engine::{Caller, Execute, Projects};

use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{ListItem, Render, Screen, list_item, when};

// Where a server stores its projects. No doc comment: clap would show it as the help of the commands.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Where the server stores its projects")]
pub(crate) struct ServerLocationArgs {
    /// A PostgreSQL database: postgres://user:password@host/database
    #[arg(long, global = true, env = "PN_DATABASE", hide_env_values = true, value_name = "URL")]
    pub(crate) database: Option<String>,
    /// A directory, with a SQLite store for each project
    #[arg(long, global = true, env = "PN_DATA_DIR", hide_env_values = true, value_name = "DIR",
        value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub(crate) data_dir: Option<PathBuf>,
}

// A command on a server: directly on its database or directory if one is given, else over HTTP with the token of an
// operator or admin. No doc comment either.
#[derive(Debug, Args)]
pub(crate) struct ServerCommandArgs<C: Subcommand> {
    #[command(subcommand)]
    pub(crate) command: C,
    #[command(flatten)]
    pub(crate) location: ServerLocationArgs,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum ProjectCommand {
    Create(project::Create),
    List(project::List),
    Archive(project::Archive),
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum TokenCommand {
    Create(token::Create),
    List(token::List),
    Revoke(token::Revoke),
}

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    #[command(flatten)]
    pub(crate) op: Audit,
    #[command(flatten)]
    pub(crate) location: ServerLocationArgs,
}

/// Serve the projects of a team over HTTP, to callers with a token
///
/// Create the first project and token with pn project create and pn token create on the same database or directory;
/// pn token create --operator creates one that manages the server from elsewhere.
/// Any number of servers can share one database.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) location: ServerLocationArgs,
    /// The address and port to listen on; port 0 picks a free one
    #[arg(long, default_value = "127.0.0.1:7533", value_name = "ADDRESS:PORT")]
    pub(crate) listen: std::net::SocketAddr,
    /// The certificate, a PEM file with its chain; renewed files are reloaded while it runs
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The certificate's key, a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Allow plain HTTP beyond this machine, because a proxy in front encrypts
    #[arg(long)]
    pub(crate) behind_proxy: bool,
    /// Show badges and charts of every project without a token, for READMEs: /p/NAME/badge/ready.svg,
    /// /p/NAME/chart/burndown.svg
    #[arg(long)]
    pub(crate) public_badges: bool,
    /// Requests per second for each token; 0 is no limit
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub(crate) rate: u32,
    /// Requests at once for each token, before --rate applies
    #[arg(long, default_value_t = 200, value_name = "N")]
    pub(crate) burst: u32,
    /// The most connections to the database
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

/// Database connections of one command.
const CONNECTIONS: usize = 2;

/// What to do if the data directory does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MissingDir {
    Create,
    Refuse,
}

/// The projects in the given database or directory; `None` if neither is given.
pub(super) fn projects_at(
    location: &ServerLocationArgs,
    connections: usize,
    missing: MissingDir,
) -> Result<Option<Projects>> {
    let database = location.database.as_deref().filter(|url| !url.trim().is_empty());
    let dir = location.data_dir.as_deref().filter(|dir| !dir.as_os_str().is_empty());
    match (database, dir) {
        (Some(_), Some(_)) => Err(Error::invalid("both a database and a data directory are named")
            .hint("give --database or --data-dir; PN_DATABASE and PN_DATA_DIR count too")),
        (Some(url), None) => Projects::in_database(url, connections).map(Some),
        (None, Some(dir)) => {
            let dir = connect::cwd()?.join(dir);
            match missing {
                MissingDir::Create => Projects::make_directory(&dir).map(Some),
                MissingDir::Refuse => Projects::in_directory(&dir).map(Some),
            }
        }
        (None, None) => Ok(None),
    }
}

/// Calls an operation on the given database or directory, else through the selected server.
pub(super) fn run<O: Execute>(
    options: &GlobalOptions,
    output: Output,
    location: &ServerLocationArgs,
    op: &O,
) -> Result<()>
where
    O::Output: Render,
{
    let missing = if O::NAME == project::Create::NAME { MissingDir::Create } else { MissingDir::Refuse };
    let answer = match projects_at(location, CONNECTIONS, missing)? {
        Some(projects) => projects.control()?.call(&connect::actor_source(options)?(), op)?,
        None => call_server(options, op)?,
    };
    output.answer(&answer)
}

pub(super) fn audit(options: &GlobalOptions, output: Output, location: &ServerLocationArgs, op: &Audit) -> Result<()> {
    let answer = match projects_at(location, CONNECTIONS, MissingDir::Refuse)? {
        Some(projects) => projects.audit(&Caller::local("auditor"), op)?,
        None => call_server(options, op)?,
    };
    output.answer(&answer)
}

fn call_server<O: Execute>(options: &GlobalOptions, op: &O) -> Result<O::Output> {
    if connect::server(options)?.is_none() {
        return Err(Error::invalid("no server is selected")
            .hint("give --database or --data-dir, or --remote-server and the token of an operator or an admin"));
    }
    connect::client(options)?.call(op)
}

impl Render for Project {
    fn render(&self, screen: &mut Screen) {
        screen.heading(self.name.as_str()).plain(" ").faint(&self.store_id);
        if let Some(at) = self.archived_at {
            screen.plain(&format!(" archived {at}"));
        }
        screen.end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.name.to_string()]
    }
}

list_item!(Project, "project", "projects");

/// A role and its project.
fn role_in(role: Role, project: Option<&ProjectName>) -> String {
    match project {
        Some(project) => format!(" {role} of {project}"),
        None => format!(" {role}"),
    }
}

impl Render for NewToken {
    fn render(&self, screen: &mut Screen) {
        screen.id(&self.id).plain(&role_in(self.role, self.project.as_ref()));
        if let Some(end) = self.expires_at {
            screen.plain(&format!(" until {end}"));
        }
        screen.end();
        screen.text(&self.token).end();
        screen.faint("keep it now: it is not shown again").end();
    }

    /// The secret, which scripts need.
    fn ids(&self) -> Vec<String> {
        vec![self.token.clone()]
    }
}

impl Render for Token {
    fn render(&self, screen: &mut Screen) {
        screen.id(&self.id).plain(&role_in(self.role, self.project.as_ref()));
        screen.plain(" made by ").text(&self.created_by).plain(&format!(" {}", when(self.created_at)));
        match (self.revoked_at, self.expires_at) {
            (Some(at), _) => drop(screen.plain(&format!(" revoked {at}"))),
            (None, Some(end)) => drop(screen.plain(&format!(" until {end}"))),
            (None, None) => {}
        }
        screen.end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

list_item!(Token, "token", "tokens");

impl ListItem for AuditLine {
    const NOUN: [&str; 2] = ["line", "lines"];

    fn render_item(&self, screen: &mut Screen) {
        screen.faint(&self.at.to_string()).plain(" ");
        let token = self.token.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
        screen.id(&token).plain(" ").text(&self.actor).plain(" ");
        screen.text(&self.event_type).plain(" ").text(&self.subject_kind).plain(" ").text(&self.subject_id);
        if let Some(project) = &self.project {
            screen.plain(" in ").text(project.as_str());
        }
        screen.end();
    }

    fn item_ids(&self) -> Vec<String> {
        vec![self.subject_id.clone()]
    }
}

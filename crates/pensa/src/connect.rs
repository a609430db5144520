//! From flags and environment to a handle on the store that is meant.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use pensa_client::locate::{self, Platform, Scope, Start};
use pensa_client::{ActorSource, Client, Remote, RemoteEntry, RemoteName, RemoteOptions, Remotes, Token};
use pensa_core::{Error, Result};
use pensa_engine::{Engine, StoreDir};

use crate::cli::Options;
use crate::output::Output;

pub(crate) const DEFAULT_URL: &str = "http://localhost:7533";

/// The store or the server that a command on a project's state means.
pub(crate) fn client(options: &Options) -> Result<Client> {
    let actor = actor_source(options);
    match server(options) {
        Some(url) => Ok(Client::http(remote(options, url)?, actor)),
        None => Ok(Client::embedded(open(options, store(options)?)?, actor)),
    }
}

/// Where agents, sessions, runs, repositories and small values live: on a server, in a project's store, else in the
/// user's own, which is made when it is first needed.
#[derive(Debug, Clone)]
pub(crate) enum Home {
    Server(String),
    Store(StoreDir),
}

impl Home {
    pub(crate) fn of(options: &Options) -> Result<Self> {
        if let Some(url) = server(options) {
            return Ok(Home::Server(url.to_owned()));
        }
        let start = start(options)?;
        let root = locate::store_root(&start, Scope::ProjectElseUser)?;
        let is_users = start.user.as_ref() == Some(&root);
        Ok(Home::Store(if is_users { StoreDir::of_user(&root)? } else { StoreDir::at(&root)? }))
    }

    pub(crate) fn client(&self, options: &Options) -> Result<Client> {
        let actor = actor_source(options);
        match self {
            Home::Server(url) => Ok(Client::http(remote(options, url)?, actor)),
            Home::Store(store) => Ok(Client::embedded(open(options, store.clone())?, actor)),
        }
    }

    /// A directory on this machine for files that belong there, made if it is not there.
    pub(crate) fn private_dir(&self, name: &str) -> Result<PathBuf> {
        match self {
            Home::Store(store) => store.local_dir(name),
            Home::Server(_) => {
                let user = locate::user_store_root(Platform::HERE, |name| std::env::var_os(name));
                let user = user.ok_or_else(|| Error::invalid("there is no place for files").hint("set HOME"))?;
                StoreDir::of_user(&user)?.local_dir(name)
            }
        }
    }

    /// Leads a command that is about to be run to the same place.
    pub(crate) fn tell(&self, command: &mut Command) {
        match self {
            Home::Server(url) => command.env("PN_DAEMON", url),
            Home::Store(store) => command.env("PN_STORE", store.root()).env_remove("PN_DAEMON"),
        };
    }
}

/// A handle on where agents, runs and the like live.
pub(crate) fn client_for_agents(options: &Options) -> Result<Client> {
    Home::of(options)?.client(options)
}

/// The store on this machine that is there, be it a project's or the user's own.
pub(crate) fn any_store(options: &Options) -> Result<StoreDir> {
    let start = start(options)?;
    let nearest = locate::store_root(&start, Scope::Project);
    match start.user.filter(|user| nearest.is_err() && start.explicit.is_none() && user.exists()) {
        Some(user) => StoreDir::at(&user),
        None => StoreDir::at(&nearest?),
    }
}

/// Opens a store of this machine, and tells the user what had to be mended.
pub(crate) fn open(options: &Options, store: StoreDir) -> Result<Engine> {
    let output = Output::new(options.json, options.quiet);
    Ok(Engine::open(store)?.telling(Arc::new(move |notice| output.warning(notice))))
}

/// The server that was asked for, if any.
pub(crate) fn server(options: &Options) -> Option<&str> {
    options.remote_server.as_deref().filter(|url| !url.trim().is_empty())
}

/// A server by its address or name, told which store this project believes it serves.
pub(crate) fn remote(options: &Options, server: &str) -> Result<Remote> {
    let RemoteEntry { url, token, ca_cert } = named(server.trim())?;
    Remote::new(RemoteOptions {
        url,
        // Only what the user hands over: whoever listens at a local port may be somebody else.
        token: handed_over()?.or(token),
        store_id: store(options).ok().and_then(|store| store.id().ok()),
        ca_file: ca_cert.or_else(|| variable("SSL_CERT_FILE").map(PathBuf::from)),
    })
}

/// What is known about a server: of an address nothing else, so that the token of a remote goes nowhere but there.
fn named(server: &str) -> Result<RemoteEntry> {
    if server.contains("://") {
        return Ok(RemoteEntry { url: server.to_owned(), token: None, ca_cert: None });
    }
    let name: RemoteName = server.parse().map_err(|_| {
        Error::invalid(format!("neither the address of a server nor the name of a remote: {server:?}"))
            .hint("such as http://localhost:7533, or a name from pn remote list")
    })?;
    remotes()?.get(&name)
}

/// The token in the environment, which goes before one that is kept.
fn handed_over() -> Result<Option<Token>> {
    let Some(token) = variable("PN_TOKEN") else {
        return Ok(None);
    };
    let token = token.to_str().ok_or_else(|| Error::invalid("PN_TOKEN is not UTF-8"))?.trim();
    if token.is_empty() {
        return Ok(None);
    }
    token.parse().map(Some).map_err(|e: Error| e.within("PN_TOKEN"))
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The servers to which this user has given names.
pub(crate) fn remotes() -> Result<Remotes> {
    let dir = locate::user_config_dir(Platform::HERE, |name| std::env::var_os(name));
    let dir = dir.ok_or_else(|| Error::invalid("there is no place for remotes").hint("set HOME"))?;
    Ok(Remotes::in_dir(&dir))
}

/// The store on this machine that a command on a project's state means.
pub(crate) fn store(options: &Options) -> Result<StoreDir> {
    StoreDir::at(&locate::store_root(&start(options)?, Scope::Project)?)
}

fn start(options: &Options) -> Result<Start> {
    Ok(Start {
        explicit: options.store.clone().filter(|dir| !dir.as_os_str().is_empty()),
        cwd: cwd()?,
        user: locate::user_store_root(Platform::HERE, |name| std::env::var_os(name)),
    })
}

pub(crate) fn cwd() -> Result<PathBuf> {
    std::env::current_dir().map_err(|e| Error::internal(format!("cannot find the current directory: {e}")))
}

/// `--actor` or `PN_ACTOR`, then git's `user.name`, then `$USER`.
pub(crate) fn actor_source(options: &Options) -> ActorSource {
    let given = options.actor.clone().filter(|name| !name.trim().is_empty());
    // A command that changes several things asks git once.
    let known = OnceCell::new();
    let find = move || {
        given
            .clone()
            .or_else(git_user)
            .or_else(|| std::env::var("USER").ok().filter(|name| !name.is_empty()))
            .unwrap_or_else(|| "unknown".to_owned())
    };
    Box::new(move || known.get_or_init(&find).clone())
}

fn git_user() -> Option<String> {
    let output = Command::new("git")
        .args(["config", "--get", "user.name"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let name = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!name.is_empty()).then_some(name)
}

//! From flags and environment to a handle on the store that is meant.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use pensa_client::locate::{self, Platform, Scope, Start};
use pensa_client::{ActorSource, Client, Remote};
use pensa_core::{Error, Result};
use pensa_engine::{Engine, StoreDir};

use crate::cli::Options;

pub(crate) const DEFAULT_URL: &str = "http://localhost:7533";

/// The store or the server that a command on a project's state means.
pub(crate) fn client(options: &Options) -> Result<Client> {
    let actor = actor_source(options);
    match server(options) {
        Some(url) => Ok(Client::http(remote(options, url)?, actor)),
        None => Ok(Client::embedded(Engine::open(store(options)?)?, actor)),
    }
}

/// The server that was asked for, if any.
pub(crate) fn server(options: &Options) -> Option<&str> {
    options.remote_server.as_deref().filter(|url| !url.trim().is_empty())
}

/// A server at `url`, told which store this project believes it serves.
pub(crate) fn remote(options: &Options, url: &str) -> Result<Remote> {
    let store_id = store(options).ok().and_then(|store| store.id().ok());
    // Only what the user hands over: whoever listens at a local port may be somebody else.
    let token = std::env::var("PN_TOKEN").ok().map(|token| token.trim().to_owned());
    Remote::new(url, token.filter(|token| !token.is_empty()), store_id)
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
    Box::new(move || {
        given
            .clone()
            .or_else(git_user)
            .or_else(|| std::env::var("USER").ok().filter(|name| !name.is_empty()))
            .unwrap_or_else(|| "unknown".to_owned())
    })
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

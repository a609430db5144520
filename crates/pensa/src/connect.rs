//! From flags and environment to a handle on the store that is meant.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use pensa_client::config::{self, Config, Files, Key, Layer, Setting, Told, Trusted, Trusts};
use pensa_client::locate::{self, Scope, Start};
use pensa_client::{ActorSource, Client, Remote, RemoteEntry, RemoteName, RemoteOptions, Remotes, Token};
use pensa_core::dirs::{self, Platform};
use pensa_core::issue::Origin;
use pensa_core::{Code, Error, Result};
use pensa_engine::{Engine, StoreDir};
use pensa_host::{self as host, hooks};
use pensa_redact::{Allow, Redactor};

use crate::cli::Options;
use crate::output::Output;

pub(crate) const DEFAULT_URL: &str = "http://localhost:7533";

/// The store or the server that a command on a project's state means.
pub(crate) fn client(options: &Options) -> Result<Client> {
    match server(options)? {
        Some(server) => over_http(options, &server),
        None => on_files(options, store(options)?),
    }
}

fn over_http(options: &Options, server: &Server) -> Result<Client> {
    Ok(called(options, Client::http(remote(options, server)?, actor_source(options)?)))
}

fn on_files(options: &Options, store: StoreDir) -> Result<Client> {
    let actor = actor_source(options)?;
    Ok(called(options, Client::embedded(open(options, store)?, actor)))
}

/// A handle for the caller that flags and environment describe.
fn called(options: &Options, client: Client) -> Client {
    let client = client.with_origin(origin()).with_idempotency_key(options.idempotency_key.clone());
    client.without_redaction(options.no_redact)
}

/// What tells this caller apart from others of the same name.
fn origin() -> Origin {
    let text = |name| variable(name).and_then(|value| value.into_string().ok());
    Origin { session: text("PN_SESSION"), run: text("PN_RUN"), host: Some(host::name()) }
}

/// Where agents, sessions, runs, repositories and small values live: on a server, in a project's store, else in the
/// user's own, which is made when it is first needed.
#[derive(Debug, Clone)]
pub(crate) enum Home {
    Server(Server),
    Store(StoreDir),
}

impl Home {
    pub(crate) fn of(options: &Options) -> Result<Self> {
        if let Some(server) = server(options)? {
            return Ok(Home::Server(server));
        }
        let start = start(options)?;
        let root = locate::store_root(&start, Scope::ProjectElseUser)?;
        let is_users = start.user.as_ref() == Some(&root);
        Ok(Home::Store(if is_users { StoreDir::of_user(&root)? } else { at(&root)? }))
    }

    pub(crate) fn client(&self, options: &Options) -> Result<Client> {
        match self {
            Home::Server(server) => over_http(options, server),
            Home::Store(store) => on_files(options, store.clone()),
        }
    }

    /// A directory on this machine for files that belong there, made if it is not there.
    pub(crate) fn private_dir(&self, name: &str) -> Result<PathBuf> {
        match self {
            Home::Store(store) => store.local_dir(name),
            Home::Server(_) => {
                let user = dirs::user_store_root(Platform::HERE, variable);
                let user = user.ok_or_else(|| Error::invalid("there is no place for files").hint("set HOME"))?;
                StoreDir::of_user(&user)?.local_dir(name)
            }
        }
    }

    /// The same, whether it is there or not.
    pub(crate) fn private_path(&self, name: &str) -> Option<PathBuf> {
        let root = match self {
            Home::Store(store) => store.root().to_owned(),
            Home::Server(_) => dirs::user_store_root(Platform::HERE, variable)?,
        };
        Some(root.join("local").join(name))
    }

    /// Leads a command that is about to be run to the same place, whatever the settings are where it goes.
    pub(crate) fn tell(&self, command: &mut Command) {
        command.env_remove("PN_REMOTE_SERVER");
        match self {
            Home::Server(server) => command.env("PN_DAEMON", &server.name),
            Home::Store(store) => command.env("PN_STORE", store.root()).env("PN_DAEMON", ""),
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
    // The directory may be there for the journals of projects only.
    let is_store = |user: &PathBuf| StoreDir::unopened(user).config().exists();
    match start.user.filter(|user| nearest.is_err() && start.explicit.is_none() && is_store(user)) {
        Some(user) => StoreDir::at(&user),
        None => at(&nearest?),
    }
}

/// A handle on the server that is set, or else on the store on this machine that is there.
pub(crate) fn client_for_any(options: &Options) -> Result<Client> {
    match server(options)? {
        Some(server) => over_http(options, &server),
        None => on_files(options, any_store(options)?),
    }
}

/// Opens a store of this machine, and tells the user what had to be mended.
pub(crate) fn open(options: &Options, store: StoreDir) -> Result<Engine> {
    let output = Output::new(options.json, options.quiet);
    let store = with_limits(options, store)?;
    let allow = allow(options)?;
    let engine = Engine::open(store)?.telling(Arc::new(move |notice| output.warning(notice)));
    Ok(engine.allowing(allow).with_check_up(hooks::check_up))
}

/// What looks like a secret and may be kept. What only the repository allows counts once the user trusts it: it could
/// allow everything.
pub(crate) fn allow(options: &Options) -> Result<Option<Arc<Allow>>> {
    let Some(setting) = config(options)?.get(&config::REDACT_ALLOW)? else { return Ok(None) };
    let patterns = setting.value.to_string();
    if came_with_the_repository(options, &setting) && !trusts()?.is_trusted(&trusted_allow(options, &patterns)?)? {
        let output = Output::new(options.json, options.quiet);
        output.warning(&format!("{}: redact.allow does not count until you trust it: pn trust", setting.origin));
        return Ok(None);
    }
    Ok(Some(Arc::new(config::allowed(&patterns))))
}

/// What the repository allows to be kept, as something to trust or not. No address of a server looks like it.
pub(crate) fn trusted_allow(options: &Options, patterns: &str) -> Result<Trusted> {
    Ok(Trusted { store: trusted_store(options)?, url: format!("redact.allow = {patterns:?}") })
}

/// What takes secrets out of what this process stores itself, unless they are to be kept.
pub(crate) fn redactor(options: &Options) -> Result<Option<Redactor>> {
    if options.no_redact { Ok(None) } else { Ok(Some(Redactor::new(allow(options)?))) }
}

/// A store with the limits that are set for the files which its repository brings.
pub(crate) fn with_limits(options: &Options, store: StoreDir) -> Result<StoreDir> {
    let is_foreign = |setting: &Setting| came_with_the_repository(options, setting);
    Ok(store.with_max_file(config(options)?.limit(&config::IMPORT_MAX_FILE, &is_foreign)?))
}

/// The server that a command is to use: by its address, or by the name that the user gave it.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    name: String,
    /// Whether a remote with the same address lends its token
    lends: bool,
}

impl Server {
    /// The daemon of this machine.
    pub(crate) fn local() -> Self {
        Self { name: DEFAULT_URL.to_owned(), lends: false }
    }
}

/// The server that was asked for, if any. One that only the repository names is refused until the user trusts it.
pub(crate) fn server(options: &Options) -> Result<Option<Server>> {
    let Some(setting) = config(options)?.get(&config::REMOTE_SERVER)? else {
        return Ok(None);
    };
    let server = Server { name: setting.value.to_string(), lends: setting.layer >= Layer::Local };
    // A name that means nothing here is nothing that could be trusted.
    let is_trusted = || trusted(options, &server).map_or(Ok(false), |trusted| trusts()?.is_trusted(&trusted));
    if came_with_the_repository(options, &setting) && !is_trusted()? {
        let named = named(&server).map_or(server.name, |entry| entry.url);
        return Err(Error::new(
            Code::Forbidden,
            format!("{} names a server, {named}, that you have not said you trust", setting.origin),
        )
        .hint("pn trust follows it from now on; --remote-server '' uses the files here this time"));
    }
    Ok(Some(server))
}

/// Whether anybody who can change the repository may have written a setting.
pub(crate) fn came_with_the_repository(options: &Options, setting: &Setting) -> bool {
    let in_git = || {
        let store = project_store(options);
        store.is_some_and(|store| pensa_git::may_have_brought(store.project_dir(), &store.local_config()))
    };
    setting.layer == Layer::Project || setting.layer == Layer::Local && in_git()
}

/// A server for the store of this project, as something to trust or not.
pub(crate) fn trusted(options: &Options, server: &Server) -> Result<Trusted> {
    Ok(Trusted { store: trusted_store(options)?, url: named(server)?.url })
}

fn trusted_store(options: &Options) -> Result<String> {
    let store = project_store(options).ok_or_else(|| Error::new(Code::NoStore, "there is no project here"))?;
    // A store whose files were written by hand may have no id.
    Ok(store.id().unwrap_or_else(|_| store.root().display().to_string()))
}

/// What the repository says that a setting is, trusted or not.
pub(crate) fn setting_of_repository(options: &Options, key: &Key) -> Result<Option<String>> {
    let files = Files { user: None, system: None, ..files(options)? };
    let setting = Config::read(Told::default(), &files)?.get(key)?;
    let setting = match setting {
        Some(setting) if !came_with_the_repository(options, &setting) => {
            Config::read(Told::default(), &Files { local: None, ..files })?.get(key)?
        }
        setting => setting,
    };
    Ok(setting.map(|setting| setting.value.to_string()))
}

/// The server that the repository names, trusted or not.
pub(crate) fn server_of_repository(options: &Options) -> Result<Option<Server>> {
    Ok(setting_of_repository(options, &config::REMOTE_SERVER)?.map(|name| Server { name, lends: true }))
}

/// What is set, in all layers; read once.
pub(crate) fn config(options: &Options) -> Result<Arc<Config>> {
    if let Some(config) = options.config.get() {
        return Ok(config.clone());
    }
    let flags = [("actor", "--actor", &options.actor), ("remote-server", "--remote-server", &options.remote_server)];
    let given = |(key, flag, given): (_, _, &Option<String>)| given.clone().map(|given| (key, flag, given));
    let told = Told { flags: flags.into_iter().filter_map(given).collect(), ..Told::default() };
    let mut told = told.by_variables(|name| std::env::var_os(name));
    let variables = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    told.variables.extend(variables.filter(|(name, _)| name.starts_with(config::LANE_VARIABLES)));
    let config = Config::read(told, &files(options)?)?;
    let output = Output::new(options.json, options.quiet);
    config.unknown().iter().for_each(|unknown| output.warning(&unknown.to_string()));
    Ok(options.config.get_or_init(|| Arc::new(config)).clone())
}

/// Where the files of settings are.
pub(crate) fn files(options: &Options) -> Result<Files> {
    let project = project_store(options);
    Ok(Files {
        local: project.as_ref().map(StoreDir::local_config),
        project: project.as_ref().map(StoreDir::config),
        user: dirs::user_config_dir(Platform::HERE, variable).map(|dir| dir.join("config.toml")),
        system: dirs::system_config(Platform::HERE, variable),
    })
}

/// The store of the project around, to be looked at only: it may be on another machine, or not be made yet.
pub(crate) fn project_store(options: &Options) -> Option<StoreDir> {
    let start = start(options).ok()?;
    let root = locate::store_root(&start, Scope::Project).ok()?;
    let is_users = start.user.as_deref().is_some_and(|user| user == root);
    (!is_users).then(|| StoreDir::unopened(&root))
}

/// The servers of repositories that the user trusts.
pub(crate) fn trusts() -> Result<Trusts> {
    Ok(Trusts::in_dir(&user_config_dir()?))
}

fn user_config_dir() -> Result<PathBuf> {
    let dir = dirs::user_config_dir(Platform::HERE, variable);
    dir.ok_or_else(|| Error::invalid("there is no place for your settings").hint("set HOME"))
}

/// A server, told which store this project believes it serves.
pub(crate) fn remote(options: &Options, server: &Server) -> Result<Remote> {
    let RemoteEntry { url, token, ca_cert } = named(server)?;
    Remote::new(RemoteOptions {
        url,
        // Only what the user hands over: whoever listens at a local port may be somebody else.
        token: handed_over()?.or(token),
        store_id: project_store(options).and_then(|store| store.id().ok()),
        ca_file: ca_cert.or_else(|| variable("SSL_CERT_FILE").map(PathBuf::from)),
    })
}

/// A named server as another store to exchange changes with. The token in the environment is for the server that commands
/// use; it goes to this one only if they use none.
pub(crate) fn sync_remote(options: &Options, name: &RemoteName) -> Result<Remote> {
    let RemoteEntry { url, token, ca_cert } = remotes()?.get(name)?;
    if let Some(server) = server(options)?
        && named(&server)?.url == url
    {
        return Err(Error::invalid(format!("{name} is the store itself"))
            .hint("name another server, or leave out --remote-server to sync the store here"));
    }
    let token = match (token, server(options)?) {
        (None, None) => handed_over()?,
        (token, _) => token,
    };
    let ca_file = ca_cert.or_else(|| variable("SSL_CERT_FILE").map(PathBuf::from));
    Remote::new(RemoteOptions { url, token, store_id: None, ca_file })
}

/// What is known about a server. The token of a remote goes to its own address and nowhere else.
fn named(server: &Server) -> Result<RemoteEntry> {
    if !server.name.contains("://") {
        let name: RemoteName = server.name.parse()?;
        return remotes()?.get(&name);
    }
    let known = if server.lends { remotes()?.list()? } else { Vec::new() };
    let same = known.into_iter().map(|(_, entry)| entry).find(|entry| entry.url == server.name);
    Ok(same.unwrap_or_else(|| RemoteEntry { url: server.name.clone(), token: None, ca_cert: None }))
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

pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The servers to which this user has given names.
pub(crate) fn remotes() -> Result<Remotes> {
    Ok(Remotes::in_dir(&user_config_dir()?))
}

/// The store on this machine that a command on a project's state means.
pub(crate) fn store(options: &Options) -> Result<StoreDir> {
    at(&locate::store_root(&start(options)?, Scope::Project)?)
}

/// A project's store. Outside git its journal is in the directory for the user's state.
pub(crate) fn at(root: &Path) -> Result<StoreDir> {
    Ok(StoreDir::at(root)?.with_state_dir(state_dir()))
}

/// Makes a project's store, or completes it. Says whether it is new.
pub(crate) fn create(root: &Path) -> Result<(StoreDir, bool)> {
    StoreDir::create_with(root, state_dir())
}

fn state_dir() -> Option<PathBuf> {
    dirs::user_store_root(Platform::HERE, variable)
}

fn start(options: &Options) -> Result<Start> {
    Ok(Start {
        explicit: options.store.clone().filter(|dir| !dir.as_os_str().is_empty()),
        cwd: cwd()?,
        user: dirs::user_store_root(Platform::HERE, variable),
    })
}

pub(crate) fn cwd() -> Result<PathBuf> {
    std::env::current_dir().map_err(|e| Error::internal(format!("cannot find the current directory: {e}")))
}

/// The setting `actor`, then git's `user.name`, then `$USER`.
pub(crate) fn actor_source(options: &Options) -> Result<ActorSource> {
    let given = config(options)?.text(&config::ACTOR)?;
    // A command that changes several things asks git once.
    let known = OnceCell::new();
    let find = move || {
        given
            .clone()
            .or_else(git_user)
            .or_else(|| std::env::var("USER").ok().filter(|name| !name.is_empty()))
            .unwrap_or_else(|| "unknown".to_owned())
    };
    Ok(Box::new(move || known.get_or_init(&find).clone()))
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

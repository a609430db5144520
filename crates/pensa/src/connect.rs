//! Opens the store or server that flags, environment and settings select, and the settings themselves.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use pensa_client::config::{
    self, Config, ConfigOverrides, ConfigPaths, Layer, PAGER, Setting, SettingKey, TrustedServer, TrustedServers,
};
use pensa_client::locate::{self, SearchStart, StoreScope};
use pensa_client::{ActorSource, Client, Remote, RemoteEntry, RemoteName, RemoteOptions, Remotes, Token};
use pensa_core::dirs::{self, Platform};
use pensa_core::issue::Origin;
use pensa_core::{Code, Error, Result};
use pensa_engine::{Engine, StoreDir};
use pensa_host::{self as host, hooks};
use pensa_redact::{Allowlist, Redactor};

use crate::cli::GlobalOptions;
use crate::commands::models;
use crate::output::Output;

pub(crate) const DEFAULT_URL: &str = "http://localhost:7533";

/// A handle on the project's store, or on the selected server.
pub(crate) fn client(options: &GlobalOptions) -> Result<Client> {
    match server(options)? {
        Some(server) => http_client(options, &server),
        None => embedded_client(options, store(options)?),
    }
}

fn http_client(options: &GlobalOptions, server: &ChosenServer) -> Result<Client> {
    Ok(with_caller(options, Client::http(remote(options, server)?, actor_source(options)?)))
}

fn embedded_client(options: &GlobalOptions, store: StoreDir) -> Result<Client> {
    let actor = actor_source(options)?;
    Ok(with_caller(options, Client::embedded(open_engine(options, store)?, actor)))
}

/// Adds the caller (session, run, host) and the request options to a handle.
fn with_caller(options: &GlobalOptions, client: Client) -> Client {
    let client = client.with_origin(origin()).with_idempotency_key(options.idempotency_key.clone());
    client.without_redaction(options.no_redact)
}

/// Distinguishes this caller from others with the same actor name.
fn origin() -> Origin {
    let text = |name| env_var(name).and_then(|value| value.into_string().ok());
    Origin { session: text("PN_SESSION"), run: text("PN_RUN"), host: Some(host::name()) }
}

/// Where agents, sessions, runs, repositories and key-value pairs are stored: on a server, in the project's store, or
/// without a project in the user's store, which is created on first use.
#[derive(Debug, Clone)]
pub(crate) enum StateLocation {
    Server(ChosenServer),
    Store(StoreDir),
}

impl StateLocation {
    pub(crate) fn of(options: &GlobalOptions) -> Result<Self> {
        if let Some(server) = server(options)? {
            return Ok(StateLocation::Server(server));
        }
        let start = start(options)?;
        let root = locate::store_root(&start, StoreScope::ProjectElseUser)?;
        let is_users = start.user.as_ref() == Some(&root);
        Ok(StateLocation::Store(if is_users { StoreDir::of_user(&root)? } else { store_at(&root)? }))
    }

    pub(crate) fn client(&self, options: &GlobalOptions) -> Result<Client> {
        match self {
            StateLocation::Server(server) => http_client(options, server),
            StateLocation::Store(store) => embedded_client(options, store.clone()),
        }
    }

    /// A directory for local files on this machine; creates it if needed.
    pub(crate) fn private_dir(&self, name: &str) -> Result<PathBuf> {
        match self {
            StateLocation::Store(store) => store.local_dir(name),
            StateLocation::Server(_) => {
                let user = dirs::user_store_root(Platform::HERE, env_var);
                let user = user.ok_or_else(|| Error::invalid("there is no place for files").hint("set HOME"))?;
                StoreDir::of_user(&user)?.local_dir(name)
            }
        }
    }

    /// Like [`Self::private_dir`], without creating it.
    pub(crate) fn private_path(&self, name: &str) -> Option<PathBuf> {
        let root = match self {
            StateLocation::Store(store) => store.root().to_owned(),
            StateLocation::Server(_) => dirs::user_store_root(Platform::HERE, env_var)?,
        };
        Some(root.join("local").join(name))
    }

    /// Makes a child process use the same location, whatever the settings in its directory are.
    pub(crate) fn set_environment(&self, command: &mut Command) {
        command.env_remove("PN_REMOTE_SERVER");
        match self {
            StateLocation::Server(server) => command.env("PN_DAEMON", &server.name),
            StateLocation::Store(store) => command.env("PN_STORE", store.root()).env("PN_DAEMON", ""),
        };
    }
}

/// A handle on the store or server that has agents, sessions and runs.
pub(crate) fn client_for_agents(options: &GlobalOptions) -> Result<Client> {
    StateLocation::of(options)?.client(options)
}

/// An existing store on this machine: the project's, else the user's.
pub(crate) fn existing_store(options: &GlobalOptions) -> Result<StoreDir> {
    let start = start(options)?;
    let nearest = locate::store_root(&start, StoreScope::Project);
    // The directory also holds the journals of projects, so its existence proves nothing.
    let is_store = |user: &PathBuf| StoreDir::unopened(user).config().exists();
    match start.user.filter(|user| nearest.is_err() && start.explicit.is_none() && is_store(user)) {
        Some(user) => StoreDir::at(&user),
        None => store_at(&nearest?),
    }
}

/// A handle on the selected server, else on an existing store of this machine.
pub(crate) fn client_for_any_store(options: &GlobalOptions) -> Result<Client> {
    match server(options)? {
        Some(server) => http_client(options, &server),
        None => embedded_client(options, existing_store(options)?),
    }
}

/// Opens a store of this machine; prints what had to be repaired.
pub(crate) fn open_engine(options: &GlobalOptions, store: StoreDir) -> Result<Engine> {
    let output = Output::new(options.json, options.quiet);
    let store = with_import_limit(options, store)?;
    let allow = allow(options)?;
    let engine = Engine::open(store)?.with_notices(Arc::new(move |notice| output.warning(notice)));
    let rules = Arc::new(config(options)?.issue_rules()?);
    let engine = engine.with_issue_rules(rules).with_allowed_secrets(allow).with_check_up(hooks::check_up);
    Ok(engine.with_embedder(models::queries(output)))
}

/// Which texts redaction leaves alone. A value from the repository counts only once the user trusts it: it could allow
/// everything.
pub(crate) fn allow(options: &GlobalOptions) -> Result<Option<Arc<Allowlist>>> {
    let Some(setting) = config(options)?.get(&config::REDACT_ALLOW)? else { return Ok(None) };
    let patterns = setting.value.to_string();
    if is_from_repository(options, &setting) && !trusts()?.is_trusted(&trusted_redact_allow(options, &patterns)?)? {
        let output = Output::new(options.json, options.quiet);
        output.warning(&format!("{}: redact.allow does not count until you trust it: pn trust", setting.origin));
        return Ok(None);
    }
    Ok(Some(Arc::new(config::allow_patterns(&patterns))))
}

/// The trust entry for a `redact.allow` of the repository. Its text cannot be mistaken for a server address.
pub(crate) fn trusted_redact_allow(options: &GlobalOptions, patterns: &str) -> Result<TrustedServer> {
    Ok(TrustedServer { store: trusted_store(options)?, url: format!("redact.allow = {patterns:?}") })
}

/// Redacts what this process stores itself; `None` with `--no-redact`.
pub(crate) fn redactor(options: &GlobalOptions) -> Result<Option<Redactor>> {
    if options.no_redact { Ok(None) } else { Ok(Some(Redactor::new(allow(options)?))) }
}

/// Sets the size limit for committed files of a store.
pub(crate) fn with_import_limit(options: &GlobalOptions, store: StoreDir) -> Result<StoreDir> {
    let is_foreign = |setting: &Setting| is_from_repository(options, setting);
    Ok(store.with_max_file(config(options)?.limit(&config::IMPORT_MAX_FILE, &is_foreign)?))
}

/// A server, by address or by the name that the user gave it.
#[derive(Debug, Clone)]
pub(crate) struct ChosenServer {
    name: String,
    /// Whether the token of a remote with the same address may be used
    may_use_remote_token: bool,
}

impl ChosenServer {
    /// The daemon of this machine.
    pub(crate) fn local() -> Self {
        Self { name: DEFAULT_URL.to_owned(), may_use_remote_token: false }
    }
}

/// The selected server, if any. A server named by the repository is refused until the user trusts it.
pub(crate) fn server(options: &GlobalOptions) -> Result<Option<ChosenServer>> {
    let Some(setting) = config(options)?.get(&config::REMOTE_SERVER)? else {
        return Ok(None);
    };
    let server = ChosenServer { name: setting.value.to_string(), may_use_remote_token: setting.layer >= Layer::Local };
    // An unknown name cannot be trusted.
    let is_trusted =
        || trusted_server(options, &server).map_or(Ok(false), |trusted_server| trusts()?.is_trusted(&trusted_server));
    if is_from_repository(options, &setting) && !is_trusted()? {
        let url = remote_entry(&server).map_or(server.name, |entry| entry.url);
        return Err(Error::new(
            Code::Forbidden,
            format!("{} names a server, {url}, that you have not said you trust", setting.origin),
        )
        .hint("pn trust follows it from now on; --remote-server '' uses the files here this time"));
    }
    Ok(Some(server))
}

/// Whether a setting may come from the repository, and so from anybody who can change it.
pub(crate) fn is_from_repository(options: &GlobalOptions, setting: &Setting) -> bool {
    let in_git = || {
        let store = project_store(options);
        store.is_some_and(|store| pensa_git::may_be_tracked(store.project_dir(), &store.local_config()))
    };
    setting.layer == Layer::Project || setting.layer == Layer::Local && in_git()
}

/// The trust entry for a server of this project.
pub(crate) fn trusted_server(options: &GlobalOptions, server: &ChosenServer) -> Result<TrustedServer> {
    Ok(TrustedServer { store: trusted_store(options)?, url: remote_entry(server)?.url })
}

fn trusted_store(options: &GlobalOptions) -> Result<String> {
    let store = project_store(options).ok_or_else(|| Error::new(Code::NoStore, "there is no project here"))?;
    // A store with hand-written files may have no id.
    Ok(store.id().unwrap_or_else(|_| store.root().display().to_string()))
}

/// The value of a setting in the repository, trusted or not.
pub(crate) fn repository_setting(options: &GlobalOptions, key: &SettingKey) -> Result<Option<String>> {
    let files = ConfigPaths { user: None, system: None, ..config_files(options)? };
    let setting = Config::read(ConfigOverrides::default(), &files)?.get(key)?;
    let setting = match setting {
        Some(setting) if !is_from_repository(options, &setting) => {
            Config::read(ConfigOverrides::default(), &ConfigPaths { local: None, ..files })?.get(key)?
        }
        setting => setting,
    };
    Ok(setting.map(|setting| setting.value.to_string()))
}

/// The server named by the repository, trusted or not.
pub(crate) fn repository_server(options: &GlobalOptions) -> Result<Option<ChosenServer>> {
    Ok(repository_setting(options, &config::REMOTE_SERVER)?
        .map(|name| ChosenServer { name, may_use_remote_token: true }))
}

/// The settings of all layers; read once per run.
pub(crate) fn config(options: &GlobalOptions) -> Result<Arc<Config>> {
    if let Some(config) = options.config.get() {
        return Ok(config.clone());
    }
    let flags = [("actor", "--actor", &options.actor), ("remote-server", "--remote-server", &options.remote_server)];
    let given = |(key, flag, given): (_, _, &Option<String>)| given.clone().map(|given| (key, flag, given));
    let overrides =
        ConfigOverrides { flags: flags.into_iter().filter_map(given).collect(), ..ConfigOverrides::default() };
    let mut overrides = overrides.with_variables(|name| std::env::var_os(name));
    let variables = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    overrides.variables.extend(variables.filter(|(name, _)| name.starts_with(config::LANE_VARIABLE_PREFIX)));
    let config = Config::read(overrides, &config_files(options)?)?;
    let output = Output::new(options.json, options.quiet);
    config.unknown().iter().for_each(|unknown| output.warning(&unknown.to_string()));
    Ok(options.config.get_or_init(|| Arc::new(config)).clone())
}

/// The pager: the setting, else `PAGER`, else less. A repository cannot set it, because it is a command. Unreadable
/// settings are ignored here; the command itself reports them.
pub(crate) fn pager(options: &GlobalOptions) -> Option<String> {
    let is_foreign = |setting: &Setting| is_from_repository(options, setting);
    let own = config(options).and_then(|config| config.personal(&PAGER, &is_foreign)).ok().flatten();
    let pager = own
        .map(|own| own.value.to_string())
        .or_else(|| std::env::var("PAGER").ok())
        .unwrap_or_else(|| "less".to_owned());
    Some(pager).filter(|pager| !pager.trim().is_empty() && pager != "cat")
}

/// The paths of the settings files.
pub(crate) fn config_files(options: &GlobalOptions) -> Result<ConfigPaths> {
    let project = project_store(options);
    Ok(ConfigPaths {
        local: project.as_ref().map(StoreDir::local_config),
        project: project.as_ref().map(StoreDir::config),
        user: dirs::user_config_dir(Platform::HERE, env_var).map(|dir| dir.join("config.toml")),
        system: dirs::system_config(Platform::HERE, env_var),
    })
}

/// The directory of this project's store, for reading only: it may not exist, or a server may use another store.
pub(crate) fn project_store(options: &GlobalOptions) -> Option<StoreDir> {
    let start = start(options).ok()?;
    let root = locate::store_root(&start, StoreScope::Project).ok()?;
    let is_users = start.user.as_deref().is_some_and(|user| user == root);
    (!is_users).then(|| StoreDir::unopened(&root))
}

/// What the user trusts repositories to set.
pub(crate) fn trusts() -> Result<TrustedServers> {
    Ok(TrustedServers::in_dir(&user_config_dir()?))
}

fn user_config_dir() -> Result<PathBuf> {
    let dir = dirs::user_config_dir(Platform::HERE, env_var);
    dir.ok_or_else(|| Error::invalid("there is no place for your settings").hint("set HOME"))
}

/// A connection to a server. It gets the store id of this project, so that it can refuse requests for another store.
pub(crate) fn remote(options: &GlobalOptions, server: &ChosenServer) -> Result<Remote> {
    let RemoteEntry { url, token, ca_cert } = remote_entry(server)?;
    Remote::new(RemoteOptions {
        url,
        // No token file of a local daemon: another user may be listening on the port.
        token: environment_token()?.or(token),
        store_id: project_store(options).and_then(|store| store.id().ok()),
        ca_file: ca_cert.or_else(|| env_var("SSL_CERT_FILE").map(PathBuf::from)),
    })
}

/// A connection to a named server for `pn sync`. `PN_TOKEN` belongs to the server that commands use; this server gets it
/// only if they use none.
pub(crate) fn sync_remote(options: &GlobalOptions, name: &RemoteName) -> Result<Remote> {
    let RemoteEntry { url, token, ca_cert } = remotes()?.get(name)?;
    if let Some(server) = server(options)?
        && remote_entry(&server)?.url == url
    {
        return Err(Error::invalid(format!("{name} is the store itself"))
            .hint("name another server, or leave out --remote-server to sync the store here"));
    }
    let token = match (token, server(options)?) {
        (None, None) => environment_token()?,
        (token, _) => token,
    };
    let ca_file = ca_cert.or_else(|| env_var("SSL_CERT_FILE").map(PathBuf::from));
    Remote::new(RemoteOptions { url, token, store_id: None, ca_file })
}

/// Address, token and CA of a server. The token of a remote is sent to its own address only.
fn remote_entry(server: &ChosenServer) -> Result<RemoteEntry> {
    if !server.name.contains("://") {
        let name: RemoteName = server.name.parse()?;
        return remotes()?.get(&name);
    }
    let remotes = if server.may_use_remote_token { remotes()?.list()? } else { Vec::new() };
    let same = remotes.into_iter().map(|(_, entry)| entry).find(|entry| entry.url == server.name);
    Ok(same.unwrap_or_else(|| RemoteEntry { url: server.name.clone(), token: None, ca_cert: None }))
}

/// The token in `PN_TOKEN`, which takes precedence over a stored one.
fn environment_token() -> Result<Option<Token>> {
    let Some(token) = env_var("PN_TOKEN") else {
        return Ok(None);
    };
    let token = token.to_str().ok_or_else(|| Error::invalid("PN_TOKEN is not UTF-8"))?.trim();
    if token.is_empty() {
        return Ok(None);
    }
    token.parse().map(Some).map_err(|e: Error| e.within("PN_TOKEN"))
}

pub(crate) fn env_var(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The named servers of this user.
pub(crate) fn remotes() -> Result<Remotes> {
    Ok(Remotes::in_dir(&user_config_dir()?))
}

/// The project's store on this machine; fails if there is none.
pub(crate) fn store(options: &GlobalOptions) -> Result<StoreDir> {
    store_at(&locate::store_root(&start(options)?, StoreScope::Project)?)
}

/// Opens the directory of a store. Outside git, its journal is in the user's state directory.
pub(crate) fn store_at(root: &Path) -> Result<StoreDir> {
    Ok(StoreDir::at(root)?.with_state_dir(state_dir()))
}

/// Creates a project's store, or completes it. Returns whether it is new.
pub(crate) fn create_store(root: &Path) -> Result<(StoreDir, bool)> {
    StoreDir::create_with(root, state_dir())
}

fn state_dir() -> Option<PathBuf> {
    dirs::user_store_root(Platform::HERE, env_var)
}

fn start(options: &GlobalOptions) -> Result<SearchStart> {
    Ok(SearchStart {
        explicit: options.store.clone().filter(|dir| !dir.as_os_str().is_empty()),
        cwd: cwd()?,
        user: dirs::user_store_root(Platform::HERE, env_var),
    })
}

pub(crate) fn cwd() -> Result<PathBuf> {
    std::env::current_dir().map_err(|e| Error::internal(format!("cannot find the current directory: {e}")))
}

/// The setting `actor`, then git's `user.name`, then `$USER`.
pub(crate) fn actor_source(options: &GlobalOptions) -> Result<ActorSource> {
    let given = config(options)?.text(&config::ACTOR)?;
    // Cached, so that a command with several operations runs git once.
    let name = OnceCell::new();
    let find = move || {
        given
            .clone()
            .or_else(git_user)
            .or_else(|| std::env::var("USER").ok().filter(|name| !name.is_empty()))
            .unwrap_or_else(|| "unknown".to_owned())
    };
    Ok(Box::new(move || name.get_or_init(&find).clone()))
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

//! `pn config`: prints and changes settings. `pensa_client::config` has the layers.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use pensa_client::config::{KEYS, Layer, REMOTE_SERVER, Setting, SettingKey, SettingValue};
use pensa_core::{Code, Error, Result};
use serde::Serialize;

use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

/// Read and change settings
///
/// Settings resolve in this order; the first match wins:
///
///   a flag, such as --remote-server
///   the environment: PN_ and the key in capitals, such as PN_EXPORT_EVENTS for export.events
///   .pensa/local/config.toml   you, for this project
///   .pensa/config.toml         everybody who works on this project; committed to git
///   the user's config.toml     you, everywhere ($XDG_CONFIG_HOME/pensa)
///   /etc/pensa/config.toml     every user of this machine
///
/// An empty value unsets the setting for all later places. pn config list --all shows all keys.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
#[command(verbatim_doc_comment)]
pub(crate) enum ConfigCommand {
    Get(ConfigGetArgs),
    Set(ConfigSetArgs),
    Unset(ConfigUnsetArgs),
    List(ConfigListArgs),
}

/// Print the value of a setting
#[derive(Debug, Args)]
pub(crate) struct ConfigGetArgs {
    /// The key, such as export.events
    #[arg(value_name = "KEY")]
    pub(crate) key: String,
    /// Also show where it is set: the flag, the variable, or the file and its line
    #[arg(long)]
    pub(crate) show_origin: bool,
}

/// Set a setting: for this project, or outside a project for you everywhere
#[derive(Debug, Args)]
pub(crate) struct ConfigSetArgs {
    /// The key, such as export.events
    #[arg(value_name = "KEY")]
    pub(crate) key: String,
    /// The new value
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) value: String,
    #[command(flatten)]
    pub(crate) layer: LayerArgs,
}

/// Remove a setting
#[derive(Debug, Args)]
pub(crate) struct ConfigUnsetArgs {
    /// The key, such as export.events
    #[arg(value_name = "KEY")]
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) layer: LayerArgs,
}

/// List the settings
#[derive(Debug, Args)]
pub(crate) struct ConfigListArgs {
    /// Also show where it is set: the flag, the variable, or the file and its line
    #[arg(long)]
    pub(crate) show_origin: bool,
    /// List every key, with what it is for
    #[arg(long)]
    pub(crate) all: bool,
}

/// Selects a settings file.
#[derive(Debug, Clone, Copy, Args)]
#[group(multiple = false)]
pub(crate) struct LayerArgs {
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

impl LayerArgs {
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

/// A setting as it is printed.
#[derive(Debug, Serialize)]
struct SettingOutput {
    key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<SettingValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    layer: Option<Layer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<&'static str>,
}

/// The answer of `pn config get`: only the value is printed.
#[derive(Debug, Serialize)]
#[serde(transparent)]
struct SingleSetting(SettingOutput);

/// A setting after a change.
#[derive(Debug, Serialize)]
struct ChangedSetting {
    /// `set` or `unset`
    status: &'static str,
    key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<SettingValue>,
    layer: Layer,
    file: PathBuf,
}

pub(super) fn run(options: &GlobalOptions, output: Output, command: &ConfigCommand) -> Result<()> {
    match command {
        ConfigCommand::Get(args) => get(options, output, args),
        ConfigCommand::Set(args) => set(options, output, args),
        ConfigCommand::Unset(args) => unset(options, output, args),
        ConfigCommand::List(args) => list(options, output, args),
    }
}

fn get(options: &GlobalOptions, output: Output, args: &ConfigGetArgs) -> Result<()> {
    let config = connect::config(options)?;
    let setting = config.find(&args.key)?.ok_or_else(|| not_set(&args.key))?;
    output.answer(&SingleSetting(setting_output(setting, args.show_origin)))
}

fn not_set(key: &str) -> Error {
    let error = Error::new(Code::NotFound, format!("{key} is not set"));
    match SettingKey::find(key) {
        Some(_) => error,
        None => error.hint(format!("no setting is called so; the nearest is {}", SettingKey::nearest(key).name)),
    }
}

fn setting_output(setting: Setting, with_origin: bool) -> SettingOutput {
    let Setting { key, value, layer, origin } = setting;
    let (layer, origin) = if with_origin { (Some(layer), Some(origin)) } else { (None, None) };
    SettingOutput { key, value: Some(value), layer, origin, about: None }
}

/// The layer to change: the given one, else `project` in a project and `user` elsewhere.
fn layer(options: &GlobalOptions, named: LayerArgs) -> Layer {
    let usual = || if connect::project_store(options).is_some() { Layer::Project } else { Layer::User };
    named.layer().unwrap_or_else(usual)
}

fn set(options: &GlobalOptions, output: Output, args: &ConfigSetArgs) -> Result<()> {
    let layer = layer(options, args.layer);
    if let Some(store) =
        connect::project_store(options).filter(|store| layer <= Layer::Project && !store.config().exists())
    {
        // A store made by an older tool has no config file; opening it creates one with its id.
        connect::open_engine(options, connect::store_at(store.root())?)?;
    }
    let (value, file) = connect::config_files(options)?.set(layer, &args.key, &args.value)?;
    output.answer(&ChangedSetting { status: "set", key: args.key.clone(), value: Some(value), layer, file })?;
    if layer == Layer::Project && args.key == REMOTE_SERVER.name && !args.value.is_empty() {
        output.note("note: everybody who works on this project has to say pn trust before a command goes there; --local needs no trust");
    }
    Ok(())
}

fn unset(options: &GlobalOptions, output: Output, args: &ConfigUnsetArgs) -> Result<()> {
    let layer = layer(options, args.layer);
    let (was_set, file) = connect::config_files(options)?.unset(layer, &args.key)?;
    if !was_set {
        let error = Error::new(Code::NotFound, format!("{} is not set in {}", args.key, file.display()));
        return Err(error.hint("pn config list --show-origin shows where it is set"));
    }
    output.answer(&ChangedSetting { status: "unset", key: args.key.clone(), value: None, layer, file })
}

fn list(options: &GlobalOptions, output: Output, args: &ConfigListArgs) -> Result<()> {
    let config = connect::config(options)?;
    let mut all: Vec<SettingOutput> =
        config.all()?.into_iter().map(|setting| setting_output(setting, args.show_origin)).collect();
    if args.all {
        for key in &KEYS {
            match all.iter_mut().find(|shown| shown.key == key.name) {
                Some(shown) => shown.about = Some(key.about),
                None => {
                    let value = config.get(key)?.map(|setting| setting.value);
                    let layer = args.show_origin.then_some(Layer::Default);
                    all.push(SettingOutput {
                        key: key.name.into(),
                        value,
                        layer,
                        origin: None,
                        about: Some(key.about),
                    });
                }
            }
        }
        for setting in config.lane_settings()? {
            let about = SettingKey::find(&setting.key).map(|key| key.about);
            match all.iter_mut().find(|shown| shown.key == setting.key) {
                Some(shown) => shown.about = about,
                None => all.push(SettingOutput { about, origin: None, ..setting_output(setting, args.show_origin) }),
            }
        }
        all.sort_by(|a, b| a.key.cmp(&b.key));
    }
    output.answer(&all)
}

impl Render for Vec<SettingOutput> {
    fn render(&self, screen: &mut Screen) {
        for shown in self {
            screen.text(&shown.key);
            if let Some(value) = &shown.value {
                screen.plain(" = ").text(&value.to_string());
            }
            origin(screen, shown);
            if let Some(about) = shown.about {
                screen.plain("  ").faint(about);
            }
            screen.end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|shown| shown.key.clone()).collect()
    }
}

fn origin(screen: &mut Screen, shown: &SettingOutput) {
    if let Some(layer) = shown.layer {
        screen.plain("  ").faint(layer.as_str());
    }
    if let Some(origin) = &shown.origin {
        screen.plain(" ").faint(origin);
    }
}

impl Render for SingleSetting {
    fn render(&self, screen: &mut Screen) {
        if let Some(value) = &self.0.value {
            screen.text(&value.to_string());
        }
        origin(screen, &self.0);
        screen.end();
    }

    fn ids(&self) -> Vec<String> {
        self.0.value.iter().map(ToString::to_string).collect()
    }
}

impl Render for ChangedSetting {
    fn render(&self, screen: &mut Screen) {
        screen.plain(self.status).plain(" ").text(&self.key);
        if let Some(value) = &self.value {
            screen.plain(" = ").text(&value.to_string());
        }
        screen.plain(" in ").text(&self.file.display().to_string()).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.key.clone()]
    }
}

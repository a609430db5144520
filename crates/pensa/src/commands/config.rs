//! `pn config`: settings in layers. The layers themselves are the client's business.

use std::path::PathBuf;

use pensa_client::config::{KEYS, Key, Layer, REMOTE_SERVER, Setting, Value};
use pensa_core::{Code, Error, Result};
use serde::Serialize;

use crate::cli::{ConfigCommand, ConfigGet, ConfigList, ConfigSet, ConfigUnset, In, Options};
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

/// A setting as it is told.
#[derive(Debug, Serialize)]
struct Told {
    key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    layer: Option<Layer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<&'static str>,
}

/// The one that was asked for.
#[derive(Debug, Serialize)]
#[serde(transparent)]
struct One(Told);

/// A setting after a change.
#[derive(Debug, Serialize)]
struct Changed {
    /// `set` or `unset`
    status: &'static str,
    key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    layer: Layer,
    file: PathBuf,
}

pub(super) fn run(options: &Options, output: Output, command: &ConfigCommand) -> Result<()> {
    match command {
        ConfigCommand::Get(args) => get(options, output, args),
        ConfigCommand::Set(args) => set(options, output, args),
        ConfigCommand::Unset(args) => unset(options, output, args),
        ConfigCommand::List(args) => list(options, output, args),
    }
}

fn get(options: &Options, output: Output, args: &ConfigGet) -> Result<()> {
    let config = connect::config(options)?;
    let setting = config.find(&args.key)?.ok_or_else(|| not_set(&args.key))?;
    output.answer(&One(told(setting, args.show_origin)))
}

fn not_set(key: &str) -> Error {
    let error = Error::new(Code::NotFound, format!("{key} is not set"));
    match Key::find(key) {
        Some(_) => error,
        None => error.hint(format!("no setting is called so; the nearest is {}", Key::nearest(key).name)),
    }
}

fn told(setting: Setting, with_origin: bool) -> Told {
    let Setting { key, value, layer, origin } = setting;
    let (layer, origin) = if with_origin { (Some(layer), Some(origin)) } else { (None, None) };
    Told { key, value: Some(value), layer, origin, about: None }
}

/// The layer that was named; else everybody's in a project, and the user's own elsewhere.
fn layer(options: &Options, named: In) -> Layer {
    let usual = || if connect::project_store(options).is_some() { Layer::Project } else { Layer::User };
    named.layer().unwrap_or_else(usual)
}

fn set(options: &Options, output: Output, args: &ConfigSet) -> Result<()> {
    let layer = layer(options, args.layer);
    if let Some(store) =
        connect::project_store(options).filter(|store| layer <= Layer::Project && !store.config().exists())
    {
        // A store that an older tool made gets its id before anything else.
        connect::open(options, connect::at(store.root())?)?;
    }
    let (value, file) = connect::files(options)?.set(layer, &args.key, &args.value)?;
    output.answer(&Changed { status: "set", key: args.key.clone(), value: Some(value), layer, file })?;
    if layer == Layer::Project && args.key == REMOTE_SERVER.name && !args.value.is_empty() {
        output.note("note: everybody who works on this project has to say pn trust before a command goes there; --local needs no trust");
    }
    Ok(())
}

fn unset(options: &Options, output: Output, args: &ConfigUnset) -> Result<()> {
    let layer = layer(options, args.layer);
    let (was_set, file) = connect::files(options)?.unset(layer, &args.key)?;
    if !was_set {
        let error = Error::new(Code::NotFound, format!("{} is not set in {}", args.key, file.display()));
        return Err(error.hint("pn config list --show-origin tells where it is"));
    }
    output.answer(&Changed { status: "unset", key: args.key.clone(), value: None, layer, file })
}

fn list(options: &Options, output: Output, args: &ConfigList) -> Result<()> {
    let config = connect::config(options)?;
    let mut all: Vec<Told> = config.all()?.into_iter().map(|setting| told(setting, args.show_origin)).collect();
    if args.all {
        for key in &KEYS {
            match all.iter_mut().find(|told| told.key == key.name) {
                Some(told) => told.about = Some(key.about),
                None => {
                    let value = config.get(key)?.map(|setting| setting.value);
                    let layer = args.show_origin.then_some(Layer::Default);
                    all.push(Told { key: key.name.into(), value, layer, origin: None, about: Some(key.about) });
                }
            }
        }
        for setting in config.of_lanes()? {
            let about = Key::find(&setting.key).map(|key| key.about);
            match all.iter_mut().find(|told| told.key == setting.key) {
                Some(told) => told.about = about,
                None => all.push(Told { about, origin: None, ..told(setting, args.show_origin) }),
            }
        }
        all.sort_by(|a, b| a.key.cmp(&b.key));
    }
    output.answer(&all)
}

impl Render for Vec<Told> {
    fn render(&self, screen: &mut Screen) {
        for told in self {
            screen.text(&told.key);
            if let Some(value) = &told.value {
                screen.plain(" = ").text(&value.to_string());
            }
            origin(screen, told);
            if let Some(about) = told.about {
                screen.plain("  ").faint(about);
            }
            screen.end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|told| told.key.clone()).collect()
    }
}

fn origin(screen: &mut Screen, told: &Told) {
    if let Some(layer) = told.layer {
        screen.plain("  ").faint(layer.as_str());
    }
    if let Some(origin) = &told.origin {
        screen.plain(" ").faint(origin);
    }
}

impl Render for One {
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

impl Render for Changed {
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

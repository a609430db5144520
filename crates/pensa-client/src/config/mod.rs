//! Reads and changes layered settings. Reads files, but no environment: the caller passes that in.

mod commands;
mod edit;
mod fields;
mod keys;
mod lanes;
mod prices;
mod trust;

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use pensa_core::{Code, Error, Result};
use serde::Serialize;
use toml_edit::{Document, Item, TableLike};

use crate::toml_file::{FilePolicy, TomlFile, line_of};

pub use keys::{
    ACTOR, BOARD_COLUMNS, CREATE_TYPE, DISK_MAX_PART, DISK_MIN_FREE, EXPORT_EVENTS, GC_AFTER, GC_AUTO, GC_OLDER_THAN,
    HOOK_DISTILL, HOOK_GOTCHAS, HOOK_RECALL, IMPORT_MAX_FILE, KEYS, PAGER, REDACT_ALLOW, REMOTE_SERVER, RUN_HARNESS,
    RUN_RUNTIME, SNAPSHOT_PROVIDER, SYNC_REMOTE, SYNC_SESSIONS, SettingKey, SettingKind, SettingValue, TUI_KEYS,
    TUI_THEME, allow_patterns,
};
pub use lanes::LANE_VARIABLE_PREFIX;
pub use trust::{TrustedServer, TrustedServers};

/// A source of settings, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    Flag,
    Environment,
    /// The user's settings for this project: `.pensa/local/config.toml`
    Local,
    /// The project's settings, shared through git: `.pensa/config.toml`
    Project,
    /// The user's settings for all projects
    User,
    /// Settings for all users of this machine
    System,
    /// The built-in default
    Default,
}

impl Layer {
    pub fn as_str(self) -> &'static str {
        match self {
            Layer::Flag => "flag",
            Layer::Environment => "environment",
            Layer::Local => "local",
            Layer::Project => "project",
            Layer::User => "user",
            Layer::System => "system",
            Layer::Default => "default",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The paths of the settings files, as far as they exist for this command.
#[derive(Debug, Clone, Default)]
pub struct ConfigPaths {
    pub local: Option<PathBuf>,
    pub project: Option<PathBuf>,
    pub user: Option<PathBuf>,
    pub system: Option<PathBuf>,
}

impl ConfigPaths {
    fn each(&self) -> impl Iterator<Item = (Layer, TomlFile)> {
        let all = [
            (Layer::Local, &self.local, FilePolicy::Store),
            (Layer::Project, &self.project, FilePolicy::Store),
            (Layer::User, &self.user, FilePolicy::User),
            (Layer::System, &self.system, FilePolicy::System),
        ];
        all.into_iter().filter_map(|(layer, path, policy)| Some((layer, TomlFile::new(path.clone()?, policy))))
    }

    fn of(&self, layer: Layer) -> Result<TomlFile> {
        self.each().find(|(each, _)| *each == layer).map(|(_, file)| file).ok_or_else(|| match layer {
            Layer::Local | Layer::Project => Error::new(Code::NoStore, "there is no project here")
                .hint("pn init makes one; --user is for everywhere"),
            _ => Error::invalid(format!("there is no place for settings of the layer {layer}")).hint("set HOME"),
        })
    }

    /// Sets a value in the file of a layer.
    pub fn set(&self, layer: Layer, key: &str, given: &str) -> Result<(SettingValue, PathBuf)> {
        let path = path_of(key)?;
        let value = SettingKey::find(key).ok_or_else(|| unknown(key))?.parse(given)?;
        if key == PAGER.name && layer == Layer::Project {
            let message = format!("{key} is a command: a project does not choose what runs on your machine");
            return Err(Error::new(Code::Forbidden, message).hint(format!("pn config set {key} '{given}' --user")));
        }
        let file = self.of(layer)?;
        file.change_text(|text| {
            let changed = edit::with(file.parse(text.to_owned())?, &path, &value);
            changed.map(|text| (text, ())).map_err(|e| e.within(file.path().display()))
        })?;
        Ok((value, file.path().to_owned()))
    }

    /// Removes a value from the file of a layer. Returns whether it was set.
    pub fn unset(&self, layer: Layer, key: &str) -> Result<(bool, PathBuf)> {
        let path = path_of(key)?;
        let file = self.of(layer)?;
        let is_there = |doc: &Document<String>| find(doc.as_table(), &path).is_some();
        // Check first, so that no file is created.
        if !file.read()?.as_ref().is_some_and(is_there) {
            return Ok((false, file.path().to_owned()));
        }
        file.change_text(|text| {
            let doc = file.parse(text.to_owned())?;
            Ok((edit::without(&doc, &path), ()))
        })?;
        Ok((true, file.path().to_owned()))
    }
}

/// The store id is in the same file as the project's settings, but it is not a setting.
const STORE_ID: &str = "store_id";

fn unknown(key: &str) -> Error {
    Error::invalid(format!("unknown setting {key}"))
        .hint(format!("the nearest is {}; pn config list --all shows them all", SettingKey::nearest(key).name))
}

/// Splits and checks a key. A word with dots or other characters is quoted, as in TOML: `prices."gpt-5.1".input`.
fn path_of(key: &str) -> Result<Vec<&str>> {
    if key == STORE_ID {
        return Err(Error::invalid("store_id is no setting: clones know the store by it"));
    }
    let not_a_key = || {
        Error::invalid(format!("not a key: {key:?}"))
            .hint("words of letters, digits, - and _, with dots between; others in quotes: prices.\"gpt-5.1\".input")
    };
    let mut path = Vec::new();
    let mut rest = Some(key);
    while let Some(text) = rest {
        let (word, after) = match text.strip_prefix('"') {
            Some(quoted) => {
                let (word, after) = quoted.split_once('"').ok_or_else(not_a_key)?;
                if word.is_empty() || word.contains(['\\', '\'']) || word.chars().any(char::is_control) {
                    return Err(not_a_key());
                }
                (word, after)
            }
            None => {
                let (word, after) = text.split_at(text.find('.').unwrap_or(text.len()));
                if !is_bare(word) {
                    return Err(not_a_key());
                }
                (word, after)
            }
        };
        path.push(word);
        rest = match after {
            "" => None,
            after => Some(after.strip_prefix('.').ok_or_else(not_a_key)?),
        };
    }
    if path.len() > MAX_DEPTH || key.len() > MAX_KEY {
        return Err(not_a_key());
    }
    Ok(path)
}

/// Whether a word of a key needs no quotes.
fn is_bare(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
}

/// Limits for keys.
const MAX_DEPTH: usize = 8;
const MAX_KEY: usize = 200;

fn find<'a>(table: &'a dyn TableLike, path: &[&str]) -> Option<&'a Item> {
    let (first, rest) = path.split_first()?;
    let item = table.get(first).filter(|item| !item.is_none())?;
    if rest.is_empty() { Some(item) } else { find(item.as_table_like()?, rest) }
}

/// A resolved setting with its source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Setting {
    pub key: String,
    pub value: SettingValue,
    pub layer: Layer,
    /// The flag, the variable, or the file and its line
    pub origin: String,
}

/// An unknown key in a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKey {
    pub key: String,
    pub origin: String,
    /// The most similar known key
    pub nearest: &'static str,
}

impl fmt::Display for UnknownKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown setting {} ({}); the nearest is {}", self.key, self.origin, self.nearest)
    }
}

/// Settings from flags and environment variables.
#[derive(Debug, Clone, Default)]
pub struct ConfigOverrides {
    /// Settings given as flags: setting, flag, value
    pub flags: Vec<(&'static str, &'static str, String)>,
    /// Environment variables of settings
    pub variables: Vec<(String, OsString)>,
}

impl ConfigOverrides {
    /// Reads the environment variables of all settings with `var`.
    pub fn with_variables(mut self, var: impl Fn(&str) -> Option<OsString>) -> Self {
        let names = KEYS.iter().flat_map(SettingKey::variables);
        self.variables = names.filter_map(|name| var(&name).map(|value| (name, value))).collect();
        self
    }
}

/// All settings of one run of the program.
#[derive(Debug, Clone)]
pub struct Config {
    overrides: ConfigOverrides,
    files: Vec<(Layer, TomlFile, Document<String>)>,
}

impl Config {
    pub fn read(overrides: ConfigOverrides, files: &ConfigPaths) -> Result<Self> {
        let mut read = Vec::new();
        for (layer, file) in files.each() {
            if let Some(doc) = file.read()? {
                read.push((layer, file, doc));
            }
        }
        Ok(Self { overrides, files: read })
    }

    /// Resolves a setting; `None` if it has no value.
    pub fn get(&self, key: &SettingKey) -> Result<Option<Setting>> {
        self.resolve(key, key.name, key.default)
    }

    /// Resolves a setting by name, known or not.
    pub fn find(&self, name: &str) -> Result<Option<Setting>> {
        match SettingKey::find(name) {
            Some(key) if key.name == name => self.get(key),
            Some(key) if [keys::PRICE.name, keys::FIELD.name].contains(&key.name) => self.resolve(key, name, None),
            Some(_) => self.lane(name),
            None => self.get_unknown(name),
        }
    }

    /// Resolves a setting that only the user may choose, ignoring files that came with the repository.
    pub fn personal(
        &self,
        key: &SettingKey,
        came_with_repository: &dyn Fn(&Setting) -> bool,
    ) -> Result<Option<Setting>> {
        let given = self.variable(key, key.name)?.into_iter();
        Ok(given.chain(self.in_files(key, key.name)?).find(|setting| !came_with_repository(setting)))
    }

    /// Resolves the setting `name` with the type of `key`.
    fn resolve(&self, key: &SettingKey, name: &str, default: Option<&str>) -> Result<Option<Setting>> {
        let given = match self.flag(key, name)? {
            Some(setting) => Some(setting),
            None => match self.variable(key, name)? {
                Some(setting) => Some(setting),
                None => self.in_files(key, name)?.into_iter().next(),
            },
        };
        match given {
            Some(setting) if !setting.value.is_empty() => Ok(Some(setting)),
            _ => default.map(|default| setting(name, key.parse(default)?, Layer::Default, "default")).transpose(),
        }
    }

    /// Resolves a setting as text.
    pub fn text(&self, key: &SettingKey) -> Result<Option<String>> {
        Ok(self.get(key)?.map(|setting| setting.value.to_string()))
    }

    /// Resolves and parses a text setting.
    pub fn parsed<T: FromStr<Err = Error>>(&self, key: &SettingKey) -> Result<Option<T>> {
        let parse = |setting: Setting| {
            let parsed = setting.value.to_string().parse();
            parsed.map_err(|e: Error| e.within(format_args!("{}: {}", setting.origin, setting.key)))
        };
        self.get(key)?.map(parse).transpose()
    }

    /// Resolves a limit in MiB to bytes. A file that came with the repository can lower it but not raise it.
    pub fn limit(&self, key: &SettingKey, came_with_repository: &dyn Fn(&Setting) -> bool) -> Result<u64> {
        let setting = self.get(key)?;
        let given = setting.as_ref().and_then(|setting| setting.value.to_string().parse::<u64>().ok());
        let bytes = given.map_or(u64::MAX, |mebibytes| mebibytes.saturating_mul(1 << 20));
        match setting {
            Some(setting) if came_with_repository(&setting) => {
                let files = self.files.iter().filter(|(layer, ..)| *layer != setting.layer).cloned().collect();
                let others = Config { overrides: self.overrides.clone(), files };
                Ok(bytes.min(others.limit(key, came_with_repository)?))
            }
            _ => Ok(bytes),
        }
    }

    /// Whether a flag is true.
    pub fn is_on(&self, key: &SettingKey) -> Result<bool> {
        Ok(self.get(key)?.is_some_and(|setting| setting.value == SettingValue::Flag(true)))
    }

    /// The value of an unknown key, if a file contains it.
    pub fn get_unknown(&self, key: &str) -> Result<Option<Setting>> {
        let path = path_of(key)?;
        Ok(self.leaves().find(|leaf| leaf.path == path).and_then(|leaf| leaf.setting()))
    }

    /// All settings that have a value, sorted by key.
    pub fn all(&self) -> Result<Vec<Setting>> {
        let mut all = Vec::new();
        for key in &KEYS {
            all.extend(self.get(key)?.filter(|setting| setting.layer != Layer::Default));
        }
        all.extend(self.price_settings()?);
        all.extend(self.field_settings()?);
        all.extend(self.lane_settings()?.into_iter().filter(|setting| setting.layer != Layer::Default));
        let unknown: Vec<Setting> = self.unknown_leaves().filter_map(|leaf| leaf.setting()).collect();
        for setting in unknown {
            if !all.iter().any(|stronger| stronger.key == setting.key) {
                all.push(setting);
            }
        }
        all.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(all)
    }

    /// The unknown keys in all files.
    pub fn unknown(&self) -> Vec<UnknownKey> {
        let unknown = self.unknown_leaves().take(MAX_UNKNOWN);
        unknown
            .map(|leaf| UnknownKey {
                key: leaf.key(),
                origin: leaf.origin(),
                nearest: SettingKey::nearest(&leaf.key()).name,
            })
            .collect()
    }

    fn flag(&self, key: &SettingKey, name: &str) -> Result<Option<Setting>> {
        let given = self.overrides.flags.iter().find(|(flag, _, _)| *flag == name);
        let Some((_, flag, given)) = given else { return Ok(None) };
        setting(name, key.parse(given)?, Layer::Flag, flag).map(Some)
    }

    fn variable(&self, key: &SettingKey, name: &str) -> Result<Option<Setting>> {
        let mut variables = key.variables_as(name);
        let given = variables.find_map(|name| self.overrides.variables.iter().find(|(known, _)| *known == name));
        let Some((variable, value)) = given else { return Ok(None) };
        let value = value.to_str().ok_or_else(|| Error::invalid(format!("{variable} is not UTF-8")))?.trim();
        if value.is_empty() {
            return setting(name, SettingValue::Text(String::new()), Layer::Environment, variable).map(Some);
        }
        setting(name, key.parse(value).map_err(|e| e.within(variable))?, Layer::Environment, variable).map(Some)
    }

    /// The values in files, the strongest first. Settings that are not compared are read only from the first file.
    fn in_files(&self, key: &SettingKey, name: &str) -> Result<Vec<Setting>> {
        let path = path_of(name)?;
        let mut given = Vec::new();
        for (layer, file, doc) in &self.files {
            let Some(item) = find(doc.as_table(), &path) else { continue };
            let origin = origin(file, doc, item);
            let value = match (key.kind, item.as_bool(), item.as_integer(), item.as_str()) {
                (SettingKind::Flag, Some(flag), ..) => SettingValue::Flag(flag),
                (SettingKind::Number(_), _, Some(number), _) => {
                    key.parse(&number.to_string()).map_err(|e| e.within(&origin))?
                }
                (SettingKind::Decimal, _, None, None) if item.is_float() => {
                    key.parse(item.to_string().trim()).map_err(|e| e.within(&origin))?
                }
                (SettingKind::Decimal, _, Some(number), _) => {
                    key.parse(&number.to_string()).map_err(|e| e.within(&origin))?
                }
                (SettingKind::List(_), ..) if item.is_array() => {
                    let texts = item.as_array().into_iter().flatten().map(|text| text.as_str());
                    let texts: Option<Vec<&str>> = texts.collect();
                    let texts = texts.ok_or_else(|| wrong_type(name, key.kind, item, &origin))?;
                    key.parse(&texts.join("\n")).map_err(|e| e.within(&origin))?
                }
                (SettingKind::Decimal | SettingKind::Text(_) | SettingKind::List(_), _, _, Some(text)) => {
                    key.parse(text.trim()).map_err(|e| e.within(&origin))?
                }
                (kind, ..) => return Err(wrong_type(name, kind, item, &origin)),
            };
            given.push(setting(name, value, *layer, &origin)?);
            if key.name == name && key.name != PAGER.name {
                break;
            }
        }
        Ok(given)
    }

    fn leaves(&self) -> impl Iterator<Item = ConfigLeaf<'_>> {
        self.files.iter().flat_map(|(layer, file, doc)| {
            let mut leaves = Vec::new();
            visit_leaves(doc.as_table(), &mut Vec::new(), &mut |path, item| {
                leaves.push(ConfigLeaf { layer: *layer, file, doc, path: path.to_vec(), item });
            });
            leaves
        })
    }

    fn unknown_leaves(&self) -> impl Iterator<Item = ConfigLeaf<'_>> {
        self.leaves().filter(|leaf| {
            let key = leaf.key();
            SettingKey::find(&key).is_none() && key != STORE_ID
        })
    }
}

/// Maximum unknown keys that are reported.
const MAX_UNKNOWN: usize = 10;

fn setting(key: &str, value: SettingValue, layer: Layer, origin: &str) -> Result<Setting> {
    Ok(Setting { key: key.to_owned(), value, layer, origin: origin.to_owned() })
}

fn origin(file: &TomlFile, doc: &Document<String>, item: &Item) -> String {
    let line = item.span().map_or(1, |span| line_of(doc.raw(), span.start));
    format!("{} line {line}", file.path().display())
}

fn wrong_type(name: &str, kind: SettingKind, item: &Item, origin: &str) -> Error {
    let expected = match kind {
        SettingKind::Flag => "true or false",
        SettingKind::Text(_) => "a string",
        SettingKind::List(_) => "a list of strings",
        SettingKind::Number(_) => "a whole number",
        SettingKind::Decimal => "a number",
    };
    Error::invalid(format!("{origin}: {name} is of the type {}, not {expected}", item.type_name()))
}

/// A value in a file.
struct ConfigLeaf<'a> {
    layer: Layer,
    file: &'a TomlFile,
    doc: &'a Document<String>,
    path: Vec<&'a str>,
    item: &'a Item,
}

impl ConfigLeaf<'_> {
    fn key(&self) -> String {
        let words = self.path.iter().map(|word| if is_bare(word) { (*word).to_owned() } else { format!("\"{word}\"") });
        words.collect::<Vec<_>>().join(".")
    }

    fn origin(&self) -> String {
        origin(self.file, self.doc, self.item)
    }

    fn setting(&self) -> Option<Setting> {
        let value = match (self.item.as_bool(), self.item.as_integer(), self.item.as_str()) {
            (Some(flag), _, _) => SettingValue::Flag(flag),
            (_, Some(number), _) => SettingValue::Number(number),
            (_, _, Some(text)) => SettingValue::Text(text.to_owned()),
            _ => SettingValue::Text(self.item.to_string().trim().to_owned()),
        };
        Some(Setting { key: self.key(), value, layer: self.layer, origin: self.origin() })
    }
}

fn visit_leaves<'a>(table: &'a dyn TableLike, path: &mut Vec<&'a str>, visit: &mut impl FnMut(&[&'a str], &'a Item)) {
    for (name, item) in table.iter() {
        path.push(name);
        match item.as_table_like() {
            Some(inner) => visit_leaves(inner, path, visit),
            None => visit(path, item),
        }
        path.pop();
    }
}

#[cfg(test)]
mod tests;

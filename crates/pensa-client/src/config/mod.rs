//! Configuration in layers: what is set, by whom, and changing it.
//!
//! Reads files but no environment: the caller hands in what it was told.

mod edit;
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

use crate::toml_file::{Nature, TomlFile, line_of};

pub use keys::{
    ACTOR, DISK_MAX_PART, DISK_MIN_FREE, EXPORT_EVENTS, GC_AFTER, GC_AUTO, GC_OLDER_THAN, IMPORT_MAX_FILE, KEYS, Key,
    Kind, REDACT_ALLOW, REMOTE_SERVER, RUN_HARNESS, RUN_RUNTIME, SNAPSHOT_PROVIDER, SYNC_REMOTE, Value,
    lines as allowed,
};
pub use lanes::LANE_VARIABLES;
pub use trust::{Trusted, Trusts};

/// Who can say what a setting is, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    Flag,
    Environment,
    /// The user, for this project: `.pensa/local/config.toml`
    Local,
    /// Everybody who works on this project: `.pensa/config.toml`, which git carries
    Project,
    /// The user, everywhere
    User,
    /// Whoever looks after this machine
    System,
    /// Nobody
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

/// Where the files of the layers are, as far as there is a place for them.
#[derive(Debug, Clone, Default)]
pub struct Files {
    pub local: Option<PathBuf>,
    pub project: Option<PathBuf>,
    pub user: Option<PathBuf>,
    pub system: Option<PathBuf>,
}

impl Files {
    fn each(&self) -> impl Iterator<Item = (Layer, TomlFile)> {
        let all = [
            (Layer::Local, &self.local, Nature::Store),
            (Layer::Project, &self.project, Nature::Store),
            (Layer::User, &self.user, Nature::User),
            (Layer::System, &self.system, Nature::System),
        ];
        all.into_iter().filter_map(|(layer, path, nature)| Some((layer, TomlFile::new(path.clone()?, nature))))
    }

    fn of(&self, layer: Layer) -> Result<TomlFile> {
        self.each().find(|(each, _)| *each == layer).map(|(_, file)| file).ok_or_else(|| match layer {
            Layer::Local | Layer::Project => Error::new(Code::NoStore, "there is no project here")
                .hint("pn init makes one; --user is for everywhere"),
            _ => Error::invalid(format!("there is no place for settings of the layer {layer}")).hint("set HOME"),
        })
    }

    /// Says what a setting is, in one of the files.
    pub fn set(&self, layer: Layer, key: &str, given: &str) -> Result<(Value, PathBuf)> {
        let path = path_of(key)?;
        let value = Key::find(key).ok_or_else(|| unknown(key))?.parse(given)?;
        let file = self.of(layer)?;
        file.change_text(|text| {
            let changed = edit::with(file.parse(text.to_owned())?, &path, &value);
            changed.map(|text| (text, ())).map_err(|e| e.within(file.path().display()))
        })?;
        Ok((value, file.path().to_owned()))
    }

    /// Says nothing any more about a setting, in one of the files. Tells whether it did.
    pub fn unset(&self, layer: Layer, key: &str) -> Result<(bool, PathBuf)> {
        let path = path_of(key)?;
        let file = self.of(layer)?;
        let is_there = |doc: &Document<String>| find(doc.as_table(), &path).is_some();
        // Asked first, so that nothing is made where there is nothing to unset.
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

/// The name by which clones know a store stands in the same file as the settings of its project.
const STORE_ID: &str = "store_id";

fn unknown(key: &str) -> Error {
    Error::invalid(format!("unknown setting {key}"))
        .hint(format!("the nearest is {}; pn config list --all shows them all", Key::nearest(key).name))
}

/// A key as the path to it in a file.
fn path_of(key: &str) -> Result<Vec<&str>> {
    if key == STORE_ID {
        return Err(Error::invalid("store_id is no setting: clones know the store by it"));
    }
    let is_word =
        |word: &&str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
    let path: Vec<&str> = key.split('.').collect();
    if path.len() > MAX_DEPTH || key.len() > MAX_KEY || !path.iter().all(is_word) {
        return Err(
            Error::invalid(format!("not a key: {key:?}")).hint("words of letters, digits, - and _, with dots between")
        );
    }
    Ok(path)
}

/// Deepest and longest key that can be set.
const MAX_DEPTH: usize = 8;
const MAX_KEY: usize = 200;

fn find<'a>(table: &'a dyn TableLike, path: &[&str]) -> Option<&'a Item> {
    let (first, rest) = path.split_first()?;
    let item = table.get(first).filter(|item| !item.is_none())?;
    if rest.is_empty() { Some(item) } else { find(item.as_table_like()?, rest) }
}

/// What a setting is, and who says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Setting {
    pub key: String,
    pub value: Value,
    pub layer: Layer,
    /// The flag, the variable, or the file and its line
    pub origin: String,
}

/// A key in a file that means nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    pub key: String,
    pub origin: String,
    /// What may be meant
    pub nearest: &'static str,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown setting {} ({}); the nearest is {}", self.key, self.origin, self.nearest)
    }
}

/// What the caller was told in other ways than by files.
#[derive(Debug, Clone, Default)]
pub struct Told {
    /// Settings that were given as flags, and by which
    pub flags: Vec<(&'static str, &'static str, String)>,
    /// Variables of the environment that say what a setting is
    pub variables: Vec<(String, OsString)>,
}

impl Told {
    /// The variables that matter; `var` looks one up.
    pub fn by_variables(mut self, var: impl Fn(&str) -> Option<OsString>) -> Self {
        let names = KEYS.iter().flat_map(Key::variables);
        self.variables = names.filter_map(|name| var(&name).map(|value| (name, value))).collect();
        self
    }
}

/// Everything that was said, as one run of the program sees it.
#[derive(Debug, Clone)]
pub struct Config {
    told: Told,
    files: Vec<(Layer, TomlFile, Document<String>)>,
}

impl Config {
    pub fn read(told: Told, files: &Files) -> Result<Self> {
        let mut read = Vec::new();
        for (layer, file) in files.each() {
            if let Some(doc) = file.read()? {
                read.push((layer, file, doc));
            }
        }
        Ok(Self { told, files: read })
    }

    /// What a setting is, if it is anything.
    pub fn get(&self, key: &Key) -> Result<Option<Setting>> {
        self.named(key, key.name, key.default)
    }

    /// What the setting of this name is, known or not.
    pub fn find(&self, name: &str) -> Result<Option<Setting>> {
        match Key::find(name) {
            Some(key) if key.name == name => self.get(key),
            Some(key) if key.name == keys::PRICE.name => self.named(key, name, None),
            Some(_) => self.lane(name),
            None => self.get_unknown(name),
        }
    }

    /// What a setting of a kind is that goes by this name.
    fn named(&self, key: &Key, name: &str, default: Option<&str>) -> Result<Option<Setting>> {
        let said = match self.flag(key, name)? {
            Some(setting) => Some(setting),
            None => match self.variable(key, name)? {
                Some(setting) => Some(setting),
                None => self.in_files(key, name)?.into_iter().next(),
            },
        };
        match said {
            Some(setting) if !setting.value.is_empty() => Ok(Some(setting)),
            _ => default.map(|default| setting(name, key.parse(default)?, Layer::Default, "default")).transpose(),
        }
    }

    /// A text setting.
    pub fn text(&self, key: &Key) -> Result<Option<String>> {
        Ok(self.get(key)?.map(|setting| setting.value.to_string()))
    }

    /// A text setting as what it means.
    pub fn parsed<T: FromStr<Err = Error>>(&self, key: &Key) -> Result<Option<T>> {
        let parse = |setting: Setting| {
            let parsed = setting.value.to_string().parse();
            parsed.map_err(|e: Error| e.within(format_args!("{}: {}", setting.origin, setting.key)))
        };
        self.get(key)?.map(parse).transpose()
    }

    /// A limit in MiB, as bytes. What came with the repository can lower it and not raise it.
    pub fn limit(&self, key: &Key, came_with_repository: &dyn Fn(&Setting) -> bool) -> Result<u64> {
        let setting = self.get(key)?;
        let said = setting.as_ref().and_then(|setting| setting.value.to_string().parse::<u64>().ok());
        let bytes = said.map_or(u64::MAX, |mebibytes| mebibytes.saturating_mul(1 << 20));
        match setting {
            Some(setting) if came_with_repository(&setting) => {
                let files = self.files.iter().filter(|(layer, ..)| *layer != setting.layer).cloned().collect();
                let others = Config { told: self.told.clone(), files };
                Ok(bytes.min(others.limit(key, came_with_repository)?))
            }
            _ => Ok(bytes),
        }
    }

    /// Whether something is switched on.
    pub fn is_on(&self, key: &Key) -> Result<bool> {
        Ok(self.get(key)?.is_some_and(|setting| setting.value == Value::Flag(true)))
    }

    /// A key that nobody knows, if a file has it.
    pub fn get_unknown(&self, key: &str) -> Result<Option<Setting>> {
        let path = path_of(key)?;
        Ok(self.leaves().find(|leaf| leaf.path == path).and_then(|leaf| leaf.setting()))
    }

    /// All that is set, by name: what counts for each key.
    pub fn all(&self) -> Result<Vec<Setting>> {
        let mut all = Vec::new();
        for key in &KEYS {
            all.extend(self.get(key)?.filter(|setting| setting.layer != Layer::Default));
        }
        all.extend(self.of_prices()?);
        all.extend(self.of_lanes()?.into_iter().filter(|setting| setting.layer != Layer::Default));
        let unknown: Vec<Setting> = self.unknown_leaves().filter_map(|leaf| leaf.setting()).collect();
        for setting in unknown {
            if !all.iter().any(|stronger| stronger.key == setting.key) {
                all.push(setting);
            }
        }
        all.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(all)
    }

    /// What stands in files and means nothing.
    pub fn unknown(&self) -> Vec<Unknown> {
        let unknown = self.unknown_leaves().take(MAX_UNKNOWN);
        unknown
            .map(|leaf| Unknown { key: leaf.key(), origin: leaf.origin(), nearest: Key::nearest(&leaf.key()).name })
            .collect()
    }

    fn flag(&self, key: &Key, name: &str) -> Result<Option<Setting>> {
        let given = self.told.flags.iter().find(|(flag, _, _)| *flag == name);
        let Some((_, flag, given)) = given else { return Ok(None) };
        setting(name, key.parse(given)?, Layer::Flag, flag).map(Some)
    }

    fn variable(&self, key: &Key, name: &str) -> Result<Option<Setting>> {
        let mut variables = key.variables_as(name);
        let said = variables.find_map(|name| self.told.variables.iter().find(|(told, _)| *told == name));
        let Some((variable, value)) = said else { return Ok(None) };
        let value = value.to_str().ok_or_else(|| Error::invalid(format!("{variable} is not UTF-8")))?.trim();
        if value.is_empty() {
            return setting(name, Value::Text(String::new()), Layer::Environment, variable).map(Some);
        }
        setting(name, key.parse(value).map_err(|e| e.within(variable))?, Layer::Environment, variable).map(Some)
    }

    /// What files say, the strongest first. Only the first is read of settings that are not compared.
    fn in_files(&self, key: &Key, name: &str) -> Result<Vec<Setting>> {
        let path = path_of(name)?;
        let mut said = Vec::new();
        for (layer, file, doc) in &self.files {
            let Some(item) = find(doc.as_table(), &path) else { continue };
            let origin = origin(file, doc, item);
            let value = match (key.kind, item.as_bool(), item.as_integer(), item.as_str()) {
                (Kind::Flag, Some(flag), ..) => Value::Flag(flag),
                (Kind::Number(_), _, Some(number), _) => {
                    key.parse(&number.to_string()).map_err(|e| e.within(&origin))?
                }
                (Kind::Decimal, _, None, None) if item.is_float() => {
                    key.parse(item.to_string().trim()).map_err(|e| e.within(&origin))?
                }
                (Kind::Decimal, _, Some(number), _) => key.parse(&number.to_string()).map_err(|e| e.within(&origin))?,
                (Kind::List(_), ..) if item.is_array() => {
                    let texts = item.as_array().into_iter().flatten().map(|text| text.as_str());
                    let texts: Option<Vec<&str>> = texts.collect();
                    let texts = texts.ok_or_else(|| wrong_type(name, key.kind, item, &origin))?;
                    key.parse(&texts.join("\n")).map_err(|e| e.within(&origin))?
                }
                (Kind::Decimal | Kind::Text(_) | Kind::List(_), _, _, Some(text)) => {
                    key.parse(text.trim()).map_err(|e| e.within(&origin))?
                }
                (kind, ..) => return Err(wrong_type(name, kind, item, &origin)),
            };
            said.push(setting(name, value, *layer, &origin)?);
            if key.name == name {
                break;
            }
        }
        Ok(said)
    }

    fn leaves(&self) -> impl Iterator<Item = Leaf<'_>> {
        self.files.iter().flat_map(|(layer, file, doc)| {
            let mut leaves = Vec::new();
            gather(doc.as_table(), &mut Vec::new(), &mut |path, item| {
                leaves.push(Leaf { layer: *layer, file, doc, path: path.to_vec(), item });
            });
            leaves
        })
    }

    fn unknown_leaves(&self) -> impl Iterator<Item = Leaf<'_>> {
        self.leaves().filter(|leaf| {
            let key = leaf.key();
            Key::find(&key).is_none() && key != STORE_ID
        })
    }
}

/// Most unknown keys that are told.
const MAX_UNKNOWN: usize = 10;

fn setting(key: &str, value: Value, layer: Layer, origin: &str) -> Result<Setting> {
    Ok(Setting { key: key.to_owned(), value, layer, origin: origin.to_owned() })
}

fn origin(file: &TomlFile, doc: &Document<String>, item: &Item) -> String {
    let line = item.span().map_or(1, |span| line_of(doc.raw(), span.start));
    format!("{} line {line}", file.path().display())
}

fn wrong_type(name: &str, kind: Kind, item: &Item, origin: &str) -> Error {
    let wanted = match kind {
        Kind::Flag => "true or false",
        Kind::Text(_) => "a string",
        Kind::List(_) => "a list of strings",
        Kind::Number(_) => "a whole number",
        Kind::Decimal => "a number",
    };
    Error::invalid(format!("{origin}: {name} is of the type {}, not {wanted}", item.type_name()))
}

/// A value in a file, whether its key is known or not.
struct Leaf<'a> {
    layer: Layer,
    file: &'a TomlFile,
    doc: &'a Document<String>,
    path: Vec<&'a str>,
    item: &'a Item,
}

impl Leaf<'_> {
    fn key(&self) -> String {
        self.path.join(".")
    }

    fn origin(&self) -> String {
        origin(self.file, self.doc, self.item)
    }

    fn setting(&self) -> Option<Setting> {
        let value = match (self.item.as_bool(), self.item.as_integer(), self.item.as_str()) {
            (Some(flag), _, _) => Value::Flag(flag),
            (_, Some(number), _) => Value::Number(number),
            (_, _, Some(text)) => Value::Text(text.to_owned()),
            _ => Value::Text(self.item.to_string().trim().to_owned()),
        };
        Some(Setting { key: self.key(), value, layer: self.layer, origin: self.origin() })
    }
}

fn gather<'a>(table: &'a dyn TableLike, path: &mut Vec<&'a str>, found: &mut impl FnMut(&[&'a str], &'a Item)) {
    for (name, item) in table.iter() {
        path.push(name);
        match item.as_table_like() {
            Some(inner) => gather(inner, path, found),
            None => found(path, item),
        }
        path.pop();
    }
}

#[cfg(test)]
mod tests;

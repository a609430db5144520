//! The sentence-embedding models of this machine, with which `pn recall` finds by meaning. Without the feature `semantic`,
//! `models_absent` is built instead.
//!
//! Which models there are is in a file among the user's settings. Nothing in a store names a model: a clone of a
//! stranger's project must not make this machine read files of the stranger's choice.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
#[cfg(feature = "server")]
use std::time::Duration;

use pensa_core::dirs::{self, Platform};
use pensa_core::error::io;
use pensa_core::{Code, Error, Result};
use pensa_embed::{Model, ModelFiles};
use pensa_engine::{Embedder, Engine, QueryEmbedder};
use serde::{Deserialize, Serialize};

use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::progress::with_progress;
use crate::render::{Render, Screen, list_item};

/// The list of a user has a few hundred bytes for each model.
const MAX_LIST: u64 = 1 << 20;
/// Texts that a daemon embeds before it looks at the list again.
#[cfg(feature = "server")]
const ROUND: usize = 512;
/// How often a daemon looks for new texts, and its pause between rounds.
#[cfg(feature = "server")]
const LOOK_INTERVAL: Duration = Duration::from_secs(5);
#[cfg(feature = "server")]
const ROUND_PAUSE: Duration = Duration::from_millis(100);

/// A model in the user's list.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ListedModel {
    kind: String,
    dimension: usize,
    files: ModelFiles,
}

/// The user's list of models. The first is used.
#[derive(Debug, Clone)]
struct ModelList {
    path: PathBuf,
}

impl ModelList {
    fn of_user() -> Result<Self> {
        let dir = dirs::user_config_dir(Platform::HERE, connect::env_var);
        let dir = dir.ok_or_else(|| Error::invalid("there is no place for settings").hint("set HOME"))?;
        Ok(Self { path: dir.join("models.json") })
    }

    fn read(&self) -> Result<Vec<ListedModel>> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(io("open", &self.path, &e)),
        };
        let mut text = String::new();
        file.take(MAX_LIST).read_to_string(&mut text).map_err(|e| io("read", &self.path, &e))?;
        serde_json::from_str(&text).map_err(|e| {
            Error::new(Code::Corrupt, format!("{} is damaged: {e}", self.path.display()))
                .hint("remove the file and add the models again")
        })
    }

    fn write(&self, models: &[ListedModel]) -> Result<()> {
        let failed = |e: std::io::Error| io("write", &self.path, &e);
        let dir = self.path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(dir).map_err(failed)?;
        let mut file = tempfile::NamedTempFile::new_in(dir).map_err(failed)?;
        let text = serde_json::to_vec_pretty(models).map_err(Error::internal)?;
        file.write_all(&text).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
        file.persist(&self.path).map_err(|e| failed(e.error)).map(drop)
    }
}

/// A model as `pn recall model` shows it.
#[derive(Debug, Serialize)]
struct ModelLine {
    id: String,
    kind: String,
    dimension: usize,
    directory: PathBuf,
    /// Whether recall uses it
    used: bool,
    /// Texts of this store that have a vector
    vectors: usize,
}

impl Render for ModelLine {
    fn render(&self, screen: &mut Screen) {
        screen.id(&short(&self.id));
        screen.plain(&format!(" {:<6} {:>4} ", self.kind, self.dimension)).text(&self.directory.to_string_lossy());
        screen.faint(&format!(" {} texts{}", self.vectors, if self.used { ", used" } else { "" })).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.clone()]
    }
}

list_item!(ModelLine, "model", "models");

/// Enough of an id to tell models apart.
fn short(id: &str) -> &str {
    &id[..id.floor_char_boundary(12)]
}

/// What an update did, or the addition of a model.
#[derive(Debug, Serialize)]
struct Embedded {
    model: String,
    embedded: usize,
    removed: usize,
}

impl Render for Embedded {
    fn render(&self, screen: &mut Screen) {
        screen.plain(&format!("embedded {} texts, removed {} old vectors, with model ", self.embedded, self.removed));
        screen.id(&short(&self.model)).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.model.clone()]
    }
}

/// A model that embeds texts for the engine.
#[derive(Debug)]
struct TextModel(Arc<Model>);

impl Embedder for TextModel {
    fn id(&self) -> &str {
        self.0.id()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.0.embed(texts)
    }
}

pub(super) fn add(options: &GlobalOptions, output: Output, directory: &Path) -> Result<()> {
    let engine = engine(options)?;
    let list = ModelList::of_user()?;
    let model = with_progress(output, || Model::load(&connect::cwd()?.join(directory)))?;
    let listed =
        ListedModel { kind: model.kind().to_owned(), dimension: model.dimension(), files: model.files().clone() };
    let mut models = list.read()?;
    models.retain(|other| other.files.id != listed.files.id);
    models.insert(0, listed);
    list.write(&models)?;
    embed(output, &engine, Arc::new(model))
}

pub(super) fn list(options: &GlobalOptions, output: Output) -> Result<()> {
    let counts = engine(options)?.vector_counts()?;
    let models = ModelList::of_user()?.read()?.into_iter().enumerate();
    let line = |(at, model): (usize, ListedModel)| ModelLine {
        vectors: counts.get(&model.files.id).copied().unwrap_or_default(),
        id: model.files.id,
        kind: model.kind,
        dimension: model.dimension,
        directory: model.files.directory,
        used: at == 0,
    };
    output.answer(&models.map(line).collect::<Vec<_>>())
}

pub(super) fn remove(options: &GlobalOptions, output: Output, model: &str) -> Result<()> {
    let (engine, list) = (engine(options)?, ModelList::of_user()?);
    let mut models = list.read()?;
    let directory = connect::cwd()?.join(model);
    let directory = fs::canonicalize(&directory).unwrap_or(directory);
    let is_meant = |listed: &ListedModel| {
        !model.is_empty() && listed.files.id.starts_with(model) || listed.files.directory == directory
    };
    let mut meant = models.iter().filter(|listed| is_meant(listed)).map(|listed| listed.files.id.clone());
    let id = meant.next().ok_or_else(|| Error::not_found("model", model).hint("pn recall model list shows them"))?;
    if meant.next().is_some() {
        let error = Error::new(Code::AmbiguousId, format!("{model:?} means more than one model"));
        return Err(error.hint("give more of its id"));
    }
    drop(meant);
    engine.remove_vectors(&id)?;
    models.retain(|listed| listed.files.id != id);
    list.write(&models)?;
    output.answer(&RemovedModel { removed: id })
}

/// A model that was forgotten.
#[derive(Debug, Serialize)]
struct RemovedModel {
    removed: String,
}

impl Render for RemovedModel {
    fn render(&self, screen: &mut Screen) {
        screen.plain("removed model ").id(&short(&self.removed)).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.removed.clone()]
    }
}

pub(super) fn update(options: &GlobalOptions, output: Output) -> Result<()> {
    let engine = engine(options)?;
    let models = ModelList::of_user()?.read()?;
    let listed = models.first().ok_or_else(|| {
        Error::new(Code::NotFound, "this machine has no model")
            .hint("pn recall model add DIR, with the directory of a model such as all-MiniLM-L6-v2")
    })?;
    embed(output, &engine, Arc::new(Model::reload(&listed.files)?))
}

fn embed(output: Output, engine: &Engine, model: Arc<Model>) -> Result<()> {
    let threads = thread_count();
    let model = TextModel(model);
    let report = with_progress(output, || engine.update_vectors(&model, usize::MAX, threads))?;
    output.answer(&Embedded { model: model.id().to_owned(), embedded: report.embedded, removed: report.removed })
}

fn thread_count() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(8)
}

/// The store of this machine that is meant.
fn engine(options: &GlobalOptions) -> Result<Engine> {
    if connect::server(options)?.is_some() {
        return Err(Error::new(Code::Unsupported, "models are managed on the machine that has the store")
            .hint("run it there, with --remote-server ''; its daemon embeds texts and queries by itself"));
    }
    connect::open_engine(options, connect::store(options)?)
}

/// Embeds queries with the first model of the user's list.
#[derive(Debug)]
struct ListedQueries {
    output: Output,
    /// Whether the model stays in memory between queries
    keeps: bool,
    model: Mutex<Option<Arc<Model>>>,
}

impl ListedQueries {
    /// The model that is used now.
    fn model(&self) -> Result<Option<Arc<Model>>> {
        let models = ModelList::of_user()?.read()?;
        let mut known = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(listed) = models.first() else {
            *known = None;
            return Ok(None);
        };
        if known.as_ref().is_none_or(|known| *known.files() != listed.files) {
            *known = None;
            let read = if self.keeps { Model::reload(&listed.files)? } else { Model::open(&listed.files)? };
            *known = Some(Arc::new(read));
        }
        Ok(known.clone())
    }
}

impl QueryEmbedder for ListedQueries {
    fn embed_query(&self, query: &str) -> Option<(String, Vec<f32>)> {
        let embed = |model: Arc<Model>| Some((model.id().to_owned(), model.embed(&[query]).ok()?.pop()?));
        match self.model() {
            Ok(model) => model.and_then(embed),
            Err(e) => {
                let hint = e.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
                self.output.warning(&format!("recall goes by words only: {}{hint}", e.message));
                None
            }
        }
    }
}

/// Embeds the queries of a command.
pub(crate) fn queries(output: Output) -> Option<Arc<dyn QueryEmbedder>> {
    Some(Arc::new(ListedQueries { output, keeps: false, model: Mutex::default() }))
}

/// Lets a daemon embed queries, and new texts in a thread of its own.
#[cfg(feature = "server")]
pub(super) fn embed_in_background(output: Output, engine: Engine) -> Result<Engine> {
    let queries = Arc::new(ListedQueries { output, keeps: true, model: Mutex::default() });
    let engine = engine.with_embedder(Some(queries.clone()));
    let own = engine.new_handle()?;
    let work = move || {
        let mut seen = None;
        loop {
            thread::sleep(LOOK_INTERVAL);
            if let Err(e) = embed_new(&own, &queries, &mut seen) {
                output.warning(&format!("new texts were not embedded: {}", e.message));
                // The same failure is not worth another message until something changes.
                seen =
                    own.version_stamp().ok().zip(queries.model().ok().map(|model| model.map(|it| it.id().to_owned())));
            }
        }
    };
    // The thread is not joined: each batch is one transaction, so it may be cut off.
    thread::Builder::new().name("pensa-embed".into()).spawn(work).map_err(Error::internal)?;
    Ok(engine)
}

/// A state of the store and the model that has embedded it.
#[cfg(feature = "server")]
type Seen = Option<(pensa_engine::VersionStamp, Option<String>)>;

/// Embeds in rounds until nothing is left, if the store or the model has changed.
#[cfg(feature = "server")]
fn embed_new(engine: &Engine, queries: &ListedQueries, seen: &mut Seen) -> Result<()> {
    loop {
        let model = queries.model()?;
        let now = (engine.version_stamp()?, model.as_ref().map(|model| model.id().to_owned()));
        if seen.as_ref() == Some(&now) {
            return Ok(());
        }
        if let Some(model) = model {
            let report = engine.update_vectors(&TextModel(model), ROUND, 1)?;
            if report.embedded > 0 || report.removed > 0 {
                thread::sleep(ROUND_PAUSE);
                continue;
            }
        }
        *seen = Some(now);
    }
}

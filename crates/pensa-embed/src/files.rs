//! The files of a model: reads them within bounds and identifies them by their content.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use pensa_core::error::io;
use pensa_core::{Code, Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub(crate) const WEIGHTS: &str = "model.safetensors";
pub(crate) const TOKENIZER: &str = "tokenizer.json";
pub(crate) const CONFIG: &str = "config.json";
pub(crate) const POOLING: &str = "1_Pooling/config.json";
pub(crate) const LENGTHS: &str = "sentence_bert_config.json";
pub(crate) const MODULES: &str = "modules.json";

/// Every file that has an effect on vectors, with its size limit in bytes. Files of the same content make the same model.
const FILES: [(&str, u64); 6] = [
    (WEIGHTS, 2 << 30),
    (TOKENIZER, 64 << 20),
    (CONFIG, 1 << 20),
    (POOLING, 1 << 20),
    (LENGTHS, 1 << 20),
    (MODULES, 1 << 20),
];

/// The files of a model as they were when all of them were read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFiles {
    pub directory: PathBuf,
    /// BLAKE3 of names and contents, 32 hex digits
    pub id: String,
    pub stamps: Vec<FileStamp>,
}

/// What tells whether a file has changed without reading it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    pub name: String,
    pub bytes: u64,
    /// Nanoseconds since 1970
    pub modified: u64,
}

impl ModelFiles {
    /// Reads and hashes all files of the model in `directory`.
    pub(crate) fn read(directory: &Path) -> Result<Self> {
        let directory = fs::canonicalize(directory).map_err(|e| io("open", directory, &e))?;
        if !directory.is_dir() {
            return Err(Error::invalid(format!("{} is not a directory", directory.display()))
                .hint("name the directory that has model.safetensors and tokenizer.json"));
        }
        let stamps = stamps(&directory)?;
        let mut all = blake3::Hasher::new();
        for stamp in &stamps {
            let path = directory.join(&stamp.name);
            let mut content = blake3::Hasher::new();
            let file = File::open(&path).map_err(|e| io("open", &path, &e))?;
            content.update_reader(file.take(stamp.bytes)).map_err(|e| io("read", &path, &e))?;
            all.update(&[stamp.name.as_bytes(), &[0], content.finalize().as_bytes()].concat());
        }
        let id = all.finalize().to_hex()[..32].to_owned();
        Ok(Self { directory, id, stamps })
    }

    /// Refuses files that were changed, added or removed.
    pub(crate) fn check_unchanged(&self) -> Result<()> {
        let now = stamps(&self.directory)?;
        let changed = now.iter().find(|stamp| !self.stamps.contains(stamp));
        let removed = || self.stamps.iter().find(|stamp| !now.contains(stamp));
        let Some(stamp) = changed.or_else(removed) else { return Ok(()) };
        let path = self.directory.join(&stamp.name);
        Err(Error::new(Code::Conflict, format!("{} has changed since the model was added", path.display()))
            .hint(format!("add the model again: pn recall model add {}", self.directory.display())))
    }
}

/// The stamps of those files that exist.
fn stamps(directory: &Path) -> Result<Vec<FileStamp>> {
    let stamps = FILES.iter().filter_map(|(name, limit)| stamp(directory, name, *limit).transpose());
    stamps.collect()
}

fn stamp(directory: &Path, name: &str, limit: u64) -> Result<Option<FileStamp>> {
    let path = directory.join(name);
    let meta = match fs::metadata(&path) {
        Ok(meta) => meta,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && name != WEIGHTS && name != TOKENIZER => return Ok(None),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Err(missing(directory, name)),
        Err(e) => return Err(io("open", &path, &e)),
    };
    if !meta.is_file() {
        return Err(broken(&path, "is not a regular file"));
    }
    if meta.len() > limit {
        let message = format!("{} has {} bytes, more than {limit}", path.display(), meta.len());
        return Err(Error::new(Code::TooLarge, message).hint("use a smaller model, such as all-MiniLM-L6-v2"));
    }
    let modified = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    let modified = u64::try_from(modified.as_nanos()).unwrap_or(u64::MAX);
    Ok(Some(FileStamp { name: name.to_owned(), bytes: meta.len(), modified }))
}

fn missing(directory: &Path, name: &str) -> Error {
    Error::new(Code::NotFound, format!("{} is missing", directory.join(name).display())).hint(
        "a model's directory has model.safetensors, tokenizer.json and config.json, as its publisher made them; \
         weights in other forms (pytorch_model.bin, ONNX, GGUF) are not read",
    )
}

/// A file that is not what it should be.
pub(crate) fn broken(path: &Path, problem: impl std::fmt::Display) -> Error {
    Error::new(Code::Corrupt, format!("{} {problem}", path.display()))
        .hint("copy the model's files again from their source, and compare sizes")
}

/// A sound file that asks for something this crate does not do.
pub(crate) fn unsupported(path: &Path, problem: impl std::fmt::Display) -> Error {
    Error::new(Code::Unsupported, format!("{}: {problem}", path.display())).hint(
        "models that work: BERT with WordPiece, such as all-MiniLM-L6-v2 or bge-small-en; static tables with WordPiece, \
         such as potion-base-8M",
    )
}

/// Reads a JSON file within its size limit. None if it does not exist.
pub(crate) fn json<T: DeserializeOwned>(directory: &Path, name: &str) -> Result<Option<T>> {
    let limit = FILES.iter().find(|(file, _)| *file == name).map_or(0, |(_, limit)| *limit);
    let Some(stamp) = stamp(directory, name, limit)? else { return Ok(None) };
    let path = directory.join(name);
    let mut text = Vec::with_capacity(usize::try_from(stamp.bytes).unwrap_or_default());
    let file = File::open(&path).map_err(|e| io("open", &path, &e))?;
    file.take(limit).read_to_end(&mut text).map_err(|e| io("read", &path, &e))?;
    serde_json::from_slice(&text).map(Some).map_err(|e| broken(&path, format!("is not as expected: {e}")))
}

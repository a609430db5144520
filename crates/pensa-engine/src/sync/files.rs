//! Reads the JSONL files, and replaces them atomically.

use std::fs::{self, File, Metadata};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use pensa_core::Result;
use pensa_core::sync::{COLLECTIONS, Collection};
use pensa_git::read_committed;
use uuid::Uuid;

use crate::error;

pub(crate) fn path_of(dir: &Path, collection: &Collection) -> PathBuf {
    dir.join(collection.file_name())
}

/// The paths of all files, whether they exist or not.
pub(crate) fn paths(dir: &Path) -> Vec<PathBuf> {
    COLLECTIONS.iter().map(|collection| path_of(dir, collection)).collect()
}

/// Whether a directory has any of the files.
pub(crate) fn any_exist(dir: &Path) -> bool {
    paths(dir).iter().any(|path| path.exists())
}

/// The content of each file in the order of `COLLECTIONS`; `None` if it does not exist.
pub(super) type Contents = [Option<Content>; COLLECTIONS.len()];

/// The content of a file, with the stamp of that file.
#[derive(Debug, Clone, Default)]
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    pub(super) stamp: Option<Stamp>,
}

impl PartialEq for Content {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, stamp: None }
    }
}

/// The bytes of a file; empty if it does not exist.
pub(super) fn bytes_of(content: &Option<Content>) -> &[u8] {
    content.as_ref().map(|content| &content.bytes[..]).unwrap_or_default()
}

/// Identifies a version of a file, by its metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    number: u64,
    length: u64,
    modified: (i64, i64),
}

impl Stamp {
    pub(super) fn of(meta: &Metadata) -> Self {
        let modified = (meta.mtime(), meta.mtime_nsec());
        Self { device: meta.dev(), number: meta.ino(), length: meta.len(), modified }
    }

    /// The stamp of the file that has this path now.
    pub(super) fn at(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().filter(Metadata::is_file).map(|meta| Self::of(&meta))
    }

    /// Whether the file was modified before the other.
    pub(super) fn is_before(&self, other: &Self) -> bool {
        self.modified < other.modified
    }
}

/// Reads the files of a directory; none may be larger than `limit`.
pub(super) fn contents(dir: &Path, limit: u64) -> Result<Contents> {
    let mut all = Contents::default();
    for (slot, collection) in all.iter_mut().zip(COLLECTIONS) {
        *slot = read(&path_of(dir, collection), limit)?;
    }
    Ok(all)
}

/// Reads a file; `None` if it does not exist.
pub(super) fn read(path: &Path, limit: u64) -> Result<Option<Content>> {
    let read = read_committed(path, limit)?;
    Ok(read.map(|(bytes, meta)| Content { bytes, stamp: Some(Stamp::of(&meta)) }))
}

/// Reads a file; `None` if it does not exist or has another length.
pub(super) fn read_if_length(path: &Path, length: usize) -> Result<Option<Content>> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.len() == length as u64 => read(path, u64::MAX),
        _ => Ok(None),
    }
}

/// The new content of a file, written and synced under a temporary name in a directory that git ignores.
#[derive(Debug)]
pub(super) struct FileDraft {
    draft: PathBuf,
    path: PathBuf,
    pub(super) stamp: Stamp,
}

impl FileDraft {
    pub(super) fn write(drafts: &Path, path: &Path, bytes: &[u8]) -> Result<Self> {
        let draft = drafts.join(format!("export-{}.tmp", Uuid::new_v4().simple()));
        let written = (|| {
            let mut file = File::create_new(&draft)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            Ok(Stamp::of(&file.metadata()?))
        })();
        match written {
            Ok(stamp) => Ok(Self { draft, path: path.to_owned(), stamp }),
            Err(e) => {
                let _ = fs::remove_file(&draft);
                Err(error::io("write", path, &e))
            }
        }
    }

    /// Renames it into place. The directory must still be synced.
    pub(super) fn publish(mut self) -> Result<()> {
        fs::rename(&self.draft, &self.path).map_err(|e| error::io("write", &self.path, &e))?;
        self.draft = PathBuf::new();
        Ok(())
    }
}

impl Drop for FileDraft {
    fn drop(&mut self) {
        if !self.draft.as_os_str().is_empty() {
            let _ = fs::remove_file(&self.draft);
        }
    }
}

/// Syncs a directory, so that renames in it are durable.
pub(super) fn sync_names(dir: &Path) -> Result<()> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(|e| error::io("write", dir, &e))
}

//! The files of a place: read whole, written whole or not at all.

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

/// The files of a directory, there or not.
pub(crate) fn paths(dir: &Path) -> Vec<PathBuf> {
    COLLECTIONS.iter().map(|collection| path_of(dir, collection)).collect()
}

/// Whether a directory has any of the files.
pub(crate) fn any(dir: &Path) -> bool {
    paths(dir).iter().any(|path| path.exists())
}

/// What each file has, in the order of the collections; nothing if it is not there.
pub(super) type Contents = [Option<Content>; COLLECTIONS.len()];

/// What a file has, and which file that was.
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

/// The bytes of a file; none if it is not there.
pub(super) fn bytes_of(content: &Option<Content>) -> &[u8] {
    content.as_ref().map(|content| &content.bytes[..]).unwrap_or_default()
}

/// A file as it can be told from others, and from itself after somebody wrote into it.
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

    /// That of the file which has this name now.
    pub(super) fn at(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().filter(Metadata::is_file).map(|meta| Self::of(&meta))
    }

    /// Whether it was written before the other.
    pub(super) fn is_before(&self, other: &Self) -> bool {
        self.modified < other.modified
    }
}

/// The files of a directory, none of them larger than `limit`.
pub(super) fn contents(dir: &Path, limit: u64) -> Result<Contents> {
    let mut all = Contents::default();
    for (slot, collection) in all.iter_mut().zip(COLLECTIONS) {
        *slot = read(&path_of(dir, collection), limit)?;
    }
    Ok(all)
}

/// What a file has, if it is there.
pub(super) fn read(path: &Path, limit: u64) -> Result<Option<Content>> {
    let read = read_committed(path, limit)?;
    Ok(read.map(|(bytes, meta)| Content { bytes, stamp: Some(Stamp::of(&meta)) }))
}

/// What a file has, if it is there and has this length.
pub(super) fn read_if_long(path: &Path, length: usize) -> Result<Option<Content>> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.len() == length as u64 => read(path, u64::MAX),
        _ => Ok(None),
    }
}

/// What is to be a file, written and safe on the disk under a name that nobody can have taken, where git does not look.
#[derive(Debug)]
pub(super) struct Draft {
    draft: PathBuf,
    path: PathBuf,
    pub(super) stamp: Stamp,
}

impl Draft {
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

    /// Puts it in place of the file. The directory is yet to be synced.
    pub(super) fn publish(mut self) -> Result<()> {
        fs::rename(&self.draft, &self.path).map_err(|e| error::io("write", &self.path, &e))?;
        self.draft = PathBuf::new();
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.draft.as_os_str().is_empty() {
            let _ = fs::remove_file(&self.draft);
        }
    }
}

/// Makes sure that files which got their names stay there.
pub(super) fn sync_names(dir: &Path) -> Result<()> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(|e| error::io("write", dir, &e))
}

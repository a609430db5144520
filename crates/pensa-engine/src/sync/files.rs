//! The files of a place: read whole, written whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use pensa_core::Result;
use pensa_core::sync::{COLLECTIONS, Collection};
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

/// The bytes of a file, if it is there.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(error::io("read", path, &e)),
    }
}

/// Replaces a file. The draft lies in `drafts`, where git does not look, under a name that nobody can have taken.
pub(super) fn write(drafts: &Path, path: &Path, bytes: &[u8]) -> Result<()> {
    let draft = drafts.join(format!("export-{}.tmp", Uuid::new_v4().simple()));
    let written = (|| {
        let mut file = File::create_new(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        File::open(path.parent().unwrap_or(path))?.sync_all()
    })();
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written.map_err(|e| error::io("write", path, &e))
}

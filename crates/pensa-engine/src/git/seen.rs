//! Which JSONL files a hook has imported last, so that a checkout of other files costs next to nothing.
//!
//! Looks at the files' dates, not into them; importing is left to the operation.

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use pensa_core::Result;

use super::files;
use crate::store::StoreDir;

/// What the JSONL files of a work tree look like from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    note: PathBuf,
    /// One line a file: its path, identity, size and dates.
    look: String,
}

impl Seen {
    /// The files in `dir`, as of now; noted with `store`, which may be that of another work tree.
    pub fn now(store: &StoreDir, dir: &Path) -> Result<Self> {
        let mut paths = jsonl_files(dir);
        paths.sort();
        let mut look = String::new();
        for path in paths {
            if let Ok(meta) = fs::metadata(&path) {
                let times = [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()];
                let _ = writeln!(look, "{path:?} {} {} {} {times:?}", meta.dev(), meta.ino(), meta.len());
            }
        }
        Ok(Self { note: store.local_dir("")?.join("imported"), look })
    }

    /// Whether they were like this when a hook imported last.
    pub fn is_known(&self) -> bool {
        fs::read_to_string(&self.note).is_ok_and(|noted| noted == self.look)
    }

    /// Notes that they are imported.
    pub fn remember(&self) -> Result<()> {
        if self.is_known() { Ok(()) } else { files::replace(&self.note, self.look.as_bytes(), Some(0o600)) }
    }
}

/// The JSONL files in a store's directory.
pub fn jsonl_files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")).collect()
}

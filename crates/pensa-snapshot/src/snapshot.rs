//! The directories and the data of a snapshot, and the results of its operations.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use pensa_core::Result;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error;
use crate::path::check_id;
use crate::tree::DirIdentity;

/// Limit on the problems reported for one snapshot.
const MAX_PROBLEMS: usize = 100;

/// A tree, and the directory for its snapshots.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotDirs<'a> {
    /// The tree; the git provider uses the whole work tree that contains it
    pub root: &'a Path,
    /// A directory for snapshot data only, created if missing. It may be inside the tree, and is then excluded
    pub data: &'a Path,
    /// The id of the snapshot, such as `snap-1a2b3c4d`
    pub id: &'a str,
}

impl SnapshotDirs<'_> {
    /// Creates the data directory, accessible to this user only.
    pub(crate) fn prepare(&self) -> Result<()> {
        check_id(self.id)?;
        let made = DirBuilder::new().recursive(true).mode(0o700).create(self.data);
        made.map_err(|e| error::io("make", self.data.display(), e))
    }

    /// The directory of the content, for providers that use one.
    pub(crate) fn content(&self) -> PathBuf {
        self.data.join(self.id)
    }

    /// Device and inode of the data directory.
    pub(crate) fn identity(&self) -> Result<Option<DirIdentity>> {
        let meta = fs::metadata(self.data).map_err(|e| error::io("look at", self.data.display(), e))?;
        Ok(Some((meta.dev(), meta.ino())))
    }
}

/// What is needed to find and verify a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotData {
    /// The provider's name for it: a ref, a subvolume, a snapshot of a dataset
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Where its content can be read
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// `files`, `bytes`, `left_out`, and what the provider needs to verify it
    #[serde(default)]
    pub metadata: Map<String, Value>,
}

impl SnapshotData {
    pub(crate) fn text(&self, key: &str) -> Result<&str> {
        let value = self.metadata.get(key).and_then(Value::as_str);
        value.ok_or_else(|| error::corrupt(format!("the record of the snapshot lacks its {key}")))
    }

    pub(crate) fn number(&self, key: &str) -> Result<u64> {
        let value = self.metadata.get(key).and_then(Value::as_u64);
        value.ok_or_else(|| error::corrupt(format!("the record of the snapshot lacks its {key}")))
    }
}

/// The result of verifying a snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyReport {
    pub ok: bool,
    /// How many files and symlinks were checked
    pub files: u64,
    /// At most a hundred problems, and how many more there are
    pub problems: Vec<String>,
    #[serde(skip)]
    more: usize,
}

impl VerifyReport {
    pub(crate) fn problem(&mut self, problem: String) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        } else {
            self.more += 1;
        }
    }

    pub(crate) fn done(mut self) -> Self {
        self.ok = self.problems.is_empty();
        if self.more > 0 {
            self.problems.push(format!("and {} more", self.more));
        }
        self
    }
}

/// What a restore changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoreCounts {
    /// Files, symlinks and empty directories that were written or changed mode
    pub written: u64,
    /// Files and symlinks that were removed
    pub removed: u64,
    /// What was left alone: ignored files and directories, repositories, pipes, `.pensa`. A directory counts once
    pub kept: u64,
}

/// A temporary directory, removed when dropped.
#[derive(Debug)]
pub(crate) struct ScratchDir(PathBuf);

impl ScratchDir {
    pub(crate) fn new(dirs: &SnapshotDirs<'_>) -> Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        // Programs run in other directories, so the path must be absolute.
        let data = dirs.data.canonicalize().map_err(|e| error::io("open", dirs.data.display(), e))?;
        let path = data.join(format!("{}{}.{count}", Self::prefix(dirs), std::process::id()));
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|e| error::io("make", path.display(), e))?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Removes temporary directories that killed calls left for this snapshot.
    pub(crate) fn sweep(dirs: &SnapshotDirs<'_>) -> Result<()> {
        let prefix = Self::prefix(dirs);
        for entry in fs::read_dir(dirs.data).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(|name| name.starts_with(&prefix)) {
                remove_all(&entry.path())?;
            }
        }
        Ok(())
    }

    fn prefix(dirs: &SnapshotDirs<'_>) -> String {
        format!(".scratch.{}.", dirs.id)
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Removes a directory and its content, if it exists.
pub(crate) fn remove_all(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(error::io("remove", path.display(), e)),
        _ => Ok(()),
    }
}

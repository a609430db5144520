//! Where a snapshot is taken and kept, and what is told of it.
//!
//! What is in it is left to the providers.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use pensa_core::Result;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error;
use crate::path::check_id;
use crate::tree::Identity;

/// Most problems that are told of one snapshot.
const MAX_PROBLEMS: usize = 100;

/// A tree, and where things of its snapshots are kept.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The tree; the provider git takes the whole work tree that it is in
    pub root: &'a Path,
    /// A directory that nobody else writes in, made if it is missing. If it lies in the tree, it is left alone
    pub data: &'a Path,
    /// The snapshot, as in `snap-1a2b3c4d`
    pub id: &'a str,
}

impl Place<'_> {
    /// Makes the directory, for this user only.
    pub(crate) fn prepare(&self) -> Result<()> {
        check_id(self.id)?;
        let made = DirBuilder::new().recursive(true).mode(0o700).create(self.data);
        made.map_err(|e| error::io("make", self.data.display(), e))
    }

    /// Where the content is, for providers that keep it in a directory.
    pub(crate) fn content(&self) -> PathBuf {
        self.data.join(self.id)
    }

    /// What the directory is by its numbers.
    pub(crate) fn identity(&self) -> Result<Option<Identity>> {
        let meta = fs::metadata(self.data).map_err(|e| error::io("look at", self.data.display(), e))?;
        Ok(Some((meta.dev(), meta.ino())))
    }
}

/// A snapshot that was taken: all that is needed to find and to prove it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// What the provider calls it: a ref, a subvolume, a snapshot of a dataset
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Where its content can be looked at
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// `files`, `bytes` and what was `left_out`; besides, what the provider needs to prove it
    #[serde(default)]
    pub metadata: Map<String, Value>,
}

impl Taken {
    pub(crate) fn text(&self, key: &str) -> Result<&str> {
        let value = self.metadata.get(key).and_then(Value::as_str);
        value.ok_or_else(|| error::corrupt(format!("the record of the snapshot lacks its {key}")))
    }

    pub(crate) fn number(&self, key: &str) -> Result<u64> {
        let value = self.metadata.get(key).and_then(Value::as_u64);
        value.ok_or_else(|| error::corrupt(format!("the record of the snapshot lacks its {key}")))
    }
}

/// What looking at every byte of a snapshot showed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    pub ok: bool,
    /// How many files and symlinks were looked at
    pub files: u64,
    /// What is wrong, at most a hundred things and how many more there are
    pub problems: Vec<String>,
    #[serde(skip)]
    more: usize,
}

impl Proof {
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

/// What a restore did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    /// Files, symlinks and empty directories that were written or got another mode
    pub written: u64,
    /// Files and symlinks that went
    pub removed: u64,
    /// What was left alone: ignored files and directories, repositories, pipes, `.pensa`; a directory counts once
    pub kept: u64,
}

/// A directory for the time of one call.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(place: &Place<'_>) -> Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        // Programs are run elsewhere, and must find it.
        let data = place.data.canonicalize().map_err(|e| error::io("open", place.data.display(), e))?;
        let path = data.join(format!("{}{}.{count}", Self::prefix(place), std::process::id()));
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|e| error::io("make", path.display(), e))?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Removes what killed calls left of this snapshot.
    pub(crate) fn sweep(place: &Place<'_>) -> Result<()> {
        let prefix = Self::prefix(place);
        for entry in fs::read_dir(place.data).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(|name| name.starts_with(&prefix)) {
                remove_all(&entry.path())?;
            }
        }
        Ok(())
    }

    fn prefix(place: &Place<'_>) -> String {
        format!(".scratch.{}.", place.id)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Removes a directory and all in it, if it is there.
pub(crate) fn remove_all(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(error::io("remove", path.display(), e)),
        _ => Ok(()),
    }
}

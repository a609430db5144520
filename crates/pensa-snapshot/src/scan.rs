//! Lists the entries of a tree, and decides which a snapshot includes.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use pensa_core::Result;
use serde_json::{Map, Value};

use crate::ignore::IgnoredPaths;
use crate::path::{self, RelPath};
use crate::tree::{DirIdentity, FileKind, Tree};

/// Limit on the remarks recorded for one snapshot.
const MAX_REMARKS: usize = 100;

/// How many bytes of a `.git` file are read.
const GITFILE_BYTES: u64 = 8;

/// What a scan excludes.
#[derive(Debug, Default)]
pub(crate) struct ScanRules {
    pub(crate) ignored: IgnoredPaths,
    /// The data directory, which may be inside the tree
    pub(crate) data: Option<DirIdentity>,
    /// The submodules; other repositories inside the tree are excluded. `None` includes all repositories
    pub(crate) submodules: Option<BTreeSet<RelPath>>,
    /// Whether file systems mounted inside the tree are excluded
    pub(crate) one_device: bool,
}

/// The entries of a tree, sorted by path.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// What a snapshot contains
    pub(crate) included: BTreeMap<RelPath, FileKind>,
    /// What it does not contain; entries below an excluded directory are not listed
    pub(crate) excluded: BTreeMap<RelPath, FileKind>,
    /// Submodules that exist in the tree
    pub(crate) submodules: BTreeSet<RelPath>,
    /// Remarks on entries that were excluded although no rule of the user says so
    left_out: Vec<String>,
    left_out_count: usize,
}

impl Scan {
    pub(crate) fn of(tree: &Tree, rules: &ScanRules) -> Result<Self> {
        let mut scan = Self::default();
        let mut dirs = vec![Vec::new()];
        while let Some(dir) = dirs.pop() {
            for (name, kind) in tree.list(&dir)? {
                let at = RelPath::inside(&dir, &name);
                if scan.add(tree, rules, &at, kind)? {
                    dirs.push(at.bytes().to_vec());
                }
            }
        }
        Ok(scan)
    }

    /// Adds an entry. Returns whether it is a directory to scan.
    fn add(&mut self, tree: &Tree, rules: &ScanRules, at: &RelPath, kind: FileKind) -> Result<bool> {
        let is_dir = matches!(kind, FileKind::Dir { .. });
        if path::is_own(at.name()) || rules.ignored.has(at) || (is_dir && is_data(tree, rules, at)) {
            self.excluded.insert(at.clone(), kind);
        } else if path::is_forbidden(at.name()) {
            self.leave_out(at, kind, "has a name that stands for a repository's own directory");
        } else if kind == FileKind::Special {
            self.leave_out(at, kind, "is a pipe, a socket or a device");
        } else if is_dir && rules.submodules.as_ref().is_some_and(|known| known.contains(at)) {
            self.submodules.insert(at.clone());
            self.excluded.insert(at.clone(), kind);
        } else if is_dir && rules.submodules.is_some() && is_repository(tree, at)? {
            self.leave_out(at, kind, "is a repository of its own");
        } else if is_dir && rules.one_device && is_elsewhere(tree, at) {
            self.leave_out(at, kind, "is another file system or subvolume");
        } else {
            self.included.insert(at.clone(), kind);
            return Ok(is_dir);
        }
        Ok(false)
    }

    fn leave_out(&mut self, at: &RelPath, kind: FileKind, why: &str) {
        self.excluded.insert(at.clone(), kind);
        self.left_out_count += 1;
        if self.left_out.len() < MAX_REMARKS {
            self.left_out.push(format!("{at} {why}"));
        }
    }

    /// Includes files at some paths even if they would be excluded, because a restore is going to overwrite them.
    pub(crate) fn include(&mut self, tree: &Tree, paths: impl Iterator<Item = RelPath>) -> Result<()> {
        for at in paths.collect::<Vec<_>>() {
            if self.included.contains_key(&at) {
                continue;
            }
            if let Some(kind @ (FileKind::File { .. } | FileKind::Link)) = tree.kind(&at)? {
                for above in at.ancestors() {
                    if let Some(dir @ FileKind::Dir { .. }) = tree.kind(&above)? {
                        self.included.entry(above).or_insert(dir);
                    }
                }
                self.excluded.remove(&at);
                self.included.insert(at, kind);
            }
        }
        Ok(())
    }

    /// The number of files and symlinks, and of bytes.
    pub(crate) fn count(&self) -> (u64, u64) {
        self.included.values().fold((0, 0), |(files, bytes), kind| match kind {
            FileKind::File { size, .. } => (files + 1, bytes + size),
            FileKind::Link => (files + 1, bytes),
            _ => (files, bytes),
        })
    }

    /// The metadata that every provider records.
    pub(crate) fn describe(&self) -> Map<String, Value> {
        let (files, bytes) = self.count();
        let mut metadata = Map::from_iter([("files".to_owned(), files.into()), ("bytes".to_owned(), bytes.into())]);
        if self.left_out_count > 0 {
            metadata.insert("left_out".to_owned(), self.left_out.clone().into());
            metadata.insert("left_out_count".to_owned(), self.left_out_count.into());
        }
        metadata
    }
}

fn is_data(tree: &Tree, rules: &ScanRules, at: &RelPath) -> bool {
    rules.data.is_some_and(|data| tree.identity(at.bytes()) == Ok(data))
}

fn is_elsewhere(tree: &Tree, at: &RelPath) -> bool {
    let device = |rel| tree.identity(rel).map(|(device, _)| device);
    device(at.bytes()) != device(b"")
}

/// Whether git would treat a directory as a repository. It ignores an empty `.git`.
fn is_repository(tree: &Tree, at: &RelPath) -> Result<bool> {
    let git = RelPath::inside(at.bytes(), b".git");
    match tree.kind(&git)? {
        Some(FileKind::Dir { .. }) => Ok(tree.kind(&RelPath::inside(git.bytes(), b"HEAD"))?.is_some()),
        Some(FileKind::File { .. }) => {
            let mut start = Vec::new();
            let read = tree.read(&git)?.take(GITFILE_BYTES).read_to_end(&mut start);
            Ok(read.is_ok() && start == b"gitdir: ")
        }
        _ => Ok(false),
    }
}

//! Restores a tree from a directory with its former state, which is how file systems present snapshots.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use pensa_core::Result;
use serde_json::{Map, Value};

use crate::apply::{self, ContentSource, TargetEntry, TargetTree};
use crate::error;
use crate::files::Copier;
use crate::ignore::IgnoredPaths;
use crate::path::RelPath;
use crate::scan::{Scan, ScanRules};
use crate::snapshot::{RestoreCounts, SnapshotDirs};
use crate::tree::{FileKind, Tree};

/// Scans a snapshot for its metadata.
pub(crate) fn describe(content: &Path) -> Result<Map<String, Value>> {
    let mut metadata = scan(&Tree::open(content)?)?.describe();
    metadata.insert("ignored_too".to_owned(), true.into());
    Ok(metadata)
}

/// Scans the part of a snapshot that is restored. The snapshot also contains ignored files, by its own rules.
fn scan(tree: &Tree) -> Result<Scan> {
    Scan::of(tree, &ScanRules { ignored: IgnoredPaths::below(tree.path())?, one_device: true, ..ScanRules::default() })
}

pub(crate) fn restore(dirs: &SnapshotDirs<'_>, content: &Path) -> Result<RestoreCounts> {
    let tree = Tree::open(dirs.root)?;
    let mut mirror = Mirror { tree: Tree::open(content)?, copier: Copier::new() };
    let own = own_data(dirs);
    let mut entries = BTreeMap::new();
    for (at, kind) in scan(&mirror.tree)?.included {
        if own.as_ref().is_some_and(|own| at == *own || at.bytes().starts_with(&own.with_slash())) {
            continue;
        }
        let entry = match kind {
            FileKind::Dir { mode } => TargetEntry::Dir { mode },
            FileKind::Link => TargetEntry::Link { target: mirror.tree.target(&at)? },
            FileKind::File { mode, size } => TargetEntry::File { mode, size: Some(size), content: String::new() },
            FileKind::Special => continue,
        };
        entries.insert(at, entry);
    }
    let ignored = IgnoredPaths::below(dirs.root)?;
    let rules = ScanRules { ignored, data: dirs.identity()?, one_device: true, ..ScanRules::default() };
    apply::apply_target(&tree, &rules, &TargetTree { entries, with_empty_dirs: true }, &mut mirror)
}

/// The data directory's path in the tree; `None` if it is outside.
fn own_data(dirs: &SnapshotDirs<'_>) -> Option<RelPath> {
    let (root, data) = (dirs.root.canonicalize().ok()?, dirs.data.canonicalize().ok()?);
    let inside = data.strip_prefix(root).ok()?.as_os_str().as_bytes();
    (!inside.is_empty()).then(|| RelPath::inside(b"", inside))
}

/// Reads contents from the snapshot's directory.
struct Mirror {
    tree: Tree,
    copier: Copier,
}

impl ContentSource for Mirror {
    fn is_same(&mut self, at: &RelPath, _: &str, file: &mut File) -> Result<bool> {
        let mut was = self.tree.read(at)?;
        self.copier.are_same(&mut was, file).map_err(|e| error::io("read", at, e))
    }

    fn fill(&mut self, at: &RelPath, _: &str, file: &mut File) -> Result<()> {
        let mut was = self.tree.read(at)?;
        self.copier.copy(&mut was, file).map(drop).map_err(|e| error::io("write", at, e))
    }
}

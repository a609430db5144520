//! Stores a snapshot as a copy: the files under `data/ID/tree`, and a manifest with everything else.
//!
//! Copies share blocks with the originals if the file system can. Modes and symlinks are only in the manifest, so a
//! copy contains nothing that could be followed or that prevents its deletion. Hard links become separate files; pipes,
//! sockets and devices are left out and reported. A copy gets its final name once it is complete and synced to disk.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;

use pensa_core::{Code, Error, Result};
use rustix::fs::{CWD, RenameFlags};

use crate::apply::{self, ContentSource, TargetEntry, TargetTree};
use crate::error;
use crate::files::{self, Copier, FileContent};
use crate::ignore::IgnoredPaths;
use crate::manifest::{self, ManifestEntry, ManifestWriter};
use crate::path::RelPath;
use crate::scan::{Scan, ScanRules};
use crate::snapshot::{self, RestoreCounts, ScratchDir, SnapshotData, SnapshotDirs, VerifyReport};
use crate::tree::{FileKind, Tree};

/// The parts of a copy.
const FILES: &str = "tree";
const MANIFEST: &str = "manifest.jsonl";

/// Files in read-only layers, which need not be copied.
pub(crate) trait LowerLayers {
    /// The lower layer's file at a path, if the upper layer has nothing there. Renamed directories can make this the
    /// wrong file, so the caller compares the contents.
    fn unchanged(&self, at: &RelPath) -> Result<Option<File>>;

    /// The lower layers' file at a path.
    fn below(&self, at: &RelPath) -> Result<Option<File>>;
}

pub(crate) fn create(
    dirs: &SnapshotDirs<'_>,
    parent: Option<&SnapshotData>,
    restoring: Option<&SnapshotData>,
) -> Result<SnapshotData> {
    create_with_layers(dirs, parent, restoring, None)
}

/// Copies everything that is not in a lower layer.
pub(crate) fn create_with_layers(
    dirs: &SnapshotDirs<'_>,
    parent: Option<&SnapshotData>,
    restoring: Option<&SnapshotData>,
    layers: Option<&dyn LowerLayers>,
) -> Result<SnapshotData> {
    if dirs.content().symlink_metadata().is_ok() {
        return Err(exists_error(dirs));
    }
    let tree = Tree::open(dirs.root)?;
    let mut scan = Scan::of(&tree, &rules(dirs)?)?;
    if let Some(restoring) = restoring {
        scan.include(&tree, file_paths(restoring)?.into_iter())?;
    }
    let scratch = ScratchDir::new(dirs)?;
    let before = parent.and_then(|parent| parent.text("digest").ok());
    let totals = CopyRun::new(&tree, &scratch, layers)?.run(dirs, &scan, before)?;
    publish(dirs, &scratch)?;
    let mut metadata = scan.describe();
    metadata.insert("files".to_owned(), totals.files.into());
    metadata.insert("bytes".to_owned(), totals.bytes.into());
    metadata.insert("shared".to_owned(), totals.shared.into());
    metadata.insert("digest".to_owned(), totals.digest.into());
    metadata.extend(before.map(|before| ("parent".to_owned(), before.into())));
    Ok(SnapshotData { reference: None, path: Some(dirs.content()), metadata })
}

fn rules(dirs: &SnapshotDirs<'_>) -> Result<ScanRules> {
    let ignored = IgnoredPaths::below(dirs.root)?;
    Ok(ScanRules { ignored, data: dirs.identity()?, ..ScanRules::default() })
}

/// The paths of the files and symlinks in a copy.
fn file_paths(snapshot: &SnapshotData) -> Result<Vec<RelPath>> {
    let path = snapshot.path.as_deref().ok_or_else(|| error::corrupt("the record of the snapshot lacks its path"))?;
    let id = path.file_name().unwrap_or_default().to_string_lossy();
    let entries = manifest::read(&path.join(MANIFEST), &id, snapshot.text("digest")?)?;
    Ok(entries.into_iter().filter(|(_, entry)| !matches!(entry, ManifestEntry::Dir { .. })).map(|(at, _)| at).collect())
}

fn exists_error(dirs: &SnapshotDirs<'_>) -> Error {
    Error::new(Code::Conflict, format!("there is a snapshot of this name already: {}", dirs.content().display()))
}

/// Syncs a complete copy to disk and gives it its final name.
fn publish(dirs: &SnapshotDirs<'_>, scratch: &ScratchDir) -> Result<()> {
    let failed = |e| error::io("keep", dirs.content().display(), e);
    let data = File::open(dirs.data).map_err(|e| error::io("open", dirs.data.display(), e))?;
    sync(&data).map_err(failed)?;
    match rustix::fs::renameat_with(CWD, scratch.path(), CWD, dirs.content(), RenameFlags::NOREPLACE) {
        Err(rustix::io::Errno::EXIST) => return Err(exists_error(dirs)),
        other => other.map_err(failed)?,
    }
    rustix::fs::fsync(&data).map_err(failed)
}

#[cfg(target_os = "linux")]
fn sync(data: &File) -> Result<(), rustix::io::Errno> {
    rustix::fs::syncfs(data)
}

#[cfg(not(target_os = "linux"))]
fn sync(_: &File) -> Result<(), rustix::io::Errno> {
    rustix::fs::sync();
    Ok(())
}

#[derive(Debug, Default)]
struct CopyTotals {
    files: u64,
    bytes: u64,
    shared: u64,
    digest: String,
}

/// A copy in progress.
struct CopyRun<'c> {
    from: &'c Tree,
    to: Tree,
    scratch: &'c ScratchDir,
    layers: Option<&'c dyn LowerLayers>,
    copier: Copier,
}

impl<'c> CopyRun<'c> {
    fn new(from: &'c Tree, scratch: &'c ScratchDir, layers: Option<&'c dyn LowerLayers>) -> Result<Self> {
        let files = scratch.path().join(FILES);
        fs::create_dir(&files).map_err(|e| error::io("make", files.display(), e))?;
        Ok(Self { from, to: Tree::open(&files)?, scratch, layers, copier: Copier::new() })
    }

    fn run(&mut self, dirs: &SnapshotDirs<'_>, scan: &Scan, before: Option<&str>) -> Result<CopyTotals> {
        let path = self.scratch.path().join(MANIFEST);
        let mut manifest = ManifestWriter::new(&path, dirs.id, before)?;
        let mut totals = CopyTotals::default();
        for (at, kind) in &scan.included {
            let entry = match kind {
                FileKind::Dir { mode } => {
                    self.to.make_dir(at.bytes())?;
                    ManifestEntry::Dir { mode: *mode }
                }
                FileKind::Link => {
                    totals.files += 1;
                    ManifestEntry::Link { target: self.from.target(at)? }
                }
                FileKind::File { mode, .. } => {
                    // The file was deleted during the snapshot.
                    let Some((content, lower)) = self.file(at)? else { continue };
                    totals.files += 1;
                    totals.bytes += content.size;
                    totals.shared += u64::from(content.is_shared);
                    ManifestEntry::File { mode: *mode, size: content.size, hash: content.hash, lower }
                }
                FileKind::Special => continue,
            };
            manifest.add(at, entry)?;
        }
        totals.digest = manifest.finish()?;
        Ok(totals)
    }

    /// Copies a file, unless a lower layer has the same content. Returns its content, and whether it is in a lower
    /// layer; `None` if the file has been deleted.
    fn file(&mut self, at: &RelPath) -> Result<Option<(FileContent, bool)>> {
        let Some(mut from) = self.from.read_if_there(at)? else { return Ok(None) };
        let failed = |e| error::io("copy", at, e);
        if let Some(mut below) = self.layers.map(|layers| layers.unchanged(at)).transpose()?.flatten() {
            let (seen, kept) = (self.copier.hash(&mut from), self.copier.hash(&mut below));
            let (seen, kept) = (seen.map_err(failed)?, kept.map_err(failed)?);
            if seen == kept {
                return Ok(Some((kept, true)));
            }
            from = self.from.read(at)?;
        }
        let mut content = None;
        self.to.put_file(at, 0o600, |to| {
            content = Some(self.copier.copy(&mut from, to).map_err(failed)?);
            files::copy_time(&from, to).map_err(|e| failed(e.into()))
        })?;
        Ok(content.map(|content| (content, false)))
    }
}

pub(crate) fn verify(dirs: &SnapshotDirs<'_>, snapshot: &SnapshotData) -> Result<VerifyReport> {
    verify_with_layers(dirs, snapshot, None)
}

pub(crate) fn verify_with_layers(
    dirs: &SnapshotDirs<'_>,
    snapshot: &SnapshotData,
    layers: Option<&dyn LowerLayers>,
) -> Result<VerifyReport> {
    let mut proof = VerifyReport::default();
    let content = dirs.content();
    let entries = match manifest::read(&content.join(MANIFEST), dirs.id, snapshot.text("digest")?) {
        Ok(entries) => entries,
        Err(e) if e.code == Code::Corrupt => {
            proof.problem(e.message);
            return Ok(proof.done());
        }
        Err(e) => return Err(e),
    };
    let mut copy = match CopySource::open(&content.join(FILES), layers) {
        Ok(copy) => copy,
        Err(e) => {
            proof.problem(e.message);
            return Ok(proof.done());
        }
    };
    let mut known = BTreeSet::new();
    for (at, entry) in &entries {
        proof.files += u64::from(!matches!(entry, ManifestEntry::Dir { .. }));
        if let ManifestEntry::File { size, hash, lower, .. } = entry {
            match copy.content(at, *lower) {
                Ok(found) if found.size == *size && found.hash == *hash => {}
                Ok(_) => proof.problem(format!("{at} has another content than it should")),
                Err(e) => proof.problem(format!("{at}: {}", e.message)),
            }
            known.insert(at);
        }
    }
    let there = Scan::of(&copy.tree, &ScanRules::default())?;
    let is_dir = |kind: &FileKind| matches!(kind, FileKind::Dir { .. });
    let strange = there.included.iter().filter(|(at, kind)| !is_dir(kind) && !known.contains(at));
    for (at, _) in strange.chain(&there.excluded) {
        proof.problem(format!("{at} is in the copy, but not in its manifest"));
    }
    Ok(proof.done())
}

pub(crate) fn restore(dirs: &SnapshotDirs<'_>, snapshot: &SnapshotData) -> Result<RestoreCounts> {
    restore_with_layers(dirs, snapshot, None)
}

pub(crate) fn restore_with_layers(
    dirs: &SnapshotDirs<'_>,
    snapshot: &SnapshotData,
    layers: Option<&dyn LowerLayers>,
) -> Result<RestoreCounts> {
    let content = dirs.content();
    let entries = manifest::read(&content.join(MANIFEST), dirs.id, snapshot.text("digest")?)?;
    let mut copy = CopySource::open(&content.join(FILES), layers)?;
    let mut entries_by_path = BTreeMap::new();
    for (at, entry) in entries {
        let entry = match entry {
            ManifestEntry::Dir { mode } => TargetEntry::Dir { mode },
            ManifestEntry::Link { target } => TargetEntry::Link { target },
            ManifestEntry::File { mode, size, hash, lower } => {
                if lower {
                    copy.lower.insert(at.clone());
                }
                TargetEntry::File { mode, size: Some(size), content: hash }
            }
        };
        if let Some(twice) = entries_by_path.insert(at.clone(), entry) {
            return Err(error::corrupt(format!("the manifest has {at} twice: {twice:?}")));
        }
    }
    let target = TargetTree { entries: entries_by_path, with_empty_dirs: true };
    apply::apply_target(&Tree::open(dirs.root)?, &rules(dirs)?, &target, &mut copy)
}

/// Reads the contents of a copy.
struct CopySource<'l> {
    tree: Tree,
    layers: Option<&'l dyn LowerLayers>,
    lower: BTreeSet<RelPath>,
    copier: Copier,
}

impl<'l> CopySource<'l> {
    fn open(files: &Path, layers: Option<&'l dyn LowerLayers>) -> Result<Self> {
        Ok(Self { tree: Tree::open(files)?, layers, lower: BTreeSet::new(), copier: Copier::new() })
    }

    fn file(&self, at: &RelPath, lower: bool) -> Result<File> {
        if !lower {
            return self.tree.read(at);
        }
        let below = self.layers.map(|layers| layers.below(at)).transpose()?.flatten();
        below.ok_or_else(|| error::corrupt(format!("{at} is in no lower layer any more")))
    }

    fn content(&mut self, at: &RelPath, lower: bool) -> Result<FileContent> {
        let mut file = self.file(at, lower)?;
        self.copier.hash(&mut file).map_err(|e| error::io("read", at, e))
    }
}

impl ContentSource for CopySource<'_> {
    fn is_same(&mut self, at: &RelPath, content: &str, file: &mut File) -> Result<bool> {
        Ok(self.copier.hash(file).map_err(|e| error::io("read", at, e))?.hash == content)
    }

    fn fill(&mut self, at: &RelPath, content: &str, file: &mut File) -> Result<()> {
        let mut from = self.file(at, self.lower.contains(at))?;
        let copied = self.copier.copy(&mut from, file).map_err(|e| error::io("write", at, e))?;
        if copied.hash == content {
            return Ok(());
        }
        Err(error::corrupt(format!("{at} has another content in the snapshot than it should")))
    }
}

pub(crate) fn delete(dirs: &SnapshotDirs<'_>) -> Result<()> {
    ScratchDir::sweep(dirs)?;
    snapshot::remove_all(&dirs.content())
}

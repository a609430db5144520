//! Stores a snapshot as a commit under `refs/pensa/`, with all files that git does not ignore.
//!
//! Contents are stored without filters, so that line endings and everything else are restored byte for byte. Git cannot
//! store empty directories, so they are neither recorded nor removed. A submodule is recorded as the commit in the
//! index, and nothing in it is restored; other repositories inside the tree are left out and reported. Git's garbage
//! collection removes the objects of deleted snapshots.

mod listing;
mod message;
mod objects;
mod repo;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;

use pensa_core::Result;
use serde_json::Value;

use self::listing::TreeFile;
use self::message::{ModeClass, Modes};
use self::objects::{CheckedObjects, ObjectState};
use self::repo::{GitRepo, PrivateGitDir};
use crate::apply::{self, ContentSource, TargetEntry, TargetTree};
use crate::ignore::IgnoredPaths;
use crate::path::RelPath;
use crate::scan::{Scan, ScanRules};
use crate::snapshot::{RestoreCounts, SnapshotData, SnapshotDirs, VerifyReport};
use crate::tree::{FileKind, Tree};
use crate::{error, run, snapshot};

/// Limit on the length of a symlink's target.
const MAX_TARGET: usize = 4096;

fn ref_name(dirs: &SnapshotDirs<'_>) -> String {
    format!("refs/pensa/snapshots/{}", dirs.id)
}

pub(crate) fn create(
    dirs: &SnapshotDirs<'_>,
    parent: Option<&SnapshotData>,
    restoring: Option<&SnapshotData>,
) -> Result<SnapshotData> {
    let repo = GitRepo::around(dirs.root)?;
    let private = repo.private_dir(dirs)?;
    let tree = Tree::open(&repo.top)?;
    let ignored = || IgnoredPaths::in_work_tree(&repo.top, &repo.top);
    let (ignored, (gitlinks, head)) = run::join(ignored, || (repo.gitlinks(), repo.head()));
    let (gitlinks, head) = (gitlinks?, head?);
    let mut scan = Scan::of(&tree, &rules(dirs, ignored?, gitlinks.keys().cloned().collect())?)?;
    if let Some(restoring) = restoring {
        let listed = GitSnapshot::open(&private, restoring)?.listing;
        scan.include(&tree, listed.into_iter().filter(|leaf| !leaf.is_submodule()).map(|leaf| leaf.at))?;
    }
    let is_stored = |kind: &FileKind| matches!(kind, FileKind::File { .. } | FileKind::Link);
    private.add(scan.included.iter().filter(|(_, kind)| is_stored(kind)).map(|(at, _)| at))?;
    let links = gitlinks.iter().filter(|(at, _)| scan.submodules.contains(*at));
    private.add_submodules(links.map(|(at, id)| (at, id.as_str())))?;
    let content = private.write_tree()?;
    let before = parent.and_then(|parent| parent.text("commit").ok());
    let message = Modes::of(scan.included.iter()).message(dirs.id, before);
    let commit = private.commit(&content, head.as_deref(), message)?;
    let name = ref_name(dirs);
    repo.create_ref(&name, &commit)?;
    let mut metadata = scan.describe();
    metadata.insert("commit".to_owned(), commit.into());
    metadata.insert("tree".to_owned(), content.into());
    metadata.insert("submodules".to_owned(), scan.submodules.len().into());
    metadata.extend(head.map(|head| ("head".to_owned(), Value::from(head))));
    metadata.extend(before.map(|before| ("parent".to_owned(), Value::from(before))));
    Ok(SnapshotData { reference: Some(name), path: None, metadata })
}

fn rules(dirs: &SnapshotDirs<'_>, ignored: IgnoredPaths, submodules: BTreeSet<RelPath>) -> Result<ScanRules> {
    Ok(ScanRules { ignored, data: dirs.identity()?, submodules: Some(submodules), one_device: false })
}

/// The content of a snapshot, read from its commit.
struct GitSnapshot {
    modes: Modes,
    listing: Vec<TreeFile>,
}

impl GitSnapshot {
    /// Reads and validates the commit and its trees.
    fn open(private: &PrivateGitDir<'_>, snapshot: &SnapshotData) -> Result<Self> {
        let mut objects = private.objects()?;
        let commit = commit_of(&mut objects, snapshot)?;
        let listing = listing::read(&mut objects, snapshot.text("tree")?, limit(snapshot)?)?;
        Ok(Self { modes: Modes::of_commit(&commit)?, listing })
    }
}

/// Reads the commit of a snapshot and checks that it has the recorded tree.
fn commit_of(objects: &mut CheckedObjects, snapshot: &SnapshotData) -> Result<Vec<u8>> {
    let (id, tree) = (snapshot.text("commit")?, snapshot.text("tree")?);
    if !repo::is_id(id) || !repo::is_id(tree) {
        return Err(error::corrupt("the snapshot names no commit and tree of git"));
    }
    let commit = objects.read_all(id, "commit")?;
    if !commit.starts_with(format!("tree {tree}\n").as_bytes()) {
        return Err(error::corrupt(format!("the commit {id} has another tree than the snapshot")));
    }
    Ok(commit)
}

/// The recorded number of files and submodules.
fn limit(snapshot: &SnapshotData) -> Result<u64> {
    Ok(snapshot.number("files")?.saturating_add(snapshot.number("submodules")?))
}

pub(crate) fn verify(dirs: &SnapshotDirs<'_>, snapshot: &SnapshotData) -> Result<VerifyReport> {
    let repo = GitRepo::around(dirs.root)?;
    let private = repo.private_dir(dirs)?;
    let mut proof = VerifyReport::default();
    let commit = snapshot.text("commit")?;
    if repo.resolve(&ref_name(dirs))?.as_deref() != Some(commit) {
        proof.problem(format!("no ref {} holds the commit {commit}", ref_name(dirs)));
    }
    let listing = match GitSnapshot::open(&private, snapshot) {
        Ok(stored) => stored.listing,
        Err(e) => {
            proof.problem(e.message);
            return Ok(proof.done());
        }
    };
    let mut known = BTreeMap::new();
    let mut objects = private.objects()?;
    for leaf in listing.iter().filter(|leaf| !leaf.is_submodule()) {
        proof.files += 1;
        if known.insert(leaf.id.as_str(), ()).is_some() {
            continue;
        }
        match objects.read(&leaf.id, |_| Ok(())) {
            Ok(ObjectState::Intact { kind }) if kind == "blob" => {}
            Ok(other) => {
                proof.problem(format!("{}: {}", leaf.at, objects::object_error(&leaf.id, "content", &other).message))
            }
            Err(e) => {
                proof.problem(format!("{}: {}", leaf.at, e.message));
                // Git exits at an object that it cannot read.
                objects = private.objects()?;
            }
        }
    }
    if proof.files != snapshot.number("files")? {
        proof.problem(format!("it has {} files, and had {}", proof.files, snapshot.number("files")?));
    }
    Ok(proof.done())
}

pub(crate) fn restore(dirs: &SnapshotDirs<'_>, snapshot: &SnapshotData) -> Result<RestoreCounts> {
    let repo = GitRepo::around(dirs.root)?;
    // A record may come from anyone; only commits that our ref holds were taken here.
    if repo.resolve(&ref_name(dirs))?.as_deref() != Some(snapshot.text("commit")?) {
        return Err(error::corrupt(format!("no ref {} holds the commit of the snapshot", ref_name(dirs))));
    }
    let private = repo.private_dir(dirs)?;
    let stored = GitSnapshot::open(&private, snapshot)?;
    let sizes = private.sizes(stored.listing.iter().filter(|leaf| !leaf.is_submodule()).map(|leaf| &leaf.id))?;
    let mut blobs = BlobSource { objects: private.objects()?, sizes };
    let mut entries = BTreeMap::new();
    let mut submodules: BTreeSet<RelPath> = repo.gitlinks()?.into_keys().collect();
    for leaf in stored.listing {
        for above in leaf.at.ancestors() {
            let mode = stored.modes.get(&above, ModeClass::Dir);
            entries.insert(above, TargetEntry::Dir { mode });
        }
        if leaf.is_submodule() {
            // The submodule's directory is left alone, even if the index no longer has it.
            submodules.insert(leaf.at);
            continue;
        }
        let entry = blobs.entry(&leaf, &stored.modes)?;
        entries.insert(leaf.at, entry);
    }
    let target = TargetTree { entries, with_empty_dirs: false };
    let tree = Tree::open(&repo.top)?;
    let ignored = IgnoredPaths::in_work_tree(&repo.top, &repo.top)?;
    apply::apply_target(&tree, &rules(dirs, ignored, submodules)?, &target, &mut blobs)
}

/// Reads contents from git.
struct BlobSource {
    objects: CheckedObjects,
    sizes: BTreeMap<String, u64>,
}

impl BlobSource {
    fn entry(&mut self, leaf: &TreeFile, modes: &Modes) -> Result<TargetEntry> {
        let missing = || objects::object_error(&leaf.id, "content", &ObjectState::Missing).within(&leaf.at);
        let size = *self.sizes.get(&leaf.id).ok_or_else(missing)?;
        if leaf.mode == listing::LINK {
            let target = self.objects.read_all(&leaf.id, "blob")?;
            if target.is_empty() || target.len() > MAX_TARGET || target.contains(&0) {
                return Err(error::corrupt(format!("{} has a target that no symlink can have", leaf.at)));
            }
            return Ok(TargetEntry::Link { target });
        }
        let class = if leaf.mode == listing::PROGRAM { ModeClass::Program } else { ModeClass::Plain };
        Ok(TargetEntry::File { mode: modes.get(&leaf.at, class), size: Some(size), content: leaf.id.clone() })
    }
}

impl ContentSource for BlobSource {
    fn is_same(&mut self, at: &RelPath, content: &str, file: &mut File) -> Result<bool> {
        let size = self.sizes.get(content).copied().unwrap_or_default();
        objects::is_content(file, content, size).map_err(|e| error::io("read", at, e))
    }

    fn fill(&mut self, at: &RelPath, content: &str, file: &mut File) -> Result<()> {
        let found = self.objects.read(content, |piece| file.write_all(piece).map_err(|e| error::io("write", at, e)))?;
        match found {
            ObjectState::Intact { kind } if kind == "blob" => Ok(()),
            other => Err(objects::object_error(content, "content", &other).within(at)),
        }
    }
}

pub(crate) fn delete(dirs: &SnapshotDirs<'_>) -> Result<()> {
    snapshot::ScratchDir::sweep(dirs)?;
    // The refs were deleted with the repository.
    if !dirs.root.exists() {
        return Ok(());
    }
    match GitRepo::around(dirs.root) {
        Ok(repo) => repo.delete_ref(&ref_name(dirs)),
        // Without a repository there is no ref.
        Err(e) if e.code == pensa_core::Code::NoRepo => Ok(()),
        Err(e) => Err(e),
    }
}

//! Snapshots as copies: the files of a tree under `data/ID/tree`, and a manifest that has all the rest.
//!
//! Blocks are shared with the originals where the file system can. Modes and symlinks are in the manifest only, so
//! nothing in a copy can be followed or is in the way of its deletion. Hard links become files of their own; pipes,
//! sockets and devices are left out, and told as such. A copy gets its name when it is whole and on the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;

use pensa_core::{Code, Error, Result};
use rustix::fs::{CWD, RenameFlags};

use crate::equal::{self, Goal, Source, Want};
use crate::error;
use crate::files::{self, Content, Copier};
use crate::ignore::Ignored;
use crate::manifest::{self, Thing, Writer};
use crate::path::Rel;
use crate::place::{self, Place, Proof, Restored, Scratch, Taken};
use crate::scan::{Rules, Scan};
use crate::tree::{Kind, Tree};

/// The parts of a copy.
const FILES: &str = "tree";
const MANIFEST: &str = "manifest.jsonl";

/// Files that need no copy, because they lie in layers that do not change.
pub(crate) trait LowerLayers {
    /// The file of a lower layer that is seen at a path, if nothing of it is in the upper one. Directories that were
    /// renamed make this a guess, so the caller compares the contents.
    fn unchanged(&self, at: &Rel) -> Result<Option<File>>;

    /// The file that the lower layers have at a path.
    fn below(&self, at: &Rel) -> Result<Option<File>>;
}

pub(crate) fn create(place: &Place<'_>, parent: Option<&Taken>, covering: Option<&Taken>) -> Result<Taken> {
    take(place, parent, covering, None)
}

/// Copies all that is not in a layer below.
pub(crate) fn take(
    place: &Place<'_>,
    parent: Option<&Taken>,
    covering: Option<&Taken>,
    layers: Option<&dyn LowerLayers>,
) -> Result<Taken> {
    if place.content().symlink_metadata().is_ok() {
        return Err(already(place));
    }
    let tree = Tree::open(place.root)?;
    let mut scan = Scan::of(&tree, &rules(place)?)?;
    if let Some(covering) = covering {
        scan.cover(&tree, covered(covering)?.into_iter())?;
    }
    let scratch = Scratch::new(place)?;
    let before = parent.and_then(|parent| parent.text("digest").ok());
    let written = Copying::new(&tree, &scratch, layers)?.run(place, &scan, before)?;
    keep(place, &scratch)?;
    let mut metadata = scan.describe();
    metadata.insert("files".to_owned(), written.files.into());
    metadata.insert("bytes".to_owned(), written.bytes.into());
    metadata.insert("shared".to_owned(), written.shared.into());
    metadata.insert("digest".to_owned(), written.digest.into());
    metadata.extend(before.map(|before| ("parent".to_owned(), before.into())));
    Ok(Taken { reference: None, path: Some(place.content()), metadata })
}

fn rules(place: &Place<'_>) -> Result<Rules> {
    let ignored = Ignored::below(place.root)?;
    Ok(Rules { ignored, data: place.identity()?, ..Rules::default() })
}

/// The files and symlinks of another copy.
fn covered(taken: &Taken) -> Result<Vec<Rel>> {
    let path = taken.path.as_deref().ok_or_else(|| error::corrupt("the record of the snapshot lacks its path"))?;
    let id = path.file_name().unwrap_or_default().to_string_lossy();
    let things = manifest::read(&path.join(MANIFEST), &id, taken.text("digest")?)?;
    Ok(things.into_iter().filter(|(_, thing)| !matches!(thing, Thing::Dir { .. })).map(|(at, _)| at).collect())
}

fn already(place: &Place<'_>) -> Error {
    Error::new(Code::Conflict, format!("there is a snapshot of this name already: {}", place.content().display()))
}

/// Gives a whole copy its name, once all of it is on the disk.
fn keep(place: &Place<'_>, scratch: &Scratch) -> Result<()> {
    let failed = |e| error::io("keep", place.content().display(), e);
    let data = File::open(place.data).map_err(|e| error::io("open", place.data.display(), e))?;
    sync(&data).map_err(failed)?;
    match rustix::fs::renameat_with(CWD, scratch.path(), CWD, place.content(), RenameFlags::NOREPLACE) {
        Err(rustix::io::Errno::EXIST) => return Err(already(place)),
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
struct Written {
    files: u64,
    bytes: u64,
    shared: u64,
    digest: String,
}

/// A copy in its course.
struct Copying<'c> {
    from: &'c Tree,
    to: Tree,
    scratch: &'c Scratch,
    layers: Option<&'c dyn LowerLayers>,
    copier: Copier,
}

impl<'c> Copying<'c> {
    fn new(from: &'c Tree, scratch: &'c Scratch, layers: Option<&'c dyn LowerLayers>) -> Result<Self> {
        let files = scratch.path().join(FILES);
        fs::create_dir(&files).map_err(|e| error::io("make", files.display(), e))?;
        Ok(Self { from, to: Tree::open(&files)?, scratch, layers, copier: Copier::new() })
    }

    fn run(&mut self, place: &Place<'_>, scan: &Scan, before: Option<&str>) -> Result<Written> {
        let path = self.scratch.path().join(MANIFEST);
        let mut manifest = Writer::new(&path, place.id, before)?;
        let mut written = Written::default();
        for (at, kind) in &scan.taken {
            let thing = match kind {
                Kind::Dir { mode } => {
                    self.to.make_dir(at.bytes())?;
                    Thing::Dir { mode: *mode }
                }
                Kind::Link => {
                    written.files += 1;
                    Thing::Link { target: self.from.target(at)? }
                }
                Kind::File { mode, .. } => {
                    // A file that went meanwhile was not in the tree when the snapshot was whole.
                    let Some((content, lower)) = self.file(at)? else { continue };
                    written.files += 1;
                    written.bytes += content.size;
                    written.shared += u64::from(content.is_shared);
                    Thing::File { mode: *mode, size: content.size, hash: content.hash, lower }
                }
                Kind::Special => continue,
            };
            manifest.add(at, thing)?;
        }
        written.digest = manifest.finish()?;
        Ok(written)
    }

    /// Copies a file; says what is in it, and whether that is in a layer below and so was not copied.
    fn file(&mut self, at: &Rel) -> Result<Option<(Content, bool)>> {
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

pub(crate) fn verify(place: &Place<'_>, taken: &Taken) -> Result<Proof> {
    prove(place, taken, None)
}

pub(crate) fn prove(place: &Place<'_>, taken: &Taken, layers: Option<&dyn LowerLayers>) -> Result<Proof> {
    let mut proof = Proof::default();
    let content = place.content();
    let things = match manifest::read(&content.join(MANIFEST), place.id, taken.text("digest")?) {
        Ok(things) => things,
        Err(e) if e.code == Code::Corrupt => {
            proof.problem(e.message);
            return Ok(proof.done());
        }
        Err(e) => return Err(e),
    };
    let mut copy = match Copy::open(&content.join(FILES), layers) {
        Ok(copy) => copy,
        Err(e) => {
            proof.problem(e.message);
            return Ok(proof.done());
        }
    };
    let mut known = BTreeSet::new();
    for (at, thing) in &things {
        proof.files += u64::from(!matches!(thing, Thing::Dir { .. }));
        if let Thing::File { size, hash, lower, .. } = thing {
            match copy.content(at, *lower) {
                Ok(found) if found.size == *size && found.hash == *hash => {}
                Ok(_) => proof.problem(format!("{at} has another content than it should")),
                Err(e) => proof.problem(format!("{at}: {}", e.message)),
            }
            known.insert(at);
        }
    }
    let there = Scan::of(&copy.tree, &Rules::default())?;
    let is_dir = |kind: &Kind| matches!(kind, Kind::Dir { .. });
    let strange = there.taken.iter().filter(|(at, kind)| !is_dir(kind) && !known.contains(at));
    for (at, _) in strange.chain(&there.kept) {
        proof.problem(format!("{at} is in the copy, but not in its manifest"));
    }
    Ok(proof.done())
}

pub(crate) fn restore(place: &Place<'_>, taken: &Taken) -> Result<Restored> {
    put_back(place, taken, None)
}

pub(crate) fn put_back(place: &Place<'_>, taken: &Taken, layers: Option<&dyn LowerLayers>) -> Result<Restored> {
    let content = place.content();
    let things = manifest::read(&content.join(MANIFEST), place.id, taken.text("digest")?)?;
    let mut copy = Copy::open(&content.join(FILES), layers)?;
    let mut wanted = BTreeMap::new();
    for (at, thing) in things {
        let want = match thing {
            Thing::Dir { mode } => Want::Dir { mode },
            Thing::Link { target } => Want::Link { target },
            Thing::File { mode, size, hash, lower } => {
                if lower {
                    copy.lower.insert(at.clone());
                }
                Want::File { mode, size: Some(size), content: hash }
            }
        };
        if let Some(twice) = wanted.insert(at.clone(), want) {
            return Err(error::corrupt(format!("the manifest has {at} twice: {twice:?}")));
        }
    }
    let goal = Goal { wanted, with_empty_dirs: true };
    equal::make_equal(&Tree::open(place.root)?, &rules(place)?, &goal, &mut copy)
}

/// The contents of a copy.
struct Copy<'l> {
    tree: Tree,
    layers: Option<&'l dyn LowerLayers>,
    lower: BTreeSet<Rel>,
    copier: Copier,
}

impl<'l> Copy<'l> {
    fn open(files: &Path, layers: Option<&'l dyn LowerLayers>) -> Result<Self> {
        Ok(Self { tree: Tree::open(files)?, layers, lower: BTreeSet::new(), copier: Copier::new() })
    }

    fn file(&self, at: &Rel, lower: bool) -> Result<File> {
        if !lower {
            return self.tree.read(at);
        }
        let below = self.layers.map(|layers| layers.below(at)).transpose()?.flatten();
        below.ok_or_else(|| error::corrupt(format!("{at} is in no lower layer any more")))
    }

    fn content(&mut self, at: &Rel, lower: bool) -> Result<Content> {
        let mut file = self.file(at, lower)?;
        self.copier.hash(&mut file).map_err(|e| error::io("read", at, e))
    }
}

impl Source for Copy<'_> {
    fn is_same(&mut self, at: &Rel, content: &str, file: &mut File) -> Result<bool> {
        Ok(self.copier.hash(file).map_err(|e| error::io("read", at, e))?.hash == content)
    }

    fn fill(&mut self, at: &Rel, content: &str, file: &mut File) -> Result<()> {
        let mut from = self.file(at, self.lower.contains(at))?;
        let copied = self.copier.copy(&mut from, file).map_err(|e| error::io("write", at, e))?;
        if copied.hash == content {
            return Ok(());
        }
        Err(error::corrupt(format!("{at} has another content in the snapshot than it should")))
    }
}

pub(crate) fn delete(place: &Place<'_>) -> Result<()> {
    Scratch::sweep(place)?;
    place::remove_all(&place.content())
}

//! Snapshots as commits: everything but what git ignores, taken as it is, held by a ref under `refs/pensa/`.
//!
//! Contents are stored without any filter, so that ends of lines and all else come back byte for byte. A snapshot has
//! files, symlinks and modes; git has no empty directories, so one that is there is neither recorded nor removed.
//! Submodules are recorded by the commit that the index has of them, and nothing in them is restored; other repositories
//! inside the tree are left out, and told as such. Objects that a deleted snapshot leaves behind are git's to collect.

mod listing;
mod message;
mod objects;
mod repo;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;

use pensa_core::Result;
use serde_json::Value;

use self::listing::Leaf;
use self::message::{Class, Modes};
use self::objects::{Found, Objects};
use self::repo::{Private, Repo};
use crate::equal::{self, Goal, Source, Want};
use crate::ignore::Ignored;
use crate::path::Rel;
use crate::place::{Place, Proof, Restored, Taken};
use crate::scan::{Rules, Scan};
use crate::tree::{Kind, Tree};
use crate::{error, place, run};

/// Longest target of a symlink.
const MAX_TARGET: usize = 4096;

fn ref_name(place: &Place<'_>) -> String {
    format!("refs/pensa/snapshots/{}", place.id)
}

pub(crate) fn create(place: &Place<'_>, parent: Option<&Taken>, covering: Option<&Taken>) -> Result<Taken> {
    let repo = Repo::around(place.root)?;
    let private = repo.private(place)?;
    let tree = Tree::open(&repo.top)?;
    let ignored = || Ignored::in_work_tree(&repo.top, &repo.top);
    let (ignored, (gitlinks, head)) = run::both(ignored, || (repo.gitlinks(), repo.head()));
    let (gitlinks, head) = (gitlinks?, head?);
    let mut scan = Scan::of(&tree, &rules(place, ignored?, gitlinks.keys().cloned().collect())?)?;
    if let Some(covering) = covering {
        let listed = Stored::open(&private, covering)?.listing;
        scan.cover(&tree, listed.into_iter().filter(|leaf| !leaf.is_submodule()).map(|leaf| leaf.at))?;
    }
    let is_stored = |kind: &Kind| matches!(kind, Kind::File { .. } | Kind::Link);
    private.add(scan.taken.iter().filter(|(_, kind)| is_stored(kind)).map(|(at, _)| at))?;
    let links = gitlinks.iter().filter(|(at, _)| scan.submodules.contains(*at));
    private.link(links.map(|(at, id)| (at, id.as_str())))?;
    let content = private.write_tree()?;
    let before = parent.and_then(|parent| parent.text("commit").ok());
    let message = Modes::of(scan.taken.iter()).message(place.id, before);
    let commit = private.commit(&content, head.as_deref(), message)?;
    let name = ref_name(place);
    repo.hold(&name, &commit)?;
    let mut metadata = scan.describe();
    metadata.insert("commit".to_owned(), commit.into());
    metadata.insert("tree".to_owned(), content.into());
    metadata.insert("submodules".to_owned(), scan.submodules.len().into());
    metadata.extend(head.map(|head| ("head".to_owned(), Value::from(head))));
    metadata.extend(before.map(|before| ("parent".to_owned(), Value::from(before))));
    Ok(Taken { reference: Some(name), path: None, metadata })
}

fn rules(place: &Place<'_>, ignored: Ignored, submodules: BTreeSet<Rel>) -> Result<Rules> {
    Ok(Rules { ignored, data: place.identity()?, submodules: Some(submodules), one_device: false })
}

/// What a snapshot has, by its commit.
struct Stored {
    modes: Modes,
    listing: Vec<Leaf>,
}

impl Stored {
    /// Reads it; what is wrong with it is an error.
    fn open(private: &Private<'_>, taken: &Taken) -> Result<Self> {
        let mut objects = private.objects()?;
        let commit = commit_of(&mut objects, taken)?;
        let listing = listing::read(&mut objects, taken.text("tree")?, limit(taken)?)?;
        Ok(Self { modes: Modes::of_commit(&commit)?, listing })
    }
}

/// The commit of a snapshot, which must have its tree.
fn commit_of(objects: &mut Objects, taken: &Taken) -> Result<Vec<u8>> {
    let (id, tree) = (taken.text("commit")?, taken.text("tree")?);
    if !repo::is_id(id) || !repo::is_id(tree) {
        return Err(error::corrupt("the snapshot names no commit and tree of git"));
    }
    let commit = objects.whole(id, "commit")?;
    if !commit.starts_with(format!("tree {tree}\n").as_bytes()) {
        return Err(error::corrupt(format!("the commit {id} has another tree than the snapshot")));
    }
    Ok(commit)
}

/// How many files and submodules it can have.
fn limit(taken: &Taken) -> Result<u64> {
    Ok(taken.number("files")?.saturating_add(taken.number("submodules")?))
}

pub(crate) fn verify(place: &Place<'_>, taken: &Taken) -> Result<Proof> {
    let repo = Repo::around(place.root)?;
    let private = repo.private(place)?;
    let mut proof = Proof::default();
    let commit = taken.text("commit")?;
    if repo.resolve(&ref_name(place))?.as_deref() != Some(commit) {
        proof.problem(format!("no ref {} holds the commit {commit}", ref_name(place)));
    }
    let listing = match Stored::open(&private, taken) {
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
            Ok(Found::Whole { kind }) if kind == "blob" => {}
            Ok(other) => proof.problem(format!("{}: {}", leaf.at, objects::wrong(&leaf.id, "content", &other).message)),
            Err(e) => {
                proof.problem(format!("{}: {}", leaf.at, e.message));
                // Git ends at an object that it cannot read.
                objects = private.objects()?;
            }
        }
    }
    if proof.files != taken.number("files")? {
        proof.problem(format!("it has {} files, and had {}", proof.files, taken.number("files")?));
    }
    Ok(proof.done())
}

pub(crate) fn restore(place: &Place<'_>, taken: &Taken) -> Result<Restored> {
    let repo = Repo::around(place.root)?;
    // A commit that no ref of ours holds was not taken here, whoever says so.
    if repo.resolve(&ref_name(place))?.as_deref() != Some(taken.text("commit")?) {
        return Err(error::corrupt(format!("no ref {} holds the commit of the snapshot", ref_name(place))));
    }
    let private = repo.private(place)?;
    let stored = Stored::open(&private, taken)?;
    let sizes = private.sizes(stored.listing.iter().filter(|leaf| !leaf.is_submodule()).map(|leaf| &leaf.id))?;
    let mut blobs = Blobs { objects: private.objects()?, sizes };
    let mut wanted = BTreeMap::new();
    let mut submodules: BTreeSet<Rel> = repo.gitlinks()?.into_keys().collect();
    for leaf in stored.listing {
        for above in leaf.at.ancestors() {
            let mode = stored.modes.get(&above, Class::Dir);
            wanted.insert(above, Want::Dir { mode });
        }
        if leaf.is_submodule() {
            // Its place is kept, whether the index still knows it or not.
            submodules.insert(leaf.at);
            continue;
        }
        let want = blobs.want(&leaf, &stored.modes)?;
        wanted.insert(leaf.at, want);
    }
    let goal = Goal { wanted, with_empty_dirs: false };
    let tree = Tree::open(&repo.top)?;
    let ignored = Ignored::in_work_tree(&repo.top, &repo.top)?;
    equal::make_equal(&tree, &rules(place, ignored, submodules)?, &goal, &mut blobs)
}

/// Contents from git.
struct Blobs {
    objects: Objects,
    sizes: BTreeMap<String, u64>,
}

impl Blobs {
    fn want(&mut self, leaf: &Leaf, modes: &Modes) -> Result<Want> {
        let missing = || objects::wrong(&leaf.id, "content", &Found::Missing).within(&leaf.at);
        let size = *self.sizes.get(&leaf.id).ok_or_else(missing)?;
        if leaf.mode == listing::LINK {
            let target = self.objects.whole(&leaf.id, "blob")?;
            if target.is_empty() || target.len() > MAX_TARGET || target.contains(&0) {
                return Err(error::corrupt(format!("{} has a target that no symlink can have", leaf.at)));
            }
            return Ok(Want::Link { target });
        }
        let class = if leaf.mode == listing::PROGRAM { Class::Program } else { Class::Plain };
        Ok(Want::File { mode: modes.get(&leaf.at, class), size: Some(size), content: leaf.id.clone() })
    }
}

impl Source for Blobs {
    fn is_same(&mut self, at: &Rel, content: &str, file: &mut File) -> Result<bool> {
        let size = self.sizes.get(content).copied().unwrap_or_default();
        objects::is_content(file, content, size).map_err(|e| error::io("read", at, e))
    }

    fn fill(&mut self, at: &Rel, content: &str, file: &mut File) -> Result<()> {
        let found = self.objects.read(content, |piece| file.write_all(piece).map_err(|e| error::io("write", at, e)))?;
        match found {
            Found::Whole { kind } if kind == "blob" => Ok(()),
            other => Err(objects::wrong(content, "content", &other).within(at)),
        }
    }
}

pub(crate) fn delete(place: &Place<'_>) -> Result<()> {
    place::Scratch::sweep(place)?;
    // A repository that is gone has taken its refs along.
    if !place.root.exists() {
        return Ok(());
    }
    match Repo::around(place.root) {
        Ok(repo) => repo.let_go(&ref_name(place)),
        // Without a repository there is no ref.
        Err(e) if e.code == pensa_core::Code::NoRepo => Ok(()),
        Err(e) => Err(e),
    }
}

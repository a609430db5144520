//! Restores a tree from another directory that has it as it was, which is how file systems show their snapshots.
//!
//! Making and deleting that directory is left to the providers.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use pensa_core::Result;
use serde_json::{Map, Value};

use crate::equal::{self, Goal, Source, Want};
use crate::error;
use crate::files::Copier;
use crate::ignore::Ignored;
use crate::path::Rel;
use crate::place::{Place, Restored};
use crate::scan::{Rules, Scan};
use crate::tree::{Kind, Tree};

/// What a snapshot has, by looking at it.
pub(crate) fn describe(content: &Path) -> Result<Map<String, Value>> {
    let mut metadata = scan(&Tree::open(content)?)?.describe();
    metadata.insert("ignored_too".to_owned(), true.into());
    Ok(metadata)
}

/// What of the snapshot is restored. It has everything, also what git ignored by the rules that it has itself.
fn scan(tree: &Tree) -> Result<Scan> {
    Scan::of(tree, &Rules { ignored: Ignored::below(tree.path())?, one_device: true, ..Rules::default() })
}

pub(crate) fn restore(place: &Place<'_>, content: &Path) -> Result<Restored> {
    let tree = Tree::open(place.root)?;
    let mut mirror = Mirror { tree: Tree::open(content)?, copier: Copier::new() };
    let own = own_data(place);
    let mut wanted = BTreeMap::new();
    for (at, kind) in scan(&mirror.tree)?.taken {
        if own.as_ref().is_some_and(|own| at == *own || at.bytes().starts_with(&own.with_slash())) {
            continue;
        }
        let want = match kind {
            Kind::Dir { mode } => Want::Dir { mode },
            Kind::Link => Want::Link { target: mirror.tree.target(&at)? },
            Kind::File { mode, size } => Want::File { mode, size: Some(size), content: String::new() },
            Kind::Special => continue,
        };
        wanted.insert(at, want);
    }
    let ignored = Ignored::below(place.root)?;
    let rules = Rules { ignored, data: place.identity()?, one_device: true, ..Rules::default() };
    equal::make_equal(&tree, &rules, &Goal { wanted, with_empty_dirs: true }, &mut mirror)
}

/// Where the directory of snapshots lies in the tree, if it does.
fn own_data(place: &Place<'_>) -> Option<Rel> {
    let (root, data) = (place.root.canonicalize().ok()?, place.data.canonicalize().ok()?);
    let inside = data.strip_prefix(root).ok()?.as_os_str().as_bytes();
    (!inside.is_empty()).then(|| Rel::inside(b"", inside))
}

struct Mirror {
    tree: Tree,
    copier: Copier,
}

impl Source for Mirror {
    fn is_same(&mut self, at: &Rel, _: &str, file: &mut File) -> Result<bool> {
        let mut was = self.tree.read(at)?;
        self.copier.are_same(&mut was, file).map_err(|e| error::io("read", at, e))
    }

    fn fill(&mut self, at: &Rel, _: &str, file: &mut File) -> Result<()> {
        let mut was = self.tree.read(at)?;
        self.copier.copy(&mut was, file).map(drop).map_err(|e| error::io("write", at, e))
    }
}

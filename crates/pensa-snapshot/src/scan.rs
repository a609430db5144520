//! What there is in a tree: what a snapshot takes, and what it leaves alone.
//!
//! Which paths git ignores is left to `ignore`, what is done about any of it to the providers.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use pensa_core::Result;
use serde_json::{Map, Value};

use crate::ignore::Ignored;
use crate::path::{self, Rel};
use crate::tree::{Identity, Kind, Tree};

/// Most remarks that are kept of one snapshot.
const MAX_REMARKS: usize = 100;

/// Most bytes of a `.git` file that are looked at.
const GITFILE_BYTES: u64 = 8;

/// What of a tree is left alone.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(crate) ignored: Ignored,
    /// The directory of snapshots, which may lie in the tree
    pub(crate) data: Option<Identity>,
    /// Whether repositories inside the tree are left alone, but for these, which are its submodules
    pub(crate) submodules: Option<BTreeSet<Rel>>,
    /// Whether other file systems that are mounted in the tree are left alone
    pub(crate) one_device: bool,
}

/// Everything in a tree, in the order of its paths.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// What a snapshot takes
    pub(crate) taken: BTreeMap<Rel, Kind>,
    /// What it leaves alone, but for what is inside of that
    pub(crate) kept: BTreeMap<Rel, Kind>,
    /// Submodules that are there
    pub(crate) submodules: BTreeSet<Rel>,
    /// What nobody asked to leave out
    left_out: Vec<String>,
    left_out_count: usize,
}

impl Scan {
    pub(crate) fn of(tree: &Tree, rules: &Rules) -> Result<Self> {
        let mut scan = Self::default();
        let mut dirs = vec![Vec::new()];
        while let Some(dir) = dirs.pop() {
            for (name, kind) in tree.list(&dir)? {
                let at = Rel::inside(&dir, &name);
                if scan.take(tree, rules, &at, kind)? {
                    dirs.push(at.bytes().to_vec());
                }
            }
        }
        Ok(scan)
    }

    /// Sorts one thing in; says whether it is a directory to look into.
    fn take(&mut self, tree: &Tree, rules: &Rules, at: &Rel, kind: Kind) -> Result<bool> {
        let is_dir = matches!(kind, Kind::Dir { .. });
        if path::is_own(at.name()) || rules.ignored.has(at) || (is_dir && is_data(tree, rules, at)) {
            self.kept.insert(at.clone(), kind);
        } else if path::is_forbidden(at.name()) {
            self.leave_out(at, kind, "has a name that stands for a repository's own directory");
        } else if kind == Kind::Special {
            self.leave_out(at, kind, "is a pipe, a socket or a device");
        } else if is_dir && rules.submodules.as_ref().is_some_and(|known| known.contains(at)) {
            self.submodules.insert(at.clone());
            self.kept.insert(at.clone(), kind);
        } else if is_dir && rules.submodules.is_some() && is_repository(tree, at)? {
            self.leave_out(at, kind, "is a repository of its own");
        } else if is_dir && rules.one_device && is_elsewhere(tree, at) {
            self.leave_out(at, kind, "is another file system or subvolume");
        } else {
            self.taken.insert(at.clone(), kind);
            return Ok(is_dir);
        }
        Ok(false)
    }

    fn leave_out(&mut self, at: &Rel, kind: Kind, why: &str) {
        self.kept.insert(at.clone(), kind);
        self.left_out_count += 1;
        if self.left_out.len() < MAX_REMARKS {
            self.left_out.push(format!("{at} {why}"));
        }
    }

    /// Takes up what lies at some paths too, though it would be left alone: a restore is going to write there.
    pub(crate) fn cover(&mut self, tree: &Tree, paths: impl Iterator<Item = Rel>) -> Result<()> {
        for at in paths.collect::<Vec<_>>() {
            if self.taken.contains_key(&at) {
                continue;
            }
            if let Some(kind @ (Kind::File { .. } | Kind::Link)) = tree.kind(&at)? {
                for above in at.ancestors() {
                    if let Some(dir @ Kind::Dir { .. }) = tree.kind(&above)? {
                        self.taken.entry(above).or_insert(dir);
                    }
                }
                self.kept.remove(&at);
                self.taken.insert(at, kind);
            }
        }
        Ok(())
    }

    /// How many files and symlinks there are, and how many bytes.
    pub(crate) fn count(&self) -> (u64, u64) {
        self.taken.values().fold((0, 0), |(files, bytes), kind| match kind {
            Kind::File { size, .. } => (files + 1, bytes + size),
            Kind::Link => (files + 1, bytes),
            _ => (files, bytes),
        })
    }

    /// What everybody may know of it.
    pub(crate) fn describe(&self) -> Map<String, Value> {
        let (files, bytes) = self.count();
        let mut told = Map::from_iter([("files".to_owned(), files.into()), ("bytes".to_owned(), bytes.into())]);
        if self.left_out_count > 0 {
            told.insert("left_out".to_owned(), self.left_out.clone().into());
            told.insert("left_out_count".to_owned(), self.left_out_count.into());
        }
        told
    }
}

fn is_data(tree: &Tree, rules: &Rules, at: &Rel) -> bool {
    rules.data.is_some_and(|data| tree.identity(at.bytes()) == Ok(data))
}

fn is_elsewhere(tree: &Tree, at: &Rel) -> bool {
    let device = |rel| tree.identity(rel).map(|(device, _)| device);
    device(at.bytes()) != device(b"")
}

/// Whether git would take a directory for a repository: an empty `.git` makes none.
fn is_repository(tree: &Tree, at: &Rel) -> Result<bool> {
    let git = Rel::inside(at.bytes(), b".git");
    match tree.kind(&git)? {
        Some(Kind::Dir { .. }) => Ok(tree.kind(&Rel::inside(git.bytes(), b"HEAD"))?.is_some()),
        Some(Kind::File { .. }) => {
            let mut start = Vec::new();
            let read = tree.read(&git)?.take(GITFILE_BYTES).read_to_end(&mut start);
            Ok(read.is_ok() && start == b"gitdir: ")
        }
        _ => Ok(false),
    }
}

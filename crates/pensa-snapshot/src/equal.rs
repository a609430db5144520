//! Makes a tree equal to what a snapshot has, and leaves alone what no snapshot takes.
//!
//! What git ignores now or ignored then stays, unless the snapshot has that very path; if it is in the way of a directory
//! or file of the snapshot, nothing at all is changed. Where contents come from is left to the providers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::ops::Bound;

use pensa_core::{Code, Error, Result};

use crate::error;
use crate::ignore::Ignored;
use crate::path::Rel;
use crate::place::Restored;
use crate::scan::{Rules, Scan};
use crate::tree::{Kind, Tree};

/// The file that says what git ignores.
const IGNORE_FILE: &[u8] = b".gitignore";

/// What is to be at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Want {
    /// `content` is what the source knows it by
    File {
        mode: u32,
        size: Option<u64>,
        content: String,
    },
    Link {
        target: Vec<u8>,
    },
    Dir {
        mode: u32,
    },
}

/// How a tree is to be.
#[derive(Debug, Default)]
pub(crate) struct Goal {
    pub(crate) wanted: BTreeMap<Rel, Want>,
    /// Whether the snapshot knows of empty directories, so that others go
    pub(crate) with_empty_dirs: bool,
}

/// Where the contents of a snapshot are.
pub(crate) trait Source {
    /// Whether a file of the right size has this content.
    fn is_same(&mut self, at: &Rel, content: &str, file: &mut File) -> Result<bool>;

    /// Writes the content into an empty file. An error if it is not what it was when the snapshot was taken.
    fn fill(&mut self, at: &Rel, content: &str, file: &mut File) -> Result<()>;
}

pub(crate) fn make_equal(tree: &Tree, rules: &Rules, goal: &Goal, source: &mut impl Source) -> Result<Restored> {
    check(goal)?;
    let scan = Scan::of(tree, rules)?;
    refuse_conflicts(tree, &scan, goal)?;
    let mut work = Work { tree, goal, scan: &scan, done: Restored::default() };
    work.done.kept = scan.kept.keys().filter(|at| !goal.wanted.contains_key(*at)).count() as u64;
    let made = work.run(source);
    // Directories get their modes back in any case.
    let tightened = tree.tighten();
    made?;
    tightened?;
    Ok(work.done)
}

/// A path cannot be both a file and a directory.
fn check(goal: &Goal) -> Result<()> {
    for at in goal.wanted.keys() {
        // Those further up are looked at with the nearest one, which is wanted too.
        if let Some(above) = at.ancestors().next()
            && !goal.wanted.get(&above).is_some_and(Want::is_dir)
        {
            return Err(error::corrupt(format!("the snapshot has {at}, but no directory {above}")));
        }
    }
    Ok(())
}

/// Refuses a restore that would have to remove what is left alone.
fn refuse_conflicts(tree: &Tree, scan: &Scan, goal: &Goal) -> Result<()> {
    for (at, kind) in &scan.kept {
        let is_dir = matches!(kind, Kind::Dir { .. });
        let fits = match goal.wanted.get(at) {
            None => true,
            Some(Want::Dir { .. }) => is_dir,
            Some(_) => matches!(kind, Kind::File { .. } | Kind::Link),
        };
        let below_a_file = at.ancestors().any(|above| goal.wanted.get(&above).is_some_and(|want| !want.is_dir()));
        if !fits || below_a_file {
            return Err(Error::new(Code::Conflict, format!("{at} is in the way, and no snapshot has it"))
                .hint("move it away and try again; nothing was changed")
                .within(tree.path().display()));
        }
    }
    Ok(())
}

impl Want {
    fn is_dir(&self) -> bool {
        matches!(self, Self::Dir { .. })
    }
}

/// What a file or symlink lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lack {
    Mode,
    Content,
}

/// A restore in its course.
struct Work<'w> {
    tree: &'w Tree,
    goal: &'w Goal,
    scan: &'w Scan,
    done: Restored,
}

impl<'w> Work<'w> {
    fn run(&mut self, source: &mut impl Source) -> Result<()> {
        let surplus = self.surplus();
        let changed = self.changed(source)?;
        let (blocking, free): (BTreeSet<Rel>, BTreeSet<Rel>) =
            surplus.into_iter().partition(|at| self.is_in_the_way(at));
        self.remove(&blocking)?;
        self.make_way()?;
        // What is ignored is asked again with the rules of the snapshot, so these files come first.
        let is_rule = |at: &Rel| at.name() == IGNORE_FILE;
        let (rules, others): (Vec<_>, Vec<_>) = changed.into_iter().partition(|(at, _)| is_rule(at));
        let (gone_rules, mut gone): (BTreeSet<Rel>, BTreeSet<Rel>) = free.into_iter().partition(is_rule);
        self.write(&rules, source)?;
        self.remove(&gone_rules)?;
        if !gone.is_empty() && (!rules.is_empty() || !gone_rules.is_empty()) {
            let ignored = Ignored::below(self.tree.path())?;
            let before = gone.len();
            gone.retain(|at| !ignored.covers(at));
            self.done.kept += (before - gone.len()) as u64;
        }
        self.remove(&gone)?;
        self.remove_dirs(gone.iter().chain(&gone_rules).chain(&blocking))?;
        self.write(&others, source)?;
        self.settle_dirs()
    }

    /// Files and symlinks that the snapshot does not have.
    fn surplus(&self) -> BTreeSet<Rel> {
        let is_file = |kind: &Kind| matches!(kind, Kind::File { .. } | Kind::Link);
        let is_wanted = |at: &Rel| self.goal.wanted.get(at).is_some_and(|want| !want.is_dir());
        let taken = self.scan.taken.iter().filter(|(at, kind)| is_file(kind) && !is_wanted(at));
        taken.map(|(at, _)| at.clone()).collect()
    }

    /// Whether something has to go for the snapshot to have room, whatever is ignored.
    fn is_in_the_way(&self, at: &Rel) -> bool {
        let wanted = |at: &Rel| self.goal.wanted.get(at);
        wanted(at).is_some_and(Want::is_dir)
            || at.ancestors().any(|above| wanted(&above).is_some_and(|want| !want.is_dir()))
    }

    /// Removes directories that stand where the snapshot has a file.
    fn make_way(&self) -> Result<()> {
        for (at, want) in &self.goal.wanted {
            if want.is_dir() || !matches!(self.scan.taken.get(at), Some(Kind::Dir { .. })) {
                continue;
            }
            let inside = self.scan.taken.range((Bound::Excluded(at.clone()), Bound::Unbounded));
            let prefix = at.with_slash();
            // Names that sort between a directory and what is in it belong to neither.
            let inside = inside.take_while(|(other, _)| other.bytes().starts_with(at.bytes()));
            let inside: Vec<&Rel> =
                inside.map(|(other, _)| other).filter(|other| other.bytes().starts_with(&prefix)).collect();
            for dir in inside.into_iter().rev().chain([at]) {
                self.tree.remove_dir(dir)?;
            }
        }
        Ok(())
    }

    /// What of the snapshot is not there as it should be, directories aside.
    fn changed(&self, source: &mut impl Source) -> Result<Vec<(&'w Rel, Lack)>> {
        let mut changed = Vec::new();
        for (at, want) in &self.goal.wanted {
            changed.extend(self.lack(at, want, source)?.map(|lack| (at, lack)));
        }
        Ok(changed)
    }

    fn lack(&self, at: &Rel, want: &Want, source: &mut impl Source) -> Result<Option<Lack>> {
        let has_all = match (want, self.kind(at)?) {
            (Want::Dir { .. }, _) => true,
            (Want::Link { target }, Some(Kind::Link)) => *target == self.tree.target(at)?,
            (Want::File { mode, .. }, Some(Kind::File { mode: now, size })) => {
                match self.has_content(at, want, size, source)? {
                    true if *mode != now => return Ok(Some(Lack::Mode)),
                    same => same,
                }
            }
            _ => false,
        };
        Ok((!has_all).then_some(Lack::Content))
    }

    /// What is at a path now, also where the scan did not look.
    fn kind(&self, at: &Rel) -> Result<Option<Kind>> {
        match self.scan.taken.get(at) {
            Some(kind) => Ok(Some(*kind)),
            None => self.tree.kind(at),
        }
    }

    fn has_content(&self, at: &Rel, want: &Want, now: u64, source: &mut impl Source) -> Result<bool> {
        let Want::File { size, content, .. } = want else { return Ok(false) };
        if size.is_some_and(|size| size != now) {
            return Ok(false);
        }
        match self.tree.read(at) {
            Ok(mut file) => source.is_same(at, content, &mut file),
            // It is replaced without being read.
            Err(e) if e.code == Code::Forbidden => Ok(false),
            Err(e) => Err(e),
        }
    }

    fn write(&mut self, paths: &[(&Rel, Lack)], source: &mut impl Source) -> Result<()> {
        for (at, lack) in paths {
            match self.goal.wanted.get(at) {
                Some(Want::Link { target }) => self.tree.put_link(at, target)?,
                Some(Want::File { mode, .. }) if *lack == Lack::Mode => self.tree.set_mode(at, *mode)?,
                Some(Want::File { mode, content, .. }) => {
                    self.tree.put_file(at, *mode, |file| source.fill(at, content, file))?;
                }
                _ => continue,
            }
            self.done.written += 1;
        }
        Ok(())
    }

    fn remove(&mut self, paths: &BTreeSet<Rel>) -> Result<()> {
        for at in paths {
            self.done.removed += u64::from(self.tree.remove(at)?);
        }
        Ok(())
    }

    /// Removes directories that the snapshot does not have: all that are empty, or those that have just become so.
    fn remove_dirs<'r>(&self, removed: impl Iterator<Item = &'r Rel>) -> Result<()> {
        let dirs: BTreeSet<Rel> = if self.goal.with_empty_dirs {
            let is_dir = |kind: &Kind| matches!(kind, Kind::Dir { .. });
            self.scan.taken.iter().filter(|(_, kind)| is_dir(kind)).map(|(at, _)| at.clone()).collect()
        } else {
            removed.flat_map(Rel::ancestors).collect()
        };
        for at in dirs.iter().rev().filter(|at| !self.goal.wanted.contains_key(*at)) {
            self.tree.remove_dir(at)?;
        }
        Ok(())
    }

    /// Makes the directories that are missing and gives all of them their modes, the deepest first.
    fn settle_dirs(&mut self) -> Result<()> {
        for (at, want) in self.goal.wanted.iter().rev() {
            let Want::Dir { mode } = want else { continue };
            if self.scan.kept.contains_key(at) {
                continue;
            }
            let now = self.tree.kind(at)?;
            if now.is_none() {
                self.tree.make_dir(at.bytes())?;
            }
            let right = Some(Kind::Dir { mode: *mode });
            if now != right {
                self.tree.set_mode(at, *mode)?;
            }
            self.done.written += u64::from(self.scan.taken.get(at) != right.as_ref());
        }
        Ok(())
    }
}

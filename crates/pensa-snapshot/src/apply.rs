//! Makes a tree equal to a snapshot. All providers restore through this module.
//!
//! Excluded files are left alone: whatever git ignores now, or ignored when the snapshot was taken, unless the snapshot
//! has that very path. If such a file blocks a path of the snapshot, the restore is refused before anything is changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::ops::Bound;

use pensa_core::{Code, Error, Result};

use crate::error;
use crate::ignore::IgnoredPaths;
use crate::path::RelPath;
use crate::scan::{Scan, ScanRules};
use crate::snapshot::RestoreCounts;
use crate::tree::{FileKind, Tree};

/// The file with git's ignore rules.
const IGNORE_FILE: &[u8] = b".gitignore";

/// What a path should contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TargetEntry {
    /// `content` identifies the content to the [`ContentSource`]
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

/// The state that a tree should have.
#[derive(Debug, Default)]
pub(crate) struct TargetTree {
    pub(crate) entries: BTreeMap<RelPath, TargetEntry>,
    /// Whether the snapshot records empty directories, so that others are removed
    pub(crate) with_empty_dirs: bool,
}

/// Provides the contents of a snapshot.
pub(crate) trait ContentSource {
    /// Whether a file, whose size matches, has this content.
    fn is_same(&mut self, at: &RelPath, content: &str, file: &mut File) -> Result<bool>;

    /// Writes the content into an empty file. Fails if the content has changed since the snapshot was taken.
    fn fill(&mut self, at: &RelPath, content: &str, file: &mut File) -> Result<()>;
}

/// Makes a tree equal to the target. Refuses invalid targets and conflicts before changing anything.
pub(crate) fn apply_target(
    tree: &Tree,
    rules: &ScanRules,
    target: &TargetTree,
    source: &mut impl ContentSource,
) -> Result<RestoreCounts> {
    check(target)?;
    let scan = Scan::of(tree, rules)?;
    check_conflicts(tree, &scan, target)?;
    let mut run = RestoreRun { tree, target, scan: &scan, counts: RestoreCounts::default() };
    run.counts.kept = scan.excluded.keys().filter(|at| !target.entries.contains_key(*at)).count() as u64;
    let applied = run.run(source);
    // Restore the modes of directories even after an error.
    let modes_restored = tree.restore_modes();
    applied?;
    modes_restored?;
    Ok(run.counts)
}

/// Refuses a target in which a parent of an entry is not a directory.
fn check(target: &TargetTree) -> Result<()> {
    for at in target.entries.keys() {
        // The nearest parent is an entry too, so its own parents are checked with it.
        if let Some(above) = at.ancestors().next()
            && !target.entries.get(&above).is_some_and(TargetEntry::is_dir)
        {
            return Err(error::corrupt(format!("the snapshot has {at}, but no directory {above}")));
        }
    }
    Ok(())
}

/// Refuses a restore that would have to remove excluded files.
fn check_conflicts(tree: &Tree, scan: &Scan, target: &TargetTree) -> Result<()> {
    for (at, kind) in &scan.excluded {
        let is_dir = matches!(kind, FileKind::Dir { .. });
        let fits = match target.entries.get(at) {
            None => true,
            Some(TargetEntry::Dir { .. }) => is_dir,
            Some(_) => matches!(kind, FileKind::File { .. } | FileKind::Link),
        };
        let below_a_file = at.ancestors().any(|above| target.entries.get(&above).is_some_and(|entry| !entry.is_dir()));
        if !fits || below_a_file {
            return Err(Error::new(Code::Conflict, format!("{at} is in the way, and no snapshot has it"))
                .hint("move it away and try again; nothing was changed")
                .within(tree.path().display()));
        }
    }
    Ok(())
}

impl TargetEntry {
    fn is_dir(&self) -> bool {
        matches!(self, Self::Dir { .. })
    }
}

/// How a file or symlink differs from the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mismatch {
    Mode,
    Content,
}

/// A restore in progress.
struct RestoreRun<'w> {
    tree: &'w Tree,
    target: &'w TargetTree,
    scan: &'w Scan,
    counts: RestoreCounts,
}

impl<'w> RestoreRun<'w> {
    fn run(&mut self, source: &mut impl ContentSource) -> Result<()> {
        let extra_files = self.extra_files();
        let changed = self.changed(source)?;
        let (blocking, free): (BTreeSet<RelPath>, BTreeSet<RelPath>) =
            extra_files.into_iter().partition(|at| self.is_blocking(at));
        self.remove(&blocking)?;
        self.remove_blocking_dirs()?;
        // The files with ignore rules come first, because the rules of the snapshot decide what may be removed.
        let is_rule = |at: &RelPath| at.name() == IGNORE_FILE;
        let (rules, others): (Vec<_>, Vec<_>) = changed.into_iter().partition(|(at, _)| is_rule(at));
        let (gone_rules, mut gone): (BTreeSet<RelPath>, BTreeSet<RelPath>) = free.into_iter().partition(is_rule);
        self.write(&rules, source)?;
        self.remove(&gone_rules)?;
        if !gone.is_empty() && (!rules.is_empty() || !gone_rules.is_empty()) {
            let ignored = IgnoredPaths::below(self.tree.path())?;
            let before = gone.len();
            gone.retain(|at| !ignored.contains_or_below(at));
            self.counts.kept += (before - gone.len()) as u64;
        }
        self.remove(&gone)?;
        self.remove_dirs(gone.iter().chain(&gone_rules).chain(&blocking))?;
        self.write(&others, source)?;
        self.apply_dirs()
    }

    /// Files and symlinks that are not in the snapshot.
    fn extra_files(&self) -> BTreeSet<RelPath> {
        let is_file = |kind: &FileKind| matches!(kind, FileKind::File { .. } | FileKind::Link);
        let is_wanted = |at: &RelPath| self.target.entries.get(at).is_some_and(|entry| !entry.is_dir());
        let extra = self.scan.included.iter().filter(|(at, kind)| is_file(kind) && !is_wanted(at));
        extra.map(|(at, _)| at.clone()).collect()
    }

    /// Whether a file blocks a path of the snapshot, so that it must be removed even if it is ignored.
    fn is_blocking(&self, at: &RelPath) -> bool {
        let wanted = |at: &RelPath| self.target.entries.get(at);
        wanted(at).is_some_and(TargetEntry::is_dir)
            || at.ancestors().any(|above| wanted(&above).is_some_and(|entry| !entry.is_dir()))
    }

    /// Removes directories where the snapshot has a file.
    fn remove_blocking_dirs(&self) -> Result<()> {
        for (at, entry) in &self.target.entries {
            if entry.is_dir() || !matches!(self.scan.included.get(at), Some(FileKind::Dir { .. })) {
                continue;
            }
            let inside = self.scan.included.range((Bound::Excluded(at.clone()), Bound::Unbounded));
            let prefix = at.with_slash();
            // Paths such as `dir-2` sort between `dir` and `dir/file`.
            let inside = inside.take_while(|(other, _)| other.bytes().starts_with(at.bytes()));
            let inside: Vec<&RelPath> =
                inside.map(|(other, _)| other).filter(|other| other.bytes().starts_with(&prefix)).collect();
            for dir in inside.into_iter().rev().chain([at]) {
                self.tree.remove_dir(dir)?;
            }
        }
        Ok(())
    }

    /// The files and symlinks that differ from the snapshot.
    fn changed(&self, source: &mut impl ContentSource) -> Result<Vec<(&'w RelPath, Mismatch)>> {
        let mut changed = Vec::new();
        for (at, entry) in &self.target.entries {
            changed.extend(self.mismatch(at, entry, source)?.map(|mismatch| (at, mismatch)));
        }
        Ok(changed)
    }

    fn mismatch(&self, at: &RelPath, entry: &TargetEntry, source: &mut impl ContentSource) -> Result<Option<Mismatch>> {
        let has_all = match (entry, self.kind(at)?) {
            (TargetEntry::Dir { .. }, _) => true,
            (TargetEntry::Link { target }, Some(FileKind::Link)) => *target == self.tree.target(at)?,
            (TargetEntry::File { mode, .. }, Some(FileKind::File { mode: now, size })) => {
                match self.has_content(at, entry, size, source)? {
                    true if *mode != now => return Ok(Some(Mismatch::Mode)),
                    same => same,
                }
            }
            _ => false,
        };
        Ok((!has_all).then_some(Mismatch::Content))
    }

    /// The current type of an entry, also for excluded paths.
    fn kind(&self, at: &RelPath) -> Result<Option<FileKind>> {
        match self.scan.included.get(at) {
            Some(kind) => Ok(Some(*kind)),
            None => self.tree.kind(at),
        }
    }

    fn has_content(
        &self,
        at: &RelPath,
        entry: &TargetEntry,
        now: u64,
        source: &mut impl ContentSource,
    ) -> Result<bool> {
        let TargetEntry::File { size, content, .. } = entry else { return Ok(false) };
        if size.is_some_and(|size| size != now) {
            return Ok(false);
        }
        match self.tree.read(at) {
            Ok(mut file) => source.is_same(at, content, &mut file),
            // An unreadable file is replaced.
            Err(e) if e.code == Code::Forbidden => Ok(false),
            Err(e) => Err(e),
        }
    }

    fn write(&mut self, paths: &[(&RelPath, Mismatch)], source: &mut impl ContentSource) -> Result<()> {
        for (at, mismatch) in paths {
            match self.target.entries.get(at) {
                Some(TargetEntry::Link { target }) => self.tree.put_link(at, target)?,
                Some(TargetEntry::File { mode, .. }) if *mismatch == Mismatch::Mode => self.tree.set_mode(at, *mode)?,
                Some(TargetEntry::File { mode, content, .. }) => {
                    self.tree.put_file(at, *mode, |file| source.fill(at, content, file))?;
                }
                _ => continue,
            }
            self.counts.written += 1;
        }
        Ok(())
    }

    fn remove(&mut self, paths: &BTreeSet<RelPath>) -> Result<()> {
        for at in paths {
            self.counts.removed += u64::from(self.tree.remove(at)?);
        }
        Ok(())
    }

    /// Removes empty directories that are not in the snapshot: all of them if the snapshot records empty directories,
    /// else only those emptied by this restore.
    fn remove_dirs<'r>(&self, removed: impl Iterator<Item = &'r RelPath>) -> Result<()> {
        let dirs: BTreeSet<RelPath> = if self.target.with_empty_dirs {
            let is_dir = |kind: &FileKind| matches!(kind, FileKind::Dir { .. });
            self.scan.included.iter().filter(|(_, kind)| is_dir(kind)).map(|(at, _)| at.clone()).collect()
        } else {
            removed.flat_map(RelPath::ancestors).collect()
        };
        for at in dirs.iter().rev().filter(|at| !self.target.entries.contains_key(*at)) {
            self.tree.remove_dir(at)?;
        }
        Ok(())
    }

    /// Creates missing directories and sets the modes of all, the deepest first.
    fn apply_dirs(&mut self) -> Result<()> {
        for (at, entry) in self.target.entries.iter().rev() {
            let TargetEntry::Dir { mode } = entry else { continue };
            if self.scan.excluded.contains_key(at) {
                continue;
            }
            let now = self.tree.kind(at)?;
            if now.is_none() {
                self.tree.make_dir(at.bytes())?;
            }
            let expected = Some(FileKind::Dir { mode: *mode });
            if now != expected {
                self.tree.set_mode(at, *mode)?;
            }
            self.counts.written += u64::from(self.scan.included.get(at) != expected.as_ref());
        }
        Ok(())
    }
}

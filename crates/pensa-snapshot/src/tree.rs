//! Reads and changes a directory tree through open directory handles, so that no symlink in it is ever followed.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use pensa_core::{Code, Error, Result};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::error;
use crate::path::{self, RelPath};

/// Prefix of temporary files. The next restore removes what a killed one left.
const DRAFT_PREFIX: &str = ".pensa-draft-";

/// The permission bits of a mode.
const MODE_BITS: u32 = 0o7777;

/// The type of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    File {
        mode: u32,
        size: u64,
    },
    Link,
    Dir {
        mode: u32,
    },
    /// A pipe, a socket or a device
    Special,
}

impl FileKind {
    fn of(stat: &Stat) -> Self {
        let mode = stat.st_mode & MODE_BITS;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Self::File { mode, size: u64::try_from(stat.st_size).unwrap_or_default() },
            FileType::Symlink => Self::Link,
            FileType::Directory => Self::Dir { mode },
            _ => Self::Special,
        }
    }
}

/// Device and inode of a directory.
pub(crate) type DirIdentity = (u64, u64);

/// Limit on cached open directories.
const OPEN_DIRS: usize = 64;

/// A cache of open directories along one path, each with the length of its own path. Only the deepest are kept.
#[derive(Debug, Default)]
struct OpenDirs {
    path: Vec<u8>,
    dirs: VecDeque<(usize, Rc<OwnedFd>)>,
}

impl OpenDirs {
    /// Drops the directories that are not on another path. Returns the deepest that is left, and the length of its
    /// path.
    fn retain_prefix(&mut self, path: &[u8]) -> Option<(usize, Rc<OwnedFd>)> {
        let is_on_path = |len: usize| path.starts_with(&self.path[..len]) && matches!(path.get(len), None | Some(b'/'));
        while self.dirs.back().is_some_and(|(len, _)| !is_on_path(*len)) {
            self.dirs.pop_back();
        }
        self.path = path.to_vec();
        self.dirs.back().cloned()
    }

    fn add(&mut self, len: usize, dir: Rc<OwnedFd>) {
        if self.dirs.len() == OPEN_DIRS {
            self.dirs.pop_front();
        }
        self.dirs.push_back((len, dir));
    }
}

/// A directory tree.
#[derive(Debug)]
pub(crate) struct Tree {
    path: PathBuf,
    root: Rc<OwnedFd>,
    /// The directories opened last, because accesses are mostly to neighbours
    last: RefCell<OpenDirs>,
    /// The original modes of directories that were made writable
    relaxed_modes: RefCell<BTreeMap<Vec<u8>, u32>>,
    drafts: Cell<u64>,
}

impl Tree {
    /// Opens a tree. Symlinks in `path` itself are followed.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = fs::open(path, flags, Mode::empty()).map_err(|e| error::io("open", path.display(), e))?;
        Ok(Self {
            path: path.to_owned(),
            root: Rc::new(root),
            last: RefCell::default(),
            relaxed_modes: RefCell::default(),
            drafts: Cell::default(),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// An error about a path in the tree.
    pub(crate) fn failed(&self, what: &str, at: &RelPath, error: Errno) -> Error {
        error::io(what, format!("{}/{at}", self.path.display()), error)
    }

    /// Opens a directory, name by name.
    pub(crate) fn dir(&self, rel: &[u8]) -> Result<Rc<OwnedFd>, Errno> {
        self.descend(rel, open_dir)
    }

    fn descend(
        &self,
        rel: &[u8],
        mut step: impl FnMut(&OwnedFd, &[u8]) -> Result<OwnedFd, Errno>,
    ) -> Result<Rc<OwnedFd>, Errno> {
        let mut open_dirs = self.last.borrow_mut();
        let (mut len, mut at) = open_dirs.retain_prefix(rel).unwrap_or_else(|| (0, Rc::clone(&self.root)));
        while len < rel.len() {
            let start = if len == 0 { 0 } else { len + 1 };
            let end = rel[start..].iter().position(|byte| *byte == b'/').map_or(rel.len(), |slash| start + slash);
            at = Rc::new(step(&at, &rel[start..end])?);
            open_dirs.add(end, Rc::clone(&at));
            len = end;
        }
        Ok(at)
    }

    /// The type of the entry at a path; `None` if it does not exist or a parent is not a directory.
    pub(crate) fn kind(&self, at: &RelPath) -> Result<Option<FileKind>> {
        let (dir, name) = at.split();
        let stat = self.dir(dir).and_then(|dir| fs::statat(&*dir, name, AtFlags::SYMLINK_NOFOLLOW));
        match stat {
            Ok(stat) => Ok(Some(FileKind::of(&stat))),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(e) => Err(self.failed("look at", at, e)),
        }
    }

    /// The entries of a directory, with their types.
    pub(crate) fn list(&self, rel: &[u8]) -> Result<Vec<(Vec<u8>, FileKind)>> {
        let at = || RelPath::inside(rel, b"");
        let dir = self.dir(rel).map_err(|e| self.failed("read", &at(), e))?;
        let mut names = Vec::new();
        for entry in fs::Dir::read_from(&*dir).map_err(|e| self.failed("read", &at(), e))? {
            let entry = entry.map_err(|e| self.failed("read", &at(), e))?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            match fs::statat(&*dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => names.push((name.to_vec(), FileKind::of(&stat))),
                // It was deleted meanwhile.
                Err(Errno::NOENT) => {}
                Err(e) => return Err(self.failed("look at", &RelPath::inside(rel, name), e)),
            }
        }
        Ok(names)
    }

    /// Device and inode of a directory.
    pub(crate) fn identity(&self, rel: &[u8]) -> Result<DirIdentity, Errno> {
        identity(&*self.dir(rel)?)
    }

    /// Opens a regular file. Anything else is an error; opening a FIFO does not block.
    pub(crate) fn read(&self, at: &RelPath) -> Result<File> {
        self.read_if_there(at)?.ok_or_else(|| self.failed("read", at, Errno::NOENT))
    }

    /// Like [`Self::read`]; `None` if the file does not exist.
    pub(crate) fn read_if_there(&self, at: &RelPath) -> Result<Option<File>> {
        let (dir, name) = at.split();
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = match self.dir(dir).and_then(|dir| fs::openat(&*dir, name, flags, Mode::empty())) {
            Err(Errno::NOENT) => return Ok(None),
            opened => opened.map_err(|e| self.failed("read", at, e))?,
        };
        let stat = fs::fstat(&opened).map_err(|e| self.failed("read", at, e))?;
        match FileKind::of(&stat) {
            FileKind::File { .. } => Ok(Some(File::from(opened))),
            _ => Err(Error::new(Code::Conflict, format!("{}/{at} is not a file any more", self.path.display()))),
        }
    }

    /// The target of a symlink.
    pub(crate) fn target(&self, at: &RelPath) -> Result<Vec<u8>> {
        let (dir, name) = at.split();
        let read = self.dir(dir).and_then(|dir| fs::readlinkat(&*dir, name, Vec::new()));
        Ok(read.map_err(|e| self.failed("read", at, e))?.into_bytes())
    }

    /// Creates a directory and its missing parents. Fails if something else is in the way.
    pub(crate) fn make_dir(&self, rel: &[u8]) -> Result<Rc<OwnedFd>> {
        let made = self.descend(rel, |dir, name| match open_dir(dir, name) {
            Err(Errno::NOENT) => {
                fs::mkdirat(dir, name, Mode::from_raw_mode(0o777))?;
                open_dir(dir, name)
            }
            other => other,
        });
        let at = || RelPath::inside(rel, b"");
        let dir = match made {
            Ok(dir) => dir,
            Err(Errno::NOTDIR | Errno::LOOP) => {
                return Err(Error::new(Code::Conflict, format!("something is in the way of the directory {}", at()))
                    .hint("move it away and try again"));
            }
            Err(e) => return Err(self.failed("make the directory", &at(), e)),
        };
        self.make_writable(rel, &dir).map_err(|e| self.failed("write in", &at(), e))?;
        Ok(dir)
    }

    /// Makes a directory writable until [`Self::restore_modes`].
    fn make_writable(&self, rel: &[u8], dir: &OwnedFd) -> Result<(), Errno> {
        let mode = fs::fstat(dir)?.st_mode & MODE_BITS;
        if mode & 0o700 != 0o700 {
            fs::fchmod(dir, Mode::from_raw_mode(mode | 0o700))?;
            self.relaxed_modes.borrow_mut().entry(rel.to_vec()).or_insert(mode);
        }
        Ok(())
    }

    /// Restores the modes of directories made writable, unless `set_mode` has changed them since.
    pub(crate) fn restore_modes(&self) -> Result<()> {
        for (rel, mode) in std::mem::take(&mut *self.relaxed_modes.borrow_mut()) {
            match self.dir(&rel).and_then(|dir| fs::fchmod(&*dir, Mode::from_raw_mode(mode))) {
                Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(e) => return Err(self.failed("set the mode of", &RelPath::inside(&rel, b""), e)),
            }
        }
        Ok(())
    }

    /// Sets the mode of a file or directory.
    pub(crate) fn set_mode(&self, at: &RelPath, mode: u32) -> Result<()> {
        self.relaxed_modes.borrow_mut().remove(at.bytes());
        let (dir, name) = at.split();
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let set = self.dir(dir).and_then(|dir| match fs::openat(&*dir, name, flags, Mode::empty()) {
            Ok(open) => fs::fchmod(open, Mode::from_raw_mode(mode)),
            // It cannot be opened with its present mode. `chmodat` follows symlinks, so check the type first.
            Err(Errno::ACCESS) => match FileKind::of(&fs::statat(&*dir, name, AtFlags::SYMLINK_NOFOLLOW)?) {
                FileKind::File { .. } | FileKind::Dir { .. } => {
                    fs::chmodat(&*dir, name, Mode::from_raw_mode(mode), AtFlags::empty())
                }
                _ => Err(Errno::LOOP),
            },
            Err(e) => Err(e),
        });
        set.map_err(|e| self.failed("set the mode of", at, e))
    }

    /// Replaces a file or symlink by a file, atomically.
    pub(crate) fn put_file(&self, at: &RelPath, mode: u32, fill: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
        let (dir, name) = at.split();
        let dir = self.make_dir(dir)?;
        let draft = self.draft_name();
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let failed = |e| self.failed("write", at, e);
        let opened = fs::openat(&*dir, draft.as_str(), flags, Mode::from_raw_mode(0o600)).map_err(failed)?;
        let mut file = File::from(opened);
        let filled = fill(&mut file)
            .and_then(|()| fs::fchmod(&file, Mode::from_raw_mode(mode)).map_err(failed))
            .and_then(|()| fs::renameat(&*dir, draft.as_str(), &*dir, name).map_err(failed));
        if filled.is_err() {
            let _ = fs::unlinkat(&*dir, draft.as_str(), AtFlags::empty());
        }
        filled
    }

    /// Replaces a file or symlink by a symlink, atomically.
    pub(crate) fn put_link(&self, at: &RelPath, target: &[u8]) -> Result<()> {
        let (dir, name) = at.split();
        let dir = self.make_dir(dir)?;
        let draft = self.draft_name();
        let put = fs::symlinkat(target, &*dir, draft.as_str())
            .and_then(|()| fs::renameat(&*dir, draft.as_str(), &*dir, name));
        if put.is_err() {
            let _ = fs::unlinkat(&*dir, draft.as_str(), AtFlags::empty());
        }
        put.map_err(|e| self.failed("write", at, e))
    }

    /// Removes a file or symlink. Returns whether it existed.
    pub(crate) fn remove(&self, at: &RelPath) -> Result<bool> {
        self.unlink(at, AtFlags::empty(), &[Errno::NOENT, Errno::NOTDIR, Errno::LOOP])
    }

    /// Removes a directory if it exists and is empty. Returns whether it was removed.
    pub(crate) fn remove_dir(&self, at: &RelPath) -> Result<bool> {
        let harmless = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::NOTEMPTY, Errno::EXIST, Errno::BUSY];
        self.unlink(at, AtFlags::REMOVEDIR, &harmless)
    }

    fn unlink(&self, at: &RelPath, flags: AtFlags, harmless: &[Errno]) -> Result<bool> {
        let (dir, name) = at.split();
        let removed = self.dir(dir).and_then(|open| {
            self.make_writable(dir, &open)?;
            fs::unlinkat(&*open, name, flags)
        });
        match removed {
            Ok(()) => Ok(true),
            Err(e) if harmless.contains(&e) => Ok(false),
            Err(e) => Err(self.failed("remove", at, e)),
        }
    }

    fn draft_name(&self) -> String {
        self.drafts.set(self.drafts.get() + 1);
        format!("{DRAFT_PREFIX}{}-{}", std::process::id(), self.drafts.get())
    }
}

/// Device and inode of an open directory.
pub(crate) fn identity(dir: impl std::os::fd::AsFd) -> Result<DirIdentity, Errno> {
    let stat = fs::fstat(dir)?;
    Ok((stat.st_dev, stat.st_ino))
}

fn open_dir(dir: &OwnedFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    debug_assert!(name != b".." && name != b"." && !path::escape(name).contains('/'), "a checked name");
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(dir, name, flags, Mode::empty())
}

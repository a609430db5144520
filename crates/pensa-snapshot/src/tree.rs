//! A directory tree that is read and changed through open directories only, so that no symlink in it is ever followed.
//!
//! What is to be changed is left to `equal`.

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
use crate::path::{self, Rel};

/// How the names of files begin that are not whole yet. What a killed restore leaves of them goes with the next.
const DRAFT: &str = ".pensa-draft-";

/// The bits of a mode that are kept.
const MODE_BITS: u32 = 0o7777;

/// What lies at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
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

impl Kind {
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

/// What tells two directories apart, whatever they are called.
pub(crate) type Identity = (u64, u64);

/// Most directories that are kept open.
const OPEN_DIRS: usize = 64;

/// A path and the directories along it, each by the length of its own path. Only the deepest are kept.
#[derive(Debug, Default)]
struct Way {
    path: Vec<u8>,
    dirs: VecDeque<(usize, Rc<OwnedFd>)>,
}

impl Way {
    /// Forgets what is not on the way to another path; gives the deepest that is, and the length of its path.
    fn turn(&mut self, path: &[u8]) -> Option<(usize, Rc<OwnedFd>)> {
        let leads = |len: usize| path.starts_with(&self.path[..len]) && matches!(path.get(len), None | Some(b'/'));
        while self.dirs.back().is_some_and(|(len, _)| !leads(*len)) {
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

#[derive(Debug)]
pub(crate) struct Tree {
    path: PathBuf,
    root: Rc<OwnedFd>,
    /// The way to the directory that was opened last: neighbours are mostly asked for together
    last: RefCell<Way>,
    /// Directories that were made writable for a while, and the modes they had
    loosened: RefCell<BTreeMap<Vec<u8>, u32>>,
    drafts: Cell<u64>,
}

impl Tree {
    /// The tree below a directory, which itself may be named by way of symlinks.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = fs::open(path, flags, Mode::empty()).map_err(|e| error::io("open", path.display(), e))?;
        Ok(Self {
            path: path.to_owned(),
            root: Rc::new(root),
            last: RefCell::default(),
            loosened: RefCell::default(),
            drafts: Cell::default(),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// An error about something in it.
    pub(crate) fn failed(&self, what: &str, at: &Rel, error: Errno) -> Error {
        error::io(what, format!("{}/{at}", self.path.display()), error)
    }

    /// Opens a directory, one name after the other.
    pub(crate) fn dir(&self, rel: &[u8]) -> Result<Rc<OwnedFd>, Errno> {
        self.descend(rel, open_dir)
    }

    fn descend(
        &self,
        rel: &[u8],
        mut step: impl FnMut(&OwnedFd, &[u8]) -> Result<OwnedFd, Errno>,
    ) -> Result<Rc<OwnedFd>, Errno> {
        let mut way = self.last.borrow_mut();
        let (mut len, mut at) = way.turn(rel).unwrap_or_else(|| (0, Rc::clone(&self.root)));
        while len < rel.len() {
            let start = if len == 0 { 0 } else { len + 1 };
            let end = rel[start..].iter().position(|byte| *byte == b'/').map_or(rel.len(), |slash| start + slash);
            at = Rc::new(step(&at, &rel[start..end])?);
            way.add(end, Rc::clone(&at));
            len = end;
        }
        Ok(at)
    }

    /// What lies at a path; nothing if a symlink or a file stands where a directory would have to.
    pub(crate) fn kind(&self, at: &Rel) -> Result<Option<Kind>> {
        let (dir, name) = at.split();
        let stat = self.dir(dir).and_then(|dir| fs::statat(&*dir, name, AtFlags::SYMLINK_NOFOLLOW));
        match stat {
            Ok(stat) => Ok(Some(Kind::of(&stat))),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(e) => Err(self.failed("look at", at, e)),
        }
    }

    /// The names in a directory and what they are.
    pub(crate) fn list(&self, rel: &[u8]) -> Result<Vec<(Vec<u8>, Kind)>> {
        let at = || Rel::inside(rel, b"");
        let dir = self.dir(rel).map_err(|e| self.failed("read", &at(), e))?;
        let mut names = Vec::new();
        for entry in fs::Dir::read_from(&*dir).map_err(|e| self.failed("read", &at(), e))? {
            let entry = entry.map_err(|e| self.failed("read", &at(), e))?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            match fs::statat(&*dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => names.push((name.to_vec(), Kind::of(&stat))),
                // It went while we looked.
                Err(Errno::NOENT) => {}
                Err(e) => return Err(self.failed("look at", &Rel::inside(rel, name), e)),
            }
        }
        Ok(names)
    }

    /// What a directory is by its numbers.
    pub(crate) fn identity(&self, rel: &[u8]) -> Result<Identity, Errno> {
        identity(&*self.dir(rel)?)
    }

    /// A file to read from. Anything else is an error, and nothing waits for the other end of a pipe.
    pub(crate) fn read(&self, at: &Rel) -> Result<File> {
        self.read_if_there(at)?.ok_or_else(|| self.failed("read", at, Errno::NOENT))
    }

    /// The same for a file that may be gone.
    pub(crate) fn read_if_there(&self, at: &Rel) -> Result<Option<File>> {
        let (dir, name) = at.split();
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = match self.dir(dir).and_then(|dir| fs::openat(&*dir, name, flags, Mode::empty())) {
            Err(Errno::NOENT) => return Ok(None),
            opened => opened.map_err(|e| self.failed("read", at, e))?,
        };
        let stat = fs::fstat(&opened).map_err(|e| self.failed("read", at, e))?;
        match Kind::of(&stat) {
            Kind::File { .. } => Ok(Some(File::from(opened))),
            _ => Err(Error::new(Code::Conflict, format!("{}/{at} is not a file any more", self.path.display()))),
        }
    }

    /// Where a symlink leads.
    pub(crate) fn target(&self, at: &Rel) -> Result<Vec<u8>> {
        let (dir, name) = at.split();
        let read = self.dir(dir).and_then(|dir| fs::readlinkat(&*dir, name, Vec::new()));
        Ok(read.map_err(|e| self.failed("read", at, e))?.into_bytes())
    }

    /// Makes a directory and those above it, as far as they are missing. Nothing is removed for it.
    pub(crate) fn make_dir(&self, rel: &[u8]) -> Result<Rc<OwnedFd>> {
        let made = self.descend(rel, |dir, name| match open_dir(dir, name) {
            Err(Errno::NOENT) => {
                fs::mkdirat(dir, name, Mode::from_raw_mode(0o777))?;
                open_dir(dir, name)
            }
            other => other,
        });
        let at = || Rel::inside(rel, b"");
        let dir = match made {
            Ok(dir) => dir,
            Err(Errno::NOTDIR | Errno::LOOP) => {
                return Err(Error::new(Code::Conflict, format!("something is in the way of the directory {}", at()))
                    .hint("move it away and try again"));
            }
            Err(e) => return Err(self.failed("make the directory", &at(), e)),
        };
        self.loosen(rel, &dir).map_err(|e| self.failed("write in", &at(), e))?;
        Ok(dir)
    }

    /// Makes a directory writable until `tighten`.
    fn loosen(&self, rel: &[u8], dir: &OwnedFd) -> Result<(), Errno> {
        let mode = fs::fstat(dir)?.st_mode & MODE_BITS;
        if mode & 0o700 != 0o700 {
            fs::fchmod(dir, Mode::from_raw_mode(mode | 0o700))?;
            self.loosened.borrow_mut().entry(rel.to_vec()).or_insert(mode);
        }
        Ok(())
    }

    /// Gives directories their modes back, unless `set_mode` gave them another since.
    pub(crate) fn tighten(&self) -> Result<()> {
        for (rel, mode) in std::mem::take(&mut *self.loosened.borrow_mut()) {
            match self.dir(&rel).and_then(|dir| fs::fchmod(&*dir, Mode::from_raw_mode(mode))) {
                Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(e) => return Err(self.failed("set the mode of", &Rel::inside(&rel, b""), e)),
            }
        }
        Ok(())
    }

    /// Gives a file or a directory another mode.
    pub(crate) fn set_mode(&self, at: &Rel, mode: u32) -> Result<()> {
        self.loosened.borrow_mut().remove(at.bytes());
        let (dir, name) = at.split();
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let set = self.dir(dir).and_then(|dir| match fs::openat(&*dir, name, flags, Mode::empty()) {
            Ok(open) => fs::fchmod(open, Mode::from_raw_mode(mode)),
            // It can't be opened before it has another mode. The name is looked at first, for this follows symlinks.
            Err(Errno::ACCESS) => match Kind::of(&fs::statat(&*dir, name, AtFlags::SYMLINK_NOFOLLOW)?) {
                Kind::File { .. } | Kind::Dir { .. } => {
                    fs::chmodat(&*dir, name, Mode::from_raw_mode(mode), AtFlags::empty())
                }
                _ => Err(Errno::LOOP),
            },
            Err(e) => Err(e),
        });
        set.map_err(|e| self.failed("set the mode of", at, e))
    }

    /// Puts a file in place of a file or symlink of that name: whole or not at all.
    pub(crate) fn put_file(&self, at: &Rel, mode: u32, fill: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
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

    /// The same for a symlink.
    pub(crate) fn put_link(&self, at: &Rel, target: &[u8]) -> Result<()> {
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

    /// Removes a file or symlink; says whether there was one.
    pub(crate) fn remove(&self, at: &Rel) -> Result<bool> {
        self.unlink(at, AtFlags::empty(), &[Errno::NOENT, Errno::NOTDIR, Errno::LOOP])
    }

    /// Removes a directory if it is there and empty.
    pub(crate) fn remove_dir(&self, at: &Rel) -> Result<bool> {
        let harmless = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::NOTEMPTY, Errno::EXIST, Errno::BUSY];
        self.unlink(at, AtFlags::REMOVEDIR, &harmless)
    }

    fn unlink(&self, at: &Rel, flags: AtFlags, harmless: &[Errno]) -> Result<bool> {
        let (dir, name) = at.split();
        let removed = self.dir(dir).and_then(|open| {
            self.loosen(dir, &open)?;
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
        format!("{DRAFT}{}-{}", std::process::id(), self.drafts.get())
    }
}

/// The numbers of a directory.
pub(crate) fn identity(dir: impl std::os::fd::AsFd) -> Result<Identity, Errno> {
    let stat = fs::fstat(dir)?;
    Ok((stat.st_dev, stat.st_ino))
}

fn open_dir(dir: &OwnedFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    debug_assert!(name != b".." && name != b"." && !path::escape(name).contains('/'), "a checked name");
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(dir, name, flags, Mode::empty())
}

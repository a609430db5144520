//! The directories of loops below the store's `local/`: one for each iteration, `current`, and the archive.
//!
//! They hold what is too large for a record and belongs to this machine. The record has the say: a directory that is not
//! where its loop would have it is what an operation has left that was not committed, and the next puts it right.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use pensa_core::id::LoopId;
use pensa_core::loops::Loop;
use pensa_core::loops::files::{ARTIFACTS, FilePart, IterationFile};
use pensa_core::ops::import::Outcome;
use pensa_core::ops::loops::TakeFiles;
use pensa_core::{Error, Result};
use uuid::Uuid;

use crate::context::Context;
use crate::error;
use crate::store::{StoreDir, refuse_link};

/// Most directories of one number that are put aside.
const MAX_ASIDE: u32 = 1000;

/// The directory of the iteration that a loop has begun, with these files in it; nothing where the store has no files.
pub(crate) fn begin(cx: &Context<'_>, subject: &Loop, given: &[IterationFile]) -> Result<Option<PathBuf>> {
    let Some(store) = cx.own_files() else { return Ok(None) };
    let home = home(store, &subject.id)?;
    let iterations = own_dir(home.join("iterations"))?;
    let number = format!("{:03}", subject.iteration);
    let draft = iterations.join(format!(".{number}-{}", Uuid::new_v4().simple()));
    let place = iterations.join(&number);
    let made = fill(&draft, given).and_then(|()| {
        put_aside(&place)?;
        fs::rename(&draft, &place).map_err(|e| error::io("create", &place, &e))
    });
    if made.is_err() {
        // What remains of it is in nobody's way.
        let _ = fs::remove_dir_all(&draft);
    }
    made?;
    point(&home, &number)?;
    sync(&iterations)?;
    given.iter().filter(|file| file.is_appended()).try_for_each(|file| append(&home, file))?;
    Ok(Some(place))
}

/// Where a loop keeps its directories. One that was archived by an operation that was not committed comes back.
fn home(store: &StoreDir, id: &LoopId) -> Result<PathBuf> {
    let place = store.local_dir("loops")?.join(name(id)?);
    let archived = store.local_dir("archive")?.join(name(id)?);
    if !exists(&place) && exists(&archived) {
        refuse_link(&archived)?;
        fs::rename(&archived, &place).map_err(|e| error::io("move", &archived, &e))?;
    }
    own_dir(place)
}

/// An id as the name of a directory. Ids that are made here are always one.
fn name(id: &LoopId) -> Result<&str> {
    match id.as_str() {
        name if name.starts_with('.') => Err(Error::invalid(format!("{name} cannot be the name of a directory"))),
        name => Ok(name),
    }
}

/// A directory that is no link, made if it is not there.
fn own_dir(path: PathBuf) -> Result<PathBuf> {
    match DirBuilder::new().mode(0o700).create(&path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => refuse_link(&path)?,
        made => made.map_err(|e| error::io("create", &path, &e))?,
    }
    Ok(path)
}

fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn fill(dir: &Path, given: &[IterationFile]) -> Result<()> {
    let dir = own_dir(dir.to_owned())?;
    let artifacts = own_dir(dir.join(ARTIFACTS))?;
    for file in given.iter().filter(|file| !file.is_appended()) {
        let path = match file.artifact()? {
            Some(name) => artifacts.join(name),
            None => dir.join(&file.path),
        };
        let bytes = file.bytes()?;
        let write = || {
            let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
            to.write_all(&bytes)?;
            to.sync_all()
        };
        write().map_err(|e| error::io("write", &path, &e))?;
    }
    sync(&artifacts)?;
    sync(&dir)
}

/// Appends what a loop wrote to what it wrote before.
fn append(home: &Path, file: &IterationFile) -> Result<()> {
    let (path, bytes) = (home.join(&file.path), file.bytes()?);
    let write = || {
        let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
        let mut to = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(&path)?;
        to.write_all(&bytes)?;
        to.sync_all()
    };
    write().map_err(|e| error::io("write", &path, &e))
}

fn sync(dir: &Path) -> Result<()> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(|e| error::io("write", dir, &e))
}

/// Gives what has the name of a new iteration another one. It is from an attempt that was not committed, or from before
/// an older state of the store was restored; either may hold what somebody wants.
fn put_aside(place: &Path) -> Result<()> {
    if !exists(place) {
        return Ok(());
    }
    let aside = |at: u32| place.with_extension(format!("old{at}"));
    let free = (1..=MAX_ASIDE).map(aside).find(|path| !exists(path));
    let free = free.ok_or_else(|| Error::internal(format!("{} was begun too often", place.display())))?;
    fs::rename(place, &free).map_err(|e| error::io("move", place, &e))
}

/// Moves `current` to an iteration; whoever looks sees the old one or the new one.
fn point(home: &Path, number: &str) -> Result<()> {
    let draft = home.join(format!(".current-{}", Uuid::new_v4().simple()));
    let current = home.join("current");
    symlink(Path::new("iterations").join(number), &draft).map_err(|e| error::io("create", &draft, &e))?;
    fs::rename(&draft, &current).map_err(|e| {
        let _ = fs::remove_file(&draft);
        error::io("move", &current, &e)
    })
}

/// Keeps a part of a file that another tool has, unless the file here says something else.
pub(crate) fn take_part(store: &StoreDir, op: &TakeFiles, part: &FilePart) -> Result<Outcome> {
    let (steps, bytes) = (part.steps()?, part.bytes()?);
    let (file, dirs) = steps.split_last().ok_or_else(|| Error::invalid("a file has a name"))?;
    let mut dir = own_dir(home_of(store, op)?)?;
    for step in dirs {
        dir = own_dir(dir.join(step))?;
    }
    let path = dir.join(file);
    refuse_link(&path)?;
    let is_new = !exists(&path);
    add_part(&path, part.offset, &bytes).map_err(|e| error::io("write", &path, &e)).map(|added| match added {
        Some(0) if !is_new => Outcome::Here,
        Some(_) => Outcome::Imported,
        None => Outcome::Clash,
    })
}

/// How many bytes were added to a file; nothing if it says something else than the part.
fn add_part(path: &Path, offset: u64, bytes: &[u8]) -> io::Result<Option<usize>> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    let length = file.metadata()?.len();
    let Some(known) = length.checked_sub(offset) else { return Ok(None) };
    let known = usize::try_from(known).unwrap_or(usize::MAX).min(bytes.len());
    let mut here = vec![0; known];
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(&mut here)?;
    if here != bytes[..known] {
        return Ok(None);
    }
    file.write_all(&bytes[known..])?;
    file.sync_all()?;
    Ok(Some(bytes.len() - known))
}

/// Has `current` lead where it led at the other tool, unless it leads somewhere already.
pub(crate) fn take_current(store: &StoreDir, op: &TakeFiles, number: &str) -> Result<()> {
    let home = own_dir(home_of(store, op)?)?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number {
        return Err(Error::invalid(format!("{number:?} is no number of an iteration")));
    }
    let is_there = fs::symlink_metadata(home.join("iterations").join(number)).is_ok_and(|found| found.is_dir());
    if is_there && !exists(&home.join("current")) { point(&home, number) } else { Ok(()) }
}

fn home_of(store: &StoreDir, op: &TakeFiles) -> Result<PathBuf> {
    Ok(store.local_dir(if op.archived { "archive" } else { "loops" })?.join(name(&op.id)?))
}

/// Moves the directory of a loop to the archive, if it has one.
pub(crate) fn archive(cx: &Context<'_>, id: &LoopId) -> Result<()> {
    let Some(store) = cx.own_files() else { return Ok(()) };
    // Most have none, and then none is made.
    let place = store.root().join("local/loops").join(name(id)?);
    if !exists(&place) {
        return Ok(());
    }
    let place = store.local_dir("loops")?.join(name(id)?);
    refuse_link(&place)?;
    let archived = store.local_dir("archive")?.join(name(id)?);
    put_aside(&archived)?;
    fs::rename(&place, &archived).map_err(|e| error::io("move", &place, &e))
}

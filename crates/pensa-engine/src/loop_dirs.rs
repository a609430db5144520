//! The directories of loops in the store's `local/`: one per iteration, the link `current`, and the archive.
//!
//! They hold what is too large for a record, on this machine only. The loop's record is authoritative: a directory that
//! does not match it was left by an uncommitted operation, and the next operation corrects it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use pensa_core::id::LoopId;
use pensa_core::loops::Loop;
use pensa_core::loops::files::{ARTIFACTS, FilePart, IterationFile};
use pensa_core::ops::import::ImportOutcome;
use pensa_core::ops::loops::ImportLoopFiles;
use pensa_core::{Error, Result};
use uuid::Uuid;

use crate::context::Context;
use crate::error;
use crate::store::{StoreDir, refuse_link};

/// How many old directories of one iteration are kept.
const MAX_ASIDE: u32 = 1000;

/// Creates the directory of a loop's current iteration with the given files. `None` if the store has no files.
pub(crate) fn begin(cx: &Context<'_>, subject: &Loop, given: &[IterationFile]) -> Result<Option<PathBuf>> {
    let Some(store) = cx.own_files() else { return Ok(None) };
    let loop_dir = loop_dir(store, &subject.id)?;
    let iterations = own_dir(loop_dir.join("iterations"))?;
    let number = format!("{:03}", subject.iteration);
    let draft = iterations.join(format!(".{number}-{}", Uuid::new_v4().simple()));
    let dir = iterations.join(&number);
    let made = fill(&draft, given).and_then(|()| {
        move_aside(&dir)?;
        fs::rename(&draft, &dir).map_err(|e| error::io("create", &dir, &e))
    });
    if made.is_err() {
        // Best effort: a leftover temporary directory is harmless.
        let _ = fs::remove_dir_all(&draft);
    }
    made?;
    set_current(&loop_dir, &number)?;
    sync(&iterations)?;
    given.iter().filter(|file| file.is_appended()).try_for_each(|file| append(&loop_dir, file))?;
    Ok(Some(dir))
}

/// The directory of a loop. If an uncommitted operation archived it, it is moved back.
fn loop_dir(store: &StoreDir, id: &LoopId) -> Result<PathBuf> {
    let dir = store.local_dir("loops")?.join(name(id)?);
    let archived = store.local_dir("archive")?.join(name(id)?);
    if !exists(&dir) && exists(&archived) {
        refuse_link(&archived)?;
        fs::rename(&archived, &dir).map_err(|e| error::io("move", &archived, &e))?;
    }
    own_dir(dir)
}

/// An id as a directory name. Generated ids are always valid; imported ones may not be.
fn name(id: &LoopId) -> Result<&str> {
    match id.as_str() {
        name if name.starts_with('.') => Err(Error::invalid(format!("{name} cannot be the name of a directory"))),
        name => Ok(name),
    }
}

/// Returns a directory that is not a link, created if needed.
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

/// Appends to a file of the loop.
fn append(loop_dir: &Path, file: &IterationFile) -> Result<()> {
    let (path, bytes) = (loop_dir.join(&file.path), file.bytes()?);
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

/// Renames an existing directory with the name of a new iteration. It was left by an uncommitted attempt, or by a state
/// before the store was restored, and may still be wanted.
fn move_aside(path: &Path) -> Result<()> {
    if !exists(path) {
        return Ok(());
    }
    let aside = |at: u32| path.with_extension(format!("old{at}"));
    let free = (1..=MAX_ASIDE).map(aside).find(|path| !exists(path));
    let free = free.ok_or_else(|| Error::internal(format!("{} was begun too often", path.display())))?;
    fs::rename(path, &free).map_err(|e| error::io("move", path, &e))
}

/// Points the link `current` to an iteration, atomically.
fn set_current(loop_dir: &Path, number: &str) -> Result<()> {
    let draft = loop_dir.join(format!(".current-{}", Uuid::new_v4().simple()));
    let current = loop_dir.join("current");
    symlink(Path::new("iterations").join(number), &draft).map_err(|e| error::io("create", &draft, &e))?;
    fs::rename(&draft, &current).map_err(|e| {
        let _ = fs::remove_file(&draft);
        error::io("move", &current, &e)
    })
}

/// Imports a part of another tool's file, unless the file here has different content.
pub(crate) fn import_part(store: &StoreDir, op: &ImportLoopFiles, part: &FilePart) -> Result<ImportOutcome> {
    let (steps, bytes) = (part.components()?, part.bytes()?);
    let (file, dirs) = steps.split_last().ok_or_else(|| Error::invalid("a file has a name"))?;
    let mut dir = own_dir(import_dir(store, op)?)?;
    for step in dirs {
        dir = own_dir(dir.join(step))?;
    }
    let path = dir.join(file);
    refuse_link(&path)?;
    let is_new = !exists(&path);
    add_part(&path, part.offset, &bytes).map_err(|e| error::io("write", &path, &e)).map(|added| match added {
        Some(0) if !is_new => ImportOutcome::Here,
        Some(_) => ImportOutcome::Imported,
        None => ImportOutcome::Clash,
    })
}

/// Returns how many bytes were added; `None` if the file has different content.
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

/// Sets `current` as in the other tool, unless it exists.
pub(crate) fn import_current(store: &StoreDir, op: &ImportLoopFiles, number: &str) -> Result<()> {
    let loop_dir = own_dir(import_dir(store, op)?)?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number {
        return Err(Error::invalid(format!("{number:?} is no number of an iteration")));
    }
    let is_there = fs::symlink_metadata(loop_dir.join("iterations").join(number)).is_ok_and(|found| found.is_dir());
    if is_there && !exists(&loop_dir.join("current")) { set_current(&loop_dir, number) } else { Ok(()) }
}

fn import_dir(store: &StoreDir, op: &ImportLoopFiles) -> Result<PathBuf> {
    Ok(store.local_dir(if op.archived { "archive" } else { "loops" })?.join(name(&op.id)?))
}

/// Moves the directory of a loop to the archive; does nothing if it has none.
pub(crate) fn archive(cx: &Context<'_>, id: &LoopId) -> Result<()> {
    let Some(store) = cx.own_files() else { return Ok(()) };
    // Most loops have none, and then `local/loops` need not be created.
    let dir = store.root().join("local/loops").join(name(id)?);
    if !exists(&dir) {
        return Ok(());
    }
    let dir = store.local_dir("loops")?.join(name(id)?);
    refuse_link(&dir)?;
    let archived = store.local_dir("archive")?.join(name(id)?);
    move_aside(&archived)?;
    fs::rename(&dir, &archived).map_err(|e| error::io("move", &dir, &e))
}

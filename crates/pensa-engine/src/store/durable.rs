//! Finds the durable directory of a store, which holds its journal, its backups, the last event number and the writer
//! lock: outside the work tree, where commands that clean or replace a work tree do not reach.
//!
//! In a git repository that is `pensa/<store id>` in the git directory that all work trees share; elsewhere
//! `stores/<store id>/<path>` in the user's state directory, if the caller named one; else `local/` of the store.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use pensa_core::similar::hash64;
use pensa_core::{Code, Result};
use pensa_git::Surrounding;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{Keep, StoreDir, last_event, refuse_link, ticket};
use crate::error;

/// What moves when the durable directory does, in the order in which it is moved: a journal without its backups can
/// have a gap, backups without a journal are merely old.
const MOVED: [&str; 2] = ["backups", "journal"];
/// In `local/`: the store id under which the journal was begun and, outside git, its directory. A branch with another
/// store id, or a process with another home, then still finds the same journal.
const POINTER: &str = "journal-dir";
const MAX_POINTER: u64 = 8 << 10;
/// Longest store id that is a directory's name as it is.
const MAX_NAME: usize = 64;

/// Finds the durable directory of a store and makes it, moving there what an earlier Pensa, or a process that could not
/// write there, left elsewhere.
pub(crate) fn find(store: &StoreDir) -> Result<PathBuf> {
    let local = store.local();
    let Some(place) = place(store)? else { return Ok(local) };
    let is_new = match fs::symlink_metadata(&place.dir) {
        Ok(meta) if meta.is_dir() => false,
        Ok(_) => return refuse_link(&place.dir).map(|()| local),
        // A sandbox may let nobody look or write there.
        Err(e) if e.kind() == io::ErrorKind::NotFound => match make(&place) {
            Err(e) if e.code == Code::Forbidden => return Ok(local),
            made => made.map(|()| true)?,
        },
        Err(_) => return Ok(local),
    };
    let earlier = if is_new { before_git(store) } else { None };
    for from in [Some(local), earlier].into_iter().flatten().filter(|from| *from != place.dir) {
        if MOVED.iter().any(|name| from.join(name).exists()) {
            move_here(store, &from, &place.dir)?;
        }
    }
    if !place.is_noted {
        point_to(store, &place);
    }
    Ok(place.dir)
}

/// The store id of a durable directory whose store was deleted with everything in it; the one used last, if there are
/// several.
pub(crate) fn left_behind(store: &StoreDir) -> Option<String> {
    let root = fs::canonicalize(store.root()).ok()?;
    let (base, below) = in_git(&root).or_else(|| outside_git_below(store, &root))?;
    let entries = fs::read_dir(&base).ok()?.flatten();
    let used = entries.filter_map(|entry| {
        let id = entry.file_name().into_string().ok().filter(|id| is_plain(id))?;
        let dir = entry.path().join(&below);
        let used = fs::metadata(dir.join("journal")).ok()?.modified().ok()?;
        Some((used, id))
    });
    used.max().map(|(_, id)| id)
}

/// Where journal and backups are to be.
struct Place {
    /// What is there already, and not of Pensa's making.
    base: PathBuf,
    dir: PathBuf,
    id: String,
    is_in_git: bool,
    /// Whether the store says so itself.
    is_noted: bool,
}

fn place(store: &StoreDir) -> Result<Option<Place>> {
    if store.keep() == &Keep::Beside {
        return Ok(None);
    }
    let root = fs::canonicalize(store.root()).map_err(|e| error::io("find", store.root(), &e))?;
    let Some((base, below)) = in_git(&root) else { return Ok(outside_git(store, &root)) };
    let pointer = read_pointer(store);
    let is_noted = pointer.as_ref().is_some_and(|(_, dir)| dir.is_none());
    let id = pointer.map_or_else(|| store.id().ok(), |(id, _)| Some(id));
    Ok(id.map(|id| {
        let dir = base.join(name(&id)).join(below);
        Place { base: base.parent().unwrap_or(&base).to_owned(), dir, id, is_in_git: true, is_noted }
    }))
}

/// The place outside any repository: the one that the store names, else the one for its path.
fn outside_git(store: &StoreDir, root: &Path) -> Option<Place> {
    let pointer = read_pointer(store);
    let id = pointer.as_ref().map_or_else(|| store.id().ok(), |(id, _)| Some(id.clone()))?;
    let named = pointer.and_then(|(_, dir)| dir).filter(|dir| is_own(dir, &id, &path_name(root)));
    let is_noted = named.is_some();
    let ours = || outside_git_below(store, root).map(|(base, below)| base.join(name(&id)).join(below));
    let dir = named.or_else(ours)?;
    let base = dir.ancestors().nth(3).unwrap_or(&dir).to_owned();
    Some(Place { base, dir, id, is_in_git: false, is_noted })
}

/// Where a store had its journal before there was a repository around it.
fn before_git(store: &StoreDir) -> Option<PathBuf> {
    let root = fs::canonicalize(store.root()).ok()?;
    outside_git(store, &root).map(|place| place.dir).filter(|dir| dir.is_dir())
}

/// In the repository around a store: the directory of all stores, and what is below the name of this one. A store at
/// the root of a work tree is the only one with its id; a copy of it elsewhere in the work tree is another.
fn in_git(root: &Path) -> Option<(PathBuf, PathBuf)> {
    let around = Surrounding::of(root.parent()?)?;
    let is_at_root = root.parent() == Some(&around.top) && root.file_name().is_some_and(|name| name == StoreDir::NAME);
    let below = if is_at_root && around.shares_store() {
        PathBuf::new()
    } else {
        // Relative to the repository, as far as possible: it may be moved.
        let near = around.common.parent().and_then(|near| root.strip_prefix(near).ok());
        path_name(near.unwrap_or(root)).into()
    };
    Some((around.common.join("pensa"), below))
}

/// The same outside any repository. Copies of a store have its id, so the path is a part of the name.
fn outside_git_below(store: &StoreDir, root: &Path) -> Option<(PathBuf, PathBuf)> {
    let Keep::Outside(Some(state)) = store.keep() else { return None };
    // The user's own store lies there already.
    let is_there = fs::canonicalize(state).is_ok_and(|state| root.starts_with(state));
    (!is_there).then(|| (state.join("stores"), path_name(root).into()))
}

/// A store id comes from a committed file, and anybody may have written that.
fn is_plain(id: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !id.is_empty() && id.len() <= MAX_NAME && id.bytes().all(is_fine)
}

fn name(id: &str) -> String {
    if is_plain(id) { id.to_owned() } else { format!("sha256-{}", &hex::encode(Sha256::digest(id))[..32]) }
}

fn path_name(path: &Path) -> String {
    format!("at-{:016x}", hash64(path.as_os_str().as_encoded_bytes()))
}

/// Whether a directory that the store itself names can only be its own.
fn is_own(dir: &Path, id: &str, below: &str) -> bool {
    let ends: PathBuf = ["stores", &name(id), below].iter().collect();
    dir.is_absolute() && dir.ends_with(ends) && fs::symlink_metadata(dir).is_ok_and(|meta| meta.is_dir())
}

fn make(place: &Place) -> Result<()> {
    // Parts that are there may be links of the user's own making, but not ours.
    let mut ours: Vec<&Path> = place.dir.ancestors().take_while(|dir| *dir != place.base).collect();
    ours.reverse();
    for dir in ours {
        match DirBuilder::new().mode(0o700).recursive(!place.is_in_git).create(dir) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => refuse_link(dir)?,
            made => made.map_err(|e| error::io("create", dir, &e))?,
        }
    }
    Ok(())
}

fn read_pointer(store: &StoreDir) -> Option<(String, Option<PathBuf>)> {
    let path = store.local().join(POINTER);
    let file = StoreDir::open_plain(&path).ok().filter(|file| file.metadata().is_ok_and(|meta| meta.is_file()))?;
    let mut text = String::new();
    file.take(MAX_POINTER).read_to_string(&mut text).ok()?;
    let mut lines = text.lines();
    let id = lines.next().filter(|id| !id.is_empty())?.to_owned();
    Some((id, lines.next().map(PathBuf::from)))
}

/// Notes where the journal is. Nothing depends on it while all is well.
fn point_to(store: &StoreDir, place: &Place) {
    let dir = if place.is_in_git { None } else { place.dir.to_str() };
    let text = format!("{}\n{}\n", place.id, dir.unwrap_or_default());
    if let Ok(local) = store.local_dir("") {
        let draft = local.join(format!("{POINTER}.tmp-{}", Uuid::new_v4().simple()));
        let written = StoreDir::open_private(&draft)
            .and_then(|mut file| file.write_all(text.trim_end().as_bytes()).and_then(|()| file.write_all(b"\n")))
            .and_then(|()| fs::rename(&draft, local.join(POINTER)));
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
    }
}

/// Moves journal and backups, file by file, so that whoever is killed in between leaves the rest for the next.
fn move_here(store: &StoreDir, from: &Path, to: &Path) -> Result<()> {
    store.refuse_tracked(from)?;
    let mover = || -> Result<()> {
        let _here = ticket::lock(&to.join(ticket::FILE))?;
        // A process that writes there still, such as an older Pensa, is let finish.
        let _there = ticket::lock(&from.join(ticket::FILE))?;
        for name in MOVED {
            move_files(&from.join(name), &to.join(name))?;
        }
        if from != store.local() {
            // Whoever waits for this lock finds it gone, and looks for the new one.
            let _ = fs::remove_file(from.join(ticket::FILE));
            if !to.join(last_event::FILE).exists() {
                let _ = rename_or_copy(&from.join(last_event::FILE), &to.join(last_event::FILE));
            }
            let _ = fs::remove_file(from.join(last_event::FILE));
            let _ = fs::remove_dir(from);
        }
        Ok(())
    };
    match mover() {
        // What cannot be moved stays where it was; the database has it too.
        Err(e) if e.code == Code::Forbidden => Ok(()),
        moved => moved,
    }
}

fn move_files(from: &Path, to: &Path) -> Result<()> {
    let entries = match fs::read_dir(from) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(|e| error::io("read", from, &e))?,
    };
    match DirBuilder::new().mode(0o700).create(to) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => refuse_link(to)?,
        made => made.map_err(|e| error::io("create", to, &e))?,
    }
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort_unstable();
    for file in files {
        if let Some(name) = file.file_name()
            && fs::symlink_metadata(&file).is_ok_and(|meta| meta.is_file())
        {
            move_file(&file, &to.join(name)).map_err(|e| error::io("move", &file, &e))?;
        }
    }
    File::open(to).and_then(|dir| dir.sync_all()).map_err(|e| error::io("write", to, &e))?;
    // What is left in it is not ours.
    let _ = fs::remove_dir(from);
    Ok(())
}

/// Moves a file. Of two with one name the longer wins if it begins with the other, which is what an interrupted move
/// leaves; else both are kept.
fn move_file(from: &Path, to: &Path) -> io::Result<()> {
    if fs::symlink_metadata(to).is_ok() {
        if begins_with(to, from)? {
            return fs::remove_file(from);
        }
        if !begins_with(from, to)? {
            let aside = to.with_extension(format!("moved-{}", Uuid::new_v4().simple()));
            return rename_or_copy(from, &aside);
        }
    }
    rename_or_copy(from, to)
}

fn begins_with(file: &Path, other: &Path) -> io::Result<bool> {
    let (mut file, mut other) = (File::open(file)?, File::open(other)?);
    if file.metadata()?.len() < other.metadata()?.len() {
        return Ok(false);
    }
    let (mut ours, mut theirs) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    loop {
        let count = other.read(&mut theirs)?;
        if count == 0 {
            return Ok(true);
        }
        file.read_exact(&mut ours[..count])?;
        if ours[..count] != theirs[..count] {
            return Ok(false);
        }
    }
}

fn rename_or_copy(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(e) if e.kind() == io::ErrorKind::CrossesDevices => {
            let draft = to.with_extension(format!("tmp-{}", Uuid::new_v4().simple()));
            let copied = (|| {
                let mut copy = StoreDir::open_private(&draft)?;
                io::copy(&mut File::open(from)?, &mut copy)?;
                copy.sync_all()?;
                fs::rename(&draft, to)
            })();
            if copied.is_err() {
                let _ = fs::remove_file(&draft);
            }
            copied?;
            fs::remove_file(from)
        }
        renamed => renamed,
    }
}

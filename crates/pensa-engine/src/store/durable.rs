//! Finds the durable directory of a store: it holds the journal, the backups, the last event number and the writer
//! lock. It lies outside the work tree, so that commands that clean or replace a work tree do not reach it.
//!
//! In a git repository, it is `pensa/<store id>` in the common git directory. Elsewhere it is `stores/<store
//! id>/<path>` in the user's state directory if the caller named one, or else `local/` of the store.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use pensa_core::similar::hash64;
use pensa_core::{Code, Result};
use pensa_git::WorkTree;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{DurableKind, StoreDir, last_event, refuse_link, writer_lock};
use crate::error;

/// What moves when the durable directory does, in this order: a journal without its backups can have a gap, but backups
/// without a journal are only old.
const MOVED: [&str; 2] = ["backups", "journal"];
/// This file in `local/` names the store id under which the journal was started and, outside git, the journal's
/// directory. The same journal is then found from a branch with another store id, or by a process with another home.
const POINTER: &str = "journal-dir";
const MAX_POINTER: u64 = 8 << 10;
/// Longer store ids are hashed before they become directory names.
const MAX_NAME: usize = 64;

/// Finds the durable directory of a store, creates it if needed, and moves there what a process without write access to
/// it, or a store without a repository, has left elsewhere.
pub(crate) fn find(store: &StoreDir) -> Result<PathBuf> {
    let local = store.local();
    let Some(durable) = locate(store)? else { return Ok(local) };
    let is_new = match fs::symlink_metadata(&durable.dir) {
        Ok(meta) if meta.is_dir() => false,
        Ok(_) => return refuse_link(&durable.dir).map(|()| local),
        // A sandbox may forbid reading or writing there.
        Err(e) if e.kind() == io::ErrorKind::NotFound => match create(&durable) {
            Err(e) if e.code == Code::Forbidden => return Ok(local),
            created => created.map(|()| true)?,
        },
        Err(_) => return Ok(local),
    };
    let earlier = if is_new { dir_outside_git(store) } else { None };
    for from in [Some(local), earlier].into_iter().flatten().filter(|from| *from != durable.dir) {
        if MOVED.iter().any(|name| from.join(name).exists()) {
            move_durable_files(store, &from, &durable.dir)?;
        }
    }
    if !durable.is_in_pointer {
        write_pointer(store, &durable);
    }
    Ok(durable.dir)
}

/// The id of a deleted store whose durable directory is still there; the one used last, if there are several.
pub(crate) fn orphaned_store_id(store: &StoreDir) -> Option<String> {
    let root = fs::canonicalize(store.root()).ok()?;
    let (base, below) = git_location(&root).or_else(|| user_state_location(store, &root))?;
    let entries = fs::read_dir(&base).ok()?.flatten();
    let used = entries.filter_map(|entry| {
        let id = entry.file_name().into_string().ok().filter(|id| is_plain(id))?;
        let dir = entry.path().join(&below);
        let used = fs::metadata(dir.join("journal")).ok()?.modified().ok()?;
        Some((used, id))
    });
    used.max().map(|(_, id)| id)
}

/// The durable directory of a store, before it is created.
struct DurableDir {
    /// An existing directory that Pensa did not create.
    base: PathBuf,
    dir: PathBuf,
    id: String,
    is_in_git: bool,
    /// Whether the store's pointer file already names this directory.
    is_in_pointer: bool,
}

fn locate(store: &StoreDir) -> Result<Option<DurableDir>> {
    if store.durable_kind() == &DurableKind::InStore {
        return Ok(None);
    }
    let root = fs::canonicalize(store.root()).map_err(|e| error::io("find", store.root(), &e))?;
    let Some((base, below)) = git_location(&root) else { return Ok(outside_git(store, &root)) };
    let pointer = read_pointer(store);
    let is_in_pointer = pointer.as_ref().is_some_and(|(_, dir)| dir.is_none());
    let id = pointer.map_or_else(|| store.id().ok(), |(id, _)| Some(id));
    Ok(id.map(|id| {
        let dir = base.join(name(&id)).join(below);
        DurableDir { base: base.parent().unwrap_or(&base).to_owned(), dir, id, is_in_git: true, is_in_pointer }
    }))
}

/// The durable directory outside any repository: the one that the pointer file names, or else the one for its path.
fn outside_git(store: &StoreDir, root: &Path) -> Option<DurableDir> {
    let pointer = read_pointer(store);
    let id = pointer.as_ref().map_or_else(|| store.id().ok(), |(id, _)| Some(id.clone()))?;
    let named = pointer.and_then(|(_, dir)| dir).filter(|dir| is_own(dir, &id, &path_name(root)));
    let is_in_pointer = named.is_some();
    let ours = || user_state_location(store, root).map(|(base, below)| base.join(name(&id)).join(below));
    let dir = named.or_else(ours)?;
    let base = dir.ancestors().nth(3).unwrap_or(&dir).to_owned();
    Some(DurableDir { base, dir, id, is_in_git: false, is_in_pointer })
}

/// The directory that the store used before a repository was created around it.
fn dir_outside_git(store: &StoreDir) -> Option<PathBuf> {
    let root = fs::canonicalize(store.root()).ok()?;
    outside_git(store, &root).map(|durable| durable.dir).filter(|dir| dir.is_dir())
}

/// Inside a repository: the directory of all stores, and the path below this store's id. A store at the root of a work
/// tree needs no path below its id; a copy of it elsewhere in the work tree does.
fn git_location(root: &Path) -> Option<(PathBuf, PathBuf)> {
    let around = WorkTree::of(root.parent()?)?;
    let is_at_root = root.parent() == Some(&around.top) && root.file_name().is_some_and(|name| name == StoreDir::NAME);
    let below = if is_at_root && around.shares_store() {
        PathBuf::new()
    } else {
        // Relative to the repository where possible, because the repository may be moved.
        let near = around.common.parent().and_then(|near| root.strip_prefix(near).ok());
        path_name(near.unwrap_or(root)).into()
    };
    Some((around.common.join("pensa"), below))
}

/// As [`git_location`], for a store outside any repository. Copies of a store have its id, so the name includes the
/// path.
fn user_state_location(store: &StoreDir, root: &Path) -> Option<(PathBuf, PathBuf)> {
    let DurableKind::Outside(Some(state)) = store.durable_kind() else { return None };
    // The user's own store is already in the state directory.
    let is_there = fs::canonicalize(state).is_ok_and(|state| root.starts_with(state));
    (!is_there).then(|| (state.join("stores"), path_name(root).into()))
}

/// Whether an id is safe as a directory name. It comes from a committed file, which anybody may have written.
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

/// Whether `dir` has the form of this store's own durable directory. The pointer file could name any other directory.
fn is_own(dir: &Path, id: &str, below: &str) -> bool {
    let ends: PathBuf = ["stores", &name(id), below].iter().collect();
    dir.is_absolute() && dir.ends_with(ends) && fs::symlink_metadata(dir).is_ok_and(|meta| meta.is_dir())
}

fn create(durable: &DurableDir) -> Result<()> {
    // Existing parent directories may be links that the user made. Our own directories must not be.
    let mut ours: Vec<&Path> = durable.dir.ancestors().take_while(|dir| *dir != durable.base).collect();
    ours.reverse();
    for dir in ours {
        match DirBuilder::new().mode(0o700).recursive(!durable.is_in_git).create(dir) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => refuse_link(dir)?,
            created => created.map_err(|e| error::io("create", dir, &e))?,
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

/// Writes the pointer file. Failure is harmless: the pointer is only needed if the store id or the user's home changes.
fn write_pointer(store: &StoreDir, durable: &DurableDir) {
    let dir = if durable.is_in_git { None } else { durable.dir.to_str() };
    let text = format!("{}\n{}\n", durable.id, dir.unwrap_or_default());
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

/// Moves journal and backups file by file. If the process is killed in between, the next one moves the rest.
fn move_durable_files(store: &StoreDir, from: &Path, to: &Path) -> Result<()> {
    store.refuse_tracked(from)?;
    let mover = || -> Result<()> {
        let _here = writer_lock::lock_file(&to.join(writer_lock::FILE))?;
        // Waits for a process that still writes there.
        let _there = writer_lock::lock_file(&from.join(writer_lock::FILE))?;
        for name in MOVED {
            move_files(&from.join(name), &to.join(name))?;
        }
        if from != store.local() {
            // A process that waits for this lock then sees that it was deleted, and opens the store again.
            let _ = fs::remove_file(from.join(writer_lock::FILE));
            if !to.join(last_event::FILE).exists() {
                let _ = rename_or_copy(&from.join(last_event::FILE), &to.join(last_event::FILE));
            }
            let _ = fs::remove_file(from.join(last_event::FILE));
            let _ = fs::remove_dir(from);
        }
        Ok(())
    };
    match mover() {
        // Files that cannot be moved stay; the database has their content too.
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
        created => created.map_err(|e| error::io("create", to, &e))?,
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
    // Fails if the directory still has files, which are not ours.
    let _ = fs::remove_dir(from);
    Ok(())
}

/// Moves a file. If both exist and one is a prefix of the other, as after an interrupted move, the longer one wins.
/// Otherwise both are kept.
fn move_file(from: &Path, to: &Path) -> io::Result<()> {
    if fs::symlink_metadata(to).is_ok() {
        if starts_with_content(to, from)? {
            return fs::remove_file(from);
        }
        if !starts_with_content(from, to)? {
            let aside = to.with_extension(format!("moved-{}", Uuid::new_v4().simple()));
            return rename_or_copy(from, &aside);
        }
    }
    rename_or_copy(from, to)
}

fn starts_with_content(file: &Path, other: &Path) -> io::Result<bool> {
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

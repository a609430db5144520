//! What a store has in files: parts of its journal, and directories of loops that are no more.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pensa_core::ops::gc::Taken;
use pensa_core::{Result, Timestamp, id};

use super::{Round, count};
use crate::db::backup;
use crate::ops::backup::own_dir;
use crate::store::StoreDir;
use crate::tables::records::Collection;
use crate::{error, journal};

/// Most entries of a directory that are looked at.
const MOST: usize = 100_000;
/// How deep a directory is looked into.
const DEEPEST: usize = 16;

fn is_old(path: &Path, until: Timestamp) -> bool {
    let until = u64::try_from(until.as_millis()).map(|millis| UNIX_EPOCH + Duration::from_millis(millis));
    let changed = fs::symlink_metadata(path).and_then(|meta| meta.modified());
    matches!((until, changed), (Ok(until), Ok(changed)) if changed < until && changed < SystemTime::now())
}

/// Segments of the journal that the two newest backups both have.
pub(super) fn journal(round: &mut Round<'_, '_>) -> Result<()> {
    let Ok(store) = own_dir(round.cx) else { return Ok(()) };
    let Some(event) = backup::journal_begins(store)? else { return Ok(()) };
    let behind = journal::segments_until(store, event)?;
    // Later ones must not go before earlier ones: what is read has no gaps.
    let old: Vec<_> = behind.into_iter().take_while(|path| is_old(path, round.until)).collect();
    let mut names = Vec::new();
    for path in round.batch(old) {
        round.removed.bytes += fs::metadata(&path).map_or(0, |meta| i64::try_from(meta.len()).unwrap_or_default());
        names.push(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        if !round.dry_run {
            fs::remove_file(&path).map_err(|e| error::io("delete", &path, &e))?;
        }
    }
    round.removed.journal_segments = count(names.len());
    round.log("journal_segments", &names)
}

/// Directories in the archive whose loop is not known any more.
pub(super) fn loop_directories(round: &mut Round<'_, '_>) -> Result<()> {
    let Ok(store) = own_dir(round.cx) else { return Ok(()) };
    let archive = store.root().join("local/archive");
    let loops = Collection::open(round.tx, super::records::LOOPS)?;
    let is_dir = |path: &Path| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
    // A repository can bring a link in its place.
    let Ok(entries) = (if is_dir(&archive) { fs::read_dir(&archive) } else { return Ok(()) }) else { return Ok(()) };
    let mut lonely = Vec::new();
    for path in entries.take(MOST).filter_map(|entry| Some(entry.ok()?.path())) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()).map(str::to_owned) else { continue };
        let may_be_one = id::is_possible(&name) && !name.starts_with('.') && is_dir(&path);
        if may_be_one && is_old(&path, round.until) && loops.get(round.tx, &name)?.is_none() {
            lonely.push((name, path));
        }
    }
    lonely.sort();
    let mut names = Vec::new();
    for (name, path) in round.batch(lonely) {
        if !round.dry_run {
            fs::remove_dir_all(&path).map_err(|e| error::io("delete", &path, &e))?;
        }
        names.push(name);
    }
    round.removed.loop_directories = count(names.len());
    round.log("loop_directories", &names)
}

/// How much space the parts of a store take up, and how much is left.
pub(super) fn taken(store: &StoreDir) -> Taken {
    let local = store.root().join("local");
    let database = store.database();
    let with = |end: &str| {
        let mut name = database.clone().into_os_string();
        name.push(end);
        fs::metadata(name).map_or(0, |meta| meta.len())
    };
    Taken {
        database: Some(["", "-wal", "-shm"].into_iter().map(with).sum()),
        journal: Some(size(&journal::dir(store), DEEPEST)),
        logs: Some(size(&local.join("runs"), DEEPEST)),
        backups: Some(size(&backup::dir(store), DEEPEST)),
        free: store.free_space(),
    }
}

/// The bytes of the files below a directory, without following links.
fn size(dir: &Path, deepest: usize) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().take(MOST);
    let each = entries.map(|entry| match entry.metadata() {
        Ok(meta) if meta.is_dir() && deepest > 0 => size(&entry.path(), deepest - 1),
        Ok(meta) if meta.is_file() => meta.len(),
        _ => 0,
    });
    each.sum()
}

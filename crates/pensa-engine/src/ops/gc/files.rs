//! Removes files that are no longer needed: journal segments and directories of deleted loops.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pensa_core::ops::gc::DiskUsage;
use pensa_core::{Result, Timestamp, id};

use super::{GcRun, count};
use crate::db::backup;
use crate::ops::backup::own_dir;
use crate::store::StoreDir;
use crate::tables::records::Collection;
use crate::{error, journal};

/// Most directory entries read.
const MAX_ENTRIES: usize = 100_000;
/// Deepest directory level read.
const MAX_DEPTH: usize = 16;

fn is_old(path: &Path, until: Timestamp) -> bool {
    let until = u64::try_from(until.as_millis()).map(|millis| UNIX_EPOCH + Duration::from_millis(millis));
    let changed = fs::symlink_metadata(path).and_then(|meta| meta.modified());
    matches!((until, changed), (Ok(until), Ok(changed)) if changed < until && changed < SystemTime::now())
}

/// Journal segments covered by both of the newest backups.
pub(super) fn journal(run: &mut GcRun<'_, '_>) -> Result<()> {
    let Ok(store) = own_dir(run.cx) else { return Ok(()) };
    let Some(event) = backup::journal_needed_after(store)? else { return Ok(()) };
    let behind = journal::segments_before(store, event)?;
    // Only from the oldest on: the journal must have no gaps.
    let old: Vec<_> = behind.into_iter().take_while(|path| is_old(path, run.until)).collect();
    let mut names = Vec::new();
    for path in run.batch(old) {
        run.removed.bytes += fs::metadata(&path).map_or(0, |meta| i64::try_from(meta.len()).unwrap_or_default());
        names.push(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        if !run.dry_run {
            fs::remove_file(&path).map_err(|e| error::io("delete", &path, &e))?;
        }
    }
    run.removed.journal_segments = count(names.len());
    run.log("journal_segments", &names)
}

/// Archived directories whose loop no longer exists.
pub(super) fn loop_directories(run: &mut GcRun<'_, '_>) -> Result<()> {
    let Ok(store) = own_dir(run.cx) else { return Ok(()) };
    let archive = store.root().join("local/archive");
    let loops = Collection::open(run.tx, super::records::LOOPS)?;
    let is_dir = |path: &Path| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
    // A committed symbolic link must not be followed.
    let Ok(entries) = (if is_dir(&archive) { fs::read_dir(&archive) } else { return Ok(()) }) else { return Ok(()) };
    let mut lonely = Vec::new();
    for path in entries.take(MAX_ENTRIES).filter_map(|entry| Some(entry.ok()?.path())) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()).map(str::to_owned) else { continue };
        let may_be_one = id::is_possible(&name) && !name.starts_with('.') && is_dir(&path);
        if may_be_one && is_old(&path, run.until) && loops.get(run.tx, &name)?.is_none() {
            lonely.push((name, path));
        }
    }
    lonely.sort();
    let mut names = Vec::new();
    for (name, path) in run.batch(lonely) {
        if !run.dry_run {
            fs::remove_dir_all(&path).map_err(|e| error::io("delete", &path, &e))?;
        }
        names.push(name);
    }
    run.removed.loop_directories = count(names.len());
    run.log("loop_directories", &names)
}

/// The disk usage of a store's parts, and the free space.
pub(super) fn disk_usage(store: &StoreDir) -> DiskUsage {
    let local = store.root().join("local");
    let database = store.database();
    let with = |end: &str| {
        let mut name = database.clone().into_os_string();
        name.push(end);
        fs::metadata(name).map_or(0, |meta| meta.len())
    };
    DiskUsage {
        database: Some(["", "-wal", "-shm"].into_iter().map(with).sum()),
        journal: Some(size(&journal::dir(store), MAX_DEPTH)),
        logs: Some(size(&local.join("runs"), MAX_DEPTH)),
        backups: Some(size(&backup::dir(store), MAX_DEPTH)),
        free: store.free_space(),
    }
}

/// The size of all files below a directory, without following links.
fn size(dir: &Path, deepest: usize) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().take(MAX_ENTRIES);
    let each = entries.map(|entry| match entry.metadata() {
        Ok(meta) if meta.is_dir() && deepest > 0 => size(&entry.path(), deepest - 1),
        Ok(meta) if meta.is_file() => meta.len(),
        _ => 0,
    });
    each.sum()
}

//! The record files: each collection as JSON lines in `local/taskstore`, appended to after every commit.
//!
//! If an append fails, the files are rewritten from the database. `pensa_core::record::line` defines the lines.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use pensa_core::Result;
use pensa_core::event::{self, EventType};
use pensa_core::record::line::{self, RecordLine};
use pensa_core::record::{self, Record};
use serde_json::Map;
use uuid::Uuid;

use crate::context::Context;
use crate::db::{Db, Tx};
use crate::error;
use crate::store::record_files::{CHECK_SIZE, DIR, INDEXES, STALE, dir, is_missing, is_stale, open};
use crate::store::{StoreDir, writer_lock};
use crate::tables::events;
use crate::tables::records::{self, FieldIndex};

/// Longest line that is read: enough for the largest document with every character escaped.
const MAX_LINE: u64 = 8 << 20;
/// Rewrites the record files if the last transaction left them out of date, or if most of their content is outdated.
pub(crate) fn rewrite_if_needed(db: &Db) {
    let Some(store) = db.take_files_need_check() else { return };
    let is_mostly_garbage = || db.begin_read().and_then(|tx| is_mostly_garbage(&tx, store)).unwrap_or(false);
    if is_stale(store) || is_mostly_garbage() {
        try_rewrite(db, store);
    }
}

/// At open: rewrites the record files if they are out of date or missing.
pub(crate) fn repair_files(db: &Db, store: &StoreDir) {
    let has_records = || db.begin_read().and_then(|tx| records::has_any(&tx)).unwrap_or(false);
    if is_stale(store) || (is_missing(store) && has_records()) {
        try_rewrite(db, store);
    }
}

/// Best effort: the next process tries again.
fn try_rewrite(db: &Db, store: &StoreDir) {
    if let Some(_lock) = writer_lock::try_acquire(store)
        && let Ok(tx) = db.begin_read()
    {
        let _ = rewrite(&tx, store);
    }
}

/// Whether most of the files' content is outdated.
fn is_mostly_garbage(tx: &Tx<'_>, store: &StoreDir) -> Result<bool> {
    let bytes = bytes(store);
    Ok(bytes > CHECK_SIZE && bytes / 3 > records::bytes(tx)?)
}

/// The files of collections and of indexes.
fn files(store: &StoreDir) -> Vec<(String, PathBuf)> {
    let listed = fs::read_dir(dir(store)).into_iter().flatten().flatten();
    let named = listed.filter_map(|entry| {
        let path = entry.path();
        let name = path.file_name()?.to_str()?.strip_suffix(".jsonl")?.to_owned();
        let is_ours = name == INDEXES || record::check_collection(&name).is_ok();
        (is_ours && entry.file_type().is_ok_and(|kind| kind.is_file())).then_some((name, path))
    });
    let mut files: Vec<(String, PathBuf)> = named.collect();
    files.sort_unstable();
    files
}

/// The total size of the files.
pub(crate) fn bytes(store: &StoreDir) -> u64 {
    files(store).iter().filter_map(|(_, path)| fs::metadata(path).ok()).map(|meta| meta.len()).sum()
}

/// Rewrites all files from the database. Returns the number of collections. The caller holds the writer lock.
pub(crate) fn rewrite(tx: &Tx<'_>, store: &StoreDir) -> Result<usize> {
    let dir = store.local_dir(DIR)?;
    let mut written = Vec::new();
    for (name, _, _) in records::sizes(tx)? {
        replace(&dir, &name, |to| {
            records::for_each_page(tx, &name, |page| {
                let mut lines = Vec::new();
                page.iter().try_for_each(|record| line::write_record(record, &mut lines))?;
                to(&lines)
            })
        })?;
        written.push(name);
    }
    let indexes = records::indexes(tx)?;
    if !indexes.is_empty() {
        replace(&dir, INDEXES, |to| {
            let mut lines = Vec::new();
            indexes.iter().try_for_each(|index| records::index_line(index, &mut lines))?;
            to(&lines)
        })?;
        written.push(INDEXES.to_owned());
    }
    for (name, path) in files(store) {
        if !written.contains(&name) {
            fs::remove_file(&path).map_err(|e| error::io("delete", &path, &e))?;
        }
    }
    let stale = dir.join(STALE);
    match fs::remove_file(&stale) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(error::io("delete", &stale, &e)),
        _ => Ok(written.iter().filter(|name| *name != INDEXES).count()),
    }
}

/// Replaces a file atomically.
fn replace(dir: &Path, name: &str, fill: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>) -> Result<()> {
    let path = dir.join(format!("{name}.jsonl"));
    let draft = dir.join(format!("{name}.tmp-{}", Uuid::new_v4().simple()));
    let failed = |e: io::Error| error::io("write", &path, &e);
    let written = (|| {
        let mut to = BufWriter::new(open(&draft, true).map_err(failed)?);
        fill(&mut |line| to.write_all(line).map_err(failed))?;
        to.flush().map_err(failed)?;
        fs::rename(&draft, &path).map_err(failed)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Passes the lines of a file to `each`; skips lines that are too long.
fn read_lines(path: &Path, mut each: impl FnMut(&[u8])) -> Result<()> {
    let failed = |e: io::Error| error::io("read", path, &e);
    let mut lines = BufReader::new(File::open(path).map_err(failed)?);
    let (mut line, mut is_rest) = (Vec::new(), false);
    while lines.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).map_err(failed)? > 0 {
        let is_whole = line.ends_with(b"\n") || (line.len() as u64) < MAX_LINE;
        if is_whole && !is_rest && !line.trim_ascii().is_empty() {
            each(&line);
        }
        is_rest = !is_whole;
        line.clear();
    }
    Ok(())
}

/// The latest line of each record in a file.
fn latest(path: &Path) -> Result<HashMap<String, RecordLine>> {
    let mut found: HashMap<String, RecordLine> = HashMap::new();
    read_lines(path, |bytes| {
        // Skip an unreadable line; the others are still good.
        let Ok(line) = line::parse(bytes) else { return };
        if found.get(&line.id).is_none_or(|before| line.supersedes(before)) {
            found.insert(line.id.clone(), line);
        }
    })?;
    Ok(found)
}

/// Loads the record files into a newly created database.
pub(crate) fn load_files(cx: &Context<'_>, tx: &Tx<'_>, store: &StoreDir) -> Result<()> {
    let files = files(store);
    if files.is_empty() || is_stale(store) || store.refuse_tracked(&store.local()).is_err() {
        return Ok(());
    }
    tx.expect_many_rows()?;
    for (_, path) in files.iter().filter(|(name, _)| name == INDEXES) {
        let mut indexes: Vec<FieldIndex> = Vec::new();
        read_lines(path, |line| indexes.extend(serde_json::from_slice::<FieldIndex>(line).ok()))?;
        indexes.retain(|index| {
            record::check_collection(&index.collection).is_ok() && record::check_field(&index.field).is_ok()
        });
        indexes.iter().try_for_each(|index| records::put_index(tx, index))?;
    }
    let (mut count, mut last) = (0_i64, 0);
    for (name, path) in files.iter().filter(|(name, _)| name != INDEXES) {
        let mut lines: Vec<RecordLine> = latest(path)?.into_values().collect();
        lines.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        for RecordLine { id, rev, updated_at, data } in lines {
            let rev = rev.unwrap_or(1);
            last = last.max(rev);
            let Some(data) = data.filter(|data| record::check_data(&id, data).is_ok()) else { continue };
            let (collection, updated_at) = (name.clone(), updated_at.unwrap_or(cx.now));
            records::restore_unless_newer(tx, &Record { collection, id, rev, updated_at, data })?;
            count += 1;
        }
    }
    // Revisions and event numbers share one sequence, so new events must not reuse the number of a revision.
    tx.skip_events(last)?;
    let detail = Map::from_iter([("records".to_owned(), event::change((), count))]);
    events::append(cx, tx, ("store", &cx.store.id()?), None, EventType::Imported, detail).map(drop)
}

//! The files of records: each collection as lines of JSON in `local/taskstore`, written after every commit.
//!
//! Whoever holds the writer's ticket appends to them before the journal, so that they are in step with the database
//! whenever the journal is. If in doubt, they are written anew. What stands in a line is for `pensa_core` to say.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use pensa_core::event::{self, EventType};
use pensa_core::record::line::{self, Line};
use pensa_core::record::{self, Record};
use pensa_core::{Result, json};
use serde_json::Map;
use uuid::Uuid;

use crate::context::Context;
use crate::db::Tx;
use crate::error;
use crate::store::StoreDir;
use crate::tables::events;
use crate::tables::records::{self, Declared};

const DIR: &str = "taskstore";
/// Which fields have an index. No collection has such a name.
pub(crate) const INDEXES: &str = "_indexes";
/// Says that the files are not what the database has.
const STALE: &str = "_stale";
/// Longest line that is read: a document in which every character is escaped, and more.
const MAX_LINE: u64 = 8 << 20;
/// A file that has grown to this, and then to twice of it and so on, is worth a look whether most of it is old.
const WORTH_A_LOOK: u64 = 16 << 20;

fn dir(store: &StoreDir) -> PathBuf {
    store.root().join("local").join(DIR)
}

fn open(path: &Path, create: bool) -> io::Result<File> {
    let nofollow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    OpenOptions::new().read(true).append(true).create(create).mode(0o600).custom_flags(nofollow).open(path)
}

/// Appends lines to the files that they are for; says whether one has grown so large that it is worth a look.
pub(crate) fn append(store: &StoreDir, lines: &[(String, Vec<u8>)]) -> Result<bool> {
    let mut by_file: BTreeMap<&str, Cow<'_, [u8]>> = BTreeMap::new();
    for (name, piece) in lines {
        match by_file.get_mut(name.as_str()) {
            Some(pieces) => pieces.to_mut().extend_from_slice(piece),
            None => drop(by_file.insert(name, Cow::Borrowed(piece))),
        }
    }
    let dir = store.local_dir(DIR)?;
    let mut has_grown = false;
    for (name, bytes) in by_file {
        let path = dir.join(format!("{name}.jsonl"));
        let appended = append_to(&path, &bytes).map_err(|e| error::io("write", &path, &e));
        has_grown |= appended?;
    }
    Ok(has_grown)
}

fn append_to(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let mut file = open(path, true)?;
    let before = file.metadata()?.len();
    if before > 0 {
        let mut last = [0];
        file.seek(SeekFrom::Start(before - 1))?;
        file.read_exact(&mut last)?;
        // What somebody else tore off must not take our line with it.
        if last != *b"\n" {
            file.write_all(b"\n")?;
        }
    }
    file.write_all(bytes)?;
    let steps = |bytes: u64| (bytes / WORTH_A_LOOK).checked_ilog2();
    Ok(steps(before + bytes.len() as u64) > steps(before))
}

/// Notes that the files are not what the database has; says whether that is known now.
pub(crate) fn mark_stale(store: &StoreDir) -> bool {
    store.local_dir(DIR).is_ok_and(|dir| StoreDir::open_private(&dir.join(STALE)).is_ok())
}

/// Whether the files are known to be wrong.
pub(crate) fn is_stale(store: &StoreDir) -> bool {
    dir(store).join(STALE).exists()
}

/// Whether there are no files at all.
pub(crate) fn is_missing(store: &StoreDir) -> bool {
    !dir(store).exists()
}

/// Whether most of what the files hold is old.
pub(crate) fn is_mostly_old(tx: &Tx<'_>, store: &StoreDir) -> Result<bool> {
    let bytes = bytes(store);
    Ok(bytes > WORTH_A_LOOK && bytes / 3 > records::bytes(tx)?)
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

/// How large the files are together.
pub(crate) fn bytes(store: &StoreDir) -> u64 {
    files(store).iter().filter_map(|(_, path)| fs::metadata(path).ok()).map(|meta| meta.len()).sum()
}

/// Writes all files anew from the database, and says of how many collections. The caller holds the ticket.
pub(crate) fn rewrite(tx: &Tx<'_>, store: &StoreDir) -> Result<usize> {
    let dir = store.local_dir(DIR)?;
    let mut written = Vec::new();
    for (name, _, _) in records::sizes(tx)? {
        replace(&dir, &name, |to| {
            records::for_each_page(tx, &name, |page| {
                let mut lines = Vec::new();
                page.iter().try_for_each(|record| line::of_record(record, &mut lines))?;
                to(&lines)
            })
        })?;
        written.push(name);
    }
    let indexes = records::indexes(tx)?;
    if !indexes.is_empty() {
        replace(&dir, INDEXES, |to| {
            let mut lines = Vec::new();
            indexes.iter().try_for_each(|index| index_line(index, &mut lines))?;
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

pub(crate) fn index_line(index: &Declared, to: &mut Vec<u8>) -> Result<()> {
    json::write_line(to, index)?;
    to.push(b'\n');
    Ok(())
}

/// Puts a file in place of one that may be there; nobody sees half of it.
fn replace(dir: &Path, name: &str, fill: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>) -> Result<()> {
    let path = dir.join(format!("{name}.jsonl"));
    let draft = dir.join(format!("{name}.tmp-{}", Uuid::new_v4().simple()));
    let told = |e: io::Error| error::io("write", &path, &e);
    let written = (|| {
        let mut to = BufWriter::new(open(&draft, true).map_err(told)?);
        fill(&mut |line| to.write_all(line).map_err(told))?;
        to.flush().map_err(told)?;
        fs::rename(&draft, &path).map_err(told)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Hands the lines of a file to `each`; too long ones are left out.
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

/// The last that a file says of each record.
fn latest(path: &Path) -> Result<HashMap<String, Line>> {
    let mut found: HashMap<String, Line> = HashMap::new();
    read_lines(path, |bytes| {
        // A line that cannot be read is lost; so is nothing else.
        let Ok(line) = line::parse(bytes) else { return };
        if found.get(&line.id).is_none_or(|before| line.supersedes(before)) {
            found.insert(line.id.clone(), line);
        }
    })?;
    Ok(found)
}

/// Fills a database that had to be made with what the files hold.
pub(crate) fn take_in(cx: &Context<'_>, tx: &Tx<'_>, store: &StoreDir) -> Result<()> {
    let files = files(store);
    if files.is_empty() || is_stale(store) || store.refuse_tracked(&store.local()).is_err() {
        return Ok(());
    }
    tx.expect_many_rows()?;
    for (_, path) in files.iter().filter(|(name, _)| name == INDEXES) {
        let mut indexes: Vec<Declared> = Vec::new();
        read_lines(path, |line| indexes.extend(serde_json::from_slice::<Declared>(line).ok()))?;
        indexes.retain(|index| {
            record::check_collection(&index.collection).is_ok() && record::check_field(&index.field).is_ok()
        });
        indexes.iter().try_for_each(|index| records::put_index(tx, index))?;
    }
    let (mut count, mut last) = (0_i64, 0);
    for (name, path) in files.iter().filter(|(name, _)| name != INDEXES) {
        let mut lines: Vec<Line> = latest(path)?.into_values().collect();
        lines.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        for Line { id, rev, updated_at, data } in lines {
            let rev = rev.unwrap_or(1);
            last = last.max(rev);
            let Some(data) = data.filter(|data| record::check_data(&id, data).is_ok()) else { continue };
            let (collection, updated_at) = (name.clone(), updated_at.unwrap_or(cx.now));
            records::restore(tx, &Record { collection, id, rev, updated_at, data })?;
            count += 1;
        }
    }
    // No revision comes back, so no event has a number that was one.
    tx.skip_events(last)?;
    let detail = Map::from_iter([("records".to_owned(), event::change((), count))]);
    events::append(cx, tx, ("store", &cx.store.id()?), None, EventType::Imported, detail).map(drop)
}

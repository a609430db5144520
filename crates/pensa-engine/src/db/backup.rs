//! Backups: complete copies of a store's database. Older parts of the journal are deleted once a backup covers them.
//!
//! Backups are created while the writer lock is held. Operations and `recover` restore them.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use pensa_core::similar::hash64;
use pensa_core::{Code, Error, Result, Timestamp};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::snapshot::{self, Contents};
use crate::clock::{Clock, SystemClock};
use crate::error;
use crate::journal::{self, Journal};
use crate::store::{StoreDir, StoreLocation, last_event};

const DIR: &str = "backups";
/// How many automatic and unnamed backups are kept.
const MAX_BACKUPS: usize = 5;
/// How many files from which the store was restored are kept.
const MAX_SOURCES: usize = 2;
/// A new backup is due when the journal has grown by this much since the last one.
const LONG_JOURNAL: u64 = 64 << 20;
/// Prefix of the name of a file from which the store was restored.
const SOURCE: &str = "restored-";

/// A finished backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Backup {
    /// The number of its last event.
    pub(crate) event: i64,
    /// When it was created, according to its name.
    pub(crate) made: String,
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
}

pub(crate) fn dir(store: &StoreDir) -> PathBuf {
    store.durable().join(DIR)
}

/// A number that identifies the store from which a backup was created.
pub(crate) fn store_mark(store: &StoreDir) -> i64 {
    let id = store.id().unwrap_or_default();
    i64::from(u32::try_from(hash64(id.as_bytes()) & 0x7fff_ffff).unwrap_or(1).max(1))
}

/// All backups, newest first.
pub(crate) fn list(store: &StoreDir) -> Result<Vec<Backup>> {
    let mut found: Vec<Backup> = files(store)?.into_iter().filter_map(|path| parse(&path)).collect();
    found.sort_by(|a, b| (b.event, &b.made).cmp(&(a.event, &a.made)));
    Ok(found)
}

fn files(store: &StoreDir) -> Result<Vec<PathBuf>> {
    let dir = dir(store);
    match fs::read_dir(&dir) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        listed => {
            let read = listed.and_then(|entries| entries.map(|entry| entry.map(|e| e.path())).collect());
            read.map_err(|e| error::io("read", &dir, &e))
        }
    }
}

/// Parses a file name such as `20260227T143000Z-42.sqlite`: creation time and last event.
fn parse(path: &Path) -> Option<Backup> {
    let (made, event) = path.file_name()?.to_str()?.strip_suffix(".sqlite")?.split_once('-')?;
    let bytes = fs::metadata(path).ok()?.len();
    let is_time = made.len() == 16 && made.ends_with('Z');
    Some(Backup { event: event.parse().ok()?, made: made.to_owned(), path: path.to_owned(), bytes }).filter(|_| is_time)
}

/// Formats a time for a file name: `20260227T143000Z`.
pub(crate) fn compact(time: Timestamp) -> String {
    let text = time.to_string();
    let whole = text.split('.').next().unwrap_or_default();
    format!("{}Z", whole.replace(['-', ':'], ""))
}

/// Creates a backup before an operation that replaces much, and returns its name. The caller holds the write
/// transaction, but has changed nothing yet. `None` on PostgreSQL, which has backups of its own.
pub(crate) fn before_replacing(store: &StoreLocation) -> Result<Option<String>> {
    match store {
        StoreLocation::Dir(store) => {
            Ok(ensure_current(store)?.path.file_name().map(|name| name.to_string_lossy().into_owned()))
        }
        StoreLocation::Database { .. } => Ok(None),
    }
}

/// Creates a backup of the last committed state, unless the newest one has the same last event.
pub(crate) fn ensure_current(store: &StoreDir) -> Result<Backup> {
    let event = snapshot::last_event(&store.database())?;
    match list(store)?.into_iter().next() {
        Some(known) if known.event == event && snapshot::last_event(&known.path) == Ok(event) => Ok(known),
        _ => make(store),
    }
}

/// Creates a backup, then deletes old ones and the journal segments that they no longer need.
pub(crate) fn make(store: &StoreDir) -> Result<Backup> {
    let dir = store.durable_dir(DIR)?;
    let draft = dir.join(format!("{}.tmp", Uuid::new_v4().simple()));
    let made = copy_to(store, &draft).and_then(|contents| {
        let name = format!("{}-{}.sqlite", compact(SystemClock.now()?), contents.event);
        let path = dir.join(name);
        write_checksum(&draft, &path)?;
        publish(&draft, &path)?;
        Ok(path)
    });
    if made.is_err() {
        let _ = fs::remove_file(&draft);
    }
    let path = made?;
    forget_old(store)?;
    parse(&path).ok_or_else(|| Error::internal("a backup without a name"))
}

fn copy_to(store: &StoreDir, draft: &Path) -> Result<Contents> {
    snapshot::copy_store(store, draft, store_mark(store))
}

/// The file with a backup's checksum. SQLite has none of its own, so a changed byte in a text would not be noticed.
fn checksum_path(path: &Path) -> PathBuf {
    path.with_extension("sha256")
}

fn checksum(file: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut bytes = vec![0; 1 << 20];
    let mut file = File::open(file)?;
    loop {
        match file.read(&mut bytes)? {
            0 => return Ok(hex::encode(hash.finalize())),
            read => hash.update(&bytes[..read]),
        }
    }
}

pub(crate) fn write_checksum(draft: &Path, path: &Path) -> Result<()> {
    let target = checksum_path(path);
    let kept = (|| {
        let mut file = StoreDir::open_private(&target)?;
        file.set_len(0)?;
        writeln!(file, "{}", checksum(draft)?)?;
        file.sync_all()
    })();
    kept.map_err(|e| error::io("write", &target, &e))
}

/// Whether a backup matches its checksum and passes the integrity check. Error for an unreleased schema.
pub(crate) fn is_sound(path: &Path) -> Result<bool> {
    let is_same = match fs::read_to_string(checksum_path(path)) {
        Ok(kept) => checksum(path).is_ok_and(|now| now == kept.trim()),
        // A file from elsewhere has no checksum.
        Err(e) => e.kind() == io::ErrorKind::NotFound,
    };
    if !is_same {
        return Ok(false);
    }
    match snapshot::inspect(path, true) {
        Err(e) if e.code == Code::Unsupported => Err(e),
        inspected => Ok(inspected.is_ok()),
    }
}

fn publish(draft: &Path, path: &Path) -> Result<()> {
    let published = fs::rename(draft, path).and_then(|()| File::open(path.parent().unwrap_or(path))?.sync_all());
    published.map_err(|e| error::io("write", path, &e))
}

/// Creates a backup in a file chosen by the caller.
pub(crate) fn make_at(store: &StoreDir, path: &Path, force: bool) -> Result<Backup> {
    let path = std::path::absolute(path).map_err(|e| error::io("find", path, &e))?;
    if fs::symlink_metadata(&path).is_ok_and(|meta| !meta.is_file()) {
        return Err(Error::invalid(format!("{} is not a plain file", path.display())));
    }
    if !force && path.exists() {
        return Err(Error::new(Code::Conflict, format!("{} exists", path.display())).hint("--force replaces it"));
    }
    let mut draft = path.clone().into_os_string();
    draft.push(format!(".tmp-{}", Uuid::new_v4().simple()));
    let draft = PathBuf::from(draft);
    let made = copy_to(store, &draft).and_then(|contents| publish(&draft, &path).map(|()| contents));
    if made.is_err() {
        let _ = fs::remove_file(&draft);
    }
    let event = made?.event;
    let bytes = fs::metadata(&path).map_err(|e| error::io("read", &path, &e))?.len();
    Ok(Backup { event, made: compact(SystemClock.now()?), path, bytes })
}

/// Copies a file from which the store is about to be restored into the backup directory. Returns its name and path.
pub(crate) fn keep_source(store: &StoreDir, file: &Path) -> Result<(String, PathBuf)> {
    let dir = store.durable_dir(DIR)?;
    // By time, then by a sequential id: the newest sorts last.
    let made = SystemClock.now()?.to_string().replace(['-', ':', '.'], "");
    let name = format!("{SOURCE}{made}-{}.sqlite", Uuid::now_v7().simple());
    let draft = dir.join(format!("{}.tmp", Uuid::new_v4().simple()));
    let kept = snapshot::open(file).and_then(|from| snapshot::copy(&from, &draft, store_mark(store)));
    let kept = kept.and_then(|_| publish(&draft, &dir.join(&name)));
    if kept.is_err() {
        let _ = fs::remove_file(&draft);
    }
    kept.map(|()| (name.clone(), dir.join(name)))
}

/// Creates a backup from which the journal continues, because the journal lacks something before `last`, the last event
/// of the database. The caller holds the writer lock.
pub(crate) fn restart_journal(store: &StoreDir, journal: &Journal, last: i64) -> Result<()> {
    // Every open tries this, so it must fail fast on a full disk.
    require_room(store)?;
    ensure_current(store)?;
    journal.append(last, last, b"[\"gap\",{}]").map(drop)
}

/// Returns an error if the disk has hardly enough space for a backup.
pub(crate) fn require_room(store: &StoreDir) -> Result<()> {
    let size = fs::metadata(store.database()).map_or(0, |meta| meta.len());
    if store.free_space().is_some_and(|free| free < size.saturating_mul(2)) {
        return Err(Error::new(Code::DiskFull, "no space left on the disk for a backup of the database")
            .hint("free some space and try again; nothing was changed"));
    }
    Ok(())
}

/// Whether the journal has grown enough since the last backup for a new one.
pub(crate) fn is_due(store: &StoreDir) -> Result<bool> {
    let newest = list(store)?.first().map_or(0, |backup| backup.event);
    // A large database allows a longer journal: otherwise a busy store would mostly copy itself.
    let size = fs::metadata(store.database()).map_or(0, |meta| meta.len());
    Ok(journal::bytes_after(store, newest)? > LONG_JOURNAL.max(size))
}

/// Deletes old backups, and journal segments before the second newest backup. If the newest backup is unreadable, the
/// second one still works.
fn forget_old(store: &StoreDir) -> Result<()> {
    let all = list(store)?;
    for old in all.iter().skip(MAX_BACKUPS) {
        fs::remove_file(&old.path).map_err(|e| error::io("delete", &old.path, &e))?;
        let _ = fs::remove_file(checksum_path(&old.path));
    }
    let is_source = |path: &PathBuf| {
        path.extension().is_some_and(|end| end == "sqlite")
            && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(SOURCE))
    };
    let mut sources: Vec<PathBuf> = files(store)?.into_iter().filter(is_source).collect();
    sources.sort_unstable();
    for old in sources.iter().rev().skip(MAX_SOURCES) {
        fs::remove_file(old).map_err(|e| error::io("delete", old, &e))?;
        let _ = fs::remove_file(checksum_path(old));
    }
    let is_orphaned =
        |path: &PathBuf| path.extension().is_some_and(|end| end == "sha256") && !path.with_extension("sqlite").exists();
    for orphan in files(store)?.into_iter().filter(is_orphaned) {
        let _ = fs::remove_file(orphan);
    }
    match journal_needed_after(store)? {
        Some(event) => journal::delete_segments_before(store, event),
        None => Ok(()),
    }
}

/// The event up to which the two newest backups replace the journal; `None` if there are fewer than two.
pub(crate) fn journal_needed_after(store: &StoreDir) -> Result<Option<i64>> {
    Ok(list(store)?.get(1).map(|second| second.event))
}

/// Whether the store can be rebuilt from anything but the JSONL files.
pub(crate) fn has_source(store: &StoreDir) -> bool {
    let has_backups = || list(store).is_ok_and(|backups| !backups.is_empty());
    journal::has_entries(store) || has_backups() || last_event::read(store).is_some_and(|noted| noted.number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Engine;

    #[test]
    fn backup_is_due_after_the_journal_has_grown() {
        let dir = tempfile::tempdir().expect("a directory");
        let (store, _) = StoreDir::create(&dir.path().join(StoreDir::NAME)).expect("a store");
        let engine = Engine::open(store.clone()).expect("opens");
        assert!(!is_due(&store).expect("looked"));
        let segment = store.local_dir("journal").expect("a directory").join("000000000000001.jsonl");
        let file = File::create(segment).expect("a segment");
        file.set_len(LONG_JOURNAL + 1).expect("long");
        assert!(is_due(&store).expect("looked"));
        drop(engine);
    }

    #[test]
    fn file_with_another_name_is_not_a_backup() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = |name: &str| {
            let path = dir.path().join(name);
            File::create(&path).expect("made");
            path
        };
        let known = parse(&path("20260227T143000Z-42.sqlite")).expect("a backup");
        assert_eq!((known.event, known.made.as_str()), (42, "20260227T143000Z"));
        for name in ["restored-1-2.sqlite", "20260227T143000Z-x.sqlite", "a.tmp", "20260227T143000Z-42.sha256"] {
            assert_eq!(parse(&path(name)), None, "{name}");
        }
    }
}

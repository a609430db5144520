//! Backups: whole copies of a store's database, behind which the journal can be cut.
//!
//! Made while the writer's ticket is held. Putting one in place is left to the operations and to `recover`.

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
use crate::store::{Home, StoreDir, last_event};

const DIR: &str = "backups";
/// How many backups are kept that were made without a file to put them in.
const KEPT: usize = 5;
/// How many files are kept from which a store was restored.
const SOURCES_KEPT: usize = 2;
/// A journal that has grown by this much since the last backup is worth another.
const LONG_JOURNAL: u64 = 64 << 20;
/// How the name of a file begins from which the store was restored.
const SOURCE: &str = "restored-";

/// A backup in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Backup {
    /// The number of its last event.
    pub(crate) event: i64,
    /// When it was made, as its name says.
    pub(crate) made: String,
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
}

pub(crate) fn dir(store: &StoreDir) -> PathBuf {
    store.durable().join(DIR)
}

/// A mark that tells the stores apart from which backups were made.
pub(crate) fn mark(store: &StoreDir) -> i64 {
    let id = store.id().unwrap_or_default();
    i64::from(u32::try_from(hash64(id.as_bytes()) & 0x7fff_ffff).unwrap_or(1).max(1))
}

/// The backups that are there, newest first.
pub(crate) fn list(store: &StoreDir) -> Result<Vec<Backup>> {
    let mut found: Vec<Backup> = files(store)?.into_iter().filter_map(|path| named(&path)).collect();
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

/// `20260227T143000Z-42.sqlite`: when, and up to which event.
fn named(path: &Path) -> Option<Backup> {
    let (made, event) = path.file_name()?.to_str()?.strip_suffix(".sqlite")?.split_once('-')?;
    let bytes = fs::metadata(path).ok()?.len();
    let is_time = made.len() == 16 && made.ends_with('Z');
    Some(Backup { event: event.parse().ok()?, made: made.to_owned(), path: path.to_owned(), bytes }).filter(|_| is_time)
}

/// `2026-02-27T14:30:00.000Z` without what a file's name need not have.
pub(crate) fn compact(time: Timestamp) -> String {
    let text = time.to_string();
    let whole = text.split('.').next().unwrap_or_default();
    format!("{}Z", whole.replace(['-', ':'], ""))
}

/// Makes a backup before something that replaces much. The caller has begun to write, but changed nothing yet. A store
/// in PostgreSQL has its own backups.
pub(crate) fn before(store: &Home) -> Result<()> {
    match store {
        Home::Dir(store) => automatic(store).map(drop),
        Home::Database { .. } => Ok(()),
    }
}

/// Makes a backup of what was last committed, unless the newest one is of the same event.
pub(crate) fn automatic(store: &StoreDir) -> Result<Backup> {
    let event = snapshot::last_event(&store.database())?;
    match list(store)?.into_iter().next() {
        Some(known) if known.event == event && snapshot::last_event(&known.path) == Ok(event) => Ok(known),
        _ => make(store),
    }
}

/// Makes a backup, then forgets old ones and the journal behind them.
pub(crate) fn make(store: &StoreDir) -> Result<Backup> {
    let dir = store.durable_dir(DIR)?;
    let draft = dir.join(format!("{}.tmp", Uuid::new_v4().simple()));
    let made = copy_to(store, &draft).and_then(|contents| {
        let name = format!("{}-{}.sqlite", compact(SystemClock.now()?), contents.event);
        let path = dir.join(name);
        keep_sum(&draft, &path)?;
        publish(&draft, &path)?;
        Ok(path)
    });
    if made.is_err() {
        let _ = fs::remove_file(&draft);
    }
    let path = made?;
    forget_old(store)?;
    named(&path).ok_or_else(|| Error::internal("a backup without a name"))
}

fn copy_to(store: &StoreDir, draft: &Path) -> Result<Contents> {
    snapshot::copy_store(store, draft, mark(store))
}

/// Where the checksum of a backup is kept: a database has none of its own, and a changed letter in it looks as good
/// as any other.
fn sum_file(path: &Path) -> PathBuf {
    path.with_extension("sha256")
}

fn sum(file: &Path) -> io::Result<String> {
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

pub(crate) fn keep_sum(draft: &Path, path: &Path) -> Result<()> {
    let target = sum_file(path);
    let kept = (|| {
        let mut file = StoreDir::open_private(&target)?;
        file.set_len(0)?;
        writeln!(file, "{}", sum(draft)?)?;
        file.sync_all()
    })();
    kept.map_err(|e| error::io("write", &target, &e))
}

/// Whether a backup is as it was made, and a whole database.
pub(crate) fn is_sound(path: &Path) -> bool {
    let is_same = match fs::read_to_string(sum_file(path)) {
        Ok(kept) => sum(path).is_ok_and(|now| now == kept.trim()),
        // A file from elsewhere has none.
        Err(e) => e.kind() == io::ErrorKind::NotFound,
    };
    is_same && snapshot::inspect(path, true).is_ok()
}

fn publish(draft: &Path, path: &Path) -> Result<()> {
    let published = fs::rename(draft, path).and_then(|()| File::open(path.parent().unwrap_or(path))?.sync_all());
    published.map_err(|e| error::io("write", path, &e))
}

/// Makes a backup in a file of the caller's choice.
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

/// Copies a file from which the store is about to be restored to where it stays, and gives its name.
pub(crate) fn keep_source(store: &StoreDir, file: &Path) -> Result<(String, PathBuf)> {
    let dir = store.durable_dir(DIR)?;
    // To the millisecond, and then by number: the newest sorts last.
    let made = SystemClock.now()?.to_string().replace(['-', ':', '.'], "");
    let name = format!("{SOURCE}{made}-{}.sqlite", Uuid::now_v7().simple());
    let draft = dir.join(format!("{}.tmp", Uuid::new_v4().simple()));
    let kept = snapshot::open(file).and_then(|from| snapshot::copy(&from, &draft, mark(store)));
    let kept = kept.and_then(|_| publish(&draft, &dir.join(&name)));
    if kept.is_err() {
        let _ = fs::remove_file(&draft);
    }
    kept.map(|()| (name.clone(), dir.join(name)))
}

/// Makes a backup from which the journal goes on, because it lacks something before event `last`, the database's last.
/// The caller holds the ticket.
pub(crate) fn begin_journal(store: &StoreDir, journal: &Journal, last: i64) -> Result<()> {
    // Whoever opens the store tries this: it must not cost them much each time.
    require_room(store)?;
    automatic(store)?;
    journal.append(last, last, b"[\"gap\",{}]").map(drop)
}

/// Refuses a backup for which there is hardly room.
pub(crate) fn require_room(store: &StoreDir) -> Result<()> {
    let size = fs::metadata(store.database()).map_or(0, |meta| meta.len());
    if store.free_space().is_some_and(|free| free < size.saturating_mul(2)) {
        return Err(Error::new(Code::DiskFull, "no space left on the disk for a backup of the database")
            .hint("free some space and try again; nothing was changed"));
    }
    Ok(())
}

/// Whether the journal has grown so long since the last backup that another is worth its while.
pub(crate) fn is_due(store: &StoreDir) -> Result<bool> {
    let newest = list(store)?.first().map_or(0, |backup| backup.event);
    // A large database is worth a longer journal: else a busy one would do little but copy.
    let size = fs::metadata(store.database()).map_or(0, |meta| meta.len());
    Ok(journal::bytes_after(store, newest)? > LONG_JOURNAL.max(size))
}

/// Keeps the newest backups, and of the journal what comes after the second of them: if the newest turns out to be
/// unreadable, the one before is as good.
fn forget_old(store: &StoreDir) -> Result<()> {
    let all = list(store)?;
    for old in all.iter().skip(KEPT) {
        fs::remove_file(&old.path).map_err(|e| error::io("delete", &old.path, &e))?;
        let _ = fs::remove_file(sum_file(&old.path));
    }
    let is_source = |path: &PathBuf| {
        path.extension().is_some_and(|end| end == "sqlite")
            && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(SOURCE))
    };
    let mut sources: Vec<PathBuf> = files(store)?.into_iter().filter(is_source).collect();
    sources.sort_unstable();
    for old in sources.iter().rev().skip(SOURCES_KEPT) {
        fs::remove_file(old).map_err(|e| error::io("delete", old, &e))?;
        let _ = fs::remove_file(sum_file(old));
    }
    let is_lonely =
        |path: &PathBuf| path.extension().is_some_and(|end| end == "sha256") && !path.with_extension("sqlite").exists();
    for lonely in files(store)?.into_iter().filter(is_lonely) {
        let _ = fs::remove_file(lonely);
    }
    match journal_begins(store)? {
        Some(event) => journal::forget_until(store, event),
        None => Ok(()),
    }
}

/// The event up to which nothing of the journal is needed, because the two newest backups have it; none if there are not
/// as many.
pub(crate) fn journal_begins(store: &StoreDir) -> Result<Option<i64>> {
    Ok(list(store)?.get(1).map(|second| second.event))
}

/// Whether there is anything besides the JSONL files from which a store can be rebuilt.
pub(crate) fn has_source(store: &StoreDir) -> bool {
    let has_backups = || list(store).is_ok_and(|backups| !backups.is_empty());
    journal::any(store) || has_backups() || last_event::known(store).is_some_and(|noted| noted.number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Engine;

    #[test]
    fn a_journal_that_grew_long_is_worth_a_backup() {
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
    fn what_is_not_named_as_a_backup_is_none() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = |name: &str| {
            let path = dir.path().join(name);
            File::create(&path).expect("made");
            path
        };
        let known = named(&path("20260227T143000Z-42.sqlite")).expect("a backup");
        assert_eq!((known.event, known.made.as_str()), (42, "20260227T143000Z"));
        for name in ["restored-1-2.sqlite", "20260227T143000Z-x.sqlite", "a.tmp", "20260227T143000Z-42.sha256"] {
            assert_eq!(named(&path(name)), None, "{name}");
        }
    }
}

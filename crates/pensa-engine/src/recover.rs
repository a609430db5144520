//! Opens a store whatever state its database is in. A database that lost changes is updated from the journal; a damaged
//! or missing one is set aside and rebuilt.
//!
//! `replay` applies journal lines, `backup` creates backups.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use pensa_core::comment::Comment;
use pensa_core::dep::Dep;
use pensa_core::{Code, Error, Result, Timestamp};
use uuid::Uuid;

use crate::db::{Db, Tx, backup, params};
use crate::entity;
use crate::journal::{self, Journal, JournalLine};
use crate::replay::{self, Replay};
use crate::store::last_event::{self, LastEvent};
use crate::store::{StoreDir, replaced, writer_lock};
use crate::tables::{events, issues, records};
use crate::{error, taskstore};

/// How often opening and rebuilding is attempted.
const TRIES: usize = 5;
/// The directory in `local/` for damaged databases.
const SET_ASIDE: &str = "set-aside";
/// How many damaged databases are kept.
const SET_ASIDE_KEPT: usize = 3;
/// Suffixes of a database's files.
const PARTS: [&str; 3] = ["", "-wal", "-shm"];

/// Fills a newly created database.
pub(crate) type SeedFn<'a> = &'a dyn Fn(&Tx<'_>) -> Result<()>;

/// Opens the database of a store and repairs it if needed. Also returns notices about what was done.
pub(crate) fn open(store: &StoreDir, now: Timestamp, seed: SeedFn<'_>) -> Result<(Db, Vec<String>)> {
    let mut notices = Vec::new();
    // A database just created from the JSONL files needs no backup yet.
    let is_fresh = is_fresh(store);
    if is_fresh {
        create_from_files(store, now, seed)?;
    }
    for _ in 0..TRIES {
        let seen = store.database_file();
        match check(store, now, seed, is_fresh) {
            Ok(DatabaseCheck::Sound(db, more)) => {
                notices.extend(more);
                return Ok((db, notices));
            }
            Err(error) if error == replaced() => {}
            Err(error) => return Err(error),
            Ok(DatabaseCheck::Damaged(why)) => {
                let _lock = writer_lock::acquire(store)?;
                // Another process may have replaced the file while this one waited for the lock.
                if store.database_file() == seen {
                    notices.push(rebuild(store, now, seed, &why)?);
                }
            }
        }
    }
    Err(Error::new(Code::Corrupt, format!("{} is damaged again and again", store.database().display()))
        .hint("see whether the disk is failing; what was set aside is in local/set-aside"))
}

/// The result of checking a database.
enum DatabaseCheck {
    Sound(Db, Vec<String>),
    Damaged(Error),
}

fn check(store: &StoreDir, now: Timestamp, seed: SeedFn<'_>, is_fresh: bool) -> Result<DatabaseCheck> {
    let checked: Result<DatabaseCheck> = (|| {
        let db = Db::open(store, now, seed)?;
        if store.damage_marker().exists() {
            check_all_rows(&db)?;
            let cleared = fs::remove_file(store.damage_marker()).or_else(ignore_not_found);
            cleared.map_err(|e| error::io("delete", &store.damage_marker(), &e))?;
        }
        // The order matters: writers write the database first, then the journal, then the last event, so read them in
        // reverse.
        let recorded = last_event::read(store);
        let journaled = Journal::new(store).last(-1)?;
        let last = db.last_event()?;
        if let Some(recorded) = recorded.filter(|recorded| recorded.file != store.database_file()) {
            require_same_history(&db, store, journaled.min(last))?;
            refresh_last_event(store, recorded);
        }
        if journaled < last && !is_fresh {
            catch_up_journal(&db, store);
        }
        taskstore::repair_files(&db, store);
        if journaled <= last && recorded.is_none_or(|recorded| recorded.number <= last) {
            return Ok(DatabaseCheck::Sound(db, Vec::new()));
        }
        // Beginning a write transaction applies the missing journal lines.
        let lost = record_lost_events(replay::begin_write(&db)?, store)?;
        let mut notices = Vec::new();
        if journaled > last && db.last_event()? > last {
            let count = journaled - last;
            notices.push(format!("the database had lost its last {count} events; they were taken from the journal"));
        }
        notices.extend(lost);
        Ok(DatabaseCheck::Sound(db, notices))
    })();
    match checked {
        Err(e) if e.code == Code::Corrupt && (backup::has_source(store) || store.has_jsonl()) => {
            Ok(DatabaseCheck::Damaged(e))
        }
        checked => checked,
    }
}

/// Refuses a database whose last event differs from the journal's event with the same number: it came from elsewhere,
/// and what the two have in common is unknown.
fn require_same_history(db: &Db, store: &StoreDir, number: i64) -> Result<()> {
    let tx = db.begin_read()?;
    let sql = "SELECT created_at, event_type, subject_id FROM events WHERE id = ?1";
    let ours = tx.query_one(sql, params![number], |row| Ok([row.text(0)?, row.text(1)?, row.text(2)?]))?;
    let Some(ours) = ours else { return Ok(()) };
    let Some(theirs) = journal::event(store, number)? else { return Ok(()) };
    let columns = ["created_at", "event_type", "subject_id"];
    if columns.into_iter().zip(&ours).all(|(name, value)| theirs[name].as_str() == Some(value)) {
        return Ok(());
    }
    Err(Error::new(Code::Corrupt, format!("{} and its journal have different histories", store.database().display())))
}

/// Writes the identity of the current database file to the last-event file, unless another process is writing.
fn refresh_last_event(store: &StoreDir, recorded: LastEvent) {
    if let Some(_lock) = writer_lock::try_acquire(store)
        && last_event::read(store) == Some(recorded)
    {
        let _ = last_event::write(store, recorded.number);
    }
}

/// Reports, once, events that are neither in the database nor in the journal, and makes sure that their numbers are not
/// reused.
fn record_lost_events(tx: Tx<'_>, store: &StoreDir) -> Result<Option<String>> {
    let last = events::last(&tx)?;
    let lost =
        last_event::read(store).map(|recorded| (recorded.number, recorded.number - last)).filter(|(_, lost)| *lost > 0);
    if let Some((number, _)) = lost {
        tx.skip_events(number)?;
        last_event::write(store, last)?;
    }
    tx.commit().map_err(|uncommitted| uncommitted.error)?;
    Ok(lost.map(|(number, lost)| {
        format!("{lost} events are lost: event {number} was acknowledged, and database and journal end with {last}")
    }))
}

/// If the journal lacks events of the database, because a process was killed after its commit or the journal was lost,
/// creates a backup from which the journal continues. If another process is writing, it will do this.
fn catch_up_journal(db: &Db, store: &StoreDir) {
    // A sandbox without write access leaves this to a process outside.
    if rustix::fs::access(store.durable(), rustix::fs::Access::WRITE_OK).is_err() {
        return;
    }
    let Some(_lock) = writer_lock::try_acquire(store) else { return };
    let journal = Journal::new(store);
    if let (Ok(journaled), Ok(last)) = (journal.last(-1), db.last_event())
        && journaled < last
    {
        if db.begin_read().and_then(|tx| taskstore::rewrite(&tx, store)).is_err() {
            return;
        }
        // Best effort: the next writer tries again.
        let _ = backup::restart_journal(store, &journal, last).and_then(|()| last_event::write(store, last));
    }
}

fn ignore_not_found(e: io::Error) -> io::Result<()> {
    if e.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(e) }
}

/// Runs SQLite's integrity check and reads every record.
fn check_all_rows(db: &Db) -> Result<()> {
    let tx = db.begin_read()?;
    if let Some(problem) = tx.integrity_problems(true)?.into_iter().next() {
        return Err(Error::new(Code::Corrupt, problem));
    }
    issues::for_each(&tx, |_| Ok(()))?;
    entity::for_each::<Dep>(&tx, "", params![], |_| Ok(()))?;
    entity::for_each::<Comment>(&tx, "", params![], |_| Ok(()))?;
    for (collection, _, _) in records::sizes(&tx)? {
        records::for_each_page(&tx, &collection, |_| Ok(()))?;
    }
    events::for_each(&tx, |_| Ok(()))
}

/// Marks a database for a thorough check, after a read error.
pub(crate) fn mark_damaged(store: &StoreDir) {
    // Best effort: the next read error tries again.
    let _ = StoreDir::open_private(&store.damage_marker());
}

/// Whether the store is a fresh clone with JSONL files only.
fn is_fresh(store: &StoreDir) -> bool {
    !store.database().exists() && store.has_jsonl() && !backup::has_source(store)
}

/// Creates the database of a fresh clone in a temporary file and renames it, so that no process sees a partial one.
fn create_from_files(store: &StoreDir, now: Timestamp, seed: SeedFn<'_>) -> Result<()> {
    store.local_dir("")?;
    let _lock = writer_lock::acquire(store)?;
    if !is_fresh(store) {
        return Ok(());
    }
    build(store, now, |db| {
        let tx = replay::begin_write(db)?;
        seed(&tx)?;
        tx.commit().map_err(|uncommitted| uncommitted.error)
    })
    .and_then(|(draft, ())| put_in_place(store, &draft))
}

/// Creates a database in a temporary file and fills it.
fn build<T>(store: &StoreDir, now: Timestamp, fill: impl FnOnce(&mut Db) -> Result<T>) -> Result<(PathBuf, T)> {
    let draft = store.local_dir("")?.join(format!("rebuild-{}.tmp", Uuid::new_v4().simple()));
    let built = (|| {
        StoreDir::open_private(&draft).map_err(|e| error::io("create", &draft, &e))?;
        let mut db = Db::scratch(store, Some(&draft), now)?;
        let filled = fill(&mut db)?;
        db.finish()?;
        Ok(filled)
    })();
    match built {
        Ok(filled) => Ok((draft, filled)),
        Err(e) => {
            let _ = fs::remove_file(&draft);
            Err(e)
        }
    }
}

/// Rebuilds the database from the newest readable backup and the journal after it. The caller holds the writer lock.
fn rebuild(store: &StoreDir, now: Timestamp, seed: SeedFn<'_>, why: &Error) -> Result<String> {
    store.refuse_foreign_journal()?;
    let (draft, filled) = build(store, now, |db| rebuild_into(db, store, now, seed))?;
    let recorded = last_event::read(store);
    let put = set_aside(store, now).and_then(|aside| put_in_place(store, &draft).map(|()| aside));
    if put.is_err() {
        let _ = fs::remove_file(&draft);
    }
    let aside = put?;
    if let Some(recorded) = recorded {
        let _ = last_event::write(store, recorded.number);
    }
    let (source, lost) = (filled.source, filled.lost);
    let lost = if lost > 0 { format!("; {lost} events are lost") } else { String::new() };
    let place = aside.map_or_else(String::new, |dir| format!("; the old one is in {}", dir.display()));
    Ok(format!("the database could not be used ({}) and was rebuilt from {source}{lost}{place}", why.message))
}

fn put_in_place(store: &StoreDir, draft: &Path) -> Result<()> {
    let path = store.database();
    let put = || {
        fs::rename(draft, &path)?;
        fs::remove_file(store.damage_marker()).or_else(ignore_not_found)?;
        File::open(store.root())?.sync_all()
    };
    put().map_err(|e| error::io("write", &path, &e))
}

/// Moves the database's files aside for later inspection. Returns the directory; `None` if all files are empty or
/// missing.
fn set_aside(store: &StoreDir, now: Timestamp) -> Result<Option<PathBuf>> {
    let parts = PARTS.map(|ending| {
        let mut path = store.database().into_os_string();
        path.push(ending);
        PathBuf::from(path)
    });
    let all = store.local_dir(SET_ASIDE)?;
    let dir = all.join(format!("{}-{}", backup::compact(now), Uuid::new_v4().simple()));
    let is_worth_it = parts.iter().any(|path| fs::metadata(path).is_ok_and(|meta| meta.len() > 0));
    if is_worth_it {
        store.local_dir(&format!("{SET_ASIDE}/{}", dir.file_name().unwrap_or_default().display()))?;
    }
    for path in parts {
        let moved = match path.file_name() {
            Some(name) if is_worth_it => fs::rename(&path, dir.join(name)),
            _ => fs::remove_file(&path),
        };
        moved.or_else(ignore_not_found).map_err(|e| error::io("set aside", &path, &e))?;
    }
    forget_old(&all);
    Ok(is_worth_it.then_some(dir))
}

fn forget_old(all: &Path) {
    let Ok(entries) = fs::read_dir(all) else { return };
    let mut dirs: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    dirs.sort_unstable();
    for old in dirs.iter().rev().skip(SET_ASIDE_KEPT) {
        let _ = fs::remove_dir_all(old);
    }
}

/// What a rebuild starts from, before it applies the journal.
struct RebuildBase {
    /// The journal is applied after this event.
    after: i64,
    /// The source for messages; `None` if the journal is complete.
    source: Option<String>,
    has_history: bool,
    /// Number of events that neither a file nor the journal has, if no log is left to compare with.
    lost: i64,
}

/// The result of a rebuild.
#[derive(Debug)]
pub(crate) struct RebuildReport {
    /// The sources, for messages.
    source: String,
    /// Number of acknowledged events of which nothing is left.
    lost: i64,
    /// Number of missing or unreadable parts of the journal.
    pub(crate) missing: usize,
    /// Whether the log has the original events.
    pub(crate) has_history: bool,
}

/// Fills an empty scratch database from the best sources of a store.
pub(crate) fn rebuild_into(db: &mut Db, store: &StoreDir, now: Timestamp, seed: SeedFn<'_>) -> Result<RebuildReport> {
    let base = match base_file(db, store, now)? {
        Some(base) => base,
        None => base_without_file(db, store, seed)?,
    };
    let tx = replay::begin_write(db)?;
    let missing = replay_after(&tx, store, base.after)?;
    tx.commit().map_err(|uncommitted| uncommitted.error)?;
    let journal = journal::has_entries(store).then(|| "the journal".to_owned());
    let sources: Vec<String> = base.source.into_iter().chain(journal).collect();
    let lost = match missing {
        0 => String::new(),
        n => format!("; {n} parts of the journal are missing or unreadable"),
    };
    let source = format!("{}{lost}", sources.join(" and "));
    Ok(RebuildReport { source, lost: base.lost, missing, has_history: base.has_history })
}

/// Starts with the newest readable backup from which the journal continues.
fn base_file(db: &mut Db, store: &StoreDir, now: Timestamp) -> Result<Option<RebuildBase>> {
    let boundary = journal::last_boundary(store)?;
    for backup in backup::list(store)? {
        let is_late = boundary.as_ref().is_none_or(|boundary| backup.event >= boundary.last);
        if is_late && backup::is_sound(&backup.path)? && db.fill_from(&backup.path, now).is_ok() {
            return Ok(Some(RebuildBase {
                after: backup.event,
                source: Some("a backup".to_owned()),
                has_history: true,
                lost: 0,
            }));
        }
    }
    let Some(boundary) = boundary else { return Ok(None) };
    let source = backup::dir(store).join(&boundary.from);
    if backup::is_sound(&source)? && db.fill_from(&source, now).is_ok() {
        let source = Some("the file it was last restored from".to_owned());
        return Ok(Some(RebuildBase { after: boundary.before, source, has_history: true, lost: 0 }));
    }
    Ok(None)
}

/// Without a backup: a journal from the first event on is enough; otherwise start with the JSONL files.
fn base_without_file(db: &mut Db, store: &StoreDir, seed: SeedFn<'_>) -> Result<RebuildBase> {
    let begins = journal::segments(store)?.first().map(|(first, _)| *first);
    if begins == Some(1) {
        return Ok(RebuildBase { after: 0, source: None, has_history: true, lost: 0 });
    }
    let journaled = Journal::new(store).last(-1)?;
    let last = last_event::read(store).map_or(journaled, |recorded| recorded.number.max(journaled));
    let tx = replay::begin_write(db)?;
    seed(&tx)?;
    // Events in the journal keep their numbers, so the events of this import get later ones.
    tx.execute("UPDATE events SET id = -id", params![])?;
    tx.execute("UPDATE events SET id = ?1 - id", params![last])?;
    tx.commit().map_err(|uncommitted| uncommitted.error)?;
    Ok(RebuildBase { after: 0, source: Some("the JSONL files".to_owned()), has_history: false, lost: last - journaled })
}

/// Applies the journal after an event, as far as it can be read. Returns how many parts are missing.
fn replay_after(tx: &Tx<'_>, store: &StoreDir, after: i64) -> Result<usize> {
    tx.expect_many_rows()?;
    let replay = Replay::new(tx)?;
    let (mut known, mut missing) = (after, 0);
    journal::read(store, after, |line| {
        let JournalLine::Entry(entry) = line else {
            missing += 1;
            return Ok(());
        };
        let whole = entry.items.iter().rposition(|(kind, _)| kind == "restored").map_or(0, |at| at + 1);
        missing += usize::from(entry.before != known && whole == 0);
        for (kind, value) in entry.items.into_iter().skip(whole) {
            replay.apply(&kind, value)?;
        }
        known = entry.last;
        Ok(())
    })?;
    replay.rebuild_derived()?;
    Ok(missing)
}

//! Opens a store whatever state its database is in: one that lost changes is brought up to date from the journal, one
//! that is damaged or gone is set aside and rebuilt.
//!
//! How a line of the journal is done again is left to `replay`, how backups are made to `backup`.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use pensa_core::comment::Comment;
use pensa_core::{Code, Error, Result, Timestamp};
use uuid::Uuid;

use crate::db::{Db, Tx, backup, params};
use crate::entity;
use crate::journal::{self, Journal, Line};
use crate::replay::{self, Replay};
use crate::store::last_event::{self, LastEvent};
use crate::store::{StoreDir, replaced, ticket};
use crate::tables::{deps, events, issues, records};
use crate::{error, taskstore};

/// How often a store is looked at, and rebuilt, before its opener gives up.
const TRIES: usize = 5;
/// Where damaged databases go.
const SET_ASIDE: &str = "set-aside";
/// How many of them are kept.
const SET_ASIDE_KEPT: usize = 3;
/// The files of a database.
const PARTS: [&str; 3] = ["", "-wal", "-shm"];

/// Fills a database that had to be made.
pub(crate) type Seed<'a> = &'a dyn Fn(&Tx<'_>) -> Result<()>;

/// Opens the database of a store, mending it if need be; also tells what was done.
pub(crate) fn open(store: &StoreDir, now: Timestamp, seed: Seed<'_>) -> Result<(Db, Vec<String>)> {
    let mut notices = Vec::new();
    // What was just filled from the files needs no backup yet.
    let is_fresh = is_fresh(store);
    if is_fresh {
        make(store, now, seed)?;
    }
    for _ in 0..TRIES {
        let seen = store.database_file();
        match look(store, now, seed, is_fresh) {
            Ok(Look::Sound(db, more)) => {
                notices.extend(more);
                return Ok((db, notices));
            }
            Err(error) if error == replaced() => {}
            Err(error) => return Err(error),
            Ok(Look::Damaged(why)) => {
                let _ticket = ticket::take(store)?;
                // Whoever was first has put another file in place.
                if store.database_file() == seen {
                    notices.push(rebuild(store, now, seed, &why)?);
                }
            }
        }
    }
    Err(Error::new(Code::Corrupt, format!("{} is damaged again and again", store.database().display()))
        .hint("see whether the disk is failing; what was set aside is in local/set-aside"))
}

/// What a look at a database finds.
enum Look {
    Sound(Db, Vec<String>),
    Damaged(Error),
}

fn look(store: &StoreDir, now: Timestamp, seed: Seed<'_>, is_fresh: bool) -> Result<Look> {
    let looked: Result<Look> = (|| {
        let db = Db::open(store, now, seed)?;
        if store.damage_mark().exists() {
            examine(&db)?;
            let cleared = fs::remove_file(store.damage_mark()).or_else(gone_is_fine);
            cleared.map_err(|e| error::io("delete", &store.damage_mark(), &e))?;
        }
        // In this order: the journal is written after the database, and the last event is noted after both.
        let noted = last_event::known(store);
        let journaled = Journal::new(store).last(-1)?;
        let last = db.last_event()?;
        if let Some(noted) = noted.filter(|noted| noted.file != store.database_file()) {
            require_same_history(&db, store, journaled.min(last))?;
            note_again(store, noted);
        }
        if journaled < last && !is_fresh {
            make_up_for_lag(&db, store);
        }
        taskstore::mend_files(&db, store);
        if journaled <= last && noted.is_none_or(|noted| noted.number <= last) {
            return Ok(Look::Sound(db, Vec::new()));
        }
        // To begin is to catch up.
        let lost = own_up_to_loss(replay::begin_write(&db)?, store)?;
        let mut notices = Vec::new();
        if journaled > last && db.last_event()? > last {
            let count = journaled - last;
            notices.push(format!("the database had lost its last {count} events; they were taken from the journal"));
        }
        notices.extend(lost);
        Ok(Look::Sound(db, notices))
    })();
    match looked {
        Err(e) if e.code == Code::Corrupt && (backup::has_source(store) || store.has_jsonl()) => Ok(Look::Damaged(e)),
        looked => looked,
    }
}

/// Refuses a database whose last event is another than the one that the journal has under the same number: it has come
/// back from elsewhere, and what the two have in common is not known.
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

/// Notes that the file that is here now has the last event, unless somebody is writing.
fn note_again(store: &StoreDir, noted: LastEvent) {
    if let Some(_ticket) = ticket::try_take(store)
        && last_event::known(store) == Some(noted)
    {
        let _ = last_event::note(store, noted.number);
    }
}

/// Counts the events that are neither in the database nor in the journal, once. Their numbers are not given out again.
fn own_up_to_loss(tx: Tx<'_>, store: &StoreDir) -> Result<Option<String>> {
    let last = events::last(&tx)?;
    let lost = last_event::known(store).map(|noted| (noted.number, noted.number - last)).filter(|(_, lost)| *lost > 0);
    if let Some((number, _)) = lost {
        tx.skip_events(number)?;
        last_event::note(store, last)?;
    }
    tx.commit().map_err(|uncommitted| uncommitted.error)?;
    Ok(lost.map(|(number, lost)| {
        format!("{lost} events are lost: event {number} was acknowledged, and database and journal end with {last}")
    }))
}

/// A process that was killed after its commit, a lost journal, or a store from before there were journals: what the
/// database has is kept by a backup. Unless somebody is writing just now, who will see to it.
fn make_up_for_lag(db: &Db, store: &StoreDir) {
    // In a sandbox that cannot write there, whoever is outside sees to it.
    if rustix::fs::access(store.durable(), rustix::fs::Access::WRITE_OK).is_err() {
        return;
    }
    let Some(_ticket) = ticket::try_take(store) else { return };
    let journal = Journal::new(store);
    if let (Ok(journaled), Ok(last)) = (journal.last(-1), db.last_event())
        && journaled < last
    {
        if db.begin_read().and_then(|tx| taskstore::rewrite(&tx, store)).is_err() {
            return;
        }
        // Reading does not depend on it, and the next to write tries again.
        let _ = backup::begin_journal(store, &journal, last).and_then(|()| last_event::note(store, last));
    }
}

fn gone_is_fine(e: io::Error) -> io::Result<()> {
    if e.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(e) }
}

/// Looks at every page, and reads every record.
fn examine(db: &Db) -> Result<()> {
    let tx = db.begin_read()?;
    if let Some(problem) = tx.integrity_problems(true)?.into_iter().next() {
        return Err(Error::new(Code::Corrupt, problem));
    }
    issues::for_each(&tx, |_| Ok(()))?;
    deps::for_each(&tx, |_| Ok(()))?;
    entity::for_each::<Comment>(&tx, "", params![], |_| Ok(()))?;
    for (collection, _, _) in records::sizes(&tx)? {
        records::for_each_page(&tx, &collection, |_| Ok(()))?;
    }
    events::for_each(&tx, |_| Ok(()))
}

/// Notes that a database could not be read as it should.
pub(crate) fn suspect(store: &StoreDir) {
    // If not even this can be written, the next who stumbles over the damage tries again.
    let _ = StoreDir::open_private(&store.damage_mark());
}

/// Whether this is a clone that has its files and nothing else.
fn is_fresh(store: &StoreDir) -> bool {
    !store.database().exists() && store.has_jsonl() && !backup::has_source(store)
}

/// Makes the database of a fresh clone: beside its place, so that nobody sees half of it and nothing is written twice.
fn make(store: &StoreDir, now: Timestamp, seed: Seed<'_>) -> Result<()> {
    store.local_dir("")?;
    let _ticket = ticket::take(store)?;
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

/// A database that `fill` has filled, in a file that is not yet in its place.
fn build<T>(store: &StoreDir, now: Timestamp, fill: impl FnOnce(&mut Db) -> Result<T>) -> Result<(PathBuf, T)> {
    let draft = store.local_dir("")?.join(format!("rebuild-{}.tmp", Uuid::new_v4().simple()));
    let built = (|| {
        StoreDir::open_private(&draft).map_err(|e| error::io("create", &draft, &e))?;
        let mut db = Db::loose(store, Some(&draft), now)?;
        let told = fill(&mut db)?;
        db.finish()?;
        Ok(told)
    })();
    match built {
        Ok(told) => Ok((draft, told)),
        Err(e) => {
            let _ = fs::remove_file(&draft);
            Err(e)
        }
    }
}

/// Makes the database anew from the newest backup that can be read and the journal after it. The caller holds the
/// ticket.
fn rebuild(store: &StoreDir, now: Timestamp, seed: Seed<'_>, why: &Error) -> Result<String> {
    store.refuse_foreign_journal()?;
    let (draft, filled) = build(store, now, |db| fill(db, store, now, seed))?;
    let noted = last_event::known(store);
    let put = set_aside(store, now).and_then(|aside| put_in_place(store, &draft).map(|()| aside));
    if put.is_err() {
        let _ = fs::remove_file(&draft);
    }
    let aside = put?;
    if let Some(noted) = noted {
        let _ = last_event::note(store, noted.number);
    }
    let (told, lost) = (filled.told, filled.lost);
    let lost = if lost > 0 { format!("; {lost} events are lost") } else { String::new() };
    let place = aside.map_or_else(String::new, |dir| format!("; the old one is in {}", dir.display()));
    Ok(format!("the database could not be used ({}) and was rebuilt from {told}{lost}{place}", why.message))
}

fn put_in_place(store: &StoreDir, draft: &Path) -> Result<()> {
    let path = store.database();
    let put = || {
        fs::rename(draft, &path)?;
        fs::remove_file(store.damage_mark()).or_else(gone_is_fine)?;
        File::open(store.root())?.sync_all()
    };
    put().map_err(|e| error::io("write", &path, &e))
}

/// Moves the files of a database to where they can be looked at later; nothing if there is nothing to look at.
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
        moved.or_else(gone_is_fine).map_err(|e| error::io("set aside", &path, &e))?;
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

/// Where a rebuilt database begins, before the journal is done again.
struct Base {
    /// The journal goes on after this event.
    after: i64,
    /// What it begins with, in words; nothing if the journal is all there is.
    source: Option<String>,
    has_history: bool,
    /// Events that neither a file nor the journal has, if nothing of the log is left to compare.
    lost: i64,
}

/// What a database was filled with.
#[derive(Debug)]
pub(crate) struct Filled {
    /// From what, for people.
    told: String,
    /// Events of which there is nothing left but that they were acknowledged.
    lost: i64,
    /// Pieces of the journal that are missing or cannot be read.
    pub(crate) missing: usize,
    /// Whether all events are those that were logged.
    pub(crate) has_history: bool,
}

/// Fills an empty loose database with all that is known of a store; tells from what.
pub(crate) fn fill(db: &mut Db, store: &StoreDir, now: Timestamp, seed: Seed<'_>) -> Result<Filled> {
    let base = match base_file(db, store, now)? {
        Some(base) => base,
        None => base_without_file(db, store, seed)?,
    };
    let tx = replay::begin_write(db)?;
    let missing = replay_after(&tx, store, base.after)?;
    tx.commit().map_err(|uncommitted| uncommitted.error)?;
    let journal = journal::any(store).then(|| "the journal".to_owned());
    let sources: Vec<String> = base.source.into_iter().chain(journal).collect();
    let lost = match missing {
        0 => String::new(),
        n => format!("; {n} parts of the journal are missing or unreadable"),
    };
    let told = format!("{}{lost}", sources.join(" and "));
    Ok(Filled { told, lost: base.lost, missing, has_history: base.has_history })
}

/// The newest file that can be read and from which the journal leads on.
fn base_file(db: &mut Db, store: &StoreDir, now: Timestamp) -> Result<Option<Base>> {
    let boundary = journal::last_boundary(store)?;
    for backup in backup::list(store)? {
        let is_late = boundary.as_ref().is_none_or(|boundary| backup.event >= boundary.last);
        if is_late && backup::is_sound(&backup.path) && db.fill_from(&backup.path, now).is_ok() {
            return Ok(Some(Base {
                after: backup.event,
                source: Some("a backup".to_owned()),
                has_history: true,
                lost: 0,
            }));
        }
    }
    let Some(boundary) = boundary else { return Ok(None) };
    let source = backup::dir(store).join(&boundary.from);
    if backup::is_sound(&source) && db.fill_from(&source, now).is_ok() {
        let source = Some("the file it was last restored from".to_owned());
        return Ok(Some(Base { after: boundary.before, source, has_history: true, lost: 0 }));
    }
    Ok(None)
}

/// A journal that goes back to the first event needs nothing else; for any other, the last export is the best there is.
fn base_without_file(db: &mut Db, store: &StoreDir, seed: Seed<'_>) -> Result<Base> {
    let begins = journal::segments(store)?.first().map(|(first, _)| *first);
    if begins == Some(1) {
        return Ok(Base { after: 0, source: None, has_history: true, lost: 0 });
    }
    let journaled = Journal::new(store).last(-1)?;
    let last = last_event::known(store).map_or(journaled, |noted| noted.number.max(journaled));
    let tx = replay::begin_write(db)?;
    seed(&tx)?;
    // Events that are known keep their numbers; those of this import come after them.
    tx.execute("UPDATE events SET id = -id", params![])?;
    tx.execute("UPDATE events SET id = ?1 - id", params![last])?;
    tx.commit().map_err(|uncommitted| uncommitted.error)?;
    Ok(Base { after: 0, source: Some("the JSONL files".to_owned()), has_history: false, lost: last - journaled })
}

/// Does all of the journal after an event again, as far as it can be read; tells how many pieces are missing.
fn replay_after(tx: &Tx<'_>, store: &StoreDir, after: i64) -> Result<usize> {
    tx.expect_many_rows()?;
    let replay = Replay::new(tx)?;
    let (mut known, mut missing) = (after, 0);
    journal::read(store, after, |line| {
        let Line::Entry(entry) = line else {
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
    replay.settle()?;
    Ok(missing)
}

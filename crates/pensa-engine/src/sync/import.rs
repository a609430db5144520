//! From the files into the database.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use pensa_core::event::EventType;
use pensa_core::ops::store::Transfer;
use pensa_core::sync::{COLLECTIONS, Collection, Conflict, ISSUES, Line, TOMBSTONES, Tombstone, lines};
use pensa_core::{Access, Result, text};
use pensa_git as git;
use serde_json::{Map, json};

use super::agreed::{self, Taken, Waiting};
use super::base::Base;
use super::files::{Content, Contents, bytes_of};
use super::place::Place;
use super::shared::{self, TABLES};
use super::{conflict, export, files, load, repeated, take};
use crate::context::Context;
use crate::db::{Tx, backup, params};
use crate::entity;
use crate::error;
use crate::store::StoreDir;
use crate::tables::{events, peers, seen_files};

/// Most remarks that are told one by one.
const MAX_NOTES: usize = 20;
/// Most files of notes that one import looks at.
const MAX_NOTE_FILES: usize = 10_000;

/// What came of an import, besides the records.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) conflicts: i64,
    pub(super) notes: Vec<String>,
    /// Lines that could not be taken in yet: the next import tries again.
    pub(super) left_out: HashSet<(&'static str, usize)>,
    /// Whether a line was older than what it was compared with.
    pub(super) passed_over: bool,
    /// Whether two records had one id.
    pub(super) renamed: bool,
}

impl Report {
    pub(super) fn note(&mut self, note: String) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(note);
        } else if self.notes.len() == MAX_NOTES {
            self.notes.push("and more of the kind".into());
        }
    }

    pub(super) fn conflict(&mut self, cx: &Context<'_>, tx: &Tx<'_>, conflict: &Conflict) -> Result<()> {
        if conflict::found(cx, tx, conflict)? {
            self.conflicts += 1;
        }
        Ok(())
    }

    pub(super) fn transfer(self, counts: [i64; COLLECTIONS.len()]) -> Transfer {
        let [issues, deps, comments, ..] = counts;
        let others = COLLECTIONS.into_iter().zip(counts).skip(3).filter(|(of, count)| !of.is_quiet() && *count > 0);
        Transfer {
            status: "ok".into(),
            issues,
            deps,
            comments,
            others: others.map(|(of, count)| (of.name.to_owned(), count.into())).collect(),
            events: None,
            conflicts: self.conflicts,
            notes: self.notes,
            drifted: Vec::new(),
        }
    }
}

/// Lines of each file that say something new. They are read again one by one, so that not all of them are in memory
/// as records.
pub(super) type News<'b> = [Vec<Line<'b>>; COLLECTIONS.len()];

/// What an import would tell if it has nothing to do.
pub(crate) fn nothing_new(cx: &Context<'_>, tx: &Tx<'_>, place: &Place) -> Result<Option<Transfer>> {
    let store = cx.store.dir()?;
    if notes(store).next().is_some() || !is_agreed(store, tx, place)? {
        return Ok(None);
    }
    Ok(Some(Report::default().transfer(stored(tx)?)))
}

/// Whether the files of a place are those that were agreed on there, and of the same commit.
fn is_agreed(store: &StoreDir, tx: &Tx<'_>, place: &Place) -> Result<bool> {
    // Before the files are looked at: of a commit that is checked out in between, they must not seem to be what it has.
    let head = place.head();
    let known = agreed::last(store, tx, place)?;
    Ok(known.is_some_and(|known| known.is_in(&place.dir) && known.agreement.head == head))
}

/// Takes the files of a place into the database; `authoritative` makes the database what the files are.
pub(crate) fn import(cx: &Context<'_>, tx: &Tx<'_>, place: &Place, authoritative: bool) -> Result<Transfer> {
    if !authoritative && is_agreed(cx.store.dir()?, tx, place)? {
        let mut report = Report::default();
        notes_of_driver(cx, tx, &mut report)?;
        return Ok(report.transfer(stored(tx)?));
    }
    let on_disk = place.contents()?;
    let report = if authoritative {
        // It removes whatever the files do not have.
        cx.require(Access::Maintain, "import with authoritative")?;
        backup::before(cx.store)?;
        let mut report = Report::default();
        load::replace(cx, tx, place, &on_disk, &mut report)?;
        tx.send("DELETE FROM conflicts", params![])?;
        seen_files::clear(tx)?;
        report
    } else {
        merge(cx, tx, place, &on_disk)?
    };
    let counts = on_disk.each_ref().map(|content| content.as_ref().map_or(0, |it| count(lines(&it.bytes).count())));
    let (taken, waiting) = divide(on_disk, &report);
    let passed_over = report.passed_over;
    agreed::agree(cx, tx, place, Taken { passed_over, ..Taken::from_files(&taken, &waiting) })?;
    Ok(report.transfer(counts))
}

/// Notes that the store knows what stands in its files, in every place, and does not want it.
pub(crate) fn pass_over(cx: &Context<'_>, tx: &Tx<'_>, places: &[String]) -> Result<()> {
    for name in places {
        let worktree = (!name.is_empty()).then(|| Path::new(name));
        // One that is gone has no files.
        let Ok(place) = Place::new(cx.store.dir()?, worktree) else { continue };
        let (contents, waiting) = (place.contents()?, Waiting::default());
        agreed::agree(cx, tx, &place, Taken::from_files(&contents, &waiting))?;
    }
    Ok(())
}

/// Fills a database that was just made from the files of its store. Tells what is worth knowing about them.
pub(crate) fn fill(cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<String>> {
    let (place, contents, waiting, mut report) = loaded(cx, tx)?;
    // A merge before the first use has left its notes for this import.
    notes_of_driver(cx, tx, &mut report)?;
    agreed::agree(cx, tx, &place, Taken::from_files(&contents, &waiting))?;
    Ok(report.notes)
}

/// Fills a database that nobody keeps.
pub(crate) fn refill(cx: &Context<'_>, tx: &Tx<'_>) -> Result<()> {
    loaded(cx, tx).map(drop)
}

/// Fills an empty database, and tells what with.
fn loaded(cx: &Context<'_>, tx: &Tx<'_>) -> Result<(Place, Contents, Waiting, Report)> {
    let place = Place::new(cx.store.dir()?, None)?;
    let on_disk = place.contents()?;
    let mut report = Report::default();
    load::replace(cx, tx, &place, &on_disk, &mut report)?;
    let (taken, waiting) = divide(on_disk, &report);
    Ok((place, taken, waiting, report))
}

/// How many records of each kind the store has.
pub(super) fn stored(tx: &Tx<'_>) -> Result<[i64; COLLECTIONS.len()]> {
    let mut counts = [0; COLLECTIONS.len()];
    for (at, count) in counts.iter_mut().enumerate() {
        *count = shared::count(tx, &TABLES.get(at).map_or_else(|| TOMBSTONES.name.to_owned(), |table| table.rows()))?;
    }
    Ok(counts)
}

pub(super) fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// What was taken in of the files' contents, and the lines that were not.
fn divide(mut contents: Contents, report: &Report) -> (Contents, Waiting) {
    let mut waiting = Waiting::default();
    for ((slot, collection), waiting) in contents.iter_mut().zip(COLLECTIONS).zip(&mut waiting) {
        let is_left_out = |line: &Line<'_>| report.left_out.contains(&(collection.name, line.number));
        let Some(content) = slot else { continue };
        if !report.left_out.iter().any(|(of, _)| *of == collection.name) {
            continue;
        }
        let (left, kept): (Vec<_>, Vec<_>) = lines(&content.bytes).partition(is_left_out);
        let together = |lines: Vec<Line<'_>>| lines.iter().flat_map(|line| [line.text, b"\n"].concat()).collect();
        (*waiting, content.bytes) = (together(left), together(kept));
    }
    (contents, waiting)
}

/// Merges what is new in these contents with what the database has, since the two last agreed.
pub(super) fn merge(cx: &Context<'_>, tx: &Tx<'_>, place: &Place, contents: &Contents) -> Result<Report> {
    let mut report = Report::default();
    // Before anything is noted here: what an earlier transaction has of them is not needed any more.
    notes_of_driver(cx, tx, &mut report)?;
    if is_empty(tx)? {
        load::replace(cx, tx, place, contents, &mut report)?;
    } else {
        take_in(cx, tx, place, contents, &mut report)?;
    }
    Ok(report)
}

fn take_in(cx: &Context<'_>, tx: &Tx<'_>, place: &Place, contents: &Contents, report: &mut Report) -> Result<()> {
    if contents.iter().all(Option::is_none) {
        return Ok(());
    }
    let known = agreed::last(cx.store.dir()?, tx, place)?;
    let known = known.map(|known| known.contents().map(|contents| (known, contents))).transpose()?;
    let head = place.head();
    let rendered = match &known {
        Some(_) => None,
        // Nothing is known to be agreed on, but what stands there as the database has it is no news.
        None => Some(export::render(tx)?.map(|(bytes, _)| Some(Content::from(bytes)))),
    };
    let old = known.as_ref().map(|(_, contents)| contents).or(rendered.as_ref());
    let moved = Base::moved(place, head.as_deref(), known.as_ref());
    let seen = seen(tx, place, contents, old, moved)?;
    let news = news(place, contents, old, seen, report)?;
    if news.iter().all(Vec::is_empty) {
        return Ok(());
    }
    backup::before(cx.store)?;
    tx.expect_many_rows()?;
    let waits = known.as_ref().map_or(Ok(false), |(known, _)| known.waits())?;
    let base = Base::find(tx, place, moved, known, news.each_ref().map(|news| !news.is_empty()))?;
    take::all(cx, tx, &base, &Files { contents, waits }, &news, report)
}

/// What an import reads.
pub(super) struct Files<'b> {
    pub(super) contents: &'b Contents,
    /// Whether lines of them wait for an issue.
    pub(super) waits: bool,
}

/// Commits among whose ancestors another is looked for.
const HEADS: i64 = 200;

/// Which files say nothing new because the store has taken them in before, if another commit was checked out since.
/// What somebody edited to be as it was before is news. So is a file whose records have no versions: it may well become
/// what it was, and what was deleted is told by tombstones.
fn seen(
    tx: &Tx<'_>,
    place: &Place,
    contents: &Contents,
    old: Option<&Contents>,
    moved: Option<&str>,
) -> Result<[bool; COLLECTIONS.len()]> {
    let mut seen = [false; COLLECTIONS.len()];
    let Some(head) = moved else { return Ok(seen) };
    let has_versions = |at: usize| COLLECTIONS[at].version_field().is_some() && !COLLECTIONS[at].is_quiet();
    for (at, seen) in seen.iter_mut().enumerate().filter(|(at, _)| has_versions(*at)) {
        if let Some(content) = &contents[at]
            && old.is_none_or(|old| old[at].as_ref() != Some(content))
        {
            *seen = seen_files::has(tx, &git::blob_id(&content.bytes, head))?
                || (git::is_part_of(&place.dir, head, &seen_files::commits(tx, HEADS)?)
                    && git::is_clean(&place.dir, &COLLECTIONS[at].file_name()));
        }
    }
    Ok(seen)
}

/// Whether there is nothing to merge with.
fn is_empty(tx: &Tx<'_>) -> Result<bool> {
    for table in TABLES {
        if !table.keys(tx, "", 1)?.is_empty() {
            return Ok(false);
        }
    }
    Ok(shared::count(tx, TOMBSTONES.name)? == 0)
}

/// The lines that are not among the old ones, each of them read once to see whether it can be.
fn news<'b>(
    place: &Place,
    contents: &'b Contents,
    old: Option<&Contents>,
    seen: [bool; COLLECTIONS.len()],
    report: &mut Report,
) -> Result<News<'b>> {
    let mut all = News::default();
    for (at, collection) in COLLECTIONS.into_iter().enumerate() {
        let (bytes, old) = (bytes_of(&contents[at]), old.map(|old| bytes_of(&old[at])).unwrap_or_default());
        if bytes.is_empty() || bytes == old || seen[at] {
            continue;
        }
        remark(collection, bytes, report);
        let path = files::path_of(&place.dir, collection);
        let mut known: HashMap<&[u8], bool> = lines(old).map(|line| (line.text, false)).collect();
        let mut suspects = Vec::new();
        for line in lines(bytes) {
            match known.get_mut(line.text) {
                Some(is_seen) if *is_seen => suspects.push(line),
                Some(is_seen) => *is_seen = true,
                None => {
                    collection.read_line(&path, line)?;
                    remark_title(collection, line, report);
                    all[at].push(line);
                }
            }
        }
        suspects.extend(&all[at]);
        if !suspects.is_empty() {
            repeated::repeated_by(collection, bytes, &suspects).into_iter().for_each(|note| report.note(note));
        }
    }
    Ok(all)
}

/// Tells what an editor or another system did to a file.
pub(super) fn remark(collection: &Collection, bytes: &[u8], report: &mut Report) {
    let name = collection.file_name();
    if bytes.starts_with(b"\xef\xbb\xbf") {
        report.note(format!("{name} began with a byte order mark"));
    }
    if bytes.contains(&b'\r') && bytes.windows(2).any(|two| two == b"\r\n") {
        report.note(format!("{name} had the line ends of another system"));
    }
}

/// Warns of a title that nobody could type. Data that exists is imported as it is.
pub(super) fn remark_title(collection: &Collection, line: Line<'_>, report: &mut Report) {
    #[derive(serde::Deserialize)]
    struct Titled {
        id: String,
        title: String,
    }
    // Only a long line can have a long title, and most are short.
    if collection.name != ISSUES.name || line.text.len() <= text::TITLE_CHARS {
        return;
    }
    let Ok(Titled { id, title }) = serde_json::from_slice(line.text) else { return };
    if let Some(warning) = text::long_title(&title) {
        report.note(format!("{} line {}: {id} {warning}", collection.file_name(), line.number));
    }
}

/// Takes in what the merge driver noted, which runs without a database.
pub(super) fn notes_of_driver(cx: &Context<'_>, tx: &Tx<'_>, report: &mut Report) -> Result<()> {
    let Ok(store) = cx.store.dir() else { return Ok(()) };
    for path in notes(store) {
        let (bytes, before) = (fs::read(&path).map_err(|e| error::io("read", &path, &e))?, report.conflicts);
        for line in lines(&bytes) {
            if let Ok(conflict) = Conflict::from_line(line.text) {
                report.conflict(cx, tx, &conflict)?;
            }
        }
        // What an earlier transaction has is safe there; what this one takes in is not, before it commits.
        if report.conflicts == before {
            let _ = fs::remove_file(&path);
        }
    }
    Ok(())
}

/// Files with notes of the merge driver.
fn notes(store: &StoreDir) -> impl Iterator<Item = PathBuf> {
    let entries = store.driver_notes().flat_map(|dir| fs::read_dir(dir).into_iter().flatten().flatten());
    entries
        .take(MAX_NOTE_FILES)
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
}

/// Logs that the contents of the store came from files.
pub(super) fn log(cx: &Context<'_>, tx: &Tx<'_>, counts: [i64; COLLECTIONS.len()]) -> Result<()> {
    let mut detail = Map::new();
    for (count, collection) in counts.iter().zip(COLLECTIONS) {
        detail.insert(collection.name.into(), json!({"old": null, "new": count}));
    }
    events::append(cx, tx, ("store", &cx.store.id()?), None, EventType::Imported, detail).map(drop)
}

/// Removes everything that files can bring back.
pub(super) fn clear(tx: &Tx<'_>) -> Result<()> {
    for derived in ["title_keys", "learning_keys", "events WHERE issue_id IS NOT NULL"] {
        tx.send(&format!("DELETE FROM {derived}"), params![])?;
    }
    for tombstone in entity::query::<Tombstone>(tx, "", params![])?.iter().filter(|tombstone| tombstone.is_in_git()) {
        tx.send(
            "DELETE FROM tombstones WHERE collection = ?1 AND record_id = ?2",
            params![&tombstone.collection, &tombstone.id],
        )?;
    }
    // Those that refer to others come after them.
    for table in TABLES.into_iter().rev() {
        table.clear(tx)?;
        // What rows were before changes is no ground for an undo of what comes from files now.
        tx.send("DELETE FROM changes WHERE entity = ?1", params![table.collection().name])?;
    }
    // Whatever was agreed on with other stores was agreed on by what is gone now.
    peers::clear(tx)
}

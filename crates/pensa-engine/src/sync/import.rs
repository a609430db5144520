//! Imports JSONL files into the database.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use pensa_core::event::EventType;
use pensa_core::ops::store::Transfer;
use pensa_core::sync::{COLLECTIONS, Collection, Conflict, FileLine, ISSUES, TOMBSTONES, Tombstone, lines};
use pensa_core::{Access, Result, text};
use pensa_git as git;
use serde_json::{Map, json};

use super::export_dir::ExportDir;
use super::files::{Content, Contents, bytes_of};
use super::import_base::ImportBase;
use super::merge_base::{self, AppliedFiles, PendingLines};
use super::synced_tables::{self, TABLES};
use super::{apply, conflict, duplicates, export, files, load};
use crate::context::Context;
use crate::db::{Tx, backup, params};
use crate::entity;
use crate::error;
use crate::store::StoreDir;
use crate::tables::events;
use crate::tables::peers::{self, PeerKind};

/// Limit for the notes of one import.
const MAX_NOTES: usize = 20;
/// Limit for driver-note files read by one import.
const MAX_NOTE_FILES: usize = 10_000;

/// The results of an import, besides the records.
#[derive(Debug, Default)]
pub(super) struct ImportReport {
    pub(super) conflicts: i64,
    pub(super) notes: Vec<String>,
    /// Lines that could not be applied yet: the next import tries again.
    pub(super) deferred: HashSet<(&'static str, usize)>,
    /// Whether a line was older than its base.
    pub(super) skipped_older: bool,
    /// Whether a record got another id.
    pub(super) renamed: bool,
    /// The backup of replaced data.
    pub(super) backup: Option<String>,
}

impl ImportReport {
    pub(super) fn note(&mut self, note: String) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(note);
        } else if self.notes.len() == MAX_NOTES {
            self.notes.push("and more of the kind".into());
        }
    }

    pub(super) fn conflict(&mut self, cx: &Context<'_>, tx: &Tx<'_>, conflict: &Conflict) -> Result<()> {
        if conflict::record_conflict(cx, tx, conflict)? {
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

/// The new lines of each file. They are parsed one by one when applied, so that not all records are in memory.
pub(super) type NewLines<'b> = [Vec<FileLine<'b>>; COLLECTIONS.len()];

/// The answer of an import if the files are unchanged; `None` otherwise.
pub(crate) fn unchanged(cx: &Context<'_>, tx: &Tx<'_>, export_dir: &ExportDir) -> Result<Option<Transfer>> {
    let store = cx.store.dir()?;
    if notes(store).next().is_some() || !is_unchanged(store, tx, export_dir)? {
        return Ok(None);
    }
    Ok(Some(ImportReport::default().transfer(stored(tx)?)))
}

/// Whether the files equal the merge base of this directory, and the same commit is checked out.
fn is_unchanged(store: &StoreDir, tx: &Tx<'_>, export_dir: &ExportDir) -> Result<bool> {
    // Read the commit before the files, so that files of a later checkout are not attributed to it.
    let head = export_dir.head();
    let base_copy = merge_base::load(store, tx, export_dir)?;
    Ok(base_copy.is_some_and(|copy| copy.matches_stamps(&export_dir.path) && copy.row.pulled == head))
}

/// Imports the files; `authoritative` replaces the database with their content.
pub(crate) fn import(cx: &Context<'_>, tx: &Tx<'_>, export_dir: &ExportDir, authoritative: bool) -> Result<Transfer> {
    if !authoritative && is_unchanged(cx.store.dir()?, tx, export_dir)? {
        let mut report = ImportReport::default();
        import_driver_notes(cx, tx, &mut report)?;
        return Ok(report.transfer(stored(tx)?));
    }
    let on_disk = export_dir.contents()?;
    let report = if authoritative {
        // This deletes whatever the files do not have.
        cx.require(Access::Maintain, "import with authoritative")?;
        let mut report = ImportReport { backup: backup::before_replacing(cx.store)?, ..ImportReport::default() };
        load::replace(cx, tx, export_dir, &on_disk, &mut report)?;
        tx.send("DELETE FROM conflicts", params![])?;
        peers::forget_bases(tx, peers::WORK_TREES)?;
        report
    } else {
        merge(cx, tx, export_dir, &on_disk)?
    };
    let counts = on_disk.each_ref().map(|content| content.as_ref().map_or(0, |it| count(lines(&it.bytes).count())));
    let (applied, pending) = split_pending(on_disk, &report);
    let skipped_older = report.skipped_older;
    merge_base::save(
        cx,
        tx,
        export_dir,
        AppliedFiles { skipped_older, ..AppliedFiles::from_files(&applied, &pending) },
    )?;
    Ok(report.transfer(counts))
}

/// Saves the files of all directories as imported without importing them, because the store replaces them.
pub(crate) fn mark_as_imported(cx: &Context<'_>, tx: &Tx<'_>, places: &[String]) -> Result<()> {
    for name in places {
        let worktree = (!name.is_empty()).then(|| Path::new(name));
        // A deleted worktree has no files.
        let Ok(export_dir) = ExportDir::new(cx.store.dir()?, worktree) else { continue };
        let (contents, pending) = (export_dir.contents()?, PendingLines::default());
        merge_base::save(cx, tx, &export_dir, AppliedFiles::from_files(&contents, &pending))?;
    }
    Ok(())
}

/// Fills a newly created database from the files of its store. Returns notes about them.
pub(crate) fn import_fresh(cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<String>> {
    let (export_dir, contents, pending, mut report) = load_all(cx, tx)?;
    // A merge before the first use has left notes for this import.
    import_driver_notes(cx, tx, &mut report)?;
    merge_base::save(cx, tx, &export_dir, AppliedFiles::from_files(&contents, &pending))?;
    Ok(report.notes)
}

/// Fills a scratch database.
pub(crate) fn import_into_scratch(cx: &Context<'_>, tx: &Tx<'_>) -> Result<()> {
    load_all(cx, tx).map(drop)
}

/// Fills an empty database. Returns what was loaded.
fn load_all(cx: &Context<'_>, tx: &Tx<'_>) -> Result<(ExportDir, Contents, PendingLines, ImportReport)> {
    let export_dir = ExportDir::new(cx.store.dir()?, None)?;
    let on_disk = export_dir.contents()?;
    let mut report = ImportReport::default();
    load::replace(cx, tx, &export_dir, &on_disk, &mut report)?;
    let (applied, pending) = split_pending(on_disk, &report);
    Ok((export_dir, applied, pending, report))
}

/// The number of records in each collection.
pub(super) fn stored(tx: &Tx<'_>) -> Result<[i64; COLLECTIONS.len()]> {
    let mut counts = [0; COLLECTIONS.len()];
    for (at, count) in counts.iter_mut().enumerate() {
        *count =
            synced_tables::count(tx, &TABLES.get(at).map_or_else(|| TOMBSTONES.name.to_owned(), |table| table.rows()))?;
    }
    Ok(counts)
}

pub(super) fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// Splits the content of the files into applied and pending lines.
fn split_pending(mut contents: Contents, report: &ImportReport) -> (Contents, PendingLines) {
    let mut pending = PendingLines::default();
    for ((slot, collection), pending) in contents.iter_mut().zip(COLLECTIONS).zip(&mut pending) {
        let is_deferred = |line: &FileLine<'_>| report.deferred.contains(&(collection.name, line.number));
        let Some(content) = slot else { continue };
        if !report.deferred.iter().any(|(of, _)| *of == collection.name) {
            continue;
        }
        let (left, kept): (Vec<_>, Vec<_>) = lines(&content.bytes).partition(is_deferred);
        let together = |lines: Vec<FileLine<'_>>| lines.iter().flat_map(|line| [line.text, b"\n"].concat()).collect();
        (*pending, content.bytes) = (together(left), together(kept));
    }
    (contents, pending)
}

/// Merges what is new in the files since the last import or export.
pub(super) fn merge(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    export_dir: &ExportDir,
    contents: &Contents,
) -> Result<ImportReport> {
    let mut report = ImportReport::default();
    // Before this import adds conflicts: notes that an earlier transaction imported can be deleted.
    import_driver_notes(cx, tx, &mut report)?;
    if is_empty(tx)? {
        load::replace(cx, tx, export_dir, contents, &mut report)?;
    } else {
        merge_changes(cx, tx, export_dir, contents, &mut report)?;
    }
    Ok(report)
}

fn merge_changes(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    export_dir: &ExportDir,
    contents: &Contents,
    report: &mut ImportReport,
) -> Result<()> {
    if contents.iter().all(Option::is_none) {
        return Ok(());
    }
    let last = merge_base::load(cx.store.dir()?, tx, export_dir)?;
    let last = last.map(|copy| copy.contents().map(|contents| (copy, contents))).transpose()?;
    let head = export_dir.head();
    let rendered = match &last {
        Some(_) => None,
        // Without a merge base, lines equal to the database's are not new.
        None => Some(export::render(tx)?.map(|(bytes, _)| Some(Content::from(bytes)))),
    };
    let old = last.as_ref().map(|(_, contents)| contents).or(rendered.as_ref());
    let moved = ImportBase::checked_out_since(export_dir, head.as_deref(), last.as_ref());
    let seen = already_imported(tx, export_dir, contents, old, moved)?;
    let new_lines = new_lines(export_dir, contents, old, seen, report)?;
    if new_lines.iter().all(Vec::is_empty) {
        return Ok(());
    }
    backup::before_replacing(cx.store)?;
    tx.expect_many_rows()?;
    let has_pending = last.as_ref().map_or(Ok(false), |(copy, _)| copy.has_pending())?;
    let base = ImportBase::find(tx, export_dir, moved, last, new_lines.each_ref().map(|lines| !lines.is_empty()))?;
    apply::apply_files(cx, tx, &base, &ImportInput { contents, has_pending }, &new_lines, report)
}

/// The input of an import.
pub(super) struct ImportInput<'b> {
    pub(super) contents: &'b Contents,
    /// Whether some of the lines were pending.
    pub(super) has_pending: bool,
}

/// Limit for imported commits that are checked as descendants.
const MAX_SEEN_COMMITS: i64 = 200;

/// Which files have nothing new because the store has imported their content before, if another commit was checked out
/// since.
///
/// Content that somebody edited back to an earlier state is new. So is a file whose records have no versions: it may
/// well return to an earlier state, and only tombstones report deletions.
fn already_imported(
    tx: &Tx<'_>,
    export_dir: &ExportDir,
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
            *seen = peers::has_seen(tx, &git::blob_id(&content.bytes, head))?
                || (git::is_part_of(&export_dir.path, head, &peers::seen_commits(tx, MAX_SEEN_COMMITS)?)
                    && git::is_clean(&export_dir.path, &COLLECTIONS[at].file_name()));
        }
    }
    Ok(seen)
}

/// Whether the store has no records.
fn is_empty(tx: &Tx<'_>) -> Result<bool> {
    for table in TABLES {
        if !table.keys(tx, "", 1)?.is_empty() {
            return Ok(false);
        }
    }
    Ok(synced_tables::count(tx, TOMBSTONES.name)? == 0)
}

/// The lines that are not in `old`. Each is parsed once, to reject invalid files before anything is applied.
fn new_lines<'b>(
    export_dir: &ExportDir,
    contents: &'b Contents,
    old: Option<&Contents>,
    seen: [bool; COLLECTIONS.len()],
    report: &mut ImportReport,
) -> Result<NewLines<'b>> {
    let mut all = NewLines::default();
    for (at, collection) in COLLECTIONS.into_iter().enumerate() {
        let (bytes, old) = (bytes_of(&contents[at]), old.map(|old| bytes_of(&old[at])).unwrap_or_default());
        if bytes.is_empty() || bytes == old || seen[at] {
            continue;
        }
        note_encoding(collection, bytes, report);
        let path = files::path_of(&export_dir.path, collection);
        let mut known: HashMap<&[u8], bool> = lines(old).map(|line| (line.text, false)).collect();
        let mut suspects = Vec::new();
        for line in lines(bytes) {
            match known.get_mut(line.text) {
                Some(is_seen) if *is_seen => suspects.push(line),
                Some(is_seen) => *is_seen = true,
                None => {
                    collection.read_line(&path, line)?;
                    note_long_title(collection, line, report);
                    all[at].push(line);
                }
            }
        }
        suspects.extend(&all[at]);
        if !suspects.is_empty() {
            duplicates::new_duplicates(collection, bytes, &suspects).into_iter().for_each(|note| report.note(note));
        }
    }
    Ok(all)
}

/// Notes a byte order mark and foreign line endings.
pub(super) fn note_encoding(collection: &Collection, bytes: &[u8], report: &mut ImportReport) {
    let name = collection.file_name();
    if bytes.starts_with(b"\xef\xbb\xbf") {
        report.note(format!("{name} began with a byte order mark"));
    }
    if bytes.contains(&b'\r') && bytes.windows(2).any(|two| two == b"\r\n") {
        report.note(format!("{name} had the line ends of another system"));
    }
}

/// Notes a title that is longer than commands allow. Existing data is imported as it is.
pub(super) fn note_long_title(collection: &Collection, line: FileLine<'_>, report: &mut ImportReport) {
    #[derive(serde::Deserialize)]
    struct Titled {
        id: String,
        title: String,
    }
    // Only a long line can have a long title, and most lines are short.
    if collection.name != ISSUES.name || line.text.len() <= text::TITLE_CHARS {
        return;
    }
    let Ok(Titled { id, title }) = serde_json::from_slice(line.text) else { return };
    if let Some(warning) = text::long_title(&title) {
        report.note(format!("{} line {}: {id} {warning}", collection.file_name(), line.number));
    }
}

/// Imports the notes of the merge driver.
pub(super) fn import_driver_notes(cx: &Context<'_>, tx: &Tx<'_>, report: &mut ImportReport) -> Result<()> {
    let Ok(store) = cx.store.dir() else { return Ok(()) };
    for path in notes(store) {
        let (bytes, before) = (fs::read(&path).map_err(|e| error::io("read", &path, &e))?, report.conflicts);
        for line in lines(&bytes) {
            if let Ok(conflict) = Conflict::from_line(line.text) {
                report.conflict(cx, tx, &conflict)?;
            }
        }
        // Delete notes only if an earlier transaction has imported them: this transaction is not committed yet.
        if report.conflicts == before {
            let _ = fs::remove_file(&path);
        }
    }
    Ok(())
}

/// The note files of the merge driver.
fn notes(store: &StoreDir) -> impl Iterator<Item = PathBuf> {
    let entries = store.driver_notes().flat_map(|dir| fs::read_dir(dir).into_iter().flatten().flatten());
    entries
        .take(MAX_NOTE_FILES)
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
}

/// Logs an import that replaced everything.
pub(super) fn log(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    counts: [i64; COLLECTIONS.len()],
    backup: Option<&String>,
) -> Result<()> {
    let mut detail = Map::new();
    if let Some(backup) = backup {
        detail.insert("backup".into(), json!(backup));
    }
    for (count, collection) in counts.iter().zip(COLLECTIONS) {
        detail.insert(collection.name.into(), json!({"old": null, "new": count}));
    }
    events::append(cx, tx, ("store", &cx.store.id()?), None, EventType::Imported, detail).map(drop)
}

/// Deletes everything that the files contain.
pub(super) fn clear(tx: &Tx<'_>) -> Result<()> {
    for derived in ["title_keys", "learning_keys", "recall_parts", "recall_dirty", "events WHERE issue_id IS NOT NULL"]
    {
        tx.send(&format!("DELETE FROM {derived}"), params![])?;
    }
    for tombstone in entity::query::<Tombstone>(tx, "", params![])?.iter().filter(|tombstone| tombstone.is_in_git()) {
        tx.send(
            "DELETE FROM tombstones WHERE collection = ?1 AND record_id = ?2",
            params![&tombstone.collection, &tombstone.id],
        )?;
    }
    // In reverse order of references.
    for table in TABLES.into_iter().rev() {
        table.clear(tx)?;
        // Before-images of deleted rows must not be used to undo changes of imported ones.
        tx.send("DELETE FROM changes WHERE entity = ?1", params![table.collection().name])?;
    }
    // The merge bases of other stores refer to the deleted data.
    peers::all(tx, PeerKind::Server)?.iter().try_for_each(|server| peers::forget(tx, &server.peer))
}

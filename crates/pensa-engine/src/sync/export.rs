//! Exports the database to JSONL files.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::thread;

use pensa_core::ops::store::Transfer;
use pensa_core::sync::{COLLECTIONS, Collection, EVENTS_FILE, ISSUES, SyncObject, Tombstone, lines};
use pensa_core::{Code, Error, Result, sync};
use pensa_git as git;

use super::background::BackgroundTask;
use super::cursor;
use super::export_dir::ExportDir;
use super::files::{self, Content, Contents, FileDraft, Stamp};
use super::import::{self, ImportReport};
use super::incremental::{ExportLines, PreviousExport};
use super::merge_base::{self, AppliedFiles, CopiedFile, MergeBaseCopy, NewCopy, PendingLines};
use super::synced_tables::{self, RenderedLines, SyncedTable, TABLES};
use crate::context::Context;
use crate::db::{Tx, params};
use crate::entity;
use crate::progress;
use crate::store::StoreDir;
use crate::tables::{issues, tombstones};

/// The lines of every file as of now, and their number.
type Rendered = [RenderedLines; COLLECTIONS.len()];

pub(super) fn render(tx: &Tx<'_>) -> Result<Rendered> {
    let mut parts = Rendered::default();
    for (at, part) in parts.iter_mut().enumerate() {
        *part = render_file(tx, at)?;
    }
    Ok(parts)
}

fn render_file(tx: &Tx<'_>, at: usize) -> Result<RenderedLines> {
    let mut part = RenderedLines::default();
    match TABLES.get(at) {
        Some(table) => table.render(tx, &mut part)?,
        None => entity::for_each::<Tombstone>(tx, "ORDER BY collection, record_id", params![], |tombstone| {
            if tombstone.is_in_git() { synced_tables::add_line(&mut part, tombstone) } else { Ok(()) }
        })?,
    }
    Ok(part)
}

/// The lines of a file, and whether they equal the previous export.
fn render_after(tx: &Tx<'_>, at: usize, before: Option<&PreviousExport<'_>>) -> Result<(RenderedLines, bool)> {
    let lines = match (before, TABLES.get(at)) {
        (Some(before), Some(table)) => before.lines(tx, *table)?,
        _ => None,
    };
    let Some(ExportLines { bytes, is_same }) = lines else { return Ok((render_file(tx, at)?, false)) };
    let count = import::count(sync::lines(&bytes).count());
    // Every test that exports detects a change of exported data without an event.
    debug_assert!(render_file(tx, at)?.0 == bytes, "no event logs a change in {}", COLLECTIONS[at].name);
    progress().advance(usize::try_from(count).unwrap_or_default());
    Ok(((bytes, count), is_same))
}

/// Writes the JSONL files. Their previous content must have been imported and committed: after the export, it is only
/// in the database.
pub(crate) fn export(cx: &Context<'_>, tx: &Tx<'_>, export_dir: &ExportDir) -> Result<Transfer> {
    let store = cx.store.dir()?;
    let base_copy = match merge_base::load(store, tx, export_dir)? {
        Some(base_copy) if base_copy.matches(export_dir)? => base_copy,
        _ => return Err(changed_meanwhile(export_dir)),
    };
    let pending = still_pending(tx, &base_copy)?;
    let has_pending = pending.iter().any(|lines| !lines.is_empty());
    let before = if has_pending { None } else { PreviousExport::find(tx, &base_copy)? };
    // Sorting happens in memory if the rows fit.
    tx.expect_many_rows()?;
    progress().begin(usize::try_from(import::stored(tx)?.iter().sum::<i64>()).unwrap_or_default());
    let rendered: [OnceLock<RenderedLines>; COLLECTIONS.len()] = Default::default();
    let copy = NewCopy::begin(store, tx, export_dir)?;
    let writer = ExportWriter { export_dir, drafts: store.local_dir("")?, pending: &pending };
    // Each file is written while the next is read from the database. They are renamed into place when all are complete.
    let written = thread::scope(|scope| {
        let mut tasks = Vec::new();
        for (at, part) in rendered.iter().enumerate() {
            let (fresh, is_same) = render_after(tx, at, before.as_ref())?;
            let (bytes, _) = store_once(part, fresh);
            if is_same {
                let stamp = Stamp::at(&writer.path(at));
                tasks.push((
                    BackgroundTask::Done(Ok(ExportedFile::Same(stamp))),
                    BackgroundTask::Done(Ok(CopiedFile::same())),
                ));
                continue;
            }
            let (writer, copy) = (&writer, &copy);
            let draft = BackgroundTask::start(scope, bytes.len(), move || writer.write(at, bytes));
            let added =
                BackgroundTask::start(scope, bytes.len(), move || copy.add(COLLECTIONS[at], writer.needed(at, bytes)));
            tasks.push((draft, added));
        }
        progress().end();
        tasks.into_iter().map(|(draft, added)| Ok((draft.end()?, added.end()?))).collect::<Result<Vec<_>>>()
    })?;
    let rendered = rendered.map(|part| part.into_inner().unwrap_or_default());
    let counts = rendered.each_ref().map(|(_, count)| *count);
    let (mut contents, mut copied, mut is_any_new) = (Contents::default(), Vec::new(), false);
    for ((slot, (bytes, _)), (written, made)) in contents.iter_mut().zip(rendered).zip(written) {
        copied.push(made);
        *slot = written.stamp().map(|stamp| Content { bytes, stamp });
        if let ExportedFile::Draft(draft) = written {
            draft.publish()?;
            is_any_new = true;
        }
    }
    if is_any_new {
        files::sync_names(&export_dir.path)?;
    }
    let exported = if has_pending { None } else { Some(cursor::LogPosition::end(tx)?) };
    let applied = AppliedFiles { exported, ..AppliedFiles::from_files(&contents, &pending) };
    copy.commit(cx, tx, export_dir, &copied, applied)?;
    Ok(ImportReport::default().transfer(counts))
}

fn store_once(slot: &OnceLock<RenderedLines>, part: RenderedLines) -> &RenderedLines {
    slot.get_or_init(|| part)
}

/// Writes the files of an export.
struct ExportWriter<'e> {
    export_dir: &'e ExportDir,
    drafts: PathBuf,
    pending: &'e PendingLines,
}

/// The result of exporting one file.
enum ExportedFile {
    /// The file does not exist and is not needed.
    Nothing,
    /// The file is unchanged.
    Same(Option<Stamp>),
    Draft(FileDraft),
}

impl ExportedFile {
    /// The stamp of the final file; `None` if there is no file.
    fn stamp(&self) -> Option<Option<Stamp>> {
        match self {
            ExportedFile::Nothing => None,
            ExportedFile::Same(stamp) => Some(*stamp),
            ExportedFile::Draft(draft) => Some(Some(draft.stamp)),
        }
    }
}

impl ExportWriter<'_> {
    /// The lines of a file; `None` for an empty optional file that does not exist. Most stores never delete anything.
    fn needed<'b>(&self, at: usize, bytes: &'b [u8]) -> Option<&'b [u8]> {
        let is_empty = bytes.is_empty() && self.pending[at].is_empty();
        let is_none = COLLECTIONS[at].is_optional() && is_empty && !self.path(at).exists();
        (!is_none).then_some(bytes)
    }

    fn path(&self, at: usize) -> PathBuf {
        files::path_of(&self.export_dir.path, COLLECTIONS[at])
    }

    fn write(&self, at: usize, bytes: &[u8]) -> Result<ExportedFile> {
        if self.needed(at, bytes).is_none() {
            return Ok(ExportedFile::Nothing);
        }
        let (path, pending) = (self.path(at), &self.pending[at]);
        let with_them = if pending.is_empty() { None } else { Some(merge_sorted(COLLECTIONS[at], bytes, pending)?) };
        let bytes = with_them.as_deref().unwrap_or(bytes);
        match files::read_if_length(&path, bytes.len())? {
            Some(same) if same.bytes == bytes => Ok(ExportedFile::Same(same.stamp)),
            _ => FileDraft::write(&self.drafts, &path, bytes).map(ExportedFile::Draft),
        }
    }
}

fn changed_meanwhile(export_dir: &ExportDir) -> Error {
    Error::new(Code::Busy, format!("the files in {} changed while they were exported", export_dir.path.display()))
        .hint("try again")
}

/// Stages the JSONL files for the next commit.
pub(crate) fn stage(export_dir: &ExportDir, with_events: bool) -> Result<()> {
    let events = with_events.then(|| export_dir.path.join(EVENTS_FILE));
    let all = files::paths(&export_dir.path).into_iter().chain(events);
    git::stage(&export_dir.project, &all.filter(|path| path.exists()).collect::<Vec<_>>())
}

/// The pending lines whose issue has neither arrived nor been deleted.
fn still_pending(tx: &Tx<'_>, base_copy: &MergeBaseCopy) -> Result<PendingLines> {
    let mut pending = base_copy.pending()?;
    for (bytes, table) in pending.iter_mut().zip(TABLES) {
        let mut kept = Vec::new();
        for line in lines(bytes) {
            let record = table.collection().read(line.text)?;
            let is_here = table.get(tx, &table.collection().key(&record))?.is_some();
            if !is_here && refers_to_missing_issue(tx, table, &record)? {
                kept.extend([line.text, b"\n"].concat());
            }
        }
        *bytes = kept;
    }
    Ok(pending)
}

fn refers_to_missing_issue(tx: &Tx<'_>, table: &dyn SyncedTable, record: &SyncObject) -> Result<bool> {
    for id in table.required_issues(record) {
        if issues::get(tx, &id.parse()?)?.is_none() && tombstones::get(tx, ISSUES.name, &id)?.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Merges the lines of two sources in the order of the file.
fn merge_sorted(collection: &Collection, one: &[u8], other: &[u8]) -> Result<Vec<u8>> {
    let mut all = Vec::new();
    for line in lines(one).chain(lines(other)) {
        all.push((collection.sort_key(&collection.read(line.text)?), line.text));
    }
    all.sort();
    Ok(all.into_iter().flat_map(|(_, text)| [text, b"\n"].concat()).collect())
}

/// Lists the files that differ from what an export would write.
pub(crate) fn check(store: &StoreDir, tx: &Tx<'_>, export_dir: &ExportDir) -> Result<Transfer> {
    let (rendered, on_disk) = (render(tx)?, export_dir.contents()?);
    let base_copy = merge_base::load(store, tx, export_dir)?;
    let pending = base_copy.map_or_else(|| Ok(PendingLines::default()), |base_copy| still_pending(tx, &base_copy))?;
    let mut drifted = Vec::new();
    for ((((bytes, _), was), collection), pending) in rendered.iter().zip(&on_disk).zip(COLLECTIONS).zip(&pending) {
        let with_them = if pending.is_empty() { None } else { Some(merge_sorted(collection, bytes, pending)?) };
        let bytes = with_them.as_ref().unwrap_or(bytes);
        let missing_is_fine = collection.is_optional() && bytes.is_empty();
        let same = was.as_ref().map_or(missing_is_fine, |was| was.bytes == *bytes);
        if !same {
            drifted.push(collection.file_name());
        }
    }
    Ok(Transfer { drifted, ..ImportReport::default().transfer(rendered.map(|(_, count)| count)) })
}

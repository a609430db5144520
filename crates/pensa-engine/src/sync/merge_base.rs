//! Copies of the JSONL files as they were at the last import or export: the base of the next merge.
//!
//! A copy is complete before the transaction that refers to it commits, and never changes afterwards. So the copy that
//! the database names is always what it has imported or exported, even after a crash.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use pensa_core::Result;
use pensa_core::sync::{COLLECTIONS, Collection, lines};
use pensa_git as git;
use uuid::Uuid;

use super::background::BackgroundTask;
use super::cursor::{self, Cursor};
use super::export_dir::ExportDir;
use super::files::{self, Contents, Stamp, bytes_of};
use super::incremental;
use crate::context::Context;
use crate::db::Tx;
use crate::entity;
use crate::error;
use crate::store::StoreDir;
use crate::tables::peers::{self, PeerKind, PeerRow};

/// A younger copy without a reference may belong to a transaction that has not committed yet.
const MIN_AGE_TO_DELETE: Duration = Duration::from_secs(3600);
/// The file with the stamps of the copied files.
const STAMPS: &str = "stamps";
/// The directory of the copies.
const COPIES: &str = "merge-bases";

/// The merge base of an export directory.
#[derive(Debug)]
pub(super) struct MergeBaseCopy {
    pub(super) row: PeerRow,
    dir: PathBuf,
}

impl MergeBaseCopy {
    /// Whether the files are unchanged since this copy, judged by their metadata.
    pub(super) fn matches_stamps(&self, export_dir: &Path) -> bool {
        let path = self.dir.join(STAMPS);
        let Some(noted) = Stamp::at(&path) else { return false };
        // A file modified in the same instant as the stamps may have been modified again.
        let is_older = |stamp: Option<Stamp>| stamp.is_none_or(|stamp| stamp.is_before(&noted));
        let all: Vec<Option<Stamp>> = files::paths(export_dir).iter().map(|path| Stamp::at(path)).collect();
        fs::read_to_string(&path).is_ok_and(|noted| noted == stamps_text(&all)) && all.into_iter().all(is_older)
    }

    /// Whether the files equal this copy. Reads them if their metadata differ.
    pub(super) fn matches(&self, export_dir: &ExportDir) -> Result<bool> {
        if self.matches_stamps(&export_dir.path) {
            return Ok(true);
        }
        let (here, base, pending) = (export_dir.contents()?, self.contents()?, self.pending()?);
        let is_same = |at: usize| match (&here[at], &base[at]) {
            (here, base) if pending[at].is_empty() => here == base,
            (here, base) => {
                let sorted = |parts: [&[u8]; 2]| {
                    let mut all: Vec<Vec<u8>> =
                        parts.iter().flat_map(|part| lines(part)).map(|line| line.text.to_vec()).collect();
                    all.sort();
                    all
                };
                sorted([bytes_of(here), b""]) == sorted([bytes_of(base), &pending[at]])
            }
        };
        Ok((0..COLLECTIONS.len()).all(is_same))
    }

    /// The log position at which the database had exactly this content; `None` unless an export wrote it and no lines
    /// are pending.
    pub(super) fn exported_at(&self, tx: &Tx<'_>) -> Result<Option<cursor::LogPosition>> {
        let cursor = self.row.pushed.as_ref().map(|pushed| Cursor::of(tx, pushed)).transpose()?.flatten();
        Ok(cursor.and_then(Cursor::into_log_position))
    }

    /// The content of one file.
    pub(super) fn content(&self, collection: &Collection) -> Result<Option<Vec<u8>>> {
        Ok(files::read(&files::path_of(&self.dir, collection), u64::MAX)?.map(|content| content.bytes))
    }

    pub(super) fn contents(&self) -> Result<Contents> {
        files::contents(&self.dir, u64::MAX)
    }

    /// Whether lines of the files are pending.
    pub(super) fn has_pending(&self) -> Result<bool> {
        Ok(self.pending()?.iter().any(|lines| !lines.is_empty()))
    }

    /// The lines of the files that could not be applied yet.
    pub(super) fn pending(&self) -> Result<PendingLines> {
        let mut pending = PendingLines::default();
        for (lines, collection) in pending.iter_mut().zip(COLLECTIONS) {
            *lines = files::read(&self.dir.join(pending_file_name(collection)), u64::MAX)?
                .map(|it| it.bytes)
                .unwrap_or_default();
        }
        Ok(pending)
    }

    /// Whether this is the copied content of a file; usually the lengths differ.
    fn has(&self, collection: &Collection, bytes: Option<&[u8]>) -> Result<bool> {
        let path = files::path_of(&self.dir, collection);
        Ok(match bytes {
            None => !path.exists(),
            Some(bytes) => files::read_if_length(&path, bytes.len())?.is_some_and(|content| content.bytes == bytes),
        })
    }
}

/// Pending lines of each file: their issue has not arrived.
pub(super) type PendingLines = [Vec<u8>; COLLECTIONS.len()];

fn pending_file_name(collection: &Collection) -> String {
    format!("{}.waiting", collection.name)
}

/// One line per file.
fn stamps_text(stamps: &[Option<Stamp>]) -> String {
    stamps.iter().map(|stamp| stamp.map_or_else(|| "none\n".to_owned(), |stamp| format!("{stamp:?}\n"))).collect()
}

/// Loads the merge base of an export directory; `None` if it has none or the copy is missing.
pub(super) fn load(store: &StoreDir, tx: &Tx<'_>, export_dir: &ExportDir) -> Result<Option<MergeBaseCopy>> {
    let Some(row) = peers::get(tx, PeerKind::Git, &export_dir.name)? else { return Ok(None) };
    let dir = store.local_dir(COPIES)?.join(row.base.as_deref().unwrap_or_default());
    Ok(dir.join(STAMPS).exists().then_some(MergeBaseCopy { row, dir }))
}

/// File contents that the database has applied.
#[derive(Debug, Clone, Copy)]
pub(super) struct AppliedFiles<'t> {
    pub(super) contents: &'t Contents,
    /// Further lines of the files, not applied yet.
    pub(super) pending: &'t PendingLines,
    /// Whether older versions were skipped. Then the contents do not count as seen, because they may come again with a
    /// history that shows what is newer.
    pub(super) skipped_older: bool,
    /// The log position at which the database had exactly these contents, if it exported them.
    pub(super) exported: Option<cursor::LogPosition>,
}

impl<'t> AppliedFiles<'t> {
    /// Contents that were imported.
    pub(super) fn from_files(contents: &'t Contents, pending: &'t PendingLines) -> Self {
        Self { contents, pending, skipped_older: false, exported: None }
    }
}

/// Saves these contents as the merge base.
pub(super) fn save(cx: &Context<'_>, tx: &Tx<'_>, export_dir: &ExportDir, applied: AppliedFiles<'_>) -> Result<()> {
    let copy = NewCopy::begin(cx.store.dir()?, tx, export_dir)?;
    let copied = copy.add_all(applied.contents)?;
    copy.commit(cx, tx, export_dir, &copied, applied)
}

/// A copy in progress. Files can be added from several threads; nothing refers to it before [`commit`](Self::commit).
#[derive(Debug)]
pub(super) struct NewCopy {
    last: Option<MergeBaseCopy>,
    head: Option<String>,
    name: String,
    dir: PathBuf,
    is_committed: bool,
}

/// The result of adding a file to a copy.
#[derive(Debug)]
pub(super) struct CopiedFile {
    /// Whether it equals the previous copy.
    is_same: bool,
    /// Its blob id, if it differs.
    id: Option<String>,
}

impl CopiedFile {
    /// A file that is known to equal the previous copy.
    pub(super) fn same() -> Self {
        Self { is_same: true, id: None }
    }
}

impl Drop for NewCopy {
    fn drop(&mut self) {
        if !self.is_committed {
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

impl NewCopy {
    pub(super) fn begin(store: &StoreDir, tx: &Tx<'_>, export_dir: &ExportDir) -> Result<Self> {
        let name = Uuid::now_v7().simple().to_string();
        let dir = store.local_dir(COPIES)?.join(&name);
        Ok(Self { last: load(store, tx, export_dir)?, head: export_dir.head(), name, dir, is_committed: false })
    }

    /// Adds a file, unless it equals the previous copy.
    pub(super) fn add(&self, collection: &Collection, bytes: Option<&[u8]>) -> Result<CopiedFile> {
        if let Some(last) = &self.last
            && last.has(collection, bytes)?
        {
            return Ok(CopiedFile::same());
        }
        let Some(bytes) = bytes else { return Ok(CopiedFile { is_same: false, id: None }) };
        self.write(&collection.file_name(), bytes)?;
        // Also before the first commit, which may have these contents.
        let id = git::blob_id(bytes, self.head.as_deref().unwrap_or_default());
        Ok(CopiedFile { is_same: false, id: Some(id) })
    }

    /// Adds all files, large ones in parallel.
    pub(super) fn add_all(&self, contents: &Contents) -> Result<Vec<CopiedFile>> {
        thread::scope(|scope| {
            let mut tasks = Vec::new();
            for (content, collection) in contents.iter().zip(COLLECTIONS) {
                let bytes = content.as_ref().map(|content| &content.bytes[..]);
                tasks.push(BackgroundTask::start(scope, bytes_of(content).len(), move || self.add(collection, bytes)));
            }
            tasks.into_iter().map(BackgroundTask::end).collect()
        })
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        fs::create_dir_all(&self.dir).map_err(|e| error::io("create", &self.dir, &e))?;
        let path = self.dir.join(name);
        fs::write(&path, bytes).map_err(|e| error::io("write", &path, &e))
    }

    /// Makes this copy the merge base, after all files were added.
    pub(super) fn commit(
        mut self,
        cx: &Context<'_>,
        tx: &Tx<'_>,
        export_dir: &ExportDir,
        copied: &[CopiedFile],
        applied: AppliedFiles<'_>,
    ) -> Result<()> {
        if !applied.skipped_older {
            self.note_seen(cx, tx, export_dir, copied, applied)?;
        }
        let has_same_pending = |last: &MergeBaseCopy| last.pending().is_ok_and(|pending| pending == *applied.pending);
        let same =
            self.last.as_ref().filter(|last| copied.iter().all(|copied| copied.is_same) && has_same_pending(last));
        let exported = applied.exported.filter(|_| applied.pending.iter().all(Vec::is_empty));
        let mut pushed = exported.map(|at| Cursor::Log(at).to_string());
        let base = match same {
            Some(last) => {
                // An incremental export reads the log since this position, so a recent position need not be updated.
                let is_near = |(old, new): (cursor::LogPosition, cursor::LogPosition)| {
                    new.event - old.event <= incremental::MAX_LOG_LINES / 10
                };
                if exported.is_none() || last.exported_at(tx)?.zip(exported).is_some_and(is_near) {
                    pushed.clone_from(&last.row.pushed);
                }
                if last.row.pulled == self.head && last.row.pushed == pushed {
                    return Ok(());
                }
                last.row.base.clone()
            }
            None => {
                self.finish(copied, applied)?;
                self.is_committed = true;
                Some(self.name.clone())
            }
        };
        let (kind, peer, pulled) = (PeerKind::Git, export_dir.name.clone(), self.head.clone());
        entity::put(tx, &PeerRow { kind, peer, pulled, pushed, base, synced_at: Some(cx.now), ..PeerRow::default() })?;
        sweep(cx.store.dir()?, tx)
    }

    /// Remembers the contents as seen, and the commit if it has exactly these.
    fn note_seen(
        &self,
        cx: &Context<'_>,
        tx: &Tx<'_>,
        export_dir: &ExportDir,
        copied: &[CopiedFile],
        applied: AppliedFiles<'_>,
    ) -> Result<()> {
        let is_whole = |(_, pending): &(&CopiedFile, &Vec<u8>)| pending.is_empty();
        let new = copied.iter().zip(applied.pending).filter(is_whole).filter_map(|(copied, _)| copied.id.as_ref());
        new.into_iter().try_for_each(|blob| peers::note_seen(tx, peers::BLOBS, blob, cx.now))?;
        let is_new_commit = self.last.as_ref().is_none_or(|last| last.row.pulled != self.head);
        let commit = self.head.as_ref().filter(|_| is_new_commit && applied.pending.iter().all(Vec::is_empty));
        let commit = commit.filter(|commit| commit_matches(export_dir, commit, applied.contents));
        commit.map_or(Ok(()), |commit| peers::note_seen(tx, peers::COMMITS, commit, cx.now))
    }

    /// Files equal to the previous copy are hard-linked, because copies never change.
    fn finish(&self, copied: &[CopiedFile], applied: AppliedFiles<'_>) -> Result<()> {
        for ((content, collection), copied) in applied.contents.iter().zip(COLLECTIONS).zip(copied) {
            if let (true, Some(content), Some(last)) = (copied.is_same, content, &self.last) {
                fs::create_dir_all(&self.dir).map_err(|e| error::io("create", &self.dir, &e))?;
                let [old, new] = [&last.dir, &self.dir].map(|dir| files::path_of(dir, collection));
                if fs::hard_link(old, new).is_err() {
                    self.write(&collection.file_name(), &content.bytes)?;
                }
            }
        }
        for (lines, collection) in applied.pending.iter().zip(COLLECTIONS).filter(|(lines, _)| !lines.is_empty()) {
            self.write(&pending_file_name(collection), lines)?;
        }
        // Written last: a copy without stamps is incomplete.
        let stamps = applied.contents.iter().map(|content| content.as_ref().and_then(|content| content.stamp));
        self.write(STAMPS, stamps_text(&stamps.collect::<Vec<_>>()).as_bytes())
    }
}

/// Whether a commit has exactly these contents.
pub(super) fn commit_matches(export_dir: &ExportDir, commit: &str, contents: &Contents) -> bool {
    let names = COLLECTIONS.map(Collection::file_name);
    let blobs = export_dir.objects.blobs(names.iter().map(|name| (commit, name.as_str())));
    blobs.into_iter().zip(contents).all(|(blob, content)| match (blob, content) {
        (Some(blob), Some(content)) => git::blob_id(&content.bytes, &blob) == blob,
        (blob, content) => blob.is_none() && content.is_none(),
    })
}

/// Deletes copies without references, and the state of deleted directories. Best effort.
fn sweep(store: &StoreDir, tx: &Tx<'_>) -> Result<()> {
    let mut named = peers::all(tx, PeerKind::Git)?;
    let is_gone = |export_dir: &String| !export_dir.is_empty() && !Path::new(export_dir).exists();
    for gone in named.extract_if(.., |row| is_gone(&row.peer)) {
        peers::forget_work_tree(tx, &gone.peer)?;
    }
    let is_old = |entry: &fs::DirEntry| {
        let age = entry.metadata().and_then(|meta| meta.modified()).map(|time| SystemTime::now().duration_since(time));
        matches!(age, Ok(Ok(age)) if age > MIN_AGE_TO_DELETE)
    };
    for entry in fs::read_dir(store.local_dir(COPIES)?).into_iter().flatten().flatten().take(1000) {
        let name = entry.file_name();
        if is_old(&entry) && !named.iter().any(|row| row.base.as_deref().is_some_and(|base| name == base)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

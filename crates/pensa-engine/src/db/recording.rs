//! Collects what a SQLite transaction does, and writes it to the journal after the commit.
//!
//! The tables define the items; `journal` defines the form of a line.

use std::cell::{Cell, RefCell};
use std::thread;

use pensa_core::{Code, Error, Result, json};
use serde::Serialize;
use serde_json::Value;

use super::value::Param;
use super::{Operation, backup};
use crate::journal::{self, Journal};
use crate::store::StoreDir;
use crate::store::writer_lock::WriterLock;
use crate::store::{last_event, record_files};
use crc32fast::Hasher;

/// Limit for record-file lines in memory. With more, the files are rewritten instead of appended to.
const MAX_LINES: usize = 64 << 20;
/// With this much free space, besides what the transaction needs, the disk is not considered full.
const PLENTY: u64 = 8 << 20;
/// For items larger than this, the checksum is computed in parallel with the commit.
const SUMMED_MEANWHILE: usize = 1 << 20;

/// The journal items and record-file lines of a write transaction.
#[derive(Debug)]
pub(super) struct Recording<'c> {
    pub(super) store: &'c StoreDir,
    journal: &'c Journal,
    /// Set when a journal segment was finished.
    has_grown: &'c Cell<bool>,
    /// Set when the record files should be checked.
    files_need_check: &'c Cell<bool>,
    /// Released after the transaction has ended and is in the journal.
    _lock: Option<WriterLock>,
    /// The last event before the transaction.
    before: Cell<i64>,
    /// JSON items, separated by commas.
    items: RefCell<Vec<u8>>,
    /// The length of `items` at the start of the current operation.
    before_operation: Cell<usize>,
    /// Lines for the record files, with the file names. Consecutive lines for one file are joined.
    lines: RefCell<Vec<(String, Vec<u8>)>>,
    /// Total size of the lines.
    line_bytes: Cell<usize>,
    /// Whether the record files must be rewritten instead of appended to.
    files_stale: Cell<bool>,
    /// Set while journaled changes are repeated.
    paused: Cell<bool>,
    /// Whether the items exceed the journal's limits, so that a backup is created instead.
    exceeds_journal: Cell<bool>,
    /// Whether an empty store was filled from its own files.
    filled: Cell<bool>,
}

impl<'c> Recording<'c> {
    pub(super) fn new(
        store: &'c StoreDir,
        journal: &'c Journal,
        (has_grown, files_need_check): (&'c Cell<bool>, &'c Cell<bool>),
        writer_lock: Option<WriterLock>,
    ) -> Self {
        Self {
            store,
            journal,
            has_grown,
            files_need_check,
            _lock: writer_lock,
            before: Cell::new(0),
            items: RefCell::default(),
            before_operation: Cell::new(0),
            lines: RefCell::default(),
            line_bytes: Cell::new(0),
            files_stale: Cell::new(false),
            paused: Cell::new(false),
            exceeds_journal: Cell::new(false),
            filled: Cell::new(false),
        }
    }

    /// Stops recording; a backup will cover the transaction. For an empty store the backup is not created now, because
    /// its files could fill it again: the next open does it.
    pub(super) fn fill(&self) {
        self.filled.set(self.before.get() == 0);
        self.exceeds_journal.set(true);
    }

    /// Sets the last event before the transaction.
    pub(super) fn begin_after(&self, event: i64) {
        self.before.set(event);
    }

    pub(super) fn begin_operation(&self) {
        self.before_operation.set(self.items.borrow().len());
    }

    /// Records who ran the finished operation and when, if it changed anything.
    pub(super) fn end_operation(&self, operation: &Operation<'_>) -> Result<()> {
        if self.items.borrow().len() == self.before_operation.get() {
            return Ok(());
        }
        self.add("op", operation)
    }

    pub(super) fn add(&self, kind: &str, value: &(impl Serialize + ?Sized)) -> Result<()> {
        self.add_written(kind, |to| json::write_line(to, value))
    }

    /// As [`add`](Self::add), for a value that writes its own JSON.
    pub(super) fn add_written(&self, kind: &str, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        if kind == "restored" {
            self.files_stale.set(true);
        }
        if self.paused.get() || self.exceeds_journal.get() {
            return Ok(());
        }
        let items = &mut *self.items.borrow_mut();
        if items.len() > journal::MAX_ITEMS {
            self.exceeds_journal.set(true);
            return Ok(());
        }
        if !items.is_empty() {
            items.push(b',');
        }
        items.push(b'[');
        json::write_line(items, kind)?;
        items.push(b',');
        write(items)?;
        items.push(b']');
        if items.len() > journal::MAX_WRITTEN {
            self.exceeds_journal.set(true);
        }
        Ok(())
    }

    /// Records a line for a record file.
    pub(super) fn write_through(&self, file: &str, line: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        if self.paused.get() || self.files_stale.get() {
            return Ok(());
        }
        if self.line_bytes.get() > MAX_LINES {
            // This is also correct for changes that a savepoint rolled back.
            self.files_stale.set(true);
            return Ok(());
        }
        let mut pieces = self.lines.borrow_mut();
        if pieces.last().is_none_or(|(last, _)| last != file) {
            pieces.push((file.to_owned(), Vec::new()));
        }
        let Some((_, piece)) = pieces.last_mut() else { return Ok(()) };
        let before = piece.len();
        line(piece)?;
        self.line_bytes.set(self.line_bytes.get() + piece.len() - before);
        Ok(())
    }

    /// The current position, to which a savepoint can roll back.
    pub(super) fn savepoint(&self) -> RecordingMark {
        let lines = self.lines.borrow();
        let in_last = lines.last().map_or(0, |(_, piece)| piece.len());
        RecordingMark { items: self.items.borrow().len(), pieces: lines.len(), in_last }
    }

    pub(super) fn roll_back_to(&self, mark: RecordingMark) {
        self.items.borrow_mut().truncate(mark.items);
        let mut lines = self.lines.borrow_mut();
        lines.truncate(mark.pieces);
        if let Some((_, piece)) = lines.last_mut() {
            piece.truncate(mark.in_last);
        }
    }

    /// Appends to the record files. Returns whether they are now up to date or marked as out of date.
    fn append_record_files(&self) -> bool {
        let lines = self.lines.borrow();
        if lines.is_empty() && !self.files_stale.get() {
            return true;
        }
        if !self.files_stale.get()
            && let Ok(has_grown) = record_files::append(self.store, &lines)
        {
            self.files_need_check.set(has_grown || self.files_need_check.get());
            return true;
        }
        self.files_need_check.set(true);
        record_files::mark_stale(self.store)
    }

    pub(super) fn items(&self) -> Result<Vec<(String, Value)>> {
        let items = [b"[", self.items.borrow().as_slice(), b"]"].concat();
        serde_json::from_slice(&items).map_err(Error::internal)
    }

    /// The last recorded event, by its columns.
    pub(super) fn last_event(&self) -> Option<Value> {
        let is_event = |(kind, event): (String, Value)| (kind == "event").then_some(event);
        self.items().ok()?.into_iter().rev().find_map(is_event)
    }

    /// The last event before the transaction, if the journal has later ones.
    pub(super) fn behind_journal(&self) -> Result<Option<i64>> {
        let before = self.before.get();
        Ok((self.journal.last(before)? > before).then_some(before))
    }

    /// Runs `work`, which repeats journaled changes up to event `last`, without recording them.
    pub(super) fn without_journaling(&self, last: i64, work: impl FnOnce() -> Result<()>) -> Result<()> {
        self.paused.set(true);
        let done = work();
        self.paused.set(false);
        self.before.set(last);
        done
    }

    /// Commits, then writes the journal. `last` is the last event of the transaction.
    pub(super) fn commit(&self, last: i64, commit: impl FnOnce() -> Result<()>) -> Result<()> {
        let done = self.reserve_space(last).and_then(|()| self.commit_and_record(last, commit));
        if done.is_err() {
            self.journal.release();
        }
        done
    }

    /// Whether the transaction needs no journal line.
    fn is_nothing(&self, last: i64) -> bool {
        (self.items.borrow().is_empty() && last == self.before.get()) || self.filled.get()
    }

    /// Whether the journal has everything committed before.
    fn journal_is_current(&self) -> bool {
        let before = self.before.get();
        self.journal.last(before).is_ok_and(|known| known == before)
    }

    /// Returns an error if a nearly full disk has space for the commit but not also for the journal.
    fn reserve_space(&self, last: i64) -> Result<()> {
        let (before, items) = (self.before.get(), self.items.borrow().len());
        let is_plenty = |free: u64| free > PLENTY + 2 * items as u64;
        if self.is_nothing(last) || self.store.free_space().is_none_or(is_plenty) {
            return Ok(());
        }
        if self.exceeds_journal.get() || !self.journal_is_current() {
            return backup::require_room(self.store);
        }
        // Other failures will recur after the commit, where the next open repairs them.
        if let Err(e) = self.journal.reserve(before, items)
            && e.code == Code::DiskFull
        {
            return Err(e);
        }
        if !self.lines.borrow().is_empty() {
            // Appending may fail for lack of space, so mark the files as out of date now.
            self.files_stale.set(true);
            if !record_files::mark_stale(self.store) {
                return Err(Error::new(Code::DiskFull, "no space left on the disk for the files of records")
                    .hint("free some space and try again; nothing was changed"));
            }
        }
        Ok(())
    }

    fn commit_and_record(&self, last: i64, commit: impl FnOnce() -> Result<()>) -> Result<()> {
        let items = self.items.borrow();
        let items = items.as_slice();
        if items.len() < SUMMED_MEANWHILE {
            commit()?;
            self.record(last, items, journal::begin_crc(items));
            return Ok(());
        }
        // The checksum is computed while the commit waits for the disk.
        thread::scope(|scope| {
            let begun = thread::Builder::new().spawn_scoped(scope, || journal::begin_crc(items));
            commit()?;
            let begun = begun.ok().and_then(|begun| begun.join().ok());
            self.record(last, items, begun.unwrap_or_else(|| journal::begin_crc(items)));
            Ok(())
        })
    }

    /// Writes the journal and the last event.
    fn record(&self, last: i64, items: &[u8], begun: Hasher) {
        if self.is_nothing(last) {
            return;
        }
        self.append_to_journal(last, items, begun);
        // Best effort: without it, a loss of events may go unnoticed.
        let _ = last_event::write(self.store, last);
    }

    /// Appends the transaction to the journal. If that is not possible, creates a backup from which the journal
    /// continues.
    fn append_to_journal(&self, last: i64, items: &[u8], begun: Hasher) {
        let before = self.before.get();
        if !self.append_record_files() {
            // The journal falls behind, so that the next open repairs both.
            return;
        }
        if self.journal_is_current() && !self.exceeds_journal.get() {
            // The next open repairs a failed append.
            let finished = self.journal.append_with_crc(before, last, items, begun).unwrap_or(false);
            self.has_grown.set(finished || self.has_grown.get());
            return;
        }
        let _ = backup::restart_journal(self.store, self.journal, last);
    }
}

/// A position in a [`Recording`].
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordingMark {
    items: usize,
    pieces: usize,
    in_last: usize,
}

/// A row as a JSON object of its columns, without nulls.
pub(super) struct Columns<'a>(pub(super) Vec<(&'static str, Param<'a>)>);

impl Serialize for Columns<'_> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().filter_map(|(name, value)| match value {
            // Bytes are derived, and never journaled.
            Param::Null | Param::Bytes(_) => None,
            Param::Int(value) => Some((name, Value::from(*value))),
            Param::Text(text) => Some((name, Value::from(text.as_ref()))),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transaction_too_long_for_a_readable_line_is_not_journaled() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = StoreDir::create(&dir.path().join(StoreDir::NAME)).expect("a store").0;
        let (journal, grown, due) = (Journal::new(&store), Cell::new(false), Cell::new(false));
        let tried = |sizes: &[usize]| {
            let recording = Recording::new(&store, &journal, (&grown, &due), None);
            sizes.iter().try_for_each(|size| recording.add("x", &"a".repeat(*size))).expect("added");
            recording.exceeds_journal.get()
        };
        let mib = 1 << 20;
        assert!(!tried(&[31 * mib, 30 * mib]), "the second begins below the limit, and what comes of it can be read");
        assert!(tried(&[31 * mib, 33 * mib]), "the second makes it too long");
        assert!(tried(&[33 * mib, 1]), "there is enough already");
    }
}

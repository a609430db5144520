//! What a transaction on SQLite has done so far, on its way to the journal.
//!
//! Which changes there are is for the tables to say; the journal knows how a line looks.

use std::cell::{Cell, RefCell};
use std::thread;

use pensa_core::{Code, Error, Result, json};
use serde::Serialize;
use serde_json::Value;

use super::backup;
use super::value::Param;
use crate::journal::{self, Journal};
use crate::store::StoreDir;
use crate::store::ticket::Ticket;
use crate::store::{last_event, record_files};

/// Most bytes of lines that are kept in memory; the files are written anew rather than appended to with more.
const MAX_LINES: usize = 64 << 20;
/// Free space on the disk, beside what a transaction needs, with which nothing is expected to fail for want of it.
const PLENTY: u64 = 8 << 20;
/// The sum of items that are longer than this is made while they are committed.
const SUMMED_MEANWHILE: usize = 1 << 20;

/// The notes of a transaction that writes.
#[derive(Debug)]
pub(super) struct Recording<'c> {
    pub(super) store: &'c StoreDir,
    journal: &'c Journal,
    /// Set when a segment of the journal was finished.
    has_grown: &'c Cell<bool>,
    /// Set when the files of records have to be looked at.
    files_due: &'c Cell<bool>,
    /// Given back after the transaction has ended and is in the journal.
    _ticket: Option<Ticket>,
    /// The last event before the transaction.
    before: Cell<i64>,
    /// JSON, with commas between the items.
    items: RefCell<Vec<u8>>,
    /// Lines for the files of records, with the names of the files: those that follow each other in one file are one
    /// piece.
    lines: RefCell<Vec<(String, Vec<u8>)>>,
    /// How many bytes of lines there have been.
    line_bytes: Cell<usize>,
    /// Whether those files cannot be brought up to date by appending to them.
    files_stale: Cell<bool>,
    /// While what is in the journal already is done again.
    paused: Cell<bool>,
    /// Whether there is more than the journal takes: then a backup is made instead.
    too_much: Cell<bool>,
    /// Whether an empty store was filled with what its files have.
    filled: Cell<bool>,
}

impl<'c> Recording<'c> {
    pub(super) fn new(
        store: &'c StoreDir,
        journal: &'c Journal,
        (has_grown, files_due): (&'c Cell<bool>, &'c Cell<bool>),
        ticket: Option<Ticket>,
    ) -> Self {
        Self {
            store,
            journal,
            has_grown,
            files_due,
            _ticket: ticket,
            before: Cell::new(0),
            items: RefCell::default(),
            lines: RefCell::default(),
            line_bytes: Cell::new(0),
            files_stale: Cell::new(false),
            paused: Cell::new(false),
            too_much: Cell::new(false),
            filled: Cell::new(false),
        }
    }

    /// Notes nothing of all that follows: a backup is made instead. Not at once, if the files that fill the store now
    /// could do so again: the next to open it makes up for that.
    pub(super) fn fill(&self) {
        self.filled.set(self.before.get() == 0);
        self.too_much.set(true);
    }

    /// Says which event was the last before the transaction.
    pub(super) fn begin_after(&self, event: i64) {
        self.before.set(event);
    }

    pub(super) fn add(&self, kind: &str, value: &(impl Serialize + ?Sized)) -> Result<()> {
        self.add_written(kind, |to| json::write_line(to, value))
    }

    /// The same for what writes its own JSON.
    pub(super) fn add_written(&self, kind: &str, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        if kind == "restored" {
            self.files_stale.set(true);
        }
        if self.paused.get() || self.too_much.get() {
            return Ok(());
        }
        let items = &mut *self.items.borrow_mut();
        if items.len() > journal::MAX_ITEMS {
            self.too_much.set(true);
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
            self.too_much.set(true);
        }
        Ok(())
    }

    /// Notes a line for a file of records.
    pub(super) fn write_through(&self, file: &str, line: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        if self.paused.get() || self.files_stale.get() {
            return Ok(());
        }
        if self.line_bytes.get() > MAX_LINES {
            // What a part of the transaction took back is then written anew as well, which does no harm.
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

    /// How much there is; what comes later can be taken back to here.
    pub(super) fn mark(&self) -> Noted {
        let lines = self.lines.borrow();
        let in_last = lines.last().map_or(0, |(_, piece)| piece.len());
        Noted { items: self.items.borrow().len(), pieces: lines.len(), in_last }
    }

    pub(super) fn take_back(&self, noted: Noted) {
        self.items.borrow_mut().truncate(noted.items);
        let mut lines = self.lines.borrow_mut();
        lines.truncate(noted.pieces);
        if let Some((_, piece)) = lines.last_mut() {
            piece.truncate(noted.in_last);
        }
    }

    /// Brings the files of records up to date; says whether they are, or are known not to be.
    fn keep_files(&self) -> bool {
        let lines = self.lines.borrow();
        if lines.is_empty() && !self.files_stale.get() {
            return true;
        }
        if !self.files_stale.get()
            && let Ok(has_grown) = record_files::append(self.store, &lines)
        {
            self.files_due.set(has_grown || self.files_due.get());
            return true;
        }
        self.files_due.set(true);
        record_files::mark_stale(self.store)
    }

    pub(super) fn items(&self) -> Result<Vec<(String, Value)>> {
        let items = [b"[", self.items.borrow().as_slice(), b"]"].concat();
        serde_json::from_slice(&items).map_err(Error::internal)
    }

    /// The last event that was noted, by its columns.
    pub(super) fn last_event(&self) -> Option<Value> {
        let is_event = |(kind, event): (String, Value)| (kind == "event").then_some(event);
        self.items().ok()?.into_iter().rev().find_map(is_event)
    }

    /// The last event before the transaction, if the journal has later ones.
    pub(super) fn is_behind(&self) -> Result<Option<i64>> {
        let before = self.before.get();
        Ok((self.journal.last(before)? > before).then_some(before))
    }

    /// Does what the journal has already, up to event `last`.
    pub(super) fn repeat(&self, last: i64, work: impl FnOnce() -> Result<()>) -> Result<()> {
        self.paused.set(true);
        let done = work();
        self.paused.set(false);
        self.before.set(last);
        done
    }

    /// Commits, and then keeps what was committed; `last` is its last event.
    pub(super) fn commit(&self, last: i64, commit: impl FnOnce() -> Result<()>) -> Result<()> {
        let done = self.make_room(last).and_then(|()| self.commit_and_keep(last, commit));
        if done.is_err() {
            self.journal.release();
        }
        done
    }

    /// Whether there is nothing for the journal.
    fn is_nothing(&self, last: i64) -> bool {
        (self.items.borrow().is_empty() && last == self.before.get()) || self.filled.get()
    }

    /// Whether the journal has all that was committed before.
    fn is_in_step(&self) -> bool {
        let before = self.before.get();
        self.journal.last(before).is_ok_and(|known| known == before)
    }

    /// Refuses what a nearly full disk has room for in the database, but not in the journal besides.
    fn make_room(&self, last: i64) -> Result<()> {
        let (before, items) = (self.before.get(), self.items.borrow().len());
        let is_plenty = |free: u64| free > PLENTY + 2 * items as u64;
        if self.is_nothing(last) || self.store.free_space().is_none_or(is_plenty) {
            return Ok(());
        }
        if self.too_much.get() || !self.is_in_step() {
            return backup::require_room(self.store);
        }
        // What fails for another reason fails again after the commit, and is made up for.
        if let Err(e) = self.journal.reserve(before, items)
            && e.code == Code::DiskFull
        {
            return Err(e);
        }
        if !self.lines.borrow().is_empty() {
            // They may not have room to be appended; that they are not up to date has to be known then.
            self.files_stale.set(true);
            if !record_files::mark_stale(self.store) {
                return Err(Error::new(Code::DiskFull, "no space left on the disk for the files of records")
                    .hint("free some space and try again; nothing was changed"));
            }
        }
        Ok(())
    }

    fn commit_and_keep(&self, last: i64, commit: impl FnOnce() -> Result<()>) -> Result<()> {
        let items = self.items.borrow();
        let items = items.as_slice();
        if items.len() < SUMMED_MEANWHILE {
            commit()?;
            self.keep(last, items, journal::begin_sum(items));
            return Ok(());
        }
        // The commit waits for the disk.
        thread::scope(|scope| {
            let begun = thread::Builder::new().spawn_scoped(scope, || journal::begin_sum(items));
            commit()?;
            let begun = begun.ok().and_then(|begun| begun.join().ok());
            self.keep(last, items, begun.unwrap_or_else(|| journal::begin_sum(items)));
            Ok(())
        })
    }

    /// Keeps what was committed, and that there is so much of it.
    fn keep(&self, last: i64, items: &[u8], begun: u64) {
        if self.is_nothing(last) {
            return;
        }
        self.keep_in_journal(last, items, begun);
        // Without it a loss is only not noticed.
        let _ = last_event::note(self.store, last);
    }

    /// Appends what was committed to the journal. Where that is not possible, a backup is where the journal goes on.
    fn keep_in_journal(&self, last: i64, items: &[u8], begun: u64) {
        let before = self.before.get();
        if !self.keep_files() {
            // The journal is left behind, so that the next to open the store sees to both.
            return;
        }
        if self.is_in_step() && !self.too_much.get() {
            // One that failed is made up for by the next to open the store.
            let finished = self.journal.append_summed(before, last, items, begun).unwrap_or(false);
            self.has_grown.set(finished || self.has_grown.get());
            return;
        }
        let _ = backup::begin_journal(self.store, self.journal, last);
    }
}

/// How much was noted at some time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Noted {
    items: usize,
    pieces: usize,
    in_last: usize,
}

/// A row by its columns; those that are NULL are left out.
pub(super) struct Columns<'a>(pub(super) Vec<(&'static str, Param<'a>)>);

impl Serialize for Columns<'_> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().filter_map(|(name, value)| match value {
            Param::Null => None,
            Param::Int(value) => Some((name, Value::from(*value))),
            Param::Text(text) => Some((name, Value::from(text.as_ref()))),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_too_long_a_line_to_be_read_again_is_never_one() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = StoreDir::create(&dir.path().join(StoreDir::NAME)).expect("a store").0;
        let (journal, grown, due) = (Journal::new(&store), Cell::new(false), Cell::new(false));
        let tried = |sizes: &[usize]| {
            let recording = Recording::new(&store, &journal, (&grown, &due), None);
            sizes.iter().try_for_each(|size| recording.add("x", &"a".repeat(*size))).expect("added");
            recording.too_much.get()
        };
        let mib = 1 << 20;
        assert!(!tried(&[31 * mib, 30 * mib]), "the second begins below the limit, and what comes of it can be read");
        assert!(tried(&[31 * mib, 33 * mib]), "the second makes it too long");
        assert!(tried(&[33 * mib, 1]), "there is enough already");
    }
}

//! The lines of an export made from those of the one before, if the log tells which issues were touched in between.
//!
//! To read a store takes as long as it is large, and what is done between two commits is small. Which files a line goes
//! into, and whether they are what they were, is the export's concern. Whatever is out of the ordinary is not for here:
//! then everything is read from the database.

use aho_corasick::AhoCorasick;
use pensa_core::id::IssueId;
use pensa_core::sync::{Collection, lines};
use pensa_core::{Error, Result};
use pensa_git as git;

use super::agreed::Known;
use super::shared::Table;
use crate::db::{Tx, params};
use crate::tables::{seen_files, touched};

/// Most lines of the log that are looked at.
const LOG: i64 = 5_000;
/// Most issues that are looked for in the lines.
const ISSUES: usize = 256;
/// A moment of the log, told so that it is not found in another log, or in this one after it was set back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Moment {
    line: i64,
    told: String,
}

impl Moment {
    pub(super) fn now(tx: &Tx<'_>) -> Result<Option<Self>> {
        Self::read(tx, "ORDER BY id DESC LIMIT 1", 0)
    }

    fn read(tx: &Tx<'_>, which: &str, line: i64) -> Result<Option<Self>> {
        let sql = format!("SELECT id, created_at, subject_id FROM events WHERE id >= ?1 {which}");
        tx.query_one(&sql, params![line], |row| {
            let (line, at, subject) = (row.int(0)?, row.text(1)?, row.text(2)?);
            Ok(Self { line, told: format!("{line} {at} {subject}") })
        })
    }

    /// As it is written down.
    pub(super) fn told(&self) -> &str {
        &self.told
    }

    /// Whether it is so much later than what was written down that the log in between is long to read.
    pub(super) fn is_long_after(&self, told: &str) -> bool {
        line_of(told).is_none_or(|line| self.line - line > LOG / 10)
    }

    /// The moment that was written down, if this log has it.
    fn found(tx: &Tx<'_>, told: &str) -> Result<Option<Self>> {
        let Some(line) = line_of(told) else { return Ok(None) };
        Ok(Self::read(tx, "ORDER BY id LIMIT 1", line)?.filter(|moment| moment.told == told))
    }
}

fn line_of(told: &str) -> Option<i64> {
    told.split(' ').next()?.parse().ok()
}

/// What was exported before, and the issues that were touched since.
#[derive(Debug)]
pub(super) struct Before<'k> {
    known: &'k Known,
    touched: Vec<IssueId>,
}

impl<'k> Before<'k> {
    /// Nothing if the last copy is not what an export made, or nobody can tell what happened since.
    pub(super) fn find(tx: &Tx<'_>, known: &'k Known) -> Result<Option<Self>> {
        let Some(told) = known.exported_at() else { return Ok(None) };
        let Some(moment) = Moment::found(tx, &told)? else { return Ok(None) };
        let touched = touched::since(tx, moment.line, LOG)?.filter(|touched| touched.len() <= ISSUES);
        Ok(touched.map(|touched| Self { known, touched }))
    }

    /// The lines of a file as they were, or as they are now; nothing if these records have no issues to go by.
    pub(super) fn lines(&self, tx: &Tx<'_>, table: &dyn Table) -> Result<Option<Lines>> {
        if !table.is_about_issues() {
            return Ok(None);
        }
        let Some(old) = self.known.content(table.collection())? else { return Ok(None) };
        // A copy that is no longer what was noted when it was made is not passed on.
        let head = self.known.agreement.head.as_deref().unwrap_or_default();
        if !seen_files::has(tx, &git::blob_id(&old, head))? {
            return Ok(None);
        }
        let edits = self.edits(tx, table, &old)?;
        if edits.is_empty() {
            return Ok(Some(Lines { bytes: old, is_same: true }));
        }
        let mut bytes = Vec::with_capacity(old.len() + edits.iter().map(|edit| edit.line.len()).sum::<usize>());
        let mut done = 0;
        for edit in edits {
            bytes.extend_from_slice(&old[done..edit.from]);
            bytes.extend_from_slice(&edit.line);
            done = edit.to;
        }
        bytes.extend_from_slice(&old[done..]);
        Ok(Some(Lines { bytes, is_same: false }))
    }

    /// What is to be done to the lines, in their order.
    fn edits(&self, tx: &Tx<'_>, table: &dyn Table, old: &[u8]) -> Result<Vec<Edit>> {
        let collection = table.collection();
        let mut now = Vec::new();
        for id in &self.touched {
            for record in table.about(tx, id)? {
                now.push(collection.place(&record));
            }
        }
        let mut edits = Vec::new();
        for (from, to) in mentions(old, &self.touched)? {
            let place = collection.place(&collection.read(&old[from..to])?);
            let (_, key) = &place;
            // Whatever speaks of a touched issue is looked at, though it may not be about it.
            match table.get(tx, key)? {
                Some(record) if collection.place(&record) == place => {
                    let mut line = collection.write(record)?;
                    line.push(b'\n');
                    if line != old[from..to] {
                        edits.push(Edit { from, to, line });
                    }
                    now.retain(|new| *new != place);
                }
                // It stands elsewhere now, and will be put there if it is about a touched issue.
                _ => edits.push(Edit { from, to, line: Vec::new() }),
            }
        }
        now.sort();
        now.dedup();
        for place in now {
            let Some(record) = table.get(tx, &place.1)? else { continue };
            let mut line = collection.write(record)?;
            line.push(b'\n');
            let at = position(collection, old, &place)?;
            edits.push(Edit { from: at, to: at, line });
        }
        // What is put in front of a line comes before that line; several of them are in their order already.
        edits.sort_by_key(|edit| (edit.from, edit.to));
        Ok(edits)
    }
}

/// What an export makes of a file.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) bytes: Vec<u8>,
    /// Whether they are those of the copy.
    pub(super) is_same: bool,
}

/// Bytes that become another line, or none.
#[derive(Debug)]
struct Edit {
    from: usize,
    to: usize,
    line: Vec<u8>,
}

/// The lines that speak of any of these issues, from their first byte to behind their last.
fn mentions(bytes: &[u8], issues: &[IssueId]) -> Result<Vec<(usize, usize)>> {
    if issues.is_empty() {
        return Ok(Vec::new());
    }
    let finder = AhoCorasick::new(issues.iter().map(IssueId::as_str)).map_err(Error::internal)?;
    let mut all: Vec<(usize, usize)> = Vec::new();
    for found in finder.find_iter(bytes) {
        if all.last().is_none_or(|(_, end)| found.start() >= *end) {
            let line = line_around(bytes, found.start());
            all.push(line);
        }
    }
    Ok(all)
}

/// The line in which a byte stands.
fn line_around(bytes: &[u8], at: usize) -> (usize, usize) {
    let from = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let to = bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| at + end + 1);
    (from, to)
}

/// Where a line belongs that is not there.
fn position(collection: &Collection, bytes: &[u8], place: &(String, String)) -> Result<usize> {
    let (mut low, mut high) = (0, bytes.len());
    while low < high {
        let (from, to) = line_around(bytes, low + (high - low) / 2);
        let Some(line) = lines(&bytes[from..to]).next() else { return Ok(from) };
        if collection.place(&collection.read(line.text)?) < *place { low = to } else { high = from }
    }
    Ok(low)
}

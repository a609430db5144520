//! Creates the lines of an export from the previous export, if the log tells which issues changed in between.
//!
//! Reading a whole store takes time in proportion to its size, but few issues change between two commits. In all
//! unusual cases, the export reads everything from the database.

use aho_corasick::AhoCorasick;
use pensa_core::id::IssueId;
use pensa_core::sync::{Collection, lines};
use pensa_core::{Error, Result};
use pensa_git as git;

use super::merge_base::MergeBaseCopy;
use super::synced_tables::SyncedTable;
use crate::db::Tx;
use crate::tables::{peers, touched};

/// Limit for events read.
pub(super) const MAX_LOG_LINES: i64 = 5_000;
/// Limit for changed issues that are searched for in the lines.
const MAX_TOUCHED: usize = 256;

/// The previous export, and the issues that changed since.
#[derive(Debug)]
pub(super) struct PreviousExport<'k> {
    base_copy: &'k MergeBaseCopy,
    touched: Vec<IssueId>,
}

impl<'k> PreviousExport<'k> {
    /// `None` if the merge base was not written by an export, or the changes since are not base_copy.
    pub(super) fn find(tx: &Tx<'_>, base_copy: &'k MergeBaseCopy) -> Result<Option<Self>> {
        let Some(exported) = base_copy.exported_at(tx)? else { return Ok(None) };
        let touched = touched::since(tx, exported.event, MAX_LOG_LINES)?.filter(|touched| touched.len() <= MAX_TOUCHED);
        Ok(touched.map(|touched| Self { base_copy, touched }))
    }

    /// The current lines of a file; `None` if its records do not belong to issues.
    pub(super) fn lines(&self, tx: &Tx<'_>, table: &dyn SyncedTable) -> Result<Option<ExportLines>> {
        if !table.is_about_issues() {
            return Ok(None);
        }
        let Some(old) = self.base_copy.content(table.collection())? else { return Ok(None) };
        // A copy that was changed since it was written must not be used.
        let head = self.base_copy.row.pulled.as_deref().unwrap_or_default();
        if !peers::has_seen(tx, &git::blob_id(&old, head))? {
            return Ok(None);
        }
        let edits = self.edits(tx, table, &old)?;
        if edits.is_empty() {
            return Ok(Some(ExportLines { bytes: old, is_same: true }));
        }
        let mut bytes = Vec::with_capacity(old.len() + edits.iter().map(|edit| edit.line.len()).sum::<usize>());
        let mut done = 0;
        for edit in edits {
            bytes.extend_from_slice(&old[done..edit.from]);
            bytes.extend_from_slice(&edit.line);
            done = edit.to;
        }
        bytes.extend_from_slice(&old[done..]);
        Ok(Some(ExportLines { bytes, is_same: false }))
    }

    /// The edits that bring the lines up to date, in order.
    fn edits(&self, tx: &Tx<'_>, table: &dyn SyncedTable, old: &[u8]) -> Result<Vec<Edit>> {
        let collection = table.collection();
        let mut now = Vec::new();
        for id in &self.touched {
            for record in table.records_of_issue(tx, id)? {
                now.push(collection.sort_key(&record));
            }
        }
        let mut edits = Vec::new();
        for (from, to) in lines_mentioning(old, &self.touched)? {
            let sort_key = collection.sort_key(&collection.read(&old[from..to])?);
            let (_, key) = &sort_key;
            // The record is checked even if it only mentions a changed issue.
            match table.get(tx, key)? {
                Some(record) if collection.sort_key(&record) == sort_key => {
                    let mut line = collection.write(record)?;
                    line.push(b'\n');
                    if line != old[from..to] {
                        edits.push(Edit { from, to, line });
                    }
                    now.retain(|new| *new != sort_key);
                }
                // Its sort position has changed: it is inserted again below if it belongs to a changed issue.
                _ => edits.push(Edit { from, to, line: Vec::new() }),
            }
        }
        now.sort();
        now.dedup();
        for sort_key in now {
            let Some(record) = table.get(tx, &sort_key.1)? else { continue };
            let mut line = collection.write(record)?;
            line.push(b'\n');
            let at = position(collection, old, &sort_key)?;
            edits.push(Edit { from: at, to: at, line });
        }
        // Insertions come before an edit of the line they precede. The sort is stable, so several insertions keep their
        // order.
        edits.sort_by_key(|edit| (edit.from, edit.to));
        Ok(edits)
    }
}

/// The exported lines of a file.
#[derive(Debug)]
pub(super) struct ExportLines {
    pub(super) bytes: Vec<u8>,
    /// Whether they equal the previous export.
    pub(super) is_same: bool,
}

/// A byte range to replace with another line, or with none.
#[derive(Debug)]
struct Edit {
    from: usize,
    to: usize,
    line: Vec<u8>,
}

/// The byte ranges of lines that mention any of these issues.
fn lines_mentioning(bytes: &[u8], issues: &[IssueId]) -> Result<Vec<(usize, usize)>> {
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

/// The byte range of the line that contains a position.
fn line_around(bytes: &[u8], at: usize) -> (usize, usize) {
    let from = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let to = bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| at + end + 1);
    (from, to)
}

/// Where to insert a line with this sort key.
fn position(collection: &Collection, bytes: &[u8], sort_key: &(String, String)) -> Result<usize> {
    let (mut low, mut high) = (0, bytes.len());
    while low < high {
        let (from, to) = line_around(bytes, low + (high - low) / 2);
        let Some(line) = lines(&bytes[from..to]).next() else { return Ok(from) };
        if collection.sort_key(&collection.read(line.text)?) < *sort_key { low = to } else { high = from }
    }
    Ok(low)
}

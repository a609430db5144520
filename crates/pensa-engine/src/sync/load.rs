//! Replaces the tables with the content of the files, as fast as rows can be written. Used when there is nothing to
//! merge with.

use std::collections::HashMap;

use pensa_core::id::IssueId;
use pensa_core::sync::{COLLECTIONS, ISSUES, TOMBSTONES, Tombstone, bad_line, lines};
use pensa_core::{Error, Result};
use serde_json::Value;

use super::export_dir::ExportDir;
use super::files::{self, Contents, bytes_of};
use super::import::{self, ImportInput, ImportReport, NewLines};
use super::import_base::{self, ImportBase};
use super::synced_tables::{Loaded, LoadedIds, SyncedTable, TABLES};
use super::{apply, blocker_counts, duplicates};
use crate::context::Context;
use crate::db::Tx;
use crate::entity;
use crate::progress;
use crate::tables;

/// Replaces all records with those of the files.
pub(super) fn replace(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    export_dir: &ExportDir,
    contents: &Contents,
    report: &mut ImportReport,
) -> Result<()> {
    tx.expect_many_rows()?;
    import::clear(tx)?;
    tables::recall::begin_load(tx)?;
    let [.., of_tombstones] = contents;
    let dead = tombstones(tx, export_dir, bytes_of(of_tombstones), report)?;
    let [issues, deps, ..] = contents;
    let counted = if dead.is_empty() { blocker_counts::count(bytes_of(issues), bytes_of(deps)) } else { None };
    let (is_counted, blockers) = (counted.is_some(), counted.unwrap_or_default());
    let seen = LoadedIds { blockers, ..LoadedIds::default() };
    let mut bulk = BulkLoad { tx, export_dir, dead: &dead, report, seen, second_pass: Default::default() };
    let mut counts = [0; COLLECTIONS.len()];
    progress().begin(contents.iter().map(|content| bytes_of(content).len()).sum());
    tx.bulk_load(&["issues", "deps", "comments"], || {
        for ((table, bytes), (second_pass, count)) in TABLES.into_iter().zip(contents).zip((0..).zip(&mut counts)) {
            *count = bulk.table(table, second_pass, bytes_of(bytes))?;
        }
        tables::titles::load(tx, std::mem::take(&mut bulk.seen.title_keys))?;
        if is_counted { Ok(()) } else { tables::deps::count_blockers(tx) }
    })?;
    let (second_pass, fixes) = (bulk.second_pass, bulk.seen.fixes);
    progress().end();
    let files = ImportInput { contents, has_pending: false };
    apply::apply_files(cx, tx, &ImportBase::default(), &files, &second_pass, report)?;
    clear_dangling_fixes(tx, fixes, report)?;
    tables::recall::rebuild(tx)?;
    import::log(cx, tx, counts, report.backup.as_ref())
}

/// Tombstones by collection and id.
type TombstoneMap = HashMap<(String, String), Tombstone>;

fn tombstones(tx: &Tx<'_>, export_dir: &ExportDir, bytes: &[u8], report: &mut ImportReport) -> Result<TombstoneMap> {
    import::note_encoding(&TOMBSTONES, bytes, report);
    let (mut dead, mut second_pass) = (TombstoneMap::new(), Vec::new());
    for line in lines(bytes) {
        let record = TOMBSTONES.read_line(&files::path_of(&export_dir.path, &TOMBSTONES), line)?;
        let mut tombstone: Tombstone = serde_json::from_value(Value::Object(record)).map_err(Error::internal)?;
        if !tombstone.is_in_git() {
            continue;
        }
        let name = (tombstone.collection.clone(), tombstone.id.clone());
        if let Some(other) = dead.get(&name) {
            tombstone = apply::merge_tombstones(other, tombstone)?;
            second_pass.push(line);
        }
        entity::put(tx, &tombstone)?;
        dead.insert(name, tombstone);
    }
    if !second_pass.is_empty() {
        duplicates::new_duplicates(&TOMBSTONES, bytes, &second_pass).into_iter().for_each(|note| report.note(note));
    }
    Ok(dead)
}

struct BulkLoad<'t, 'c, 'b> {
    tx: &'t Tx<'c>,
    export_dir: &'t ExportDir,
    dead: &'t TombstoneMap,
    report: &'t mut ImportReport,
    seen: LoadedIds,
    /// Lines that need a merge: their record was already loaded from another line, or was deleted.
    second_pass: NewLines<'b>,
}

impl<'b> BulkLoad<'_, '_, 'b> {
    fn table(&mut self, table: &dyn SyncedTable, at: usize, bytes: &'b [u8]) -> Result<i64> {
        let collection = table.collection();
        import::note_encoding(collection, bytes, self.report);
        let path = files::path_of(&self.export_dir.path, collection);
        let any_dead = self.dead.keys().any(|(of, _)| of == collection.name);
        let mut count = 0;
        for line in lines(bytes) {
            progress().advance(line.text.len() + 1);
            import::note_long_title(collection, line, self.report);
            if any_dead && self.has_tombstone(table, line.text) {
                collection.read_line(&path, line)?;
                self.second_pass[at].push(line);
                continue;
            }
            match table.load(self.tx, line.text, &mut self.seen) {
                Ok(Loaded::Added) => count += 1,
                Ok(Loaded::Dangling(missing)) if !self.is_deleted_issue(&missing) => {
                    self.defer(table, line.number, &missing)
                }
                Ok(Loaded::Duplicate) => self.second_pass[at].push(line),
                // Its issue may still be restored in the second pass.
                Ok(Loaded::Dangling(_)) => self.second_pass[at].push(line),
                // `read_line` gives better errors, and accepts lines of every form.
                Err(e) => match collection.read_line(&path, line) {
                    Err(e) => return Err(e),
                    Ok(_) => return Err(bad_line(&path, line.number, e)),
                },
            }
        }
        if !self.second_pass[at].is_empty() {
            let notes = duplicates::new_duplicates(collection, bytes, &self.second_pass[at]);
            notes.into_iter().for_each(|note| self.report.note(note));
        }
        Ok(count)
    }

    /// Whether the record of a line has a tombstone.
    fn has_tombstone(&self, table: &dyn SyncedTable, line: &[u8]) -> bool {
        let collection = table.collection();
        let key = import_base::key(collection, line);
        key.is_some_and(|key| self.dead.contains_key(&(collection.name.to_owned(), key)))
    }

    fn defer(&mut self, table: &dyn SyncedTable, line: usize, missing: &str) {
        let collection = table.collection();
        let file = collection.file_name();
        self.report.note(format!("{file} line {line} was left out: there is no issue {missing}"));
        self.report.deferred.insert((collection.name, line));
    }

    fn is_deleted_issue(&self, issue: &str) -> bool {
        self.dead.contains_key(&(ISSUES.name.to_owned(), issue.to_owned()))
    }
}

/// Clears references to bugs that do not exist.
fn clear_dangling_fixes(tx: &Tx<'_>, fixes: Vec<(IssueId, IssueId)>, report: &mut ImportReport) -> Result<()> {
    for (id, bug) in fixes {
        if tables::issues::get(tx, &bug)?.is_none()
            && let Some(issue) = tables::issues::get(tx, &id)?
        {
            let mut free = issue.clone();
            free.fixes = None;
            entity::replace(tx, &issue, &free)?;
            report.note(format!("{id} fixes {bug}, which does not exist"));
        }
    }
    Ok(())
}

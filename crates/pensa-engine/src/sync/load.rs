//! Makes the tables what the files are, when there is nothing to merge with: as fast as rows can be written.

use std::collections::HashMap;

use pensa_core::id::IssueId;
use pensa_core::sync::{COLLECTIONS, ISSUES, TOMBSTONES, Tombstone, bad_line, lines};
use pensa_core::{Error, Result};
use serde_json::Value;

use super::base::{self, Base};
use super::files::{self, Contents, bytes_of};
use super::import::{self, Files, News, Report};
use super::place::Place;
use super::shared::{Loaded, Seen, TABLES, Table};
use super::{count, repeated, take};
use crate::context::Context;
use crate::db::Tx;
use crate::entity;
use crate::meter;
use crate::tables;

/// Replaces everything by what the files have.
pub(super) fn replace(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    place: &Place,
    contents: &Contents,
    report: &mut Report,
) -> Result<()> {
    tx.expect_many_rows()?;
    import::clear(tx)?;
    let [.., of_tombstones] = contents;
    let dead = tombstones(tx, place, bytes_of(of_tombstones), report)?;
    let [issues, deps, ..] = contents;
    let counted = if dead.is_empty() { count::blockers(bytes_of(issues), bytes_of(deps)) } else { None };
    let (is_counted, blockers) = (counted.is_some(), counted.unwrap_or_default());
    let seen = Seen { blockers, ..Seen::default() };
    let mut loading = Loading { tx, place, dead: &dead, report, seen, again: Default::default() };
    let mut counts = [0; COLLECTIONS.len()];
    meter().begin(contents.iter().map(|content| bytes_of(content).len()).sum());
    tx.filling(&["issues", "deps", "comments"], || {
        for ((table, bytes), (again, count)) in TABLES.into_iter().zip(contents).zip((0..).zip(&mut counts)) {
            *count = loading.table(table, again, bytes_of(bytes))?;
        }
        tables::titles::load(tx, std::mem::take(&mut loading.seen.title_keys))?;
        if is_counted { Ok(()) } else { tables::deps::count_blockers(tx) }
    })?;
    let (again, fixes) = (loading.again, loading.seen.fixes);
    meter().end();
    let files = Files { contents, waits: false };
    take::all(cx, tx, &Base::default(), &files, &again, report)?;
    free_fixers(tx, fixes, report)?;
    import::log(cx, tx, counts)
}

/// Tombstones by collection and id.
type Dead = HashMap<(String, String), Tombstone>;

fn tombstones(tx: &Tx<'_>, place: &Place, bytes: &[u8], report: &mut Report) -> Result<Dead> {
    import::remark(&TOMBSTONES, bytes, report);
    let (mut dead, mut again) = (Dead::new(), Vec::new());
    for line in lines(bytes) {
        let record = TOMBSTONES.read_line(&files::path_of(&place.dir, &TOMBSTONES), line)?;
        let mut tombstone: Tombstone = serde_json::from_value(Value::Object(record)).map_err(Error::internal)?;
        if !tombstone.is_in_git() {
            continue;
        }
        let name = (tombstone.collection.clone(), tombstone.id.clone());
        if let Some(other) = dead.get(&name) {
            tombstone = take::both(other, tombstone)?;
            again.push(line);
        }
        entity::put(tx, &tombstone)?;
        dead.insert(name, tombstone);
    }
    if !again.is_empty() {
        repeated::repeated_by(&TOMBSTONES, bytes, &again).into_iter().for_each(|note| report.note(note));
    }
    Ok(dead)
}

struct Loading<'t, 'c, 'b> {
    tx: &'t Tx<'c>,
    place: &'t Place,
    dead: &'t Dead,
    report: &'t mut Report,
    seen: Seen,
    /// Lines for a second look: they say something about a record that another line has made, or that was deleted.
    again: News<'b>,
}

impl<'b> Loading<'_, '_, 'b> {
    fn table(&mut self, table: &dyn Table, at: usize, bytes: &'b [u8]) -> Result<i64> {
        let collection = table.collection();
        import::remark(collection, bytes, self.report);
        let path = files::path_of(&self.place.dir, collection);
        let any_dead = self.dead.keys().any(|(of, _)| of == collection.name);
        let mut count = 0;
        for line in lines(bytes) {
            meter().advance(line.text.len() + 1);
            import::remark_title(collection, line, self.report);
            if any_dead && self.is_buried(table, line.text) {
                collection.read_line(&path, line)?;
                self.again[at].push(line);
                continue;
            }
            match table.load(self.tx, line.text, &mut self.seen) {
                Ok(Loaded::Taken) => count += 1,
                Ok(Loaded::Dangling(missing)) if !self.is_dead(&missing) => {
                    self.leave_out(table, line.number, &missing)
                }
                Ok(Loaded::Again) => self.again[at].push(line),
                // Its issue may still turn out to be alive.
                Ok(Loaded::Dangling(_)) => self.again[at].push(line),
                // The slower way knows better what is wrong, and takes lines of every form.
                Err(e) => match collection.read_line(&path, line) {
                    Err(told) => return Err(told),
                    Ok(_) => return Err(bad_line(&path, line.number, e)),
                },
            }
        }
        if !self.again[at].is_empty() {
            let told = repeated::repeated_by(collection, bytes, &self.again[at]);
            told.into_iter().for_each(|note| self.report.note(note));
        }
        Ok(count)
    }

    /// Whether a tombstone speaks of the record of this line.
    fn is_buried(&self, table: &dyn Table, line: &[u8]) -> bool {
        let collection = table.collection();
        let key = base::key(collection, line);
        key.is_some_and(|key| self.dead.contains_key(&(collection.name.to_owned(), key)))
    }

    fn leave_out(&mut self, table: &dyn Table, line: usize, missing: &str) {
        let collection = table.collection();
        let file = collection.file_name();
        self.report.note(format!("{file} line {line} was left out: there is no issue {missing}"));
        self.report.left_out.insert((collection.name, line));
    }

    fn is_dead(&self, issue: &str) -> bool {
        self.dead.contains_key(&(ISSUES.name.to_owned(), issue.to_owned()))
    }
}

/// An issue cannot fix a bug that is not there.
fn free_fixers(tx: &Tx<'_>, fixes: Vec<(IssueId, IssueId)>, report: &mut Report) -> Result<()> {
    for (id, bug) in fixes {
        if tables::issues::get(tx, &bug)?.is_none()
            && let Some(issue) = tables::issues::get(tx, &id)?
        {
            let mut free = issue.clone();
            free.fixes = None;
            tables::issues::replace(tx, &issue, &free)?;
            report.note(format!("{id} fixes {bug}, which does not exist"));
        }
    }
    Ok(())
}

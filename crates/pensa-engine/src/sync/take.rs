//! Takes records from files into tables that have their own versions of them.

use std::collections::{HashMap, HashSet};

use pensa_core::sync::{Conflict, ISSUES, Line, Record, TOMBSTONES, Tombstone};
use pensa_core::{Error, Result, Timestamp};
use serde_json::Value;

use super::base::{self, Base};
use super::import::{News, Report};
use super::renumber::{self, Renamed};
use super::shared::{self, TABLES, Table};
use crate::context::Context;
use crate::db::Tx;
use crate::meter;
use crate::tables::{issues, tombstones};

/// Takes in what is new of every collection.
pub(super) fn all(cx: &Context<'_>, tx: &Tx<'_>, base: &Base, news: &News<'_>, report: &mut Report) -> Result<()> {
    let [.., of_tombstones] = news;
    let buried = bury(tx, of_tombstones)?;
    meter().begin(news.iter().flatten().map(|line| line.text.len() + 1).sum());
    let mut taking = Taking { cx, tx, base, report, renamed: Renamed::default() };
    for (table, incoming) in TABLES.into_iter().zip(news) {
        let touched = taking.table(table, incoming)?;
        if table.collection().name == ISSUES.name {
            taking.check_fixes(&touched)?;
        }
        for tombstone in buried.iter().filter(|tombstone| tombstone.collection == table.collection().name) {
            taking.remove_dead(table, tombstone)?;
        }
    }
    meter().end();
    Ok(())
}

/// Takes in tombstones; gives back those that say something new.
fn bury(tx: &Tx<'_>, news: &[Line<'_>]) -> Result<Vec<Tombstone>> {
    let mut buried = Vec::new();
    for line in news {
        let record = TOMBSTONES.read(line.text)?;
        let theirs: Tombstone = tombstone(record.clone())?;
        let known = tombstones::get(tx, &theirs.collection, &theirs.id)?;
        let merged = match &known {
            None => theirs,
            Some(known) => {
                let Value::Object(ours) = serde_json::to_value(known).map_err(Error::internal)? else { continue };
                // Without a base each of the two times is simply the later one.
                let mut merged = tombstone(TOMBSTONES.merge(None, &ours, &record, |_, _| false).record)?;
                merged.restored_at = known.restored_at.max(theirs.restored_at);
                merged
            }
        };
        if known.as_ref() != Some(&merged) {
            tombstones::put(tx, &merged)?;
            buried.push(merged);
        }
    }
    Ok(buried)
}

fn tombstone(record: Record) -> Result<Tombstone> {
    serde_json::from_value(Value::Object(record)).map_err(|e| Error::invalid(e.to_string()))
}

/// A record from a file.
struct Incoming {
    line: usize,
    record: Record,
}

struct Taking<'t, 'c> {
    cx: &'t Context<'c>,
    tx: &'t Tx<'c>,
    base: &'t Base,
    report: &'t mut Report,
    renamed: Renamed,
}

impl Taking<'_, '_> {
    /// Takes in what is new of one table; gives back the keys of what it looked at.
    fn table(&mut self, table: &'static dyn Table, news: &[Line<'_>]) -> Result<Vec<(usize, String)>> {
        let collection = table.collection();
        let wanted: HashSet<String> = news.iter().filter_map(|line| base::key(collection, line.text)).collect();
        let bases = self.base.versions(collection, wanted);
        let mut lines: HashMap<String, usize> = HashMap::new();
        let mut touched = Vec::new();
        for line in news {
            meter().advance(line.text.len() + 1);
            let mut incoming = Incoming { line: line.number, record: collection.read(line.text)? };
            self.renamed.follow(self.tx, table, &mut incoming.record)?;
            let key = collection.key(&incoming.record);
            if let Some(first) = lines.insert(key.clone(), incoming.line) {
                let file = collection.file_name();
                self.report.note(format!("{file} has {key} twice, in lines {first} and {}", incoming.line));
            }
            touched.push((incoming.line, key.clone()));
            let base = bases.before(&key, &incoming.record).cloned();
            self.one(table, base.as_ref(), incoming)?;
        }
        Ok(touched)
    }

    fn one(&mut self, table: &'static dyn Table, base: Option<&Record>, incoming: Incoming) -> Result<()> {
        let Incoming { line, record: theirs } = incoming;
        let collection = table.collection();
        let key = collection.key(&theirs);
        let ours = table.get(self.tx, &key)?;
        let merged = match &ours {
            Some(ours) if *ours == theirs => return Ok(()),
            Some(ours) if collection.birth(ours) != collection.birth(&theirs) => {
                return self.two_of_a_name(table, ours.clone(), Incoming { line, record: theirs });
            }
            Some(ours) => self.merge(table, &key, base, ours, &theirs)?,
            None => theirs,
        };
        let merged = collection.settle(merged)?;
        if let Some(tombstone) = tombstones::get(self.tx, collection.name, &key)?
            && is_dead(table, &tombstone, &merged)?
        {
            self.lost_to(table, &tombstone, &merged)?;
            return ours.map_or(Ok(()), |ours| table.remove(self.cx, self.tx, ours));
        }
        if let Some(missing) = self.missing(table, &merged)? {
            return self.leave_out(table, line, &missing);
        }
        if ours.as_ref() == Some(&merged) {
            return Ok(());
        }
        table.put(self.cx, self.tx, ours, merged)
    }

    fn merge(
        &mut self,
        table: &dyn Table,
        key: &str,
        base: Option<&Record>,
        ours: &Record,
        theirs: &Record,
    ) -> Result<Record> {
        let collection = table.collection();
        let mut failed = None;
        let was_known = |field: &str, value: &Value| {
            table.has_had(self.tx, key, field, value).unwrap_or_else(|e| {
                failed = Some(e);
                false
            })
        };
        let merged = collection.merge(base, ours, theirs, was_known);
        if let Some(e) = failed {
            return Err(e);
        }
        for clash in merged.clashes {
            self.report.conflict(self.cx, self.tx, &Conflict::new(collection.name, key, clash)?)?;
        }
        Ok(merged.record)
    }

    /// The issue that a record rests on and that is not there.
    fn missing(&self, table: &dyn Table, record: &Record) -> Result<Option<String>> {
        for id in table.rests_on(record) {
            if issues::get(self.tx, &id.parse()?)?.is_none() {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// A line whose issue was deleted goes with it; one whose issue has not arrived waits in its file.
    fn leave_out(&mut self, table: &dyn Table, line: usize, missing: &str) -> Result<()> {
        let collection = table.collection();
        if tombstones::get(self.tx, ISSUES.name, missing)?.is_none() {
            let file = collection.file_name();
            self.report.note(format!("{file} line {line} was left out: there is no issue {missing}"));
            self.report.left_out.insert((collection.name, line));
        }
        Ok(())
    }

    /// Removes a record that a new tombstone covers.
    fn remove_dead(&mut self, table: &dyn Table, tombstone: &Tombstone) -> Result<()> {
        let Some(record) = table.get(self.tx, &tombstone.id)? else { return Ok(()) };
        if !is_dead(table, tombstone, &record)? {
            return Ok(());
        }
        self.lost_to(table, tombstone, &record)?;
        table.remove(self.cx, self.tx, record)
    }

    /// Notes an edit that whoever deleted the record did not know of.
    fn lost_to(&mut self, table: &dyn Table, tombstone: &Tombstone, record: &Record) -> Result<()> {
        let is_unknown = match (tombstone.version, changed(table, record)?) {
            (Some(known), Some(changed)) => changed > known,
            _ => false,
        };
        if is_unknown {
            let conflict = Conflict::deleted(table.collection().name, &tombstone.id, record.clone())?;
            self.report.conflict(self.cx, self.tx, &conflict)?;
        }
        Ok(())
    }

    /// Two stores gave the same id to two issues.
    fn two_of_a_name(&mut self, table: &'static dyn Table, ours: Record, theirs: Incoming) -> Result<()> {
        let collection = table.collection();
        let (old, new) = (collection.key(&ours), renumber::new_name(collection, &ours, &theirs.record)?);
        if renumber::ours_moves(collection, &ours, &theirs.record) {
            renumber::move_row(self.cx, self.tx, table, &old, &new)?;
            self.report.note(format!("two {} had the id {old}: the one here is now {new}", collection.name));
            return self.one(table, None, theirs);
        }
        self.report.note(format!("two {} had the id {old}: the one from the file is now {new}", collection.name));
        let mut record = theirs.record;
        record.insert("id".into(), new.clone().into());
        self.renamed.note(table, old, new);
        self.one(table, None, Incoming { line: theirs.line, record })
    }

    /// An issue cannot fix a bug that is not there.
    fn check_fixes(&mut self, touched: &[(usize, String)]) -> Result<()> {
        for (line, key) in touched {
            let Some(issue) = issues::get(self.tx, &key.parse()?)? else { continue };
            let Some(bug) = &issue.fixes else { continue };
            if issues::get(self.tx, bug)?.is_none() {
                let mut free = issue.clone();
                let bug = free.fixes.take().map(|bug| bug.to_string()).unwrap_or_default();
                issues::replace(self.tx, &issue, &free)?;
                self.leave_out(TABLES[0], *line, &bug)?;
            }
        }
        Ok(())
    }
}

fn is_dead(table: &dyn Table, tombstone: &Tombstone, record: &Record) -> Result<bool> {
    Ok(match changed(table, record)? {
        Some(changed) => tombstone.covers(changed),
        None => tombstone.holds(),
    })
}

/// When a record was last changed, if it tells.
fn changed(table: &dyn Table, record: &Record) -> Result<Option<Timestamp>> {
    let version = table.collection().version(record);
    if version.is_empty() { Ok(None) } else { version.parse().map(Some) }
}

/// Takes what a conflict did not keep.
pub(crate) fn take_other(cx: &Context<'_>, tx: &Tx<'_>, conflict: &Conflict) -> Result<()> {
    let table = shared::of(&conflict.collection)
        .ok_or_else(|| Error::invalid(format!("{} is no collection of this version", conflict.collection)))?;
    let collection = table.collection();
    let ours = table.get(tx, &conflict.record_id)?;
    let mut record = match (&ours, conflict.field == Conflict::DELETED) {
        (None, true) => Record::new(),
        (Some(record), _) => record.clone(),
        (None, false) => return Err(Error::not_found("record", &conflict.record_id).hint("it was deleted meanwhile")),
    };
    for (field, value) in &conflict.whole {
        match value {
            Value::Null => drop(record.remove(field)),
            value => drop(record.insert(field.clone(), value.clone())),
        }
    }
    if let Some(version) = collection.version_field() {
        record.insert(version.into(), Value::String(cx.now.to_string()));
    }
    table.put(cx, tx, ours, collection.settle(record)?)
}

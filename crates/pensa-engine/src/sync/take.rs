//! Takes records from files into tables that have their own versions of them.

use std::collections::{HashMap, HashSet};

use pensa_core::event::{self, EventType};
use pensa_core::sync::{COMMENTS, Conflict, DEPS, ISSUES, Line, Record, TOMBSTONES, Tombstone, lines};
use pensa_core::{Error, Result, Timestamp};
use serde_json::Value;

use super::base::{self, Base};
use super::files::bytes_of;
use super::import::{Files, News, Report};
use super::renumber::{self, Renamed};
use super::shared::{self, TABLES, Table};
use crate::context::Context;
use crate::db::Tx;
use crate::entity;
use crate::meter;
use crate::tables::{comments, cycle, deps, events, issues, tombstones};

/// Dependencies of one import that are looked at for cycles; `pn doctor` looks at all.
const MAX_CYCLE_CHECKS: usize = 100;

/// Takes in what is new of every collection.
pub(super) fn all<'b>(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    base: &Base,
    files: &Files<'b>,
    news: &News<'b>,
    report: &mut Report,
) -> Result<()> {
    let [.., of_tombstones] = news;
    let told = of_tombstones.iter().map(|line| TOMBSTONES.read(line.text).and_then(tombstone));
    let mut told = told.collect::<Result<Vec<_>>>()?;
    told.retain(Tombstone::is_in_git);
    let buried = bury(cx, tx, told)?;
    meter().begin(news.iter().flatten().map(|line| line.text.len() + 1).sum());
    let mut taking =
        Taking { cx, tx, base, report, renamed: Renamed::default(), arrived: HashSet::new(), is_exact: false };
    for ((table, incoming), content) in TABLES.into_iter().zip(news).zip(files.contents) {
        let touched = taking.table(table, incoming)?;
        if table.collection().name == DEPS.name {
            taking.tell_cycles(&touched)?;
        }
        if table.collection().name == ISSUES.name {
            taking.check_fixes(&touched)?;
            taking.keep_those_awaited(files.waits)?;
        } else {
            // They were no news as long as there was nothing to which they belong.
            let taken: HashSet<usize> = touched.iter().map(|(line, _)| *line).collect();
            let awaited = lines(bytes_of(content)).filter(|line| !taken.contains(&line.number));
            let awaited: Vec<Line<'_>> = match taking.arrived.is_empty() {
                true => Vec::new(),
                false => awaited.filter(|line| base::rests_on(line.text, &taking.arrived)).collect(),
            };
            taking.table(table, &awaited)?;
        }
        for tombstone in buried.iter().filter(|tombstone| tombstone.collection == table.collection().name) {
            taking.remove_dead(table, tombstone)?;
        }
    }
    meter().end();
    Ok(())
}

/// Takes in tombstones; gives back those that say something new.
pub(super) fn bury(cx: &Context<'_>, tx: &Tx<'_>, told: Vec<Tombstone>) -> Result<Vec<Tombstone>> {
    let mut buried = Vec::new();
    for theirs in told {
        let known = tombstones::get(tx, &theirs.collection, &theirs.id)?;
        let merged = match &known {
            None => theirs,
            Some(known) => both(known, theirs)?,
        };
        if known.as_ref() != Some(&merged) {
            entity::put(tx, &merged)?;
            log_grave(cx, tx, known.as_ref(), &merged)?;
            buried.push(merged);
        }
    }
    Ok(buried)
}

/// A tombstone may be all that a store has of a record, so it is told by an event of its own.
fn log_grave(cx: &Context<'_>, tx: &Tx<'_>, old: Option<&Tombstone>, new: &Tombstone) -> Result<()> {
    let event = if new.holds() { EventType::Deleted } else { EventType::Updated };
    let key = entity::key_of(new)?;
    events::append(cx, tx, ("tombstone", &key), None, event, event::differences(old, new)).map(drop)
}

/// Two tombstones of one record. They come from what they have in common, and of the times the later one holds.
pub(super) fn both(ours: &Tombstone, theirs: Tombstone) -> Result<Tombstone> {
    let record = |tombstone: &Tombstone| match serde_json::to_value(tombstone) {
        Ok(Value::Object(record)) => Ok(record),
        _ => Err(Error::internal("a tombstone is an object")),
    };
    let (ours, theirs) = (record(ours)?, record(&theirs)?);
    let common: Record = ours.clone().into_iter().filter(|(field, value)| theirs.get(field) == Some(value)).collect();
    tombstone(TOMBSTONES.merge(Some(&common), &ours, &theirs, |_, _| None).record)
}

pub(super) fn tombstone(record: Record) -> Result<Tombstone> {
    serde_json::from_value(Value::Object(record)).map_err(|e| Error::invalid(e.to_string()))
}

/// A record from a file or another store.
pub(super) struct Incoming {
    pub(super) line: usize,
    pub(super) record: Record,
}

pub(super) struct Taking<'t, 'c> {
    cx: &'t Context<'c>,
    tx: &'t Tx<'c>,
    base: &'t Base,
    pub(super) report: &'t mut Report,
    renamed: Renamed,
    /// Issues that were not there before.
    arrived: HashSet<String>,
    /// Whether a base is just what both sides had, so that nobody needs to guess what is old.
    is_exact: bool,
}

impl<'t, 'c> Taking<'t, 'c> {
    /// Takes in what another store sends; `no_files` is the base of nothing.
    pub(super) fn exact(cx: &'t Context<'c>, tx: &'t Tx<'c>, no_files: &'t Base, report: &'t mut Report) -> Self {
        Self { cx, tx, base: no_files, report, renamed: Renamed::default(), arrived: HashSet::new(), is_exact: true }
    }

    /// Makes a record follow an issue that got another id with it.
    pub(super) fn follow(&self, table: &dyn Table, record: &mut Record) -> Result<()> {
        self.renamed.follow(self.tx, table, record)
    }
}

impl Taking<'_, '_> {
    /// Takes in what is new of one table; gives back the keys of what it looked at.
    fn table(&mut self, table: &'static dyn Table, news: &[Line<'_>]) -> Result<Vec<(usize, String)>> {
        let collection = table.collection();
        let wanted: HashSet<String> = news.iter().filter_map(|line| base::key(collection, line.text)).collect();
        let bases = self.base.versions(collection, &wanted);
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
            let base = bases.get(&key).filter(|base| collection.birth(base) == collection.birth(&incoming.record));
            // A version older than the one it comes from is one that somebody put back.
            if base.is_some_and(|base| collection.version(&incoming.record) < collection.version(base)) {
                self.report.passed_over = true;
                continue;
            }
            self.one(table, base, incoming)?;
        }
        Ok(touched)
    }

    pub(super) fn one(&mut self, table: &'static dyn Table, base: Option<&Record>, incoming: Incoming) -> Result<()> {
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
        let mut merged = collection.settle(merged)?;
        self.tell_edit(table, base, ours.as_ref(), &mut merged);
        if let Some(tombstone) = tombstones::get(self.tx, collection.name, &key)?
            && is_dead(table, &tombstone, &merged)?
        {
            self.lost_to(table, &tombstone, &merged)?;
            return ours.map_or(Ok(()), |ours| table.remove(self.cx, self.tx, ours));
        }
        if let Some(missing) = self.missing(table, &merged)? {
            return self.leave_out(table, line, &missing, &merged);
        }
        if ours.as_ref() == Some(&merged) {
            return Ok(());
        }
        if ours.is_none() && collection.name == ISSUES.name {
            self.arrived.insert(key);
        }
        table.put(self.cx, self.tx, ours, merged)
    }

    /// What somebody wrote into a file by hand without a new time gets one, so that others know it for a change.
    fn tell_edit(&self, table: &dyn Table, base: Option<&Record>, ours: Option<&Record>, merged: &mut Record) {
        let collection = table.collection();
        let (Some(field), Some(base), Some(ours)) = (collection.version_field(), base, ours) else { return };
        let is_same = |one: &Record, other: &Record| collection.version(one) == collection.version(other);
        // A merge of two versions has the time of the later one, in every clone.
        if self.base.is_edited && is_same(base, ours) && is_same(ours, merged) && ours != merged {
            let last = collection.version(merged).parse().unwrap_or(self.cx.now);
            merged.insert(field.into(), Value::String(issues::after(self.cx, last).to_string()));
        }
    }

    /// Of the issues that are new, those to which lines may belong that were passed over before: some wait in the
    /// files, or the issue was deleted and has come back.
    fn keep_those_awaited(&mut self, any: bool) -> Result<()> {
        if any {
            return Ok(());
        }
        let mut deleted = HashSet::new();
        for id in std::mem::take(&mut self.arrived) {
            if tombstones::get(self.tx, ISSUES.name, &id)?.is_some() {
                deleted.insert(id);
            }
        }
        self.arrived = deleted;
        Ok(())
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
        let left_at = |field: &str, value: &Value| {
            if self.is_exact && base.is_some() {
                return None;
            }
            table.left_at(self.tx, key, field, value).unwrap_or_else(|e| {
                failed = Some(e);
                None
            })
        };
        let merged = collection.merge(base, ours, theirs, left_at);
        if let Some(e) = failed {
            return Err(e);
        }
        for clash in merged.clashes {
            self.report.conflict(self.cx, self.tx, &Conflict::new(collection.name, key, clash)?)?;
        }
        Ok(merged.record)
    }

    /// The issue that a record rests on and that is not there.
    pub(super) fn missing(&self, table: &dyn Table, record: &Record) -> Result<Option<String>> {
        for id in table.rests_on(record) {
            if issues::get(self.tx, &id.parse()?)?.is_none() {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// A line whose issue was deleted goes with it; one whose issue has not arrived waits in its file.
    fn leave_out(&mut self, table: &dyn Table, line: usize, missing: &str, record: &Record) -> Result<()> {
        let collection = table.collection();
        if let Some(tombstone) = tombstones::get(self.tx, ISSUES.name, missing)? {
            return self.unheard(table, &tombstone, record);
        }
        let file = collection.file_name();
        self.report.note(format!("{file} line {line} was left out: there is no issue {missing}"));
        self.report.left_out.insert((collection.name, line));
        Ok(())
    }

    /// Notes a comment that whoever deleted its issue did not know of.
    fn unheard(&mut self, table: &dyn Table, tombstone: &Tombstone, record: &Record) -> Result<()> {
        let (collection, key) = (table.collection(), table.collection().key(record));
        if collection.name != COMMENTS.name || tombstone.comments.contains(&key) {
            return Ok(());
        }
        self.report.conflict(self.cx, self.tx, &Conflict::deleted(collection, &key, record.clone())?)
    }

    /// Removes a record that a new tombstone covers.
    pub(super) fn remove_dead(&mut self, table: &dyn Table, tombstone: &Tombstone) -> Result<()> {
        let Some(record) = table.get(self.tx, &tombstone.id)? else { return Ok(()) };
        if !is_dead(table, tombstone, &record)? {
            return Ok(());
        }
        self.lost_to(table, tombstone, &record)?;
        if table.collection().name == ISSUES.name {
            for child in deps::children(self.tx, &tombstone.id.parse()?)? {
                let (child, id, actor) = (&child.id, &tombstone.id, &tombstone.actor);
                self.report.note(format!("{child} no longer waits for {id}, which {actor} deleted"));
            }
        }
        table.remove(self.cx, self.tx, record)
    }

    /// Notes an edit that whoever deleted the record did not know of.
    fn lost_to(&mut self, table: &dyn Table, tombstone: &Tombstone, record: &Record) -> Result<()> {
        let is_unknown = match (tombstone.version, changed(table, record)?) {
            (Some(known), Some(changed)) => changed > known,
            _ => false,
        };
        if is_unknown {
            let conflict = Conflict::deleted(table.collection(), &tombstone.id, record.clone())?;
            self.report.conflict(self.cx, self.tx, &conflict)?;
        }
        if table.collection().name == ISSUES.name {
            for comment in comments::of_issue(self.tx, &tombstone.id.parse()?)? {
                let comments = shared::of(COMMENTS.name).map(|table| (table, table.get(self.tx, comment.id.as_str())));
                if let Some((comments, Ok(Some(record)))) = comments {
                    self.unheard(comments, tombstone, &record)?;
                }
            }
        }
        Ok(())
    }

    /// Two stores gave the same id to two issues.
    fn two_of_a_name(&mut self, table: &'static dyn Table, ours: Record, theirs: Incoming) -> Result<()> {
        let collection = table.collection();
        let (old, new) = (collection.key(&ours), renumber::new_name(collection, &ours, &theirs.record)?);
        self.report.renamed = true;
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

    /// No command closes a cycle, but two branches can each bring half of one.
    pub(super) fn tell_cycles(&mut self, touched: &[(usize, String)]) -> Result<()> {
        for (_, key) in touched.iter().take(MAX_CYCLE_CHECKS) {
            let Some((child, parent)) = key.split_once(' ') else { continue };
            let (child, parent) = (child.parse()?, parent.parse()?);
            if deps::exists(self.tx, &child, &parent)? && cycle::would_close(self.tx, &child, &parent)? {
                self.report.note(format!("{child} and {parent} now wait for each other; pn doctor shows the cycle"));
            }
        }
        Ok(())
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
                self.leave_out(TABLES[0], *line, &bug, &Record::new())?;
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

//! Applies incoming records to tables that have their own versions of them.

use std::collections::{HashMap, HashSet};

use pensa_core::event::{self, EventType};
use pensa_core::issue::Issue;
use pensa_core::sync::{COMMENTS, Clash, Conflict, DEPS, FileLine, ISSUES, SyncObject, TOMBSTONES, Tombstone, lines};
use pensa_core::{Error, Result, Span, Timestamp, graph};
use serde_json::Value;

use super::files::bytes_of;
use super::import::{ImportInput, ImportReport, NewLines};
use super::import_base::{self, ImportBase};
use super::renumber::{self, RenamedIds};
use super::synced_tables::{self, SyncedTable, TABLES};
use crate::context::Context;
use crate::db::Tx;
use crate::entity;
use crate::progress;
use crate::tables::{comments, cycle, deps, events, issues, tombstones};

/// Dependencies per import that are checked for cycles; `pn doctor` checks all.
const MAX_CYCLE_CHECKS: usize = 100;

/// Applies the new lines of all collections.
pub(super) fn apply_files<'b>(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    base: &ImportBase,
    files: &ImportInput<'b>,
    news: &NewLines<'b>,
    report: &mut ImportReport,
) -> Result<()> {
    let [.., of_tombstones] = news;
    let received = of_tombstones.iter().map(|line| TOMBSTONES.read(line.text).and_then(parse_tombstone));
    let mut received = received.collect::<Result<Vec<_>>>()?;
    received.retain(Tombstone::is_in_git);
    let applied = apply_tombstones(cx, tx, received)?;
    progress().begin(news.iter().flatten().map(|line| line.text.len() + 1).sum());
    let mut changes = RemoteChanges {
        cx,
        tx,
        base,
        report,
        renamed: RenamedIds::default(),
        new_issues: HashSet::new(),
        // Files that were merged outside may already hold a cycle.
        may_close_cycle: true,
        is_exact: false,
    };
    for ((table, incoming), content) in TABLES.into_iter().zip(news).zip(files.contents) {
        let touched = changes.apply_table(table, incoming)?;
        if table.collection().name == DEPS.name {
            changes.break_cycles()?;
            changes.note_cycles(&touched)?;
        }
        if table.collection().name == ISSUES.name {
            changes.check_fixes(&touched)?;
            changes.retain_resurrected(files.has_pending)?;
        } else {
            // These lines were skipped before, because their issue did not exist.
            let applied_lines: HashSet<usize> = touched.iter().map(|(line, _)| *line).collect();
            let awaited = lines(bytes_of(content)).filter(|line| !applied_lines.contains(&line.number));
            let awaited: Vec<FileLine<'_>> = match changes.new_issues.is_empty() {
                true => Vec::new(),
                false => awaited.filter(|line| import_base::refers_to_any(line.text, &changes.new_issues)).collect(),
            };
            changes.apply_table(table, &awaited)?;
        }
        for tombstone in applied.iter().filter(|tombstone| tombstone.collection == table.collection().name) {
            changes.remove_deleted(table, tombstone)?;
        }
    }
    progress().end();
    Ok(())
}

/// Applies tombstones. Returns those that are new or changed.
pub(super) fn apply_tombstones(cx: &Context<'_>, tx: &Tx<'_>, received: Vec<Tombstone>) -> Result<Vec<Tombstone>> {
    let mut applied = Vec::new();
    for theirs in received {
        let known = tombstones::get(tx, &theirs.collection, &theirs.id)?;
        let merged = match &known {
            None => theirs,
            Some(known) => merge_tombstones(known, theirs)?,
        };
        if known.as_ref() != Some(&merged) {
            entity::put(tx, &merged)?;
            log_tombstone(cx, tx, known.as_ref(), &merged)?;
            applied.push(merged);
        }
    }
    Ok(applied)
}

/// A tombstone may be all that a store has of a record, so it gets an event of its own.
fn log_tombstone(cx: &Context<'_>, tx: &Tx<'_>, old: Option<&Tombstone>, new: &Tombstone) -> Result<()> {
    let event = if new.is_in_force() { EventType::Deleted } else { EventType::Updated };
    let key = entity::key_of(new)?;
    events::append(cx, tx, ("tombstone", &key), None, event, event::differences(old, new)).map(drop)
}

/// Merges two tombstones of one record. The base is what they have in common; the later time wins.
pub(super) fn merge_tombstones(ours: &Tombstone, theirs: Tombstone) -> Result<Tombstone> {
    let record = |tombstone: &Tombstone| match serde_json::to_value(tombstone) {
        Ok(Value::Object(record)) => Ok(record),
        _ => Err(Error::internal("a tombstone is an object")),
    };
    let (ours, theirs) = (record(ours)?, record(&theirs)?);
    let common: SyncObject =
        ours.clone().into_iter().filter(|(field, value)| theirs.get(field) == Some(value)).collect();
    parse_tombstone(TOMBSTONES.merge(Some(&common), &ours, &theirs, |_, _| None).record)
}

pub(super) fn parse_tombstone(record: SyncObject) -> Result<Tombstone> {
    serde_json::from_value(Value::Object(record)).map_err(|e| Error::invalid(e.to_string()))
}

/// A record from a file or another store.
pub(super) struct Incoming {
    pub(super) line: usize,
    pub(super) record: SyncObject,
}

/// Applies incoming records one by one, and remembers what affects later ones.
pub(super) struct RemoteChanges<'t, 'c> {
    cx: &'t Context<'c>,
    tx: &'t Tx<'c>,
    base: &'t ImportBase,
    pub(super) report: &'t mut ImportReport,
    renamed: RenamedIds,
    /// Issues that did not exist before.
    new_issues: HashSet<String>,
    /// Whether a dependency or a parent came that was not there before.
    may_close_cycle: bool,
    /// Whether each base is exactly what both sides had, so that older values need not be searched for in the log.
    is_exact: bool,
}

impl<'t, 'c> RemoteChanges<'t, 'c> {
    /// For records of another store, which come with their bases; `no_files` is an empty base.
    pub(super) fn exact(
        cx: &'t Context<'c>,
        tx: &'t Tx<'c>,
        no_files: &'t ImportBase,
        report: &'t mut ImportReport,
    ) -> Self {
        Self {
            cx,
            tx,
            base: no_files,
            report,
            renamed: RenamedIds::default(),
            new_issues: HashSet::new(),
            may_close_cycle: false,
            is_exact: true,
        }
    }

    /// Adapts a record to an issue that got another id in the same exchange.
    pub(super) fn follow(&self, table: &dyn SyncedTable, record: &mut SyncObject) -> Result<()> {
        self.renamed.follow(self.tx, table, record)
    }
}

impl RemoteChanges<'_, '_> {
    /// Applies the new lines of one table. Returns the line numbers and keys.
    fn apply_table(&mut self, table: &'static dyn SyncedTable, news: &[FileLine<'_>]) -> Result<Vec<(usize, String)>> {
        let collection = table.collection();
        let wanted: HashSet<String> = news.iter().filter_map(|line| import_base::key(collection, line.text)).collect();
        let bases = self.base.versions(collection, &wanted);
        let mut lines: HashMap<String, usize> = HashMap::new();
        let mut touched = Vec::new();
        for line in news {
            progress().advance(line.text.len() + 1);
            let mut incoming = Incoming { line: line.number, record: collection.read(line.text)? };
            self.renamed.follow(self.tx, table, &mut incoming.record)?;
            let key = collection.key(&incoming.record);
            if let Some(first) = lines.insert(key.clone(), incoming.line) {
                let file = collection.file_name();
                self.report.note(format!("{file} has {key} twice, in lines {first} and {}", incoming.line));
            }
            touched.push((incoming.line, key.clone()));
            let base = bases.get(&key).filter(|base| collection.birth(base) == collection.birth(&incoming.record));
            // A version older than its base was restored from history, by a checkout for example: skip it.
            if base.is_some_and(|base| collection.version(&incoming.record) < collection.version(base)) {
                self.report.skipped_older = true;
                continue;
            }
            self.apply(table, base, incoming)?;
        }
        Ok(touched)
    }

    pub(super) fn apply(
        &mut self,
        table: &'static dyn SyncedTable,
        base: Option<&SyncObject>,
        incoming: Incoming,
    ) -> Result<()> {
        let Incoming { line, record: theirs } = incoming;
        let collection = table.collection();
        let key = collection.key(&theirs);
        let ours = table.get(self.tx, &key)?;
        let merged = match &ours {
            Some(ours) if *ours == theirs => return Ok(()),
            Some(ours) if collection.birth(ours) != collection.birth(&theirs) => {
                return self.resolve_id_clash(table, ours.clone(), Incoming { line, record: theirs });
            }
            Some(ours) => self.merge(table, &key, base, ours, &theirs)?,
            None => theirs,
        };
        let mut merged = collection.normalise(merged)?;
        self.date_edit(table, base, ours.as_ref(), &mut merged);
        if let Some(tombstone) = tombstones::get(self.tx, collection.name, &key)?
            && is_deleted_by(table, &tombstone, &merged)?
        {
            self.note_lost_edit(table, &tombstone, &merged)?;
            return ours.map_or(Ok(()), |ours| table.remove(self.cx, self.tx, ours));
        }
        if let Some(missing) = self.missing_issue(table, &merged)? {
            return self.defer(table, line, &missing, &merged);
        }
        if ours.as_ref() == Some(&merged) {
            return Ok(());
        }
        if ours.is_none() && collection.name == ISSUES.name {
            self.new_issues.insert(key);
        }
        let parent = |record: Option<&SyncObject>| record.and_then(|record| record.get("parent")).cloned();
        self.may_close_cycle |= collection.name == DEPS.name
            || collection.name == ISSUES.name && parent(Some(&merged)) != parent(ours.as_ref());
        table.put(self.cx, self.tx, ours, merged)
    }

    /// If somebody edited a file by hand and kept the time, sets a new one, so that other stores see a change.
    fn date_edit(
        &self,
        table: &dyn SyncedTable,
        base: Option<&SyncObject>,
        ours: Option<&SyncObject>,
        merged: &mut SyncObject,
    ) {
        let collection = table.collection();
        let (Some(field), Some(base), Some(ours)) = (collection.version_field(), base, ours) else { return };
        let is_same = |one: &SyncObject, other: &SyncObject| collection.version(one) == collection.version(other);
        // A merge result has the later time of the two versions, in every clone, so it needs no new one.
        if self.base.is_edited && is_same(base, ours) && is_same(ours, merged) && ours != merged {
            let last = collection.version(merged).parse().unwrap_or(self.cx.now);
            merged.insert(field.into(), Value::String(issues::after(self.cx, last).to_string()));
        }
    }

    /// Lines that were skipped before may belong to new issues. Unless lines are pending, this is only possible for
    /// issues that were deleted and restored, so forget the others.
    fn retain_resurrected(&mut self, any: bool) -> Result<()> {
        if any {
            return Ok(());
        }
        let mut deleted = HashSet::new();
        for id in std::mem::take(&mut self.new_issues) {
            if tombstones::get(self.tx, ISSUES.name, &id)?.is_some() {
                deleted.insert(id);
            }
        }
        self.new_issues = deleted;
        Ok(())
    }

    fn merge(
        &mut self,
        table: &dyn SyncedTable,
        key: &str,
        base: Option<&SyncObject>,
        ours: &SyncObject,
        theirs: &SyncObject,
    ) -> Result<SyncObject> {
        let collection = table.collection();
        let mut failed = None;
        let left_at = |field: &str, value: &Value| {
            if self.is_exact && base.is_some() {
                return None;
            }
            table.replaced_at(self.tx, key, field, value).unwrap_or_else(|e| {
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

    /// The id of an issue that a record needs and that does not exist.
    pub(super) fn missing_issue(&self, table: &dyn SyncedTable, record: &SyncObject) -> Result<Option<String>> {
        for id in table.required_issues(record) {
            if issues::get(self.tx, &id.parse()?)?.is_none() {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Drops a line whose issue was deleted. If the issue has not arrived yet, the line stays pending in its file.
    fn defer(&mut self, table: &dyn SyncedTable, line: usize, missing: &str, record: &SyncObject) -> Result<()> {
        let collection = table.collection();
        if let Some(tombstone) = tombstones::get(self.tx, ISSUES.name, missing)? {
            return self.note_lost_comment(table, &tombstone, record);
        }
        let file = collection.file_name();
        self.report.note(format!("{file} line {line} was left out: there is no issue {missing}"));
        self.report.deferred.insert((collection.name, line));
        Ok(())
    }

    /// Records a conflict for a comment that was unknown where its issue was deleted.
    fn note_lost_comment(&mut self, table: &dyn SyncedTable, tombstone: &Tombstone, record: &SyncObject) -> Result<()> {
        let (collection, key) = (table.collection(), table.collection().key(record));
        if collection.name != COMMENTS.name || tombstone.comments.contains(&key) {
            return Ok(());
        }
        self.report.conflict(self.cx, self.tx, &Conflict::deleted(collection, &key, record.clone())?)
    }

    /// Deletes a record that a new tombstone covers.
    pub(super) fn remove_deleted(&mut self, table: &dyn SyncedTable, tombstone: &Tombstone) -> Result<()> {
        let Some(record) = table.get(self.tx, &tombstone.id)? else { return Ok(()) };
        if !is_deleted_by(table, tombstone, &record)? {
            return Ok(());
        }
        self.note_lost_edit(table, tombstone, &record)?;
        if table.collection().name == ISSUES.name {
            for child in deps::children(self.tx, &tombstone.id.parse()?)? {
                let (child, id, actor) = (&child.id, &tombstone.id, &tombstone.actor);
                self.report.note(format!("{child} no longer waits for {id}, which {actor} deleted"));
            }
        }
        table.remove(self.cx, self.tx, record)
    }

    /// Records a conflict for an edit that was unknown where the record was deleted.
    fn note_lost_edit(&mut self, table: &dyn SyncedTable, tombstone: &Tombstone, record: &SyncObject) -> Result<()> {
        let is_unknown = match (tombstone.version, version_time(table, record)?) {
            (Some(known), Some(changed)) => changed > known,
            _ => false,
        };
        if is_unknown {
            let conflict = Conflict::deleted(table.collection(), &tombstone.id, record.clone())?;
            self.report.conflict(self.cx, self.tx, &conflict)?;
        }
        if table.collection().name == ISSUES.name {
            for comment in comments::of_issue(self.tx, &tombstone.id.parse()?)? {
                let comments =
                    synced_tables::of(COMMENTS.name).map(|table| (table, table.get(self.tx, comment.id.as_str())));
                if let Some((comments, Ok(Some(record)))) = comments {
                    self.note_lost_comment(comments, tombstone, &record)?;
                }
            }
        }
        Ok(())
    }

    /// Handles two records with the same random id: one gets a new id.
    fn resolve_id_clash(&mut self, table: &'static dyn SyncedTable, ours: SyncObject, theirs: Incoming) -> Result<()> {
        let collection = table.collection();
        let (old, new) = (collection.key(&ours), renumber::new_id(collection, &ours, &theirs.record)?);
        self.report.renamed = true;
        if renumber::ours_moves(collection, &ours, &theirs.record) {
            renumber::rename_row(self.cx, self.tx, table, &old, &new)?;
            self.report.note(format!("two {} had the id {old}: the one here is now {new}", collection.name));
            return self.apply(table, None, theirs);
        }
        self.report.note(format!("two {} had the id {old}: the one from the file is now {new}", collection.name));
        let mut record = theirs.record;
        record.insert("id".into(), new.clone().into());
        self.renamed.add(table, old, new);
        self.apply(table, None, Incoming { line: theirs.line, record })
    }

    /// Commands refuse to close a cycle, but two branches can each bring half of one.
    pub(super) fn note_cycles(&mut self, touched: &[(usize, String)]) -> Result<()> {
        for (_, key) in touched.iter().take(MAX_CYCLE_CHECKS) {
            let Some((child, parent)) = key.split_once(' ') else { continue };
            let (child, parent) = (child.parse()?, parent.parse()?);
            if deps::exists(self.tx, &child, &parent)? && cycle::would_close(self.tx, &child, &parent)? {
                self.report.note(format!("{child} and {parent} now wait for each other; pn doctor shows the cycle"));
            }
        }
        Ok(())
    }

    /// Two branches can each bring half of a cycle. If a parent is part of it, the issue that was changed last loses its
    /// parent, with a conflict; every clone picks the same one.
    pub(super) fn break_cycles(&mut self) -> Result<()> {
        while std::mem::take(&mut self.may_close_cycle) && issues::any_parents(self.tx)? {
            for cycle in graph::cycles(&deps::waits(self.tx)?) {
                let mut children = Vec::new();
                for (waiting, child) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
                    let child = issues::get(self.tx, child)?;
                    children.extend(child.filter(|child| child.parent.as_ref() == Some(waiting)));
                }
                let last = children.into_iter().max_by(|a, b| (a.updated_at, &a.id).cmp(&(b.updated_at, &b.id)));
                if let Some(child) = last {
                    self.drop_parent(child)?;
                    self.may_close_cycle = true;
                }
            }
        }
        Ok(())
    }

    fn drop_parent(&mut self, issue: Issue) -> Result<()> {
        let mut free = issue.clone();
        let parent = Value::from(free.parent.take().map(|parent| parent.to_string()));
        free.updated_at = issue.updated_at.plus(Span::from_millis(1));
        entity::replace(self.tx, &issue, &free)?;
        let detail = event::changes(Some(&issue), &free);
        events::log(self.cx, self.tx, &free.id, EventType::Updated, detail)?;
        let whole = SyncObject::from_iter([("parent".to_owned(), parent.clone())]);
        let (field, kept, version) = ("parent".to_owned(), Value::Null, issue.updated_at.to_string());
        let clash = Clash { field, kept, other: parent, whole, version };
        self.report.conflict(self.cx, self.tx, &Conflict::new(ISSUES.name, issue.id.as_str(), clash)?)
    }

    /// Clears references to bugs that do not exist.
    fn check_fixes(&mut self, touched: &[(usize, String)]) -> Result<()> {
        for (line, key) in touched {
            let Some(issue) = issues::get(self.tx, &key.parse()?)? else { continue };
            let Some(bug) = &issue.fixes else { continue };
            if issues::get(self.tx, bug)?.is_none() {
                let mut free = issue.clone();
                let bug = free.fixes.take().map(|bug| bug.to_string()).unwrap_or_default();
                entity::replace(self.tx, &issue, &free)?;
                let detail = event::changes(Some(&issue), &free);
                events::log(self.cx, self.tx, &free.id, EventType::Updated, detail)?;
                self.defer(TABLES[0], *line, &bug, &SyncObject::new())?;
            }
        }
        Ok(())
    }
}

fn is_deleted_by(table: &dyn SyncedTable, tombstone: &Tombstone, record: &SyncObject) -> Result<bool> {
    Ok(match version_time(table, record)? {
        Some(changed) if table.collection().outlives_unknown => tombstones::covers(tombstone, changed, record),
        Some(changed) => tombstone.covers(changed),
        None => tombstone.is_in_force(),
    })
}

/// When a record was last changed; `None` if it has no version.
fn version_time(table: &dyn SyncedTable, record: &SyncObject) -> Result<Option<Timestamp>> {
    let version = table.collection().version(record);
    if version.is_empty() { Ok(None) } else { version.parse().map(Some) }
}

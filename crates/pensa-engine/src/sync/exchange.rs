//! Exchanges records with another store: the same merge as for files, with a base for each record.

use pensa_core::ops::sync::{
    ApplyRecords, ApplyReport, ApplyStatus, Changes, ChangesPage, MAX_ENTRIES, RecordOutcome, SESSION_ENTRIES,
    SyncRecord,
};
use pensa_core::session::SessionHead;
use pensa_core::sync::{AGENTS, COMMENTS, Collection, DEPS, ISSUES, SESSIONS, SyncObject, TOMBSTONES, Tombstone};
use pensa_core::{Access, Code, Error, Result};
use serde_json::Value;

use super::apply::{self, Incoming, RemoteChanges};
use super::change_feed::{self, ChangedRecord, FeedKind};
use super::cursor::{Cursor, LogPosition};
use super::import::ImportReport;
use super::import_base::ImportBase;
use super::peer_state::{PeerSyncState, ReceivedChanges};
use super::sessions;
use super::synced_tables::{self, SyncedTable};
use crate::context::Context;
use crate::db::Tx;
use crate::tables::{issues, tombstones};

/// Returns a page of changes.
pub(crate) fn changes(cx: &Context<'_>, tx: &Tx<'_>, op: &Changes) -> Result<ChangesPage> {
    let limit = op
        .limit
        .and_then(|limit| usize::try_from(limit).ok())
        .unwrap_or(change_feed::DEFAULT_LIMIT)
        .clamp(1, change_feed::DEFAULT_LIMIT);
    let of = if op.sessions { FeedKind::Sessions } else { FeedKind::Others };
    let page = change_feed::page(tx, of, op.after.as_deref(), limit)?;
    let sent = |ChangedRecord { collection, id, line }: ChangedRecord| {
        line.map(|line| SyncRecord { collection: collection.to_owned(), id, line, base: None })
    };
    Ok(ChangesPage {
        store_id: cx.store.id()?,
        entries: page.records.into_iter().filter_map(sent).collect(),
        cursor: page.cursor.to_string(),
        more: page.more,
        looked_at: page.looked_at,
        restarted: page.restarted,
    })
}

/// A received record.
struct ReceivedRecord {
    collection: Option<&'static Collection>,
    record: SyncObject,
    base: Option<SyncObject>,
    /// The line as this version writes it.
    line: String,
    fate: ApplyStatus,
}

/// Applies received records, and updates the sync state of the peer.
pub(crate) fn apply_records(cx: &Context<'_>, tx: &Tx<'_>, op: &ApplyRecords) -> Result<ApplyReport> {
    if op.entries.len() > MAX_ENTRIES {
        let message = format!("{} records at once; the limit is {MAX_ENTRIES}", op.entries.len());
        return Err(Error::new(Code::TooLarge, message).hint("send them in parts"));
    }
    let before = LogPosition::end(tx)?;
    // The store that keeps the sync state brings changes that others made in the peer.
    let proxy = op.peer.as_ref().map(|_| cx.as_proxy());
    let cx = proxy.as_ref().unwrap_or(cx);
    let peer = op.peer.as_ref().map(|progress| PeerSyncState::open(tx, progress)).transpose()?;
    let (entries, records): (Vec<&SyncRecord>, Vec<&SyncRecord>) =
        op.entries.iter().partition(|sent| sent.collection == SESSION_ENTRIES);
    let mut items = Vec::with_capacity(records.len());
    for entry in records.iter().copied() {
        let read = |e: Error| e.within(format_args!("{} {}", entry.collection, entry.id));
        items.push(ReceivedRecord::read(tx, entry, peer.as_ref()).map_err(read)?);
    }
    let (mut report, no_files) = (ImportReport::default(), ImportBase::default());
    merge(
        &mut RecordApplier { cx, tx, items: &mut items, refuses_records_singly: peer.is_none() },
        &no_files,
        &mut report,
    )?;
    let fates = sessions::apply_entries(cx, tx, &entries, peer.as_ref(), &mut report)?;
    let changed = LogPosition::end(tx)?.event - before.event;
    let mut of_records = outcomes(tx, &records, &mut items, peer.as_ref())?.into_iter();
    let mut of_entries = fates.into_iter().map(RecordOutcome::of);
    let outcomes = op.entries.iter().filter_map(|sent| match sent.collection == SESSION_ENTRIES {
        true => of_entries.next(),
        false => of_records.next(),
    });
    let outcomes = outcomes.collect();
    let mut answer = ApplyReport {
        outcomes,
        changed,
        conflicts: report.conflicts,
        notes: report.notes,
        renamed: report.renamed,
        before: Cursor::Log(before).to_string(),
        after: String::new(),
        turn: 0,
        pulled: None,
    };
    if let (Some(peer), Some(progress)) = (peer, &op.peer) {
        progress.held.iter().try_for_each(|named| peer.mark_dirty(tx, named))?;
        progress.gone.iter().try_for_each(|named| peer.forget(tx, named))?;
        let is_tombstone = |item: &ReceivedRecord| item.collection.is_some_and(|it| it.name == TOMBSTONES.name);
        let is_only_received = !answer.renamed && !items.iter().any(is_tombstone);
        let has_pending = items.iter().any(|item| item.fate == ApplyStatus::Waits);
        let row = peer.save(cx, tx, progress, ReceivedChanges { before, has_pending, is_only_received })?;
        (answer.turn, answer.pulled) = (row.turn, row.pulled);
    }
    answer.after = Cursor::Log(LogPosition::end(tx)?).to_string();
    Ok(answer)
}

impl ReceivedRecord {
    fn read(tx: &Tx<'_>, entry: &SyncRecord, peer: Option<&PeerSyncState>) -> Result<Self> {
        let collection = Collection::named(&entry.collection);
        let Some(known) = collection else {
            return Ok(Self {
                collection,
                record: SyncObject::new(),
                base: None,
                line: String::new(),
                fate: ApplyStatus::Unknown,
            });
        };
        let record = known.read(entry.line.as_bytes())?;
        if known.key(&record) != entry.id {
            return Err(Error::invalid(format!("its line is that of {}", known.key(&record))));
        }
        if !known.carries(&entry.id) {
            return Err(Error::invalid("it is one of a machine, which does not travel"));
        }
        let base = match (&entry.base, peer) {
            (Some(base), _) => Some(base.clone()),
            (None, Some(peer)) => peer.base(tx, known.name, &entry.id)?,
            (None, None) => None,
        };
        let base = base.map(|line| known.read(line.as_bytes())).transpose()?;
        let base = base.filter(|base| known.birth(base) == known.birth(&record) && known.key(base) == entry.id);
        let line = String::from_utf8(known.write(record.clone())?).map_err(Error::internal)?;
        Ok(Self { collection, record, base, line, fate: ApplyStatus::Waits })
    }

    fn is_in(&self, collection: &Collection) -> bool {
        self.collection.is_some_and(|own| own.name == collection.name)
    }
}

/// Applies received records on behalf of a caller.
struct RecordApplier<'d, 'c> {
    cx: &'d Context<'c>,
    tx: &'d Tx<'c>,
    items: &'d mut [ReceivedRecord],
    /// Whether a record that the caller may not change is refused alone, instead of the whole request.
    refuses_records_singly: bool,
}

/// Merges all records, in the order of an import.
fn merge(applier: &mut RecordApplier<'_, '_>, no_files: &ImportBase, report: &mut ImportReport) -> Result<()> {
    let (cx, tx) = (applier.cx, applier.tx);
    let applied_tombstones = apply::apply_tombstones(cx, tx, applier.tombstones()?)?;
    let mut remote = RemoteChanges::exact(cx, tx, no_files, report);
    for table in synced_tables::all() {
        let mut left: Vec<usize> =
            (0..applier.items.len()).filter(|at| applier.items[*at].is_in(table.collection())).collect();
        // Of two records with one id, the older keeps it, so it must come first.
        left.sort_by_key(|at| table.collection().birth(&applier.items[*at].record).to_owned());
        loop {
            let waiting = applier.records(table, &mut remote, &left)?;
            if waiting.is_empty() || waiting.len() == left.len() {
                break;
            }
            left = waiting;
        }
        if table.collection().name == DEPS.name {
            let applied = applier.items.iter().filter(|item| item.is_in(&DEPS) && item.fate == ApplyStatus::Applied);
            let keys: Vec<(usize, String)> = applied.map(|item| (0, DEPS.key(&item.record))).collect();
            remote.break_cycles()?;
            remote.note_cycles(&keys)?;
        }
        for tombstone in applied_tombstones.iter().filter(|tombstone| tombstone.collection == table.collection().name) {
            remote.remove_deleted(table, tombstone)?;
        }
    }
    Ok(())
}

impl RecordApplier<'_, '_> {
    /// The tombstones that the caller may apply. Deleting requires the same rights as a local deletion.
    fn tombstones(&mut self) -> Result<Vec<Tombstone>> {
        let mut brought = Vec::new();
        for at in 0..self.items.len() {
            if !self.items[at].is_in(&TOMBSTONES) {
                continue;
            }
            let theirs = apply::parse_tombstone(self.items[at].record.clone())?;
            let known = tombstones::get(self.tx, &theirs.collection, &theirs.id)?;
            let is_news = match &known {
                None => true,
                Some(known) => apply::merge_tombstones(known, theirs.clone())? != *known,
            };
            let needs =
                synced_tables::of(&theirs.collection).map_or(Access::Maintain, |table| table.collection().removal);
            let is_fine = !is_news || self.may(needs, "taking in a deletion")?;
            self.items[at].fate = if is_fine { ApplyStatus::Applied } else { ApplyStatus::Refused };
            if is_fine {
                brought.push(theirs);
            }
        }
        Ok(brought)
    }

    fn may(&self, needs: Access, what: &str) -> Result<bool> {
        match self.cx.require(needs, what) {
            Ok(()) => Ok(true),
            Err(e) if self.refuses_records_singly && e.code == Code::Forbidden => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Applies records of one table. Returns those that wait for other records.
    fn records(
        &mut self,
        table: &'static dyn SyncedTable,
        remote: &mut RemoteChanges<'_, '_>,
        some: &[usize],
    ) -> Result<Vec<usize>> {
        let mut waiting = Vec::new();
        for at in some.iter().copied() {
            let mut record = self.items[at].record.clone();
            remote.follow(table, &mut record)?;
            if self.is_pending(table, remote, &mut record)? {
                waiting.push(at);
            } else if !self.may_change(table, &record)? {
                self.items[at].fate = ApplyStatus::Refused;
            } else {
                if table.collection().name == SESSIONS.name {
                    record = sessions::with_local_entry_count(self.tx, record)?;
                }
                remote.apply(table, self.items[at].base.as_ref(), Incoming { line: at, record })?;
                self.items[at].fate = ApplyStatus::Applied;
            }
        }
        Ok(waiting)
    }

    /// Whether a record needs an issue or agent that has not arrived. References to deleted ones are removed.
    fn is_pending(
        &self,
        table: &'static dyn SyncedTable,
        remote: &RemoteChanges<'_, '_>,
        record: &mut SyncObject,
    ) -> Result<bool> {
        let bug = record.get("fixes").and_then(Value::as_str).filter(|_| table.collection().name == ISSUES.name);
        if let Some(bug) = bug.map(str::to_owned)
            && issues::get(self.tx, &bug.parse()?)?.is_none()
        {
            if tombstones::get(self.tx, ISSUES.name, &bug)?.is_none() {
                return Ok(true);
            }
            record.remove("fixes");
        }
        let parent = record.get("parent_id").and_then(Value::as_str).filter(|_| table.collection().name == AGENTS.name);
        if let Some(parent) = parent.map(str::to_owned)
            && table.get(self.tx, &parent)?.is_none()
        {
            if tombstones::get(self.tx, AGENTS.name, &parent)?.is_none() {
                return Ok(true);
            }
            record.shift_remove("parent_id");
        }
        if table.collection().name == SESSIONS.name && sessions::is_agent_pending(self.tx, record)? {
            return Ok(true);
        }
        match remote.missing_issue(table, record)? {
            Some(missing) => Ok(tombstones::get(self.tx, ISSUES.name, &missing)?.is_none()),
            None => Ok(false),
        }
    }

    /// Records that no command can edit cannot be edited by sync either, except with higher rights.
    fn may_change(&self, table: &'static dyn SyncedTable, record: &SyncObject) -> Result<bool> {
        let collection = table.collection();
        if collection.version_field().is_some() {
            return Ok(true);
        }
        let ours = table.get(self.tx, &collection.key(record))?;
        let is_edit = ours.is_some_and(|ours| ours != *record && collection.birth(&ours) == collection.birth(record));
        let what = if collection.name == COMMENTS.name { "changing a comment" } else { "changing what is settled" };
        Ok(!is_edit || self.may(Access::Maintain, what)?)
    }
}

fn read_head(line: &str) -> Result<SessionHead> {
    serde_json::from_str(line).map_err(Error::internal)
}

/// The outcome of each record, saved in the peer's sync state.
fn outcomes(
    tx: &Tx<'_>,
    entries: &[&SyncRecord],
    items: &mut [ReceivedRecord],
    peer: Option<&PeerSyncState>,
) -> Result<Vec<RecordOutcome>> {
    let mut outcomes = Vec::with_capacity(items.len());
    for (item, entry) in items.iter_mut().zip(entries) {
        let (Some(collection), ApplyStatus::Applied) = (item.collection, item.fate) else {
            // The peer has returned this record, but it cannot be applied yet: send it again later.
            if let (Some(peer), ApplyStatus::Waits, true) = (peer, item.fate, entry.base.is_some()) {
                peer.mark_dirty(tx, &entry.key())?;
            }
            outcomes.push(RecordOutcome::of(item.fate));
            continue;
        };
        let here = change_feed::current_line(tx, collection.name, &entry.id)?;
        if let Some(peer) = peer {
            peer.record_base(tx, collection.name, &entry.id, &item.line, here.as_deref())?;
        }
        if here.is_none() {
            item.fate = ApplyStatus::Gone;
        }
        let mut outcome = RecordOutcome::of(item.fate);
        if let (Some(peer), Some(here), true) = (peer, &here, collection.name == SESSIONS.name) {
            let (theirs, ours): (SessionHead, SessionHead) = (read_head(&item.line)?, read_head(here)?);
            let agreed = peer.entries(tx, &ours.session.id)?.min(ours.entries);
            outcome.fetch_after = (theirs.entries > agreed).then_some(agreed);
            outcome.send_after = (theirs.entries <= agreed && theirs.entries < ours.entries).then_some(theirs.entries);
        }
        outcome.line = here.filter(|here| *here != item.line);
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

//! Syncs two stores: sends changes in both directions until neither has anything new for the other.
//!
//! The stores decide what to send, merge records and keep the sync state; this module only transports. It can be
//! interrupted anywhere: the state advances only with the records it covers, and repeating a transfer changes nothing.

use std::time::Duration;

use backon::{BlockingRetryable, ExponentialBuilder};
use pensa_core::ops::session::History;
use pensa_core::ops::store::Info;
use pensa_core::ops::sync::{
    ApplyRecords, ApplyReport, ApplyStatus, Changes, ChangesPage, Peer, Peers, Pending, PendingPage, RecordKey,
    RecordOutcome, SESSION_ENTRIES, SyncProgress, SyncRecord, is_sessions_peer, sessions_peer,
};
use pensa_core::session::Entry;
use pensa_core::{Code, Error, Result, json};
use serde::{Deserialize, Serialize};

use crate::Client;

/// Maximum rounds in both directions; two are enough unless there are concurrent changes.
const MAX_ROUNDS: usize = 20;
/// Delays before retrying when another sync of the same stores was running.
const RETRY_DELAYS: ExponentialBuilder = ExponentialBuilder::new()
    .with_min_delay(Duration::from_millis(100))
    .with_max_delay(Duration::from_millis(400))
    .with_max_times(4);
/// The position in the log is also recorded after this many events that changed no record.
const RECORD_AFTER_EVENTS: i64 = 500;
/// Maximum session entries per request; the store also limits a page by size.
const ENTRIES_PER_PAGE: u32 = 1000;
/// Maximum notes in the summary.
const MAX_NOTES: usize = 20;

/// Syncs the local store, which keeps the sync state, with a remote one.
#[derive(Debug)]
pub struct StoreSync<'a> {
    pub local: &'a Client,
    pub remote: &'a Client,
    /// Name and URL of the remote store
    pub name: String,
    pub url: String,
    /// Whether to sync sessions of agents too
    pub sessions: bool,
}

/// The result of a sync.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncSummary {
    /// Always `ok`
    pub status: String,
    pub remote: String,
    pub store_id: String,
    /// Changes made in the local store
    pub pulled: i64,
    /// Records accepted by the remote store
    pub pushed: i64,
    /// Values overwritten in a merge, on either side
    pub conflicts: i64,
    /// Records that the remote store did not accept; they are sent again by the next sync
    pub held: i64,
    pub notes: Vec<String>,
}

impl SyncSummary {
    /// Whether anything changed on either side.
    pub fn is_any(&self) -> bool {
        self.pulled > 0 || self.pushed > 0
    }

    fn add(&mut self, more: SyncSummary) {
        self.pulled += more.pulled;
        self.pushed += more.pushed;
        self.conflicts += more.conflicts;
        self.held += more.held;
        more.notes.into_iter().for_each(|note| self.note(note));
    }

    fn note(&mut self, note: String) {
        if self.notes.len() < MAX_NOTES && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// Whether a sync that changed nothing records its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordSyncTime {
    Always,
    /// Only if something changed: otherwise a process that watches the store would sync again.
    IfChanged,
}

impl StoreSync<'_> {
    /// Syncs everything.
    pub fn run(&self, note: RecordSyncTime) -> Result<SyncSummary> {
        let is_busy = |e: &Error| e.code == Code::Busy && e.message.contains("another sync");
        (|| self.try_run(note)).retry(RETRY_DELAYS).when(is_busy).call()
    }

    fn try_run(&self, note: RecordSyncTime) -> Result<SyncSummary> {
        let store_id = self.remote.call(&Info {}).map_err(|e| self.remote_error(e))?.store_id;
        let mut done = self.sync_peer(&store_id, &store_id, note)?;
        if self.sessions {
            // Sessions refer to agents, so they are synced after them.
            match self.sync_peer(&store_id, &sessions_peer(&store_id), note) {
                Ok(more) => done.add(more),
                Err(e) if e.code == Code::InvalidInput && e.message.contains("unknown field `sessions`") => {
                    done.note(format!("{} does not know sessions; its pn is older than this one", self.name));
                }
                Err(e) => return Err(e),
            }
        }
        Ok(SyncSummary { status: "ok".into(), remote: self.name.clone(), store_id, ..done })
    }

    /// Syncs the records that belong to one peer state: records, or sessions.
    fn sync_peer(&self, store_id: &str, peer_id: &str, note: RecordSyncTime) -> Result<SyncSummary> {
        let peer = self.peer_state(peer_id)?;
        let mut session =
            SyncSession { sync: self, store_id: store_id.to_owned(), peer, summary: SyncSummary::default() };
        let was_new = session.peer.pulled.is_none();
        for round in 0.. {
            let (pulled, pushed) = (session.pull()?, session.push()?);
            if !pulled && !pushed {
                break;
            }
            if round == MAX_ROUNDS {
                session.summary.note("more has changed meanwhile; sync again".into());
                break;
            }
        }
        if note == RecordSyncTime::Always || session.summary.is_any() || was_new {
            session.record_progress(Vec::new(), SyncProgress { done: true, ..SyncProgress::default() })?;
        }
        Ok(SyncSummary { held: self.peer_state(peer_id)?.held, ..session.summary })
    }

    /// Reads the sync state.
    fn peer_state(&self, peer_id: &str) -> Result<Peer> {
        let query = Peers { peer: Some(peer_id.to_owned()), limit: Some(0) };
        let unknown = || Error::internal("the books say nothing");
        self.local.call(&query)?.pop().ok_or_else(unknown)
    }

    /// Marks an error as coming from the remote store.
    fn remote_error(&self, error: Error) -> Error {
        if error.code == Code::NotFound && error.message.starts_with("path not found") {
            return Error::new(Code::Unsupported, format!("{} does not know how to sync", self.name))
                .hint("its pn is older than this one; update it");
        }
        error.within(&self.name)
    }
}

struct SyncSession<'e, 'a> {
    sync: &'e StoreSync<'a>,
    store_id: String,
    peer: Peer,
    summary: SyncSummary,
}

impl SyncSession<'_, '_> {
    /// Applies remote changes to the local store. Returns whether anything was new.
    fn pull(&mut self) -> Result<bool> {
        let (mut any, mut deferred, mut after) = (false, Vec::new(), self.peer.pulled.clone());
        loop {
            let page = self.changes(after.clone())?;
            if page.restarted {
                self.summary.note(format!(
                    "{} is not what it was: its data was replaced, so everything is compared again",
                    self.sync.name
                ));
                self.record_progress(Vec::new(), SyncProgress { afresh: true, ..SyncProgress::default() })?;
            }
            let ChangesPage { entries, cursor, more, looked_at, .. } = page;
            let should_record = more || looked_at >= RECORD_AFTER_EVENTS || self.peer.pulled.is_none();
            let should_apply = !entries.is_empty() || should_record;
            if should_apply || !deferred.is_empty() {
                let all: Vec<SyncRecord> = std::mem::take(&mut deferred).into_iter().chain(entries).collect();
                let progress = SyncProgress { pulled: Some(cursor.clone()), ..SyncProgress::default() };
                // Entries come before the new log position is recorded, so that an interrupted sync repeats them.
                any |= self.is_on_sessions() && self.pull_entries(&all)?;
                let taken = self.record_progress(all.clone(), progress)?;
                any |= taken.changed > 0;
                self.summary.pulled += taken.changed;
                deferred = self.deferred(all, &taken.outcomes);
                if taken.renamed {
                    // The record got another id here; push that first, before more changes refer to the remote's id.
                    return Ok(true);
                }
            }
            after = Some(cursor);
            if !more {
                break;
            }
        }
        if !deferred.is_empty() {
            let (count, name) = (deferred.len(), &self.sync.name);
            self.summary.note(format!("{count} records wait for issues that {name} does not have"));
        }
        Ok(any)
    }

    fn changes(&self, after: Option<String>) -> Result<ChangesPage> {
        let query = Changes { after, limit: None, sessions: self.is_on_sessions() };
        let page = self.sync.remote.call(&query).map_err(|e| self.sync.remote_error(e))?;
        if page.store_id == self.store_id {
            return Ok(page);
        }
        Err(Error::new(Code::Busy, format!("{} became another store during the sync", self.sync.name))
            .hint("try again"))
    }

    fn is_on_sessions(&self) -> bool {
        is_sessions_peer(&self.peer.store_id)
    }

    /// Applies sessions and fetches their missing entries. Returns whether anything was new.
    fn pull_entries(&mut self, heads: &[SyncRecord]) -> Result<bool> {
        let before = self.summary.pulled;
        let taken = self.record_progress(heads.to_vec(), SyncProgress::default())?;
        self.summary.pulled += taken.changed;
        for (head, outcome) in heads.iter().zip(&taken.outcomes) {
            let Some(mut count) = outcome.fetch_after else { continue };
            loop {
                let entries = session_entries(self.sync.remote, head, count).map_err(|e| self.sync.remote_error(e))?;
                count += i64::try_from(entries.len()).unwrap_or(i64::MAX);
                if entries.is_empty() {
                    break;
                }
                let taken = self.record_progress(entries, SyncProgress::default())?;
                self.summary.pulled += taken.changed;
                if taken.outcomes.iter().any(|outcome| outcome.fate != ApplyStatus::Applied) {
                    break;
                }
            }
        }
        Ok(self.summary.pulled > before)
    }

    /// Sends the entries of a session that the remote store lacks. Entries that it refuses wait for the next round.
    fn push_entries(&mut self, head: &SyncRecord, after: i64) -> Result<()> {
        let mut count = after;
        loop {
            let entries = session_entries(self.sync.local, head, count)?;
            let Some(last) = entries.last().cloned() else { return Ok(()) };
            count += i64::try_from(entries.len()).unwrap_or(i64::MAX);
            let op = ApplyRecords { entries, peer: None };
            let taken = self.sync.remote.call(&op).map_err(|e| self.sync.remote_error(e))?;
            if taken.outcomes.iter().any(|outcome| outcome.fate != ApplyStatus::Applied) {
                return Ok(());
            }
            self.summary.pushed += i64::try_from(taken.outcomes.len()).unwrap_or(i64::MAX);
            let acknowledged = SyncRecord { base: Some(last.line.clone()), ..last };
            self.record_progress(vec![acknowledged], SyncProgress::default())?;
        }
    }

    /// The records that must be applied again later, because they refer to records that have not arrived yet.
    fn deferred(&mut self, all: Vec<SyncRecord>, outcomes: &[RecordOutcome]) -> Vec<SyncRecord> {
        let mut deferred = Vec::new();
        for (sent, outcome) in all.into_iter().zip(outcomes) {
            match outcome.fate {
                ApplyStatus::Waits => deferred.push(sent),
                ApplyStatus::Unknown => {
                    let (name, collection) = (&self.sync.name, &sent.collection);
                    self.summary.note(format!("{name} has {collection}, which this version does not know; update pn"));
                }
                ApplyStatus::Applied | ApplyStatus::Gone | ApplyStatus::Refused => {}
            }
        }
        deferred
    }

    /// Sends local changes to the remote store. Returns whether it accepted any.
    fn push(&mut self) -> Result<bool> {
        let (mut any, mut after) = (false, None);
        loop {
            let query = Pending { peer: self.peer.store_id.clone(), after, limit: None };
            let queue = self.sync.local.call(&query)?;
            any |= self.send(&queue)?;
            match queue.next {
                Some(next) => after = Some(next),
                None => return Ok(any),
            }
        }
    }

    /// Sends one page of changes and records the outcome.
    fn send(&mut self, queue: &PendingPage) -> Result<bool> {
        let PendingPage { entries, gone, pushed, next, looked_at } = queue;
        if entries.is_empty() {
            // Recording progress adds an event to the log, so recording it every time would never end.
            let is_first = pushed.is_some() && self.peer.pushed.is_none();
            if !gone.is_empty() || next.is_some() || is_first || *looked_at >= RECORD_AFTER_EVENTS {
                let progress = SyncProgress { pushed: pushed.clone(), gone: gone.clone(), ..SyncProgress::default() };
                self.record_progress(Vec::new(), progress)?;
            }
            return Ok(false);
        }
        let op = ApplyRecords { entries: entries.clone(), peer: None };
        let taken = self.sync.remote.call(&op).map_err(|e| self.sync.remote_error(e))?;
        if taken.outcomes.len() != entries.len() {
            return Err(Error::new(Code::Unreachable, format!("{} answered something else", self.sync.name)));
        }
        self.summary.conflicts += taken.conflicts;
        taken.notes.iter().for_each(|note| self.summary.note(format!("{}: {note}", self.sync.name)));
        let mut progress = SyncProgress { pushed: pushed.clone(), gone: gone.clone(), ..SyncProgress::default() };
        let mut acknowledgements = Vec::new();
        for (sent, outcome) in entries.iter().zip(&taken.outcomes) {
            match outcome.fate {
                ApplyStatus::Applied => acknowledgements.push(acknowledgement(sent, outcome)),
                ApplyStatus::Gone => progress.gone.push(sent.key()),
                fate @ (ApplyStatus::Waits | ApplyStatus::Refused | ApplyStatus::Unknown) => {
                    self.note_held(fate, sent);
                    progress.held.push(sent.key());
                }
            }
        }
        // The remote log entries of this batch need not be pulled again, unless they stand for more than its records.
        let is_plain = !taken.renamed && !entries.iter().any(|sent| sent.collection == "tombstones");
        if is_plain && self.peer.pulled.as_deref() == Some(taken.before.as_str()) {
            progress.pulled = Some(taken.after);
        }
        let acknowledged = i64::try_from(acknowledgements.len() + count_gone(&progress.gone, gone)).unwrap_or(i64::MAX);
        self.summary.pushed += acknowledged;
        let recorded = self.record_progress(acknowledgements.clone(), progress)?;
        self.summary.pulled += recorded.changed;
        for (head, outcome) in acknowledgements.iter().zip(recorded.outcomes) {
            outcome.send_after.map_or(Ok(()), |after| self.push_entries(head, after))?;
        }
        Ok(acknowledged > 0)
    }

    fn note_held(&mut self, fate: ApplyStatus, sent: &SyncRecord) {
        let name = &self.sync.name;
        let note = match fate {
            ApplyStatus::Refused if sent.collection == "tombstones" => {
                format!("{name} does not let this token delete; deletions wait for a maintainer's")
            }
            ApplyStatus::Refused => format!("{name} does not let this token change {} {}", sent.collection, sent.id),
            ApplyStatus::Unknown => format!("{name} does not know {}; its pn is older than this one", sent.collection),
            _ => return,
        };
        self.summary.note(note);
    }

    /// Applies records and records the progress of the sync in one transaction.
    fn record_progress(&mut self, entries: Vec<SyncRecord>, progress: SyncProgress) -> Result<ApplyReport> {
        let peer = SyncProgress {
            store_id: self.peer.store_id.clone(),
            name: Some(self.sync.name.clone()),
            url: Some(self.sync.url.clone()),
            turn: self.peer.turn,
            ..progress
        };
        if peer.afresh {
            self.peer.pushed = None;
        }
        let pushed = peer.pushed.clone();
        let taken = self.sync.local.call(&ApplyRecords { entries, peer: Some(peer) })?;
        self.summary.conflicts += taken.conflicts;
        taken.notes.iter().for_each(|note| self.summary.note(note.clone()));
        (self.peer.turn, self.peer.pulled) = (taken.turn, taken.pulled.clone());
        self.peer.pushed = pushed.or(self.peer.pushed.take());
        Ok(taken)
    }
}

/// The next session entries after the first `after`, numbered by their position in the session.
fn session_entries(store: &Client, head: &SyncRecord, after: i64) -> Result<Vec<SyncRecord>> {
    let query =
        History { id: head.id.parse()?, all: false, after: None, skip: Some(after), limit: Some(ENTRIES_PER_PAGE) };
    let sent = |(entry, id): (Entry, i64)| {
        let name = format!("{} {id}", head.id);
        let line = json::to_line(&Entry { id, ..entry })?;
        Ok(SyncRecord { collection: SESSION_ENTRIES.to_owned(), id: name, line, base: None })
    };
    store.call(&query)?.into_iter().zip(after + 1..).map(sent).collect()
}

/// What the remote store now has instead of what it was sent: the new merge base.
fn acknowledgement(sent: &SyncRecord, outcome: &RecordOutcome) -> SyncRecord {
    SyncRecord {
        line: outcome.line.clone().unwrap_or_else(|| sent.line.clone()),
        base: Some(sent.line.clone()),
        ..sent.clone()
    }
}

fn count_gone(all: &[RecordKey], before: &[RecordKey]) -> usize {
    all.len() - before.len()
}

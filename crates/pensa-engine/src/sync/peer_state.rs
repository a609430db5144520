//! The sync state of other stores: how far each log was read, the merge base of each record, and what must be sent.

use pensa_core::event::{self, EventType, LogEntry};
use pensa_core::id::SessionId;
use pensa_core::ops::sync::{
    Peer, Peers, Pending, PendingPage, RecordKey, SESSION_ENTRIES, SyncProgress, SyncRecord, UnsentEvent,
    is_sessions_peer, sessions_peer,
};
use pensa_core::sync::{AGENTS, EXCHANGED, ISSUES, SESSIONS, TOMBSTONES};
use pensa_core::{Code, Error, Result, text};
use serde_json::{Map, json};

use super::change_feed::{self, AffectedRecords, ChangedRecord, FeedKind, PageBuilder};
use super::cursor::{Cursor, LogPosition};
use super::synced_tables;
use crate::context::Context;
use crate::db::Tx;
use crate::entity;
use crate::tables::peers::{self, MergeBase, PeerKind, PeerRow};
use crate::tables::{events, issues, tombstones};

/// Size limit for a peer's cursor.
const MAX_CURSOR: usize = 1000;
/// Default limit for listed unsent events.
const DEFAULT_EVENTS: u32 = 1000;
/// Limit for events read to find them.
const MAX_LINES: usize = 20_000;
/// Prefix of a cursor among the dirty records.
const DIRTY: char = 'd';
/// An invalid cursor, which stands for the beginning.
const START: &str = "start";

/// The collections that this version knows. A log read by a version with fewer must be read again.
fn known_collections() -> String {
    EXCHANGED.map(|collection| collection.name).join(" ")
}

/// The sync state of a peer.
fn row(tx: &Tx<'_>, peer: &str) -> Result<PeerRow> {
    let unknown = PeerRow { peer: peer.to_owned(), known: known_collections(), ..PeerRow::default() };
    let row = peers::get(tx, PeerKind::Server, peer)?.unwrap_or(unknown);
    if row.known == known_collections() {
        return Ok(row);
    }
    Ok(PeerRow { pulled: None, pushed: None, known: known_collections(), ..row })
}

/// The sync state of one peer, opened for a change.
#[derive(Debug)]
pub(super) struct PeerSyncState {
    row: PeerRow,
    before: PeerRow,
}

impl PeerSyncState {
    /// Opens the state. Error if another sync has changed it since the caller read it.
    pub(super) fn open(tx: &Tx<'_>, progress: &SyncProgress) -> Result<Self> {
        text::line("store_id", &progress.store_id)?;
        for (name, value) in [("name", &progress.name), ("url", &progress.url)] {
            value.as_ref().map(|value| text::line(name, value)).transpose()?;
        }
        for cursor in [&progress.pulled, &progress.pushed].into_iter().flatten() {
            if cursor.len() > MAX_CURSOR {
                return Err(Error::invalid("the cursor is too long"));
            }
            text::line("cursor", cursor)?;
        }
        let before = row(tx, &progress.store_id)?;
        if before.turn != progress.turn {
            return Err(Error::new(Code::Busy, "another sync of the same two stores is under way")
                .hint("try again when it is through"));
        }
        let mut row = before.clone();
        if progress.afresh {
            peers::forget_bases(tx, &row.peer)?;
            (row.pulled, row.pushed) = (None, None);
        }
        Ok(Self { row, before })
    }

    /// The merge base of a record: what both stores last had in common.
    pub(super) fn base(&self, tx: &Tx<'_>, collection: &str, id: &str) -> Result<Option<String>> {
        Ok(peers::base(tx, &self.row.peer, collection, id)?.and_then(|base| base.line))
    }

    /// How many entries of a session both stores are known to have.
    pub(super) fn entries(&self, tx: &Tx<'_>, session: &SessionId) -> Result<i64> {
        let known = peers::base(tx, &self.row.peer, SESSION_ENTRIES, session.as_str())?.and_then(|base| base.line);
        Ok(known.and_then(|count| count.parse().ok()).unwrap_or_default())
    }

    pub(super) fn note_entries(&self, tx: &Tx<'_>, session: &SessionId, count: i64) -> Result<()> {
        let base = MergeBase { line: Some(count.to_string()), dirty: false };
        self.put(tx, SESSION_ENTRIES, session.as_str(), &base)
    }

    /// Saves the peer's line as the merge base of a record. The record is dirty if it differs here.
    pub(super) fn record_base(
        &self,
        tx: &Tx<'_>,
        collection: &str,
        id: &str,
        line: &str,
        here: Option<&str>,
    ) -> Result<()> {
        let known = peers::base(tx, &self.row.peer, collection, id)?;
        let is_news = known.as_ref().and_then(|base| base.line.as_deref()) != Some(line);
        if collection == TOMBSTONES.name && is_news {
            self.invalidate_deleted(tx, id)?;
        }
        if collection == AGENTS.name
            && here.is_some()
            && known.as_ref().is_none_or(|base| base.line.is_none())
            && tombstones::get(tx, AGENTS.name, id)?.is_some()
        {
            // The agent was deleted with its sessions on one side, and restored without them.
            peers::forget(tx, &sessions_peer(&self.row.peer))?;
        }
        if here.is_none() {
            if collection == SESSIONS.name {
                peers::forget_base(tx, &self.row.peer, SESSION_ENTRIES, id)?;
            }
            return if known.is_some() { peers::forget_base(tx, &self.row.peer, collection, id) } else { Ok(()) };
        }
        let base = MergeBase { line: Some(line.to_owned()), dirty: here != Some(line) };
        if known.as_ref() == Some(&base) { Ok(()) } else { self.put(tx, collection, id, &base) }
    }

    /// After the peer deleted a record, its merge base and those of dependent records are void. Whatever exists here
    /// must be sent again.
    fn invalidate_deleted(&self, tx: &Tx<'_>, key: &str) -> Result<()> {
        let Some((of, id)) = key.split_once(' ') else { return Ok(()) };
        let Some(table) = synced_tables::of(of) else { return Ok(()) };
        if change_feed::current_line(tx, of, id)?.is_none() {
            return peers::forget_base(tx, &self.row.peer, of, id);
        }
        let again = MergeBase { line: None, dirty: true };
        self.put(tx, of, id, &again)?;
        if table.collection().name == ISSUES.name && issues::get(tx, &id.parse()?)?.is_some() {
            for (collection, id) in change_feed::records_of_issue(tx, &id.parse()?)? {
                self.put(tx, collection, &id, &again)?;
            }
        }
        Ok(())
    }

    fn put(&self, tx: &Tx<'_>, collection: &str, id: &str, base: &MergeBase) -> Result<()> {
        peers::put_base(tx, &self.row.peer, collection, id, base)
    }

    /// Marks a record to be sent.
    pub(super) fn mark_dirty(&self, tx: &Tx<'_>, named: &RecordKey) -> Result<()> {
        let known = peers::base(tx, &self.row.peer, &named.collection, &named.id)?.unwrap_or_default();
        self.put(tx, &named.collection, &named.id, &MergeBase { dirty: true, ..known })
    }

    pub(super) fn forget(&self, tx: &Tx<'_>, named: &RecordKey) -> Result<()> {
        peers::forget_base(tx, &self.row.peer, &named.collection, &named.id)
    }

    /// Saves the state, with an event: a change without an event could be lost unnoticed.
    pub(super) fn save(
        mut self,
        cx: &Context<'_>,
        tx: &Tx<'_>,
        progress: &SyncProgress,
        received: ReceivedChanges,
    ) -> Result<PeerRow> {
        let row = &mut self.row;
        row.turn += 1;
        row.name = progress.name.clone().or(row.name.take());
        row.url = progress.url.clone().or(row.url.take());
        if let (Some(pulled), false) = (&progress.pulled, received.has_pending) {
            row.pulled = Some(pulled.clone());
        }
        row.pushed = progress.pushed.clone().or(row.pushed.take());
        if progress.done {
            row.synced_at = Some(cx.now);
        }
        let mut detail = Map::new();
        detail.insert("turn".into(), event::change(self.before.turn, row.turn));
        detail.insert("pulled".into(), event::change(&self.before.pulled, &row.pulled));
        detail.insert("pushed".into(), event::change(&self.before.pushed, &row.pushed));
        events::append(cx, tx, ("peer", &row.peer), None, EventType::Synced, detail)?;
        // Records that were only received need not be sent back.
        if received.is_only_received && row.pushed.as_deref() == Some(Cursor::Log(received.before).to_string().as_str())
        {
            row.pushed = Some(Cursor::Log(LogPosition::end(tx)?).to_string());
        }
        entity::put(tx, row)?;
        Ok(self.row)
    }
}

/// What was received while the state was open.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReceivedChanges {
    /// The end of the log before.
    pub(super) before: LogPosition,
    /// Whether some records wait for others.
    pub(super) has_pending: bool,
    /// Whether only the received records were changed.
    pub(super) is_only_received: bool,
}

/// Returns records that the peer does not have yet.
pub(crate) fn pending(tx: &Tx<'_>, op: &Pending) -> Result<PendingPage> {
    let limit = op
        .limit
        .and_then(|limit| usize::try_from(limit).ok())
        .unwrap_or(change_feed::DEFAULT_LIMIT)
        .clamp(1, change_feed::DEFAULT_LIMIT);
    let row = row(tx, &op.peer)?;
    let pushed = row.pushed.unwrap_or_else(|| START.to_owned());
    let after = match &op.after {
        None => (0, ""),
        Some(text) => match dirty_cursor(text) {
            Some(after) => after,
            None => return records_from_log(tx, &op.peer, text, limit),
        },
    };
    let (found, next) = dirty_records(tx, &op.peer, after, limit)?;
    if found.is_empty() {
        return records_from_log(tx, &op.peer, &pushed, limit);
    }
    let (entries, gone) = missing_at_peer(tx, &op.peer, found)?;
    Ok(PendingPage { entries, gone, pushed: None, next: Some(next.unwrap_or(pushed)), looked_at: 0 })
}

fn records_from_log(tx: &Tx<'_>, peer: &str, after: &str, limit: usize) -> Result<PendingPage> {
    let page = change_feed::page(tx, FeedKind::of_peer(peer), Some(after), limit)?;
    let (entries, gone) = missing_at_peer(tx, peer, page.records)?;
    let cursor = page.cursor.to_string();
    let next = page.more.then(|| cursor.clone());
    Ok(PendingPage { entries, gone, pushed: Some(cursor), next, looked_at: page.looked_at })
}

fn dirty_cursor(text: &str) -> Option<(usize, &str)> {
    let (collection, key) = text.strip_prefix(DIRTY)?.split_once('.')?;
    Some((collection.parse().ok()?, key))
}

/// The dirty records, in the order in which they refer to each other.
fn dirty_records(
    tx: &Tx<'_>,
    peer: &str,
    (first, after): (usize, &str),
    limit: usize,
) -> Result<(Vec<ChangedRecord>, Option<String>)> {
    let mut builder = PageBuilder::new(tx, FeedKind::of_peer(peer));
    for (at, collection) in EXCHANGED.iter().enumerate().skip(first) {
        let mut key = if at == first { after.to_owned() } else { String::new() };
        loop {
            let names = peers::dirty(tx, peer, collection.name, &key, limit)?;
            let Some(last) = names.last() else { break };
            key.clone_from(&last.id);
            for named in &names {
                builder.add(collection.name, &named.id)?;
                if builder.is_full(limit) {
                    return Ok((builder.records, Some(format!("{DIRTY}{at}.{}", named.id))));
                }
            }
        }
    }
    Ok((builder.records, None))
}

/// Of these records, those that the peer lacks or has in another version, and those that the peer may have but this
/// store does not.
fn missing_at_peer(tx: &Tx<'_>, peer: &str, found: Vec<ChangedRecord>) -> Result<(Vec<SyncRecord>, Vec<RecordKey>)> {
    let (mut entries, mut gone) = (Vec::new(), Vec::new());
    for ChangedRecord { collection, id, line } in found {
        let base = peers::base(tx, peer, collection, &id)?;
        let collection = collection.to_owned();
        match (line, base) {
            (Some(line), Some(base)) if base.line.as_ref() == Some(&line) && !base.dirty => {}
            (Some(line), base) => {
                entries.push(SyncRecord { collection, id, line, base: base.and_then(|base| base.line) });
            }
            (None, Some(_)) => gone.push(RecordKey { collection, id }),
            (None, None) => {}
        }
    }
    Ok((entries, gone))
}

/// The sync state of one peer or all.
pub(crate) fn peers(tx: &Tx<'_>, op: &Peers) -> Result<Vec<Peer>> {
    let rows = match &op.peer {
        Some(peer) => vec![row(tx, peer)?],
        None => {
            let all = peers::all(tx, PeerKind::Server)?;
            all.iter()
                .filter(|known| !is_sessions_peer(&known.peer))
                .map(|known| row(tx, &known.peer))
                .collect::<Result<_>>()?
        }
    };
    let limit = usize::try_from(op.limit.unwrap_or(DEFAULT_EVENTS)).unwrap_or(usize::MAX);
    rows.into_iter().map(|row| peer_answer(tx, row, limit)).collect()
}

fn peer_answer(tx: &Tx<'_>, row: PeerRow, limit: usize) -> Result<Peer> {
    let (events, more) = if limit == 0 { (Vec::new(), false) } else { unsent_events(tx, &row, limit)? };
    Ok(Peer {
        held: peers::count_dirty(tx, &row.peer)?,
        store_id: row.peer,
        name: row.name,
        url: row.url,
        turn: row.turn,
        pulled: row.pulled,
        pushed: row.pushed,
        events,
        more,
        last_sync: row.synced_at,
    })
}

/// The events whose results the peer does not have.
fn unsent_events(tx: &Tx<'_>, row: &PeerRow, limit: usize) -> Result<(Vec<UnsentEvent>, bool)> {
    let cursor = row.pushed.as_ref().map(|pushed| Cursor::of(tx, pushed)).transpose()?.flatten();
    let mut last = cursor.and_then(Cursor::into_log_position).map_or(0, |position| position.event);
    let (mut found, mut looked_at) = (Vec::new(), 0);
    loop {
        let lines = events::after(tx, last, 200)?;
        let Some(end) = lines.last() else { return Ok((found, false)) };
        last = end.id;
        for entry in &lines {
            if !is_unsent(tx, &row.peer, entry)? {
                continue;
            }
            if found.len() == limit {
                return Ok((found, true));
            }
            found.push(to_unsent_event(entry));
        }
        looked_at += lines.len();
        if looked_at >= MAX_LINES {
            return Ok((found, true));
        }
    }
}

fn is_unsent(tx: &Tx<'_>, peer: &str, entry: &LogEntry) -> Result<bool> {
    let keys = match change_feed::affected_records(entry) {
        AffectedRecords::Everything => return Ok(true),
        AffectedRecords::Records(keys) => keys,
        AffectedRecords::Renamed(old, new) => vec![(ISSUES.name, old), (ISSUES.name, new)],
    };
    for (collection, id) in keys.into_iter().filter(|(collection, id)| FeedKind::of_peer(peer).contains(collection, id))
    {
        let here = change_feed::current_line(tx, collection, &id)?;
        let base = peers::base(tx, peer, collection, &id)?;
        let is_known = match (&here, &base) {
            (Some(here), Some(base)) => base.line.as_ref() == Some(here),
            // The peer knows a deletion if it has the tombstone.
            (None, _) => {
                let tombstone = format!("{collection} {id}");
                let here = change_feed::current_line(tx, TOMBSTONES.name, &tombstone)?;
                here.is_none() || here == peers::base(tx, peer, TOMBSTONES.name, &tombstone)?.and_then(|base| base.line)
            }
            (Some(_), None) => false,
        };
        if !is_known {
            return Ok(true);
        }
    }
    Ok(false)
}

fn to_unsent_event(entry: &LogEntry) -> UnsentEvent {
    let of_kind =
        |event: &str| if event.contains('.') { event.to_owned() } else { format!("{}.{event}", entry.subject_kind) };
    UnsentEvent {
        id: entry.id.to_string(),
        event_type: of_kind(&entry.event_type),
        timestamp: entry.created_at,
        data: json!({"kind": entry.subject_kind, "id": entry.subject_id, "actor": entry.actor, "detail": entry.detail}),
        synced: false,
    }
}

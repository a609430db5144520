//! The books on other stores: how far this one has come with each, what the two last had in common, and what waits.

use pensa_core::event::{self, EventType, LogEntry};
use pensa_core::ops::sync::{Named, Peer, Peers, Pending, Progress, Queue, Sent, Waiting};
use pensa_core::sync::{EXCHANGED, ISSUES, TOMBSTONES};
use pensa_core::{Code, Error, Result, text};
use serde_json::{Map, json};

use super::cursor::{Cursor, Place};
use super::feed::{self, Found, Gathered, Touched};
use super::shared;
use crate::context::Context;
use crate::db::Tx;
use crate::entity;
use crate::tables::peers::{self, Base, PeerRow};
use crate::tables::{events, issues};

/// Longest place in another's log.
const MAX_CURSOR: usize = 1000;
/// Events that wait, if nobody says how many to list.
const USUAL_EVENTS: u32 = 1000;
/// Most lines of the log that are looked at for those.
const MAX_LINES: usize = 20_000;
/// What stands before the key of a cursor among the records that are to be sent whatever the log says.
const DIRTY: char = 'd';
/// A cursor that is none, and so the beginning.
const START: &str = "start";

/// The collections that this version knows. What a store with fewer has read has to be read again.
fn known() -> String {
    EXCHANGED.map(|collection| collection.name).join(" ")
}

/// What is known of another store.
fn row(tx: &Tx<'_>, peer: &str) -> Result<PeerRow> {
    let unknown = PeerRow { peer: peer.to_owned(), known: known(), ..PeerRow::default() };
    let row = peers::get(tx, peer)?.unwrap_or(unknown);
    if row.known == known() {
        return Ok(row);
    }
    Ok(PeerRow { pulled: None, pushed: None, known: known(), ..row })
}

/// The books on one other store, open for a change.
#[derive(Debug)]
pub(super) struct Books {
    row: PeerRow,
    before: PeerRow,
}

impl Books {
    /// Opens them for whoever knows the turn they are at.
    pub(super) fn open(tx: &Tx<'_>, progress: &Progress) -> Result<Self> {
        text::line("store_id", &progress.store_id)?;
        for (name, value) in [("name", &progress.name), ("url", &progress.url)] {
            value.as_ref().map(|value| text::line(name, value)).transpose()?;
        }
        for cursor in [&progress.pulled, &progress.pushed].into_iter().flatten() {
            if cursor.len() > MAX_CURSOR {
                return Err(Error::invalid("this is no place in a log"));
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

    /// What a record was when both last had the same.
    pub(super) fn base(&self, tx: &Tx<'_>, collection: &str, id: &str) -> Result<Option<String>> {
        Ok(peers::base(tx, &self.row.peer, collection, id)?.and_then(|base| base.line))
    }

    /// Notes that the other has a record as this line, and whether that differs from what is here.
    pub(super) fn agree(&self, tx: &Tx<'_>, collection: &str, id: &str, line: &str, here: Option<&str>) -> Result<()> {
        let known = peers::base(tx, &self.row.peer, collection, id)?;
        let is_news = known.as_ref().and_then(|base| base.line.as_deref()) != Some(line);
        if collection == TOMBSTONES.name && is_news {
            self.mind_deletion(tx, id)?;
        }
        if here.is_none() {
            return if known.is_some() { peers::forget_base(tx, &self.row.peer, collection, id) } else { Ok(()) };
        }
        let base = Base { line: Some(line.to_owned()), dirty: here != Some(line) };
        if known.as_ref() == Some(&base) { Ok(()) } else { self.put(tx, collection, id, &base) }
    }

    /// What the other deleted it does not have any more, nor what belonged to that. Whatever is here all the same has to
    /// be sent again.
    fn mind_deletion(&self, tx: &Tx<'_>, grave: &str) -> Result<()> {
        let Some((of, id)) = grave.split_once(' ') else { return Ok(()) };
        let Some(table) = shared::of(of) else { return Ok(()) };
        if feed::line(tx, of, id)?.is_none() {
            return peers::forget_base(tx, &self.row.peer, of, id);
        }
        let again = Base { line: None, dirty: true };
        self.put(tx, of, id, &again)?;
        if table.collection().name == ISSUES.name && issues::get(tx, &id.parse()?)?.is_some() {
            for (collection, id) in feed::belongings(tx, &id.parse()?)? {
                self.put(tx, collection, &id, &again)?;
            }
        }
        Ok(())
    }

    fn put(&self, tx: &Tx<'_>, collection: &str, id: &str, base: &Base) -> Result<()> {
        peers::put_base(tx, &self.row.peer, collection, id, base)
    }

    /// Has a record wait to be sent.
    pub(super) fn hold(&self, tx: &Tx<'_>, named: &Named) -> Result<()> {
        let known = peers::base(tx, &self.row.peer, &named.collection, &named.id)?.unwrap_or_default();
        self.put(tx, &named.collection, &named.id, &Base { dirty: true, ..known })
    }

    pub(super) fn forget(&self, tx: &Tx<'_>, named: &Named) -> Result<()> {
        peers::forget_base(tx, &self.row.peer, &named.collection, &named.id)
    }

    /// Notes how far the two have come, with a line in the log: what only a line there makes safe.
    pub(super) fn close(mut self, cx: &Context<'_>, tx: &Tx<'_>, progress: &Progress, all: Came) -> Result<PeerRow> {
        let row = &mut self.row;
        row.turn += 1;
        row.name = progress.name.clone().or(row.name.take());
        row.url = progress.url.clone().or(row.url.take());
        if let (Some(pulled), false) = (&progress.pulled, all.waits) {
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
        // What was only taken over is nothing to be sent.
        if all.is_plain && row.pushed.as_deref() == Some(Cursor::Log(all.before).to_string().as_str()) {
            row.pushed = Some(Cursor::Log(Place::end(tx)?).to_string());
        }
        entity::put(tx, row)?;
        Ok(self.row)
    }
}

/// What came in while the books were open.
#[derive(Debug, Clone, Copy)]
pub(super) struct Came {
    /// The end of the log before.
    pub(super) before: Place,
    /// Whether some of it waits for what is not there yet.
    pub(super) waits: bool,
    /// Whether nothing was changed but the records that came.
    pub(super) is_plain: bool,
}

/// What another store does not have yet.
pub(crate) fn pending(tx: &Tx<'_>, op: &Pending) -> Result<Queue> {
    let limit = op.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(feed::USUAL).clamp(1, feed::USUAL);
    let row = row(tx, &op.peer)?;
    let pushed = row.pushed.unwrap_or_else(|| START.to_owned());
    let after = match &op.after {
        None => (0, ""),
        Some(text) => match dirty_cursor(text) {
            Some(after) => after,
            None => return from_log(tx, &op.peer, text, limit),
        },
    };
    let (found, next) = dirty(tx, &op.peer, after, limit)?;
    if found.is_empty() {
        return from_log(tx, &op.peer, &pushed, limit);
    }
    let (entries, gone) = lacking(tx, &op.peer, found)?;
    Ok(Queue { entries, gone, pushed: None, next: Some(next.unwrap_or(pushed)), looked_at: 0 })
}

fn from_log(tx: &Tx<'_>, peer: &str, after: &str, limit: usize) -> Result<Queue> {
    let page = feed::page(tx, Some(after), limit)?;
    let (entries, gone) = lacking(tx, peer, page.found)?;
    let cursor = page.cursor.to_string();
    let next = page.more.then(|| cursor.clone());
    Ok(Queue { entries, gone, pushed: Some(cursor), next, looked_at: page.looked_at })
}

fn dirty_cursor(text: &str) -> Option<(usize, &str)> {
    let (collection, key) = text.strip_prefix(DIRTY)?.split_once('.')?;
    Some((collection.parse().ok()?, key))
}

/// The records that are to be sent whatever the log says, in the order in which they refer to each other.
fn dirty(tx: &Tx<'_>, peer: &str, (first, after): (usize, &str), limit: usize) -> Result<(Vec<Found>, Option<String>)> {
    let mut gathered = Gathered::new(tx);
    for (at, collection) in EXCHANGED.iter().enumerate().skip(first) {
        let mut key = if at == first { after.to_owned() } else { String::new() };
        loop {
            let names = peers::dirty(tx, peer, collection.name, &key, limit)?;
            let Some(last) = names.last() else { break };
            key.clone_from(&last.id);
            for named in &names {
                gathered.add(collection.name, &named.id)?;
                if gathered.is_full(limit) {
                    return Ok((gathered.found, Some(format!("{DIRTY}{at}.{}", named.id))));
                }
            }
        }
    }
    Ok((gathered.found, None))
}

/// Of these, what the other does not have as it is here, and what it may have that is not here.
fn lacking(tx: &Tx<'_>, peer: &str, found: Vec<Found>) -> Result<(Vec<Sent>, Vec<Named>)> {
    let (mut entries, mut gone) = (Vec::new(), Vec::new());
    for Found { collection, id, line } in found {
        let base = peers::base(tx, peer, collection, &id)?;
        let collection = collection.to_owned();
        match (line, base) {
            (Some(line), Some(base)) if base.line.as_ref() == Some(&line) && !base.dirty => {}
            (Some(line), base) => {
                entries.push(Sent { collection, id, line, base: base.and_then(|base| base.line) });
            }
            (None, Some(_)) => gone.push(Named { collection, id }),
            (None, None) => {}
        }
    }
    Ok((entries, gone))
}

/// How far this store has come with others.
pub(crate) fn peers(tx: &Tx<'_>, op: &Peers) -> Result<Vec<Peer>> {
    let rows = match &op.peer {
        Some(peer) => vec![row(tx, peer)?],
        None => {
            let all = peers::all(tx)?;
            all.iter().map(|known| row(tx, &known.peer)).collect::<Result<_>>()?
        }
    };
    let limit = usize::try_from(op.limit.unwrap_or(USUAL_EVENTS)).unwrap_or(usize::MAX);
    rows.into_iter().map(|row| told(tx, row, limit)).collect()
}

fn told(tx: &Tx<'_>, row: PeerRow, limit: usize) -> Result<Peer> {
    let (events, more) = if limit == 0 { (Vec::new(), false) } else { waiting(tx, &row, limit)? };
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

/// The events of which another store does not have what came of them.
fn waiting(tx: &Tx<'_>, row: &PeerRow, limit: usize) -> Result<(Vec<Waiting>, bool)> {
    let cursor = row.pushed.as_ref().map(|pushed| Cursor::of(tx, pushed)).transpose()?.flatten();
    let mut last = match cursor {
        Some(Cursor::Log(place)) => place.event,
        Some(Cursor::All { .. }) | None => 0,
    };
    let (mut found, mut looked_at) = (Vec::new(), 0);
    loop {
        let lines = events::after(tx, last, 200)?;
        let Some(end) = lines.last() else { return Ok((found, false)) };
        last = end.id;
        for entry in &lines {
            if !waits(tx, &row.peer, entry)? {
                continue;
            }
            if found.len() == limit {
                return Ok((found, true));
            }
            found.push(as_waiting(entry));
        }
        looked_at += lines.len();
        if looked_at >= MAX_LINES {
            return Ok((found, true));
        }
    }
}

fn waits(tx: &Tx<'_>, peer: &str, entry: &LogEntry) -> Result<bool> {
    let keys = match feed::touched(entry) {
        Touched::Everything => return Ok(true),
        Touched::These(keys) => keys,
        Touched::Renamed(old, new) => vec![(ISSUES.name, old), (ISSUES.name, new)],
    };
    for (collection, id) in keys {
        let here = feed::line(tx, collection, &id)?;
        let base = peers::base(tx, peer, collection, &id)?;
        let is_known = match (&here, &base) {
            (Some(here), Some(base)) => base.line.as_ref() == Some(here),
            // A deletion is known when its tombstone is.
            (None, _) => {
                let grave = format!("{collection} {id}");
                let here = feed::line(tx, TOMBSTONES.name, &grave)?;
                here.is_none() || here == peers::base(tx, peer, TOMBSTONES.name, &grave)?.and_then(|base| base.line)
            }
            (Some(_), None) => false,
        };
        if !is_known {
            return Ok(true);
        }
    }
    Ok(false)
}

fn as_waiting(entry: &LogEntry) -> Waiting {
    let of_kind =
        |event: &str| if event.contains('.') { event.to_owned() } else { format!("{}.{event}", entry.subject_kind) };
    Waiting {
        id: entry.id.to_string(),
        event_type: of_kind(&entry.event_type),
        timestamp: entry.created_at,
        data: json!({"kind": entry.subject_kind, "id": entry.subject_id, "actor": entry.actor, "detail": entry.detail}),
        synced: false,
    }
}

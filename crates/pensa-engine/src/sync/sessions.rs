//! Exchanges sessions between stores. A session is a record like others. Its entries are append-only, so the stores
//! only track how many entries both have.
//!
//! If both stores appended after the same entry, the store that keeps the sync state yields: its entries continue in a
//! fork of the session, with all earlier ones, and the other store's session stays the same everywhere.

use std::collections::HashMap;

use pensa_core::agent::Agent;
use pensa_core::event::{self, EventType};
use pensa_core::id::{AgentId, SessionId};
use pensa_core::ops::sync::{ApplyStatus, SESSION_ENTRIES, SyncRecord};
use pensa_core::session::{Entry, NewEntry, Session, SessionHead};
use pensa_core::sync::{AGENTS, Collection, SESSIONS, SyncObject};
use pensa_core::{Error, Result};

use super::import::ImportReport;
use super::peer_state::PeerSyncState;
use super::synced_tables::{self, Loaded, LoadedIds, RenderedLines, SyncedTable};
use crate::context::Context;
use crate::db::Tx;
use crate::entity;
use crate::ops::{self, session::Links};
use crate::tables::{agents, entries, events, sessions, tombstones};

/// Entries copied at a time.
const COPIED: i64 = 256;

pub(super) struct SessionTable;

impl SyncedTable for SessionTable {
    fn collection(&self) -> &'static Collection {
        &SESSIONS
    }

    fn subject(&self) -> &'static str {
        "session"
    }

    fn render(&self, _: &Tx<'_>, _: &mut RenderedLines) -> Result<()> {
        Err(Error::internal("git carries no sessions"))
    }

    fn get(&self, tx: &Tx<'_>, key: &str) -> Result<Option<SyncObject>> {
        let here = sessions::get(tx, &key.parse()?)?;
        here.map(|session| synced_tables::record(&sessions::head(tx, session)?)).transpose()
    }

    /// Stores a session that another store created, ended or archived. If its agent was deleted, the session is
    /// dropped.
    fn put(&self, cx: &Context<'_>, tx: &Tx<'_>, _: Option<SyncObject>, new: SyncObject) -> Result<()> {
        let SessionHead { session: new, .. } = synced_tables::parse_record(new)?;
        if agents::get(tx, &new.agent_id)?.is_none() {
            return Ok(());
        }
        match sessions::get(tx, &new.id)? {
            Some(old) if old == new => return Ok(()),
            Some(old) => {
                sessions::update(tx, &new.id, |session| *session = new.clone())?;
                sessions::log(cx, tx, &new.id, EventType::Updated, event::differences(Some(&old), &new))?;
            }
            None => open(cx, tx, &new)?,
        }
        ensure_open_session(cx, tx, &new.agent_id, None)
    }

    fn remove(&self, cx: &Context<'_>, tx: &Tx<'_>, record: SyncObject) -> Result<()> {
        let SessionHead { session, .. } = synced_tables::parse_record(record)?;
        ensure_open_session(cx, tx, &session.agent_id, Some(&session.id))?;
        ops::session::remove(cx, tx, &session).map(drop)
    }

    fn required_issues(&self, _: &SyncObject) -> Vec<String> {
        Vec::new()
    }

    fn load(&self, _: &Tx<'_>, _: &[u8], _: &mut LoadedIds) -> Result<Loaded> {
        Err(Error::internal("git carries no sessions"))
    }
}

fn open(cx: &Context<'_>, tx: &Tx<'_>, session: &Session) -> Result<()> {
    sessions::insert(tx, session)?;
    sessions::log(cx, tx, &session.id, EventType::Opened, event::differences(None, session))
}

/// Switches an agent to its newest open session if its current one has ended, is blank, or is about to be deleted.
fn ensure_open_session(cx: &Context<'_>, tx: &Tx<'_>, id: &AgentId, going: Option<&SessionId>) -> Result<()> {
    let Some(agent) = agents::get(tx, id)? else { return Ok(()) };
    let current = sessions::head(tx, sessions::active(tx, &agent)?)?;
    let is_going = going == Some(&current.session.id);
    if !is_going && !current.is_blank() && current.session.ended_at.is_none() {
        return Ok(());
    }
    let next = match sessions::newest_open(tx, id, &current.session.id)? {
        Some(next) => next,
        None if is_going => {
            let next = ops::session::first(cx, sessions::new_id(cx, tx)?, id.clone(), Links::default());
            open(cx, tx, &next)?;
            next
        }
        None => return Ok(()),
    };
    move_to(cx, tx, &agent, &next.id)?;
    if current.is_blank() && !is_going && began_with(tx, id, &current.session.id)? {
        ops::session::remove(cx, tx, &current.session)?;
    }
    Ok(())
}

/// Whether an agent began with this session in this store. Any other blank session may be one of another store, whose
/// entries have not arrived yet.
fn began_with(tx: &Tx<'_>, agent: &AgentId, session: &SessionId) -> Result<bool> {
    let first = events::of_subject(tx, "agent", agent.as_str(), 0, Some(1))?.pop();
    let opened = first.as_ref().and_then(|event| event.detail.get("active_session_id"));
    Ok(opened.is_some_and(|change| change["new"] == session.as_str()))
}

/// Each store chooses an agent's active session by itself, so the agent does not count as changed.
fn move_to(cx: &Context<'_>, tx: &Tx<'_>, agent: &Agent, session: &SessionId) -> Result<()> {
    let moved = Agent { active_session_id: Some(session.clone()), ..agent.clone() };
    entity::put(tx, &moved)?;
    agents::log(cx, tx, &agent.id, EventType::Updated, event::differences(Some(agent), &moved))
}

/// Sets the local number of entries, which is not merged.
pub(super) fn with_local_entry_count(tx: &Tx<'_>, mut record: SyncObject) -> Result<SyncObject> {
    if let Some(here) = SessionTable.get(tx, &SESSIONS.key(&record))? {
        record.insert("entries".into(), here["entries"].clone());
    }
    Ok(record)
}

/// Applies entries, which are grouped by session and in order. Returns the outcome of each.
pub(super) fn apply_entries(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    sent: &[&SyncRecord],
    peer: Option<&PeerSyncState>,
    report: &mut ImportReport,
) -> Result<Vec<ApplyStatus>> {
    let mut read = Vec::with_capacity(sent.len());
    for sent in sent {
        let named = |e: Error| e.within(format_args!("{SESSION_ENTRIES} {}", sent.id));
        read.push((read_entry(cx, sent).map_err(named)?, sent.base.is_some()));
    }
    let mut fates = Vec::with_capacity(sent.len());
    for run in read.chunk_by(|(one, _), (next, _)| one.session_id == next.session_id) {
        let session = run[0].0.session_id.clone();
        let numbers = (run[0].0.id, i64::try_from(run.len()).map_err(Error::internal)?);
        let mut appender = match SessionAppender::open(cx, tx, &session, numbers, peer, report)? {
            Ok(appender) => appender,
            Err(fate) => {
                fates.extend(run.iter().map(|_| fate));
                continue;
            }
        };
        for (entry, is_acknowledged) in run {
            fates.push(appender.apply(entry, *is_acknowledged)?);
        }
        appender.end()?;
    }
    Ok(fates)
}

/// Parses an entry with its number in its session, and redacts it.
fn read_entry(cx: &Context<'_>, sent: &SyncRecord) -> Result<Entry> {
    let mut entry: Entry = serde_json::from_str(&sent.line).map_err(|e| Error::invalid(e.to_string()))?;
    if sent.id != format!("{} {}", entry.session_id, entry.id) || entry.id < 1 {
        return Err(Error::invalid(format!("its line is that of {} {}", entry.session_id, entry.id)));
    }
    let new = NewEntry { entry_type: entry.entry_type.clone(), at: Some(entry.at), data: entry.data };
    new.check()?;
    entry.data = new.data;
    redact(cx, &mut entry);
    Ok(entry)
}

/// Text that one machine stores verbatim is redacted on others.
fn redact(cx: &Context<'_>, entry: &mut Entry) {
    if !cx.no_redact {
        cx.redactor().map(&mut entry.data);
    }
}

/// Appends entries to a session.
struct SessionAppender<'t, 'c> {
    cx: &'t Context<'c>,
    tx: &'t Tx<'c>,
    session: Session,
    peer: Option<&'t PeerSyncState>,
    report: &'t mut ImportReport,
    /// Local entries with the numbers of received ones.
    here: HashMap<i64, Entry>,
    /// Number of entries here, including new ones.
    count: i64,
    new: Vec<Entry>,
    /// Number of entries that the peer is known to have.
    agreed: i64,
}

impl<'t, 'c> SessionAppender<'t, 'c> {
    fn open(
        cx: &'t Context<'c>,
        tx: &'t Tx<'c>,
        id: &SessionId,
        (first, some): (i64, i64),
        peer: Option<&'t PeerSyncState>,
        report: &'t mut ImportReport,
    ) -> Result<Result<Self, ApplyStatus>> {
        let Some(session) = sessions::get(tx, id)? else {
            let is_gone = tombstones::get(tx, SESSIONS.name, id.as_str())?.is_some();
            return Ok(Err(if is_gone { ApplyStatus::Gone } else { ApplyStatus::Waits }));
        };
        let count = entries::count_of_session(tx, id)?;
        let agreed = peer.map_or(Ok(0), |peer| peer.entries(tx, id))?;
        let here = if first <= count { entries::range(tx, id, first, some)? } else { Vec::new() };
        let here = (first..).zip(here).collect();
        Ok(Ok(Self { cx, tx, session, peer, report, here, count, new: Vec::new(), agreed }))
    }

    fn apply(&mut self, entry: &Entry, is_acknowledged: bool) -> Result<ApplyStatus> {
        if is_acknowledged {
            self.agreed = entry.id.min(self.count);
            return Ok(ApplyStatus::Applied);
        }
        if entry.id <= self.count {
            let is_same = |mut here: Entry| {
                redact(self.cx, &mut here);
                here.entry_type == entry.entry_type && here.at == entry.at && here.data == entry.data
            };
            if self.here.remove(&entry.id).is_some_and(is_same) {
                self.agreed = self.agreed.max(entry.id);
                return Ok(ApplyStatus::Applied);
            }
            if self.peer.is_none() {
                return Ok(ApplyStatus::Waits);
            }
            self.fork(entry.id - 1)?;
        }
        if entry.id > self.count + 1 {
            return Ok(ApplyStatus::Waits);
        }
        self.new.push(entry.clone());
        (self.count, self.agreed) = (entry.id, entry.id);
        Ok(ApplyStatus::Applied)
    }

    /// Moves all local entries to a fork of the session, and keeps only the first `kept` ones here.
    fn fork(&mut self, kept: i64) -> Result<()> {
        let (cx, tx, old) = (self.cx, self.tx, &self.session);
        let fork = Session { id: sessions::new_id(cx, tx)?, ..old.clone() };
        open(cx, tx, &fork)?;
        entries::move_all(tx, &old.id, &fork.id)?;
        if kept > 0 {
            sessions::log_append(cx, tx, &old.id, kept)?;
        }
        let mut copied = 0;
        while copied < kept {
            let mut some = entries::range(tx, &fork.id, copied + 1, COPIED.min(kept - copied))?;
            copied += i64::try_from(some.len()).map_err(Error::internal)?;
            number(tx, &old.id, &mut some)?;
            entries::insert(tx, &some)?;
        }
        if let Some(agent) = agents::get(tx, &old.agent_id)?.filter(|it| it.active_session_id.as_ref() == Some(&old.id))
        {
            move_to(cx, tx, &agent, &fork.id)?;
        }
        let (old, new) = (&old.id, &fork.id);
        self.report.note(format!("both stores went on with session {old}: what was said here is in {new} now"));
        self.count = kept;
        Ok(())
    }

    fn end(mut self) -> Result<()> {
        if !self.new.is_empty() {
            let count = i64::try_from(self.new.len()).map_err(Error::internal)?;
            sessions::log_append(self.cx, self.tx, &self.session.id, count)?;
            number(self.tx, &self.session.id, &mut self.new)?;
            entries::insert(self.tx, &self.new)?;
        }
        self.peer.map_or(Ok(()), |peer| peer.note_entries(self.tx, &self.session.id, self.agreed))
    }
}

/// Assigns the next local numbers to entries of a session.
fn number(tx: &Tx<'_>, session: &SessionId, some: &mut [Entry]) -> Result<()> {
    let first = entries::next_number(tx)?;
    for (entry, id) in some.iter_mut().zip(first..) {
        (entry.id, entry.session_id) = (id, session.clone());
    }
    Ok(())
}

/// Whether a session waits for its agent.
pub(super) fn is_agent_pending(tx: &Tx<'_>, record: &SyncObject) -> Result<bool> {
    let agent = record["agent_id"].as_str().unwrap_or_default();
    Ok(agents::get(tx, &agent.parse()?)?.is_none() && tombstones::get(tx, AGENTS.name, agent)?.is_none())
}

//! Operations on sessions and their entries.

use std::borrow::Cow;

use pensa_core::agent::Agent;
use pensa_core::event::{self, EventType};
use pensa_core::id::{AgentId, IssueId, RunId, SessionRef};
use pensa_core::json::ListWriter;
use pensa_core::ops::agent::SessionLinks;
use pensa_core::ops::session::{
    Append, Appended, Archive, Compact, Context as Rebuilt, Delete, DeletedSessions, Found, History, List,
    PRUNED_AT_ONCE, Prune, Reset, Search, Show,
};
use pensa_core::session::search::Needle;
use pensa_core::session::usage::ByModel;
use pensa_core::session::{Entry, Message, NewEntry, OpenedBy, Rebuild, Session, Summary};
use pensa_core::{Code, Error, Result, Span, text};
use serde_json::{Map, json};

use crate::context::Context;
use crate::db::{Row, Tx};
use crate::execute::Execute;
use crate::tables::entries::{Room, Stored};
use crate::tables::{agents, entries, ids, issues, sessions};

/// What a session is about, looked up and checked.
#[derive(Debug, Default)]
pub(super) struct Links {
    pub(super) inference_session_id: Option<String>,
    pub(super) issue_id: Option<IssueId>,
    pub(super) run_id: Option<RunId>,
}

pub(super) fn links(cx: &Context<'_>, tx: &Tx<'_>, given: &SessionLinks) -> Result<Links> {
    let issue = given.issue_id.as_ref().map(|issue| issues::find(cx, tx, issue)).transpose()?;
    Ok(Links {
        inference_session_id: text::optional_line("inference session", given.inference_session_id.as_ref())?,
        issue_id: issue.map(|issue| issue.id),
        run_id: given.run_id.clone(),
    })
}

impl Execute for List {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Summary>> {
        let agent = agent_of(tx, self.agent.as_ref())?;
        let list = if self.all { sessions::list } else { sessions::unarchived };
        list(tx, agent.as_ref(), self.limit)?.into_iter().map(|session| summary(tx, session)).collect()
    }
}

/// A session with what its entries add up to. Prices are settings, and settings are the caller's.
fn summary(tx: &Tx<'_>, session: Session) -> Result<Summary> {
    let (entries, last_at) = entries::extent(tx, &session.id)?;
    let mut by_model = ByModel::default();
    if entries > 0 {
        entries::for_each_cost(tx, &session.id, usize::MAX, |data| by_model.add(data))?;
    }
    let end = session.ended_at.or(last_at).unwrap_or(session.created_at);
    let duration_ms = end.since(session.created_at).map_or(0, Span::as_millis);
    Ok(Summary { session, entries, duration_ms, tokens: by_model.tokens(), cost_usd: None })
}

fn agent_of(tx: &Tx<'_>, wanted: Option<&pensa_core::id::AgentRef>) -> Result<Option<AgentId>> {
    Ok(wanted.map(|wanted| agents::find(tx, wanted)).transpose()?.map(|agent| agent.id))
}

impl Execute for Show {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Summary> {
        summary(tx, sessions::find(tx, &self.id)?)
    }
}

/// The session that is meant, unless its agent is in it.
fn ended(tx: &Tx<'_>, wanted: &SessionRef, what: &str) -> Result<Session> {
    let session = sessions::find(tx, wanted)?;
    let agent = agents::get(tx, &session.agent_id)?;
    if agent.is_some_and(|agent| agent.active_session_id.as_ref() == Some(&session.id)) {
        let told = format!("cannot {what} {}: it is the active session of {}", session.id, session.agent_id);
        return Err(Error::new(Code::Conflict, told).hint("pn session reset opens the next one"));
    }
    Ok(session)
}

impl Execute for Archive {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Session> {
        let old = ended(tx, &self.id, "archive")?;
        if old.archived_at.is_some() {
            return Ok(old);
        }
        let new = Session { archived_at: Some(cx.now), ..old.clone() };
        sessions::update(tx, &new.id, |session| session.archived_at = new.archived_at)?;
        sessions::log(cx, tx, &new.id, EventType::Archived, event::differences(Some(&old), &new))?;
        Ok(new)
    }
}

impl Execute for Delete {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<DeletedSessions> {
        delete(cx, tx, vec![ended(tx, &self.id, "delete")?])
    }
}

impl Execute for Prune {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<DeletedSessions> {
        let agent = agent_of(tx, self.agent.as_ref())?;
        let old = sessions::ended_before(tx, cx.now.minus(self.older_than), agent.as_ref(), PRUNED_AT_ONCE)?;
        delete(cx, tx, old)
    }
}

/// Removes sessions with their entries. The event says how many there were, not what they said.
fn delete(cx: &Context<'_>, tx: &Tx<'_>, gone: Vec<Session>) -> Result<DeletedSessions> {
    let mut deleted = DeletedSessions::default();
    for session in gone {
        let count = entries::count_of_session(tx, &session.id)?;
        sessions::delete(tx, &session.id)?;
        let mut detail = Map::from_iter([("entries".to_owned(), json!(count))]);
        let bare = Session { reset_message: None, ..session.clone() };
        detail.insert("session".into(), event::change(&bare, json!(null)));
        sessions::log(cx, tx, &session.id, EventType::Deleted, detail)?;
        deleted.entries += count;
        deleted.ids.push(session.id);
    }
    Ok(deleted)
}

/// Opens the next session of an agent and ends the one before.
fn open_next(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    agent: Agent,
    opened_by: OpenedBy,
    reset_message: Option<String>,
    links: Links,
) -> Result<Session> {
    let next = Session {
        id: sessions::new_id(cx, tx)?,
        agent_id: agent.id.clone(),
        opened_by,
        inference_session_id: links.inference_session_id,
        reset_message,
        issue_id: links.issue_id,
        run_id: links.run_id,
        created_at: cx.now,
        ended_at: None,
        archived_at: None,
    };
    sessions::insert(tx, &next)?;
    sessions::log(cx, tx, &next.id, EventType::Opened, event::differences(None, &next))?;
    if let Some(before) = &agent.active_session_id {
        sessions::update(tx, before, |session| session.ended_at = Some(cx.now))?;
    }
    let moved = Agent { active_session_id: Some(next.id.clone()), ..agent.clone() };
    agents::save(cx, tx, &agent, moved, EventType::Updated)?;
    Ok(next)
}

impl Execute for Reset {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Session> {
        let agent = agents::find(tx, &self.id)?;
        agent.must_live("reset")?;
        let message = text::optional_block("message", self.message.as_ref())?;
        let links = links(cx, tx, &self.session)?;
        open_next(cx, tx, agent, OpenedBy::Reset, message, links)
    }
}

impl Execute for Compact {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Session> {
        let agent = agents::find(tx, &self.id)?;
        agent.must_live("compact")?;
        let summary = text::block("summary", &self.summary)?;
        if summary.trim().is_empty() {
            return Err(Error::invalid("summary is empty").hint("pn session reset begins anew without one"));
        }
        let given = links(cx, tx, &self.session)?;
        // It is the same conversation, which only the provider has never seen in this form.
        let before = sessions::active(tx, &agent)?;
        let links = Links {
            issue_id: given.issue_id.or(before.issue_id),
            run_id: given.run_id.or(before.run_id),
            inference_session_id: given.inference_session_id,
        };
        open_next(cx, tx, agent, OpenedBy::Compaction, Some(summary), links)
    }
}

impl Execute for Append {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Appended> {
        if self.entries.is_empty() {
            return Err(Error::invalid("there is nothing to append").hint("give at least one entry"));
        }
        let agent = agents::find(tx, &self.id)?;
        agent.must_live("append to")?;
        // All of them are checked before anything is written.
        let mut stored = stored(&self.entries)?;
        let session_id = sessions::active(tx, &agent)?.id;
        let count = i64::try_from(stored.len()).map_err(Error::internal)?;
        let first = entries::next_number(tx)?;
        let last = first + count - 1;
        // Its numbers and not its words: the log is read by many, and again and again.
        let detail = Map::from_iter([("first".to_owned(), json!(first)), ("count".to_owned(), json!(count))]);
        sessions::log(cx, tx, &session_id, EventType::Appended, detail)?;
        entries::append(tx, &session_id, &mut stored, first, cx.now)?;
        Ok(Appended { session_id, first, last, count, redactions: cx.redacted() })
    }
}

/// Entries as they are stored. All are checked.
pub(super) fn stored(entries: &[NewEntry]) -> Result<Vec<Stored<'_>>> {
    let mut all = Vec::with_capacity(entries.len());
    for (at, entry) in entries.iter().enumerate() {
        let named = |error: Error| error.within(format!("entry {}", at + 1));
        let line = entry.data_line().map_err(named)?;
        all.push(Stored { entry: Cow::Borrowed(entry), line });
    }
    Ok(all)
}

/// Data in one answer of a history; the entry that exceeds it is its last.
const PAGE_BYTES: usize = 8 << 20;

/// Hands the rows of the entries that are meant to `each`.
fn read_history(tx: &Tx<'_>, wanted: &History, mut each: impl FnMut(&Row<'_>) -> Result<()>) -> Result<()> {
    let mut room = Room { entries: wanted.limit.map_or(i64::MAX, i64::from), bytes: PAGE_BYTES };
    // An agent's sessions follow each other, and so do the numbers of their entries.
    for session in whose(tx, wanted)? {
        entries::page(tx, &session.id, wanted.after.unwrap_or_default(), &mut room, &mut each)?;
        if room.entries == 0 || room.bytes == 0 {
            break;
        }
    }
    Ok(())
}

/// The sessions whose entries are meant: one, or all of an agent.
fn whose(tx: &Tx<'_>, wanted: &History) -> Result<Vec<Session>> {
    let text = wanted.id.as_str();
    let (mut sessions, mut agents) = (sessions::candidates(tx, text)?, agents::candidates(tx, text)?);
    let is_id = |agent: &Agent| agent.id.as_str() == text || agent.name.as_deref() == Some(text);
    if sessions.iter().any(|session| session.id.as_str() == text) {
        agents.clear();
    } else if agents.iter().any(is_id) {
        sessions.clear();
    }
    let ids = sessions.iter().map(|session| session.id.as_str()).chain(agents.iter().map(|agent| agent.id.as_str()));
    if ids.clone().count() > 1 {
        return Err(ids::ambiguous(text, ids));
    }
    let unknown = || Error::not_found("agent or session", text).hint("pn agent list and pn session list show the ids");
    match (sessions.pop(), agents.pop()) {
        (Some(session), _) if wanted.all => sessions::list(tx, Some(&session.agent_id), None),
        (Some(session), _) => Ok(vec![session]),
        (None, Some(agent)) if wanted.all => sessions::list(tx, Some(&agent.id), None),
        (None, Some(agent)) => Ok(vec![sessions::active(tx, &agent)?]),
        (None, None) => Err(unknown()),
    }
}

impl Execute for History {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Entry>> {
        let mut found = Vec::new();
        read_history(tx, self, |row| {
            found.push(entries::read(row)?);
            Ok(())
        })?;
        Ok(found)
    }

    fn write_json(&self, _: &Context<'_>, tx: &Tx<'_>, to: &mut Vec<u8>) -> Result<()> {
        let mut list = ListWriter::new(to);
        read_history(tx, self, |row| list.item_by(|to| entries::write_json(row, to)))?;
        list.end();
        Ok(())
    }
}

impl Execute for Rebuilt {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Message>> {
        let session = sessions::active(tx, &agents::find(tx, &self.id)?)?;
        let mut rebuild = Rebuild::new(&session);
        entries::for_each(tx, &session.id, |entry| {
            rebuild.push(entry);
            Ok(())
        })?;
        Ok(rebuild.finish(self.max_tokens))
    }
}

/// Entries that a search gives if it is not told how many.
const FOUND: u32 = 50;
/// Most entries that a search gives, whatever it is told.
const MOST_FOUND: u32 = 1000;

impl Execute for Search {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Found>> {
        let needle = Needle::new(&self.q)?;
        let agent = agent_of(tx, self.agent.as_ref())?;
        let limit = self.limit.unwrap_or(FOUND).min(MOST_FOUND);
        entries::search(tx, &needle, agent.as_ref(), usize::try_from(limit).map_err(Error::internal)?)
    }
}

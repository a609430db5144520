//! Operations on sessions and their entries.

use std::borrow::Cow;
use std::collections::BTreeMap;

use pensa_core::agent::Agent;
use pensa_core::event::{self, EventType};
use pensa_core::id::{AgentId, IssueId, RunId, SessionId, SessionRef};
use pensa_core::json::ListWriter;
use pensa_core::ops::agent::SessionLinks;
use pensa_core::ops::session::{
    Append, Appended, Archive, Compact, Context as Rebuilt, Delete, DeletedSessions, EntryMatch, History, List,
    PRUNED_AT_ONCE, Prune, Reset, Search, Show,
};
use pensa_core::session::search::Needle;
use pensa_core::session::usage::ByModel;
use pensa_core::session::{Entry, Message, NewEntry, OpenedBy, Prices, Rebuild, Session, SessionSummary, Spent};
use pensa_core::{Code, Error, Result, Span, text};
use serde_json::{Map, json};

use crate::context::Context;
use crate::db::{Row, Tx};
use crate::execute::Execute;
use crate::tables::entries::{EntryBudget, StoredEntry};
use crate::tables::{agents, entries, ids, issues, sessions, tombstones};

/// What a session belongs to, resolved and checked.
#[derive(Debug, Default)]
pub(crate) struct Links {
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
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<SessionSummary>> {
        let agent = agent_of(tx, self.agent.as_ref())?;
        let list = if self.all { sessions::list } else { sessions::unarchived };
        list(tx, agent.as_ref(), self.limit)?.into_iter().map(|session| summary(tx, session)).collect()
    }
}

/// A session with the totals of its entries. The cost is by list prices; the caller has the settings.
fn summary(tx: &Tx<'_>, session: Session) -> Result<SessionSummary> {
    let (entries, last_at) = entries::extent(tx, &session.id)?;
    let mut by_model = ByModel::default();
    if entries > 0 {
        entries::for_each_cost(tx, &session.id, usize::MAX, |data| by_model.add(data))?;
    }
    let spent = Spent::new(by_model.finish(), &Prices::default());
    let end = session.ended_at.or(last_at).unwrap_or(session.created_at);
    let duration_ms = end.since(session.created_at).map_or(0, Span::as_millis);
    Ok(SessionSummary { session, entries, duration_ms, tokens: spent.models, cost_usd: spent.cost_usd })
}

fn agent_of(tx: &Tx<'_>, reference: Option<&pensa_core::id::AgentRef>) -> Result<Option<AgentId>> {
    Ok(reference.map(|reference| agents::find(tx, reference)).transpose()?.map(|agent| agent.id))
}

impl Execute for Show {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<SessionSummary> {
        summary(tx, sessions::find(tx, &self.id)?)
    }
}

/// Finds a session that is not active.
fn find_ended(tx: &Tx<'_>, reference: &SessionRef, what: &str) -> Result<Session> {
    let session = sessions::find(tx, reference)?;
    let agent = agents::get(tx, &session.agent_id)?;
    if agent.is_some_and(|agent| agent.active_session_id.as_ref() == Some(&session.id)) {
        let message = format!("cannot {what} {}: it is the active session of {}", session.id, session.agent_id);
        return Err(Error::new(Code::Conflict, message).hint("pn session reset opens the next one"));
    }
    Ok(session)
}

impl Execute for Archive {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Session> {
        let old = find_ended(tx, &self.id, "archive")?;
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
        delete(cx, tx, vec![find_ended(tx, &self.id, "delete")?])
    }
}

impl Execute for Prune {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<DeletedSessions> {
        let agent = agent_of(tx, self.agent.as_ref())?;
        let old = sessions::ended_before(tx, cx.now.minus(self.older_than), agent.as_ref(), PRUNED_AT_ONCE)?;
        delete(cx, tx, old)
    }
}

/// Deletes sessions with their entries. The event has the number of entries, not their content.
fn delete(cx: &Context<'_>, tx: &Tx<'_>, gone: Vec<Session>) -> Result<DeletedSessions> {
    let mut deleted = DeletedSessions::default();
    for session in gone {
        tombstones::write_session_tombstone(cx, tx, &sessions::head(tx, session.clone())?)?;
        deleted.entries += remove(cx, tx, &session)?;
        deleted.ids.push(session.id);
    }
    Ok(deleted)
}

/// Deletes a session that is not active; returns its number of entries.
pub(crate) fn remove(cx: &Context<'_>, tx: &Tx<'_>, session: &Session) -> Result<i64> {
    let count = entries::count_of_session(tx, &session.id)?;
    sessions::delete(tx, &session.id)?;
    let mut detail = Map::from_iter([("entries".to_owned(), json!(count))]);
    let bare = Session { reset_message: None, ..session.clone() };
    detail.insert("session".into(), event::change(&bare, json!(null)));
    sessions::log(cx, tx, &session.id, EventType::Deleted, detail)?;
    Ok(count)
}

/// The first session of an agent.
pub(crate) fn first(cx: &Context<'_>, id: SessionId, agent_id: AgentId, links: Links) -> Session {
    Session {
        id,
        agent_id,
        opened_by: OpenedBy::Start,
        inference_session_id: links.inference_session_id,
        reset_message: None,
        issue_id: links.issue_id,
        run_id: links.run_id,
        created_at: cx.now,
        ended_at: None,
        archived_at: None,
        extra: Map::new(),
    }
}

/// Opens the next session of an agent and ends the current one.
fn open_next(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    agent: Agent,
    opened_by: OpenedBy,
    reset_message: Option<String>,
    links: Links,
) -> Result<Session> {
    let first = first(cx, sessions::new_id(cx, tx)?, agent.id.clone(), links);
    let next = Session { opened_by, reset_message, ..first };
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
            return Err(Error::invalid("summary is empty").hint("pn session reset starts a new session without one"));
        }
        let given = links(cx, tx, &self.session)?;
        // The conversation continues; the provider only sees it in a new form.
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
        // Check all entries before anything is written.
        let mut stored = stored(&self.entries)?;
        let session_id = sessions::active(tx, &agent)?.id;
        let count = i64::try_from(stored.len()).map_err(Error::internal)?;
        let first = sessions::log_append(cx, tx, &session_id, count)?;
        let last = first + count - 1;
        entries::append(tx, &session_id, &mut stored, first, cx.now)?;
        Ok(Appended { session_id, first, last, count, redactions: cx.redacted() })
    }
}

/// Checks all entries and returns them in stored form.
pub(super) fn stored(entries: &[NewEntry]) -> Result<Vec<StoredEntry<'_>>> {
    let mut all = Vec::with_capacity(entries.len());
    for (at, entry) in entries.iter().enumerate() {
        let named = |error: Error| error.within(format!("entry {}", at + 1));
        all.push(stored_entry(Cow::Borrowed(entry)).map_err(named)?);
    }
    Ok(all)
}

/// Checks an entry and returns it in stored form.
pub(super) fn stored_entry(entry: Cow<'_, NewEntry>) -> Result<StoredEntry<'_>> {
    let line = entry.data_line()?;
    Ok(StoredEntry { entry, line })
}

/// A page of a history ends after the entry that exceeds this many bytes.
const PAGE_BYTES: usize = 8 << 20;

/// Calls `each` with the matching rows.
fn read_history(tx: &Tx<'_>, request: &History, mut each: impl FnMut(&Row<'_>) -> Result<()>) -> Result<()> {
    let mut budget = EntryBudget { entries: request.limit.map_or(i64::MAX, i64::from), bytes: PAGE_BYTES };
    let (sessions, mut after) = (sessions_to_read(tx, request)?, request.after.unwrap_or_default());
    if let (Some(skip), [session]) = (request.skip, &sessions[..]) {
        after = after.max(entries::id_at(tx, &session.id, skip)?);
    }
    // Merged by entry id: entries of a synced session may interleave with those of other sessions.
    let mut next = BTreeMap::new();
    for session in sessions {
        next.extend(entries::next(tx, &session.id, after)?.map(|first| (first, session)));
    }
    while let Some((first, session)) = next.pop_first() {
        let end = next.keys().next().copied().unwrap_or(i64::MAX);
        entries::page(tx, &session.id, (first - 1, end), &mut budget, &mut each)?;
        if budget.entries == 0 || budget.bytes == 0 {
            break;
        }
        next.extend(entries::next(tx, &session.id, end)?.map(|more| (more, session)));
    }
    Ok(())
}

/// The sessions to read: one, or all of an agent.
fn sessions_to_read(tx: &Tx<'_>, request: &History) -> Result<Vec<Session>> {
    let text = request.id.as_str();
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
        (Some(session), _) if request.all => sessions::list(tx, Some(&session.agent_id), None),
        (Some(session), _) => Ok(vec![session]),
        (None, Some(agent)) if request.all => sessions::list(tx, Some(&agent.id), None),
        (None, Some(agent)) => Ok(vec![sessions::active(tx, &agent)?]),
        (None, None) => Err(unknown()),
    }
}

impl Execute for History {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        read_history(tx, self, |row| {
            entries.push(entries::read(row)?);
            Ok(())
        })?;
        Ok(entries)
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

/// Search results by default.
const DEFAULT_RESULTS: u32 = 50;
/// Most search results.
const MAX_RESULTS: u32 = 1000;

impl Execute for Search {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<EntryMatch>> {
        let needle = Needle::new(&self.q)?;
        let agent = agent_of(tx, self.agent.as_ref())?;
        let limit = self.limit.unwrap_or(DEFAULT_RESULTS).min(MAX_RESULTS);
        entries::search(tx, &needle, agent.as_ref(), usize::try_from(limit).map_err(Error::internal)?)
    }
}

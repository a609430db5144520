//! Imports a transcript of agent software part by part.
//!
//! A record of the collection `transcripts` says how far each was read. It is written in the transaction of the part, so
//! that a part is taken completely or not at all, whoever else reads the same file. A message whose tokens another
//! session counts already, because a conversation was forked or resumed, keeps its text but counts nothing.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use pensa_core::agent::{Agent, Lifecycle};
use pensa_core::event::{self, EventType};
use pensa_core::id::{IssueId, SessionId};
use pensa_core::issue::Extra;
use pensa_core::ops::agent::ImportedSession;
use pensa_core::ops::transcript::{
    ImportTranscript, TRANSCRIPT_MESSAGES, TRANSCRIPTS, TranscriptAgent, TranscriptImport, TranscriptMark, record_id,
};
use pensa_core::session::usage::inference_id;
use pensa_core::session::{NewEntry, OpenedBy, Session};
use pensa_core::{Code, Error, Result, Timestamp, text};
use serde_json::{Map, Value, json};

use super::session::stored_entry;
use super::transcript_issue::{IssueFinder, Mentions};
use crate::context::Context;
use crate::db::Tx;
use crate::entity;
use crate::execute::Execute;
use crate::tables::entries::StoredEntry;
use crate::tables::records::{Collection, Expect, RecordDraft};
use crate::tables::{agents, entries, events, sessions};

/// Messages looked up per query.
const LOOKUPS_PER_QUERY: usize = 200;

impl Execute for ImportTranscript {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<TranscriptImport> {
        text::line("key", &self.key)?;
        let (marks, id) = (Collection::open(tx, TRANSCRIPTS)?, record_id(&self.key));
        let known = marks.get(tx, &id)?;
        let mut mark: TranscriptMark = match &known {
            Some(record) => serde_json::from_value(Value::Object(record.data.clone())).map_err(|e| {
                Error::new(Code::Corrupt, format!("record {id} in {TRANSCRIPTS} is unreadable: {e}"))
                    .hint("delete it with pn record delete to import the transcript anew")
            })?,
            None => TranscriptMark { key: self.key.clone(), ..TranscriptMark::default() },
        };
        if mark.position != self.from {
            let (here, there) = (mark.position.lines, self.from.lines);
            let message = format!("{} was read up to line {here}, not {there}", self.key);
            return Err(Error::new(Code::Conflict, message).hint("read on from there"));
        }
        let messages = Collection::open(tx, TRANSCRIPT_MESSAGES)?;
        let mut part = PartImporter {
            cx,
            tx,
            messages,
            issues: IssueFinder::default(),
            done: TranscriptImport::default(),
            is_end: self.is_end,
        };
        for given in &self.agents {
            part.agent(given, &mut mark)?;
        }
        part.done.issues = part.issues.into_linked();
        part.done.redactions = cx.redacted();
        mark.file.clone_from(&self.file);
        mark.position = self.to.clone();
        mark.state.clone_from(&self.state);
        let Ok(Value::Object(data)) = serde_json::to_value(&mark) else {
            return Err(Error::internal("a mark is an object"));
        };
        let draft = RecordDraft { id: id.clone(), data: Cow::Owned(data), updated_at: cx.now };
        let put = marks.put(tx, draft, known.map_or(Expect::Absent, |record| Expect::Rev(record.rev)))?;
        let subject = format!("{TRANSCRIPTS}/{id}");
        events::append(cx, tx, ("record", &subject), None, EventType::RecordPut, put.detail())?;
        Ok(part.done)
    }
}

/// Imports one part of a transcript.
struct PartImporter<'a> {
    cx: &'a Context<'a>,
    tx: &'a Tx<'a>,
    messages: Collection,
    issues: IssueFinder,
    done: TranscriptImport,
    is_end: bool,
}

impl PartImporter<'_> {
    fn agent(&mut self, given: &TranscriptAgent, mark: &mut TranscriptMark) -> Result<()> {
        let (cx, tx) = (self.cx, self.tx);
        let parent = given.parent_id.as_ref().filter(|parent| **parent != given.id);
        let parent = parent.map(|parent| agents::get(tx, parent)).transpose()?.flatten();
        let mut following = given.sessions.iter();
        let (agent, mut session) = match agents::get(tx, &given.id)? {
            Some(agent) => {
                let agent = self.update_agent(given, agent, parent.as_ref())?;
                let session = sessions::active(tx, &agent)?;
                (agent, session)
            }
            // Who was deleted here does not come back.
            None if mark.agents.contains_key(&given.id) || agents::deleted(tx, &given.id)?.is_some() => {
                self.done.deleted.push(given.id.clone());
                return Ok(());
            }
            None => {
                let opening = if given.entries.is_empty() { following.next() } else { None };
                let session = self.new_session(given, opening)?;
                let agent = self.insert_agent(given, parent.as_ref(), &session.id)?;
                self.open(&session)?;
                if let Some(opening) = opening {
                    self.append(&session.id, &opening.entries, session.created_at)?;
                }
                (agent, session)
            }
        };
        let branch = agent.descriptor.get("branch").and_then(Value::as_str);
        let mut mentions = Mentions::new(mark.agents.remove(&agent.id).unwrap_or_default());
        let opening = given.sessions.first().filter(|_| following.len() < given.sessions.len());
        mentions.count(opening.map_or(&given.entries, |opening| &opening.entries));
        self.append(&session.id, &given.entries, session.created_at)?;
        let inherited = match &parent {
            Some(parent) => sessions::active(tx, parent)?.issue_id,
            None => None,
        };
        for next in following {
            self.link((given, branch), &mut session, &mut mentions, inherited.as_ref())?;
            let before = session;
            session = Session { issue_id: before.issue_id.clone(), ..self.new_session(given, Some(next))? };
            self.open(&session)?;
            sessions::update(tx, &before.id, |ended| ended.ended_at = Some(session.created_at))?;
            mentions = Mentions::default();
            mentions.count(&next.entries);
            self.append(&session.id, &next.entries, session.created_at)?;
        }
        self.link((given, branch), &mut session, &mut mentions, inherited.as_ref())?;
        mark.agents.insert(agent.id.clone(), mentions.into_counts());
        if agent.active_session_id.as_ref() != Some(&session.id) {
            let moved = Agent { active_session_id: Some(session.id), ..agent.clone() };
            agents::save(cx, tx, &agent, moved, EventType::Updated)?;
        }
        Ok(())
    }

    /// A session that follows, or the first of an agent.
    fn new_session(&self, given: &TranscriptAgent, opening: Option<&ImportedSession>) -> Result<Session> {
        let (cx, first_at) = (self.cx, given.first_at.unwrap_or(self.cx.now));
        let created_at = opening.and_then(|opening| opening.created_at).unwrap_or(first_at).min(cx.now);
        let reset_message = opening.and_then(|opening| opening.reset_message.clone());
        if let Some(message) = &reset_message {
            text::fits_block("reset message", message)?;
        }
        Ok(Session {
            id: sessions::new_id(cx, self.tx)?,
            agent_id: given.id.clone(),
            opened_by: opening.map_or(OpenedBy::Start, |opening| opening.opened_by),
            inference_session_id: text::optional_line("inference session", given.inference_session_id.as_ref())?,
            reset_message,
            issue_id: None,
            run_id: None,
            created_at,
            ended_at: None,
            archived_at: None,
            extra: Map::new(),
        })
    }

    fn open(&mut self, session: &Session) -> Result<()> {
        sessions::insert(self.tx, session)?;
        sessions::log(self.cx, self.tx, &session.id, EventType::Opened, event::differences(None, session))?;
        self.done.sessions += 1;
        Ok(())
    }

    fn insert_agent(&mut self, given: &TranscriptAgent, parent: Option<&Agent>, first: &SessionId) -> Result<Agent> {
        let created_at = given.first_at.unwrap_or(self.cx.now).min(self.cx.now);
        let agent = Agent {
            id: given.id.clone(),
            agent_type: given.agent_type.into(),
            name: text::optional_line("name", given.name.as_ref())?,
            parent_id: parent.map(|parent| parent.id.clone()),
            descriptor: given.descriptor.clone(),
            active_session_id: Some(first.clone()),
            permissions: Map::new(),
            tokens: None,
            stats: Map::new(),
            lifecycle: Lifecycle::Active,
            created_at,
            updated_at: given.last_at.unwrap_or(created_at).clamp(created_at, self.cx.now),
            deleted_ms: None,
            extra: Extra::new(),
        };
        agent.check()?;
        entity::insert(self.tx, &agent)?;
        agents::log(self.cx, self.tx, &agent.id, EventType::Imported, event::differences(None, &agent))?;
        self.done.agents.push(agent.id.clone());
        Ok(agent)
    }

    /// Adds what a later part says about an agent. A name that a person gave stays.
    fn update_agent(&self, given: &TranscriptAgent, old: Agent, parent: Option<&Agent>) -> Result<Agent> {
        let mut new = old.clone();
        let was_title = old.name.as_deref() == old.descriptor.get("title").and_then(Value::as_str);
        if was_title && let Some(name) = text::optional_line("name", given.name.as_ref())? {
            new.name = Some(name);
        }
        new.parent_id = new.parent_id.or_else(|| parent.map(|parent| parent.id.clone()));
        new.descriptor.extend(given.descriptor.clone());
        new.check()?;
        agents::save(self.cx, self.tx, &old, new, EventType::Updated)
    }

    fn append(&mut self, session: &SessionId, given: &[NewEntry], default_at: Timestamp) -> Result<()> {
        if given.is_empty() {
            return Ok(());
        }
        let mut stored = self.without_repeated_usage(session, given)?;
        let count = i64::try_from(stored.len()).map_err(Error::internal)?;
        let first = sessions::log_append(self.cx, self.tx, session, count)?;
        entries::append(self.tx, session, &mut stored, first, default_at)?;
        self.done.entries += count;
        Ok(())
    }

    /// The entries as they are stored. A message that belongs to another session loses its usage, others are from now on
    /// this session's.
    fn without_repeated_usage<'g>(
        &mut self,
        session: &SessionId,
        given: &'g [NewEntry],
    ) -> Result<Vec<StoredEntry<'g>>> {
        let mut owners: HashMap<String, Option<String>> = HashMap::new();
        for entry in given {
            owners.extend(message_ids(entry).into_iter().flatten().map(|id| (id, None)));
        }
        let ids: Vec<String> = owners.keys().cloned().collect();
        for chunk in ids.chunks(LOOKUPS_PER_QUERY) {
            for (id, record) in self.messages.by_ids(self.tx, chunk.iter().map(String::as_str))? {
                let owner = record.data.get("session_id").and_then(Value::as_str).map(str::to_owned);
                owners.insert(id, owner);
            }
        }
        let (mut stored, mut new) = (Vec::with_capacity(given.len()), BTreeMap::new());
        for (at, entry) in given.iter().enumerate() {
            let [own, original] = message_ids(entry);
            let owner = [&original, &own].into_iter().flatten().find_map(|id| owners[id].clone());
            let is_repeated = owner.as_ref().is_some_and(|owner| owner != session.as_str());
            if let Some(own) = own.filter(|own| owners[own].is_none()) {
                new.insert(own, owner.unwrap_or_else(|| session.to_string()));
            }
            let entry = if is_repeated { Cow::Owned(without_usage(entry)) } else { Cow::Borrowed(entry) };
            self.done.repeated += i64::from(is_repeated);
            stored.push(stored_entry(entry).map_err(|error| error.within(format!("entry {}", at + 1)))?);
        }
        let drafts = new.into_iter().map(|(id, session)| {
            let data = Map::from_iter([("session_id".to_owned(), json!(session))]);
            (RecordDraft { id, data: Cow::Owned(data), updated_at: self.cx.now }, Expect::Any)
        });
        self.messages.put_many(self.tx, drafts.collect(), |_, error| error)?;
        Ok(stored)
    }

    /// Notes which issue a session is about.
    fn link(
        &mut self,
        (given, branch): (&TranscriptAgent, Option<&str>),
        session: &mut Session,
        mentions: &mut Mentions,
        inherited: Option<&IssueId>,
    ) -> Result<()> {
        let until = self.is_end.then_some(given.last_at).flatten();
        let found = self.issues.find(self.tx, session, mentions, branch, until)?;
        let found = found.or_else(|| session.issue_id.clone()).or_else(|| inherited.cloned());
        if session.issue_id == found {
            return Ok(());
        }
        let before = session.clone();
        session.issue_id = found;
        let issue = session.issue_id.clone();
        sessions::update(self.tx, &session.id, |session| session.issue_id = issue)?;
        let detail = event::differences(Some(&before), session);
        sessions::log(self.cx, self.tx, &session.id, EventType::Updated, detail)
    }
}

/// The records about the message of an entry: its own, and the one about the message that it is a copy of.
fn message_ids(entry: &NewEntry) -> [Option<String>; 2] {
    let message = entry.data.get("message");
    if message.and_then(|message| message.get("usage")).is_none() {
        return [None, None];
    }
    let original = message.and_then(|message| message.get("copy_of")?.as_str()).map(|id| format!("{id} "));
    [inference_id(&entry.data), original].map(|id| id.map(|id| record_id(&id)))
}

/// An entry whose message is counted elsewhere.
fn without_usage(entry: &NewEntry) -> NewEntry {
    let mut entry = entry.clone();
    if let Some(message) = entry.data.get_mut("message").and_then(Value::as_object_mut)
        && let Some(usage) = message.shift_remove("usage")
    {
        message.insert("usage_counted_elsewhere".to_owned(), usage);
    }
    entry
}

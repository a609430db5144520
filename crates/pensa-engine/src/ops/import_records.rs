//! Taking in what another tool kept.
//!
//! What was taken in before is known by what stands under the tool's name in it, and is left as it is. A record is
//! looked at as a whole before anything of it is stored, so that one that is refused leaves nothing behind.

use std::collections::{HashMap, HashSet};

use pensa_core::comment::Comment;
use pensa_core::event::{self, EventType};
use pensa_core::id::{CommentId, IssueId, LearningId};
use pensa_core::issue::{Extra, Issue, Status};
use pensa_core::kv::{self as pairs, Pair};
use pensa_core::learning::{Found, Learning};
use pensa_core::ops::import::{
    Given, GivenComment, GivenDocument, GivenEvent, GivenIssue, GivenLearning, GivenRelease, GivenSkills, GivenWork,
    Origin, Outcome, Records, Source, Told,
};
use pensa_core::release::{self as releases_rules, Release};
use pensa_core::session::object;
use pensa_core::similar::hash64;
use pensa_core::skill as skills_rules;
use pensa_core::sync::{COMMENTS, Collection, ISSUES, LEARNINGS, Noun, RELEASES};
use pensa_core::work::{MAX_STEPS, Piece, Step, WorkStatus};
use pensa_core::{Code, Error, Result, Timestamp, json, text};
use serde_json::{Map, Value, json};

use super::learning::adopted;
use super::{comment, kv as kv_ops, skill};
use crate::context::Context;
use crate::db::{Tx, params};
use crate::entity::{self, Kept};
use crate::execute::Execute;
use crate::tables::{comments, events, issues, learnings, skills, tombstones, work};

/// Most records that are taken in at once.
const MAX_RECORDS: usize = 10_000;

impl Execute for Records {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Told>> {
        if self.records.len() > MAX_RECORDS {
            let told = format!("{} records at once; the limit is {MAX_RECORDS}", self.records.len());
            return Err(Error::new(Code::TooLarge, told).hint("send them in parts"));
        }
        let mut intake = Intake { cx, tx, from: self.from, learnings: HashMap::new(), logged: HashMap::new() };
        self.records.iter().enumerate().map(|(at, given)| intake.take(at, given)).collect()
    }
}

/// One request that brings records.
struct Intake<'a> {
    cx: &'a Context<'a>,
    tx: &'a Tx<'a>,
    from: Source,
    /// Under which ids learnings are here, by what the other tool calls them.
    learnings: HashMap<String, LearningId>,
    /// Which events of an issue's work the log has from there.
    logged: HashMap<IssueId, HashSet<String>>,
}

fn told(outcome: Outcome, id: impl ToString, reason: Option<String>) -> Told {
    Told { outcome, id: Some(id.to_string()), reason, redactions: 0 }
}

impl Intake<'_> {
    fn take(&mut self, at: usize, given: &Given) -> Result<Told> {
        let taken = match given {
            Given::Issue(given) => self.issue(given),
            Given::Release(given) => self.release(given),
            Given::Learning(given) => self.learning(given),
            Given::Comment(given) => self.comment(given),
            Given::Event(given) => self.event(given),
            Given::Skills(given) => self.skills(given),
            Given::Document(given) => self.document(given),
        };
        match taken {
            Ok(mut told) => {
                if matches!(told.outcome, Outcome::Imported | Outcome::Updated) {
                    told.redactions = self.cx.redacted_in(at);
                }
                Ok(told)
            }
            Err(error) if matches!(error.code, Code::InvalidInput | Code::TooLarge) => {
                Ok(Told { outcome: Outcome::Refused, id: None, reason: Some(error.message), redactions: 0 })
            }
            Err(error) => Err(error),
        }
    }

    /// What there is to say of a record that is here, by what it has from the other tool.
    fn known(&self, id: impl ToString, extra: &Extra, hash: &str) -> Told {
        match extra.get(self.from.as_str()) {
            Some(mark) if mark["hash"].as_str() == Some(hash) => told(Outcome::Here, id, None),
            Some(_) => {
                let reason = "is here already, and its file says something else now; it was left as it is";
                told(Outcome::Changed, id, Some(reason.to_owned()))
            }
            None => told(Outcome::Clash, id, Some("something else has this id here".to_owned())),
        }
    }

    /// What there is to say of a record that was deleted here.
    fn buried(&self, collection: &Collection, id: &str) -> Result<Option<Told>> {
        let tombstone = tombstones::get(self.tx, collection.name, id)?.filter(|tombstone| tombstone.holds());
        Ok(tombstone.map(|_| told(Outcome::Deleted, id, Some("was deleted here".to_owned()))))
    }

    /// What a record keeps under the name of the other tool.
    fn extra(&mut self, origin: &Origin) -> Result<Extra> {
        text::fits_line("file", &origin.file)?;
        text::fits_line("hash", &origin.hash)?;
        let Ok(Value::Object(mark)) = serde_json::to_value(origin) else {
            return Err(Error::internal("an origin is an object"));
        };
        object::check("what has no place", &mark, object::OBJECT_BYTES)?;
        Ok(Extra::from_iter([(self.from.to_string(), Value::Object(mark))]))
    }

    /// A clock that goes ahead must not make things newer than whatever is done to them here.
    fn time(&self, at: Option<Timestamp>) -> Option<Timestamp> {
        at.map(|at| at.min(self.cx.now))
    }

    fn issue(&mut self, given: &GivenIssue) -> Result<Told> {
        let (cx, tx) = (self.cx, self.tx);
        if let Some(here) = issues::get(tx, &given.id)? {
            return Ok(self.known(&given.id, &here.extra, &given.origin.hash));
        }
        if let Some(buried) = self.buried(&ISSUES, given.id.as_str())? {
            return Ok(buried);
        }
        let issue = self.made_issue(given)?;
        let mut piece = given.work.as_ref().map(|work| self.piece(work, &issue)).transpose()?;
        let mut reason = text::long_title(&issue.title);
        if let Some(piece) = piece.as_mut().filter(|piece| piece.status == WorkStatus::Active)
            && let Some(current) = work::current(tx, &cx.actor)?
        {
            piece.status = WorkStatus::Paused;
            let paused = format!("is paused here, for {} is doing {}", cx.actor, current.issue_id);
            reason = Some(reason.map_or(paused.clone(), |warning| format!("{warning}; {paused}")));
        }
        issues::insert(tx, &issue)?;
        events::log(cx, tx, &issue.id, EventType::Created, event::changes(None, &issue))?;
        if let Some(piece) = piece {
            entity::put(tx, &piece)?;
            let detail = event::differences(None, &piece);
            events::append(cx, tx, ("work", piece.issue_id.as_str()), None, EventType::TaskCreated, detail)?;
        }
        Ok(told(Outcome::Imported, &given.id, reason))
    }

    fn made_issue(&mut self, given: &GivenIssue) -> Result<Issue> {
        let extra = self.extra(&given.origin)?;
        let title = text::existing_title("title", &given.title)?.to_owned();
        let description = text::optional_block("description", given.description.as_ref())?;
        let close_reason = text::optional_block("reason", given.close_reason.as_ref())?;
        let status = match given.work.as_ref().map(|work| work.status) {
            None if given.closed => Status::Closed,
            None => Status::Open,
            Some(WorkStatus::Done) => Status::Closed,
            Some(WorkStatus::Active | WorkStatus::Paused) => Status::InProgress,
        };
        let closed_at = self.time(given.closed_at).filter(|_| status == Status::Closed);
        let now = self.cx.now;
        let created_at = self.time(given.created_at).or(closed_at).unwrap_or(now);
        let updated_at = self.time(given.updated_at).or(closed_at).unwrap_or(created_at).max(created_at);
        let issue = Issue {
            id: given.id.clone(),
            title,
            description,
            issue_type: given.issue_type,
            status,
            priority: given.priority,
            spec: text::optional_line("spec", given.spec.as_ref())?,
            fixes: None,
            assignee: (status == Status::InProgress).then(|| self.cx.actor.clone()),
            lease_expires_at: None,
            lease: None,
            claim_session: None,
            claim_host: None,
            created_at,
            updated_at,
            closed_at,
            close_reason,
            extra,
        };
        issue.adopt()
    }

    fn piece(&mut self, given: &GivenWork, issue: &Issue) -> Result<Piece> {
        if given.steps.len() > MAX_STEPS {
            return Err(Error::new(Code::TooLarge, format!("{} has more than {MAX_STEPS} steps", issue.id)));
        }
        let step = |step: &Step| -> Result<Step> {
            Ok(Step { title: text::existing_title("step", &step.title)?.to_owned(), status: step.status })
        };
        let steps = given.steps.iter().map(step).collect::<Result<_>>()?;
        Ok(Piece {
            issue_id: issue.id.clone(),
            kind: given.kind,
            status: given.status,
            branch: text::optional_line("branch", given.branch.as_ref())?,
            steps,
            actor: self.cx.actor.clone(),
            created_at: issue.created_at,
            started_at: self.time(given.started_at).unwrap_or(issue.created_at),
            updated_at: issue.updated_at,
            done_at: issue.closed_at.filter(|_| given.status == WorkStatus::Done),
        })
    }

    fn release(&mut self, given: &GivenRelease) -> Result<Told> {
        if let Some(here) = entity::get::<Release>(self.tx, params![given.id.as_str()])? {
            return Ok(self.known(&given.id, &here.extra, &given.origin.hash));
        }
        if let Some(buried) = self.buried(&RELEASES, given.id.as_str())? {
            return Ok(buried);
        }
        releases_rules::check_version(&given.version)?;
        releases_rules::check_issues(&given.issues)?;
        let mut named = Vec::new();
        for id in &given.issues {
            if !named.contains(id) && issues::get(self.tx, id)?.is_some() {
                named.push(id.clone());
            }
        }
        let notes = text::optional_block("notes", given.notes.as_ref())?;
        let made = Release {
            id: given.id.clone(),
            name: text::existing_title("name", &given.name)?.to_owned(),
            version: given.version.clone(),
            kind: given.kind,
            issues: named,
            notes,
            actor: self.cx.actor.clone(),
            shipped_at: self.time(given.shipped_at).unwrap_or(self.cx.now),
            extra: self.extra(&given.origin)?,
        };
        Release::store(self.cx, self.tx, None, &made.adopt()?)?;
        Ok(told(Outcome::Imported, &given.id, None))
    }

    fn learning(&mut self, given: &GivenLearning) -> Result<Told> {
        let (cx, tx) = (self.cx, self.tx);
        let id = learning_id(self.from, given)?;
        if learnings::get(tx, &id)?.is_some() {
            return Ok(self.learned(given, id, Outcome::Here));
        }
        if let Some(buried) = self.buried(&LEARNINGS, id.as_str())? {
            return Ok(buried);
        }
        let found = Found {
            kind: given.kind,
            text: given.text.clone(),
            tags: given.tags.clone(),
            files: given.files.clone(),
            impact: given.impact,
            value: given.value.clone(),
            linear_id: given.linear_id.clone(),
            task: given.task.clone(),
            at: given.at,
            extra: self.extra(&given.origin)?,
        };
        let superseded = given.supersedes.as_ref().and_then(|name| self.learnings.get(name)).cloned();
        let supersedes = superseded.filter(|other| *other != id);
        let new = Learning { id: id.clone(), supersedes, ..adopted(cx, tx, found)? };
        // What takes the place of another is no repetition of it.
        let same = if new.supersedes.is_some() { None } else { learnings::same(tx, &new, cx.now)? };
        let Some(known) = same else {
            Learning::store(cx, tx, None, &new)?;
            return Ok(self.learned(given, id, Outcome::Imported));
        };
        let name = self.from.as_str();
        if known.extra.get(name).is_some_and(|mark| has_told(mark, &id)) {
            return Ok(self.learned(given, known.id, Outcome::Here));
        }
        let mut both = known.told_again(&new);
        note_telling(&mut both.extra, name, &new);
        both.updated_at = issues::after(cx, known.updated_at);
        Learning::store(cx, tx, Some(&known), &both)?;
        Ok(self.learned(given, known.id, Outcome::Imported))
    }

    /// Notes under which id a learning is here, for others that supersede it.
    fn learned(&mut self, given: &GivenLearning, id: LearningId, outcome: Outcome) -> Told {
        let told = told(outcome, &id, None);
        if let Some(name) = &given.name {
            self.learnings.insert(name.clone(), id);
        }
        told
    }

    fn comment(&mut self, given: &GivenComment) -> Result<Told> {
        let line = json::to_line(&(self.from, &given.issue_id, &given.text, &given.origin.hash))?;
        let id = CommentId::from_hash(hash64(line.as_bytes()));
        if comments::exists(self.tx, &id)? {
            return Ok(told(Outcome::Here, &id, None));
        }
        if let Some(buried) = self.buried(&COMMENTS, &id.to_string())? {
            return Ok(buried);
        }
        if issues::get(self.tx, &given.issue_id)?.is_none() {
            return Err(Error::invalid(format!("{}, which it is about, is not here", given.issue_id)));
        }
        let author = text::optional_line("author", given.author.as_ref())?;
        let comment = Comment {
            id: id.clone(),
            issue_id: given.issue_id.clone(),
            actor: author.unwrap_or_else(|| self.cx.actor.clone()),
            text: text::block("comment", &given.text)?,
            created_at: self.time(given.at).unwrap_or(self.cx.now),
            extra: self.extra(&given.origin)?,
        };
        comment::record(self.cx, self.tx, &comment)?;
        Ok(told(Outcome::Imported, &id, None))
    }

    fn event(&mut self, given: &GivenEvent) -> Result<Told> {
        let (cx, tx, id) = (self.cx, self.tx, &given.issue_id);
        object::check("an event", &given.data, object::OBJECT_BYTES)?;
        if issues::get(tx, id)?.is_none() {
            return Err(Error::invalid(format!("{id}, which it is about, is not here")));
        }
        if !self.logged.contains_key(id) {
            let lines = events::of_subject(tx, "work", id.as_str(), 0, None)?;
            let keys = lines.into_iter().filter(|line| line.event_type == EventType::Imported.as_str());
            let keys = keys.filter_map(|line| line.detail.get("key")?.as_str().map(str::to_owned)).collect();
            self.logged.insert(id.clone(), keys);
        }
        let hash = hash64(json::to_line(&given.data)?.as_bytes());
        let key = format!("{}-{hash:016x}-{}", self.from, given.again);
        if !self.logged.entry(id.clone()).or_default().insert(key.clone()) {
            return Ok(told(Outcome::Here, id, None));
        }
        let data = given.data.clone();
        let detail = Map::from_iter([("key".to_owned(), json!(key)), (self.from.to_string(), Value::Object(data))]);
        events::append(cx, tx, ("work", id.as_str()), None, EventType::Imported, detail)?;
        Ok(told(Outcome::Imported, id, None))
    }

    fn skills(&mut self, given: &GivenSkills) -> Result<Told> {
        let name = skills_rules::checked_name(&given.name)?;
        let wanted = skills_rules::checked_skills(&name, &given.skills)?;
        match skills::get(self.tx, &name)? {
            Some(here) if here.skills == wanted => return Ok(told(Outcome::Here, &name, None)),
            Some(here) => {
                let reason = format!("calls for {} here; it was left as it is", here.skills.join(", "));
                return Ok(told(Outcome::Clash, &name, Some(reason)));
            }
            None => {}
        }
        if skills::all(self.tx)?.mappings.len() >= skills_rules::MAX_NAMES {
            return Err(Error::new(Code::TooLarge, format!("{} names have skills already", skills_rules::MAX_NAMES)));
        }
        skill::save(self.cx, self.tx, name.clone(), wanted)?;
        Ok(told(Outcome::Imported, &name, None))
    }

    fn document(&mut self, given: &GivenDocument) -> Result<Told> {
        let (cx, tx, scope, key) = (self.cx, self.tx, given.scope.as_str(), given.key.as_str());
        let value = given.text.clone();
        pairs::check_value(&value)?;
        let before = kv_ops::look(tx, scope, key)?;
        let (outcome, event) = match &before {
            Some(before) if before.value == value => return Ok(told(Outcome::Here, key, None)),
            Some(_) => (Outcome::Updated, EventType::Updated),
            None => (Outcome::Imported, EventType::Created),
        };
        let pair = Pair { scope: scope.into(), key: key.into(), value, updated_at: cx.now };
        entity::put(tx, &pair)?;
        kv_ops::log(cx, tx, (scope, key), event, [before.as_ref(), Some(&pair)])?;
        Ok(told(outcome, key, None))
    }
}

/// The same text from the same record has the same id, however often it is read.
fn learning_id(from: Source, given: &GivenLearning) -> Result<LearningId> {
    let line = json::to_line(&(from, given.kind, &given.text, &given.origin.hash))?;
    Ok(LearningId::from_hash(hash64(line.as_bytes())))
}

/// Whether a learning was also told by this record of the other tool, which has an id of its own.
fn has_told(mark: &Value, id: &LearningId) -> bool {
    mark["told"].as_array().is_some_and(|told| told.iter().any(|one| one["id"].as_str() == Some(id.as_str())))
}

/// Notes in a learning who else told it, with what two tellings can't both have.
fn note_telling(both: &mut Extra, name: &str, new: &Learning) {
    let mut telling = Map::from_iter([("id".to_owned(), json!(new.id)), ("at".to_owned(), json!(new.created_at))]);
    let task = new.work.as_ref().map(|work| json!(work)).or_else(|| new.extra.get("task_id").cloned());
    let fields = new.extra.get(name).and_then(|mark| mark.get("fields")).cloned();
    let rest = [
        ("task", task),
        ("linear_id", new.linear_id.as_ref().map(|id| json!(id))),
        ("value", new.value.as_ref().map(|value| json!(value))),
        ("fields", fields),
    ];
    telling.extend(rest.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    let mark = both.entry(name).or_insert_with(|| json!({}));
    if !mark.is_object() {
        *mark = json!({"was": mark.take()});
    }
    match mark.get_mut("told").and_then(Value::as_array_mut) {
        Some(told) => told.push(Value::Object(telling)),
        None => mark["told"] = json!([telling]),
    }
}

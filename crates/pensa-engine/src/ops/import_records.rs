//! Imports records of another tool.
//!
//! A record imported before is recognised by the data stored under the tool's name, and stays as it is. A record is
//! validated completely before anything is stored, so a refused one leaves nothing behind.

use std::collections::{HashMap, HashSet};

use pensa_core::comment::Comment;
use pensa_core::event::{self, EventType};
use pensa_core::id::{CommentId, IssueId, LearningId};
use pensa_core::issue::{Extra, Issue, Status};
use pensa_core::kv::{self as pairs, KvPair};
use pensa_core::learning::{Learning, SeedLearning};
use pensa_core::ops::import::{
    ImportComment, ImportDocument, ImportEvent, ImportIssue, ImportItem, ImportLearning, ImportOrigin, ImportOutcome,
    ImportRelease, ImportSkills, ImportWork, ImportedRecord, Records, Source,
};
use pensa_core::ops::refs;
use pensa_core::release::{self as releases_rules, Release};
use pensa_core::session::object;
use pensa_core::similar::hash64;
use pensa_core::skill as skills_rules;
use pensa_core::sync::{COMMENTS, Collection, ISSUES, LEARNINGS, RELEASES, SyncEntity};
use pensa_core::work::{MAX_STEPS, Step, WorkRecord, WorkStatus};
use pensa_core::{Code, Error, Result, Timestamp, json, text};
use serde_json::{Map, Value, json};

use super::learning::new_imported;
use super::{comment, kv as kv_ops, skill};
use crate::context::Context;
use crate::db::{Tx, params};
use crate::entity::{self, StoredEntity};
use crate::execute::Execute;
use crate::tables::{comments, events, issue_query, issues, learnings, skills, tombstones, work};

/// Most records per import.
const MAX_RECORDS: usize = 10_000;

impl Execute for Records {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<ImportedRecord>> {
        if self.records.len() > MAX_RECORDS {
            let message = format!("{} records at once; the limit is {MAX_RECORDS}", self.records.len());
            return Err(Error::new(Code::TooLarge, message).hint("send them in parts"));
        }
        let mut importer = Importer { cx, tx, from: self.from, learnings: HashMap::new(), logged: HashMap::new() };
        self.records.iter().enumerate().map(|(at, given)| importer.import(at, given)).collect()
    }
}

/// The state of one import request.
struct Importer<'a> {
    cx: &'a Context<'a>,
    tx: &'a Tx<'a>,
    from: Source,
    /// The ids of imported learnings, by their names in the other tool
    learnings: HashMap<String, LearningId>,
    /// The keys of imported events already in the log, by issue
    logged: HashMap<IssueId, HashSet<String>>,
}

fn imported_record(outcome: ImportOutcome, id: impl ToString, reason: Option<String>) -> ImportedRecord {
    ImportedRecord { outcome, id: Some(id.to_string()), reason, redactions: 0 }
}

impl Importer<'_> {
    fn import(&mut self, at: usize, given: &ImportItem) -> Result<ImportedRecord> {
        let result = match given {
            ImportItem::Issue(given) => self.issue(given),
            ImportItem::Release(given) => self.release(given),
            ImportItem::Learning(given) => self.learning(given),
            ImportItem::Comment(given) => self.comment(given),
            ImportItem::Event(given) => self.event(given),
            ImportItem::Skills(given) => self.skills(given),
            ImportItem::Document(given) => self.document(given),
        };
        match result {
            Ok(mut record) => {
                if matches!(record.outcome, ImportOutcome::Imported | ImportOutcome::Updated) {
                    record.redactions = self.cx.redacted_in(at);
                }
                Ok(record)
            }
            Err(error) if matches!(error.code, Code::InvalidInput | Code::TooLarge) => Ok(ImportedRecord {
                outcome: ImportOutcome::Refused,
                id: None,
                reason: Some(error.message),
                redactions: 0,
            }),
            Err(error) => Err(error),
        }
    }

    /// The outcome for a record whose id exists, by the hash stored at its import.
    fn existing_outcome(&self, id: impl ToString, extra: &Extra, hash: &str) -> ImportedRecord {
        match extra.get(self.from.as_str()) {
            Some(mark) if mark["hash"].as_str() == Some(hash) => imported_record(ImportOutcome::Here, id, None),
            Some(_) => {
                let reason = "is here already, and its file says something else now; it was left as it is";
                imported_record(ImportOutcome::Changed, id, Some(reason.to_owned()))
            }
            None => imported_record(ImportOutcome::Clash, id, Some("something else has this id here".to_owned())),
        }
    }

    /// The outcome for a record that was deleted here, if it was.
    fn deleted_outcome(&self, collection: &Collection, id: &str) -> Result<Option<ImportedRecord>> {
        let tombstone = tombstones::get(self.tx, collection.name, id)?.filter(|tombstone| tombstone.is_in_force());
        Ok(tombstone.map(|_| imported_record(ImportOutcome::Deleted, id, Some("was deleted here".to_owned()))))
    }

    /// What a record stores under the other tool's name.
    fn extra(&mut self, origin: &ImportOrigin) -> Result<Extra> {
        text::fits_line("file", &origin.file)?;
        text::fits_line("hash", &origin.hash)?;
        let Ok(Value::Object(mark)) = serde_json::to_value(origin) else {
            return Err(Error::internal("an origin is an object"));
        };
        object::check("what has no place", &mark, object::OBJECT_BYTES)?;
        Ok(Extra::from_iter([(self.from.to_string(), Value::Object(mark))]))
    }

    /// Limits a time to now, so that a wrong clock does not make records newer than later changes.
    fn not_after_now(&self, at: Option<Timestamp>) -> Option<Timestamp> {
        at.map(|at| at.min(self.cx.now))
    }

    fn issue(&mut self, given: &ImportIssue) -> Result<ImportedRecord> {
        let (cx, tx) = (self.cx, self.tx);
        if let Some(existing) = issues::get(tx, &given.id)? {
            return Ok(self.existing_outcome(&given.id, &existing.extra, &given.origin.hash));
        }
        if let Some(deleted) = self.deleted_outcome(&ISSUES, given.id.as_str())? {
            return Ok(deleted);
        }
        let issue = self.new_issue(given)?;
        let mut piece = given.work.as_ref().map(|work| self.new_work(work, &issue)).transpose()?;
        let mut reason = text::long_title(&issue.title);
        if let Some(piece) = piece.as_mut().filter(|piece| piece.status == WorkStatus::Active)
            && let Some(current) = work::current(tx, &cx.actor)?
        {
            piece.status = WorkStatus::Paused;
            let paused = format!("is paused here, for {} is doing {}", cx.actor, current.issue_id);
            reason = Some(reason.map_or(paused.clone(), |warning| format!("{warning}; {paused}")));
        }
        entity::insert(tx, &issue)?;
        events::log(cx, tx, &issue.id, EventType::Created, event::changes(None, &issue))?;
        let linear = ["linearId", "linear_id"].iter().find_map(|name| given.origin.fields.get(*name)?.as_str());
        if let Some(key) = linear.filter(|key| !key.contains(char::is_whitespace) && !key.is_empty()) {
            refs::Add { id: (&issue.id).into(), target: issue_query::linear_target(key), title: None }
                .execute(cx, tx)?;
        }
        if let Some(piece) = piece {
            entity::put(tx, &piece)?;
            let detail = event::differences(None, &piece);
            events::append(cx, tx, ("work", piece.issue_id.as_str()), None, EventType::TaskCreated, detail)?;
        }
        Ok(imported_record(ImportOutcome::Imported, &given.id, reason))
    }

    fn new_issue(&mut self, given: &ImportIssue) -> Result<Issue> {
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
        let closed_at = self.not_after_now(given.closed_at).filter(|_| status == Status::Closed);
        let now = self.cx.now;
        let created_at = self.not_after_now(given.created_at).or(closed_at).unwrap_or(now);
        let updated_at = self.not_after_now(given.updated_at).or(closed_at).unwrap_or(created_at).max(created_at);
        let issue = Issue {
            description,
            status,
            priority: given.priority,
            spec: text::optional_line("spec", given.spec.as_ref())?,
            assignee: (status == Status::InProgress).then(|| self.cx.actor.clone()),
            updated_at,
            closed_at,
            close_reason,
            extra,
            ..Issue::new(given.id.clone(), title, given.issue_type, created_at)
        };
        issue.normalise()
    }

    fn new_work(&mut self, given: &ImportWork, issue: &Issue) -> Result<WorkRecord> {
        if given.steps.len() > MAX_STEPS {
            return Err(Error::new(Code::TooLarge, format!("{} has more than {MAX_STEPS} steps", issue.id)));
        }
        let step = |step: &Step| -> Result<Step> {
            Ok(Step { title: text::existing_title("step", &step.title)?.to_owned(), status: step.status })
        };
        let steps = given.steps.iter().map(step).collect::<Result<_>>()?;
        Ok(WorkRecord {
            issue_id: issue.id.clone(),
            kind: given.kind,
            status: given.status,
            branch: text::optional_line("branch", given.branch.as_ref())?,
            steps,
            actor: self.cx.actor.clone(),
            created_at: issue.created_at,
            started_at: self.not_after_now(given.started_at).unwrap_or(issue.created_at),
            updated_at: issue.updated_at,
            done_at: issue.closed_at.filter(|_| given.status == WorkStatus::Done),
            extra: Map::new(),
        })
    }

    fn release(&mut self, given: &ImportRelease) -> Result<ImportedRecord> {
        if let Some(existing) = entity::get::<Release>(self.tx, params![given.id.as_str()])? {
            return Ok(self.existing_outcome(&given.id, &existing.extra, &given.origin.hash));
        }
        if let Some(deleted) = self.deleted_outcome(&RELEASES, given.id.as_str())? {
            return Ok(deleted);
        }
        releases_rules::check_version(&given.version)?;
        releases_rules::check_issues(&given.issues)?;
        let mut known_issues = Vec::new();
        for id in &given.issues {
            if !known_issues.contains(id) && issues::get(self.tx, id)?.is_some() {
                known_issues.push(id.clone());
            }
        }
        let notes = text::optional_block("notes", given.notes.as_ref())?;
        let release = Release {
            id: given.id.clone(),
            name: text::existing_title("name", &given.name)?.to_owned(),
            version: given.version.clone(),
            kind: given.kind,
            issues: known_issues,
            notes,
            actor: self.cx.actor.clone(),
            shipped_at: self.not_after_now(given.shipped_at).unwrap_or(self.cx.now),
            extra: self.extra(&given.origin)?,
        };
        Release::store(self.cx, self.tx, None, &release.normalise()?)?;
        Ok(imported_record(ImportOutcome::Imported, &given.id, None))
    }

    fn learning(&mut self, given: &ImportLearning) -> Result<ImportedRecord> {
        let (cx, tx) = (self.cx, self.tx);
        let id = learning_id(self.from, given)?;
        if learnings::get(tx, &id)?.is_some() {
            return Ok(self.learning_outcome(given, id, ImportOutcome::Here));
        }
        if let Some(deleted) = self.deleted_outcome(&LEARNINGS, id.as_str())? {
            return Ok(deleted);
        }
        let seed = SeedLearning {
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
        let new = Learning { id: id.clone(), supersedes, ..new_imported(cx, tx, seed)? };
        // A learning that supersedes another is not its duplicate.
        let same = if new.supersedes.is_some() { None } else { learnings::find_same(tx, &new, cx.now)? };
        let Some(known) = same else {
            Learning::store(cx, tx, None, &new)?;
            return Ok(self.learning_outcome(given, id, ImportOutcome::Imported));
        };
        let name = self.from.as_str();
        if known.extra.get(name).is_some_and(|mark| is_merged(mark, &id)) {
            return Ok(self.learning_outcome(given, known.id, ImportOutcome::Here));
        }
        let mut merged = known.merged_with(&new);
        add_source(&mut merged.extra, name, &new);
        merged.updated_at = issues::after(cx, known.updated_at);
        Learning::store(cx, tx, Some(&known), &merged)?;
        Ok(self.learning_outcome(given, known.id, ImportOutcome::Imported))
    }

    /// Remembers the id of an imported learning, for others that supersede it.
    fn learning_outcome(&mut self, given: &ImportLearning, id: LearningId, outcome: ImportOutcome) -> ImportedRecord {
        let record = imported_record(outcome, &id, None);
        if let Some(name) = &given.name {
            self.learnings.insert(name.clone(), id);
        }
        record
    }

    fn comment(&mut self, given: &ImportComment) -> Result<ImportedRecord> {
        let line = json::to_line(&(self.from, &given.issue_id, &given.text, &given.origin.hash))?;
        let id = CommentId::from_hash(hash64(line.as_bytes()));
        if comments::exists(self.tx, &id)? {
            return Ok(imported_record(ImportOutcome::Here, &id, None));
        }
        if let Some(deleted) = self.deleted_outcome(&COMMENTS, &id.to_string())? {
            return Ok(deleted);
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
            created_at: self.not_after_now(given.at).unwrap_or(self.cx.now),
            extra: self.extra(&given.origin)?,
        };
        comment::record(self.cx, self.tx, &comment)?;
        Ok(imported_record(ImportOutcome::Imported, &id, None))
    }

    fn event(&mut self, given: &ImportEvent) -> Result<ImportedRecord> {
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
            return Ok(imported_record(ImportOutcome::Here, id, None));
        }
        let data = given.data.clone();
        let detail = Map::from_iter([("key".to_owned(), json!(key)), (self.from.to_string(), Value::Object(data))]);
        events::append(cx, tx, ("work", id.as_str()), None, EventType::Imported, detail)?;
        Ok(imported_record(ImportOutcome::Imported, id, None))
    }

    fn skills(&mut self, given: &ImportSkills) -> Result<ImportedRecord> {
        let name = skills_rules::checked_name(&given.name)?;
        let new_skills = skills_rules::checked_skills(&name, &given.skills)?;
        match skills::get(self.tx, &name)? {
            Some(existing) if existing.skills == new_skills => {
                return Ok(imported_record(ImportOutcome::Here, &name, None));
            }
            Some(existing) => {
                let reason = format!("calls for {} here; it was left as it is", existing.skills.join(", "));
                return Ok(imported_record(ImportOutcome::Clash, &name, Some(reason)));
            }
            None => {}
        }
        if skills::all(self.tx)?.mappings.len() >= skills_rules::MAX_NAMES {
            return Err(Error::new(Code::TooLarge, format!("{} names have skills already", skills_rules::MAX_NAMES)));
        }
        skill::save(self.cx, self.tx, name.clone(), new_skills)?;
        Ok(imported_record(ImportOutcome::Imported, &name, None))
    }

    fn document(&mut self, given: &ImportDocument) -> Result<ImportedRecord> {
        let (cx, tx, scope, key) = (self.cx, self.tx, given.scope.as_str(), given.key.as_str());
        let value = given.text.clone();
        pairs::check_value(&value)?;
        let before = kv_ops::get_pair(tx, scope, key)?;
        let (outcome, event) = match &before {
            Some(before) if before.value == value => return Ok(imported_record(ImportOutcome::Here, key, None)),
            Some(_) => (ImportOutcome::Updated, EventType::Updated),
            None => (ImportOutcome::Imported, EventType::Created),
        };
        let extra = before.as_ref().map(|before| before.extra.clone()).unwrap_or_default();
        let pair = KvPair { scope: scope.into(), key: key.into(), value, updated_at: cx.now, extra };
        entity::put(tx, &pair)?;
        kv_ops::log(cx, tx, (scope, key), event, [before.as_ref(), Some(&pair)])?;
        Ok(imported_record(outcome, key, None))
    }
}

/// Derives the id from text and record, so that repeated imports give the same id.
fn learning_id(from: Source, given: &ImportLearning) -> Result<LearningId> {
    let line = json::to_line(&(from, given.kind, &given.text, &given.origin.hash))?;
    Ok(LearningId::from_hash(hash64(line.as_bytes())))
}

/// Whether this learning was merged into the existing one before.
fn is_merged(mark: &Value, id: &LearningId) -> bool {
    mark["told"].as_array().is_some_and(|told| told.iter().any(|one| one["id"].as_str() == Some(id.as_str())))
}

/// Adds the source of a merged learning, with the fields that cannot be merged.
fn add_source(merged: &mut Extra, name: &str, new: &Learning) {
    let mut source = Map::from_iter([("id".to_owned(), json!(new.id)), ("at".to_owned(), json!(new.created_at))]);
    let task = new.work.as_ref().map(|work| json!(work)).or_else(|| new.extra.get("task_id").cloned());
    let fields = new.extra.get(name).and_then(|mark| mark.get("fields")).cloned();
    let rest = [
        ("task", task),
        ("linear_id", new.linear_id.as_ref().map(|id| json!(id))),
        ("value", new.value.as_ref().map(|value| json!(value))),
        ("fields", fields),
    ];
    source.extend(rest.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    let mark = merged.entry(name).or_insert_with(|| json!({}));
    if !mark.is_object() {
        *mark = json!({"was": mark.take()});
    }
    match mark.get_mut("told").and_then(Value::as_array_mut) {
        Some(told) => told.push(Value::Object(source)),
        None => mark["told"] = json!([source]),
    }
}

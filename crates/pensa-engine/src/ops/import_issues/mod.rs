//! Imports issues of other trackers, and reads whole issues to export them.
//!
//! Under the name of its tracker an issue keeps what identifies it there, and a fingerprint of each part as the tracker
//! had it. A repeated import changes only the parts that differ from it: what was changed here stays, unless the tracker
//! has changed the same part. [`cycles`] keeps the graph of the store free of cycles.

mod cycles;
mod parts;

use std::collections::{HashMap, HashSet};

use pensa_core::comment::Comment;
use pensa_core::dep::Dep;
use pensa_core::event::{self, EventType};
use pensa_core::id::{CommentId, IssueId, LearningId};
use pensa_core::issue::{Extra, Issue, IssueTransition, Status};
use pensa_core::kv::KvPair;
use pensa_core::learning::{Impact, Kind, Learning, SeedLearning};
use pensa_core::ops::refs as references;
use pensa_core::ops::tracker::{
    ExportIssues, ImportIssues, ImportedItem, ItemOutcome, TOMBSTONE_SCOPE, Tracker, TrackerComment, TrackerIssue,
    TrackerItem, TrackerMemory, TrackerTombstone, WholeIssue,
};
use pensa_core::session::{Object, object};
use pensa_core::similar::hash64;
use pensa_core::sync::{COMMENTS, Collection, DEPS, ISSUES, KV, LEARNINGS};
use pensa_core::{Code, Error, Result, Timestamp, json, text};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::learning::new_imported;
use super::undo::with_dry_run;
use super::{comment, dep, issue};
use crate::context::Context;
use crate::db::{Tx, params};
use crate::entity::{self, StoredEntity};
use crate::execute::Execute;
use crate::lease;
use crate::tables::{comments, events, issues, kv, learnings, tombstones};
use parts::{IssuePart, fingerprint};

/// Most items of one import.
const MAX_ITEMS: usize = 20_000;
/// Issues of one page of an export, unless the caller says otherwise.
const PAGE: u32 = 1_000;

impl Execute for ImportIssues {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<ImportedItem>> {
        if self.items.len() > MAX_ITEMS {
            let message = format!("{} items at once; the limit is {MAX_ITEMS}", self.items.len());
            return Err(Error::new(Code::TooLarge, message).hint("send them in parts"));
        }
        with_dry_run(tx, self.dry_run, || IssueImporter::new(cx, tx, self.from)?.import(&self.items))
    }
}

impl Execute for ExportIssues {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<WholeIssue>> {
        let after = self.after.as_ref().map_or("", IssueId::as_str);
        let limit = i64::from(self.limit.unwrap_or(PAGE));
        let page = issues::query(tx, "WHERE i.id > ?1 ORDER BY i.id LIMIT ?2", params![after, limit])?;
        let whole = page.into_iter().map(|issue| {
            let id = &issue.id;
            let deps = deps_of(tx, id)?.into_iter().map(|dep| dep.depends_on_id).collect();
            let refs = entity::attached::<references::Ref>(tx, id)?.into_iter().map(|one| one.target).collect();
            Ok(WholeIssue { deps, comments: comments::of_issue(tx, id)?, refs, issue })
        });
        whole.collect()
    }
}

fn deps_of(tx: &Tx<'_>, id: &IssueId) -> Result<Vec<Dep>> {
    entity::query(tx, "WHERE issue_id = ?1 ORDER BY depends_on_id", params![id])
}

/// What an issue keeps under the name of its tracker.
#[derive(Debug, Default, Serialize, Deserialize)]
struct TrackerMark {
    key: String,
    /// The fingerprints of its parts as the tracker had them, separated by dots.
    #[serde(default)]
    seen: String,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    raw: Object,
}

/// An issue that can be imported.
#[derive(Debug)]
struct ImportCandidate {
    /// Its position among the items.
    at: usize,
    given: TrackerIssue,
    existing: Option<Issue>,
    /// What was seen at the last import.
    seen: Vec<String>,
    result: ImportedItem,
    /// The parts that are stored after all issues are.
    pending: Vec<IssuePart>,
}

impl ImportCandidate {
    /// Whether the tracker has changed a part since the last import.
    fn has_changed(&self, part: IssuePart) -> Result<bool> {
        Ok(self.seen.get(part.place()) != Some(&part.hash(&self.given)?))
    }
}

/// The state of one import.
struct IssueImporter<'a> {
    cx: &'a Context<'a>,
    tx: &'a Tx<'a>,
    from: Tracker,
    /// The keys in `pn kv` of issues known to be deleted there.
    deleted: HashSet<String>,
}

fn imported(outcome: ItemOutcome, id: impl ToString) -> ImportedItem {
    ImportedItem { outcome, id: id.to_string(), problems: Vec::new(), missing: Vec::new(), redactions: 0 }
}

fn skipped(id: impl ToString, why: impl Into<String>) -> ImportedItem {
    ImportedItem { problems: vec![why.into()], ..imported(ItemOutcome::Skipped, id) }
}

/// Turns the refusal of an item into its result; other errors end the import.
fn skipped_if_refused(id: &str, result: Result<ImportedItem>) -> Result<ImportedItem> {
    match result {
        Err(e) if matches!(e.code, Code::InvalidInput | Code::TooLarge) => Ok(skipped(id, e.message)),
        result => result,
    }
}

impl<'a> IssueImporter<'a> {
    fn new(cx: &'a Context<'a>, tx: &'a Tx<'a>, from: Tracker) -> Result<Self> {
        let pairs = kv::list(tx, Some(TOMBSTONE_SCOPE), &from.tombstone_key(""), None)?;
        Ok(Self { cx, tx, from, deleted: pairs.into_iter().map(|pair| pair.key).collect() })
    }

    fn import(&self, items: &[TrackerItem]) -> Result<Vec<ImportedItem>> {
        let mut candidates: Vec<ImportCandidate> = Vec::new();
        let mut results: HashMap<usize, ImportedItem> = HashMap::new();
        let mut ids: HashSet<&IssueId> = HashSet::new();
        for (at, item) in items.iter().enumerate() {
            let result = match item {
                TrackerItem::Issue(given) if !ids.insert(&given.id) => {
                    skipped(&given.id, "another item of this import has the same id")
                }
                TrackerItem::Issue(given) => match self.candidate(at, given) {
                    Ok(candidate) => {
                        candidates.push(candidate);
                        continue;
                    }
                    Err(e) => skipped_if_refused(given.id.as_str(), Err(e))?,
                },
                TrackerItem::Memory(given) => skipped_if_refused(&given.key, self.memory(given))?,
                TrackerItem::Tombstone(given) => skipped_if_refused(given.id.as_str(), self.tombstone(given))?,
            };
            results.insert(at, result);
        }
        self.drop_dangling(&mut candidates)?;
        let guard = cycles::drop_cycles(self.tx, &mut candidates)?;
        for candidate in &mut candidates {
            self.store(candidate)?;
        }
        for candidate in &mut candidates {
            self.store_pending(candidate)?;
        }
        guard.check(self.tx)?;
        results.extend(candidates.into_iter().map(|candidate| (candidate.at, candidate.result)));
        let in_order = (0..items.len()).map(|at| {
            let mut result = results.remove(&at).ok_or_else(|| Error::internal("an item without a result"))?;
            if matches!(result.outcome, ItemOutcome::Created | ItemOutcome::Updated) {
                result.redactions = self.cx.redacted_in(at);
            }
            Ok(result)
        });
        in_order.collect()
    }

    /// Checks an issue completely, so that nothing of a refused one is stored.
    fn candidate(&self, at: usize, given: &TrackerIssue) -> Result<ImportCandidate> {
        object::check("what has no place", &given.raw, object::OBJECT_BYTES)?;
        text::fits_line("key", &given.key)?;
        let existing = issues::get(self.tx, &given.id)?;
        let mark = existing.as_ref().and_then(|issue| issue.extra.get(self.from.as_str()));
        let mark: Option<TrackerMark> = mark.and_then(|mark| serde_json::from_value(mark.clone()).ok());
        match (&existing, &mark) {
            (None, _) => self.refuse_deleted(&ISSUES, given.id.as_str())?,
            (_, Some(mark)) if mark.key == given.key => {}
            (Some(_), Some(mark)) => {
                return Err(Error::invalid(format!("{} of {} has this id here", mark.key, self.from)));
            }
            (Some(issue), None) if given.created_at == Some(issue.created_at) => {}
            (Some(_), None) => return Err(Error::invalid("something else has this id here")),
        }
        let given = self.not_after_now(given);
        self.new_issue(&given)?;
        let seen = mark.map(|mark| mark.seen.split('.').map(str::to_owned).collect()).unwrap_or_default();
        let result = imported(ItemOutcome::Unchanged, &given.id);
        Ok(ImportCandidate { at, given, existing, seen, result, pending: Vec::new() })
    }

    fn refuse_deleted(&self, collection: &Collection, id: &str) -> Result<()> {
        match tombstones::get(self.tx, collection.name, id)?.filter(|tombstone| tombstone.is_in_force()) {
            Some(_) => Err(Error::invalid("was deleted here")),
            None => Ok(()),
        }
    }

    /// Limits times to now, so that a wrong clock does not make records newer than later changes.
    fn not_after_now(&self, given: &TrackerIssue) -> TrackerIssue {
        let mut given = given.clone();
        for at in [&mut given.created_at, &mut given.updated_at, &mut given.closed_at] {
            *at = at.map(|at| at.min(self.cx.now));
        }
        given
    }

    fn new_issue(&self, given: &TrackerIssue) -> Result<Issue> {
        let created_at = given.created_at.or(given.closed_at).unwrap_or(self.cx.now);
        let updated_at = given.updated_at.or(given.closed_at).unwrap_or(created_at).max(created_at);
        let mut new =
            Issue { updated_at, ..Issue::new(given.id.clone(), given.title.clone(), given.issue_type, created_at) };
        for part in IssuePart::ALL {
            part.apply(&mut new, given)?;
        }
        new.normalise()
    }

    /// Drops references to issues that are neither here nor in the import.
    fn drop_dangling(&self, candidates: &mut [ImportCandidate]) -> Result<()> {
        let coming: HashSet<IssueId> = candidates.iter().map(|candidate| candidate.given.id.clone()).collect();
        let mut is_here: HashMap<IssueId, bool> = HashMap::new();
        for ImportCandidate { given, result, .. } in candidates {
            let mut missing: Vec<IssueId> = Vec::new();
            for id in given.named() {
                let known = coming.contains(id) || is_here.get(id).copied().unwrap_or_default();
                if !known && !is_here.contains_key(id) {
                    is_here.insert(id.clone(), issues::get(self.tx, id)?.is_some());
                }
                if !known && is_here.get(id) == Some(&false) && !missing.contains(id) {
                    missing.push(id.clone());
                }
            }
            given.parent = given.parent.take().filter(|id| !missing.contains(id));
            given.deps.retain(|id| !missing.contains(id));
            given.links.retain(|link| !missing.contains(&link.to));
            result.problems.extend(missing.iter().map(|id| format!("it refers to {id}, which is not here")));
            result.missing = missing;
        }
        Ok(())
    }

    /// Stores an issue, without what refers to other issues by its own records.
    fn store(&self, candidate: &mut ImportCandidate) -> Result<()> {
        match candidate.existing.take() {
            None => self.create(candidate),
            Some(existing) => self.update(candidate, &existing),
        }
    }

    fn create(&self, candidate: &mut ImportCandidate) -> Result<()> {
        let ImportCandidate { given, result, .. } = candidate;
        let mut new = self.new_issue(given)?;
        new.extra = self.mark(given, &fingerprint(given)?)?;
        entity::insert(self.tx, &new)?;
        events::log(self.cx, self.tx, &new.id, EventType::Created, event::changes(None, &new))?;
        self.forget_tombstone(&new.id)?;
        result.outcome = ItemOutcome::Created;
        result.problems.extend(text::long_title(&new.title).map(|warning| format!("it {warning}")));
        candidate.pending = IssuePart::PENDING.to_vec();
        Ok(())
    }

    fn update(&self, candidate: &mut ImportCandidate, existing: &Issue) -> Result<()> {
        let given = &candidate.given;
        // Without an earlier import the newer side counts.
        if candidate.seen.is_empty() && given.updated_at.is_none_or(|at| at <= existing.updated_at) {
            return Ok(());
        }
        let mut now_seen = fingerprint(given)?;
        let mut changed = existing.clone();
        let mut parts = Vec::new();
        for part in IssuePart::ALL {
            if !candidate.has_changed(part)? {
                continue;
            }
            if let (true, Err(e)) = (part.is_of_claim(), self.check_claim(existing)) {
                candidate.result.problems.push(format!("its {} was left as it is: {}", part.name(), e.message));
                now_seen[part.place()] = candidate.seen.get(part.place()).cloned().unwrap_or_default();
                continue;
            }
            part.apply(&mut changed, given)?;
            parts.push(part);
        }
        if given.issue_type != existing.issue_type {
            let (here, there) = (existing.issue_type, given.issue_type);
            candidate.result.problems.push(format!("it is a {here} here and a {there} there; a type never changes"));
        }
        if parts.is_empty() {
            return Ok(());
        }
        if parts.contains(&IssuePart::State) {
            changed = changed.normalise()?;
        }
        changed.extra.extend(self.mark(given, &now_seen)?);
        let event = match (existing.status == Status::Closed, changed.status == Status::Closed) {
            (false, true) => EventType::Closed,
            (true, false) => EventType::Reopened,
            _ => EventType::Updated,
        };
        issues::save(self.cx, self.tx, existing, changed, event, Map::new())?;
        candidate.result.outcome = ItemOutcome::Updated;
        candidate.pending = parts.into_iter().filter(|part| IssuePart::PENDING.contains(part)).collect();
        Ok(())
    }

    /// Fails if somebody else is working on an issue.
    fn check_claim(&self, existing: &Issue) -> Result<()> {
        match existing.status {
            Status::InProgress => lease::check_claim(self.cx, self.tx, existing, &self.cx.requester(false)).map(drop),
            _ => Ok(()),
        }
    }

    /// What an issue stores under the tracker's name.
    fn mark(&self, given: &TrackerIssue, seen: &[String]) -> Result<Extra> {
        let mark = TrackerMark { key: given.key.clone(), seen: seen.join("."), raw: given.raw.clone() };
        Ok(Extra::from_iter([(self.from.to_string(), serde_json::to_value(mark).map_err(Error::internal)?)]))
    }

    fn forget_tombstone(&self, id: &IssueId) -> Result<()> {
        let key = self.from.tombstone_key(id.as_str());
        if !self.deleted.contains(&key) {
            return Ok(());
        }
        let Some(pair) = entity::get::<KvPair>(self.tx, params![TOMBSTONE_SCOPE, &key])? else { return Ok(()) };
        let name = format!("{TOMBSTONE_SCOPE} {key}");
        tombstones::write_tombstone(self.cx, self.tx, &KV, &name, Some(pair.updated_at))?;
        KvPair::remove(self.cx, self.tx, &pair)
    }

    fn store_pending(&self, candidate: &mut ImportCandidate) -> Result<()> {
        let ImportCandidate { given, result, pending, .. } = candidate;
        let is_new = result.outcome == ItemOutcome::Created;
        for part in pending.iter() {
            match part {
                IssuePart::Deps => self.store_deps(given, is_new)?,
                IssuePart::Refs => self.store_refs(given, result)?,
                IssuePart::Comments => self.store_comments(given, is_new, result)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn store_deps(&self, given: &TrackerIssue, is_new: bool) -> Result<()> {
        let known = if is_new { Vec::new() } else { deps_of(self.tx, &given.id)? };
        for gone in known.iter().filter(|dep| !given.deps.contains(&dep.depends_on_id)) {
            dep::unlink(self.cx, self.tx, &gone.issue_id, &gone.depends_on_id)?;
            tombstones::write_tombstone(self.cx, self.tx, &DEPS, &gone.key(), None)?;
        }
        for parent in &given.deps {
            dep::link_anew(self.cx, self.tx, &given.id, parent)?;
        }
        Ok(())
    }

    fn store_refs(&self, given: &TrackerIssue, result: &mut ImportedItem) -> Result<()> {
        for target in &given.refs {
            let add = references::Add { id: (&given.id).into(), target: target.clone(), title: None };
            match add.execute(self.cx, self.tx) {
                Err(e) if e.code == Code::InvalidInput => result.problems.push(e.message),
                done => drop(done?),
            }
        }
        Ok(())
    }

    fn store_comments(&self, given: &TrackerIssue, is_new: bool, result: &mut ImportedItem) -> Result<()> {
        let known = if is_new { Vec::new() } else { comments::of_issue(self.tx, &given.id)? };
        for comment in &given.comments {
            match self.store_comment(&given.id, comment, &known) {
                Err(e) if matches!(e.code, Code::InvalidInput | Code::TooLarge) => {
                    result.problems.push(format!("a comment was left out: {}", e.message));
                }
                done => done?,
            }
        }
        Ok(())
    }

    fn store_comment(&self, issue: &IssueId, given: &TrackerComment, known: &[Comment]) -> Result<()> {
        let (cx, tx, name) = (self.cx, self.tx, self.from.as_str());
        let at = given.at.filter(|_| given.key.is_empty());
        let line = json::to_line(&(self.from, issue, &given.key, &given.text, at))?;
        let id = CommentId::from_hash(hash64(line.as_bytes()));
        let is_deleted =
            || Ok(tombstones::get(tx, COMMENTS.name, id.as_str())?.is_some_and(|tombstone| tombstone.is_in_force()));
        if known.iter().any(|comment| comment.id == id) || comments::exists(tx, &id)? || is_deleted()? {
            return Ok(());
        }
        let author = text::optional_line("author", given.author.as_ref())?;
        let mut extra = Extra::new();
        if !given.key.is_empty() || !given.raw.is_empty() {
            extra.insert(name.to_owned(), json!({"key": given.key, "raw": given.raw}));
        }
        let new = Comment {
            id,
            issue_id: issue.clone(),
            actor: author.unwrap_or_else(|| cx.actor.clone()),
            text: text::block("comment", &given.text)?,
            created_at: given.at.map_or(cx.now, |at| at.min(cx.now)),
            extra,
        };
        // A comment never changes, so one that was edited there takes the place of its former self.
        let is_former = |old: &&Comment| {
            let key = old.extra.get(name).and_then(|mark| mark.get("key")).and_then(Value::as_str);
            !given.key.is_empty() && key == Some(given.key.as_str())
        };
        if let Some(former) = known.iter().find(is_former) {
            tombstones::write_tombstone(cx, tx, &COMMENTS, former.id.as_str(), None)?;
            Comment::remove(cx, tx, former)?;
        }
        comment::record(cx, tx, &new)
    }

    fn memory(&self, given: &TrackerMemory) -> Result<ImportedItem> {
        let (cx, tx, name) = (self.cx, self.tx, self.from.as_str());
        object::check("what has no place", &given.raw, object::OBJECT_BYTES)?;
        text::fits_line("key", &given.key)?;
        let id = LearningId::from_hash(hash64(json::to_line(&(self.from, "memory", &given.key))?.as_bytes()));
        let seen = format!("{:016x}", hash64(json::to_line(&(&given.text, &given.raw))?.as_bytes()));
        let mark = TrackerMark { key: given.key.clone(), seen, raw: given.raw.clone() };
        let extra = Extra::from_iter([(name.to_owned(), serde_json::to_value(&mark).map_err(Error::internal)?)]);
        let seed = SeedLearning {
            kind: Kind::default(),
            text: given.text.clone(),
            tags: Vec::new(),
            files: Vec::new(),
            impact: Impact::default(),
            value: None,
            linear_id: None,
            task: None,
            at: None,
            extra,
        };
        let new = Learning { id: id.clone(), ..new_imported(cx, tx, seed)? };
        let Some(known) = learnings::get(tx, &id)? else {
            self.refuse_deleted(&LEARNINGS, id.as_str())?;
            Learning::store(cx, tx, None, &new)?;
            return Ok(imported(ItemOutcome::Created, id));
        };
        if known.extra.get(name).and_then(|old| old.get("seen")) == Some(&json!(mark.seen)) {
            return Ok(imported(ItemOutcome::Unchanged, id));
        }
        let mut changed = Learning { text: new.text, updated_at: issues::after(cx, known.updated_at), ..known.clone() };
        changed.extra.extend(new.extra);
        Learning::store(cx, tx, Some(&known), &changed)?;
        Ok(imported(ItemOutcome::Updated, id))
    }

    /// Keeps the line of a deleted issue. An issue that was imported before it was deleted is closed.
    fn tombstone(&self, given: &TrackerTombstone) -> Result<ImportedItem> {
        let (cx, tx) = (self.cx, self.tx);
        let key = self.from.tombstone_key(given.id.as_str());
        let before = entity::get::<KvPair>(tx, params![TOMBSTONE_SCOPE, &key])?;
        if before.as_ref().is_some_and(|before| before.value == given.line) {
            return Ok(imported(ItemOutcome::Unchanged, &given.id));
        }
        let here = issues::get(tx, &given.id)?.filter(|issue| issue.extra.contains_key(self.from.as_str()));
        if let Some(here) = here.filter(|issue| issue.status != Status::Closed) {
            if let Err(e) = self.check_claim(&here) {
                return Ok(skipped(&given.id, format!("was deleted there and is worked on here: {}", e.message)));
            }
            let reason = Some(format!("deleted in {}", self.from));
            issue::advance(cx, tx, here, IssueTransition::Close { reason }, &cx.requester(true))?;
        }
        pensa_core::kv::check_key(&key)?;
        pensa_core::kv::check_value(&given.line)?;
        let known = before.as_ref().map(|before| before.updated_at);
        let updated_at: Timestamp = tombstones::version_after(cx, tx, &KV, &format!("{TOMBSTONE_SCOPE} {key}"), known)?;
        let scope = TOMBSTONE_SCOPE.to_owned();
        let pair = KvPair { scope, key, value: given.line.clone(), updated_at, extra: Extra::new() };
        KvPair::store(cx, tx, before.as_ref(), &pair)?;
        let outcome = if before.is_some() { ItemOutcome::Updated } else { ItemOutcome::Created };
        Ok(imported(outcome, &given.id))
    }
}

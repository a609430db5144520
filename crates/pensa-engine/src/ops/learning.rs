//! Operations on learnings.

use pensa_core::id::{IssueId, LearningId};
use pensa_core::learning::recalled::{self, DividedText, ShownLearning};
use pensa_core::learning::upkeep;
use pensa_core::learning::{self as rules, Learning, LearningDetail, SeedLearning};
use pensa_core::ops::distill::RememberAll;
use pensa_core::ops::learning::{Forget, Forgotten, ImportLearnings, List, Remember, Remembered, Show, Verify};
use pensa_core::sync::LEARNINGS;
use pensa_core::{Code, Error, Result, Timestamp, text};

use crate::context::Context;
use crate::db::Tx;
use crate::entity::StoredEntity;
use crate::execute::Execute;
use crate::tables::learnings::{self, LearningFilter};
use crate::tables::{issue_query, issues, sessions, tombstones};

/// Most records per import.
const MAX_RECORDS: usize = 10_000;

/// What became of a new learning.
struct StoredLearning {
    learning: Learning,
    merged: bool,
    recalled: bool,
}

/// Stores a new learning, or merges it into one that says the same. What was recalled is not stored again.
fn merge_or_create(cx: &Context<'_>, tx: &Tx<'_>, new: Learning) -> Result<StoredLearning> {
    let new = match without_recalled(tx, new)? {
        NewLearning::Own(new) => *new,
        NewLearning::Recalled(learning) => {
            return Ok(StoredLearning { learning: *learning, merged: true, recalled: true });
        }
    };
    // A learning that supersedes another is always stored as new.
    let known = if new.supersedes.is_none() { learnings::find_same(tx, &new, cx.now)? } else { None };
    let Some(known) = known else {
        Learning::store(cx, tx, None, &new)?;
        return Ok(StoredLearning { learning: new, merged: false, recalled: false });
    };
    let mut merged_learning = known.merged_with(&new);
    merged_learning.revision = known.revision;
    // Importing the same line of the same file again adds no confirmation.
    if merged_learning == known && new.created_at == known.created_at && new.created_at < cx.now {
        return Ok(StoredLearning { learning: known, merged: true, recalled: false });
    }
    merged_learning.revision += 1;
    merged_learning.updated_at = issues::after(cx, known.updated_at);
    Learning::store(cx, tx, Some(&known), &merged_learning)?;
    Ok(StoredLearning { learning: merged_learning, merged: true, recalled: false })
}

/// A text that somebody wants to remember.
enum NewLearning {
    /// It says something of its own
    Own(Box<Learning>),
    /// It was recalled from this learning
    Recalled(Box<Learning>),
}

/// Takes out of a new learning what was recalled from others, and notes which it cites.
fn without_recalled(tx: &Tx<'_>, mut new: Learning) -> Result<NewLearning> {
    if !new.text.contains(LearningId::PREFIX) {
        return Ok(NewLearning::Own(Box::new(new)));
    }
    let DividedText { own, shown, named } = recalled::divided(&new.text);
    let (mut own, mut cited) = (vec![own], Vec::new());
    for ShownLearning { id, line } in shown {
        match learnings::get(tx, &id)? {
            // The line says more than the learning, or there is no such learning: it is somebody's own.
            None if !line.is_empty() => own.push(line),
            None => {}
            Some(known) if !line.is_empty() && !recalled::says_no_more(&line, &known) => {
                own.push(line);
                cited.push(known);
            }
            Some(known) => cited.push(known),
        }
    }
    for id in named {
        cited.extend(learnings::get(tx, &id)?);
    }
    let own = own.join("\n").trim().to_owned();
    cited.retain(|known| new.supersedes.as_ref() != Some(&known.id));
    if new.supersedes.is_none()
        && let Some(known) = cited.iter().find(|known| own.is_empty() || recalled::says_no_more(&own, known))
    {
        return Ok(NewLearning::Recalled(Box::new(known.clone())));
    }
    if !own.is_empty() {
        new.text = own;
    }
    new.derived_from = cited.into_iter().map(|known| known.id).collect();
    new.derived_from.sort();
    new.derived_from.dedup();
    Ok(NewLearning::Own(Box::new(new)))
}

/// The learning described by a request.
fn from_request(op: &Remember, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Learning> {
    let issue = |reference: &Option<_>| -> Result<Option<IssueId>> {
        reference.as_ref().map(|reference| issues::find(cx, tx, reference).map(|issue| issue.id)).transpose()
    };
    let session = op.session.as_ref().map(|reference| sessions::find(tx, reference)).transpose()?;
    let supersedes = op.supersedes.as_ref().map(|reference| learnings::find(tx, reference)).transpose()?;
    if let Some(LearningDetail { learning, superseded_by: Some(by) }) = &supersedes {
        let message = format!("{} was superseded by {by} already", learning.id);
        return Err(Error::new(Code::Conflict, message).hint(format!("supersede {by} instead")));
    }
    let (kind, text) = (op.kind.unwrap_or_default(), rules::check_text(&op.text)?);
    Ok(Learning {
        tags: rules::check_tags(&op.tags)?,
        files: rules::check_files(&op.files)?,
        issue_id: issue(&op.issue)?,
        work: issue(&op.work)?,
        session_id: session.map(|session| session.id),
        impact: op.impact.unwrap_or_default(),
        expires_at: op.expires.map(|span| cx.now.plus(span)),
        supersedes: supersedes.map(|shown| shown.learning.id),
        ..Learning::new(learnings::new_id(cx, tx)?, kind, text, cx.actor.clone(), cx.now)
    })
}

impl Execute for Remember {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Remembered> {
        let new = from_request(self, cx, tx)?;
        let StoredLearning { learning, merged, recalled } = merge_or_create(cx, tx, new)?;
        Ok(Remembered { learning, merged, recalled, redactions: cx.redacted() })
    }
}

impl Execute for RememberAll {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Remembered>> {
        if self.learnings.len() > MAX_RECORDS {
            let message = format!("{} learnings at once; the limit is {MAX_RECORDS}", self.learnings.len());
            return Err(Error::new(Code::TooLarge, message).hint("send them in parts"));
        }
        let one = |(at, op): (usize, &Remember)| {
            let new = from_request(op, cx, tx).map_err(|error| error.within(format!("learning {}", at + 1)))?;
            let StoredLearning { learning, merged, recalled } = merge_or_create(cx, tx, new)?;
            Ok(Remembered { learning, merged, recalled, redactions: cx.redacted_in(at) })
        };
        self.learnings.iter().enumerate().map(one).collect()
    }
}

/// A learning from another tool.
pub(super) fn new_imported(cx: &Context<'_>, tx: &Tx<'_>, seed: SeedLearning) -> Result<Learning> {
    let mut extra = seed.extra;
    let work = match &seed.task {
        Some(task) => task.parse::<IssueId>().ok().map(|id| issues::get(tx, &id)).transpose()?.flatten(),
        None => None,
    };
    if let (None, Some(task)) = (&work, seed.task) {
        extra.insert("task_id".into(), task.into());
    }
    let mut value = seed.value;
    if let Some(description) = value.as_mut().and_then(|value| value.description.as_mut()) {
        *description = text::block("description", description)?;
    }
    let linear_id = text::optional_line("linear_id", seed.linear_id.as_ref())?;
    let issue_id = linear_id.as_ref().map(|key| issue_query::of_linear(tx, key)).transpose()?.flatten();
    // With a wrong clock it would rank as the freshest forever.
    let at: Timestamp = seed.at.map_or(cx.now, |at| at.min(cx.now));
    let learning = Learning {
        tags: rules::check_tags(&seed.tags)?,
        files: rules::check_files(&seed.files)?,
        issue_id,
        work: work.map(|issue| issue.id),
        impact: seed.impact,
        value,
        linear_id,
        extra,
        ..Learning::new(learnings::new_id(cx, tx)?, seed.kind, rules::check_text(&seed.text)?, cx.actor.clone(), at)
    };
    // Normalise it as if read from a file.
    pensa_core::sync::SyncEntity::normalise(learning)
}

impl Execute for ImportLearnings {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Remembered>> {
        if self.records.len() > MAX_RECORDS {
            let message = format!("{} records at once; the limit is {MAX_RECORDS}", self.records.len());
            return Err(Error::new(Code::TooLarge, message).hint("send them in parts"));
        }
        let mut remembered = Vec::new();
        for (at, record) in self.records.iter().enumerate() {
            let within = |error: Error| error.within(format!("record {}", at + 1));
            // The redactions of a record are reported with its first learning.
            let mut redactions = cx.redacted_in(at);
            for seed in rules::read(record.clone()).map_err(within)? {
                let new = new_imported(cx, tx, seed).map_err(within)?;
                let StoredLearning { learning, merged, recalled } = merge_or_create(cx, tx, new)?;
                let redactions = std::mem::take(&mut redactions);
                remembered.push(Remembered { learning, merged, recalled, redactions });
            }
        }
        Ok(remembered)
    }
}

impl Execute for List {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<LearningDetail>> {
        let issue = self.issue.as_ref().map(|reference| issues::find(cx, tx, reference)).transpose()?;
        learnings::list(
            tx,
            LearningFilter {
                kind: self.kind.map(|kind| kind.to_string()),
                tag: self.tag.clone(),
                issue: issue.map(|issue| issue.id.to_string()),
                valid_at: (!self.all).then_some(cx.now),
                limit: self.limit,
            },
        )
    }
}

impl Execute for Show {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<LearningDetail> {
        learnings::find(tx, &self.id)
    }
}

impl Execute for Verify {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Learning> {
        let LearningDetail { learning, superseded_by } = learnings::find(tx, &self.id)?;
        if let Some(by) = superseded_by {
            let message = format!("{} was superseded by {by}", learning.id);
            return Err(Error::new(Code::Conflict, message).hint(format!("pn learning show {by} is what holds now")));
        }
        let mut new = learning.clone();
        new.verified_at = Some(cx.now);
        new.expires_at = match self.expires {
            Some(span) => Some(cx.now.plus(span)),
            // An expired learning that is confirmed holds without a time limit.
            None => learning.expires_at.filter(|_| !learning.has_expired(cx.now)),
        };
        new.updated_at = issues::after(cx, learning.updated_at);
        Learning::store(cx, tx, Some(&learning), &new)?;
        Ok(new)
    }
}

impl Execute for Forget {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Forgotten> {
        let learning = learnings::find(tx, &self.id)?.learning;
        let mut descendants = Vec::new();
        if self.with_descendants {
            descendants = upkeep::descendants(&learnings::all(tx)?, &learning.id);
        }
        for id in &descendants {
            if let Some(below) = learnings::get(tx, id)? {
                remove(cx, tx, &below)?;
            }
        }
        remove(cx, tx, &learning)?;
        Ok(Forgotten { status: "deleted".into(), id: learning.id, descendants })
    }
}

/// Deletes a learning in every clone.
pub(super) fn remove(cx: &Context<'_>, tx: &Tx<'_>, learning: &Learning) -> Result<()> {
    tombstones::write_tombstone(cx, tx, &LEARNINGS, learning.id.as_str(), Some(learning.updated_at))?;
    Learning::remove(cx, tx, learning)
}

//! Operations on learnings.

use pensa_core::id::IssueId;
use pensa_core::learning::{self as rules, Learning, LearningDetail, SeedLearning};
use pensa_core::ops::learning::{Forget, Forgotten, ImportLearnings, List, Remember, Remembered, Show, Verify};
use pensa_core::sync::LEARNINGS;
use pensa_core::{Code, Error, Result, Timestamp, text};
use serde_json::Map;

use crate::context::Context;
use crate::db::Tx;
use crate::entity::StoredEntity;
use crate::execute::Execute;
use crate::tables::learnings::{self, LearningFilter};
use crate::tables::{issue_query, issues, sessions, tombstones};

/// Most records per import.
const MAX_RECORDS: usize = 10_000;

/// Stores a new learning, or merges it into one that says the same; true if merged.
fn merge_or_create(cx: &Context<'_>, tx: &Tx<'_>, new: Learning) -> Result<(Learning, bool)> {
    // A learning that supersedes another is always stored as new.
    let known = if new.supersedes.is_none() { learnings::find_same(tx, &new, cx.now)? } else { None };
    let Some(known) = known else {
        Learning::store(cx, tx, None, &new)?;
        return Ok((new, false));
    };
    let mut merged_learning = known.merged_with(&new);
    merged_learning.revision = known.revision;
    // Importing the same line of the same file again adds no confirmation.
    if merged_learning == known && new.created_at == known.created_at && new.created_at < cx.now {
        return Ok((known, true));
    }
    merged_learning.revision += 1;
    merged_learning.updated_at = issues::after(cx, known.updated_at);
    Learning::store(cx, tx, Some(&known), &merged_learning)?;
    Ok((merged_learning, true))
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
    Ok(Learning {
        id: learnings::new_id(cx, tx)?,
        kind: op.kind.unwrap_or_default(),
        text: rules::check_text(&op.text)?,
        tags: rules::check_tags(&op.tags)?,
        files: rules::check_files(&op.files)?,
        issue_id: issue(&op.issue)?,
        work: issue(&op.work)?,
        session_id: session.map(|session| session.id),
        impact: op.impact.unwrap_or_default(),
        expires_at: op.expires.map(|span| cx.now.plus(span)),
        supersedes: supersedes.map(|shown| shown.learning.id),
        revision: 1,
        value: None,
        linear_id: None,
        actor: cx.actor.clone(),
        created_at: cx.now,
        updated_at: cx.now,
        verified_at: None,
        extra: Map::new(),
    })
}

impl Execute for Remember {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Remembered> {
        let new = from_request(self, cx, tx)?;
        let (learning, merged) = merge_or_create(cx, tx, new)?;
        Ok(Remembered { learning, merged, redactions: cx.redacted() })
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
        id: learnings::new_id(cx, tx)?,
        kind: seed.kind,
        text: rules::check_text(&seed.text)?,
        tags: rules::check_tags(&seed.tags)?,
        files: rules::check_files(&seed.files)?,
        issue_id,
        work: work.map(|issue| issue.id),
        session_id: None,
        impact: seed.impact,
        expires_at: None,
        supersedes: None,
        revision: 1,
        value,
        linear_id,
        actor: cx.actor.clone(),
        created_at: at,
        updated_at: at,
        verified_at: None,
        extra,
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
                let (learning, merged) = merge_or_create(cx, tx, new)?;
                remembered.push(Remembered { learning, merged, redactions: std::mem::take(&mut redactions) });
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
        tombstones::write_tombstone(cx, tx, &LEARNINGS, learning.id.as_str(), Some(learning.updated_at))?;
        Learning::remove(cx, tx, &learning)?;
        Ok(Forgotten { status: "deleted".into(), id: learning.id })
    }
}

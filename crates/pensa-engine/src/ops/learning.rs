//! Operations on learnings.

use pensa_core::id::IssueId;
use pensa_core::learning::recall::{self, Hit, Near};
use pensa_core::learning::{self as rules, Found, Learning, Shown};
use pensa_core::ops::learning::{Forget, Forgotten, List, Recall, Remember, Remembered, Show, Take, Verify};
use pensa_core::sync::LEARNINGS;
use pensa_core::{Code, Error, Result, Timestamp, text};
use serde_json::Map;

use crate::context::Context;
use crate::db::Tx;
use crate::entity::Kept;
use crate::execute::Execute;
use crate::tables::learnings::{self, Sought, Wanted};
use crate::tables::{issues, sessions, tombstones};

/// How many are recalled, if nobody says.
const USUAL: u32 = 10;
/// Most records that are taken in at once.
const MAX_RECORDS: usize = 10_000;

/// Keeps a new learning, or adds it to one that says the same; true if that was there.
fn keep(cx: &Context<'_>, tx: &Tx<'_>, new: Learning) -> Result<(Learning, bool)> {
    // Whoever puts one in the place of another means a new one.
    let known = if new.supersedes.is_none() { learnings::same(tx, &new, cx.now)? } else { None };
    let Some(known) = known else {
        Learning::store(cx, tx, None, &new)?;
        return Ok((new, false));
    };
    let mut both = known.told_again(&new);
    both.revision = known.revision;
    // The same line of the same file, once more, is nobody's finding it out again.
    if both == known && new.created_at == known.created_at && new.created_at < cx.now {
        return Ok((known, true));
    }
    both.revision += 1;
    both.updated_at = issues::after(cx, known.updated_at);
    Learning::store(cx, tx, Some(&known), &both)?;
    Ok((both, true))
}

/// The learning as it was told.
fn told(op: &Remember, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Learning> {
    let issue = |wanted: &Option<_>| -> Result<Option<IssueId>> {
        wanted.as_ref().map(|wanted| issues::find(cx, tx, wanted).map(|issue| issue.id)).transpose()
    };
    let session = op.session.as_ref().map(|wanted| sessions::find(tx, wanted)).transpose()?;
    let supersedes = op.supersedes.as_ref().map(|wanted| learnings::find(tx, wanted)).transpose()?;
    if let Some(Shown { learning, superseded_by: Some(by) }) = &supersedes {
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
        let new = told(self, cx, tx)?;
        let (learning, merged) = keep(cx, tx, new)?;
        Ok(Remembered { learning, merged, redactions: cx.redacted() })
    }
}

/// A learning that another tool wrote down.
pub(super) fn adopted(cx: &Context<'_>, tx: &Tx<'_>, found: Found) -> Result<Learning> {
    let mut extra = found.extra;
    let work = match &found.task {
        Some(task) => task.parse::<IssueId>().ok().map(|id| issues::get(tx, &id)).transpose()?.flatten(),
        None => None,
    };
    if let (None, Some(task)) = (&work, found.task) {
        extra.insert("task_id".into(), task.into());
    }
    let mut value = found.value;
    if let Some(description) = value.as_mut().and_then(|value| value.description.as_mut()) {
        *description = text::block("description", description)?;
    }
    // A clock that goes ahead must not make it the freshest for ever.
    let at: Timestamp = found.at.map_or(cx.now, |at| at.min(cx.now));
    let learning = Learning {
        id: learnings::new_id(cx, tx)?,
        kind: found.kind,
        text: rules::check_text(&found.text)?,
        tags: rules::check_tags(&found.tags)?,
        files: rules::check_files(&found.files)?,
        issue_id: None,
        work: work.map(|issue| issue.id),
        session_id: None,
        impact: found.impact,
        expires_at: None,
        supersedes: None,
        revision: 1,
        value,
        linear_id: text::optional_line("linear_id", found.linear_id.as_ref())?,
        actor: cx.actor.clone(),
        created_at: at,
        updated_at: at,
        verified_at: None,
        extra,
    };
    // As it would be read back from a file.
    pensa_core::sync::Noun::adopt(learning)
}

impl Execute for Take {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Remembered>> {
        if self.records.len() > MAX_RECORDS {
            let told = format!("{} records at once; the limit is {MAX_RECORDS}", self.records.len());
            return Err(Error::new(Code::TooLarge, told).hint("send them in parts"));
        }
        let mut kept = Vec::new();
        for (at, record) in self.records.iter().enumerate() {
            let within = |error: Error| error.within(format!("record {}", at + 1));
            // Those of a record are told with the first learning that it holds.
            let mut redactions = cx.redacted_in(at);
            for found in rules::read(record.clone()).map_err(within)? {
                let new = adopted(cx, tx, found).map_err(within)?;
                let (learning, merged) = keep(cx, tx, new)?;
                kept.push(Remembered { learning, merged, redactions: std::mem::take(&mut redactions) });
            }
        }
        Ok(kept)
    }
}

/// The best matches for words, tags, files and issues.
pub(crate) fn recalled(tx: &Tx<'_>, words: &str, near: &Near, issues: &[IssueId], now: Timestamp) -> Result<Vec<Hit>> {
    let words = recall::words(words).into_iter().take(recall::MAX_QUERY_WORDS);
    let others = near.tags.iter().map(|tag| recall::tag_key(tag));
    let others = others.chain(near.files.iter().map(|file| recall::file_key(file)));
    let others = others.chain(issues.iter().map(recall::issue_key)).collect();
    let sought = Sought { words: words.map(|word| recall::word_key(&word)).collect(), others };
    Ok(recall::ranked(learnings::candidates(tx, &sought, now)?, near))
}

impl Execute for Recall {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Hit>> {
        let near = Near { tags: rules::check_tags(&self.tags)?, files: rules::check_files(&self.files)? };
        let words = self.q.as_deref().unwrap_or_default();
        text::fits_block("query", words)?;
        if words.trim().is_empty() && near.tags.is_empty() && near.files.is_empty() {
            return Err(Error::invalid("nothing to recall by").hint("give words, --tag or --file"));
        }
        let budget = self.max_tokens.map(recall::check_budget).transpose()?;
        let mut hits = recalled(tx, words, &near, &[], cx.now)?;
        hits.truncate(usize::try_from(self.limit.unwrap_or(USUAL)).unwrap_or(usize::MAX));
        budget.map_or(Ok(hits.clone()), |budget| recall::within(hits, budget))
    }
}

impl Execute for List {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Shown>> {
        let issue = self.issue.as_ref().map(|wanted| issues::find(cx, tx, wanted)).transpose()?;
        learnings::list(
            tx,
            Wanted {
                kind: self.kind.map(|kind| kind.to_string()),
                tag: self.tag.clone(),
                issue: issue.map(|issue| issue.id.to_string()),
                holding_at: (!self.all).then_some(cx.now),
                limit: self.limit,
            },
        )
    }
}

impl Execute for Show {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Shown> {
        learnings::find(tx, &self.id)
    }
}

impl Execute for Verify {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Learning> {
        let Shown { learning, superseded_by } = learnings::find(tx, &self.id)?;
        if let Some(by) = superseded_by {
            let told = format!("{} was superseded by {by}", learning.id);
            return Err(Error::new(Code::Conflict, told).hint(format!("pn learning show {by} is what holds now")));
        }
        let mut new = learning.clone();
        new.verified_at = Some(cx.now);
        new.expires_at = match self.expires {
            Some(span) => Some(cx.now.plus(span)),
            // What has run out and still holds has no end that anybody knows.
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
        tombstones::bury(cx, tx, &LEARNINGS, learning.id.as_str(), Some(learning.updated_at))?;
        Learning::remove(cx, tx, &learning)?;
        Ok(Forgotten { status: "deleted".into(), id: learning.id })
    }
}

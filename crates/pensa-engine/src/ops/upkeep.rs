//! Keeps learnings clean: uses, contradictions, reviews, merges, files that were renamed.

use std::collections::BTreeSet;

use pensa_core::id::{LearningId, LearningRef};
use pensa_core::learning::contradiction::{Contradiction, contradictions};
use pensa_core::learning::upkeep::{self, LearningStats, ReviewItem, ReviewScope, UNUSED_FOR};
use pensa_core::learning::{Learning, LearningDetail, MergedSource};
use pensa_core::ops::upkeep::{About, Agree, Conflicts, Files, Merge, MoveFiles, Review, Stats, Supersede, Useful};
use pensa_core::{Code, Error, Result};

use super::learning;
use crate::context::Context;
use crate::db::Tx;
use crate::entity::StoredEntity;
use crate::execute::Execute;
use crate::tables::{issues, learnings};

/// Most learnings that are compared with each other, the newest.
const MAX_COMPARED: usize = 20_000;
const DEFAULT_LISTED: u32 = 50;
/// Most files that are moved at once.
const MAX_MOVES: usize = 10_000;

fn at_most<T>(mut list: Vec<T>, limit: Option<u32>) -> Vec<T> {
    list.truncate(usize::try_from(limit.unwrap_or(DEFAULT_LISTED)).unwrap_or(usize::MAX));
    list
}

/// Stores a changed learning.
fn save(cx: &Context<'_>, tx: &Tx<'_>, old: &Learning, mut new: Learning) -> Result<Learning> {
    new.updated_at = issues::after(cx, old.updated_at);
    let new = pensa_core::sync::SyncEntity::normalise(new)?;
    Learning::store(cx, tx, Some(old), &new)?;
    Ok(new)
}

/// A learning that nothing superseded.
fn holding(tx: &Tx<'_>, reference: &LearningRef) -> Result<Learning> {
    let LearningDetail { learning, superseded_by } = learnings::find(tx, reference)?;
    match superseded_by {
        None => Ok(learning),
        Some(by) => Err(Error::new(Code::Conflict, format!("{} was superseded by {by}", learning.id))
            .hint(format!("pn learning show {by} is what holds now"))),
    }
}

fn distinct(one: &Learning, other: &Learning) -> Result<()> {
    if one.id != other.id {
        return Ok(());
    }
    Err(Error::invalid(format!("{} is the same learning twice", one.id)).hint("name two learnings"))
}

impl Execute for Useful {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Learning> {
        let learning = learnings::find(tx, &self.id)?.learning;
        match learning.used_by(&cx.actor, cx.now) {
            Some(new) => save(cx, tx, &learning, new),
            None => Ok(learning),
        }
    }
}

impl Execute for Conflicts {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Contradiction>> {
        let of = self.id.as_ref().map(|id| learnings::find(tx, id)).transpose()?.map(|shown| shown.learning.id);
        let is_asked =
            |pair: &Contradiction| of.as_ref().is_none_or(|id| [&pair.newer.id, &pair.older.id].contains(&id));
        let found = contradictions(&learnings::valid(tx, cx.now, MAX_COMPARED)?);
        Ok(at_most(found.into_iter().filter(is_asked).collect(), self.limit))
    }
}

impl Execute for Agree {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Learning> {
        let (one, other) = (holding(tx, &self.id)?, holding(tx, &self.other)?);
        distinct(&one, &other)?;
        if one.agrees_with.contains(&other.id) || other.agrees_with.contains(&one.id) {
            return Ok(one);
        }
        let mut new = one.clone();
        new.agrees_with.push(other.id);
        save(cx, tx, &one, new)
    }
}

impl Execute for Supersede {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Learning> {
        let (old, by) = (holding(tx, &self.id)?, holding(tx, &self.by)?);
        distinct(&old, &by)?;
        if let Some(other) = &by.supersedes {
            let message = format!("{} supersedes {other} already", by.id);
            return Err(Error::new(Code::Conflict, message)
                .hint(format!("a learning replaces one other; pn learning forget deletes {}", old.id)));
        }
        let above = ancestors(tx, &old)?;
        if above.contains(&by.id) {
            return Err(Error::new(Code::CycleDetected, format!("{} is what {} superseded", by.id, old.id)));
        }
        save(cx, tx, &by, Learning { supersedes: Some(old.id), ..by.clone() })
    }
}

/// The learnings that one superseded, directly or through others.
fn ancestors(tx: &Tx<'_>, learning: &Learning) -> Result<BTreeSet<LearningId>> {
    let (mut found, mut next) = (BTreeSet::new(), learning.supersedes.clone());
    while let Some(id) = next.filter(|id| !found.contains(id)) {
        next = learnings::get(tx, &id)?.and_then(|older| older.supersedes);
        found.insert(id);
    }
    Ok(found)
}

impl Execute for Merge {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Learning> {
        let (gone, kept) = (holding(tx, &self.id)?, holding(tx, &self.into)?);
        distinct(&gone, &kept)?;
        let mut both = kept.merged_with(&gone);
        both.text.clone_from(&kept.text);
        both.sources.retain(|source| *source != gone.source());
        both.sources.push(MergedSource { learning: Some(gone.id.clone()), ..gone.source() });
        both.supersedes = both.supersedes.or_else(|| gone.supersedes.clone());
        learning::remove(cx, tx, &gone)?;
        save(cx, tx, &kept, both)
    }
}

impl Execute for Review {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<ReviewItem>> {
        let (unused_for, gone) = (self.unused_for.unwrap_or(UNUSED_FOR), self.gone.clone());
        let valid = learnings::valid(tx, cx.now, MAX_COMPARED)?;
        Ok(at_most(upkeep::review(&valid, &ReviewScope { now: cx.now, unused_for, gone }), self.limit))
    }
}

impl Execute for Files {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<String>> {
        let files: BTreeSet<String> = learnings::with_files(tx)?.into_iter().flat_map(|one| one.files).collect();
        Ok(files.into_iter().collect())
    }
}

impl Execute for About {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Learning>> {
        let replaced = learnings::superseded(tx)?;
        let mut found = upkeep::about(learnings::with_files(tx)?, &self.files);
        found.retain(|one| {
            self.kind.is_none_or(|kind| kind == one.kind) && !one.has_expired(cx.now) && !replaced.contains(&one.id)
        });
        Ok(at_most(found, None))
    }
}

impl Execute for MoveFiles {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Learning>> {
        if self.moves.len() > MAX_MOVES {
            let message = format!("{} files at once; the limit is {MAX_MOVES}", self.moves.len());
            return Err(Error::new(Code::TooLarge, message).hint("send them in parts"));
        }
        let mut moved = Vec::new();
        for learning in learnings::with_files(tx)? {
            if let Some(new) = learning.with_moved_files(&self.moves) {
                moved.push(save(cx, tx, &learning, new)?);
            }
        }
        Ok(moved)
    }
}

impl Execute for Stats {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<LearningStats> {
        Ok(upkeep::stats(&learnings::all(tx)?, &learnings::superseded(tx)?, cx.now))
    }
}

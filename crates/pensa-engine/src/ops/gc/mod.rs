//! Removing what is old and no longer needed: each kind by its own rule, in batches, with an event for each kind.
//!
//! Snapshots have contents on machines, so that whoever asks removes those; see `pn gc`.

mod files;
mod records;

use pensa_core::event::{self, EventType};
use pensa_core::ops::gc::{Collected, Gc, Removed, Space, Taken};
use pensa_core::retention::DEFAULT_AGE;
use pensa_core::{Result, Timestamp};
use serde_json::{Map, Value, json};

use super::backup::own_dir;
use crate::context::Context;
use crate::db::{Tx, params};
use crate::entity;
use crate::execute::Execute;
use crate::tables::{events, purge};

/// Most ids that an event names.
const NAMED: usize = 500;

/// A round of removal.
struct Round<'a, 'c> {
    cx: &'a Context<'c>,
    tx: &'a Tx<'c>,
    /// What is not older stays.
    until: Timestamp,
    /// Whether things are only counted.
    dry_run: bool,
    removed: Removed,
    /// Whether a batch was full.
    more: bool,
}

impl Round<'_, '_> {
    /// As many as a batch has room for; a count looks at all of them.
    fn batch<T>(&mut self, mut all: Vec<T>) -> Vec<T> {
        let most = usize::try_from(pensa_core::ops::gc::BATCH).unwrap_or(usize::MAX);
        if !self.dry_run && all.len() > most {
            all.truncate(most);
            self.more = true;
        }
        all
    }

    /// Logs what was removed of one kind.
    fn log(&self, kind: &str, ids: &[String]) -> Result<()> {
        if self.dry_run || ids.is_empty() {
            return Ok(());
        }
        let mut detail = Map::new();
        detail.insert("kind".into(), Value::from(kind));
        detail.insert("count".into(), event::change(ids.len(), 0));
        detail.insert("ids".into(), event::change(ids.iter().take(NAMED).collect::<Vec<_>>(), json!([])));
        detail.insert("until".into(), json!(self.until));
        events::append(self.cx, self.tx, ("store", &self.cx.store.id()?), None, EventType::Collected, detail).map(drop)
    }
}

fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// What is left of issues that were deleted long ago.
fn deleted_issues(round: &mut Round<'_, '_>) -> Result<()> {
    let issues = round.batch(purge::due(round.tx, round.until)?);
    if !round.dry_run && !issues.is_empty() {
        purge::purge(round.tx, &issues)?;
    }
    round.removed.deleted_issues = count(issues.len());
    round.log("deleted_issues", &issues.iter().map(ToString::to_string).collect::<Vec<_>>())
}

/// What rows were before changes of long ago: those can no longer be undone.
fn old_changes(round: &mut Round<'_, '_>) -> Result<()> {
    let last = "SELECT MAX(id) FROM events WHERE created_at < ?1";
    let last = round.tx.query_one(last, params![round.until], |row| row.int_or_null(0))?.flatten();
    let Some(last) = last.filter(|_| !round.dry_run) else { return Ok(()) };
    let any = "SELECT 1 FROM changes WHERE event <= ?1 LIMIT 1";
    if round.tx.query_one(any, params![last], |_| Ok(()))?.is_some() {
        entity::forget_changes(round.tx, last)?;
        round.log("changes", &[format!("up to event {last}")])?;
    }
    Ok(())
}

impl Execute for Gc {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Collected> {
        let until = cx.now.minus(self.older_than.unwrap_or(DEFAULT_AGE));
        let (removed, dry_run) = (Removed::default(), self.dry_run);
        let mut round = Round { cx, tx, until, dry_run, removed, more: false };
        // The files of a loop go after its record, and that is known to be gone only once it is committed.
        files::loop_directories(&mut round)?;
        records::signals(&mut round)?;
        records::loops(&mut round)?;
        records::job_outputs(&mut round)?;
        deleted_issues(&mut round)?;
        old_changes(&mut round)?;
        files::journal(&mut round)?;
        Ok(Collected { dry_run, until, removed: round.removed, more: round.more, warnings: Vec::new() })
    }
}

impl Execute for Space {
    fn execute(&self, cx: &Context<'_>, _: &Tx<'_>) -> Result<Taken> {
        Ok(own_dir(cx).map(files::taken).unwrap_or_default())
    }
}

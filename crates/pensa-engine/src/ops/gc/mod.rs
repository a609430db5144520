//! Removes what is old and no longer needed: each kind by its own rule, in batches, with an event per kind.
//!
//! Snapshot contents are on machines, so the calling `pn gc` removes those.

mod files;
mod records;

use pensa_core::event::{self, EventType};
use pensa_core::ops::gc::{Collected, DiskUsage, Gc, Removed, Space};
use pensa_core::retention::DEFAULT_AGE;
use pensa_core::{Result, Timestamp};
use serde_json::{Map, Value, json};

use super::backup::own_dir;
use crate::context::Context;
use crate::db::{Tx, params};
use crate::entity;
use crate::execute::Execute;
use crate::tables::{agents, events, purge};

/// Most ids in an event.
const MAX_EVENT_IDS: usize = 500;

/// The state of one collection run.
struct GcRun<'a, 'c> {
    cx: &'a Context<'c>,
    tx: &'a Tx<'c>,
    /// Only data older than this is removed
    until: Timestamp,
    /// Whether to count only
    dry_run: bool,
    removed: Removed,
    /// Whether a batch was full
    more: bool,
}

impl GcRun<'_, '_> {
    /// Cuts a list to the batch size. A dry run counts all.
    fn batch<T>(&mut self, mut all: Vec<T>) -> Vec<T> {
        let most = usize::try_from(pensa_core::ops::gc::BATCH).unwrap_or(usize::MAX);
        if !self.dry_run && all.len() > most {
            all.truncate(most);
            self.more = true;
        }
        all
    }

    /// Logs the removal of one kind.
    fn log(&self, kind: &str, ids: &[String]) -> Result<()> {
        if self.dry_run || ids.is_empty() {
            return Ok(());
        }
        let mut detail = Map::new();
        detail.insert("kind".into(), Value::from(kind));
        detail.insert("count".into(), event::change(ids.len(), 0));
        detail.insert("ids".into(), event::change(ids.iter().take(MAX_EVENT_IDS).collect::<Vec<_>>(), json!([])));
        detail.insert("until".into(), json!(self.until));
        events::append(self.cx, self.tx, ("store", &self.cx.store.id()?), None, EventType::Collected, detail).map(drop)
    }
}

fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// The remaining data of issues deleted before the limit.
fn deleted_issues(run: &mut GcRun<'_, '_>) -> Result<()> {
    let issues = run.batch(purge::due(run.tx, run.until)?);
    if !run.dry_run && !issues.is_empty() {
        purge::purge(run.tx, &issues)?;
    }
    run.removed.deleted_issues = count(issues.len());
    run.log("deleted_issues", &issues.iter().map(ToString::to_string).collect::<Vec<_>>())
}

/// Agents deleted before the limit, with their sessions.
fn deleted_agents(run: &mut GcRun<'_, '_>) -> Result<()> {
    let agents = run.batch(agents::deleted_before(run.tx, run.until)?);
    if !run.dry_run {
        agents.iter().try_for_each(|agent| agents::purge(run.tx, agent))?;
    }
    run.removed.deleted_agents = count(agents.len());
    run.log("deleted_agents", &agents.iter().map(ToString::to_string).collect::<Vec<_>>())
}

/// Previous states of rows from before the limit. Those changes can no longer be undone.
fn old_changes(run: &mut GcRun<'_, '_>) -> Result<()> {
    let last = "SELECT MAX(id) FROM events WHERE created_at < ?1";
    let last = run.tx.query_one(last, params![run.until], |row| row.int_or_null(0))?.flatten();
    let Some(last) = last.filter(|_| !run.dry_run) else { return Ok(()) };
    let any = "SELECT 1 FROM changes WHERE event <= ?1 LIMIT 1";
    if run.tx.query_one(any, params![last], |_| Ok(()))?.is_some() {
        entity::forget_changes(run.tx, last)?;
        run.log("changes", &[format!("up to event {last}")])?;
    }
    Ok(())
}

impl Execute for Gc {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Collected> {
        let until = cx.now.minus(self.older_than.unwrap_or(DEFAULT_AGE));
        let (removed, dry_run) = (Removed::default(), self.dry_run);
        let mut run = GcRun { cx, tx, until, dry_run, removed, more: false };
        // The directory of a loop is removed after its record, because the removal of the record must be committed
        // first.
        files::loop_directories(&mut run)?;
        records::signals(&mut run)?;
        records::loops(&mut run)?;
        records::job_outputs(&mut run)?;
        deleted_issues(&mut run)?;
        deleted_agents(&mut run)?;
        old_changes(&mut run)?;
        files::journal(&mut run)?;
        Ok(Collected { dry_run, until, removed: run.removed, more: run.more, warnings: Vec::new() })
    }
}

impl Execute for Space {
    fn execute(&self, cx: &Context<'_>, _: &Tx<'_>) -> Result<DiskUsage> {
        Ok(own_dir(cx).map(files::disk_usage).unwrap_or_default())
    }
}

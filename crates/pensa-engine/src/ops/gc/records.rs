//! Removes old loops, signals and job outputs.
//!
//! Records may come from any tool, so one with unreadable fields is never considered old.

use std::collections::BTreeMap;

use pensa_core::record::{Filter, Record};
use pensa_core::retention::collectable;
use pensa_core::{Result, Timestamp};
use serde::Deserialize;

use super::{GcRun, count};
use crate::db::Tx;
use crate::tables::records::{Collection, Expect, Query, ids_changed_before};

pub(super) const LOOPS: &str = "loops";
const SIGNALS: &str = "signals";
const RECEIPTS: &str = "signal_receipts";
const JOBS: &str = "tool_jobs";
const OUTPUTS: &str = "tool_job_outputs";

fn time(record: &Record, field: &str) -> Option<Timestamp> {
    Timestamp::deserialize(record.data.get(field).filter(|value| !value.is_null())?).ok()
}

/// All records that match a filter.
fn all(tx: &Tx<'_>, collection: &Collection, filter: Filter) -> Result<Vec<Record>> {
    let mut query = Query { filters: vec![filter], ..Query::default() };
    let mut all = Vec::new();
    loop {
        let page = collection.select(tx, &query)?;
        all.extend(page.records);
        match page.next {
            Some(next) => query.after = Some(next),
            None => return Ok(all),
        }
    }
}

/// Whether any record matches.
fn any(tx: &Tx<'_>, collection: &Collection, filters: Vec<Filter>) -> Result<bool> {
    let query = Query { filters, limit: Some(1), ..Query::default() };
    Ok(!collection.select(tx, &query)?.records.is_empty())
}

impl GcRun<'_, '_> {
    /// Removes records, unless it is a dry run.
    fn remove(&mut self, collection: &Collection, ids: &[String]) -> Result<()> {
        for id in ids {
            let Some(record) = collection.get(self.tx, id)? else { continue };
            let bytes = pensa_core::json::to_line(&record.data).map_or(0, |line| line.len());
            self.removed.bytes = self.removed.bytes.saturating_add(count(bytes));
            if !self.dry_run {
                collection.delete(self.tx, id, Expect::Rev(record.rev), self.cx.now)?;
            }
        }
        Ok(())
    }
}

/// Loops archived before the limit, without remaining descendants, jobs or open signals.
pub(super) fn loops(run: &mut GcRun<'_, '_>) -> Result<()> {
    let loops = Collection::open(run.tx, LOOPS)?;
    let (jobs, receipts) = (Collection::open(run.tx, JOBS)?, Collection::open(run.tx, RECEIPTS)?);
    let mut children_of = BTreeMap::new();
    for record in all(run.tx, &loops, Filter::is_not_null("archived_at"))? {
        let is_old = time(&record, "archived_at").is_some_and(|at| at < run.until);
        let has_open = |of: &Collection, name: &str, end: &str| {
            any(run.tx, of, vec![Filter::eq(name, record.id.as_str()), Filter::is_null(end)])
        };
        if is_old && !has_open(&jobs, "loop_id", "ended_at")? && !has_open(&receipts, "recipient", "acknowledged_at")? {
            let children = all(run.tx, &loops, Filter::eq("parent_id", record.id.as_str()))?;
            children_of.insert(record.id, children.into_iter().map(|child| child.id).collect());
        }
    }
    let ids = run.batch(collectable(&children_of));
    run.remove(&loops, &ids)?;
    run.removed.loops = count(ids.len());
    run.log("loops", &ids)
}

/// Fully acknowledged signals from before the limit, with their receipts.
pub(super) fn signals(run: &mut GcRun<'_, '_>) -> Result<()> {
    let signals = Collection::open(run.tx, SIGNALS)?;
    let receipts = Collection::open(run.tx, RECEIPTS)?;
    let mut old = Vec::new();
    for record in all(run.tx, &signals, Filter::is_not_null("acknowledged_at"))? {
        let of_it = Filter::eq("signal_id", record.id.as_str());
        if time(&record, "acknowledged_at").is_some_and(|at| at < run.until)
            && !any(run.tx, &receipts, vec![of_it, Filter::is_null("acknowledged_at")])?
        {
            old.push(record.id);
        }
    }
    let ids = run.batch(old);
    let mut gone = Vec::new();
    for id in &ids {
        gone.extend(all(run.tx, &receipts, Filter::eq("signal_id", id.as_str()))?.into_iter().map(|it| it.id));
    }
    run.remove(&receipts, &gone)?;
    run.remove(&signals, &ids)?;
    (run.removed.signals, run.removed.receipts) = (count(ids.len()), count(gone.len()));
    run.log("receipts", &gone)?;
    run.log("signals", &ids)
}

/// Outputs of jobs that ended before the limit. The jobs stay.
pub(super) fn job_outputs(run: &mut GcRun<'_, '_>) -> Result<()> {
    let (jobs, outputs) = (Collection::open(run.tx, JOBS)?, Collection::open(run.tx, OUTPUTS)?);
    let mut old = Vec::new();
    for id in ids_changed_before(run.tx, OUTPUTS, run.until)? {
        let is_over = match jobs.get(run.tx, &id)? {
            Some(job) => time(&job, "ended_at").is_some_and(|at| at < run.until),
            // The job does not exist.
            None => true,
        };
        if is_over {
            old.push(id);
        }
    }
    let ids = run.batch(old);
    run.remove(&outputs, &ids)?;
    run.removed.job_outputs = count(ids.len());
    run.log("job_outputs", &ids)
}

//! Loops, signals and what jobs wrote, which are kept as records.
//!
//! Anybody may have put a record, so one whose fields make no sense is never taken for old.

use std::collections::BTreeMap;

use pensa_core::record::{Filter, Record};
use pensa_core::retention::collectable;
use pensa_core::{Result, Timestamp};
use serde::Deserialize;

use super::{Round, count};
use crate::db::Tx;
use crate::tables::records::{Collection, Expect, Query, heads};

pub(super) const LOOPS: &str = "loops";
const SIGNALS: &str = "signals";
const RECEIPTS: &str = "signal_receipts";
const JOBS: &str = "tool_jobs";
const OUTPUTS: &str = "tool_job_outputs";

fn time(record: &Record, field: &str) -> Option<Timestamp> {
    Timestamp::deserialize(record.data.get(field).filter(|value| !value.is_null())?).ok()
}

/// All records that pass a test.
fn all(tx: &Tx<'_>, collection: &Collection, filter: Filter) -> Result<Vec<Record>> {
    let mut query = Query { filters: vec![filter], ..Query::default() };
    let mut all = Vec::new();
    loop {
        let found = collection.select(tx, &query)?;
        all.extend(found.records);
        match found.next {
            Some(next) => query.after = Some(next),
            None => return Ok(all),
        }
    }
}

/// Whether any record passes a test.
fn any(tx: &Tx<'_>, collection: &Collection, filters: Vec<Filter>) -> Result<bool> {
    let query = Query { filters, limit: Some(1), ..Query::default() };
    Ok(!collection.select(tx, &query)?.records.is_empty())
}

impl Round<'_, '_> {
    /// Removes records, unless they are only counted.
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

/// Loops that were archived long ago, below which nothing stays, and for which nobody works or waits.
pub(super) fn loops(round: &mut Round<'_, '_>) -> Result<()> {
    let loops = Collection::open(round.tx, LOOPS)?;
    let (jobs, receipts) = (Collection::open(round.tx, JOBS)?, Collection::open(round.tx, RECEIPTS)?);
    let mut below = BTreeMap::new();
    for record in all(round.tx, &loops, Filter::is_not_null("archived_at"))? {
        let is_old = time(&record, "archived_at").is_some_and(|at| at < round.until);
        let is_waited_for = |of: &Collection, name: &str, end: &str| {
            any(round.tx, of, vec![Filter::eq(name, record.id.as_str()), Filter::is_null(end)])
        };
        if is_old
            && !is_waited_for(&jobs, "loop_id", "ended_at")?
            && !is_waited_for(&receipts, "recipient", "acknowledged_at")?
        {
            let children = all(round.tx, &loops, Filter::eq("parent_id", record.id.as_str()))?;
            below.insert(record.id, children.into_iter().map(|child| child.id).collect());
        }
    }
    let ids = round.batch(collectable(&below));
    round.remove(&loops, &ids)?;
    round.removed.loops = count(ids.len());
    round.log("loops", &ids)
}

/// Signals that all have acknowledged long ago, with their receipts.
pub(super) fn signals(round: &mut Round<'_, '_>) -> Result<()> {
    let signals = Collection::open(round.tx, SIGNALS)?;
    let receipts = Collection::open(round.tx, RECEIPTS)?;
    let mut old = Vec::new();
    for record in all(round.tx, &signals, Filter::is_not_null("acknowledged_at"))? {
        let of_it = Filter::eq("signal_id", record.id.as_str());
        if time(&record, "acknowledged_at").is_some_and(|at| at < round.until)
            && !any(round.tx, &receipts, vec![of_it, Filter::is_null("acknowledged_at")])?
        {
            old.push(record.id);
        }
    }
    let ids = round.batch(old);
    let mut gone = Vec::new();
    for id in &ids {
        gone.extend(all(round.tx, &receipts, Filter::eq("signal_id", id.as_str()))?.into_iter().map(|it| it.id));
    }
    round.remove(&receipts, &gone)?;
    round.remove(&signals, &ids)?;
    (round.removed.signals, round.removed.receipts) = (count(ids.len()), count(gone.len()));
    round.log("receipts", &gone)?;
    round.log("signals", &ids)
}

/// What jobs wrote that ended long ago. The jobs themselves stay.
pub(super) fn job_outputs(round: &mut Round<'_, '_>) -> Result<()> {
    let (jobs, outputs) = (Collection::open(round.tx, JOBS)?, Collection::open(round.tx, OUTPUTS)?);
    let mut old = Vec::new();
    for id in heads(round.tx, OUTPUTS, round.until)? {
        let is_over = match jobs.get(round.tx, &id)? {
            Some(job) => time(&job, "ended_at").is_some_and(|at| at < round.until),
            // Nobody knows of it.
            None => true,
        };
        if is_over {
            old.push(id);
        }
    }
    let ids = round.batch(old);
    round.remove(&outputs, &ids)?;
    round.removed.job_outputs = count(ids.len());
    round.log("job_outputs", &ids)
}

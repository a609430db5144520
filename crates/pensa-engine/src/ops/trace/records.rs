//! What an issue had of things that are kept as records: loops, the signals to them, and jobs.
//!
//! Records may have been put there by anybody, so a field that is not what it should be says nothing.

use std::collections::BTreeMap;

use pensa_core::record::{Filter, Record};
use pensa_core::trace::{Kind, Moment, record_words};
use pensa_core::{Result, Timestamp};
use serde::Deserialize;
use serde_json::Value;

use super::{Gathering, MOST, count};
use crate::db::Tx;
use crate::tables::events;
use crate::tables::records::{Collection, Query};

const LOOPS: &str = "loops";
const JOBS: &str = "tool_jobs";
const SIGNALS: &str = "signals";
const RECEIPTS: &str = "signal_receipts";

/// Most values of one question.
const ASKED_AT_ONCE: usize = 500;
/// Most events of one loop.
const MOST_EVENTS: u32 = 1000;

fn text<'r>(record: &'r Record, field: &str) -> Option<&'r str> {
    record.data.get(field)?.as_str()
}

fn time(record: &Record, field: &str) -> Option<Timestamp> {
    Timestamp::deserialize(record.data.get(field).filter(|value| !value.is_null())?).ok()
}

fn number(record: &Record, field: &str) -> Option<i64> {
    record.data.get(field).and_then(Value::as_i64)
}

/// The records that have any of the values in a field, by their ids.
fn having(tx: &Tx<'_>, collection: &str, field: &str, values: &[String]) -> Result<BTreeMap<String, Record>> {
    let collection = Collection::open(tx, collection)?;
    let mut all = BTreeMap::new();
    for some in values.chunks(ASKED_AT_ONCE) {
        let filters = vec![Filter::one_of(field, some.iter().map(String::as_str))];
        let mut query = Query { filters, ..Query::default() };
        loop {
            let page = collection.select(tx, &query)?;
            all.extend(page.records.into_iter().map(|record| (record.id.clone(), record)));
            match page.next {
                Some(next) if all.len() < MOST as usize => query.after = Some(next),
                _ => break,
            }
        }
    }
    Ok(all)
}

pub(super) fn of_loops(found: &mut Gathering<'_, '_>) -> Result<()> {
    let all = having(found.tx, LOOPS, "issue_id", &[found.issue.id.to_string()])?;
    found.is_full("loops", all.len());
    for (id, record) in &all {
        let status = text(record, "status").unwrap_or_default();
        let created = time(record, "created_at").unwrap_or(record.updated_at);
        let is_over = matches!(status, "complete" | "failed" | "invalidated");
        let failed = matches!(status, "failed" | "invalidated");
        let lasted = record.updated_at.as_millis().saturating_sub(created.as_millis()).max(0);
        found.totals.loops.add(failed, is_over.then_some(lasted));
        let told = events::of_subject(found.tx, "loop", id, 0, Some(MOST_EVENTS))?;
        for line in &told {
            let event = line.event_type.strip_prefix("loop.").unwrap_or(&line.event_type);
            let moment = Moment::new(line.created_at, Kind::Loop, event).of(id).by(line.actor.as_str());
            let failed = line.detail.get("status").is_some_and(|status| status["new"] == "failed");
            found.entries.push(moment.saying(&record_words(&line.detail)).failing(failed));
        }
        // One that was taken from another tool has no events of its own.
        if told.is_empty() {
            let words = [text(record, "loop_type"), Some(status), text(record, "progress")];
            let words = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
            found.entries.push(Moment::new(created, Kind::Loop, "created").of(id).saying(&words).failing(failed));
        }
    }
    found.loops = all.into_keys().collect();
    Ok(())
}

pub(super) fn of_jobs(found: &mut Gathering<'_, '_>) -> Result<()> {
    let runs: Vec<String> = found.runs.iter().map(ToString::to_string).collect();
    let mut all = having(found.tx, JOBS, "issue_id", &[found.issue.id.to_string()])?;
    all.extend(having(found.tx, JOBS, "run_id", &runs)?);
    all.extend(having(found.tx, JOBS, "loop_id", &found.loops)?);
    found.is_full("jobs", all.len());
    for (id, record) in &all {
        let status = text(record, "status").unwrap_or("unknown");
        let failed = matches!(status, "failed" | "timeout");
        let started = time(record, "started_at").unwrap_or(record.updated_at);
        let words = [text(record, "tool_name"), text(record, "command")].into_iter().flatten();
        let mut begun = Moment::new(started, Kind::Job, "started").of(id);
        begun.actor = text(record, "actor").map(str::to_owned);
        found.entries.push(begun.saying(&words.collect::<Vec<_>>().join(": ")));
        let ended = time(record, "ended_at").or_else(|| time(record, "completed_at"));
        let ended = ended.map(|at| {
            let code = number(record, "exit_code").map(|code| format!("exit code {code}"));
            let reason = text(record, "reason").map(str::to_owned);
            let words = [code, reason].into_iter().flatten().collect::<Vec<_>>().join(", ");
            Moment::new(at, Kind::Job, status).of(id).saying(&words).since(started).failing(failed)
        });
        found.totals.jobs.add(failed, ended.as_ref().and_then(|ended| ended.duration_ms));
        found.entries.extend(ended);
    }
    Ok(())
}

/// Signals to the loops and runs of the issue, and those that its loops sent.
pub(super) fn of_signals(found: &mut Gathering<'_, '_>) -> Result<()> {
    let runs = found.runs.iter().map(ToString::to_string);
    let ours: Vec<String> = runs.chain(found.loops.iter().cloned()).collect();
    let mut all = having(found.tx, SIGNALS, "target_loop", &found.loops)?;
    all.extend(having(found.tx, SIGNALS, "source_loop", &found.loops)?);
    let receipts = having(found.tx, RECEIPTS, "recipient", &ours)?;
    let signals = Collection::open(found.tx, SIGNALS)?;
    for id in receipts.values().filter_map(|receipt| text(receipt, "signal_id")) {
        if !all.contains_key(id)
            && let Some(signal) = signals.get(found.tx, id)?
        {
            all.insert(signal.id.clone(), signal);
        }
    }
    found.totals.signals = count(all.len());
    for (id, record) in &all {
        let sent = time(record, "created_at").unwrap_or(record.updated_at);
        let kind = text(record, "signal_type").unwrap_or("unknown");
        let to = ["target_loop", "target_run", "target_agent", "target_selector"];
        let to = to.iter().find_map(|field| text(record, field)).map(|to| format!("to {to}"));
        let words = [to, text(record, "reason").map(str::to_owned)].into_iter().flatten().collect::<Vec<_>>();
        let mut moment = Moment::new(sent, Kind::Signal, kind).of(id).saying(&words.join(": "));
        moment.actor = text(record, "actor").map(str::to_owned);
        found.entries.push(moment);
        found.entries.extend(
            time(record, "acknowledged_at")
                .map(|at| Moment::new(at, Kind::Signal, "acknowledged").of(id).since(sent).saying(kind)),
        );
    }
    Ok(())
}

//! Adds what is stored as records: loops, their signals, and jobs.
//!
//! Records may come from any tool, so unreadable fields are ignored.

use std::collections::BTreeMap;

use pensa_core::record::{Filter, Record};
use pensa_core::trace::{Kind, TraceEntry, describe_record_event};
use pensa_core::{Result, Timestamp};
use serde::Deserialize;
use serde_json::Value;

use super::{MAX_ROWS, TraceBuilder, count};
use crate::db::Tx;
use crate::tables::events;
use crate::tables::records::{Collection, Query};

const LOOPS: &str = "loops";
const JOBS: &str = "tool_jobs";
const SIGNALS: &str = "signals";
const RECEIPTS: &str = "signal_receipts";

/// Most values per query.
const VALUES_PER_QUERY: usize = 500;
/// Most events per loop.
const MAX_LOOP_EVENTS: u32 = 1000;

fn text<'r>(record: &'r Record, field: &str) -> Option<&'r str> {
    record.data.get(field)?.as_str()
}

fn time(record: &Record, field: &str) -> Option<Timestamp> {
    Timestamp::deserialize(record.data.get(field).filter(|value| !value.is_null())?).ok()
}

fn number(record: &Record, field: &str) -> Option<i64> {
    record.data.get(field).and_then(Value::as_i64)
}

/// The records with any of these values in a field, by id.
fn with_any_value(tx: &Tx<'_>, collection: &str, field: &str, values: &[String]) -> Result<BTreeMap<String, Record>> {
    let collection = Collection::open(tx, collection)?;
    let mut all = BTreeMap::new();
    for some in values.chunks(VALUES_PER_QUERY) {
        let filters = vec![Filter::one_of(field, some.iter().map(String::as_str))];
        let mut query = Query { filters, ..Query::default() };
        loop {
            let page = collection.select(tx, &query)?;
            all.extend(page.records.into_iter().map(|record| (record.id.clone(), record)));
            match page.next {
                Some(next) if all.len() < MAX_ROWS as usize => query.after = Some(next),
                _ => break,
            }
        }
    }
    Ok(all)
}

pub(super) fn of_loops(trace: &mut TraceBuilder<'_, '_>) -> Result<()> {
    let all = with_any_value(trace.tx, LOOPS, "issue_id", &[trace.issue.id.to_string()])?;
    trace.note_if_full("loops", all.len());
    for (id, record) in &all {
        let status = text(record, "status").unwrap_or_default();
        let created = time(record, "created_at").unwrap_or(record.updated_at);
        let is_over = matches!(status, "complete" | "failed" | "invalidated");
        let failed = matches!(status, "failed" | "invalidated");
        let lasted = record.updated_at.as_millis().saturating_sub(created.as_millis()).max(0);
        trace.totals.loops.add(failed, is_over.then_some(lasted));
        let logged = events::of_subject(trace.tx, "loop", id, 0, Some(MAX_LOOP_EVENTS))?;
        for line in &logged {
            let event = line.event_type.strip_prefix("loop.").unwrap_or(&line.event_type);
            let moment = TraceEntry::new(line.created_at, Kind::Loop, event).of(id).by(line.actor.as_str());
            let failed = line.detail.get("status").is_some_and(|status| status["new"] == "failed");
            trace.entries.push(moment.saying(&describe_record_event(&line.detail)).failing(failed));
        }
        // An imported loop has no events.
        if logged.is_empty() {
            let words = [text(record, "loop_type"), Some(status), text(record, "progress")];
            let words = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
            trace.entries.push(TraceEntry::new(created, Kind::Loop, "created").of(id).saying(&words).failing(failed));
        }
    }
    trace.loops = all.into_keys().collect();
    Ok(())
}

pub(super) fn of_jobs(trace: &mut TraceBuilder<'_, '_>) -> Result<()> {
    let runs: Vec<String> = trace.runs.iter().map(ToString::to_string).collect();
    let mut all = with_any_value(trace.tx, JOBS, "issue_id", &[trace.issue.id.to_string()])?;
    all.extend(with_any_value(trace.tx, JOBS, "run_id", &runs)?);
    all.extend(with_any_value(trace.tx, JOBS, "loop_id", &trace.loops)?);
    trace.note_if_full("jobs", all.len());
    for (id, record) in &all {
        let status = text(record, "status").unwrap_or("unknown");
        let failed = matches!(status, "failed" | "timeout");
        let started = time(record, "started_at").unwrap_or(record.updated_at);
        let words = [text(record, "tool_name"), text(record, "command")].into_iter().flatten();
        let mut begun = TraceEntry::new(started, Kind::Job, "started").of(id);
        begun.actor = text(record, "actor").map(str::to_owned);
        trace.entries.push(begun.saying(&words.collect::<Vec<_>>().join(": ")));
        let ended = time(record, "ended_at").or_else(|| time(record, "completed_at"));
        let ended = ended.map(|at| {
            let code = number(record, "exit_code").map(|code| format!("exit code {code}"));
            let reason = text(record, "reason").map(str::to_owned);
            let words = [code, reason].into_iter().flatten().collect::<Vec<_>>().join(", ");
            TraceEntry::new(at, Kind::Job, status).of(id).saying(&words).since(started).failing(failed)
        });
        trace.totals.jobs.add(failed, ended.as_ref().and_then(|ended| ended.duration_ms));
        trace.entries.extend(ended);
    }
    Ok(())
}

/// Signals to the issue's loops and runs, and signals that its loops sent.
pub(super) fn of_signals(trace: &mut TraceBuilder<'_, '_>) -> Result<()> {
    let runs = trace.runs.iter().map(ToString::to_string);
    let ours: Vec<String> = runs.chain(trace.loops.iter().cloned()).collect();
    let mut all = with_any_value(trace.tx, SIGNALS, "target_loop", &trace.loops)?;
    all.extend(with_any_value(trace.tx, SIGNALS, "source_loop", &trace.loops)?);
    let receipts = with_any_value(trace.tx, RECEIPTS, "recipient", &ours)?;
    let signals = Collection::open(trace.tx, SIGNALS)?;
    for id in receipts.values().filter_map(|receipt| text(receipt, "signal_id")) {
        if !all.contains_key(id)
            && let Some(signal) = signals.get(trace.tx, id)?
        {
            all.insert(signal.id.clone(), signal);
        }
    }
    trace.totals.signals = count(all.len());
    for (id, record) in &all {
        let sent = time(record, "created_at").unwrap_or(record.updated_at);
        let kind = text(record, "signal_type").unwrap_or("unknown");
        let to = ["target_loop", "target_run", "target_agent", "target_selector"];
        let to = to.iter().find_map(|field| text(record, field)).map(|to| format!("to {to}"));
        let words = [to, text(record, "reason").map(str::to_owned)].into_iter().flatten().collect::<Vec<_>>();
        let mut moment = TraceEntry::new(sent, Kind::Signal, kind).of(id).saying(&words.join(": "));
        moment.actor = text(record, "actor").map(str::to_owned);
        trace.entries.push(moment);
        trace.entries.extend(
            time(record, "acknowledged_at")
                .map(|at| TraceEntry::new(at, Kind::Signal, "acknowledged").of(id).since(sent).saying(kind)),
        );
    }
    Ok(())
}

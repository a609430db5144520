//! Builds the trace of an issue from all tables and the log.
//!
//! Each entity adds its entries here; `pensa_core::trace` orders, counts and shows them.

pub(super) mod agents;
mod records;

use pensa_core::Result;
use pensa_core::event::{Event, LogEntry};
use pensa_core::id::RunId;
use pensa_core::issue::Issue;
use pensa_core::learning::Learning;
use pensa_core::ops::trace::Trace;
use pensa_core::run::{Run, RunStatus};
use pensa_core::snapshot::Snapshot;
use pensa_core::trace::{
    Kind, Totals, Trace as TraceReport, TraceEntry, claims, describe_issue_event, describe_work_event,
};
use pensa_core::work::StepStatus;

use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::tables::{comments, issues, learnings, log, releases, runs, snapshots, work};

/// Most rows of one kind; the trace says when there may be more.
const MAX_ROWS: u32 = 10_000;

/// Adds the entries of one entity. Later sources may use what earlier ones collected.
type TraceSource = fn(&mut TraceBuilder<'_, '_>) -> Result<()>;

const SOURCES: [TraceSource; 10] = [
    of_issue,
    of_comments,
    of_runs,
    of_snapshots,
    agents::of_sessions,
    records::of_loops,
    records::of_jobs,
    records::of_signals,
    of_learnings,
    of_releases,
];

/// A trace under construction.
struct TraceBuilder<'a, 'c> {
    cx: &'a Context<'c>,
    tx: &'a Tx<'c>,
    issue: Issue,
    entries: Vec<TraceEntry>,
    totals: Totals,
    notes: Vec<String>,
    runs: Vec<RunId>,
    /// The sessions named by those runs
    sessions: Vec<String>,
    loops: Vec<String>,
}

impl TraceBuilder<'_, '_> {
    /// Adds a note if the limit was reached.
    fn note_if_full(&mut self, what: &str, count: usize) {
        if u32::try_from(count).is_ok_and(|count| count >= MAX_ROWS) {
            self.notes.push(format!("only {count} {what} were looked at"));
        }
    }
}

impl Execute for Trace {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<TraceReport> {
        let issue = issues::find(cx, tx, &self.id)?;
        let end = issue.closed_at.unwrap_or(cx.now);
        let age_ms = end.as_millis().saturating_sub(issue.created_at.as_millis()).max(0);
        let mut trace = TraceBuilder {
            cx,
            tx,
            issue,
            entries: Vec::new(),
            totals: Totals { age_ms, ..Totals::default() },
            notes: Vec::new(),
            runs: Vec::new(),
            sessions: Vec::new(),
            loops: Vec::new(),
        };
        SOURCES.iter().try_for_each(|source| source(&mut trace))?;
        let TraceBuilder { issue, entries, totals, notes, .. } = trace;
        let mut report = TraceReport { issue, entries, left_out: 0, totals, notes };
        report.finish(self.most());
        Ok(report)
    }
}

/// The issue itself and the work on it, from the log.
fn of_issue(trace: &mut TraceBuilder<'_, '_>) -> Result<()> {
    let history = log::issue_history(trace.tx, &trace.issue.id, MAX_ROWS)?;
    if history.is_cut {
        trace.notes.push(format!("only the last {} events were looked at", history.events.len()));
    }
    let is_own = |line: &&LogEntry| line.subject_kind == "issue" && line.issue_id.is_some();
    // An imported issue may have no events.
    let has = |event: &str| history.events.iter().filter(is_own).any(|line| line.event_type == event);
    let Issue { created_at, closed_at, .. } = trace.issue;
    if !has("created") && !history.is_cut {
        trace.entries.push(TraceEntry::new(created_at, Kind::Issue, "created").saying(&trace.issue.title));
    }
    if let Some(at) = closed_at.filter(|_| !has("closed") && !history.is_cut) {
        let reason = trace.issue.close_reason.clone().unwrap_or_default();
        trace.entries.push(TraceEntry::new(at, Kind::Issue, "closed").saying(&reason));
    }
    for line in &history.events {
        let (kind, words) = match line.subject_kind.as_str() {
            "issue" if line.issue_id.is_none() || line.event_type == "commented" => continue,
            "issue" => (Kind::Issue, describe_issue_event(&line.event_type, &line.detail)),
            "work" => (Kind::Work, describe_work_event(&line.event_type, &line.detail)),
            _ => continue,
        };
        let moment = TraceEntry::new(line.created_at, kind, line.event_type.as_str()).by(line.actor.as_str());
        trace.entries.push(moment.saying(&words).failing(line.event_type == "lease_expired"));
    }
    let own = history.events.iter().filter(is_own).map(|line| Event {
        id: line.id,
        issue_id: trace.issue.id.clone(),
        event_type: line.event_type.clone(),
        actor: line.actor.clone(),
        detail: line.detail.clone(),
        created_at: line.created_at,
    });
    trace.totals.claims = claims(&own.collect::<Vec<_>>(), trace.cx.now);
    trace.totals.claimed_ms = trace.totals.claims.iter().map(|claim| claim.duration_ms).sum();
    if let Some(piece) = work::get(trace.tx, &trace.issue.id)? {
        let is_done = |status| status == StepStatus::Done;
        trace.totals.steps = count(piece.steps.len());
        trace.totals.steps_done = count(piece.steps.iter().filter(|step| is_done(step.status)).count());
    }
    Ok(())
}

fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

fn of_comments(trace: &mut TraceBuilder<'_, '_>) -> Result<()> {
    let all = comments::of_issue(trace.tx, &trace.issue.id)?;
    trace.totals.comments = count(all.len());
    trace.entries.extend(all.iter().map(|comment| {
        let moment = TraceEntry::new(comment.created_at, Kind::Comment, "said").of(&comment.id);
        moment.by(comment.actor.as_str()).saying(&comment.text)
    }));
    Ok(())
}

fn of_runs(trace: &mut TraceBuilder<'_, '_>) -> Result<()> {
    let all = runs::list(trace.tx, vec![("issue_id", trace.issue.id.to_string())], Some(MAX_ROWS))?;
    trace.note_if_full("runs", all.len());
    for run in &all {
        let failed = run.status == RunStatus::Failed;
        let what = if run.task.prompt.is_empty() { run.command.join(" ") } else { run.task.prompt.clone() };
        let begun = TraceEntry::new(run.started_at, Kind::Run, "started").of(&run.id).by(run.actor.as_str());
        trace.entries.push(begun.saying(&format!("{} {what}", run.harness)));
        let ended = run.ended_at.map(|at| {
            let moment = TraceEntry::new(at, Kind::Run, run.status.as_str()).of(&run.id).by(run.actor.as_str());
            moment.saying(&end_words(run)).since(run.started_at).failing(failed)
        });
        trace.totals.runs.add(failed, ended.as_ref().and_then(|ended| ended.duration_ms));
        trace.entries.extend(ended);
        trace.sessions.extend(run.session_id.as_ref().map(ToString::to_string));
    }
    trace.runs = all.into_iter().map(|run| run.id).collect();
    Ok(())
}

/// How a run ended.
fn end_words(run: &Run) -> String {
    let code = run.end.exit_code.map(|code| format!("exit code {code}"));
    let signal = run.end.signal.map(|signal| format!("signal {signal}"));
    [code, signal, run.end.reason.clone()].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn of_snapshots(trace: &mut TraceBuilder<'_, '_>) -> Result<()> {
    let ids: Vec<&str> = trace.runs.iter().map(RunId::as_str).collect();
    let all = snapshots::of_runs(trace.tx, &ids, MAX_ROWS)?;
    trace.totals.snapshots = count(all.len());
    for snapshot in &all {
        let Snapshot { id, actor, created_at, restored_at, label, .. } = snapshot;
        let words = format!("{} {}", snapshot.provider, label.as_deref().unwrap_or_default());
        let moment =
            |at, event: &str| TraceEntry::new(at, Kind::Snapshot, event).of(id).by(actor.as_str()).saying(&words);
        trace.entries.push(moment(*created_at, "created"));
        trace.entries.extend(restored_at.map(|at| moment(at, "restored")));
    }
    Ok(())
}

fn of_learnings(trace: &mut TraceBuilder<'_, '_>) -> Result<()> {
    let issue = Some(trace.issue.id.to_string());
    let all =
        learnings::list(trace.tx, learnings::LearningFilter { issue, limit: Some(MAX_ROWS), ..Default::default() })?;
    trace.note_if_full("learnings", all.len());
    trace.totals.learnings = count(all.len());
    trace.entries.extend(all.iter().map(|shown| {
        let Learning { id, kind, actor, created_at, text, .. } = &shown.learning;
        let moment = TraceEntry::new(*created_at, Kind::Learning, "learned").of(id).by(actor.as_str());
        moment.saying(&format!("{kind}: {text}"))
    }));
    Ok(())
}

fn of_releases(trace: &mut TraceBuilder<'_, '_>) -> Result<()> {
    let all = releases::containing(trace.tx, &trace.issue.id)?;
    trace.totals.releases = count(all.len());
    trace.entries.extend(all.iter().map(|release| {
        let moment = TraceEntry::new(release.shipped_at, Kind::Release, "shipped").of(&release.id);
        moment.by(release.actor.as_str()).saying(&format!("{} {}", release.version, release.name))
    }));
    Ok(())
}

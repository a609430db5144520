//! The whole life of an issue, gathered from every table and the log.
//!
//! Each noun has a source here; how entries are ordered, counted and shown is for `pensa_core::trace` to say.

mod agents;
mod records;

use pensa_core::Result;
use pensa_core::event::{Event, LogEntry};
use pensa_core::id::RunId;
use pensa_core::issue::Issue;
use pensa_core::learning::Learning;
use pensa_core::ops::trace::Trace;
use pensa_core::run::{Run, RunStatus};
use pensa_core::snapshot::Snapshot;
use pensa_core::trace::{Kind, Moment, Totals, Trace as Told, claims, issue_words, work_words};
use pensa_core::work::StepStatus;

use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::tables::{comments, issues, learnings, log, releases, runs, snapshots, work};

/// Most things of one kind that are looked at; more are told as such.
const MOST: u32 = 10_000;

/// Gathers what one noun has to say. Later sources may use what earlier ones have found.
type Source = fn(&mut Gathering<'_, '_>) -> Result<()>;

const SOURCES: [Source; 10] = [
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

/// What was found so far.
struct Gathering<'a, 'c> {
    cx: &'a Context<'c>,
    tx: &'a Tx<'c>,
    issue: Issue,
    entries: Vec<Moment>,
    totals: Totals,
    notes: Vec<String>,
    runs: Vec<RunId>,
    /// The sessions of those runs, as the runs tell.
    sessions: Vec<String>,
    loops: Vec<String>,
}

impl Gathering<'_, '_> {
    /// Says so if there may be more of something than was looked at.
    fn is_full(&mut self, what: &str, count: usize) {
        if u32::try_from(count).is_ok_and(|count| count >= MOST) {
            self.notes.push(format!("only {count} {what} were looked at"));
        }
    }
}

impl Execute for Trace {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Told> {
        let issue = issues::find(cx, tx, &self.id)?;
        let end = issue.closed_at.unwrap_or(cx.now);
        let age_ms = end.as_millis().saturating_sub(issue.created_at.as_millis()).max(0);
        let mut found = Gathering {
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
        SOURCES.iter().try_for_each(|source| source(&mut found))?;
        let Gathering { issue, entries, totals, notes, .. } = found;
        let mut told = Told { issue, entries, left_out: 0, totals, notes };
        told.settle(self.most());
        Ok(told)
    }
}

/// The issue itself and the work on it, as the log tells.
fn of_issue(found: &mut Gathering<'_, '_>) -> Result<()> {
    let life = log::life(found.tx, &found.issue.id, MOST)?;
    if life.is_cut {
        found.notes.push(format!("only the last {} events were looked at", life.events.len()));
    }
    let is_own = |line: &&LogEntry| line.subject_kind == "issue" && line.issue_id.is_some();
    // What came from a file has no events.
    let has = |event: &str| life.events.iter().filter(is_own).any(|line| line.event_type == event);
    let Issue { created_at, closed_at, .. } = found.issue;
    if !has("created") && !life.is_cut {
        found.entries.push(Moment::new(created_at, Kind::Issue, "created").saying(&found.issue.title));
    }
    if let Some(at) = closed_at.filter(|_| !has("closed") && !life.is_cut) {
        let reason = found.issue.close_reason.clone().unwrap_or_default();
        found.entries.push(Moment::new(at, Kind::Issue, "closed").saying(&reason));
    }
    for line in &life.events {
        let (kind, words) = match line.subject_kind.as_str() {
            "issue" if line.issue_id.is_none() || line.event_type == "commented" => continue,
            "issue" => (Kind::Issue, issue_words(&line.event_type, &line.detail)),
            "work" => (Kind::Work, work_words(&line.event_type, &line.detail)),
            _ => continue,
        };
        let moment = Moment::new(line.created_at, kind, line.event_type.as_str()).by(line.actor.as_str());
        found.entries.push(moment.saying(&words).failing(line.event_type == "lease_expired"));
    }
    let own = life.events.iter().filter(is_own).map(|line| Event {
        id: line.id,
        issue_id: found.issue.id.clone(),
        event_type: line.event_type.clone(),
        actor: line.actor.clone(),
        detail: line.detail.clone(),
        created_at: line.created_at,
    });
    found.totals.claims = claims(&own.collect::<Vec<_>>(), found.cx.now);
    found.totals.claimed_ms = found.totals.claims.iter().map(|claim| claim.duration_ms).sum();
    if let Some(piece) = work::get(found.tx, &found.issue.id)? {
        let is_done = |status| status == StepStatus::Done;
        found.totals.steps = count(piece.steps.len());
        found.totals.steps_done = count(piece.steps.iter().filter(|step| is_done(step.status)).count());
    }
    Ok(())
}

fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

fn of_comments(found: &mut Gathering<'_, '_>) -> Result<()> {
    let all = comments::of_issue(found.tx, &found.issue.id)?;
    found.totals.comments = count(all.len());
    found.entries.extend(all.iter().map(|comment| {
        let moment = Moment::new(comment.created_at, Kind::Comment, "said").of(&comment.id);
        moment.by(comment.actor.as_str()).saying(&comment.text)
    }));
    Ok(())
}

fn of_runs(found: &mut Gathering<'_, '_>) -> Result<()> {
    let all = runs::list(found.tx, vec![("issue_id", found.issue.id.to_string())], Some(MOST))?;
    found.is_full("runs", all.len());
    for run in &all {
        let failed = run.status == RunStatus::Failed;
        let what = if run.task.prompt.is_empty() { run.command.join(" ") } else { run.task.prompt.clone() };
        let begun = Moment::new(run.started_at, Kind::Run, "started").of(&run.id).by(run.actor.as_str());
        found.entries.push(begun.saying(&format!("{} {what}", run.harness)));
        let ended = run.ended_at.map(|at| {
            let moment = Moment::new(at, Kind::Run, run.status.as_str()).of(&run.id).by(run.actor.as_str());
            moment.saying(&end_words(run)).since(run.started_at).failing(failed)
        });
        found.totals.runs.add(failed, ended.as_ref().and_then(|ended| ended.duration_ms));
        found.entries.extend(ended);
        found.sessions.extend(run.session_id.as_ref().map(ToString::to_string));
    }
    found.runs = all.into_iter().map(|run| run.id).collect();
    Ok(())
}

/// How a run ended.
fn end_words(run: &Run) -> String {
    let code = run.end.exit_code.map(|code| format!("exit code {code}"));
    let signal = run.end.signal.map(|signal| format!("signal {signal}"));
    [code, signal, run.end.reason.clone()].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn of_snapshots(found: &mut Gathering<'_, '_>) -> Result<()> {
    let ids: Vec<&str> = found.runs.iter().map(RunId::as_str).collect();
    let all = snapshots::of_runs(found.tx, &ids, MOST)?;
    found.totals.snapshots = count(all.len());
    for snapshot in &all {
        let Snapshot { id, actor, created_at, restored_at, label, .. } = snapshot;
        let words = format!("{} {}", snapshot.provider, label.as_deref().unwrap_or_default());
        let moment = |at, event: &str| Moment::new(at, Kind::Snapshot, event).of(id).by(actor.as_str()).saying(&words);
        found.entries.push(moment(*created_at, "created"));
        found.entries.extend(restored_at.map(|at| moment(at, "restored")));
    }
    Ok(())
}

fn of_learnings(found: &mut Gathering<'_, '_>) -> Result<()> {
    let issue = Some(found.issue.id.to_string());
    let all = learnings::list(found.tx, learnings::Wanted { issue, limit: Some(MOST), ..Default::default() })?;
    found.is_full("learnings", all.len());
    found.totals.learnings = count(all.len());
    found.entries.extend(all.iter().map(|shown| {
        let Learning { id, kind, actor, created_at, text, .. } = &shown.learning;
        let moment = Moment::new(*created_at, Kind::Learning, "learned").of(id).by(actor.as_str());
        moment.saying(&format!("{kind}: {text}"))
    }));
    Ok(())
}

fn of_releases(found: &mut Gathering<'_, '_>) -> Result<()> {
    let all = releases::naming(found.tx, &found.issue.id)?;
    found.totals.releases = count(all.len());
    found.entries.extend(all.iter().map(|release| {
        let moment = Moment::new(release.shipped_at, Kind::Release, "shipped").of(&release.id);
        moment.by(release.actor.as_str()).saying(&format!("{} {}", release.version, release.name))
    }));
    Ok(())
}

//! Checks a store, and repairs it with `fix`.

mod clock;
mod files;
mod journal;

use pensa_core::event::{self, EventType};
use pensa_core::id::IssueId;
use pensa_core::issue::{self, Issue, IssueTransition};
use pensa_core::loops::Loop;
use pensa_core::ops::store::{Doctor, Finding, Report, Severity};
use pensa_core::recall::TextKind;
use pensa_core::{Access, Code, Error, Result, Span, graph};
use serde_json::{Map, Value};

use super::backup::own_dir;
use crate::context::Context;
use crate::db::{Tx, backup, params};
use crate::entity;
use crate::execute::Execute;
use crate::store::StoreLocation;
use crate::sync::{self, ExportDir};
use crate::tables::{deps, events, issues, loops, recall, vectors};

/// A claim without a heartbeat for this long is stale.
const STALE: Span = Span::from_millis(24 * 3_600_000);

impl Execute for Doctor {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Report> {
        if self.fix {
            // A fix can release the claims of others.
            cx.require(Access::Maintain, "doctor with fix")?;
        }
        let mut report = Report::default();
        integrity(cx, tx, self, &mut report)?;
        store_files(cx, tx, self, &mut report)?;
        claims(cx, tx, self.fix, &mut report)?;
        orphans(cx, tx, self.fix, &mut report)?;
        blockers(cx, tx, self.fix, &mut report)?;
        recall_index(cx, tx, self, &mut report)?;
        cycles(tx, &mut report)?;
        runnable(cx, tx, self.fix, &mut report)?;
        clock::clock(cx, tx, &mut report)?;
        drift(cx, tx, &mut report)?;
        if let (Some(check_up), StoreLocation::Dir(store)) = (cx.check_up, cx.store) {
            check_up(store.root(), self.fix, &mut report);
        }
        Ok(report)
    }
}

fn report_problem(
    report: &mut Report,
    check: &str,
    severity: Severity,
    message: String,
    issue: Option<&IssueId>,
    fixable: bool,
) {
    report.findings.push(Finding { check: check.to_owned(), severity, message, issue_id: issue.cloned(), fixable });
}

/// Logs what a fix changed.
fn log_fix(cx: &Context<'_>, tx: &Tx<'_>, issue: Option<&IssueId>, what: &str, report: &mut Report) -> Result<()> {
    let mut detail = Map::new();
    detail.insert("fix".into(), event::change(Value::Null, what));
    // The fix may be about an issue whose row is missing.
    let there = issue.map(|id| issues::get(tx, id)).transpose()?.flatten();
    events::append(
        cx,
        tx,
        (
            if there.is_some() { "issue" } else { "store" },
            &there.as_ref().map_or_else(|| cx.store.id(), |issue| Ok(issue.id.to_string()))?,
        ),
        there.as_ref().map(|issue| &issue.id),
        EventType::Fixed,
        detail,
    )?;
    report.fixes_applied.push(what.to_owned());
    Ok(())
}

/// Checks the database for damage. A damaged page or index cannot be repaired in place, so the error makes the caller
/// rebuild the whole database.
fn integrity(cx: &Context<'_>, tx: &Tx<'_>, doctor: &Doctor, report: &mut Report) -> Result<()> {
    let fixable = own_dir(cx).is_ok_and(backup::has_source);
    for problem in tx.integrity_problems(doctor.deep)? {
        if doctor.fix && fixable {
            return Err(Error::new(Code::Corrupt, format!("the database is damaged: {problem}"))
                .hint("try again: it is rebuilt before it is used again"));
        }
        report_problem(report, "integrity", Severity::Error, problem, None, fixable);
    }
    Ok(())
}

/// Checks the other files of a store in a directory.
fn store_files(cx: &Context<'_>, tx: &Tx<'_>, doctor: &Doctor, report: &mut Report) -> Result<()> {
    let Ok(store) = own_dir(cx) else { return Ok(()) };
    let comparable = journal::health(cx, tx, store, doctor.fix, report)?;
    if doctor.deep && comparable {
        journal::deep(cx, tx, store, doctor.fix, report)?;
    }
    files::leftover(cx, tx, store, doctor.fix, report)?;
    files::permissions(cx, tx, store, doctor.fix, report)
}

fn claims(cx: &Context<'_>, tx: &Tx<'_>, fix: bool, report: &mut Report) -> Result<()> {
    let held = issues::query(
        tx,
        "WHERE i.status = 'in_progress' AND i.lease_expires_at IS NULL ORDER BY i.updated_at, i.id",
        params![],
    )?;
    for claim in held {
        let stale = claim.updated_at.plus(STALE) <= cx.now;
        let severity = if stale { Severity::Warning } else { Severity::Info };
        let check = if stale { "stale_claim" } else { "claim" };
        let holder = claim.assignee.as_deref().unwrap_or("nobody");
        let message = format!("{} is held by {holder}, last touched {}", claim.id, claim.updated_at);
        report_problem(report, check, severity, message, Some(&claim.id), true);
        if fix {
            release(cx, tx, &claim)?;
            report.fixes_applied.push(format!("released {}", claim.id));
        }
    }
    Ok(())
}

fn release(cx: &Context<'_>, tx: &Tx<'_>, claim: &Issue) -> Result<()> {
    let mut open = claim.clone();
    let outcome = issue::apply(&mut open, IssueTransition::Release, &cx.requester(true), cx.now)?;
    if let Some(event) = outcome.event {
        issues::save(cx, tx, claim, open, event, outcome.note)?;
    }
    Ok(())
}

fn orphans(cx: &Context<'_>, tx: &Tx<'_>, fix: bool, report: &mut Report) -> Result<()> {
    for dep in deps::orphans(tx)? {
        let message = format!("{} waits for {}, but one of them does not exist", dep.issue_id, dep.depends_on_id);
        report_problem(report, "orphaned_dep", Severity::Error, message, Some(&dep.issue_id), true);
        if fix {
            entity::remove(tx, &dep)?;
            let what = format!("removed dependency {} on {}", dep.issue_id, dep.depends_on_id);
            log_fix(cx, tx, Some(&dep.issue_id), &what, report)?;
        }
    }
    Ok(())
}

fn blockers(cx: &Context<'_>, tx: &Tx<'_>, fix: bool, report: &mut Report) -> Result<()> {
    for id in deps::miscounted(tx)? {
        let message = format!("{id} has a wrong count of blockers");
        report_problem(report, "blockers", Severity::Error, message, Some(&id), true);
    }
    if fix {
        let fixed = deps::recount(tx)?;
        if fixed > 0 {
            log_fix(cx, tx, None, &format!("recounted the blockers of {fixed} issues"), report)?;
        }
    }
    Ok(())
}

/// The index of recall, compared with all texts.
fn recall_index(cx: &Context<'_>, tx: &Tx<'_>, doctor: &Doctor, report: &mut Report) -> Result<()> {
    if !doctor.deep {
        return Ok(());
    }
    let wrong = recall::wrong(tx).or_else(|error| match error.code {
        Code::Corrupt => Ok(vec![(TextKind::Learning, error.message)]),
        _ => Err(error),
    })?;
    for (kind, id) in wrong.iter().take(MAX_REPORTED) {
        let message = format!("the index of recall has {kind} {id} wrong");
        report_problem(report, "recall", Severity::Error, message, None, true);
    }
    for model in vectors::wrong(tx)? {
        let message = format!("the vectors of model {model} are damaged");
        report_problem(report, "recall", Severity::Error, message, None, true);
        if doctor.fix {
            vectors::remove(tx, &model)?;
            log_fix(
                cx,
                tx,
                None,
                &format!("removed the vectors of model {model}; pn recall --update makes them"),
                report,
            )?;
        }
    }
    if doctor.fix && !wrong.is_empty() {
        recall::rebuild(tx)?;
        log_fix(
            cx,
            tx,
            None,
            &format!("built the index of recall again, with {} texts that were wrong", wrong.len()),
            report,
        )?;
    }
    Ok(())
}

/// Wrong texts of the index that are reported.
const MAX_REPORTED: usize = 20;

/// Loops whose `runnable` field contradicts their status or parent.
fn runnable(cx: &Context<'_>, tx: &Tx<'_>, fix: bool, report: &mut Report) -> Result<()> {
    let loops_collection = loops::open(tx)?;
    for (wrong, runnable) in loops::with_wrong_runnable(tx, &loops_collection)? {
        let what = if runnable.is_some() {
            "cannot be claimed though it should"
        } else {
            "can be claimed though it should not"
        };
        report_problem(report, "runnable", Severity::Error, format!("{} {what}", wrong.id), None, true);
        if fix {
            let what = format!("put {} where it belongs", wrong.id);
            let fixed = Loop { runnable, ..wrong.clone() };
            loops::save(cx, tx, &loops_collection, Some(&wrong), fixed, EventType::LoopUpdated)?;
            log_fix(cx, tx, None, &what, report)?;
        }
    }
    Ok(())
}

/// No command closes a cycle, but a merge of two branches can.
fn cycles(tx: &Tx<'_>, report: &mut Report) -> Result<()> {
    for cycle in graph::cycles(&deps::waits(tx)?) {
        let ids: Vec<&str> = cycle.iter().map(IssueId::as_str).collect();
        let message = format!("these wait for each other: {}", ids.join(", "));
        report_problem(report, "cycle", Severity::Error, message, cycle.first(), false);
    }
    Ok(())
}

fn drift(cx: &Context<'_>, tx: &Tx<'_>, report: &mut Report) -> Result<()> {
    let Ok(store) = cx.store.dir() else { return Ok(()) };
    if !sync::any_exist(store.root()) {
        return Ok(());
    }
    let place = ExportDir::new(store, None)?;
    let mut drifted = sync::check(store, tx, &place)?.drifted;
    for problem in sync::problems_in_files(&place)? {
        // Neither export nor import would fix this difference.
        drifted.retain(|file| *file != problem.file || !problem.is_marked);
        let (check, severity) =
            if problem.is_marked { ("conflict_marks", Severity::Error) } else { ("repeated_line", Severity::Warning) };
        report_problem(report, check, severity, problem.message, None, false);
    }
    for file in drifted {
        let message = format!("{file} differs from the database; pn export or pn import brings them together");
        report_problem(report, "drift", Severity::Warning, message, None, false);
    }
    Ok(())
}

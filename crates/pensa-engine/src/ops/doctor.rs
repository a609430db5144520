//! The check-up of a store.

use pensa_core::id::IssueId;
use pensa_core::issue::{self, Issue, Move};
use pensa_core::ops::store::{Doctor, Finding, Report, Severity};
use pensa_core::{Access, Result, Span, graph};

use crate::context::Context;
use crate::db::{Tx, params};
use crate::execute::Execute;
use crate::jsonl;
use crate::tables::{deps, issues};

/// A claim without a sign of life for this long is called stale.
const STALE: Span = Span::from_millis(24 * 3_600_000);

impl Execute for Doctor {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Report> {
        if self.fix {
            // It takes claims from others.
            cx.require(Access::Maintain, "doctor with fix")?;
        }
        let mut report = Report::default();
        integrity(tx, &mut report)?;
        claims(cx, tx, self.fix, &mut report)?;
        orphans(tx, self.fix, &mut report)?;
        blockers(tx, self.fix, &mut report)?;
        cycles(tx, &mut report)?;
        drift(cx, tx, &mut report)?;
        Ok(report)
    }
}

fn found(
    report: &mut Report,
    check: &str,
    severity: Severity,
    message: String,
    issue: Option<&IssueId>,
    fixable: bool,
) {
    report.findings.push(Finding { check: check.to_owned(), severity, message, issue_id: issue.cloned(), fixable });
}

fn integrity(tx: &Tx<'_>, report: &mut Report) -> Result<()> {
    for problem in tx.integrity_problems(false)? {
        found(report, "integrity", Severity::Error, problem, None, false);
    }
    Ok(())
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
        found(report, check, severity, message, Some(&claim.id), true);
        if fix {
            release(cx, tx, &claim)?;
            report.fixes_applied.push(format!("released {}", claim.id));
        }
    }
    Ok(())
}

fn release(cx: &Context<'_>, tx: &Tx<'_>, claim: &Issue) -> Result<()> {
    let mut open = claim.clone();
    let outcome = issue::apply(&mut open, Move::Release, &cx.actor, cx.now)?;
    if let Some(event) = outcome.event {
        issues::save(cx, tx, claim, open, event, outcome.note)?;
    }
    Ok(())
}

fn orphans(tx: &Tx<'_>, fix: bool, report: &mut Report) -> Result<()> {
    for dep in deps::orphans(tx)? {
        let message = format!("{} waits for {}, but one of them does not exist", dep.issue_id, dep.depends_on_id);
        found(report, "orphaned_dep", Severity::Error, message, Some(&dep.issue_id), true);
        if fix {
            tx.execute(
                "DELETE FROM deps WHERE issue_id = ?1 AND depends_on_id = ?2",
                params![&dep.issue_id, &dep.depends_on_id],
            )?;
            report.fixes_applied.push(format!("removed dependency {} on {}", dep.issue_id, dep.depends_on_id));
        }
    }
    Ok(())
}

fn blockers(tx: &Tx<'_>, fix: bool, report: &mut Report) -> Result<()> {
    for id in deps::miscounted(tx)? {
        let message = format!("{id} has a wrong count of blockers");
        found(report, "blockers", Severity::Error, message, Some(&id), true);
    }
    if fix {
        let mended = deps::recount(tx)?;
        if mended > 0 {
            report.fixes_applied.push(format!("recounted the blockers of {mended} issues"));
        }
    }
    Ok(())
}

/// No command closes a cycle, but two branches of a repository can each bring half of one.
fn cycles(tx: &Tx<'_>, report: &mut Report) -> Result<()> {
    for cycle in graph::cycles(&deps::all(tx)?) {
        let ids: Vec<&str> = cycle.iter().map(IssueId::as_str).collect();
        let message = format!("these wait for each other: {}", ids.join(", "));
        found(report, "cycle", Severity::Error, message, cycle.first(), false);
    }
    Ok(())
}

fn drift(cx: &Context<'_>, tx: &Tx<'_>, report: &mut Report) -> Result<()> {
    let Ok(store) = cx.store.dir() else { return Ok(()) };
    for file in jsonl::drifted(store, tx)? {
        let message = format!("{file} differs from the database; pn export or pn import brings them together");
        found(report, "drift", Severity::Warning, message, None, false);
    }
    Ok(())
}

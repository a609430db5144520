//! Checks the journal, and compares it with the database.

use pensa_core::Result;
use pensa_core::id::IssueId;
use pensa_core::ops::store::{Report, Severity};

use super::{log_fix, report_problem};
use crate::clock::SystemClock;
use crate::context::{Caller, Context, RandomIds, StoreRole};
use crate::db::snapshot::Difference;
use crate::db::{Db, Tx, backup};
use crate::replay::Replay;
use crate::store::StoreDir;
use crate::tables::compared::COMPARED;
use crate::tables::{events, recall};
use crate::{journal, recover, sync};

/// Most differences reported one by one.
const MAX_REPORTED: usize = 100;

/// The last event before the check began.
fn committed(tx: &Tx<'_>) -> Result<i64> {
    let pending = tx.journaled()?;
    let first = pending.iter().filter(|(kind, _)| kind == "event").filter_map(|(_, event)| event["id"].as_i64()).min();
    first.map_or_else(|| events::last(tx), |first| Ok(first - 1))
}

/// Checks that the journal is readable and complete. Returns whether it can be compared with the database.
pub(super) fn health(cx: &Context<'_>, tx: &Tx<'_>, store: &StoreDir, fix: bool, report: &mut Report) -> Result<bool> {
    let newest = backup::list(store)?.first().map_or(0, |backup| backup.event);
    let health = journal::health(store, newest)?;
    let last = committed(tx)?;
    let mut problems = Vec::new();
    if health.last < last && last > newest {
        problems.push(format!("the journal lacks the last {} events of the database", last - health.last.max(newest)));
    }
    if health.torn {
        problems.push("the last line of the journal is torn".to_owned());
    }
    if health.unreadable > 0 {
        problems.push(format!("{} lines of the journal cannot be read", health.unreadable));
    }
    for (first, last) in &health.gaps {
        problems.push(format!("the journal lacks the events {first} to {last}"));
    }
    for problem in &problems {
        report_problem(report, "journal", Severity::Warning, problem.clone(), None, true);
    }
    if fix && !problems.is_empty() {
        // The backup makes the damaged part of the journal unnecessary.
        backup::ensure_current(store)?;
        log_fix(cx, tx, None, "made a backup from which the journal goes on", report)?;
    }
    Ok(problems.is_empty() && health.last.max(newest) >= last)
}

/// Rebuilds the state in memory and compares it with the database, record by record.
pub(super) fn deep(cx: &Context<'_>, tx: &Tx<'_>, store: &StoreDir, fix: bool, report: &mut Report) -> Result<()> {
    if !backup::has_source(store) {
        let message = "there is no journal and no backup yet to compare the database with".to_owned();
        report_problem(report, "deep", Severity::Info, message, None, false);
        return Ok(());
    }
    let (rebuilt, filled) = rebuilt(cx, store)?;
    if filled.missing > 0 || !filled.has_history {
        let message = "the state cannot be rebuilt completely, so the database was not compared with it".to_owned();
        report_problem(report, "deep", Severity::Warning, message, None, false);
        return Ok(());
    }
    let expected = rebuilt.begin_write()?;
    // Changes of this transaction so far, such as ended leases.
    let replay = Replay::new(&expected)?;
    for (kind, value) in tx.journaled()? {
        replay.apply(&kind, value)?;
    }
    replay.rebuild_derived()?;
    let differences = tx.differences(&expected, &COMPARED)?;
    for difference in differences.iter().take(MAX_REPORTED) {
        report_problem(report, "damage", Severity::Error, difference.to_string(), issue(difference).as_ref(), true);
    }
    if differences.len() > MAX_REPORTED {
        let message = format!("and {} more records", differences.len() - MAX_REPORTED);
        report_problem(report, "damage", Severity::Error, message, None, true);
    }
    if fix && !differences.is_empty() {
        tx.repair(&expected, &differences)?;
        recall::touch_all(tx)?;
        for difference in &differences {
            let what = format!("took {} {} from the journal", difference.table, difference.key);
            log_fix(cx, tx, issue(difference).as_ref(), &what, report)?;
        }
    }
    Ok(())
}

/// The issue that a record is or belongs to, if known.
fn issue(difference: &Difference) -> Option<IssueId> {
    difference.issue_id.as_deref().and_then(|id| id.parse().ok())
}

fn rebuilt(cx: &Context<'_>, store: &StoreDir) -> Result<(Db, recover::RebuildReport)> {
    let mut db = Db::scratch(store, None, cx.now)?;
    let seed = |tx: &Tx<'_>| {
        if !sync::any_exist(store.root()) {
            return Ok(());
        }
        let cx = Context::new(&Caller::system(), &SystemClock, &RandomIds, cx.store, StoreRole::Standalone)?;
        sync::import_into_scratch(&cx, tx)
    };
    let filled = recover::rebuild_into(&mut db, store, cx.now, &seed)?;
    Ok((db, filled))
}

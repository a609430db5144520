//! One `pn` process against one `sqlite3` process, from start to end.

use super::BenchPlan;
use super::data::{self, Dice};
use super::lab::{BenchProject, Lab, output};
use super::report::{BenchTarget, ReportRow, grouped};
use super::samples::{Contender, Samples, alternate};
use super::worker::ids_in;
use crate::Result;

const COLUMNS: &str = "i.id, i.title, i.description, i.issue_type, i.status, i.priority, i.spec, i.fixes, i.assignee, \
     i.lease_expires_at, i.lease_ms, i.created_at, i.updated_at, i.closed_at, i.close_reason";

/// Without this, `sqlite3` folds the log and removes it as it leaves, and `pn` would have to make a new one.
const LEAVE_LOG: [&str; 2] = ["-cmd", ".dbconfig no_ckpt_on_close on"];
pub(super) const READING: [&str; 3] = ["-json", LEAVE_LOG[0], LEAVE_LOG[1]];
const AT_MOST: BenchTarget = BenchTarget::AtMost(1.5);

fn row(name: String, ours: &Samples, reference: &Samples, target: BenchTarget, about: &str) -> ReportRow {
    let ratio = ours.median() / reference.median();
    ReportRow::new(name, ours.describe(), reference.describe(), ratio, target, about)
}

pub(super) fn show(lab: &Lab, plan: &BenchPlan, store: &BenchProject) -> Result<ReportRow> {
    let mut dice = Dice::new(7);
    let ids: Vec<String> = (0..plan.runs + 3).map(|_| data::id(dice.below(store.size))).collect();
    let ours = |run: usize| lab.pn(store, &["show", &ids[run], "--json"]);
    let reference = |run: usize| lab.sqlite3(store, &READING, &show_sql(&ids[run]));
    same_ids(&output(&mut ours(0))?, &output(&mut reference(0))?)?;
    let [ours, reference] =
        alternate(plan.runs, [Contender::new(|run| Ok(ours(run))), Contender::new(|run| Ok(reference(run)))])?;
    Ok(row(
        format!("`pn show` at {}", grouped(store.size)),
        &ours,
        &reference,
        AT_MOST,
        "`pn show ID --json` against `sqlite3 -json` selecting the same issue, the issues it depends on and its \
         comments from the same file; another issue every time, and `sqlite3` does not checkpoint the log",
    ))
}

pub(super) fn show_sql(id: &str) -> String {
    format!(
        "SELECT {COLUMNS} FROM issues i WHERE i.id = '{id}';
         SELECT {COLUMNS} FROM issues i JOIN deps d ON d.depends_on_id = i.id WHERE d.issue_id = '{id}'
            ORDER BY i.priority, i.created_at, i.id;
         SELECT id, issue_id, actor, text, created_at FROM comments WHERE issue_id = '{id}' ORDER BY created_at, id;"
    )
}

pub(super) const READY: [&str; 4] = ["ready", "-n", "10", "--json"];

pub(super) fn ready(lab: &Lab, plan: &BenchPlan, store: &BenchProject) -> Result<ReportRow> {
    let sql = format!(
        "SELECT {COLUMNS} FROM issues i WHERE i.status = 'open' AND i.blockers = 0 AND i.issue_type <> 'bug'
         ORDER BY i.priority, i.created_at, i.id LIMIT 10"
    );
    let (ours, reference) = (|| lab.pn(store, &READY), || lab.sqlite3(store, &READING, &sql));
    same_ids(&output(&mut ours())?, &output(&mut reference())?)?;
    let [ours, reference] =
        alternate(plan.runs, [Contender::new(|_| Ok(ours())), Contender::new(|_| Ok(reference()))])?;
    Ok(row(
        format!("`pn ready -n 10` at {}", grouped(store.size)),
        &ours,
        &reference,
        AT_MOST,
        "`pn ready -n 10 --json` against `sqlite3 -json` selecting the same ten issues by the same index of the same \
         file",
    ))
}

pub(super) fn ready_by_size(
    lab: &Lab,
    plan: &BenchPlan,
    large: &BenchProject,
    small: &BenchProject,
) -> Result<ReportRow> {
    let of = |store| Contender::new(move |_| Ok(lab.pn(store, &READY)));
    let [ours, reference] = alternate(plan.runs, [of(large), of(small)])?;
    Ok(row(
        format!("`pn ready -n 10` at {} against {}", grouped(large.size), grouped(small.size)),
        &ours,
        &reference,
        BenchTarget::AtMost(2.0),
        "The same command in a large store and in a small one",
    ))
}

pub(super) fn context(lab: &Lab, plan: &BenchPlan, store: &BenchProject) -> Result<ReportRow> {
    // Of somebody who is doing something.
    let ask = || lab.pn(store, &["context", "--actor", "agent-1"]);
    if !output(&mut ask())?.contains("## Claimed by me") {
        return Err("pn context does not tell what its actor is doing".into());
    }
    let [ours, reference] =
        alternate(plan.runs, [Contender::new(|_| Ok(ask())), Contender::new(|_| Ok(lab.pn(store, &READY)))])?;
    Ok(row(
        format!("`pn context` at {}", grouped(store.size)),
        &ours,
        &reference,
        BenchTarget::AtMost(3.0),
        "`pn context` of an actor who has claimed issues against `pn ready -n 10 --json` in the same store",
    ))
}

/// Both must have done the same work, or the times mean nothing.
fn same_ids(ours: &str, reference: &str) -> Result {
    let (ours, reference) = (ids_in(ours), ids_in(reference));
    if ours.is_empty() || ours != reference {
        return Err(format!("pn and sqlite3 do not agree: {ours:?} and {reference:?}").into());
    }
    Ok(())
}

pub(super) fn create(lab: &Lab, plan: &BenchPlan, store: &BenchProject) -> Result<[ReportRow; 2]> {
    let copies = [lab.copy(store, "create")?, lab.copy(store, "insert")?, lab.copy(store, "insert-only")?];
    let [ours, folding, leaving] = &copies;
    let mut dice = Dice::new(11);
    let texts: Vec<(String, String)> = (0..plan.runs + 3).map(|_| (dice.title(), dice.description())).collect();
    let insert = |to, options: &[&str], run: usize| {
        let (title, description) = &texts[run];
        lab.sqlite3(to, options, &insert_sql(run, title, description))
    };
    let [ours, folding, leaving] = alternate(
        plan.runs,
        [
            Contender::new(|run: usize| {
                let (title, description) = &texts[run];
                Ok(lab.pn(ours, &["create", title, "-t", "task", "--description", description, "--json"]))
            }),
            Contender::new(|run| Ok(insert(folding, &[], run))),
            Contender::new(|run| Ok(insert(leaving, &LEAVE_LOG, run))),
        ],
    )?;
    for copy in &copies {
        lab.discard(copy)?;
    }
    let name = format!("`pn create` at {}", grouped(store.size));
    Ok([
        row(
            name.clone(),
            &ours,
            &folding,
            AT_MOST,
            "`pn create` (an issue, its event, its keys for near-duplicates and the look for some) against one \
             `sqlite3` process with the same pragmas that inserts one full row into `issues` of a copy of the \
             database, and on leaving folds the log into it as `sqlite3` does by itself",
        ),
        row(
            format!("{name}, log left"),
            &ours,
            &leaving,
            AT_MOST,
            "The same against a `sqlite3` that does not checkpoint the log when it exits, as `pn` does not while the log \
             is small: it waits for the disk less often, and reads a longer log when it starts",
        ),
    ])
}

fn insert_sql(run: usize, title: &str, description: &str) -> String {
    let at = data::time(run);
    let folded = format!("{title} {description}").to_lowercase();
    format!(
        "PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
         INSERT INTO issues (id, title, description, issue_type, status, priority, created_at, updated_at, search_text)
         VALUES ('pn-new{run}', '{title}', '{description}', 'task', 'open', 'p2', '{at}', '{at}', '{folded}')"
    )
}

//! What to do next and why: `pn insights` and `pn plan` over many open issues.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::time::Instant;

use serde_json::json;

use super::BenchPlan;
use super::data::{self, Dice};
use super::lab::{BenchProject, Lab, output};
use super::report::{BenchTarget, ReportRow, grouped};
use super::samples::{Contender, WARM_UP, alternate};
use crate::Result;

/// Dependencies for every two issues.
const WAITS_OF_TWO: usize = 3;
/// One in so many issues is closed, for the forecast.
const CLOSED: usize = 10;
/// Of a store in which chains are long, how far back an issue that is waited for may be.
const NEAR: usize = 50;
/// Runs of what takes seconds.
const FEW: usize = 5;

/// What is measured: a command, the issues of its store, whether chains are long, and how long it may take in milliseconds.
const MEASURED: [(&str, usize, bool, Option<f64>); 7] = [
    ("insights", 10_000, false, Some(300.0)),
    ("plan", 10_000, false, Some(300.0)),
    ("board", 10_000, false, Some(100.0)),
    ("graph", 10_000, false, Some(100.0)),
    ("insights", 10_000, true, None),
    ("plan", 10_000, true, None),
    ("insights", 100_000, false, Some(4_000.0)),
];

pub(super) fn rows(lab: &Lab, plan: &BenchPlan) -> Result<Vec<ReportRow>> {
    let mut rows = Vec::new();
    for (size, long) in [(10_000, false), (10_000, true), (100_000, false)] {
        let store = fill(lab, size, long)?;
        for (command, _, _, most) in MEASURED.into_iter().filter(|row| (row.1, row.2) == (size, long)) {
            rows.push(measure(lab, plan, &store, command, long, most)?);
        }
        if size == 10_000 && !long {
            rows.push(claim_next(lab, plan, &store)?);
        }
        lab.discard(&store)?;
    }
    Ok(rows)
}

fn measure(
    lab: &Lab,
    plan: &BenchPlan,
    store: &BenchProject,
    command: &str,
    long: bool,
    most: Option<f64>,
) -> Result<ReportRow> {
    let runs = if store.size > 10_000 { FEW } else { plan.runs.min(61) };
    let [times] = alternate(runs, [Contender::new(|_| Ok(lab.pn(store, &[command, "--json"])))])?;
    let chains = if long { ", in long chains" } else { "" };
    let waits = store.size * WAITS_OF_TWO / 2;
    let about = format!(
        "`pn {command} --json` as a process of its own, in a store of {} open issues with {} dependencies{}",
        grouped(store.size),
        grouped(waits),
        if long {
            format!(", each on one of the {NEAR} issues before it")
        } else {
            ", each on any issue before it".into()
        },
    );
    let name = format!("`pn {command}` at {}{chains}", grouped(store.size));
    Ok(ReportRow::limited(name, times.describe(), times.median(), most.map(|most| (most, " ms")), about))
}

/// Claiming the first ready issue against claiming one by its id.
fn claim_next(lab: &Lab, plan: &BenchPlan, store: &BenchProject) -> Result<ReportRow> {
    let runs = plan.runs.min(61);
    let ready = output(&mut lab.pn(store, &["ready", "-q"]))?;
    // From the end, so that none is claimed from both sides.
    let ids: Vec<&str> = ready.lines().rev().take(runs + WARM_UP).collect();
    let by_id = Contender::new(|run| Ok(lab.pn(store, &["update", ids[run], "--claim", "--json"])));
    let next = Contender::new(|_| Ok(lab.pn(store, &["next", "--claim", "--json"])));
    let [ours, reference] = alternate(runs, [next, by_id])?;
    Ok(ReportRow::new(
        format!("`pn next --claim` at {}", grouped(store.size)),
        ours.describe(),
        reference.describe(),
        ours.median() / reference.median(),
        BenchTarget::AtMost(1.5),
        "`pn next --claim --json`, which returns what is needed to begin, against `pn update ID --claim --json`",
    ))
}

/// A store of open issues, and some closed ones beside them.
fn fill(lab: &Lab, size: usize, long: bool) -> Result<BenchProject> {
    let start = Instant::now();
    let store = lab.repository(&format!("triage-{size}-{long}"), size)?;
    let dir = store.dir.join(".pensa");
    fs::create_dir(&dir)?;
    let open = |name: &str| File::create(dir.join(name)).map(BufWriter::new);
    let (mut issues, mut deps) = (open("issues.jsonl")?, open("deps.jsonl")?);
    let mut dice = Dice::new(size as u64);
    for n in 0..size + size / CLOSED {
        let mut issue = json!({"id": data::id(n), "title": dice.title(), "issue_type": "task", "status": "open",
            "priority": format!("p{}", dice.below(4)), "created_at": data::time(n), "updated_at": data::time(n)});
        if n >= size {
            issue["status"] = "closed".into();
            issue["closed_at"] = data::time(n).into();
        }
        writeln!(issues, "{issue}")?;
    }
    let mut seen = std::collections::HashSet::new();
    while seen.len() < size * WAITS_OF_TWO / 2 {
        let child = 1 + dice.below(size - 1);
        let parent = if long { child - 1 - dice.below(child.min(NEAR)) } else { dice.below(child) };
        if seen.insert((child, parent)) {
            writeln!(deps, "{}", json!({"issue_id": data::id(child), "depends_on_id": data::id(parent)}))?;
        }
    }
    issues.flush()?;
    deps.flush()?;
    output(&mut lab.pn(&store, &["init"]))?;
    println!("made a store of {size} open issues in {:.1} s", start.elapsed().as_secs_f64());
    Ok(store)
}

//! `cargo xtask bench`: measures Pensa under the work of agents, and compares it with programs that do the least
//! possible.
//!
//! The runs of both sides alternate, so that a noisy machine affects both. Missed targets are reported but are no
//! failure, because they depend on the machine.

mod agents;
mod cpu;
mod daemon;
mod data;
mod database;
mod embedded;
mod entries;
mod instructions;
mod lab;
mod learnings;
mod load;
mod machine;
mod processes;
mod recall;
mod records;
mod redaction;
mod report;
mod samples;
mod server;
mod sqlite_session;
mod stream;
mod team;
mod timetable;
mod transfer;
mod triage;
mod worker;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::{Result, tools};
use lab::Lab;
use report::ReportRow;

/// How much is measured.
pub(super) struct BenchPlan {
    /// Runs of each process.
    runs: usize,
    /// Sizes of the stores, in issues.
    sizes: &'static [usize],
    /// Rounds of each side under load, and their duration.
    rounds: usize,
    round: Duration,
    /// Duration of timetables.
    lasting: Duration,
    /// Agents that share a store.
    agents: usize,
}

impl BenchPlan {
    const FULL: BenchPlan = BenchPlan {
        runs: 301,
        sizes: &[10_000, 100_000],
        rounds: 5,
        round: Duration::from_secs(3),
        lasting: Duration::from_secs(60),
        agents: 1_000,
    };
    const QUICK: BenchPlan = BenchPlan {
        runs: 61,
        sizes: &[10_000],
        rounds: 3,
        round: Duration::from_secs(1),
        lasting: Duration::from_secs(10),
        agents: 100,
    };
}

/// The store that `ready` at the largest size is compared with.
const SMALL: usize = 1_000;

/// A group of measurements.
struct BenchGroup {
    name: &'static str,
    rows: fn(&Lab, &BenchPlan) -> Result<Vec<ReportRow>>,
}

/// The groups with results in users' terms, and the groups that compare with a reference.
const FEEL: [BenchGroup; 3] = [
    BenchGroup { name: "team", rows: team::rows },
    BenchGroup { name: "embedded", rows: embedded::rows },
    BenchGroup { name: "triage", rows: triage::rows },
];
const COMPARED: [BenchGroup; 9] = [
    BenchGroup { name: "local", rows: local },
    BenchGroup { name: "instructions", rows: instructions::rows },
    BenchGroup { name: "transfer", rows: transfer::rows },
    BenchGroup { name: "agents", rows: agents_and_sessions },
    BenchGroup { name: "records", rows: records::rows },
    BenchGroup { name: "stream", rows: stream::rows },
    BenchGroup { name: "learnings", rows: learnings::rows },
    BenchGroup { name: "recall", rows: recall::rows },
    BenchGroup { name: "redaction", rows: redaction::rows },
];

fn groups() -> impl Iterator<Item = &'static BenchGroup> {
    FEEL.iter().chain(&COMPARED)
}

/// The command line.
#[derive(Default)]
struct BenchOptions {
    quick: bool,
    write: bool,
    only: Option<String>,
    pn: Option<PathBuf>,
}

impl BenchOptions {
    fn parse(flags: &[&str]) -> Result<Self> {
        let (mut options, mut flags) = (Self::default(), flags.iter());
        while let Some(flag) = flags.next() {
            let mut value = || flags.next().ok_or_else(|| format!("{flag} needs a value"));
            match *flag {
                "--quick" => options.quick = true,
                "--write" => options.write = true,
                "--only" => options.only = Some((*value()?).to_owned()),
                "--pn" => options.pn = Some(std::fs::canonicalize(value()?)?),
                _ => return Err(format!("bench has --quick, --write, --only GROUP and --pn FILE, not {flag}").into()),
            }
        }
        if let Some(only) = &options.only
            && !groups().any(|group| group.name == only)
        {
            let names: Vec<&str> = groups().map(|group| group.name).collect();
            return Err(format!("bench has no group {only:?}; it has {}", names.join(", ")).into());
        }
        Ok(options)
    }
}

pub(crate) fn run(flags: &[&str]) -> Result {
    let options = BenchOptions::parse(flags)?;
    let start = Instant::now();
    tools::install_missing()?;
    let other = if options.pn.is_some() { " --pn FILE" } else { "" };
    let lab = Lab::build(options.pn)?;
    let (plan, quick) = if options.quick { (&BenchPlan::QUICK, " --quick") } else { (&BenchPlan::FULL, "") };
    let machine = machine::describe(lab.dir());
    let mut parts = Vec::new();
    for BenchGroup { name, rows } in
        groups().filter(|group| options.only.as_ref().is_none_or(|only| only == group.name))
    {
        println!("== {name}");
        let rows = rows(&lab, plan)?;
        println!("\n{}", report::table(&rows));
        let command = format!("cargo xtask bench --only {name}{quick}{other}");
        parts.push((*name, report::part(name, &rows, &command, &machine)));
        if options.write {
            // Write after each group, so that a later failure does not lose results.
            write(&parts)?;
        }
    }
    println!("{machine}\ntook {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

fn write(parts: &[(&str, String)]) -> Result {
    let path = crate::repo::root().join("docs/benchmarks.md");
    let old = std::fs::read_to_string(&path).unwrap_or_default();
    let names = |groups: &[BenchGroup]| groups.iter().map(|group| group.name).collect::<Vec<_>>();
    Ok(std::fs::write(&path, report::document(&old, parts, &names(&FEEL), &names(&COMPARED)))?)
}

fn agents_and_sessions(lab: &Lab, plan: &BenchPlan) -> Result<Vec<ReportRow>> {
    let mut rows = agents::rows(lab, plan)?;
    rows.extend(sqlite_session::rows(lab, plan)?);
    Ok(rows)
}

fn local(lab: &Lab, plan: &BenchPlan) -> Result<Vec<ReportRow>> {
    let mut rows = Vec::new();
    let mut stores = vec![lab.filled_store(SMALL)?];
    for size in plan.sizes {
        stores.push(lab.filled_store(*size)?);
    }
    let (small, sized) = (&stores[0], &stores[1..]);
    for store in sized {
        rows.push(processes::show(lab, plan, store)?);
    }
    for store in sized {
        rows.push(processes::ready(lab, plan, store)?);
    }
    if let Some(largest) = sized.last() {
        rows.push(processes::ready_by_size(lab, plan, largest, small)?);
        rows.push(processes::context(lab, plan, largest)?);
    }
    for store in sized {
        rows.extend(processes::create(lab, plan, store)?);
    }
    if let Some(largest) = sized.last() {
        rows.extend(daemon::rows(lab, plan, largest)?);
    }
    Ok(rows)
}

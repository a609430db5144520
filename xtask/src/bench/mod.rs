//! `cargo xtask bench`: how the product feels under the work of agents, and how it compares with programs that do the
//! least there is to do.
//!
//! Runs of both sides of a comparison alternate, so that a noisy machine disturbs both alike. Reports whether a target
//! is met and never fails for it: what a machine can do is no property of the code.

mod agents;
mod cpu;
mod daemon;
mod data;
mod database;
mod embedded;
mod entries;
mod lab;
mod learnings;
mod load;
mod machine;
mod processes;
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
mod worker;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::{Result, tools};
use lab::Lab;
use report::Row;

/// How much is measured.
pub(super) struct Plan {
    /// How often each process is run.
    runs: usize,
    /// Sizes of stores, in issues, at which processes are compared.
    sizes: &'static [usize],
    /// How often each side of a comparison under load has its turn, and for how long.
    rounds: usize,
    round: Duration,
    /// How long agents work on a timetable.
    lasting: Duration,
    /// How many agents share a store.
    agents: usize,
}

impl Plan {
    const FULL: Plan = Plan {
        runs: 301,
        sizes: &[10_000, 100_000],
        rounds: 5,
        round: Duration::from_secs(3),
        lasting: Duration::from_secs(60),
        agents: 1_000,
    };
    const QUICK: Plan = Plan {
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

/// What can be measured by itself.
struct Group {
    name: &'static str,
    rows: fn(&Lab, &Plan) -> Result<Vec<Row>>,
}

/// Those whose rows are told in users' terms, and those that are compared with a reference.
const FEEL: [Group; 2] = [Group { name: "team", rows: team::rows }, Group { name: "embedded", rows: embedded::rows }];
const COMPARED: [Group; 7] = [
    Group { name: "local", rows: local },
    Group { name: "transfer", rows: transfer::rows },
    Group { name: "agents", rows: agents_and_sessions },
    Group { name: "records", rows: records::rows },
    Group { name: "stream", rows: stream::rows },
    Group { name: "learnings", rows: learnings::rows },
    Group { name: "redaction", rows: redaction::rows },
];

fn groups() -> impl Iterator<Item = &'static Group> {
    FEEL.iter().chain(&COMPARED)
}

/// What the command line asks for.
#[derive(Default)]
struct Wanted {
    quick: bool,
    write: bool,
    only: Option<String>,
    pn: Option<PathBuf>,
}

impl Wanted {
    fn parse(flags: &[&str]) -> Result<Self> {
        let (mut wanted, mut flags) = (Self::default(), flags.iter());
        while let Some(flag) = flags.next() {
            let mut value = || flags.next().ok_or_else(|| format!("{flag} needs a value"));
            match *flag {
                "--quick" => wanted.quick = true,
                "--write" => wanted.write = true,
                "--only" => wanted.only = Some((*value()?).to_owned()),
                "--pn" => wanted.pn = Some(std::fs::canonicalize(value()?)?),
                _ => return Err(format!("bench has --quick, --write, --only GROUP and --pn FILE, not {flag}").into()),
            }
        }
        if let Some(only) = &wanted.only
            && !groups().any(|group| group.name == only)
        {
            let names: Vec<&str> = groups().map(|group| group.name).collect();
            return Err(format!("bench has no group {only:?}; it has {}", names.join(", ")).into());
        }
        Ok(wanted)
    }
}

pub(crate) fn run(flags: &[&str]) -> Result {
    let wanted = Wanted::parse(flags)?;
    let start = Instant::now();
    tools::install_missing()?;
    let other = if wanted.pn.is_some() { " --pn FILE" } else { "" };
    let lab = Lab::build(wanted.pn)?;
    let (plan, quick) = if wanted.quick { (&Plan::QUICK, " --quick") } else { (&Plan::FULL, "") };
    let machine = machine::describe(lab.dir());
    let mut parts = Vec::new();
    for Group { name, rows } in groups().filter(|group| wanted.only.as_ref().is_none_or(|only| only == group.name)) {
        println!("== {name}");
        let rows = rows(&lab, plan)?;
        println!("\n{}", report::table(&rows));
        let command = format!("cargo xtask bench --only {name}{quick}{other}");
        parts.push((*name, report::part(name, &rows, &command, &machine)));
        if wanted.write {
            // Whatever comes later, this much is known.
            write(&parts)?;
        }
    }
    println!("{machine}\ntook {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

fn write(parts: &[(&str, String)]) -> Result {
    let path = crate::repo::root().join("docs/benchmarks.md");
    let old = std::fs::read_to_string(&path).unwrap_or_default();
    let names = |groups: &[Group]| groups.iter().map(|group| group.name).collect::<Vec<_>>();
    Ok(std::fs::write(&path, report::document(&old, parts, &names(&FEEL), &names(&COMPARED)))?)
}

fn agents_and_sessions(lab: &Lab, plan: &Plan) -> Result<Vec<Row>> {
    let mut rows = agents::rows(lab, plan)?;
    rows.extend(sqlite_session::rows(lab, plan)?);
    Ok(rows)
}

fn local(lab: &Lab, plan: &Plan) -> Result<Vec<Row>> {
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

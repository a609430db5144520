//! `cargo xtask bench`: the product's speed as ratios to programs that do the least there is to do.
//!
//! Runs of both sides alternate, so that a noisy machine disturbs both alike. Says whether a target is met and
//! never fails for it: what a machine of ours can do is no property of the code.

mod agents;
mod chain;
mod cpu;
mod daemon;
mod data;
mod database;
mod entries;
mod lab;
mod learnings;
mod load;
mod machine;
mod processes;
mod records;
mod redaction;
mod report;
mod runs;
mod samples;
mod server;
mod snapshots;
mod sqlite_session;
mod stream;
mod team;
mod transfer;

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
    /// How many agents share a store.
    agents: usize,
}

impl Plan {
    const FULL: Plan =
        Plan { runs: 301, sizes: &[10_000, 100_000], rounds: 5, round: Duration::from_secs(3), agents: 1_000 };
    const QUICK: Plan = Plan { runs: 61, sizes: &[10_000], rounds: 3, round: Duration::from_secs(1), agents: 100 };
}

/// The store that `ready` at the largest size is compared with.
const SMALL: usize = 1_000;

/// What can be measured by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    /// Everything that needs stores of several sizes: processes and the daemon.
    Local,
    Server,
    Chain,
    Transfer,
    Agents,
    Snapshots,
    Runs,
    Learnings,
    Stream,
    Records,
    Redaction,
}

impl Group {
    const ALL: [(&'static str, Group); 11] = [
        ("local", Group::Local),
        ("server", Group::Server),
        ("chain", Group::Chain),
        ("transfer", Group::Transfer),
        ("agents", Group::Agents),
        ("snapshots", Group::Snapshots),
        ("runs", Group::Runs),
        ("learnings", Group::Learnings),
        ("stream", Group::Stream),
        ("records", Group::Records),
        ("redaction", Group::Redaction),
    ];

    fn rows(self, lab: &Lab, plan: &Plan) -> Result<Vec<Row>> {
        match self {
            Group::Local => local(lab, plan),
            Group::Server => team::rows(lab, plan),
            Group::Chain => chain::rows(lab, plan),
            Group::Transfer => transfer::rows(lab, plan),
            Group::Agents => {
                let rows = [agents::rows(lab, plan)?, sqlite_session::rows(lab, plan)?];
                Ok(rows.into_iter().flatten().collect())
            }
            Group::Snapshots => snapshots::rows(lab, plan),
            Group::Runs => runs::rows(lab, plan),
            Group::Learnings => learnings::rows(lab, plan),
            Group::Stream => stream::rows(lab, plan),
            Group::Records => records::rows(lab, plan),
            Group::Redaction => redaction::rows(lab),
        }
    }

    fn named(wanted: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|(name, _)| *name == wanted);
        let names = Self::ALL.map(|(name, _)| name).join(", ");
        Ok(found.ok_or_else(|| format!("bench has no group {wanted:?}; it has {names}"))?.1)
    }
}

/// What the command line asks for.
#[derive(Default)]
struct Wanted {
    quick: bool,
    write: bool,
    only: Option<Group>,
}

impl Wanted {
    fn parse(mut flags: &[&str]) -> Result<Self> {
        let mut wanted = Self::default();
        loop {
            flags = match flags {
                [] => break,
                ["--quick", rest @ ..] => {
                    wanted.quick = true;
                    rest
                }
                ["--write", rest @ ..] => {
                    wanted.write = true;
                    rest
                }
                ["--only", group, rest @ ..] => {
                    wanted.only = Some(Group::named(group)?);
                    rest
                }
                [unknown, ..] => {
                    return Err(format!("bench has no flag {unknown}; it has --quick, --write and --only GROUP").into());
                }
            };
        }
        Ok(wanted)
    }

    fn has(&self, group: Group) -> bool {
        self.only.is_none_or(|only| only == group)
    }
}

pub(crate) fn run(flags: &[&str]) -> Result {
    let wanted = Wanted::parse(flags)?;
    let start = Instant::now();
    tools::install_missing()?;
    database::check_place()?;
    let lab = Lab::build()?;
    let plan = if wanted.quick { &Plan::QUICK } else { &Plan::FULL };
    let mut parts = Vec::new();
    for (name, group) in Group::ALL.into_iter().filter(|(_, group)| wanted.has(*group)) {
        let rows = group.rows(&lab, plan)?;
        println!("\n{}", report::table(&rows));
        let quick = if wanted.quick { " --quick" } else { "" };
        let command = format!("cargo xtask bench --only {name}{quick}");
        parts.push((name, report::part(name, &rows, &command, &machine::describe(lab.dir()))));
        if wanted.write {
            // Whatever comes later, this much is known.
            write(&parts)?;
        }
    }
    println!("{}\ntook {:.0} s", machine::describe(lab.dir()), start.elapsed().as_secs_f64());
    Ok(())
}

fn write(parts: &[(&str, String)]) -> Result {
    let path = crate::repo::root().join("docs/benchmarks.md");
    let old = std::fs::read_to_string(&path).unwrap_or_default();
    Ok(std::fs::write(&path, report::document(&old, parts, &Group::ALL.map(|(name, _)| name)))?)
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

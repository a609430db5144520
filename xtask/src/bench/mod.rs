//! `cargo xtask bench`: the product's speed as ratios to programs that do the least there is to do.
//!
//! Runs of both sides alternate, so that a noisy machine disturbs both alike. Says whether a target is met and
//! never fails for it: what a machine of ours can do is no property of the code.

mod chain;
mod daemon;
mod data;
mod lab;
mod load;
mod machine;
mod processes;
mod report;
mod samples;

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
}

impl Plan {
    const FULL: Plan = Plan { runs: 301, sizes: &[10_000, 100_000], rounds: 5, round: Duration::from_secs(3) };
    const QUICK: Plan = Plan { runs: 61, sizes: &[10_000], rounds: 3, round: Duration::from_secs(1) };
}

/// The store that `ready` at the largest size is compared with.
const SMALL: usize = 1_000;

pub(crate) fn run(flags: &[&str]) -> Result {
    if let Some(unknown) = flags.iter().find(|flag| !["--quick", "--write"].contains(flag)) {
        return Err(format!("bench has no flag {unknown}; it has --quick and --write").into());
    }
    let quick = flags.contains(&"--quick");
    let start = Instant::now();
    tools::install_missing()?;
    let lab = Lab::build()?;
    let rows = measure(&lab, if quick { &Plan::QUICK } else { &Plan::FULL })?;
    println!("\n{}", report::table(&rows));
    println!("{}\ntook {:.0} s", machine::describe(lab.dir()), start.elapsed().as_secs_f64());
    if flags.contains(&"--write") {
        let command = format!("cargo xtask bench{} --write", if quick { " --quick" } else { "" });
        let path = crate::repo::root().join("docs/benchmarks.md");
        std::fs::write(&path, report::document(&rows, &command, &machine::describe(lab.dir())))?;
        println!("wrote docs/benchmarks.md");
    }
    Ok(())
}

fn measure(lab: &Lab, plan: &Plan) -> Result<Vec<Row>> {
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
    }
    for store in sized {
        rows.extend(processes::create(lab, plan, store)?);
    }
    if let Some(largest) = sized.last() {
        rows.extend(daemon::rows(lab, plan, largest)?);
    }
    rows.extend(chain::rows(lab, plan)?);
    Ok(rows)
}

//! `pn gc`: what is old goes, in the store and among the snapshots of this machine, by hand. In a daemon it goes by itself: see `serve`.

use pensa_client::Client;
use pensa_client::config::{Config, DISK_MAX_PART, DISK_MIN_FREE, GC_OLDER_THAN};
use pensa_core::ops::gc::{Collected, Gc, Limits, Removed, Space};
use pensa_core::ops::store::{Doctor, Finding, Report, Severity};
use pensa_core::retention::DEFAULT_AGE;
use pensa_core::{Error, Result, Span};

use super::snapshot;
use crate::cli::Options;
use crate::connect::{self, Home};
use crate::output::Output;

/// Most rounds of one collection: each removes some hundreds of a kind.
const MOST_ROUNDS: u32 = 10_000;

pub(super) fn run(options: &Options, output: Output, mut op: Gc) -> Result<()> {
    let config = connect::config(options)?;
    op.older_than = Some(age(&config, op.older_than)?);
    let home = Home::of(options)?;
    let client = home.client(options)?;
    let mut collected = collect(&client, &op, || ())?;
    let desk = snapshot::Desk::at(client, home.private_dir("snapshots")?, output);
    collected.removed.snapshots = desk.collect(collected.until, op.dry_run)?;
    collected.warnings = warnings(&desk.client, limits(&config)?)?;
    output.answer(&collected)
}

pub(super) fn age(config: &Config, given: Option<Span>) -> Result<Span> {
    Ok(given.or(config.parsed(&GC_OLDER_THAN)?).unwrap_or(DEFAULT_AGE))
}

/// What was set as the limits of space.
pub(super) fn limits(config: &Config) -> Result<Limits> {
    let usual = Limits::default();
    let bytes = |key, usual: u64| -> Result<u64> {
        let given = config.text(key)?.map(|text| text.parse::<u64>().map_err(Error::internal)).transpose()?;
        Ok(given.map_or(usual, |mb| mb.saturating_mul(1 << 20)))
    };
    Ok(Limits { min_free: bytes(&DISK_MIN_FREE, usual.min_free)?, max_part: bytes(&DISK_MAX_PART, usual.max_part)? })
}

/// Collects round by round; `between` is called after each but the last.
pub(super) fn collect(client: &Client, op: &Gc, between: impl Fn()) -> Result<Collected> {
    let mut removed = Removed::default();
    for _ in 0..MOST_ROUNDS {
        let round = client.call(op)?;
        removed.add(&round.removed);
        if !round.more {
            return Ok(Collected { removed, ..round });
        }
        between();
    }
    Err(Error::internal("there is no end of what is old"))
}

/// What takes up much space, or leaves little. Who may not know is not told.
pub(super) fn warnings(client: &Client, limits: Limits) -> Result<Vec<String>> {
    match client.call(&Space {}) {
        Ok(taken) => Ok(taken.warnings(limits)),
        Err(e) if e.code == pensa_core::Code::Forbidden => Ok(Vec::new()),
        Err(e) => Err(e),
    }
}

/// The check-up of a store, with what there is to say about its disk.
pub(super) fn doctor(options: &Options, output: Output, op: &Doctor) -> Result<()> {
    let client = connect::client(options)?;
    let mut report: Report = crate::progress::watched(output, || client.call(op))?;
    let findings = warnings(&client, limits(&*connect::config(options)?)?)?.into_iter().map(|message| Finding {
        check: "disk".into(),
        severity: Severity::Warning,
        message,
        issue_id: None,
        fixable: false,
    });
    report.findings.extend(findings);
    output.answer(&report)
}

//! `pn gc`: removes old data from the store and old snapshots of this machine. A daemon does so daily, see `serve`.

use pensa_client::Client;
use pensa_client::config::{Config, DISK_MAX_PART, DISK_MIN_FREE, GC_OLDER_THAN};
use pensa_core::ops::gc::{Collected, Gc, Removed, Space, SpaceLimits};
use pensa_core::retention::DEFAULT_AGE;
use pensa_core::{Error, Result, Span};

use super::snapshot;
use crate::cli::GlobalOptions;
use crate::connect::{self, StateLocation};
use crate::output::Output;
use crate::render::{Render, Screen};

/// The most rounds of one collection; each removes some hundreds of records per kind.
const MAX_ROUNDS: u32 = 10_000;

pub(super) fn run(options: &GlobalOptions, output: Output, mut op: Gc) -> Result<()> {
    let config = connect::config(options)?;
    op.older_than = Some(age(&config, op.older_than)?);
    let home = StateLocation::of(options)?;
    let client = home.client(options)?;
    let mut collected = collect(&client, &op, || ())?;
    let context = snapshot::SnapshotContext::at(client, home.private_dir("snapshots")?, output);
    collected.removed.snapshots = context.collect(collected.until, op.dry_run)?;
    collected.warnings = warnings(&context.client, limits(&config)?)?;
    output.answer(&collected)
}

pub(super) fn age(config: &Config, given: Option<Span>) -> Result<Span> {
    Ok(given.or(config.parsed(&GC_OLDER_THAN)?).unwrap_or(DEFAULT_AGE))
}

/// The disk space limits in the settings.
pub(super) fn limits(config: &Config) -> Result<SpaceLimits> {
    let usual = SpaceLimits::default();
    let bytes = |key, usual: u64| -> Result<u64> {
        let given = config.text(key)?.map(|text| text.parse::<u64>().map_err(Error::internal)).transpose()?;
        Ok(given.map_or(usual, |mb| mb.saturating_mul(1 << 20)))
    };
    Ok(SpaceLimits {
        min_free: bytes(&DISK_MIN_FREE, usual.min_free)?,
        max_part: bytes(&DISK_MAX_PART, usual.max_part)?,
    })
}

/// Collects in rounds; calls `between` after each but the last.
pub(super) fn collect(client: &Client, op: &Gc, between: impl Fn()) -> Result<Collected> {
    let mut removed = Removed::default();
    for _ in 0..MAX_ROUNDS {
        let round = client.call(op)?;
        removed.add(&round.removed);
        if !round.more {
            return Ok(Collected { removed, ..round });
        }
        between();
    }
    Err(Error::internal("there is no end of what is old"))
}

/// Warnings about disk space; empty if the caller may not see them.
pub(super) fn warnings(client: &Client, limits: SpaceLimits) -> Result<Vec<String>> {
    match client.call(&Space {}) {
        Ok(taken) => Ok(taken.warnings(limits)),
        Err(e) if e.code == pensa_core::Code::Forbidden => Ok(Vec::new()),
        Err(e) => Err(e),
    }
}

impl Render for Collected {
    fn render(&self, screen: &mut Screen) {
        let verb = if self.dry_run { "would remove" } else { "removed" };
        let counts: Vec<String> = self
            .removed
            .counts()
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        let what = if counts.is_empty() { "nothing".to_owned() } else { counts.join(", ") };
        screen.plain(&format!("{verb} {what} from before {}", self.until)).end();
        for warning in &self.warnings {
            screen.plain("warning: ").text(warning).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        Vec::new()
    }
}

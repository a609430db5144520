//! `pn upgrade`: shows what a database's schema lacks, and adds it.

use pensa_core::{Code, Error, Result};
use pensa_engine::{Schema, migrate_database, schema_of_database, schema_of_store};
use serde::Serialize;

use crate::cli::{Options, Upgrade};
use crate::connect;
use crate::output::Output;
use crate::progress::watched;
use crate::render::{Render, Screen};

/// What was to be done, and what was done.
#[derive(Debug, Serialize)]
struct Upgraded {
    /// How many steps the schema has now
    schema: i64,
    pending: Vec<&'static str>,
    applied: Vec<&'static str>,
}

pub(super) fn run(options: &Options, output: Output, args: &Upgrade) -> Result<()> {
    let upgraded = match &args.database {
        Some(url) => upgrade(args, || schema_of_database(url), || migrate_database(url))?,
        None if connect::server(options)?.is_some() => {
            return Err(Error::new(Code::Unsupported, "a server brings its database up to date when it starts")
                .hint("--remote-server '' upgrades the store of this machine"));
        }
        None => {
            let store = connect::any_store(options)?;
            let migrate = || watched(output, || connect::open(options, store.clone())).map(drop);
            upgrade(args, || schema_of_store(&store), migrate)?
        }
    };
    output.answer(&upgraded)
}

fn upgrade(
    args: &Upgrade,
    look: impl Fn() -> Result<Schema>,
    migrate: impl FnOnce() -> Result<()>,
) -> Result<Upgraded> {
    let before = look()?;
    if args.dry_run || before.pending.is_empty() {
        return Ok(Upgraded { schema: before.version, pending: before.pending, applied: Vec::new() });
    }
    migrate()?;
    let after = look()?;
    Ok(Upgraded { schema: after.version, pending: after.pending, applied: before.pending })
}

impl Render for Upgraded {
    fn render(&self, screen: &mut Screen) {
        for name in &self.applied {
            screen.plain("applied ").plain(name).end();
        }
        for name in &self.pending {
            screen.plain("pending ").plain(name).end();
        }
        if self.applied.is_empty() && self.pending.is_empty() {
            screen.plain(&format!("the schema is up to date ({})", self.schema)).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.applied.iter().chain(&self.pending).map(ToString::to_string).collect()
    }
}

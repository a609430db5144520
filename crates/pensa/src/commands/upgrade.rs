//! `pn upgrade`: migrates the schema of a database, and offers to import agents of daycare.

use std::collections::HashSet;
use std::env;
use std::path::PathBuf;

use clap::Args;
use pensa_core::ops::agent;
use pensa_core::{Code, Error, Result};
use pensa_engine::{Schema, migrate_database, schema_of_database, schema_of_store};
use pensa_interop::daycare;
use serde::Serialize;

use super::import_from::{DaycareReport, from_daycare, show_notes};
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::progress::with_progress;
use crate::render::{Render, Screen, counted};

/// Bring the schema of the store's database up to date; every command also does so by itself
#[derive(Debug, Args)]
pub(crate) struct UpgradeArgs {
    /// Only show the pending steps
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// A server's PostgreSQL database instead: postgres://user:password@host/database
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
    /// Also import the agents of ~/.daycare/agents, or of $PN_DAYCARE_DIR
    #[arg(long, conflicts_with_all = ["dry_run", "database"])]
    pub(crate) import: bool,
}

/// The pending and the applied schema steps.
#[derive(Debug, Serialize)]
struct Upgraded {
    /// How many schema steps are applied
    schema: i64,
    pending: Vec<&'static str>,
    applied: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    daycare: Option<DaycareAgents>,
}

/// Agents of daycare on this machine.
#[derive(Debug, Serialize)]
struct DaycareAgents {
    dir: String,
    /// How many of them are not imported yet
    agents: usize,
    /// The result of importing them
    #[serde(skip_serializing_if = "Option::is_none")]
    imported: Option<DaycareReport>,
}

/// The environment variable with the directory of the agents.
const DAYCARE_DIR: &str = "PN_DAYCARE_DIR";

pub(super) fn run(options: &GlobalOptions, output: Output, args: &UpgradeArgs) -> Result<()> {
    let mut upgraded = match &args.database {
        Some(url) => upgrade(args, || schema_of_database(url), || migrate_database(url))?,
        None if connect::server(options)?.is_some() => {
            return Err(Error::new(Code::Unsupported, "a server brings its database up to date when it starts")
                .hint("--remote-server '' upgrades the store of this machine"));
        }
        None => {
            if args.import {
                // Without a project, agents are in the user's store, which is created on first use.
                drop(connect::existing_store(options).or_else(|_| {
                    connect::client_for_agents(options)?.call(&agent::List::default())?;
                    connect::existing_store(options)
                })?);
            }
            let store = connect::existing_store(options).map_err(offering_agents)?;
            let migrate = || with_progress(output, || connect::open_engine(options, store.clone())).map(drop);
            upgrade(args, || schema_of_store(&store), migrate)?
        }
    };
    if args.database.is_none() {
        upgraded.daycare = with_progress(output, || daycare_agents(options, args))?;
    }
    output.answer(&upgraded)?;
    if let Some(report) = upgraded.daycare.as_ref().and_then(|daycare| daycare.imported.as_ref()) {
        show_notes(output, &report.notes);
    }
    Ok(())
}

/// Adds a hint to the error for a missing store if there are agents to import.
fn offering_agents(error: Error) -> Error {
    match daycare_dir().filter(|_| error.code == Code::NoStore) {
        Some(dir) => error.hint(format!("pn upgrade --import takes in the agents in {}", dir.display())),
        None => error,
    }
}

/// The directory of the agents, if it exists.
fn daycare_dir() -> Option<PathBuf> {
    let named = |name: &str| env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    named(DAYCARE_DIR).or_else(|| Some(named("HOME")?.join(".daycare/agents"))).filter(|dir| dir.is_dir())
}

/// Counts the agents that can be imported, or imports them with `--import`.
fn daycare_agents(options: &GlobalOptions, args: &UpgradeArgs) -> Result<Option<DaycareAgents>> {
    let Some(dir) = daycare_dir() else {
        let missing =
            || Error::not_found("directory", "~/.daycare/agents").hint(format!("{DAYCARE_DIR} names another"));
        return if args.import { Err(missing()) } else { Ok(None) };
    };
    let found = daycare::agents(&dir)?;
    let mut ids: HashSet<&str> = found.ids().collect();
    let shown = dir.display().to_string();
    if args.import {
        let agents = ids.len();
        let imported = Some(from_daycare(&connect::client_for_agents(options)?, &dir)?);
        return Ok(Some(DaycareAgents { dir: shown, agents, imported }));
    }
    // With --dry-run the store is not opened, because opening it migrates its database.
    if !args.dry_run {
        let here = connect::client_for_agents(options)?.call(&agent::List::default())?;
        ids.retain(|id| !here.iter().any(|agent| agent.id.as_str() == *id));
    }
    Ok((!ids.is_empty()).then_some(DaycareAgents { dir: shown, agents: ids.len(), imported: None }))
}

fn upgrade(
    args: &UpgradeArgs,
    read_schema: impl Fn() -> Result<Schema>,
    migrate: impl FnOnce() -> Result<()>,
) -> Result<Upgraded> {
    let before = read_schema()?;
    if args.dry_run || before.pending.is_empty() {
        return Ok(Upgraded { schema: before.version, pending: before.pending, applied: Vec::new(), daycare: None });
    }
    migrate()?;
    let after = read_schema()?;
    Ok(Upgraded { schema: after.version, pending: after.pending, applied: before.pending, daycare: None })
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
        match &self.daycare {
            Some(DaycareAgents { imported: Some(report), .. }) => report.render(screen),
            Some(DaycareAgents { dir, agents, .. }) => {
                screen.text(dir).plain(&format!(" has {} to import: ", counted(*agents, "agent", "agents")));
                screen.plain("pn upgrade --import").end();
            }
            None => {}
        }
    }

    fn ids(&self) -> Vec<String> {
        self.applied.iter().chain(&self.pending).map(ToString::to_string).collect()
    }
}

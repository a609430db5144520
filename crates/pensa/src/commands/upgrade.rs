//! `pn upgrade`: shows what a database's schema lacks, and adds it; and offers agents that another tool keeps as files.

use std::collections::HashSet;
use std::env;
use std::path::PathBuf;

use pensa_core::ops::agent;
use pensa_core::{Code, Error, Result};
use pensa_engine::{Schema, migrate_database, schema_of_database, schema_of_store};
use pensa_interop::daycare;
use serde::Serialize;

use super::import_from::{Report, from_daycare, show_notes};
use crate::cli::{Options, Upgrade};
use crate::connect;
use crate::output::Output;
use crate::progress::watched;
use crate::render::{Render, Screen, counted};

/// What was to be done, and what was done.
#[derive(Debug, Serialize)]
struct Upgraded {
    /// How many steps the schema has now
    schema: i64,
    pending: Vec<&'static str>,
    applied: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    daycare: Option<Daycare>,
}

/// Agents that another tool keeps as files.
#[derive(Debug, Serialize)]
struct Daycare {
    dir: String,
    /// How many of them are not here
    agents: usize,
    /// What came of importing them
    #[serde(skip_serializing_if = "Option::is_none")]
    imported: Option<Report>,
}

/// The variable that names the directory of the agents.
const DAYCARE_DIR: &str = "PN_DAYCARE_DIR";

pub(super) fn run(options: &Options, output: Output, args: &Upgrade) -> Result<()> {
    let mut upgraded = match &args.database {
        Some(url) => upgrade(args, || schema_of_database(url), || migrate_database(url))?,
        None if connect::server(options)?.is_some() => {
            return Err(Error::new(Code::Unsupported, "a server brings its database up to date when it starts")
                .hint("--remote-server '' upgrades the store of this machine"));
        }
        None => {
            if args.import {
                // Agents live in the user's own store where there is no project. It is made when it is first needed.
                drop(connect::any_store(options).or_else(|_| {
                    connect::client_for_agents(options)?.call(&agent::List::default())?;
                    connect::any_store(options)
                })?);
            }
            let store = connect::any_store(options).map_err(offering_agents)?;
            let migrate = || watched(output, || connect::open(options, store.clone())).map(drop);
            upgrade(args, || schema_of_store(&store), migrate)?
        }
    };
    if args.database.is_none() {
        upgraded.daycare = watched(output, || of_daycare(options, args))?;
    }
    output.answer(&upgraded)?;
    if let Some(report) = upgraded.daycare.as_ref().and_then(|daycare| daycare.imported.as_ref()) {
        show_notes(output, &report.notes);
    }
    Ok(())
}

/// Where there is no store, the error offers the agents that could be imported all the same.
fn offering_agents(error: Error) -> Error {
    match daycare_dir().filter(|_| error.code == Code::NoStore) {
        Some(dir) => error.hint(format!("pn upgrade --import takes in the agents in {}", dir.display())),
        None => error,
    }
}

/// The directory in which agents are kept as files, if it is there.
fn daycare_dir() -> Option<PathBuf> {
    let named = |name: &str| env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    named(DAYCARE_DIR).or_else(|| Some(named("HOME")?.join(".daycare/agents"))).filter(|dir| dir.is_dir())
}

/// The agents that can be imported, and what came of it if that was asked for.
fn of_daycare(options: &Options, args: &Upgrade) -> Result<Option<Daycare>> {
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
        return Ok(Some(Daycare { dir: shown, agents, imported }));
    }
    // A look must not bring a database up to date.
    if !args.dry_run {
        let here = connect::client_for_agents(options)?.call(&agent::List::default())?;
        ids.retain(|id| !here.iter().any(|agent| agent.id.as_str() == *id));
    }
    Ok((!ids.is_empty()).then_some(Daycare { dir: shown, agents: ids.len(), imported: None }))
}

fn upgrade(
    args: &Upgrade,
    look: impl Fn() -> Result<Schema>,
    migrate: impl FnOnce() -> Result<()>,
) -> Result<Upgraded> {
    let before = look()?;
    if args.dry_run || before.pending.is_empty() {
        return Ok(Upgraded { schema: before.version, pending: before.pending, applied: Vec::new(), daycare: None });
    }
    migrate()?;
    let after = look()?;
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
            Some(Daycare { imported: Some(report), .. }) => report.render(screen),
            Some(Daycare { dir, agents, .. }) => {
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

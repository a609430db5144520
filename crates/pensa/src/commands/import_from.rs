//! `pn import-from`: reads another tool's files and hands what they hold to the store, one agent at a time.

use std::path::Path;

use pensa_client::Client;
use pensa_core::agent::{Lifecycle, TypeName};
use pensa_core::ops::agent::{Import, ImportedSession};
use pensa_core::session::{EntryType, NewEntry, OpenedBy};
use pensa_core::{Code, Result};
use pensa_engine::meter;
use pensa_interop::daycare::{self, Found};
use serde::Serialize;
use serde_json::Value;

use super::import_prjct;
use super::import_records;
use crate::cli::{FromDaycare, ImportFrom, Options};
use crate::connect;
use crate::output::Output;
use crate::progress::watched;
use crate::render::{Render, Screen, agents};

/// What came of it.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    agents_imported: usize,
    agents_skipped: Vec<Skipped>,
    sessions: i64,
    entries: i64,
    lines_skipped: usize,
    redactions: i64,
    /// What could not be kept, or not as it was
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Skipped {
    id: String,
    reason: String,
}

pub(super) fn run(options: &Options, output: Output, command: &ImportFrom) -> Result<()> {
    let args = match command {
        ImportFrom::Daycare(args) => args,
        ImportFrom::Loopr(args) => return import_records::run_loopr(options, output, args),
        ImportFrom::Prjct(args) => return import_prjct::run(options, output, args),
        ImportFrom::Taskstore(args) => return import_records::run(options, output, args),
    };
    let FromDaycare { dir } = args;
    let report = watched(output, || from_daycare(&connect::client_for_agents(options)?, dir))?;
    output.answer(&report)?;
    show_notes(output, &report.notes);
    Ok(())
}

/// Shows people what a report says besides its counts; others find it in the report.
pub(super) fn show_notes(output: Output, notes: &[String]) {
    notes.iter().for_each(|note| output.note(&format!("note: {note}")));
}

/// Has the store take in the agents of a directory.
pub(super) fn from_daycare(client: &Client, dir: &Path) -> Result<Report> {
    let mut report = Report::default();
    let mut orphans = Vec::new();
    let agents = daycare::agents(dir)?;
    meter().begin(agents.len());
    for found in agents {
        meter().advance(1);
        match found {
            Found::Skipped { id, reason } => report.agents_skipped.push(Skipped { id, reason }),
            Found::Agent(agent) => {
                let notes: Vec<String> = agent.notes.iter().map(|note| format!("{}: {note}", agent.id)).collect();
                let (lines_skipped, before) = (agent.lines_skipped, report.agents_imported);
                let orphan = take(client, import(*agent)?, lines_skipped, &mut report)?;
                if report.agents_imported > before {
                    report.notes.extend(notes);
                }
                orphans.extend(orphan);
            }
        }
    }
    meter().end();
    // A parent may have come after its children.
    for child in orphans {
        client.call(&child)?;
    }
    Ok(report)
}

/// Has the store take in one agent; gives back what to ask again if its parent was not there.
fn take(client: &Client, op: Import, lines_skipped: usize, report: &mut Report) -> Result<Option<Import>> {
    let mut skip = |reason: String| report.agents_skipped.push(Skipped { id: op.id.to_string(), reason });
    match client.call(&op) {
        Ok(told) if told.imported => {
            report.agents_imported += 1;
            report.sessions += told.sessions;
            report.entries += told.entries;
            report.redactions += told.redactions;
            report.lines_skipped += lines_skipped;
            Ok(told.parent_missing.then(|| Import { sessions: Vec::new(), ..op }))
        }
        Ok(_) => {
            skip("is here already".into());
            Ok(None)
        }
        Err(error) if matches!(error.code, Code::InvalidInput | Code::TooLarge) => {
            skip(error.message);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// An agent as the store takes it in.
pub(super) fn import(agent: daycare::Agent) -> Result<Import> {
    let last = agent.sessions.len().saturating_sub(1);
    let sessions = agent.sessions.into_iter().enumerate().map(|(at, session)| {
        Ok(ImportedSession {
            opened_by: match session.opened_by {
                daycare::OpenedBy::Start => OpenedBy::Start,
                daycare::OpenedBy::Reset => OpenedBy::Reset,
                daycare::OpenedBy::Compaction => OpenedBy::Compaction,
            },
            inference_session_id: agent.inference_session_id.clone().filter(|_| at == last),
            reset_message: session.reset_message,
            created_at: session.at,
            entries: session.entries.into_iter().map(entry).collect::<Result<_>>()?,
        })
    });
    Ok(Import {
        sessions: sessions.collect::<Result<_>>()?,
        id: agent.id.parse()?,
        // The descriptor has it as it was.
        agent_type: agent.kind.parse().or_else(|_| "unknown".parse::<TypeName>())?,
        name: agent.name,
        // One that cannot be an id is nobody's.
        parent_id: agent.parent_id.and_then(|parent| parent.parse().ok()),
        descriptor: agent.descriptor,
        permissions: agent.permissions,
        tokens: agent.tokens,
        stats: agent.stats,
        lifecycle: match agent.lifecycle {
            daycare::Lifecycle::Active => Lifecycle::Active,
            daycare::Lifecycle::Sleeping => Lifecycle::Sleeping,
            daycare::Lifecycle::Dead => Lifecycle::Dead,
        },
        created_at: agent.created_at,
        updated_at: agent.updated_at,
        no_redact: false,
    })
}

/// A type that cannot be one here is kept with the data.
fn entry(entry: daycare::Entry) -> Result<NewEntry> {
    let daycare::Entry { kind, at, mut data } = entry;
    let entry_type = kind.parse::<EntryType>().or_else(|_| {
        data.insert("type".into(), Value::String(kind));
        "unknown".parse()
    })?;
    Ok(NewEntry { entry_type, at, data })
}

impl Render for Report {
    fn render(&self, screen: &mut Screen) {
        let Self { agents_imported, sessions, entries, redactions, lines_skipped, .. } = self;
        screen.plain(&format!("{agents_imported} agents, {sessions} sessions, {entries} entries")).end();
        agents::redactions(screen, *redactions);
        if *lines_skipped > 0 {
            screen.plain(&format!("{lines_skipped} lines could not be read")).end();
        }
        for skipped in &self.agents_skipped {
            screen.plain("skipped ").text(&skipped.id).plain(": ").text(&skipped.reason).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        Vec::new()
    }
}

//! `pn import-from prjct`: hands what the files of a project hold to the store, in as few parts as there can be, and
//! tells what became of each.

use std::collections::BTreeMap;

use pensa_client::Client;
use pensa_core::ops::import::{Given, Outcome, Records, Source, Told};
use pensa_core::{Code, Result, json};
use pensa_engine::meter;
use pensa_interop::daycare;
use pensa_interop::prjct::{self, Found, Kind, Problem, Project};
use serde::Serialize;

use super::import_from::{import as agent_import, show_notes};
use crate::cli::{FromPrjct, Options};
use crate::connect;
use crate::output::Output;
use crate::progress::watched;
use crate::render::{Render, Screen, agents, counted};

/// So much is sent at once, if it is made of many records: well within what a server takes in.
const PART_BYTES: usize = 4 << 20;
/// Most records of one part.
const PART_RECORDS: usize = 5000;

/// What came of it.
#[derive(Debug, Default, Serialize)]
struct Report {
    /// The scope of documents in kv.
    scope: String,
    imported: Counts,
    /// Documents whose text was another before.
    #[serde(skip_serializing_if = "is_zero")]
    documents_updated: usize,
    here_already: Counts,
    /// How many of what was imported have fields without a place, which are kept with them.
    kept_as_extra: usize,
    skipped: Vec<Skipped>,
    /// How many records were not imported, those too that are not named one by one
    skipped_count: usize,
    /// Sessions and their entries, as the database has them of agents
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<Sessions>,
    not_understood: Vec<Problem>,
    left_out: Vec<Problem>,
    redactions: i64,
    /// What was imported in another way than it was kept
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

/// The sessions of the agent that a project becomes.
#[derive(Debug, Serialize)]
struct Sessions {
    agent: String,
    imported: i64,
    entries: i64,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// How many there are of each kind.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
struct Counts(BTreeMap<Kind, usize>);

impl Counts {
    fn none() -> Self {
        use Kind::{Documents, Events, Ideas, Learnings, Queue, Releases, Skills, Tasks};
        Self([Tasks, Queue, Ideas, Releases, Learnings, Events, Skills, Documents].map(|kind| (kind, 0)).into())
    }

    fn add(&mut self, kind: Kind) {
        *self.0.entry(kind).or_default() += 1;
    }

    fn of(&self, kind: Kind) -> usize {
        self.0.get(&kind).copied().unwrap_or_default()
    }

    fn total(&self) -> usize {
        self.0.values().sum()
    }
}

#[derive(Debug, Serialize)]
struct Skipped {
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    reason: String,
}

pub(super) fn run(options: &Options, output: Output, args: &FromPrjct) -> Result<()> {
    let report = watched(output, || import(&connect::client(options)?, args))?;
    output.answer(&report)?;
    show_notes(output, &report.notes);
    Ok(())
}

fn import(client: &Client, args: &FromPrjct) -> Result<Report> {
    let Project { scope, found, not_understood, left_out, skipped, agent } = prjct::read(&args.dir)?;
    let (imported, here_already) = (Counts::none(), Counts::none());
    let mut report = Report { scope, imported, here_already, not_understood, left_out, ..Report::default() };
    meter().begin(found.len());
    for part in parts(found)? {
        meter().advance(part.len());
        let records: Vec<Given> = part.iter().map(|found| found.record.clone()).collect();
        let answer = client.call(&Records { from: Source::Prjct, records, no_redact: false })?;
        for (found, told) in part.into_iter().zip(answer) {
            report.add(found, told);
        }
    }
    meter().end();
    report.skipped_count = skipped + report.skipped.len();
    if let Some(agent) = agent {
        report.take_agent(client, *agent)?;
    }
    Ok(report)
}

/// What is sent together. Nearly always that is everything; else the next run completes what one that was stopped left.
fn parts(found: Vec<Found>) -> Result<Vec<Vec<Found>>> {
    let mut parts: Vec<Vec<Found>> = Vec::new();
    let mut bytes = 0;
    for found in found {
        let size = json::to_line(&found.record)?.len();
        match parts.last_mut() {
            Some(part) if part.len() < PART_RECORDS && bytes + size <= PART_BYTES => {
                bytes += size;
                part.push(found);
            }
            _ => {
                bytes = size;
                parts.push(vec![found]);
            }
        }
    }
    Ok(parts)
}

impl Report {
    /// Hands over the agent that has the project's sessions. One that is here already is left as it is.
    fn take_agent(&mut self, client: &Client, agent: daycare::Agent) -> Result<()> {
        let op = agent_import(agent)?;
        let told = match client.call(&op) {
            Err(error) if matches!(error.code, Code::InvalidInput | Code::TooLarge) => {
                let (file, id) = ("prjct.db".to_owned(), Some(op.id.to_string()));
                self.skipped.push(Skipped { file, line: None, id, reason: error.message });
                self.skipped_count += 1;
                return Ok(());
            }
            told => told?,
        };
        if !told.imported {
            self.notes.push(format!("agent {} is here already; its sessions were left as they are", told.id));
        }
        self.redactions += told.redactions;
        self.sessions = Some(Sessions { agent: told.id.to_string(), imported: told.sessions, entries: told.entries });
        Ok(())
    }

    fn add(&mut self, found: Found, told: Told) {
        self.redactions += told.redactions;
        let id = told.id;
        match told.outcome {
            Outcome::Imported => {
                self.imported.add(found.kind);
                self.kept_as_extra += usize::from(found.holds_more());
                self.notes.extend(told.reason.map(|reason| format!("{} {reason}", id.unwrap_or_default())));
            }
            Outcome::Updated => self.documents_updated += 1,
            Outcome::Here => self.here_already.add(found.kind),
            Outcome::Changed | Outcome::Clash | Outcome::Deleted | Outcome::Refused => {
                let Found { file, line, .. } = found;
                let reason = told.reason.unwrap_or_else(|| told.outcome.to_string());
                self.skipped.push(Skipped { file, line, id, reason });
            }
        }
    }
}

impl Render for Report {
    fn render(&self, screen: &mut Screen) {
        let counts = self.imported.0.keys().map(|kind| told(self.imported.of(*kind), *kind));
        screen.plain(&counts.collect::<Vec<_>>().join(", ")).end();
        let here = self.here_already.total();
        for (count, told) in [
            (here, "were here already"),
            (self.documents_updated, "documents have another text now"),
            (self.kept_as_extra, "have fields without a place, which are kept with them"),
        ] {
            if count > 0 {
                screen.plain(&format!("{count} {told}")).end();
            }
        }
        if self.imported.of(Kind::Documents) > 0 {
            screen.plain("documents are in pn kv list --scope ").text(&self.scope).end();
        }
        if let Some(Sessions { agent, imported, entries }) = &self.sessions {
            screen.plain(&format!("{imported} sessions with {entries} entries of agent ")).text(agent).end();
        }
        if self.skipped_count > 0 {
            screen.plain(&format!("{} skipped", self.skipped_count)).end();
        }
        agents::redactions(screen, self.redactions);
        for skipped in &self.skipped {
            let id = skipped.id.as_ref().map(|id| format!(" {id}")).unwrap_or_default();
            place(screen.plain("skipped "), &skipped.file, skipped.line);
            screen.text(&id).plain(": ").text(&skipped.reason).end();
        }
        for (what, problems) in [("not understood ", &self.not_understood), ("left out ", &self.left_out)] {
            for problem in problems {
                place(screen.plain(what), &problem.file, problem.line);
                screen.plain(": ").text(&problem.reason).end();
            }
        }
    }

    fn ids(&self) -> Vec<String> {
        Vec::new()
    }
}

fn place(screen: &mut Screen, file: &str, line: Option<usize>) {
    screen.text(file);
    if let Some(line) = line {
        screen.plain(&format!(" line {line}"));
    }
}

fn told(count: usize, kind: Kind) -> String {
    let (one, many) = match kind {
        Kind::Tasks => ("task", "tasks"),
        Kind::Queue => ("in the queue", "in the queue"),
        Kind::Ideas => ("idea", "ideas"),
        Kind::Releases => ("release", "releases"),
        Kind::Learnings => ("learning", "learnings"),
        Kind::Events => ("event", "events"),
        Kind::Skills => ("skill", "skills"),
        Kind::Documents => ("document", "documents"),
        Kind::Comments => ("comment", "comments"),
    };
    counted(count, one, many)
}

//! `pn import-from prjct`: imports the files of a project in as few requests as possible, and reports on every record.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use pensa_client::Client;
use pensa_core::ops::import::{ImportItem, ImportOutcome, ImportedRecord, Records, Source};
use pensa_core::{Code, Result, json};
use pensa_engine::progress;
use pensa_interop::daycare;
use pensa_interop::prjct::{self, ParsedRecord, PrjctProject, Problem, RecordKind};
use serde::Serialize;

use super::import_from::{import_op as agent_op, show_notes};
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::progress::with_progress;
use crate::render::{Render, Screen, counted, print_redactions};

/// Import a project of prjct: tasks, queue, ideas, what was shipped and learned, skills and events
///
/// Reads the JSON files below DIR and changes none of them. Ids are kept. Fields without an equivalent are stored with
/// their record under "prjct", other documents in pn kv. Records that exist already are skipped, so the import can be
/// repeated.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  pn import-from prjct ~/.prjct-cli/projects/5c1e0d0e\n  \
    pn import-from prjct DIR --json      # the full report: imported, skipped, not understood\n  \
    pn kv list --scope prjct:5c1e0d0e    # the imported documents")]
pub(crate) struct ImportFromPrjctArgs {
    /// The directory of the project
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

/// Target size of a request with many records, well below the limit of a server.
const PART_BYTES: usize = 4 << 20;

/// The most records of one request.
const PART_RECORDS: usize = 5000;

/// The result of an import.
#[derive(Debug, Default, Serialize)]
struct PrjctReport {
    /// The kv scope of imported documents.
    scope: String,
    imported: Counts,
    /// Documents whose text has changed since the last import.
    #[serde(skip_serializing_if = "is_zero")]
    documents_updated: usize,
    here_already: Counts,
    /// How many imported records have fields without an equivalent, which are stored with them.
    kept_as_extra: usize,
    skipped: Vec<SkippedRecord>,
    /// How many records were not imported, including those not listed in `skipped`
    skipped_count: usize,
    /// The sessions imported from the database
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<ImportedSessions>,
    not_understood: Vec<Problem>,
    left_out: Vec<Problem>,
    redactions: i64,
    /// What could not be stored unchanged
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

/// The sessions of the agent that stands for the project.
#[derive(Debug, Serialize)]
struct ImportedSessions {
    agent: String,
    imported: i64,
    entries: i64,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// A count per kind.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
struct Counts(BTreeMap<RecordKind, usize>);

impl Counts {
    fn none() -> Self {
        use RecordKind::{Documents, Events, Ideas, Learnings, Queue, Releases, Skills, Tasks};
        Self([Tasks, Queue, Ideas, Releases, Learnings, Events, Skills, Documents].map(|kind| (kind, 0)).into())
    }

    fn add(&mut self, kind: RecordKind) {
        *self.0.entry(kind).or_default() += 1;
    }

    fn of(&self, kind: RecordKind) -> usize {
        self.0.get(&kind).copied().unwrap_or_default()
    }

    fn total(&self) -> usize {
        self.0.values().sum()
    }
}

#[derive(Debug, Serialize)]
struct SkippedRecord {
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    reason: String,
}

pub(super) fn run(options: &GlobalOptions, output: Output, args: &ImportFromPrjctArgs) -> Result<()> {
    let report = with_progress(output, || import(&connect::client(options)?, args))?;
    output.answer(&report)?;
    show_notes(output, &report.notes);
    Ok(())
}

fn import(client: &Client, args: &ImportFromPrjctArgs) -> Result<PrjctReport> {
    let PrjctProject { scope, records: found, not_understood, left_out, skipped, agent } = prjct::read(&args.dir)?;
    let (imported, here_already) = (Counts::none(), Counts::none());
    let mut report = PrjctReport { scope, imported, here_already, not_understood, left_out, ..PrjctReport::default() };
    progress().begin(found.len());
    for part in parts(found)? {
        progress().advance(part.len());
        let records: Vec<ImportItem> = part.iter().map(|found| found.record.clone()).collect();
        let answer = client.call(&Records { from: Source::Prjct, records, no_redact: false })?;
        for (found, result) in part.into_iter().zip(answer) {
            report.add(found, result);
        }
    }
    progress().end();
    report.skipped_count = skipped + report.skipped.len();
    if let Some(agent) = agent {
        report.import_agent(client, *agent)?;
    }
    Ok(report)
}

/// Splits the records into requests. Usually one suffices; with several, an interrupted import is completed by the next.
fn parts(found: Vec<ParsedRecord>) -> Result<Vec<Vec<ParsedRecord>>> {
    let mut parts: Vec<Vec<ParsedRecord>> = Vec::new();
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

impl PrjctReport {
    /// Imports the agent that has the project's sessions, unless it exists already.
    fn import_agent(&mut self, client: &Client, agent: daycare::DaycareAgent) -> Result<()> {
        let op = agent_op(agent)?;
        let answer = match client.call(&op) {
            Err(error) if matches!(error.code, Code::InvalidInput | Code::TooLarge) => {
                let (file, id) = ("prjct.db".to_owned(), Some(op.id.to_string()));
                self.skipped.push(SkippedRecord { file, line: None, id, reason: error.message });
                self.skipped_count += 1;
                return Ok(());
            }
            answer => answer?,
        };
        if !answer.imported {
            self.notes.push(format!("agent {} is here already; its sessions were left as they are", answer.id));
        }
        self.redactions += answer.redactions;
        self.sessions =
            Some(ImportedSessions { agent: answer.id.to_string(), imported: answer.sessions, entries: answer.entries });
        Ok(())
    }

    fn add(&mut self, found: ParsedRecord, result: ImportedRecord) {
        self.redactions += result.redactions;
        let id = result.id;
        match result.outcome {
            ImportOutcome::Imported => {
                self.imported.add(found.kind);
                self.kept_as_extra += usize::from(found.has_extra_fields());
                self.notes.extend(result.reason.map(|reason| format!("{} {reason}", id.unwrap_or_default())));
            }
            ImportOutcome::Updated => self.documents_updated += 1,
            ImportOutcome::Here => self.here_already.add(found.kind),
            ImportOutcome::Changed | ImportOutcome::Clash | ImportOutcome::Deleted | ImportOutcome::Refused => {
                let ParsedRecord { file, line, .. } = found;
                let reason = result.reason.unwrap_or_else(|| result.outcome.to_string());
                self.skipped.push(SkippedRecord { file, line, id, reason });
            }
        }
    }
}

impl Render for PrjctReport {
    fn render(&self, screen: &mut Screen) {
        let counts = self.imported.0.keys().map(|kind| kind_count(self.imported.of(*kind), *kind));
        screen.plain(&counts.collect::<Vec<_>>().join(", ")).end();
        let here = self.here_already.total();
        for (count, what) in [
            (here, "were here already"),
            (self.documents_updated, "documents have another text now"),
            (self.kept_as_extra, "have fields without a place, which are kept with them"),
        ] {
            if count > 0 {
                screen.plain(&format!("{count} {what}")).end();
            }
        }
        if self.imported.of(RecordKind::Documents) > 0 {
            screen.plain("documents are in pn kv list --scope ").text(&self.scope).end();
        }
        if let Some(ImportedSessions { agent, imported, entries }) = &self.sessions {
            screen.plain(&format!("{imported} sessions with {entries} entries of agent ")).text(agent).end();
        }
        if self.skipped_count > 0 {
            screen.plain(&format!("{} skipped", self.skipped_count)).end();
        }
        print_redactions(screen, self.redactions);
        for skipped in &self.skipped {
            let id = skipped.id.as_ref().map(|id| format!(" {id}")).unwrap_or_default();
            print_location(screen.plain("skipped "), &skipped.file, skipped.line);
            screen.text(&id).plain(": ").text(&skipped.reason).end();
        }
        for (what, problems) in [("not understood ", &self.not_understood), ("left out ", &self.left_out)] {
            for problem in problems {
                print_location(screen.plain(what), &problem.file, problem.line);
                screen.plain(": ").text(&problem.reason).end();
            }
        }
    }

    fn ids(&self) -> Vec<String> {
        Vec::new()
    }
}

fn print_location(screen: &mut Screen, file: &str, line: Option<usize>) {
    screen.text(file);
    if let Some(line) = line {
        screen.plain(&format!(" line {line}"));
    }
}

fn kind_count(count: usize, kind: RecordKind) -> String {
    let (one, many) = match kind {
        RecordKind::Tasks => ("task", "tasks"),
        RecordKind::Queue => ("in the queue", "in the queue"),
        RecordKind::Ideas => ("idea", "ideas"),
        RecordKind::Releases => ("release", "releases"),
        RecordKind::Learnings => ("learning", "learnings"),
        RecordKind::Events => ("event", "events"),
        RecordKind::Skills => ("skill", "skills"),
        RecordKind::Documents => ("document", "documents"),
        RecordKind::Comments => ("comment", "comments"),
    };
    counted(count, one, many)
}

//! `pn import-from`: imports other tools' files; this module imports daycare, one agent at a time.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use pensa_client::Client;
use pensa_core::agent::{Lifecycle, TypeName};
use pensa_core::ops::agent::{Import, ImportedSession};
use pensa_core::session::{EntryType, NewEntry, OpenedBy};
use pensa_core::{Code, Result};
use pensa_engine::progress;
use pensa_interop::daycare::{self, ParsedAgent};
use pensa_interop::transcript::TranscriptTool;
use serde::Serialize;
use serde_json::Value;

use super::import_prjct::ImportFromPrjctArgs;
use super::import_records::{ImportFromLooprArgs, ImportFromTaskstoreArgs};
use super::import_tracker::{
    ImportFromBacklogArgs, ImportFromBeadsArgs, ImportFromGithubArgs, ImportFromGitlabArgs, ImportFromJiraArgs,
    ImportFromLinearArgs, ImportFromTaskmasterArgs, ImportFromTaskwarriorArgs,
};
use super::import_transcript::ImportTranscriptArgs;
use super::{import_prjct, import_records, import_transcript};
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::progress::with_progress;
use crate::render::{Render, Screen, print_redactions};

/// Import the data of another tool
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum ImportFromCommand {
    Backlog(ImportFromBacklogArgs),
    Beads(ImportFromBeadsArgs),
    /// Import conversations of Claude Code: ~/.claude/projects
    ClaudeCode(ImportTranscriptArgs),
    /// Import conversations of Codex: ~/.codex/sessions and archived_sessions
    Codex(ImportTranscriptArgs),
    /// Import conversations of Copilot CLI: ~/.copilot/session-state
    Copilot(ImportTranscriptArgs),
    Daycare(ImportFromDaycareArgs),
    /// Import conversations of Gemini CLI: ~/.gemini/tmp
    Gemini(ImportTranscriptArgs),
    Github(ImportFromGithubArgs),
    Gitlab(ImportFromGitlabArgs),
    Jira(ImportFromJiraArgs),
    Linear(ImportFromLinearArgs),
    Loopr(ImportFromLooprArgs),
    /// Import conversations of opencode: ~/.local/share/opencode/opencode.db
    Opencode(ImportTranscriptArgs),
    Prjct(ImportFromPrjctArgs),
    Taskmaster(ImportFromTaskmasterArgs),
    Taskstore(ImportFromTaskstoreArgs),
    Taskwarrior(ImportFromTaskwarriorArgs),
}

/// Import agents of daycare: <DIR>/<id>/{descriptor.json,state.json,history.jsonl}
///
/// Agents that exist already are skipped, so the import can be repeated.
#[derive(Debug, Args)]
pub(crate) struct ImportFromDaycareArgs {
    /// The directory of the agents, or the one above it
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

/// The result of an import.
#[derive(Debug, Default, Serialize)]
pub(super) struct DaycareReport {
    agents_imported: usize,
    agents_skipped: Vec<SkippedAgent>,
    sessions: i64,
    entries: i64,
    lines_skipped: usize,
    redactions: i64,
    /// What could not be stored unchanged
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct SkippedAgent {
    id: String,
    reason: String,
}

pub(super) fn run(options: &GlobalOptions, output: Output, command: &ImportFromCommand) -> Result<()> {
    let transcripts = |tool, args| import_transcript::run(options, output, tool, args);
    let args = match command {
        ImportFromCommand::ClaudeCode(args) => return transcripts(TranscriptTool::ClaudeCode, args),
        ImportFromCommand::Codex(args) => return transcripts(TranscriptTool::Codex, args),
        ImportFromCommand::Copilot(args) => return transcripts(TranscriptTool::Copilot, args),
        ImportFromCommand::Gemini(args) => return transcripts(TranscriptTool::Gemini, args),
        ImportFromCommand::Opencode(args) => return transcripts(TranscriptTool::Opencode, args),
        ImportFromCommand::Backlog(args) => return args.run(options, output),
        ImportFromCommand::Beads(args) => return args.run(options, output),
        ImportFromCommand::Daycare(args) => args,
        ImportFromCommand::Github(args) => return args.run(options, output),
        ImportFromCommand::Gitlab(args) => return args.run(options, output),
        ImportFromCommand::Jira(args) => return args.run(options, output),
        ImportFromCommand::Linear(args) => return args.run(options, output),
        ImportFromCommand::Loopr(args) => return import_records::run_loopr(options, output, args),
        ImportFromCommand::Prjct(args) => return import_prjct::run(options, output, args),
        ImportFromCommand::Taskmaster(args) => return args.run(options, output),
        ImportFromCommand::Taskstore(args) => return import_records::run(options, output, args),
        ImportFromCommand::Taskwarrior(args) => return args.run(options, output),
    };
    let ImportFromDaycareArgs { dir } = args;
    let report = with_progress(output, || from_daycare(&connect::client_for_agents(options)?, dir))?;
    output.answer(&report)?;
    show_notes(output, &report.notes);
    Ok(())
}

/// Prints notes for people; `--json` has them in the report.
pub(super) fn show_notes(output: Output, notes: &[String]) {
    notes.iter().for_each(|note| output.note(&format!("note: {note}")));
}

/// Imports the agents of a directory.
pub(super) fn from_daycare(client: &Client, dir: &Path) -> Result<DaycareReport> {
    let mut report = DaycareReport::default();
    let mut orphans = Vec::new();
    let agents = daycare::agents(dir)?;
    progress().begin(agents.len());
    for found in agents {
        progress().advance(1);
        match found {
            ParsedAgent::Skipped { id, reason } => report.agents_skipped.push(SkippedAgent { id, reason }),
            ParsedAgent::Agent(agent) => {
                let notes: Vec<String> = agent.notes.iter().map(|note| format!("{}: {note}", agent.id)).collect();
                let (lines_skipped, before) = (agent.lines_skipped, report.agents_imported);
                let orphan = import_agent(client, import_op(*agent)?, lines_skipped, &mut report)?;
                if report.agents_imported > before {
                    report.notes.extend(notes);
                }
                orphans.extend(orphan);
            }
        }
    }
    progress().end();
    // Repeated because a parent may come after its children.
    for child in orphans {
        client.call(&child)?;
    }
    Ok(report)
}

/// Imports one agent. Returns the operation to repeat later if its parent is missing.
fn import_agent(
    client: &Client,
    op: Import,
    lines_skipped: usize,
    report: &mut DaycareReport,
) -> Result<Option<Import>> {
    let mut skip = |reason: String| report.agents_skipped.push(SkippedAgent { id: op.id.to_string(), reason });
    match client.call(&op) {
        Ok(imported) if imported.imported => {
            report.agents_imported += 1;
            report.sessions += imported.sessions;
            report.entries += imported.entries;
            report.redactions += imported.redactions;
            report.lines_skipped += lines_skipped;
            Ok(imported.parent_missing.then(|| Import { sessions: Vec::new(), ..op }))
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

/// Converts an agent to an import operation.
pub(super) fn import_op(agent: daycare::DaycareAgent) -> Result<Import> {
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
            entries: session.entries.into_iter().map(entry_op).collect::<Result<_>>()?,
        })
    });
    Ok(Import {
        sessions: sessions.collect::<Result<_>>()?,
        id: agent.id.parse()?,
        // The descriptor keeps the original type.
        agent_type: agent.kind.parse().or_else(|_| "unknown".parse::<TypeName>())?,
        name: agent.name,
        // A parent that is not a valid id is dropped.
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

/// Converts an entry. A type that is invalid here is kept in its data.
fn entry_op(entry: daycare::HistoryEntry) -> Result<NewEntry> {
    let daycare::HistoryEntry { kind, at, mut data } = entry;
    let entry_type = kind.parse::<EntryType>().or_else(|_| {
        data.insert("type".into(), Value::String(kind));
        "unknown".parse()
    })?;
    Ok(NewEntry { entry_type, at, data })
}

impl Render for DaycareReport {
    fn render(&self, screen: &mut Screen) {
        let Self { agents_imported, sessions, entries, redactions, lines_skipped, .. } = self;
        screen.plain(&format!("{agents_imported} agents, {sessions} sessions, {entries} entries")).end();
        print_redactions(screen, *redactions);
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

//! `pn import-from` for other trackers: imports what their files contain in one request, and reports on every item.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use clap::Args;
use pensa_client::Client;
use pensa_core::ops::tracker::{ImportIssues, ImportedItem, ItemOutcome, TrackerItem};
use pensa_core::{Result, json};
use pensa_engine::progress;
use pensa_interop::tracker::{self, SkippedItem, TrackedItem, TrackerFile, WordMapping};
use serde::Serialize;

use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::progress::with_progress;
use crate::render::{Render, Screen, counted, print_redactions};

/// Declares the arguments of an import with its help, and how the files are read.
macro_rules! tracker_import {
    ($($(#[$attr:meta])* $name:ident($value_name:literal, $path_help:literal) $read:path;)*) => {$(
        #[derive(Debug, Args)]
        $(#[$attr])*
        pub(crate) struct $name {
            #[doc = $path_help]
            #[arg(value_name = $value_name)]
            path: PathBuf,
            /// Change nothing; report what would happen
            #[arg(long)]
            dry_run: bool,
        }

        impl $name {
            pub(super) fn run(&self, options: &GlobalOptions, output: Output) -> Result<()> {
                import_and_report(options, output, self.dry_run, || $read(&self.path))
            }
        }
    )*};
}

tracker_import! {
    /// Import the tasks of Backlog.md: the folder backlog; drafts get the label draft
    ///
    /// Ids are kept. When repeated, issues get what has changed in the files since.
    #[command(after_help = "Examples:\n  pn import-from backlog .\n  pn import-from backlog ./backlog --dry-run")]
    ImportFromBacklogArgs("DIR", "The folder, or the directory that has it") tracker::backlog::read;

    /// Import the issues of beads (bd, br): a JSONL file, or the directory that has .beads
    ///
    /// Ids are kept. Fields without a place stay with their issue under "beads", and pn export --format beads writes them
    /// back. Memories become learnings. When repeated, issues get what has changed in the file since.
    #[command(after_help = "Examples:\n  pn import-from beads .beads/issues.jsonl\n  \
        pn import-from beads . --dry-run --json  # what would happen, and how words are translated")]
    ImportFromBeadsArgs("PATH", "The file, - for standard input, or a directory with .beads or issues.jsonl") tracker::beads::read;

    /// Import issues of GitHub: the output of gh issue list --json
    ///
    /// Issue 12 of owner/name becomes name-12. When repeated, issues get what has changed in the file since.
    #[command(after_help = "Examples:\n  \
        gh issue list --state all --limit 10000 --json number,title,body,state,stateReason,labels,assignees,author,\
milestone,comments,createdAt,updatedAt,closedAt,url > issues.json\n  pn import-from github issues.json")]
    ImportFromGithubArgs("FILE", "The file; - reads standard input") tracker::github::read;

    /// Import issues of GitLab: the output of glab issue list --output json, or of its API
    ///
    /// Issue 12 of group/name becomes name-12. When repeated, issues get what has changed in the file since.
    #[command(after_help = "Examples:\n  glab issue list --all --output json > issues.json\n  \
        pn import-from gitlab issues.json")]
    ImportFromGitlabArgs("FILE", "The file; - reads standard input") tracker::github::read_gitlab;

    /// Import issues of Jira: the CSV export with all fields
    ///
    /// Keys are kept as ids. When repeated, issues get what has changed in the file since.
    #[command(after_help = "Examples:\n  pn import-from jira Jira.csv\n  pn import-from jira Jira.csv --dry-run --json")]
    ImportFromJiraArgs("FILE", "The file; - reads standard input") tracker::jira::read;

    /// Import issues of Linear: the CSV export
    ///
    /// Ids such as ENG-12 are kept. When repeated, issues get what has changed in the file since.
    #[command(after_help = "Examples:\n  pn import-from linear issues.csv\n  pn import-from linear issues.csv --dry-run")]
    ImportFromLinearArgs("FILE", "The file; - reads standard input") tracker::linear::read;

    /// Import the tasks of Taskmaster: tasks.json; subtasks become children
    ///
    /// Task 5 becomes tm-5 and its subtask 2 tm-5.2. When repeated, issues get what has changed in the file since.
    #[command(after_help = "Examples:\n  pn import-from taskmaster .taskmaster/tasks/tasks.json\n  \
        pn import-from taskmaster . --dry-run")]
    ImportFromTaskmasterArgs("PATH", "The file, - for standard input, or the directory of the project") tracker::taskmaster::read;

    /// Import the tasks of Taskwarrior: the output of task export
    ///
    /// When repeated, issues get what has changed in the file since.
    #[command(after_help = "Examples:\n  task export > tasks.json\n  pn import-from taskwarrior tasks.json")]
    ImportFromTaskwarriorArgs("FILE", "The file; - reads standard input") tracker::taskwarrior::read;
}

/// Target size of a request, well below the limit of a server.
const PART_BYTES: usize = 32 << 20;
/// The most items of one request.
const PART_ITEMS: usize = 20_000;
/// The most skipped items that are printed; `--json` has all.
const MAX_SHOWN: usize = 20;

/// The result of an import.
#[derive(Debug, Serialize)]
struct TrackerReport {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
    created: usize,
    updated: usize,
    unchanged: usize,
    /// Deleted issues, which are kept for the export.
    #[serde(skip_serializing_if = "is_zero")]
    tombstones: usize,
    skipped: Vec<SkippedItem>,
    dropped_fields: BTreeMap<String, usize>,
    mapping: WordMapping,
    redactions: i64,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

fn import_and_report(
    options: &GlobalOptions,
    output: Output,
    dry_run: bool,
    read: impl FnOnce() -> Result<TrackerFile>,
) -> Result<()> {
    let report = with_progress(output, || import(&connect::client(options)?, read()?, dry_run))?;
    output.answer(&report)
}

fn import(client: &Client, mut file: TrackerFile, dry_run: bool) -> Result<TrackerReport> {
    let items = std::mem::take(&mut file.items);
    let ids: HashSet<String> = items.iter().map(|found| id_of(&found.item)).collect();
    let mut outcomes: Vec<ImportedItem> = Vec::new();
    let request = |items: Vec<TrackerItem>| ImportIssues { from: file.from, items, dry_run, no_redact: false };
    progress().begin(items.len());
    let parts = parts(&items)?;
    for part in &parts {
        outcomes.extend(client.call(&request(part.to_vec()))?);
        progress().advance(part.len());
    }
    progress().end();
    if parts.len() > 1 {
        // An issue may refer to one that came in a later request.
        let is_coming = |missing: &ImportedItem| missing.missing.iter().any(|id| ids.contains(id.as_str()));
        let again: Vec<usize> = (0..items.len()).filter(|at| outcomes.get(*at).is_some_and(is_coming)).collect();
        for some in again.chunks(PART_ITEMS) {
            let part = some.iter().filter_map(|at| items.get(*at)).map(|found| found.item.clone()).collect();
            for (at, second) in some.iter().zip(client.call(&request(part))?) {
                if let Some(first) = outcomes.get_mut(*at) {
                    (first.problems, first.missing) = (second.problems, second.missing);
                }
            }
        }
    }
    Ok(TrackerReport::new(file, items, outcomes, dry_run))
}

fn id_of(item: &TrackerItem) -> String {
    match item {
        TrackerItem::Issue(issue) => issue.id.to_string(),
        TrackerItem::Memory(memory) => memory.key.clone(),
        TrackerItem::Tombstone(tombstone) => tombstone.id.to_string(),
    }
}

/// Splits the items into requests. Nearly always one suffices, so that all or nothing is imported.
fn parts(items: &[TrackedItem]) -> Result<Vec<Vec<TrackerItem>>> {
    let mut parts: Vec<Vec<TrackerItem>> = Vec::new();
    let mut bytes = 0;
    for found in items {
        let size = json::to_line(&found.item)?.len();
        match parts.last_mut() {
            Some(part) if part.len() < PART_ITEMS && bytes + size <= PART_BYTES => {
                bytes += size;
                part.push(found.item.clone());
            }
            _ => {
                bytes = size;
                parts.push(vec![found.item.clone()]);
            }
        }
    }
    Ok(parts)
}

impl TrackerReport {
    fn new(file: TrackerFile, items: Vec<TrackedItem>, outcomes: Vec<ImportedItem>, dry_run: bool) -> Self {
        let TrackerFile { skipped, dropped_fields, mapping, .. } = file;
        let (created, updated, unchanged, tombstones, redactions) = (0, 0, 0, 0, 0);
        let mut report =
            Self { dry_run, created, updated, unchanged, tombstones, skipped, dropped_fields, mapping, redactions };
        for (found, outcome) in items.into_iter().zip(outcomes) {
            report.redactions += outcome.redactions;
            let is_tombstone = matches!(found.item, TrackerItem::Tombstone(_));
            match outcome.outcome {
                ItemOutcome::Skipped => {}
                _ if is_tombstone => report.tombstones += 1,
                ItemOutcome::Created => report.created += 1,
                ItemOutcome::Updated => report.updated += 1,
                ItemOutcome::Unchanged => report.unchanged += 1,
            }
            let id = id_of(&found.item);
            let problem = |reason| SkippedItem { place: found.place.clone(), id: Some(id.clone()), reason };
            report.skipped.extend(outcome.problems.into_iter().map(problem));
        }
        report.skipped.sort_by(|a, b| a.place.cmp(&b.place));
        report
    }
}

impl Render for TrackerReport {
    fn render(&self, screen: &mut Screen) {
        let Self { created, updated, unchanged, tombstones, skipped, dropped_fields, mapping, .. } = self;
        if self.dry_run {
            screen.plain("nothing is changed; an import would give: ");
        }
        screen.plain(&format!("{created} created, {updated} updated, {unchanged} unchanged")).end();
        if *tombstones > 0 {
            screen
                .plain(&counted(*tombstones, "deleted issue is", "deleted issues are"))
                .plain(" kept for the export")
                .end();
        }
        print_redactions(screen, self.redactions);
        for (field, words) in mapping.lines() {
            let words: Vec<String> = words.iter().map(|(theirs, ours)| format!("{theirs} → {ours}")).collect();
            screen.plain(field).plain(": ").text(&words.join(", ")).end();
        }
        if !dropped_fields.is_empty() {
            let fields: Vec<String> = dropped_fields.iter().map(|(name, count)| format!("{name} ({count})")).collect();
            screen.plain("not imported: ").text(&fields.join(", ")).end();
        }
        for SkippedItem { place, id, reason } in skipped.iter().take(MAX_SHOWN) {
            let line = place.line.map(|line| format!("line {line}"));
            let at: Vec<&str> = [&place.file, &line, id].into_iter().flatten().map(String::as_str).collect();
            screen.plain("skipped ").text(&at.join(", ")).plain(": ").text(reason).end();
        }
        if skipped.len() > MAX_SHOWN {
            screen.plain(&format!("and {} more, which --json has", skipped.len() - MAX_SHOWN)).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        Vec::new()
    }
}

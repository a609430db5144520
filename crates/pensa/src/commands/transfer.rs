//! `pn export`, `pn import`, `pn conflicts repair` and the merge driver: between the store and its JSONL files in git.

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use pensa_client::config::EXPORT_EVENTS;
use pensa_client::{locate, memory};
use pensa_core::ops::store::{Export, Import, Transfer};
use pensa_core::sync::{Collection, Conflict, EVENTS_FILE, MergedFile, merge_files, merge_history};
use pensa_core::{Code, Error, Result};
use pensa_engine::{StoreDir, write_driver_notes};

use super::{export_beads, export_html};
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::progress::with_progress;
use crate::render::{Render, Screen, counted};

/// Merge three versions of a file of the store; called by git
#[derive(Debug, Args)]
#[command(hide = true)]
pub(crate) struct MergeDriverArgs {
    /// The version both come from (%O)
    pub(crate) base: PathBuf,
    /// Our version, replaced by the result (%A)
    pub(crate) ours: PathBuf,
    /// Their version (%B)
    pub(crate) theirs: PathBuf,
    /// Where the file is in the repository (%P)
    pub(crate) path: PathBuf,
}

/// Write the store to JSONL files beside it and stage them in git, or its issues in another tool's format
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  pn export                                # the files in .pensa\n  \
    pn export --format beads -o issues.jsonl # for bd, br and bv\n  \
    pn export --html site                    # pages for a browser\n  \
    pn export --html board.html --single     # the same in one file")]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    op: Export,
    /// Write the issues in the format of another tool, to standard output; nothing is staged
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["check", "events", "no_stage"])]
    format: Option<ForeignFormat>,
    /// The file to write with --format
    #[arg(short, long, value_name = "FILE", requires = "format")]
    output: Option<PathBuf>,
    /// Write pages for a browser into this directory: board, issues, graph, charts, changelog; without a server
    #[arg(long, value_name = "DIR", conflicts_with_all = ["check", "events", "no_stage", "format"])]
    html: Option<PathBuf>,
    /// Write them into one file, the path given with --html
    #[arg(long, requires = "html")]
    single: bool,
}

/// A format of another tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ForeignFormat {
    /// JSONL that bd, br and bv read
    Beads,
}

pub(super) fn export(options: &GlobalOptions, output: Output, args: ExportArgs) -> Result<()> {
    let ExportArgs { mut op, format, output: file, html, single } = args;
    if let Some(target) = html {
        return export_html::run(options, output, &target, single);
    }
    if let Some(ForeignFormat::Beads) = format {
        return export_beads::run(options, output, file.as_deref());
    }
    op.worktree = worktree(options)?;
    op.events = with_events(options, op.events)?;
    let (moved, transfer) = with_progress(output, || {
        let client = connect::client(options)?;
        // A commit must not fail because git cannot tell its renames.
        let follow = || memory::follow_staged_renames(&client, &connect::cwd()?);
        let moved = if op.check { 0 } else { follow().unwrap_or_default() };
        Ok((moved, client.call(&op)?))
    })?;
    output.answer(&transfer)?;
    if moved > 0 {
        output.note(&format!("note: {} renamed files", counted(moved, "learning follows", "learnings follow")));
    }
    print_notes(output, &transfer.notes, transfer.conflicts);
    if transfer.drifted.is_empty() {
        return Ok(());
    }
    let files = transfer.drifted.join(", ");
    Err(Error::new(Code::Conflict, format!("not what an export would write: {files}"))
        .hint("pn export brings files and store together"))
}

pub(super) fn import(options: &GlobalOptions, output: Output, mut op: Import) -> Result<()> {
    op.worktree = worktree(options)?;
    let transfer = with_progress(output, || connect::client(options)?.call(&op))?;
    output.answer(&transfer)?;
    print_notes(output, &transfer.notes, transfer.conflicts);
    Ok(())
}

pub(super) fn print_notes(output: Output, notes: &[String], conflicts: i64) {
    for note in notes {
        output.note(&format!("note: {note}"));
    }
    match conflicts {
        0 => {}
        1 => output.note("note: 1 conflict; the newer value was kept, pn conflicts shows the other"),
        many => {
            output.note(&format!("note: {many} conflicts; the newer values were kept, pn conflicts shows the others"))
        }
    }
}

/// Whether to export events too; `None` instead of false, so that the request omits it.
pub(super) fn with_events(options: &GlobalOptions, given: Option<bool>) -> Result<Option<bool>> {
    let is_on = match given {
        Some(given) => given,
        None => connect::config(options)?.is_on(&EXPORT_EVENTS)?,
    };
    Ok(is_on.then_some(true))
}

/// The linked worktree that the command applies to, if it is one.
pub(super) fn worktree(options: &GlobalOptions) -> Result<Option<String>> {
    let explicit = options.store.as_deref().filter(|dir| !dir.as_os_str().is_empty());
    let cwd = connect::cwd()?;
    let from = explicit.map_or_else(|| cwd.clone(), |dir| cwd.join(dir));
    locate::linked_worktree(&from)
        .map(|dir| {
            let text = dir.into_os_string().into_string();
            text.map_err(|dir| Error::invalid(format!("{} is not UTF-8", Path::new(&dir).display())))
        })
        .transpose()
}

/// Called by git with three versions of a file; writes the merged version over ours.
///
/// Other files, and files with an unreadable line, are merged as git would: leaving our side alone, without conflict
/// markers, would look like a successful merge.
pub(super) fn merge_driver(options: &GlobalOptions, args: &MergeDriverArgs) -> Result<()> {
    let done = if is_store_file(&args.path) { merge_records(options, args).map(Some) } else { Ok(None) };
    if let Ok(Some(())) = done {
        return Ok(());
    }
    let is_clean = pensa_git::merge_file(&args.ours, &args.base, &args.theirs)?;
    match done {
        Err(e) => {
            Err(e.hint("both sides are in the file now; mend it, and pn conflicts repair merges what git has marked"))
        }
        Ok(_) if is_clean => Ok(()),
        Ok(_) => Err(Error::new(Code::Conflict, format!("both sides changed {}", args.path.display()))
            .hint("it is not one of Pensa's files: git has marked the conflict in it")),
    }
}

/// Whether a path in a repository is a file of a store that this version merges record by record.
fn is_store_file(path: &Path) -> bool {
    let is_in_store = path.parent().and_then(Path::file_name).is_some_and(|dir| dir == StoreDir::NAME);
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    is_in_store && (name == EVENTS_FILE || Collection::of_file(name).is_some())
}

/// Merges a file of a store. Conflicts are recorded for the next import.
fn merge_records(options: &GlobalOptions, args: &MergeDriverArgs) -> Result<()> {
    let name = args.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let read = |path: &Path| fs::read(path).map_err(|e| Error::invalid(format!("cannot read {}: {e}", path.display())));
    let [base, ours, theirs] = [read(&args.base)?, read(&args.ours)?, read(&args.theirs)?];
    let bytes = match Collection::of_file(name) {
        None => merge_history(&args.path, &[&base, &ours, &theirs])?,
        Some(collection) => {
            let MergedFile { bytes, conflicts } = merge_files(collection, &args.path, [&base, &ours, &theirs])?;
            if !conflicts.is_empty() {
                record_conflicts(options, &args.path, &conflicts)?;
            }
            bytes
        }
    };
    fs::write(&args.ours, bytes).map_err(|e| Error::internal(format!("cannot write {}: {e}", args.ours.display())))
}

/// Records conflicts in the store of the file if it is checked out, else in the git directory.
fn record_conflicts(options: &GlobalOptions, file: &Path, conflicts: &[Conflict]) -> Result<()> {
    // Git runs merge drivers in the root of the work tree.
    let project = file.parent().and_then(Path::parent).unwrap_or(Path::new(""));
    let store = Some(connect::cwd()?.join(project));
    match connect::store(&GlobalOptions { store, config: OnceCell::new(), ..options.clone() }) {
        Ok(store) => store.write_driver_notes(conflicts),
        Err(_) => write_driver_notes(project, conflicts),
    }
}

impl Render for Transfer {
    fn render(&self, screen: &mut Screen) {
        let mut parts = vec![
            counted(self.issues, "issue", "issues"),
            counted(self.deps, "dependency", "dependencies"),
            counted(self.comments, "comment", "comments"),
        ];
        for (name, count) in &self.others {
            parts.extend(count.as_i64().map(|count| counted(count, name.trim_end_matches('s'), name)));
        }
        parts.extend(self.events.map(|events| counted(events, "event", "events")));
        screen.plain(&parts.join(", ")).end();
    }

    fn ids(&self) -> Vec<String> {
        Vec::new()
    }
}

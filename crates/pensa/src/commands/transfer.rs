//! `pn export`, `pn import` and the merge driver: between the store and the files that git carries.

use std::cell::OnceCell;
use std::fs;
use std::path::Path;

use pensa_client::config::EXPORT_EVENTS;
use pensa_client::locate;
use pensa_core::ops::store::{Export, Import};
use pensa_core::sync::{Collection, Conflict, EVENTS_FILE, MergedFile, merge_files, united};
use pensa_core::{Code, Error, Result};
use pensa_engine::{Repaired, StoreDir, leave_driver_notes, repair_marks};
use serde::Serialize;

use crate::cli::{MergeDriver, Options};
use crate::connect;
use crate::output::Output;
use crate::progress::watched;
use crate::render::{Render, Screen};

pub(super) fn export(options: &Options, output: Output, mut op: Export) -> Result<()> {
    op.worktree = worktree(options)?;
    op.events = with_events(options, op.events)?;
    let transfer = watched(output, || connect::client(options)?.call(&op))?;
    output.answer(&transfer)?;
    tell(output, &transfer.notes, transfer.conflicts);
    if transfer.drifted.is_empty() {
        return Ok(());
    }
    let files = transfer.drifted.join(", ");
    Err(Error::new(Code::Conflict, format!("not what an export would write: {files}"))
        .hint("pn export brings files and store together"))
}

pub(super) fn import(options: &Options, output: Output, mut op: Import) -> Result<()> {
    op.worktree = worktree(options)?;
    let transfer = watched(output, || connect::client(options)?.call(&op))?;
    output.answer(&transfer)?;
    tell(output, &transfer.notes, transfer.conflicts);
    Ok(())
}

/// What `pn conflicts repair` did.
#[derive(Debug, Serialize)]
struct RepairReport {
    files: Vec<String>,
    conflicts: usize,
}

impl Render for RepairReport {
    fn render(&self, screen: &mut Screen) {
        for file in &self.files {
            screen.plain("merged both sides of ").text(file).end();
        }
        if self.files.is_empty() {
            screen.plain("no file has conflict marks").end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.files.clone()
    }
}

/// Merges both sides of conflict marks, then imports the outcome.
pub(super) fn repair(options: &Options, output: Output) -> Result<()> {
    let worktree = worktree(options)?;
    let store = connect::with_limits(options, connect::store(options)?)?;
    let Repaired { files, conflicts } = repair_marks(&store, worktree.as_deref().map(Path::new))?;
    if files.is_empty() {
        return output.answer(&RepairReport { files, conflicts });
    }
    let transfer = watched(output, || connect::client(options)?.call(&Import { worktree, ..Import::default() }));
    output.answer(&RepairReport { files, conflicts })?;
    output.note("note: git add the files to go on with a merge that is not committed");
    match transfer {
        Ok(transfer) => tell(output, &transfer.notes, i64::try_from(conflicts).unwrap_or(i64::MAX)),
        // A server elsewhere has none of these files.
        Err(e) if e.code == Code::Unsupported => {}
        Err(e) => return Err(e),
    }
    Ok(())
}

fn tell(output: Output, notes: &[String], conflicts: i64) {
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

/// Whether the history of issues goes into a file too: only what is so is said.
pub(super) fn with_events(options: &Options, given: Option<bool>) -> Result<Option<bool>> {
    let wanted = match given {
        Some(given) => given,
        None => connect::config(options)?.is_on(&EXPORT_EVENTS)?,
    };
    Ok(wanted.then_some(true))
}

/// The linked worktree whose files are meant, if it is one.
pub(super) fn worktree(options: &Options) -> Result<Option<String>> {
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

/// Called by git with three versions of a file: leaves the merged one in place of ours.
///
/// A file that is not a store's, or has a line that cannot be read, is merged as git does by itself: our side alone,
/// without conflict marks, would pass for a merge.
pub(super) fn merge_driver(options: &Options, args: &MergeDriver) -> Result<()> {
    let done = if is_of_store(&args.path) { merge_records(options, args).map(Some) } else { Ok(None) };
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

/// Whether a path in a repository is that of a file which this version merges record by record.
fn is_of_store(path: &Path) -> bool {
    let is_in_store = path.parent().and_then(Path::file_name).is_some_and(|dir| dir == StoreDir::NAME);
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    is_in_store && (name == EVENTS_FILE || Collection::of_file(name).is_some())
}

/// Merges a store's file. What could not be kept of either side is noted for the import that follows.
fn merge_records(options: &Options, args: &MergeDriver) -> Result<()> {
    let name = args.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let read = |path: &Path| fs::read(path).map_err(|e| Error::invalid(format!("cannot read {}: {e}", path.display())));
    let [base, ours, theirs] = [read(&args.base)?, read(&args.ours)?, read(&args.theirs)?];
    let bytes = match Collection::of_file(name) {
        None => united(&args.path, &[&base, &ours, &theirs])?,
        Some(collection) => {
            let MergedFile { bytes, conflicts } = merge_files(collection, &args.path, [&base, &ours, &theirs])?;
            if !conflicts.is_empty() {
                leave_notes(options, &args.path, &conflicts)?;
            }
            bytes
        }
    };
    fs::write(&args.ours, bytes).map_err(|e| Error::internal(format!("cannot write {}: {e}", args.ours.display())))
}

/// Notes conflicts in the store that a file belongs to, if it is checked out, else in git's directory.
fn leave_notes(options: &Options, file: &Path, conflicts: &[Conflict]) -> Result<()> {
    // Git calls its drivers in the root of the work tree.
    let project = file.parent().and_then(Path::parent).unwrap_or(Path::new(""));
    let store = Some(connect::cwd()?.join(project));
    match connect::store(&Options { store, config: OnceCell::new(), ..options.clone() }) {
        Ok(store) => store.leave_driver_notes(conflicts),
        Err(_) => leave_driver_notes(project, conflicts),
    }
}

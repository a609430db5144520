//! `pn export`, `pn import` and the merge driver: between the store and the files that git carries.

use std::fs;
use std::path::Path;

use pensa_client::config::EXPORT_EVENTS;
use pensa_client::locate;
use pensa_core::ops::store::{Export, Import};
use pensa_core::sync::{Collection, EVENTS_FILE, MergedFile, merge_files, united};
use pensa_core::{Code, Error, Result};

use crate::cli::{MergeDriver, Options};
use crate::connect;
use crate::output::Output;
use crate::progress::watched;

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
/// What could not be kept of either side is noted beside the store, for the import that follows.
pub(super) fn merge_driver(options: &Options, args: &MergeDriver) -> Result<()> {
    let name = args.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let read = |path: &Path| fs::read(path).map_err(|e| Error::invalid(format!("cannot read {}: {e}", path.display())));
    let [base, ours, theirs] = [read(&args.base)?, read(&args.ours)?, read(&args.theirs)?];
    let replace = |bytes: Vec<u8>| {
        fs::write(&args.ours, bytes).map_err(|e| Error::internal(format!("cannot write {}: {e}", args.ours.display())))
    };
    if name == EVENTS_FILE {
        return replace(united(&args.path, &[&base, &ours, &theirs])?);
    }
    let collection = Collection::of_file(name).ok_or_else(|| {
        Error::new(Code::Unsupported, format!("{} is not a file that this version of pn merges", args.path.display()))
            .hint("update pn, or merge it by hand")
    })?;
    let MergedFile { bytes, conflicts } = merge_files(collection, &args.path, [&base, &ours, &theirs])?;
    if !conflicts.is_empty() {
        connect::store(options)?.leave_driver_notes(&conflicts)?;
    }
    replace(bytes)
}

//! `pn conflicts`: lists and resolves conflicts, and repairs files with git's conflict markers.

use std::path::Path;

use clap::{Args, Subcommand};
use pensa_core::ops::conflict;
use pensa_core::ops::store::Import;
use pensa_core::sync::Conflict;
use pensa_core::{Code, Result};
use pensa_engine::{Repaired, repair_marks};
use serde::Serialize;
use serde_json::Value;

use super::transfer::{print_notes, worktree};
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::progress::with_progress;
use crate::render::{Render, Screen};

/// List and resolve conflicts: fields that two clones changed, with the value that was not kept
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ConflictsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ConflictsCommand>,
    #[command(flatten)]
    pub(crate) op: conflict::List,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum ConflictsCommand {
    Resolve(conflict::Resolve),
    /// Merge both sides of git's conflict markers in the JSONL files, and import them
    Repair,
}

/// The result of `pn conflicts repair`.
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

/// Merges both sides of conflict markers, then imports the result.
pub(super) fn repair(options: &GlobalOptions, output: Output) -> Result<()> {
    let worktree = worktree(options)?;
    let store = connect::with_import_limit(options, connect::store(options)?)?;
    let Repaired { files, conflicts } = repair_marks(&store, worktree.as_deref().map(Path::new))?;
    if files.is_empty() {
        return output.answer(&RepairReport { files, conflicts });
    }
    let transfer = with_progress(output, || connect::client(options)?.call(&Import { worktree, ..Import::default() }));
    output.answer(&RepairReport { files, conflicts })?;
    output.note("note: git add the files to go on with a merge that is not committed");
    match transfer {
        Ok(transfer) => print_notes(output, &transfer.notes, i64::try_from(conflicts).unwrap_or(i64::MAX)),
        // A remote server does not have these files.
        Err(e) if e.code == Code::Unsupported => {}
        Err(e) => return Err(e),
    }
    Ok(())
}

impl Render for Conflict {
    fn render(&self, screen: &mut Screen) {
        let shown = |value: &Value| match value {
            Value::String(text) => text.clone(),
            Value::Null => "nothing".to_owned(),
            Value::Bool(true) => "deleted".to_owned(),
            Value::Object(record) => record.get("title").and_then(Value::as_str).unwrap_or("the record").to_owned(),
            other => other.to_string(),
        };
        screen.plain(self.id.as_str()).plain("  ").text(&self.record_id).plain("  ").text(&self.field);
        screen.plain(": kept ").text(&shown(&self.kept)).plain(", other ").text(&shown(&self.other)).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for Vec<Conflict> {
    fn render(&self, screen: &mut Screen) {
        for conflict in self {
            conflict.render(screen);
        }
        if !self.is_empty() {
            screen.plain("pn conflicts resolve ID --take kept|other settles one").end();
        } else {
            screen.footer(0, ["conflict", "conflicts"]);
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().flat_map(Render::ids).collect()
    }
}

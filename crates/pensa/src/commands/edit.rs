//! `pn edit`: opens an editor on an issue as a document, and applies what was changed.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use pensa_core::id::IssueRef;
use pensa_core::issue::{Issue, IssueDocument, Updated};
use pensa_core::ops::batch::{Batch, failed_operation};
use pensa_core::ops::issue::{Show, Update};
use pensa_core::{Code, Error, Op, Result, error};
use signal_hook::consts::{SIGINT, SIGQUIT};
use signal_hook::flag::register_conditional_default;
use tempfile::TempPath;

use super::{confirm, context};
use crate::cli::GlobalOptions;
use crate::connect::{self, StateLocation};
use crate::output::Output;

/// Edit an issue as a document in your editor
///
/// Runs $VISUAL, $EDITOR or vi, which may have arguments (code --wait). Only what you change is applied, all of it or
/// nothing, and nothing if the issue was changed in the meantime. A document that cannot be applied is kept.
#[derive(Debug, Args)]
pub(crate) struct EditArgs {
    /// Which issue
    #[arg(value_name = "ID")]
    id: IssueRef,
}

pub(super) fn run(options: &GlobalOptions, output: Output, args: &EditArgs) -> Result<()> {
    let editor = Editor::chosen()?;
    let issue = connect::client(options)?.call(&Show { id: args.id.clone() })?.issue;
    let draft = Draft::write(options, &issue)?;
    loop {
        editor.run(&draft.path).map_err(|e| draft.keep(e))?;
        let page = draft.read().map_err(|e| draft.keep(e))?;
        let is_unchanged = page == draft.written || page.trim().is_empty();
        let batch = if is_unchanged { Ok(None) } else { changes(&issue, &page) };
        let applied = batch.and_then(|batch| batch.map(|batch| apply(options, &batch)).transpose());
        match applied {
            Ok(Some(updated)) => {
                output.answer(&updated)?;
                context::refresh(options, output);
                return Ok(());
            }
            Ok(None) => {
                output.note("note: nothing was changed; an editor that returns at once needs a flag: code --wait");
                return output.answer(&Updated { issue, was_assigned_to: None, conflicts: Vec::new() });
            }
            Err(error) if error.code != Code::Conflict && confirm::is_interactive() => {
                output.error(&error);
                if !confirm::ask_yes("edit it again?") {
                    return Err(draft.keep(Error::invalid("the issue was not changed")));
                }
            }
            Err(error) => return Err(draft.keep(error)),
        }
    }
}

/// The document while it is edited, in a private file. It is removed when this is dropped, but not if this program is
/// killed.
struct Draft {
    path: TempPath,
    written: String,
}

impl Draft {
    fn write(options: &GlobalOptions, issue: &Issue) -> Result<Self> {
        let dir = StateLocation::of(options)?.private_dir("edit")?;
        let note = format!("{}, a {}. An empty value clears a field.", issue.id, issue.issue_type);
        let written = IssueDocument::of(issue).print(&note);
        let failed = |e: &std::io::Error| error::io("write", &dir, e);
        let named = tempfile::Builder::new().prefix(&format!("{}-", issue.id)).suffix(".md").tempfile_in(&dir);
        let mut file = named.map_err(|e| failed(&e))?;
        file.write_all(written.as_bytes()).map_err(|e| failed(&e))?;
        Ok(Self { path: file.into_temp_path(), written })
    }

    fn read(&self) -> Result<String> {
        let mut bytes = Vec::new();
        let file = File::open(&self.path).map_err(|e| error::io("read", &self.path, &e))?;
        file.take(Batch::MAX_BODY as u64 + 1).read_to_end(&mut bytes).map_err(|e| error::io("read", &self.path, &e))?;
        if bytes.len() > Batch::MAX_BODY {
            return Err(Error::new(Code::TooLarge, format!("the document has more than {} bytes", Batch::MAX_BODY)));
        }
        String::from_utf8(bytes).map_err(|_| Error::invalid("the document is not UTF-8"))
    }

    /// Keeps what was typed, and says where.
    fn keep(&self, error: Error) -> Error {
        let is_empty = std::fs::metadata(&self.path).is_ok_and(|file| file.len() == 0);
        if is_empty || self.read().is_ok_and(|page| page == self.written) || !self.path.exists() {
            return error;
        }
        // The file is removed with this value: what is kept is another name of it.
        let kept = self.path.with_extension("kept.md");
        match std::fs::rename(&self.path, &kept) {
            Ok(()) => {
                let before = error.hint.clone().map(|hint| format!("{hint}; ")).unwrap_or_default();
                error.hint(format!("{before}what you wrote is in {}", kept.display()))
            }
            Err(e) => error::io("keep what was written in", &self.path, &e),
        }
    }
}

/// The user's editor.
struct Editor {
    program: String,
    args: Vec<String>,
    /// While it is false, signals of the keyboard are for the editor alone.
    has_ended: Arc<AtomicBool>,
}

impl Editor {
    /// The editor that the environment names.
    fn chosen() -> Result<Self> {
        let given = ["VISUAL", "EDITOR"].into_iter().filter_map(connect::env_var);
        let given = given.filter_map(|value| value.into_string().ok()).find(|value| !value.trim().is_empty());
        let command = given.unwrap_or_else(|| "vi".to_owned());
        let words = shlex::split(&command).unwrap_or_default();
        let Some((program, args)) = words.split_first() else {
            let error = Error::invalid(format!("not a command: {command:?}"));
            return Err(error.hint("VISUAL and EDITOR name a program with its arguments"));
        };
        let has_ended = Arc::new(AtomicBool::new(true));
        for signal in [SIGINT, SIGQUIT] {
            register_conditional_default(signal, has_ended.clone()).map_err(Error::internal)?;
        }
        Ok(Self { program: program.clone(), args: args.to_vec(), has_ended })
    }

    /// Runs the editor until it ends.
    fn run(&self, path: &Path) -> Result<()> {
        self.has_ended.store(false, Ordering::SeqCst);
        let status = Command::new(&self.program).args(&self.args).arg(path).status();
        self.has_ended.store(true, Ordering::SeqCst);
        let status = status.map_err(|e| {
            let code = if e.kind() == std::io::ErrorKind::NotFound { Code::NotFound } else { Code::InvalidInput };
            let error = Error::new(code, format!("cannot start the editor {:?}: {e}", self.program));
            error.hint("set EDITOR to the one you use")
        })?;
        let why = match (status.code(), status.signal()) {
            (Some(0), _) => return Ok(()),
            (Some(code), _) => format!("ended with exit code {code}"),
            (None, signal) => format!("was killed by signal {}", signal.unwrap_or_default()),
        };
        Err(Error::invalid(format!("the editor {:?} {why}; nothing was changed", self.program)))
    }
}

/// The operations that turn an issue into the edited document if it is still as it was; `None` if it already is the same.
fn changes(issue: &Issue, page: &str) -> Result<Option<Batch>> {
    let (update, ticks) = IssueDocument::parse(page)?.changes(issue)?;
    if update.is_empty() && ticks.is_empty() {
        return Ok(None);
    }
    let mut batch = Batch::default();
    batch.push(&Update { if_updated_at: Some(issue.updated_at), ..update })?;
    ticks.iter().try_for_each(|tick| batch.push(tick))?;
    Ok(Some(batch))
}

fn apply(options: &GlobalOptions, batch: &Batch) -> Result<Updated> {
    let results = connect::client(options)?.call(batch);
    let results = results.map_err(|error| failed_operation(&error).map_or(error, |(_, bare)| bare))?;
    let last = results.into_iter().last().ok_or_else(|| Error::internal("the change has no answer"))?;
    serde_json::from_value(last).map_err(Error::internal)
}

//! `pn hooks`: manages git hooks, and runs them when git calls. `pensa_host::hooks` installs them.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::time::Duration;
use std::{process, thread};

use clap::{Args, Subcommand};
use pensa_client::memory;
use pensa_core::ops::store::{Export, Import, Transfer};
use pensa_core::{Code, Error, Result, text};
use pensa_engine::{SYSTEM, StoreDir};
use pensa_host::hooks::{self, Hook, HookState, HooksReport};

use super::transfer;
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum HooksCommand {
    Install(HooksInstallArgs),
    /// Show which hooks are installed, and whether git merges JSONL files with pn
    Status,
    /// Remove the hooks and the merge driver; hooks of other tools are restored
    Remove,
    Run(HooksRunArgs),
}

/// Install the hooks and the merge driver in this repository; hooks of other tools keep working
///
/// pre-commit exports issues into the commit; post-merge, post-checkout and post-rewrite import them. Git merges the
/// JSONL files with pn: .gitattributes enables that for every clone, git's configuration for this one.
#[derive(Debug, Args)]
pub(crate) struct HooksInstallArgs {
    /// Write the hooks as entries into .pre-commit-config.yaml, for prek or pre-commit
    #[arg(long)]
    pub(crate) prek: bool,
}

/// Run a hook; called by git
///
/// Never prompts, and ends after --limit seconds.
#[derive(Debug, Args)]
#[command(hide = true)]
pub(crate) struct HooksRunArgs {
    /// pre-commit, post-merge, post-checkout or post-rewrite
    #[arg(value_name = "HOOK")]
    pub(crate) hook: Hook,
    /// The time limit in seconds
    #[arg(long, default_value_t = 30, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) limit: u64,
}

pub(super) fn run(options: &GlobalOptions, output: Output, command: &HooksCommand) -> Result<()> {
    let report = match command {
        HooksCommand::Run(args) => return run_hook(options, args),
        HooksCommand::Install(HooksInstallArgs { prek: true }) => repository_hooks(options)?.install_prek()?,
        HooksCommand::Install(HooksInstallArgs { prek: false }) => repository_hooks(options)?.install()?,
        HooksCommand::Status => repository_hooks(options)?.status()?,
        HooksCommand::Remove => repository_hooks(options)?.remove()?,
    };
    show(output, &report)
}

fn show(output: Output, report: &HooksReport) -> Result<()> {
    output.answer(report)?;
    report.notes.iter().for_each(|note| output.note(note));
    Ok(())
}

/// The hooks of the repository that contains the project's store.
fn repository_hooks(options: &GlobalOptions) -> Result<hooks::Hooks> {
    hooks::Hooks::of(connect::store(options)?.project_dir(), &connect::cwd()?)
}

/// Runs a hook. Only a failing export fails: the other hooks run when git has already done its part.
fn run_hook(options: &GlobalOptions, args: &HooksRunArgs) -> Result<()> {
    let (hook, limit) = (args.hook, args.limit);
    exit_after(Duration::from_secs(limit), hook);
    let top = connect::cwd()?.join(options.store.as_deref().unwrap_or(Path::new(".")));
    if hook == Hook::PreCommit {
        refuse_private_files(&top.join(StoreDir::NAME))?;
    }
    // The branch may be older than the store.
    if !has_store(&top.join(StoreDir::NAME)) {
        return Ok(());
    }
    let done = match hook {
        Hook::PreCommit => export(options, &top),
        Hook::PostMerge | Hook::PostRewrite | Hook::PostCheckout => import(options),
    };
    // A failure here is reported by pn doctor.
    let _ = connect::cwd().and_then(|top| hooks::configure_driver_if_named(&top));
    match (done, hook) {
        (Ok(()), _) => Ok(()),
        (Err(e), Hook::PreCommit) => Err(with_commit_hint(e)),
        (Err(e), _) => {
            print_line(&format!("pensa: issues were not imported: {}", e.message));
            print_line(&format!("pensa: {}; pn import tries again", e.hint.as_deref().unwrap_or("put that right")));
            Ok(())
        }
    }
}

/// The most files that an error names.
const MAX_NAMED_FILES: usize = 5;

/// Refuses a commit that would publish files of this machine: sessions, journal, tokens.
fn refuse_private_files(store: &Path) -> Result<()> {
    let staged = hooks::staged_private_files(store)?;
    if staged.is_empty() {
        return Ok(());
    }
    let more = if staged.len() > MAX_NAMED_FILES {
        format!(" and {} more", staged.len() - MAX_NAMED_FILES)
    } else {
        String::new()
    };
    let named = staged.iter().take(MAX_NAMED_FILES).map(String::as_str).collect::<Vec<_>>().join(", ");
    // One path unstages a whole directory.
    let to_unstage: BTreeSet<&str> = staged
        .iter()
        .map(|path| path.find("/local/").map_or(path.as_str(), |at| &path[..at + "/local".len()]))
        .take(MAX_NAMED_FILES)
        .collect();
    let to_unstage = to_unstage.into_iter().collect::<Vec<_>>().join(" ");
    let message = format!("the commit was stopped: it has files that belong to this machine only: {named}{more}");
    Err(Error::new(Code::Forbidden, message).hint(format!(
        "git rm -r --cached -- {to_unstage} takes them out of the commit and leaves them on the disk; pn doctor shows \
         which rule lets git see them"
    )))
}

fn has_store(dir: &Path) -> bool {
    dir.join("config.toml").exists() || !pensa_git::jsonl_files(dir).is_empty()
}

/// Exits after a time limit, whatever the process waits for. An uncommitted transaction is rolled back.
fn exit_after(limit: Duration, hook: Hook) {
    thread::spawn(move || {
        thread::sleep(limit);
        let seconds = limit.as_secs();
        if hook == Hook::PreCommit {
            print_line(&format!("pensa: gave up after {seconds} s; pn export shows more, {WITHOUT_EXPORT}"));
            process::exit(1);
        }
        print_line(&format!("pensa: gave up after {seconds} s: issues were not imported; pn import tries again"));
        process::exit(0);
    });
}

const WITHOUT_EXPORT: &str = "git commit --no-verify commits without an export";

fn print_line(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}", text::printable_block(line));
}

fn with_commit_hint(e: Error) -> Error {
    let hint = match &e.hint {
        Some(hint) => format!("{hint}; then commit again ({WITHOUT_EXPORT})"),
        None => format!("pn export shows more; then commit again ({WITHOUT_EXPORT})"),
    };
    Error { hint: Some(hint), ..e }.within("the commit was stopped because issues could not be exported")
}

fn export(options: &GlobalOptions, top: &Path) -> Result<()> {
    let by_server = connect::server(options)?.is_some();
    let events = transfer::with_events(options, None)?;
    // A server knows nothing of this commit, so we stage the files ourselves.
    let op = Export { worktree: transfer::worktree(options)?, events, no_stage: by_server, ..Export::default() };
    // A commit must not fail because git cannot tell its renames.
    let _ = follow_renames(options, top);
    match connect::client(options)?.call(&op) {
        Ok(transfer) => print_notes(&transfer),
        Err(e) if by_server && e.code == Code::Unsupported => {
            print_line(&format!("pensa: nothing to export with this commit: {}", e.message));
            return Ok(());
        }
        Err(e) => return Err(e),
    }
    let dir = top.join(StoreDir::NAME);
    if by_server {
        pensa_git::stage(top, &pensa_git::jsonl_files(&dir))?;
    }
    Ok(())
}

/// Has learnings follow the files that the commit renames, so that it contains the new paths too.
fn follow_renames(options: &GlobalOptions, top: &Path) -> Result<usize> {
    // As with imports, it is not the user's change.
    let options = &GlobalOptions { actor: Some(SYSTEM.to_owned()), config: OnceCell::new(), ..options.clone() };
    memory::follow_staged_renames(&connect::client(options)?, top)
}

/// Imports; unchanged files cost almost nothing.
fn import(options: &GlobalOptions) -> Result<()> {
    // Changes that git brought are not the user's: `pn undo` must not undo them next.
    let options = &GlobalOptions { actor: Some(SYSTEM.to_owned()), config: OnceCell::new(), ..options.clone() };
    let by_server = connect::server(options)?.is_some();
    let op = Import { worktree: transfer::worktree(options)?, ..Import::default() };
    match connect::client(options)?.call(&op) {
        Err(e) if by_server && e.code == Code::Unsupported => Ok(()),
        Err(e) => Err(e),
        Ok(transfer) => {
            print_notes(&transfer);
            Ok(())
        }
    }
}

fn print_notes(transfer: &Transfer) {
    for note in &transfer.notes {
        print_line(&format!("pensa: {note}"));
    }
    if transfer.conflicts > 0 {
        let many = transfer.conflicts;
        let places = if many == 1 { "one place".to_owned() } else { format!("{many} places") };
        print_line(&format!("pensa: both sides changed the same in {places}; pn conflicts shows what was not kept"));
    }
}

impl Render for HooksReport {
    fn render(&self, screen: &mut Screen) {
        for hook in &self.hooks {
            let state = match hook.state {
                HookState::Installed if self.prek => "installed by prek or pre-commit",
                HookState::Installed => "installed",
                HookState::Outdated => "not up to date",
                HookState::Missing => "missing",
                HookState::Overwritten => "overwritten by another tool",
                HookState::Foreign => "another tool's",
            };
            screen.plain(&format!("{:<14} {state}", hook.name.name())).end();
        }
        let state = match (self.merge_driver, self.gitattributes) {
            (true, true) => "installed",
            (true, false) => "not named in .gitattributes",
            (false, true) => "named in .gitattributes, but not configured",
            (false, false) => "missing",
        };
        screen.plain(&format!("{:<14} {state}", "merge driver")).end();
        for what in &self.changed {
            screen.plain("changed ").text(what).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.changed.clone()
    }
}

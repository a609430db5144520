//! `pn hooks`, and what the hooks do when git calls them. Installing them is the host's business.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process;
use std::thread;
use std::time::Duration;

use pensa_core::ops::store::{Export, Import, Transfer};
use pensa_core::{Code, Error, Result, text};
use pensa_engine::{SYSTEM, StoreDir};
use pensa_host::hooks::{self, Hook, HookState, HooksReport};

use super::transfer;
use crate::cli::{Hooks, HooksInstall, HooksRun, Options};
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

pub(super) fn run(options: &Options, output: Output, command: &Hooks) -> Result<()> {
    let report = match command {
        Hooks::Run(args) => return called_by_git(options, args),
        Hooks::Install(HooksInstall { prek: true }) => here(options)?.install_prek()?,
        Hooks::Install(HooksInstall { prek: false }) => here(options)?.install()?,
        Hooks::Status => here(options)?.status()?,
        Hooks::Remove => here(options)?.remove()?,
    };
    show(output, &report)
}

fn show(output: Output, report: &HooksReport) -> Result<()> {
    output.answer(report)?;
    report.notes.iter().for_each(|note| output.note(note));
    Ok(())
}

/// The hooks of the repository in which the store is that is meant here.
fn here(options: &Options) -> Result<hooks::Hooks> {
    hooks::Hooks::of(connect::store(options)?.project_dir(), &connect::cwd()?)
}

/// What a hook does. Only a failing export fails: git can't take back what the other hooks come after.
fn called_by_git(options: &Options, args: &HooksRun) -> Result<()> {
    let (hook, limit) = (args.hook, args.limit);
    give_up_after(Duration::from_secs(limit), hook);
    let top = connect::cwd()?.join(options.store.as_deref().unwrap_or(Path::new(".")));
    if hook == Hook::PreCommit {
        refuse_private_files(&top.join(StoreDir::NAME))?;
    }
    // A branch from before there was a store.
    if !has_store(&top.join(StoreDir::NAME)) {
        return Ok(());
    }
    let done = match hook {
        Hook::PreCommit => export(options, &top),
        Hook::PostMerge | Hook::PostRewrite | Hook::PostCheckout => import(options),
    };
    // Best told by pn doctor if it fails.
    let _ = connect::cwd().and_then(|top| hooks::configure_driver_if_named(&top));
    match (done, hook) {
        (Ok(()), _) => Ok(()),
        (Err(e), Hook::PreCommit) => Err(blocking(e)),
        (Err(e), _) => {
            tell(&format!("pensa: issues were not imported: {}", e.message));
            tell(&format!("pensa: {}; pn import tries again", e.hint.as_deref().unwrap_or("put that right")));
            Ok(())
        }
    }
}

/// Most files that an error names.
const NAMED: usize = 5;

/// Refuses a commit that would publish what belongs to this machine: sessions, journal, tokens.
fn refuse_private_files(store: &Path) -> Result<()> {
    let staged = hooks::staged_private_files(store)?;
    if staged.is_empty() {
        return Ok(());
    }
    let more = if staged.len() > NAMED { format!(" and {} more", staged.len() - NAMED) } else { String::new() };
    let named = staged.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    // One name stands for all of a directory.
    let to_unstage: BTreeSet<&str> = staged
        .iter()
        .map(|path| path.find("/local/").map_or(path.as_str(), |at| &path[..at + "/local".len()]))
        .take(NAMED)
        .collect();
    let to_unstage = to_unstage.into_iter().collect::<Vec<_>>().join(" ");
    let message = format!("the commit was stopped: it has files that belong to this machine only: {named}{more}");
    Err(Error::new(Code::Forbidden, message).hint(format!(
        "git rm -r --cached -- {to_unstage} takes them out of the commit and leaves them on the disk; pn doctor tells \
         which rule lets git see them"
    )))
}

fn has_store(dir: &Path) -> bool {
    dir.join("config.toml").exists() || !pensa_git::jsonl_files(dir).is_empty()
}

/// Ends the process when it takes too long, whatever it waits for. What was not committed by then did not happen.
fn give_up_after(limit: Duration, hook: Hook) {
    thread::spawn(move || {
        thread::sleep(limit);
        let seconds = limit.as_secs();
        if hook == Hook::PreCommit {
            tell(&format!("pensa: gave up after {seconds} s; pn export tells more, {WITHOUT_EXPORT}"));
            process::exit(1);
        }
        tell(&format!("pensa: gave up after {seconds} s: issues were not imported; pn import tries again"));
        process::exit(0);
    });
}

const WITHOUT_EXPORT: &str = "git commit --no-verify commits without an export";

fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}", text::printable_block(line));
}

fn blocking(e: Error) -> Error {
    let hint = match &e.hint {
        Some(hint) => format!("{hint}; then commit again ({WITHOUT_EXPORT})"),
        None => format!("pn export tells more; then commit again ({WITHOUT_EXPORT})"),
    };
    Error { hint: Some(hint), ..e }.within("the commit was stopped because issues could not be exported")
}

fn export(options: &Options, top: &Path) -> Result<()> {
    let by_server = connect::server(options)?.is_some();
    let events = transfer::with_events(options, None)?;
    // A server knows nothing of the commit that is being made, and its index is ours to fill.
    let op = Export { worktree: transfer::worktree(options)?, events, no_stage: by_server, ..Export::default() };
    match connect::client(options)?.call(&op) {
        Ok(transfer) => tell_all(&transfer),
        Err(e) if by_server && e.code == Code::Unsupported => {
            tell(&format!("pensa: nothing to export with this commit: {}", e.message));
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

/// Imports. Files that are as they were cost next to nothing.
fn import(options: &Options) -> Result<()> {
    // What git brought is nobody's doing here, and not the next thing to undo.
    let options = &Options { actor: Some(SYSTEM.to_owned()), config: OnceCell::new(), ..options.clone() };
    let by_server = connect::server(options)?.is_some();
    let op = Import { worktree: transfer::worktree(options)?, ..Import::default() };
    match connect::client(options)?.call(&op) {
        Err(e) if by_server && e.code == Code::Unsupported => Ok(()),
        Err(e) => Err(e),
        Ok(transfer) => {
            tell_all(&transfer);
            Ok(())
        }
    }
}

fn tell_all(transfer: &Transfer) {
    for note in &transfer.notes {
        tell(&format!("pensa: {note}"));
    }
    if transfer.conflicts > 0 {
        let many = transfer.conflicts;
        let places = if many == 1 { "one place".to_owned() } else { format!("{many} places") };
        tell(&format!("pensa: both sides changed the same in {places}; pn conflicts shows what was not kept"));
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

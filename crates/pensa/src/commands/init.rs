//! `pn init`: creates a store and offers to install the git hooks.

use std::path::PathBuf;

use clap::Args;
use pensa_client::locate;
use pensa_core::{Code, Result};
use pensa_host::hooks::Hooks;
use serde::Serialize;

use super::confirm;
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

/// Create a store for this project
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// A directory of the project [default: the current one]
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Install the git hooks too, without asking (see pn hooks)
    #[arg(long)]
    pub(crate) hooks: bool,
    /// Install no git hooks, without asking
    #[arg(long, conflicts_with = "hooks")]
    pub(crate) no_hooks: bool,
}

#[derive(Debug, Serialize)]
struct Initialised {
    path: String,
    store_id: String,
    created: bool,
    /// Whether the git hooks are installed
    hooks: bool,
}

pub(super) fn run(options: &GlobalOptions, args: &InitArgs, output: Output) -> Result<()> {
    let cwd = connect::cwd()?;
    let dir = args.dir.as_ref().map_or_else(|| cwd.clone(), |dir| cwd.join(dir));
    if args.hooks {
        pensa_git::require_work_tree(&dir)?;
    }
    let (store, created) = connect::create_store(&locate::new_store_root(&dir))?;
    let engine = connect::open_engine(options, store.clone())?;
    let hooks = match Hooks::of(store.project_dir(), &dir) {
        Err(e) if e.code == Code::NoRepo && !args.hooks => false,
        other => offer(&other?, options, args, output)?,
    };
    output.answer(&Initialised {
        path: engine.location().display_name(),
        store_id: engine.location().id()?,
        created,
        hooks,
    })
}

/// Installs the hooks if the user agrees. Returns whether they are installed.
fn offer(hooks: &Hooks, options: &GlobalOptions, args: &InitArgs, output: Output) -> Result<bool> {
    if args.hooks {
        return hooks.install().map(|report| report.is_complete());
    }
    // Errors count only with --hooks.
    let Ok(status) = hooks.status() else { return Ok(false) };
    if args.no_hooks || status.is_complete() {
        return Ok(status.is_complete());
    }
    if options.json || options.quiet || !confirm::is_interactive() {
        output.note("hint: pn hooks install has git carry the issues with every commit, merge and checkout");
        return Ok(false);
    }
    if !confirm::ask_yes("install git hooks, so that every commit, merge and checkout carries the issues?") {
        return Ok(false);
    }
    match hooks.install() {
        Ok(report) => {
            report.notes.iter().for_each(|note| output.note(note));
            Ok(report.is_complete())
        }
        Err(e) => {
            output.note(&format!("the hooks were not installed: {}", e.message));
            Ok(false)
        }
    }
}

impl Render for Initialised {
    fn render(&self, screen: &mut Screen) {
        let what = if self.created { "made a store in" } else { "there is a store already in" };
        screen.plain(what).plain(" ").text(&self.path).end();
        if self.created {
            screen.plain("next: pn create \"what is to be done\" -t task, then pn ready").end();
            screen.plain("commit .pensa: clones of the project share its issues").end();
        }
        if self.hooks {
            screen.plain("git hooks are installed").end();
        }
    }

    fn ids(&self) -> Vec<String> {
        vec![self.store_id.clone()]
    }
}

//! `pn prime`: prints what an agent needs at its start. The hooks of agents show the same text.

use std::path::Path;

use clap::Args;
use pensa_client::Client;
use pensa_core::Result;
use pensa_core::learning::recall::Hit;
use pensa_core::ops::briefing::Brief;
use pensa_core::ops::learning::Recall;
use pensa_core::ops::work::Current;
use pensa_core::prime::{Budget, DEFAULT_TOKENS, Prime};
use pensa_core::recall::Recalled;
use pensa_host::setup::AgentSoftware;

use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

/// The most changed files that learnings are looked up for.
const MAX_FILES: usize = 20;
/// The most learnings about them.
const MAX_HITS: u32 = 5;

/// Print what an agent needs at its start: how to use pn, its work, claims, queue, and learnings
///
/// pn context prints the state alone. Hooks that pn setup installs show this text once a session.
#[derive(Debug, Args)]
pub(crate) struct PrimeArgs {
    /// The agent's software: claude, codex, cursor …; pn setup lists them
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// At most so many tokens, at four bytes each [default: 1000]
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u32>,
}

pub(super) fn run(options: &GlobalOptions, output: Output, args: &PrimeArgs) -> Result<()> {
    args.agent.as_deref().map(AgentSoftware::find).transpose()?;
    let prime = prime(&connect::client(options)?, &connect::cwd()?, args.max_tokens)?;
    output.answer(&prime)
}

/// Usage and state for the actor of a client.
pub(super) fn prime(client: &Client, dir: &Path, max_tokens: Option<u32>) -> Result<Prime> {
    let budget = Budget::new(max_tokens)?;
    let brief = Brief { max_tokens: Some(budget.state()), who: Some(client.actor()), ..Brief::default() };
    Prime::new(budget, client.call(&brief)?, &about_changed_files(client, dir)?)
}

/// Work and claims only, for an agent that knows the rest.
pub(super) fn work_only(client: &Client) -> Result<Prime> {
    let brief = Brief { max_tokens: Some(DEFAULT_TOKENS / 2), who: Some(client.actor()), ..Brief::default() };
    let work = client.call(&Current { actor: client.actor(), issue: None })?;
    Ok(Prime::work_only(work.as_ref(), client.call(&brief)?))
}

/// Learnings about the files that are changed in the work tree.
fn about_changed_files(client: &Client, dir: &Path) -> Result<Vec<Hit>> {
    let files = pensa_git::changed_files(dir, MAX_FILES);
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let hits = client.call(&Recall { files, limit: Some(MAX_HITS), ..Recall::learnings() })?;
    Ok(hits.into_iter().filter_map(Recalled::into_learning).collect())
}

impl Render for Prime {
    fn render(&self, screen: &mut Screen) {
        screen.plain(&pensa_core::text::printable_block(&self.text()));
    }

    fn ids(&self) -> Vec<String> {
        Render::ids(&self.state)
    }
}

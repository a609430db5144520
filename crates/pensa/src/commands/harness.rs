//! `pn harness` and `pn runtime`: describes the agent software and the runtime environments of runs.

use clap::{Args, Subcommand};
use pensa_core::ops::run;
use pensa_core::run::{Harness, Runtime};
use pensa_core::session::{Object, object};
use pensa_core::{Result, json};

use super::agent::run_agent_op;
use super::stdin;
use crate::cli::GlobalOptions;
use crate::output::Output;
use crate::render::{Render, Screen, list_item, shorten};

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum HarnessCommand {
    List(run::Harnesses),
    Set(HarnessSetArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  pn harness set claude-code@2.1 --metadata '{\"context\":200000,\"vision\":true}'")]
pub(crate) struct HarnessSetArgs {
    #[command(flatten)]
    pub(crate) op: run::SetHarness,
    /// A JSON object of your own; null removes it, - reads standard input
    #[arg(long, value_name = "JSON")]
    pub(crate) metadata: String,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum RuntimeCommand {
    List(run::Runtimes),
    Set(RuntimeSetArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  pn runtime set rt-1a2b --metadata '{\"image\":\"debian:12\"}'")]
pub(crate) struct RuntimeSetArgs {
    #[command(flatten)]
    pub(crate) op: run::SetRuntime,
    /// A JSON object of your own; null removes it, - reads standard input
    #[arg(long, value_name = "JSON")]
    pub(crate) metadata: String,
}

pub(super) fn harness(options: &GlobalOptions, output: Output, command: HarnessCommand) -> Result<()> {
    match command {
        HarnessCommand::List(op) => run_agent_op(options, output, &op),
        HarnessCommand::Set(HarnessSetArgs { mut op, mut metadata }) => {
            stdin::replace(&mut metadata)?;
            op.metadata = object::parse_optional("metadata", &metadata)?;
            run_agent_op(options, output, &op)
        }
    }
}

pub(super) fn runtime(options: &GlobalOptions, output: Output, command: RuntimeCommand) -> Result<()> {
    match command {
        RuntimeCommand::List(op) => run_agent_op(options, output, &op),
        RuntimeCommand::Set(RuntimeSetArgs { mut op, mut metadata }) => {
            stdin::replace(&mut metadata)?;
            op.metadata = object::parse_optional("metadata", &metadata)?;
            run_agent_op(options, output, &op)
        }
    }
}

fn metadata(object: Option<&Object>, screen: &mut Screen) {
    if let Some(object) = object {
        screen.plain(" ").faint(&shorten(&json::to_line(object).unwrap_or_default()));
    }
    screen.end();
}

impl Render for Harness {
    fn render(&self, screen: &mut Screen) {
        screen.id(&self.id).plain(" ").text(&format!("{}@{}", self.name, self.version));
        metadata(self.metadata.as_ref(), screen);
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

list_item!(Harness, "harness", "harnesses");

impl Render for Runtime {
    fn render(&self, screen: &mut Screen) {
        screen.id(&self.id).plain(" ").text(&self.kind);
        screen.plain(" ").text(self.devcontainer_path.as_deref().unwrap_or_default());
        metadata(self.metadata.as_ref(), screen);
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

list_item!(Runtime, "runtime", "runtimes");

//! `pn kv`: reads and writes small values.

use clap::Subcommand;
use pensa_core::Result;
use pensa_core::kv::KvPair;
use pensa_core::ops::kv::{self, Deleted};

use super::agent::run_agent_op;
use super::stdin;
use crate::cli::GlobalOptions;
use crate::output::Output;
use crate::render::{ListItem, Render, Screen, shorten};

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum KvCommand {
    Get(kv::Get),
    Set(kv::Set),
    List(kv::List),
    Delete(kv::Delete),
}

pub(super) fn run(options: &GlobalOptions, output: Output, command: KvCommand) -> Result<()> {
    match command {
        KvCommand::Get(op) => run_agent_op(options, output, &op),
        KvCommand::Set(mut op) => {
            stdin::replace(&mut op.value)?;
            run_agent_op(options, output, &op)
        }
        KvCommand::List(op) => run_agent_op(options, output, &op),
        KvCommand::Delete(op) => run_agent_op(options, output, &op),
    }
}

impl Render for KvPair {
    fn render(&self, screen: &mut Screen) {
        for line in pensa_core::text::printable_block(&self.value).split('\n') {
            screen.plain(line).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        vec![self.key.clone()]
    }
}

impl ListItem for KvPair {
    const NOUN: [&str; 2] = ["value", "values"];

    fn render_item(&self, screen: &mut Screen) {
        screen.faint(&self.scope).plain(" ").text(&self.key).plain(" ").text(&shorten(&self.value)).end();
    }

    fn item_ids(&self) -> Vec<String> {
        vec![self.key.clone()]
    }
}

impl Render for Deleted {
    fn render(&self, screen: &mut Screen) {
        screen.plain("deleted ").text(&self.key).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.key.clone()]
    }
}

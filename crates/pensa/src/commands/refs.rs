//! `pn ref`: where else an issue is known.

use clap::Subcommand;
use pensa_core::Result;
use pensa_core::ops::refs::{self, Ref};

use super::pass_on;
use crate::cli::Options;
use crate::output::Output;
use crate::render::{Render, Screen, list};

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Refs {
    Add(refs::Add),
    List(refs::List),
    Remove(refs::Remove),
}

pub(super) fn run(options: &Options, output: Output, command: &Refs) -> Result<()> {
    match command {
        Refs::Add(op) => pass_on(options, output, op),
        Refs::List(op) => pass_on(options, output, op),
        Refs::Remove(op) => pass_on(options, output, op),
    }
}

impl Render for Ref {
    fn render(&self, screen: &mut Screen) {
        screen.id(&self.of.id).plain(" ").text(&self.target);
        screen.plain(" ").text(self.title.as_deref().unwrap_or_default()).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.of.id.to_string()]
    }
}

list!(Ref);

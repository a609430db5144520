//! `pn man`: prints or writes manual pages.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Command, CommandFactory};
use clap_mangen::Man as Page;
use pensa_core::{Error, Result};

use crate::cli::Cli;
use crate::output::Output;

/// Print the manual page of pn or of one of its commands
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The command, such as: dep add
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// Write every page into this directory instead
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub(crate) dir: Option<PathBuf>,
}

pub(super) fn run(args: &ManArgs, output: Output) -> Result<()> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    if let Some(dir) = &args.dir {
        std::fs::create_dir_all(dir).map_err(failed)?;
        clap_mangen::generate_to(command, dir).map_err(failed)?;
        output.note(&format!("wrote the pages into {}", dir.display()));
        return Ok(());
    }
    let chosen = args.command.iter().try_fold(&command, |at, name| find(at, name))?;
    let mut page = Vec::new();
    Page::new(chosen.clone()).render(&mut page).map_err(failed)?;
    match std::io::stdout().write_all(&page) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(failed(e)),
        _ => Ok(()),
    }
}

fn find<'a>(command: &'a Command, name: &str) -> Result<&'a Command> {
    command.find_subcommand(name).ok_or_else(|| Error::not_found("command", name).hint("pn help lists the commands"))
}

fn failed(e: std::io::Error) -> Error {
    Error::internal(format!("cannot write the manual: {e}"))
}

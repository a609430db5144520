//! `pn man`.

use std::io::Write;

use clap::{Command, CommandFactory};
use clap_mangen::Man as Page;
use pensa_core::{Error, Result};

use crate::cli::{Cli, Man};
use crate::output::Output;

pub(super) fn run(args: &Man, output: Output) -> Result<()> {
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

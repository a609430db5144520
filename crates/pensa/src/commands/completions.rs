//! `pn completions`, and the ids that are offered while a command line is typed.

use std::ffi::OsStr;

use clap::{Arg, Command, Parser};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;
use pensa_core::ops::issue::List;
use pensa_core::{Error, Result, text};

use crate::cli::{Cli, Completions};
use crate::connect;

/// Most ids that are offered at once.
const MAX_OFFERED: usize = 100;

pub(super) fn run(args: &Completions) -> Result<()> {
    let shells = Shells::builtins();
    let shell = shells.completer(&args.shell).ok_or_else(|| {
        let known: Vec<&str> = shells.names().collect();
        Error::invalid(format!("unknown shell: {:?}", args.shell)).hint(format!("one of {}", known.join(", ")))
    })?;
    let mut script = Vec::new();
    let failed = |e: std::io::Error| Error::internal(format!("cannot print the script: {e}"));
    shell.write_registration("COMPLETE", "pn", "pn", "pn", &mut script).map_err(failed)?;
    match std::io::Write::write_all(&mut std::io::stdout(), &script) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(failed(e)),
        _ => Ok(()),
    }
}

/// The command line with ids offered wherever an issue is expected.
pub(crate) fn with_live_ids(command: Command) -> Command {
    let command = command.mut_args(|arg| if names_an_issue(&arg) { arg.add(ArgValueCompleter::new(ids)) } else { arg });
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, with_live_ids))
}

fn names_an_issue(arg: &Arg) -> bool {
    let names = arg.get_value_names().unwrap_or_default();
    names.iter().any(|name| ["ID", "CHILD", "PARENT"].contains(&name.as_str()))
}

/// Ids of the store that start with what was typed; none if there is no store to ask.
fn ids(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let Ok(Cli { options, .. }) = Cli::try_parse_from(["pn"]) else {
        return Vec::new();
    };
    let Ok(issues) = connect::client(&options).and_then(|client| client.call(&List::default())) else {
        return Vec::new();
    };
    issues
        .into_iter()
        .filter(|issue| issue.id.as_str().starts_with(&*typed))
        .take(MAX_OFFERED)
        .map(|issue| CompletionCandidate::new(issue.id.as_str()).help(Some(text::printable_line(&issue.title).into())))
        .collect()
}

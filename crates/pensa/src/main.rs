//! The program `pn`: parses the command line, runs one command, and prints its answer.
//!
//! Start with `cli.rs` (arguments) and `commands/mod.rs` (the list of commands and what each runs). `connect.rs` finds the
//! store or server, `render` prints answers for people.

mod cli;
mod commands;
mod connect;
mod draw;
mod output;
mod progress;
mod render;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, FromArgMatches};
use clap_complete::CompleteEnv;
use pensa_core::{Error, VERSION, text};

use cli::{Cli, GlobalOptions};
use output::Output;

fn main() -> ExitCode {
    if std::env::var_os("COMPLETE").is_some() {
        CompleteEnv::with_factory(|| commands::completions::with_live_ids(cli::whole())).complete();
    }
    let cli = match parse() {
        Ok(cli) => cli,
        Err(usage) => {
            let code = print_usage_error(&usage);
            let args: Vec<OsString> = std::env::args_os().collect();
            return if commands::hook::is_called(&args) { ExitCode::SUCCESS } else { code };
        }
    };
    let options = &cli.options;
    if !options.json && !options.quiet {
        render::detect(options.absolute, || if options.no_pager { None } else { connect::pager(options) });
    }
    let output = Output::new(cli.options.json, cli.options.quiet);
    match commands::run(cli, &output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output.error(&error);
            ExitCode::FAILURE
        }
    }
}

/// Parses the command line. A text of several words needs no quotes, and a subcommand may be a short word for it, where
/// that is unambiguous.
fn parse() -> Result<Cli, clap::Error> {
    let mut args = cli::with_queries_set_off(std::env::args_os().collect());
    let mut read = parse_args(&args);
    if let Err(usage) = &read
        && usage.kind() == ErrorKind::InvalidSubcommand
        && let Some(meant) = commands::suggest::with_subcommand(&args)
    {
        args = meant;
        read = parse_args(&args);
    }
    let Err(usage) = read else { return read };
    let unexpected = match usage.kind() {
        ErrorKind::UnknownArgument => usage.get(ContextKind::InvalidArg),
        // Of a command with subcommands, such as `recall model`.
        ErrorKind::ArgumentConflict => usage.get(ContextKind::InvalidSubcommand),
        _ => None,
    };
    let Some(ContextValue::String(extra)) = unexpected else { return Err(usage) };
    let joined = cli::with_words_joined(&args, extra);
    joined.and_then(|args| parse_args(&args).ok()).ok_or(usage)
}

/// Parses with the named command only, and does not drop the clap tree: building and dropping all commands takes as long
/// as a small command runs. On failure it parses again with all commands, so that clap can explain the error.
fn parse_args(args: &[OsString]) -> Result<Cli, clap::Error> {
    let named = cli::command_index(args).and_then(|at| cli::one(&args[at]));
    if cli::command_index(args).is_none() || named.is_some() {
        let root = clap::Command::new("pn").version(VERSION).disable_help_subcommand(true);
        let mut root = GlobalOptions::augment_args(root).subcommands(named);
        let read = root.try_get_matches_from_mut(args).and_then(|mut read| Cli::from_arg_matches_mut(&mut read));
        std::mem::forget(root);
        match read {
            Err(usage) if usage.kind() != ErrorKind::DisplayVersion => {}
            read => return read,
        }
    }
    let mut root = cli::whole();
    let read = root.try_get_matches_from_mut(args).and_then(|mut read| Cli::from_arg_matches_mut(&mut read));
    read.map_err(|e| commands::suggest::with_nearest_suggestion(e.format(&mut root), args))
}

/// The hint for a usage error: the possible values, and the nearest one.
fn suggestion(usage: &clap::Error) -> Option<String> {
    let value = |kind: ContextKind| match usage.get(kind)? {
        ContextValue::String(one) if !one.is_empty() => Some(one.clone()),
        ContextValue::Strings(many) if !many.is_empty() => Some(many.join(", ")),
        _ => None,
    };
    let nearest = [ContextKind::SuggestedValue, ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand];
    let nearest = nearest.into_iter().find_map(value).map(|nearest| format!("did you mean {nearest}?"));
    let possible = value(ContextKind::ValidValue).map(|values| format!("possible values: {values}"));
    let refused = commands::suggest::hint_of_value(usage).map(str::to_owned);
    let parts: Vec<String> = possible.into_iter().chain(nearest).chain(refused).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Prints a usage error: as clap words it, or as one line of JSON with `--json`.
fn print_usage_error(usage: &clap::Error) -> ExitCode {
    let is_json = std::env::args_os().any(|arg| arg == "--json");
    if usage.use_stderr() && is_json {
        let text = usage.to_string();
        let first = text.lines().next().unwrap_or_default();
        let message = first.strip_prefix("error: ").unwrap_or(first);
        let hint = suggestion(usage).unwrap_or_else(|| "pn help explains how to call it".to_owned());
        Output::new(true, false).error(&Error::invalid(message).hint(hint));
    } else if usage.use_stderr() {
        // clap repeats the arguments, which may contain terminal escape sequences.
        eprint!("{}", text::printable_block(&usage.to_string()));
    } else {
        let _ = usage.print();
    }
    ExitCode::from(u8::try_from(usage.exit_code()).unwrap_or(2))
}

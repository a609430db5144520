//! `pn`: parses a command line, calls the store, shows the answer.

mod cli;
mod commands;
mod connect;
mod output;
mod progress;
mod render;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, FromArgMatches};
use clap_complete::CompleteEnv;
use pensa_core::{Error, VERSION, text};

use cli::{Cli, Options};
use output::Output;

fn main() -> ExitCode {
    if std::env::var_os("COMPLETE").is_some() {
        CompleteEnv::with_factory(|| commands::completions::with_live_ids(cli::whole())).complete();
    }
    let cli = match parse() {
        Ok(cli) => cli,
        Err(usage) => return explain_usage(&usage),
    };
    let output = Output::new(cli.options.json, cli.options.quiet);
    match commands::run(cli, &output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output.error(&error);
            ExitCode::FAILURE
        }
    }
}

/// Reads the command line. Only the command that is meant takes part, because clap prepares every one that does, and it
/// is not taken apart again; both cost as much as a small command. What cannot be read so is read with all of them, so
/// that clap knows what to say.
fn parse() -> Result<Cli, clap::Error> {
    let args: Vec<OsString> = std::env::args_os().collect();
    let word = args.iter().skip(1).find(|word| !word.as_encoded_bytes().starts_with(b"-"));
    let meant = word.and_then(|word| cli::one(word));
    if word.is_none() || meant.is_some() {
        let mut root = Options::augment_args(clap::Command::new("pn").version(VERSION)).subcommands(meant);
        let read = root.try_get_matches_from_mut(&args).and_then(|mut read| Cli::from_arg_matches_mut(&mut read));
        std::mem::forget(root);
        match read {
            Err(usage) if usage.kind() != ErrorKind::DisplayVersion => {}
            read => return read,
        }
    }
    let mut root = cli::whole();
    let read = root.try_get_matches_from_mut(args).and_then(|mut read| Cli::from_arg_matches_mut(&mut read));
    read.map_err(|e| e.format(&mut root))
}

/// What clap would tell a person to try instead: the values or flags that are possible, and the nearest.
fn suggestion(usage: &clap::Error) -> Option<String> {
    let told = |kind: ContextKind| match usage.get(kind)? {
        ContextValue::String(one) if !one.is_empty() => Some(one.clone()),
        ContextValue::Strings(many) if !many.is_empty() => Some(many.join(", ")),
        _ => None,
    };
    let nearest = [ContextKind::SuggestedValue, ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand];
    let nearest = nearest.into_iter().find_map(told).map(|nearest| format!("did you mean {nearest}?"));
    let possible = told(ContextKind::ValidValue).map(|values| format!("possible values: {values}"));
    let parts: Vec<String> = possible.into_iter().chain(nearest).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// clap's own words, or one line of JSON where JSON was asked for.
fn explain_usage(usage: &clap::Error) -> ExitCode {
    let wants_json = std::env::args_os().any(|arg| arg == "--json");
    if usage.use_stderr() && wants_json {
        let text = usage.to_string();
        let first = text.lines().next().unwrap_or_default();
        let message = first.strip_prefix("error: ").unwrap_or(first);
        let hint = suggestion(usage).unwrap_or_else(|| "pn help tells how it is called".to_owned());
        Output::new(true, false).error(&Error::invalid(message).hint(hint));
    } else if usage.use_stderr() {
        // clap repeats what was typed, and that may come from anywhere.
        eprint!("{}", text::printable_block(&usage.to_string()));
    } else {
        let _ = usage.print();
    }
    ExitCode::from(u8::try_from(usage.exit_code()).unwrap_or(2))
}

//! `pn`: parses a command line, calls the store, shows the answer.

mod cli;
mod commands;
mod connect;
mod host;
mod output;
mod progress;
mod render;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use clap_complete::CompleteEnv;
use pensa_core::{Error, text};

use cli::Cli;
use output::Output;

fn main() -> ExitCode {
    if std::env::var_os("COMPLETE").is_some() {
        CompleteEnv::with_factory(|| commands::completions::with_live_ids(Cli::command())).complete();
    }
    let cli = match Cli::try_parse() {
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

/// clap's own words, or one line of JSON where JSON was asked for.
fn explain_usage(usage: &clap::Error) -> ExitCode {
    let wants_json = std::env::args_os().any(|arg| arg == "--json");
    if usage.use_stderr() && wants_json {
        let text = usage.to_string();
        let first = text.lines().next().unwrap_or_default();
        let message = first.strip_prefix("error: ").unwrap_or(first);
        Output::new(true, false).error(&Error::invalid(message).hint("pn help tells how it is called"));
    } else if usage.use_stderr() {
        // clap repeats what was typed, and that may come from anywhere.
        eprint!("{}", text::printable_block(&usage.to_string()));
    } else {
        let _ = usage.print();
    }
    ExitCode::from(u8::try_from(usage.exit_code()).unwrap_or(2))
}

//! Declares the global flags and builds the command line. The arguments of a command are in its module in `commands`.
//!
//! `FooArgs` are the arguments of the command `foo`, `FooCommand` are its subcommands.

use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, CommandFactory, Parser};
use pensa_client::config::Config;
use pensa_core::issue::query::is_negated_term;

use crate::commands::Command;

/// Memory and state for coding agents
///
/// Without a command: my work, the top of the queue, and counts.
#[derive(Debug, Parser)]
#[command(name = "pn", version, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) options: GlobalOptions,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// The flags that every command takes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalOptions {
    /// Answer in JSON, also for errors
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print ids only (JSON, if that is asked for too)
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Who runs this command [env: PN_ACTOR] [default: the setting actor, git's user.name, $USER]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    /// The project, or the store inside it [default: the nearest .pensa above]
    #[arg(long, global = true, env = "PN_STORE", hide_env_values = true, value_name = "DIR",
        value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub(crate) store: Option<PathBuf>,
    /// Use a daemon or server instead of the store's files: its address, or its name in pn remote list [env: PN_DAEMON]
    #[arg(long, global = true, value_name = "SERVER")]
    pub(crate) remote_server: Option<String>,
    /// Do this once, however often it is tried with this key within a day
    #[arg(long, global = true, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
    /// Store secrets found in the input as they are, instead of replacing them
    #[arg(long, global = true)]
    pub(crate) no_redact: bool,
    /// Show exact times on a terminal, instead of 3 h ago
    #[arg(long, global = true)]
    pub(crate) absolute: bool,
    /// Show long output on a terminal at once, instead of in the pager
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,
    /// The settings, loaded on first use
    #[arg(skip)]
    pub(crate) config: OnceCell<Arc<Config>>,
}

/// The complete command line, with the arguments of every command.
///
/// Subcommands are deferred (`defer = true`), so that one can be built alone. `build` fills them in after the global flags
/// are passed down, so no command may have an argument with the id of a global flag.
pub(crate) fn whole() -> clap::Command {
    whole_without_help().override_help(crate::commands::help::overview())
}

/// Like [`whole`], without the overview: `help::overview` itself is built from this.
pub(crate) fn whole_without_help() -> clap::Command {
    let mut whole = Cli::command();
    whole.build();
    whole
}

/// One command with its arguments, without building the others.
pub(crate) fn one(name: &OsStr) -> Option<clap::Command> {
    let mut all = Cli::command();
    let one = all.find_subcommand_mut(name).map(|named| std::mem::replace(named, clap::Command::new("taken")));
    std::mem::forget(all);
    one
}

/// The index of the command in the arguments of the program.
pub(crate) fn command_index(args: &[OsString]) -> Option<usize> {
    (1..args.len()).find(|at| !args[*at].as_encoded_bytes().starts_with(b"-"))
}

/// Commands that take a query.
const QUERY_COMMANDS: [&str; 10] =
    ["ls", "list", "ready", "blocked", "search", "count", "next", "view", "board", "graph"];

/// Puts a blank before a query that begins with a hyphen, so that clap does not take it for flags.
pub(crate) fn with_queries_set_off(mut args: Vec<OsString>) -> Vec<OsString> {
    if let Some(command) = command_index(&args).filter(|at| QUERY_COMMANDS.iter().any(|name| args[*at] == *name)) {
        for arg in &mut args[command + 1..] {
            if let Some(query) = arg.to_str().filter(|arg| is_negated_term(arg)) {
                *arg = format!(" {query}").into();
            }
        }
    }
    args
}

/// Commands whose last argument is a text or, as of all [`QUERY_COMMANDS`] but `view`, a query.
const TEXT_COMMANDS: [&str; 6] = ["create", "new", "capture", "comment", "remember", "recall"];

/// Joins the words of a text into one argument; `extra` is the first word that clap did not expect. `None` if the word
/// before it may be the value of a flag.
pub(crate) fn with_words_joined(args: &[OsString], extra: &str) -> Option<Vec<OsString>> {
    let is_flag = |arg: &OsString| arg.as_encoded_bytes().starts_with(b"-");
    let queries = QUERY_COMMANDS.iter().filter(|name| **name != "view");
    let takes_text = |at: &usize| TEXT_COMMANDS.iter().chain(queries.clone()).any(|name| args[*at] == *name);
    let command = command_index(args).filter(takes_text)?;
    let at = (command + 2..args.len()).find(|at| args[*at] == extra)?;
    if is_flag(&args[at]) || is_flag(&args[at - 1]) || is_flag(&args[at - 2]) {
        return None;
    }
    let end = (at..args.len()).find(|at| is_flag(&args[*at])).unwrap_or(args.len());
    Some([&args[..at - 1], &[args[at - 1..end].join(OsStr::new(" "))], &args[end..]].concat())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::whole().debug_assert();
    }
}

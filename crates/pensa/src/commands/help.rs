//! `pn help`: prints the commands in groups, the help of one, the guides, and a machine-readable catalog.

use clap::{ArgAction, Args};
use pensa_core::{Code, Error, Result, VERSION, json, text};
use serde::Serialize;
use serde_json::{Value, json};

use crate::cli;
use crate::output::Output;

/// Print the commands in groups, the help of one, or a guide
///
///   pn help                   the commands used most
///   pn help --all             every command
///   pn help update            the flags of one
///   pn help topics            the guides, and pn help NAME to read one
///   pn help --json            commands, flags and error codes for programs
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct HelpArgs {
    /// List every command
    #[arg(long)]
    all: bool,
    /// The command to explain, or the guide to read
    #[arg(value_name = "COMMAND|TOPIC")]
    command: Vec<String>,
}

/// Commands by purpose, most used first. `pn help --all` lists the others under "More".
const GROUPS: [(&str, &[&str]); 8] = [
    (
        "Everyday",
        &[
            "init", "create", "ls", "ready", "next", "show", "update", "edit", "claim", "close", "comment", "dep",
            "search", "log", "undo",
        ],
    ),
    ("Parts, labels, views", &["accept", "children", "label", "link", "ref", "view"]),
    ("What next, and why", &["insights", "plan", "why", "impact", "diff", "board", "graph", "chart"]),
    (
        "Agents and runs",
        &[
            "work",
            "agent",
            "session",
            "run",
            "job",
            "loop",
            "signal",
            "lock",
            "heartbeat",
            "release",
            "watch",
            "tui",
            "web",
            "context",
            "prime",
            "setup",
            "profile",
            "mcp",
            "snapshot",
            "repo",
            "workspace",
            "harness",
            "runtime",
            "trace",
        ],
    ),
    (
        "Memory",
        &["remember", "recall", "learning", "distill", "kv", "record", "skill", "cost", "ship", "shipped", "changelog"],
    ),
    ("Sharing", &["export", "import", "sync", "conflicts", "hooks", "import-from", "remote", "trust"]),
    ("Team server", &["serve", "daemon", "project", "token", "audit"]),
    (
        "Maintenance",
        &["doctor", "backup", "restore", "gc", "recover", "upgrade", "config", "where", "demo", "completions", "man"],
    ),
];

macro_rules! topics {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../../../docs/", $name, ".md"))),)*]
    };
}

/// The position of a command among the groups: most used first, commands in no group last.
pub(super) fn rank(name: &str) -> usize {
    let mut grouped = GROUPS.iter().flat_map(|(_, names)| names.iter());
    grouped.position(|one| *one == name).unwrap_or(usize::MAX)
}

/// The guides, in reading order.
const TOPICS: &[(&str, &str)] = topics! {
    "get-started" "get-started-agents" "plan-and-track" "organise" "edit-issues" "choose-what-next" "terminal-ui" "web" "many-agents" "memory" "keep-memory-clean" "conversations" "share-through-git"
    "share-through-a-server" "recover" "import-from-other-tools" "operate-the-server" "operate-postgresql" "programs"
    "reference-configuration" "reference-files" "reference-errors" "reference-events" "reference-json" "glossary"
};

/// Words that people look for, with the guide that is about them.
const TOPIC_WORDS: [(&str, &[&str]); 5] = [
    ("organise", &["query", "queries", "views", "labels", "dates"]),
    ("many-agents", &["claims", "leases", "runs", "jobs", "loops", "signals", "locks"]),
    ("share-through-git", &["git", "merge", "merging"]),
    ("reference-configuration", &["settings", "configuration"]),
    ("reference-errors", &["errors", "codes"]),
];

/// Lists the guides with their titles.
fn topics() -> String {
    let title = |guide: &str| guide.lines().next().unwrap_or_default().trim_start_matches("# ").to_owned();
    let lines = TOPICS.iter().map(|(name, guide)| format!("  {name:<24} {}\n", title(guide)));
    format!("Guides: pn help NAME shows one\n\n{}", lines.collect::<String>())
}

/// Formats a guide for a terminal: removes the fences of code blocks.
fn guide(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.starts_with("```")).collect()
}

pub(super) fn run(args: &HelpArgs, output: Output) -> Result<()> {
    if output.is_json() {
        return output.line(&json::to_line(&catalog(&args.command)?)?);
    }
    if args.command.is_empty() {
        return output.text(&if args.all { full_list() } else { overview() });
    }
    if let [name] = &args.command[..] {
        let topic = TOPICS.iter().find(|(topic, _)| topic == name).map(|(_, text)| guide(text));
        if let Some(text) = topic.or_else(|| (name == "topics").then(topics)) {
            return output.text(&text);
        }
    }
    find(&args.command)?;
    let words = ["pn"].into_iter().chain(args.command.iter().map(String::as_str)).chain(["--help"]);
    let help = cli::whole().try_get_matches_from(words).expect_err("help is what clap stops with");
    let text = help.render();
    output.text(&if output.has_colours() { text.ansi().to_string() } else { text.to_string() })
}

pub(super) fn version(output: Output) -> Result<()> {
    output.line(&if output.is_json() { json::to_line(&json!({"version": VERSION}))? } else { format!("pn {VERSION}") })
}

fn find(path: &[String]) -> Result<clap::Command> {
    let mut at = cli::whole();
    for name in path {
        let found = at.find_subcommand(name).cloned();
        at = found.ok_or_else(|| {
            let nearest = nearest_topic(name).or_else(|| super::suggest::nearest_command(name));
            let nearest = nearest.map(|nearest| format!("did you mean {nearest}?"));
            let all = "pn help --all lists the commands, pn help topics the guides";
            Error::not_found("command or guide", name).hint(nearest.unwrap_or_else(|| all.to_owned()))
        })?;
    }
    Ok(at)
}

/// The guide that is meant by a name that is nearly its own, or by a word that it is about.
fn nearest_topic(name: &str) -> Option<String> {
    let about = TOPIC_WORDS.iter().find(|(_, words)| words.contains(&name)).map(|(topic, _)| *topic);
    let topic = about.or_else(|| text::nearest(name, TOPICS.iter().map(|(topic, _)| *topic)))?;
    Some(format!("pn help {topic}"))
}

/// What `pn help` and `pn --help` print: one screen.
pub(crate) fn overview() -> String {
    let whole = cli::whole_without_help();
    let mut text = "Memory and state for coding agents\n\nUsage: pn [OPTIONS] [COMMAND]\n       \
                    Without a command: my work, the top of the queue, and counts\n"
        .to_owned();
    for (at, (group, names)) in GROUPS.iter().enumerate() {
        text.push_str(&format!("\n{group}\n"));
        if at == 0 {
            names.iter().for_each(|name| text.push_str(&line(&whole, name)));
            continue;
        }
        let mut row = " ".to_owned();
        for name in *names {
            if row.len() + name.len() > 78 {
                text.push_str(&format!("{row}\n"));
                row = " ".to_owned();
            }
            row.push_str(&format!(" {name}"));
        }
        text.push_str(&format!("{row}\n"));
    }
    text.push_str(
        "\nEvery command takes --json, -q for ids only, --actor NAME and --store DIR.\n\n  \
         pn help COMMAND   flags and examples of a command\n  pn help --all     every command with what it does\n  \
         pn help topics    the guides\n  \
         pn demo           a short demo with three agents in a temporary repository\n",
    );
    text
}

/// What `pn help --all` prints.
fn full_list() -> String {
    let whole = cli::whole_without_help();
    let mut text = String::new();
    for (group, names) in GROUPS {
        text.push_str(&format!("{group}\n"));
        names.iter().for_each(|name| text.push_str(&line(&whole, name)));
        text.push('\n');
    }
    text.push_str("More\n");
    ungrouped(&whole).for_each(|name| text.push_str(&line(&whole, name)));
    text
}

/// The visible commands that are in no group.
fn ungrouped(whole: &clap::Command) -> impl Iterator<Item = &str> {
    let visible = whole.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name);
    visible.filter(|name| !GROUPS.iter().any(|(_, names)| names.contains(name)))
}

fn line(whole: &clap::Command, name: &str) -> String {
    let about = whole.find_subcommand(name).and_then(|command| command.get_about()).map(ToString::to_string);
    format!("  {name:<12} {}\n", about.unwrap_or_default().replace('\n', " "))
}

/// A command in the catalog.
#[derive(Serialize)]
struct CommandEntry {
    name: String,
    about: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    arguments: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    flags: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    commands: Vec<CommandEntry>,
}

/// The catalog for programs: commands with arguments and flags, and error codes.
fn catalog(path: &[String]) -> Result<Value> {
    let chosen = find(path)?;
    let commands: Vec<CommandEntry> = if path.is_empty() {
        chosen.get_subcommands().filter(|command| !command.is_hide_set()).map(entry).collect()
    } else {
        vec![entry(&chosen)]
    };
    let whole = cli::whole();
    let global: Vec<Value> = whole.get_arguments().filter(|arg| arg.is_global_set()).map(argument).collect();
    let codes: Vec<Value> = Code::ALL.iter().map(|code| json!(code)).collect();
    Ok(json!({"version": VERSION, "commands": commands, "global_flags": global, "error_codes": codes}))
}

fn entry(command: &clap::Command) -> CommandEntry {
    let own = || command.get_arguments().filter(|arg| !arg.is_global_set() && !arg.is_hide_set());
    let is_help =
        |arg: &&clap::Arg| matches!(arg.get_action(), ArgAction::Help | ArgAction::HelpLong | ArgAction::Version);
    CommandEntry {
        name: command.get_name().to_owned(),
        about: command.get_about().map(ToString::to_string).unwrap_or_default(),
        aliases: command.get_all_aliases().map(str::to_owned).collect(),
        arguments: own().filter(|arg| arg.is_positional()).map(argument).collect(),
        flags: own().filter(|arg| !arg.is_positional() && !is_help(arg)).map(argument).collect(),
        commands: command
            .get_subcommands()
            .filter(|below| !below.is_hide_set() && below.get_name() != "help")
            .map(entry)
            .collect(),
    }
}

fn argument(arg: &clap::Arg) -> Value {
    let mut shown = json!({"about": arg.get_help().map(ToString::to_string).unwrap_or_default()});
    match arg.get_long() {
        Some(long) => shown["name"] = json!(format!("--{long}")),
        None => shown["name"] = json!(arg.get_value_names().map_or(arg.get_id().as_str(), |names| names[0].as_str())),
    }
    if let Some(short) = arg.get_short() {
        shown["short"] = json!(format!("-{short}"));
    }
    if arg.get_action().takes_values() {
        let values: Vec<String> = arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
        shown["takes_value"] = json!(true);
        if !values.is_empty() {
            shown["values"] = json!(values);
        }
    }
    if arg.is_required_set() {
        shown["required"] = json!(true);
    }
    if matches!(arg.get_action(), ArgAction::Append) || arg.get_num_args().is_some_and(|range| range.max_values() > 1) {
        shown["many"] = json!(true);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_listed_once() {
        let whole = cli::whole_without_help();
        let grouped = GROUPS.iter().flat_map(|(_, names)| names.iter().copied());
        let mut listed: Vec<&str> = grouped.chain(ungrouped(&whole)).collect();
        let mut all: Vec<&str> =
            whole.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name).collect();
        listed.sort_unstable();
        all.sort_unstable();
        assert_eq!(listed, all);
    }

    #[test]
    fn the_overview_fits_a_screen() {
        let overview = overview();
        assert!(overview.lines().count() <= 50, "{overview}");
        assert!(overview.lines().all(|line| line.chars().count() <= 100), "{overview}");
    }
}

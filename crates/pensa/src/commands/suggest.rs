//! Suggests what was meant by a wrong command, flag or value: the nearest one, or ours for a word of another tool.

use std::error::Error as _;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use pensa_core::{Error, words};

use super::help;
use crate::cli;

/// Verbs of other tools and everyday words, with the command of the same meaning.
const SYNONYMS: [(&str, &str); 65] = [
    ("add", "create"),
    ("open", "create"),
    ("task", "create"),
    ("rm", "delete"),
    ("remove", "delete"),
    ("modify", "update"),
    ("set", "update"),
    ("assign", "update"),
    ("rename", "update"),
    ("describe", "update"),
    ("start", "claim"),
    ("take", "claim"),
    ("begin", "claim"),
    ("stop", "release"),
    ("drop", "release"),
    ("unclaim", "release"),
    ("abandon", "release"),
    ("finish", "close"),
    ("complete", "close"),
    ("resolve", "close"),
    ("fix", "close"),
    ("get", "show"),
    ("info", "show"),
    ("cat", "show"),
    ("issue", "ls"),
    ("issues", "ls"),
    ("tasks", "ls"),
    ("tickets", "ls"),
    ("all", "list"),
    ("find", "search"),
    ("grep", "search"),
    ("query", "search"),
    ("todo", "ready"),
    ("queue", "ready"),
    ("available", "ready"),
    ("waiting", "blocked"),
    ("overdue", "ls --overdue"),
    ("note", "comment"),
    ("annotate", "comment"),
    ("block", "dep add"),
    ("depend", "dep add"),
    ("tree", "dep tree"),
    ("epic", "children"),
    ("epics", "children"),
    ("tag", "label"),
    ("tags", "label"),
    ("kanban", "board"),
    ("burndown", "chart burndown"),
    ("triage", "insights"),
    ("learn", "remember"),
    ("memory", "recall"),
    ("memories", "recall"),
    ("renew", "heartbeat"),
    ("ping", "heartbeat"),
    ("revert", "undo"),
    ("stats", "status"),
    ("summary", "status"),
    ("check", "doctor"),
    ("fsck", "doctor"),
    ("login", "remote add"),
    ("push", "sync"),
    ("pull", "sync"),
    ("commit", "export"),
    ("ui", "tui"),
    ("settings", "config"),
];

/// Verbs of subcommands that say the same: the first one that a command has is meant.
const VERBS: [&[&str]; 4] = [
    &["list", "ls", "all"],
    &["remove", "delete", "forget", "rm", "del"],
    &["add", "create", "save", "set", "put", "new"],
    &["show", "get", "view", "info", "list"],
];

/// Flags of other tools, with ours.
const FLAGS: [(&str, &str); 14] = [
    ("tag", "label"),
    ("tags", "label"),
    ("body", "description"),
    ("desc", "description"),
    ("message", "description"),
    ("name", "title"),
    ("state", "status"),
    ("owner", "assignee"),
    ("user", "assignee"),
    ("kind", "type"),
    ("depends-on", "dep"),
    ("blocked-by", "dep"),
    ("epic", "parent"),
    ("max", "limit"),
];

/// The command that comes nearest to what was typed. Of equally near ones, the most used.
pub(crate) fn nearest_command(typed: &str) -> Option<String> {
    let typed = typed.to_lowercase();
    if let Some((_, ours)) = SYNONYMS.iter().find(|(other, _)| *other == typed) {
        return Some(format!("pn {ours}"));
    }
    let whole = cli::whole_without_help();
    let names = whole.get_subcommands().filter(|command| !command.is_hide_set());
    let names = names.flat_map(|command| {
        let rank = help::rank(command.get_name());
        std::iter::once(command.get_name()).chain(command.get_all_aliases()).map(move |name| (rank, name))
    });
    let nearest = names.map(|(rank, name)| (distance(&typed, name), rank, name)).min();
    let nearest = nearest.filter(|(distance, ..)| is_near(*distance, &typed)).map(|(.., name)| name);
    // The beginning of a synonym; one letter could mean anything.
    let begun = || SYNONYMS.iter().find(|(other, _)| typed.len() > 1 && other.starts_with(&typed));
    nearest.or_else(|| begun().map(|(_, ours)| *ours)).map(|name| format!("pn {name}"))
}

fn distance(typed: &str, name: &str) -> usize {
    strsim::damerau_levenshtein(typed, name)
}

/// Whether a suggestion is close enough to the typed text to help.
fn is_near(distance: usize, typed: &str) -> bool {
    distance <= 1 + typed.trim_start_matches('-').len() / 5
}

/// The command of these arguments that has subcommands, and where in the arguments it is.
fn group(args: &[OsString]) -> Option<(usize, clap::Command)> {
    let at = cli::command_index(args)?;
    let group = cli::whole_without_help().find_subcommand(&args[at])?.clone();
    group.has_subcommands().then_some((at, group))
}

/// The subcommand of a command that comes nearest to what was typed, or says the same.
fn nearest_subcommand<'c>(group: &'c clap::Command, typed: &str) -> Option<&'c str> {
    let names = || group.get_subcommands().map(clap::Command::get_name);
    let same = VERBS.iter().filter(|verbs| verbs.contains(&typed)).flat_map(|verbs| verbs.iter());
    same.filter_map(|verb| names().find(|name| name == verb)).next().or_else(|| {
        let nearest = names().map(|name| (distance(typed, name), name)).min();
        nearest.filter(|(distance, _)| is_near(*distance, typed)).map(|(_, name)| name)
    })
}

/// What to call instead of a subcommand that does not exist.
fn instead_of_subcommand(args: &[OsString], typed: &str) -> Option<String> {
    let (_, group) = group(args)?;
    Some(match (group.get_name(), typed) {
        ("label", "add" | "set") => "pn update ID --add-label LABEL".to_owned(),
        ("label", "remove" | "rm" | "delete") => "pn update ID --remove-label LABEL".to_owned(),
        (name, typed) => format!("pn {name} {}", nearest_subcommand(&group, typed)?),
    })
}

/// The arguments with what was surely meant: `pn label ls`, `pn dep rm`, and `pn comment ID TEXT`.
pub(crate) fn with_subcommand(args: &[OsString]) -> Option<Vec<OsString>> {
    let (at, group) = group(args)?;
    let typed = args.get(at + 1)?.to_str()?;
    let (verb, rest) = match typed {
        "ls" | "rm" => (nearest_subcommand(&group, typed)?, at + 2),
        id if group.get_name() == "comment" && id.starts_with("pn-") => ("add", at + 1),
        _ => return None,
    };
    Some([&args[..=at], &[verb.into()], &args[rest..]].concat())
}

/// The flag that was meant: the nearest, one that begins so, or ours for that of another tool.
fn nearest_flag(args: &[OsString], typed: &str) -> Option<String> {
    let whole = cli::whole_without_help();
    let mut command = &whole;
    for arg in args.iter().skip(1) {
        command = command.find_subcommand(arg).unwrap_or(command);
    }
    let flags = || command.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(clap::Arg::get_long);
    let word = typed.trim_start_matches('-').split('=').next().unwrap_or_default();
    if word.len() < 2 || !typed.starts_with("--") {
        return None;
    }
    let ours = FLAGS.iter().filter(|(other, _)| *other == word).map(|(_, ours)| *ours);
    let same = ours.filter_map(|ours| flags().find(|flag| flag.ends_with(ours))).next();
    let begun = || flags().find(|flag| flag.starts_with(word));
    let nearest = || flags().map(|flag| (distance(word, flag), flag)).min();
    let nearest = || nearest().filter(|(distance, _)| is_near(*distance, word)).map(|(_, flag)| flag);
    same.or_else(begun).or_else(nearest).map(|flag| format!("--{flag}"))
}

/// The hint of the error with which a value was refused.
pub(crate) fn hint_of_value(usage: &clap::Error) -> Option<&str> {
    usage.source()?.downcast_ref::<Error>()?.hint.as_deref()
}

/// Keeps only the best suggestion of an error; clap lists several in no useful order, and tips that do not help.
pub(crate) fn with_nearest_suggestion(mut usage: clap::Error, args: &[OsString]) -> clap::Error {
    let value = |usage: &clap::Error, kind| match usage.get(kind) {
        Some(ContextValue::String(one)) => vec![one.clone()],
        Some(ContextValue::Strings(many)) => many.clone(),
        _ => Vec::new(),
    };
    let typed = |usage: &clap::Error, kind| value(usage, kind).pop();
    let is_first = |typed: &str| cli::command_index(args).is_some_and(|at| args[at].to_str() == Some(typed));
    let subcommand = typed(&usage, ContextKind::InvalidSubcommand).and_then(|typed| match is_first(&typed) {
        true => nearest_command(&typed),
        false => instead_of_subcommand(args, &typed),
    });
    let possible = value(&usage, ContextKind::ValidValue);
    let given = typed(&usage, ContextKind::InvalidValue).filter(|_| !possible.is_empty());
    let meant = given.and_then(|given| words::meant(&given, possible.iter().map(String::as_str)).map(str::to_owned));
    // Other errors name arguments too, such as those that exclude each other.
    let flag = typed(&usage, ContextKind::InvalidArg).filter(|_| usage.kind() == ErrorKind::UnknownArgument);
    let flag = flag.and_then(|typed| nearest_flag(args, &typed));
    for kind in [
        ContextKind::Suggested,
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
    ] {
        usage.remove(kind);
    }
    if let Some(subcommand) = subcommand {
        usage.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![subcommand]));
    }
    let others = [(ContextKind::SuggestedArg, flag), (ContextKind::SuggestedValue, meant)];
    for (kind, suggested) in others {
        if let Some(suggested) = suggested {
            usage.insert(kind, ContextValue::String(suggested));
        }
    }
    if let Some(hint) = hint_of_value(&usage).map(str::to_owned) {
        usage.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    }
    usage
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_command_comes_first_and_nothing_far_is_suggested() {
        let suggested = |typed: &str| nearest_command(typed).unwrap_or_default();
        assert_eq!(suggested("craete"), "pn create");
        assert_eq!(suggested("add"), "pn create");
        assert_eq!(suggested("raedy"), "pn ready");
        assert_eq!(suggested("clsoe"), "pn close");
        assert_eq!(suggested("mark"), "", "two letters of four are too many");
        assert_eq!(suggested("xyzzy"), "");
        assert_eq!(suggested("frobnicate"), "");
    }

    #[test]
    fn the_most_used_of_equally_near_commands_is_suggested() {
        assert_eq!(nearest_command("lst").as_deref(), Some("pn ls"));
    }

    #[test]
    fn every_synonym_leads_to_a_command_and_is_none_itself() {
        let whole = cli::whole_without_help();
        for (other, ours) in SYNONYMS {
            let words: Vec<OsString> = ours.split(' ').map(OsString::from).collect();
            assert!(whole.find_subcommand(&words[0]).is_some(), "{ours}");
            assert!(whole.find_subcommand(other).is_none(), "{other} is a command");
        }
    }

    #[test]
    fn the_beginning_of_a_synonym_is_enough() {
        assert_eq!(nearest_command("ad").as_deref(), Some("pn create"));
        assert_eq!(nearest_command("complet").as_deref(), Some("pn close"));
        assert_eq!(nearest_command("x"), None);
    }
}

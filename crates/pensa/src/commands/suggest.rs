//! Suggests a command for one that does not exist.

use clap::error::{ContextKind, ContextValue};

use super::help;
use crate::cli;

/// Verbs of other tools and everyday words, with the command of the same meaning.
const SYNONYMS: [(&str, &str); 23] = [
    ("add", "create"),
    ("open", "create"),
    ("task", "create"),
    ("rm", "delete"),
    ("remove", "delete"),
    ("modify", "update"),
    ("set", "update"),
    ("assign", "update"),
    ("start", "claim"),
    ("take", "claim"),
    ("finish", "close"),
    ("complete", "close"),
    ("resolve", "close"),
    ("view", "show"),
    ("get", "show"),
    ("info", "show"),
    ("find", "search"),
    ("grep", "search"),
    ("todo", "ready"),
    ("note", "comment"),
    ("annotate", "comment"),
    ("revert", "undo"),
    ("stats", "status"),
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
    let nearest = names.map(|(rank, name)| (strsim::damerau_levenshtein(&typed, name), rank, name)).min();
    let nearest = nearest.filter(|(distance, ..)| is_near(*distance, &typed)).map(|(.., name)| name);
    // The beginning of a synonym; one letter could mean anything.
    let begun = || SYNONYMS.iter().find(|(other, _)| typed.len() > 1 && other.starts_with(&typed));
    nearest.or_else(|| begun().map(|(_, ours)| *ours)).map(|name| format!("pn {name}"))
}

/// Whether a suggestion is close enough to the typed text to help.
fn is_near(distance: usize, typed: &str) -> bool {
    distance <= 1 + typed.trim_start_matches('-').len() / 4
}

/// Keeps only the nearest suggestion of an error; clap lists several in no useful order.
pub(crate) fn with_nearest_suggestion(mut usage: clap::Error) -> clap::Error {
    let value = |usage: &clap::Error, kind| match usage.get(kind) {
        Some(ContextValue::String(one)) => vec![one.clone()],
        Some(ContextValue::Strings(many)) => many.clone(),
        _ => Vec::new(),
    };
    let typed = value(&usage, ContextKind::InvalidSubcommand).pop();
    let args: Vec<_> = std::env::args_os().collect();
    let is_first = cli::command_index(&args).is_some_and(|at| args[at].to_str() == typed.as_deref());
    let suggestions = [
        (ContextKind::SuggestedSubcommand, ContextKind::InvalidSubcommand),
        (ContextKind::SuggestedArg, ContextKind::InvalidArg),
        (ContextKind::SuggestedValue, ContextKind::InvalidValue),
    ];
    // clap begins a paragraph for tips even if there are none.
    if let Some(ContextValue::StyledStrs(tips)) = usage.get(ContextKind::Suggested)
        && tips.is_empty()
    {
        usage.remove(ContextKind::Suggested);
    }
    for (kind, invalid) in suggestions {
        let nearest = match &typed {
            Some(typed) if is_first && kind == ContextKind::SuggestedSubcommand => nearest_command(typed),
            _ => {
                let typed = value(&usage, invalid).pop().unwrap_or_default();
                let all = value(&usage, kind).into_iter();
                let all = all.map(|name| (strsim::damerau_levenshtein(&typed, &name), name));
                all.min().filter(|(distance, _)| is_near(*distance, &typed)).map(|(_, name)| name)
            }
        };
        usage.remove(kind);
        if let Some(nearest) = nearest {
            usage.insert(
                kind,
                match kind {
                    ContextKind::SuggestedSubcommand => ContextValue::Strings(vec![nearest]),
                    _ => ContextValue::String(nearest),
                },
            );
        }
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
        assert_eq!(suggested("xyzzy"), "");
        assert_eq!(suggested("frobnicate"), "");
    }

    #[test]
    fn the_most_used_of_equally_near_commands_is_suggested() {
        assert_eq!(nearest_command("lst").as_deref(), Some("pn ls"));
    }

    #[test]
    fn the_beginning_of_a_synonym_is_enough() {
        assert_eq!(nearest_command("ad").as_deref(), Some("pn create"));
        assert_eq!(nearest_command("complet").as_deref(), Some("pn close"));
        assert_eq!(nearest_command("x"), None);
    }
}

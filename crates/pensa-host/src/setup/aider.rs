//! Has Aider read AGENTS.md: adds it to the files of `read` in its YAML settings, and takes it out again.
//!
//! The file is edited as lines. Only a list with one item a line, or a file without `read`, can be added to.

use pensa_core::{Error, Result};

use super::PartState;
use super::block::{self, CommentSyntax, line_end};

const FILE: &str = "AGENTS.md";
/// Marks the item that we added to a person's list.
const OURS: &str = "# pensa";
const SYNTAX: CommentSyntax = CommentSyntax::Hash;

fn body() -> String {
    format!("read:\n  - {FILE}")
}

/// Where the list `read` of a person is, and its indentation.
enum ReadKey {
    Absent,
    /// The file is in it already.
    Complete,
    /// A list; the lines of its last item, and the indentation of its items.
    List {
        last: usize,
        indent: String,
    },
}

fn read_key(text: &str) -> Result<ReadKey> {
    let unusual = || {
        let error = Error::invalid("has read in a form that cannot be added to");
        error.hint(format!("add {FILE} to it by hand, or write it as a list with one item a line"))
    };
    let lines: Vec<&str> = text.lines().collect();
    if lines.iter().skip(1).any(|line| line.starts_with("---") || line.starts_with("...")) || text.contains('\t') {
        return Err(unusual());
    }
    let is_key = |line: &&str| ["read:", "\"read\":", "'read':"].iter().any(|key| line.starts_with(key));
    let Some(key) = lines.iter().position(is_key) else { return Ok(ReadKey::Absent) };
    let value = lines[key].split_once(':').map_or("", |(_, value)| value);
    let value = value.split(" #").next().unwrap_or_default().trim();
    let is_named = |item: &str| item.trim().trim_matches(['"', '\'']) == FILE;
    let flow = value.strip_prefix('[').and_then(|list| list.strip_suffix(']'));
    if is_named(value) || flow.is_some_and(|list| list.split(',').any(is_named)) {
        return Ok(ReadKey::Complete);
    }
    if !value.is_empty() {
        return Err(unusual());
    }
    let mut found = None;
    for (at, line) in lines.iter().enumerate().skip(key + 1) {
        let content = line.trim_start();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let Some(item) = content.strip_prefix("- ") else { break };
        if is_named(item.split(" #").next().unwrap_or_default()) {
            return Ok(ReadKey::Complete);
        }
        found = Some((at, line[..line.len() - content.len()].to_owned()));
    }
    found.map_or_else(|| Err(unusual()), |(last, indent)| Ok(ReadKey::List { last, indent }))
}

fn is_our_item(line: &str) -> bool {
    line.trim() == format!("- {FILE} {OURS}")
}

pub(super) fn state(text: Option<&str>) -> Result<PartState> {
    let Some(text) = text else { return Ok(PartState::Missing) };
    match block::state(SYNTAX, text, &body())? {
        PartState::Missing => Ok(match read_key(text)? {
            ReadKey::Complete => PartState::Current,
            _ => PartState::Missing,
        }),
        state => Ok(state),
    }
}

pub(super) fn add(text: Option<&str>, force: bool) -> Result<String> {
    let given = text.unwrap_or_default();
    match state(text)? {
        PartState::Current => return Ok(given.to_owned()),
        PartState::Edited if !force => return Ok(given.to_owned()),
        PartState::Missing => {}
        _ => return block::add(SYNTAX, text, &body()),
    }
    match read_key(given)? {
        ReadKey::List { last, indent } => {
            let end = line_end(given);
            let mut lines: Vec<String> = given.split_inclusive('\n').map(str::to_owned).collect();
            let item = format!("{indent}- {FILE} {OURS}");
            if lines[last].ends_with('\n') {
                lines.insert(last + 1, format!("{item}{end}"));
            } else {
                lines.push(format!("{end}{item}"));
            }
            Ok(lines.concat())
        }
        _ => block::add(SYNTAX, text, &body()),
    }
}

pub(super) fn remove(text: &str, force: bool) -> Result<Option<String>> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let Some(at) = lines.iter().position(|line| is_our_item(line)) else {
        let body = body();
        return block::remove(SYNTAX, text, &body.lines().collect::<Vec<_>>(), force);
    };
    let rest = [&lines[..at], &lines[at + 1..]].concat().concat();
    if lines[at].ends_with('\n') {
        return Ok(Some(rest));
    }
    let rest = rest.strip_suffix('\n').map_or(rest.as_str(), |rest| rest.strip_suffix('\r').unwrap_or(rest));
    Ok(Some(rest.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn add_check_add_again_and_remove_give_the_same_bytes() {
        for text in [
            None,
            Some(""),
            Some("model: x # mine\n"),
            Some("model: x"),
            Some("read:\n  - CONVENTIONS.md # keep\n\n# end\nmodel: x\n"),
            Some("read:\r\n- a.md\r\n- b.md"),
            Some("# read: no\nauto-commits: false\n\n"),
        ] {
            let with = add(text, false).unwrap_or_else(|e| panic!("{text:?}: {e}"));
            assert_eq!(state(Some(&with)).expect("readable"), PartState::Current, "{with}");
            assert_eq!(add(Some(&with), false).expect("again"), with);
            assert_eq!(remove(&with, false).expect("removed").as_deref(), text, "{with}");
        }
    }

    #[test]
    fn a_file_that_reads_it_already_stays_as_it_is() {
        for text in ["read: AGENTS.md\n", "read: [\"AGENTS.md\", b]\n", "read:\n  - 'AGENTS.md'\n"] {
            assert_eq!(state(Some(text)).expect("readable"), PartState::Current);
            assert_eq!(add(Some(text), false).expect("left"), text);
            assert_eq!(remove(text, false).expect("left").as_deref(), Some(text));
        }
    }

    #[test]
    fn forms_that_cannot_be_added_to_are_refused() {
        for text in ["read: a.md\n", "read: [a.md]\n", "read:\n", "a: 1\n---\nb: 2\n"] {
            assert!(add(Some(text), false).is_err(), "{text}");
        }
    }
}

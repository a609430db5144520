//! Finds commands that failed, and what worked instead.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Proposal, ProposalOrigin};
use crate::learning::{Kind, recalled};
use crate::session::{Message, MessageRole, ToolCall};
use crate::text;

/// Calls within which another command must have worked.
const WITHIN: usize = 8;
/// How many of all words the two commands share at least, in percent.
const SHARED: usize = 40;
/// Bytes of a command, and of what it said, that are shown.
const MAX_COMMAND: usize = 160;
const MAX_ERROR: usize = 120;
/// Words in the names of tools that change files. After such a change the same command may work, which tells nothing.
const EDITS: [&str; 6] = ["edit", "write", "patch", "replace", "create", "notebook"];

/// One call of a tool, with its result.
struct CommandRun<'m> {
    command: String,
    failed: bool,
    said: &'m str,
    entry: Option<i64>,
}

/// What the commands of a session teach.
pub(super) fn fixed(messages: &[Message]) -> Vec<Proposal> {
    let mut found = Vec::new();
    let mut failed: Vec<(usize, CommandRun<'_>)> = Vec::new();
    let mut at = 0;
    for (position, message) in messages.iter().enumerate() {
        for call in &message.tool_calls {
            at += 1;
            let Some(run) = command_run(call, &messages[position..]) else {
                if EDITS.iter().any(|word| call.name.to_lowercase().contains(word)) {
                    failed.clear();
                }
                continue;
            };
            failed.retain(|(since, _)| at - since <= WITHIN);
            if run.failed {
                failed.push((at, run));
            } else if let Some(known) = failed.iter().position(|(_, other)| is_fix(&other.command, &run.command)) {
                let (_, first) = failed.remove(known);
                found.push(lesson(&first, &run));
            }
        }
    }
    found
}

fn lesson(failed: &CommandRun<'_>, worked: &CommandRun<'_>) -> Proposal {
    let said = failed.said.lines().map(str::trim).rfind(|line| line.to_lowercase().contains("error") && line.len() > 6);
    let said = said.or_else(|| failed.said.lines().map(str::trim).rfind(|line| !line.is_empty()));
    let said = said.map(|line| cut(&text::printable_line(line), MAX_ERROR)).filter(|line| !line.is_empty());
    let because = said.map(|line| format!(" ({line})")).unwrap_or_default();
    let [wrong, right] = [failed, worked].map(|run| cut(&text::printable_line(&run.command), MAX_COMMAND));
    let text = format!("`{wrong}` fails{because}; `{right}` works");
    Proposal { entry: worked.entry, ..Proposal::new(Kind::Gotcha, ProposalOrigin::FixedCommand, text) }
}

fn cut(line: &str, bytes: usize) -> String {
    let end = line.floor_char_boundary(bytes);
    if end < line.len() { format!("{}…", &line[..end]) } else { line.to_owned() }
}

/// A call that ran a command. Its result is in one of the messages.
fn command_run<'m>(call: &ToolCall, messages: &'m [Message]) -> Option<CommandRun<'m>> {
    let command = command_of(&call.arguments)?;
    let is_result =
        |message: &&Message| message.role == MessageRole::Tool && message.tool_call_id.as_deref() == Some(&*call.id);
    let result = messages.iter().find(is_result)?;
    let failed = result.is_error || says_it_failed(&result.content);
    // What a command printed may be what was recalled.
    let said = if recalled::own_text(&result.content) == result.content.trim() { &result.content } else { "" };
    Some(CommandRun { command, failed, said, entry: result.entry })
}

/// The command line in the arguments of a call, in one line and without what only shapes its output.
pub(super) fn command_of(arguments: &Value) -> Option<String> {
    let given = ["command", "cmd", "script"].iter().find_map(|name| arguments.get(*name))?;
    let line = match given {
        Value::String(line) => line.clone(),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words[..] {
                // A shell around the command.
                [_, flag, line] if flag.starts_with('-') && flag.ends_with('c') => line.to_owned(),
                _ => words.join(" "),
            }
        }
        _ => return None,
    };
    let line = line.trim();
    let line = match line.split_once("&&") {
        Some((first, rest)) if first.trim_start().starts_with("cd ") => rest.trim(),
        _ => line,
    };
    let end = ["|", " 2>", " >", "\n"].iter().filter_map(|mark| line.find(mark)).min().unwrap_or(line.len());
    let line = line[..end].trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// Whether the output of a command tells that it failed, for tools that report nothing else.
fn says_it_failed(output: &str) -> bool {
    let start = text::fold(&output[..output.floor_char_boundary(300)]);
    ["exit code", "exit_code", "exited with"].iter().any(|words| {
        let Some((_, rest)) = start.split_once(words) else { return false };
        let number: String =
            rest.chars().skip_while(|c| !c.is_alphanumeric()).take_while(char::is_ascii_digit).collect();
        number.parse::<u32>().is_ok_and(|code| code != 0)
    })
}

/// Whether one command is another way to do what the other one tried.
fn is_fix(failed: &str, worked: &str) -> bool {
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<BTreeSet<_>>();
    let (one, other) = (words(failed), words(worked));
    let (shared, all) = (one.intersection(&other).count(), one.union(&other).count());
    failed != worked && shared * 100 >= all * SHARED && one != other
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn session(calls: &[(&str, Value, &str, bool)]) -> Vec<Message> {
        let mut messages = Vec::new();
        for (at, (name, arguments, output, is_error)) in calls.iter().enumerate() {
            let call = json!({"id": format!("c{at}"), "name": name, "arguments": arguments});
            messages.push(json!({"role": "assistant", "content": "", "tool_calls": [call]}));
            messages.push(json!({"role": "tool", "content": output, "tool_call_id": format!("c{at}"),
                "is_error": is_error, "entry": at}));
        }
        messages.into_iter().map(|message| serde_json::from_value(message).expect("a message")).collect()
    }

    fn bash<'a>(command: &str, output: &'a str, is_error: bool) -> (&'static str, Value, &'a str, bool) {
        ("Bash", json!({"command": command}), output, is_error)
    }

    fn texts(calls: &[(&str, Value, &str, bool)]) -> Vec<String> {
        fixed(&session(calls)).into_iter().map(|one| one.text).collect()
    }

    #[test]
    fn a_command_that_failed_is_proposed_with_the_one_that_worked() {
        let calls = [
            bash("cd /work && cargo test -p core 2>&1 | tail", "error: package ID `core` not found\nhelp", true),
            bash("ls crates", "pensa-core", false),
            bash("cargo test -p pensa-core", "ok", false),
        ];
        let lesson =
            "`cargo test -p core` fails (error: package ID `core` not found); `cargo test -p pensa-core` works";
        assert_eq!(texts(&calls), [lesson]);
        let codex = [
            ("shell", json!({"command": ["bash", "-lc", "make check all"]}), "Exit code: 2\nno rule", false),
            ("shell", json!({"command": ["bash", "-lc", "make all"]}), "Exit code: 0\n", false),
        ];
        assert_eq!(texts(&codex), ["`make check all` fails (no rule); `make all` works"]);
    }

    #[test]
    fn what_works_after_a_change_of_files_or_is_something_else_teaches_nothing() {
        let edit = ("Edit", json!({"file_path": "a.rs"}), "ok", false);
        for calls in [
            vec![bash("cargo test a", "error", true), edit, bash("cargo test b", "ok", false)],
            vec![bash("cargo test", "error", true), bash("cargo test", "ok", false)],
            vec![bash("cargo test", "error", true), bash("ls -la crates", "ok", false)],
            vec![bash("cargo test a", "ok", false), bash("cargo test b", "ok", false)],
            vec![("Read", json!({"file_path": "x"}), "error", true)],
        ] {
            assert_eq!(texts(&calls), [""; 0], "{calls:?}");
        }
        let mut far = vec![bash("cargo test a", "error", true)];
        far.extend((0..WITHIN).map(|_| bash("ls", "", false)));
        far.push(bash("cargo test b", "ok", false));
        assert_eq!(texts(&far), [""; 0]);
    }
}

//! Formats a session as a Markdown transcript with one heading per entry.
//!
//! Unlike [`context`](super::context()), it shows every entry and corrects nothing.

use serde_json::Value;

use super::entry::Entry;
use super::payload::{self, ConversationItem};
use super::{OpenedBy, Session, ToolCall};
use crate::agent::Agent;
use crate::text;

/// Appends the transcript of a session to `out`.
///
/// Messages are quoted and tool data is fenced, so that no text can imitate the heading of an entry. Characters that are
/// unsafe on a terminal are removed.
pub fn markdown(agent: &Agent, session: &Session, entries: &[Entry], out: &mut String) {
    head(agent, session, out);
    if let Some(opening) = session.reset_message.as_deref().filter(|text| !text.is_empty()) {
        let title = match session.opened_by {
            OpenedBy::Compaction => "Summary of what came before",
            OpenedBy::Reset | OpenedBy::Start => "Reset message",
        };
        paragraph(out, &format!("## {title}"));
        quote(out, opening);
    }
    for entry in entries {
        paragraph(out, &format!("## {} · {} · {}", entry.id, entry.entry_type, entry.at));
        body(entry, out);
    }
}

fn head(agent: &Agent, session: &Session, out: &mut String) {
    out.push_str(&format!("# Session {}\n\n", session.id));
    let mut item = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            out.push_str(&format!("- {name}: {}\n", text::printable_line(&value)));
        }
    };
    let named = agent.name.as_ref().map(|name| format!(", {name}")).unwrap_or_default();
    item("agent", Some(format!("{} ({}{named})", agent.id, agent.agent_type)));
    item("opened", Some(format!("{} by {}", session.created_at, session.opened_by)));
    item("ended", session.ended_at.map(|at| at.to_string()));
    item("issue", session.issue_id.as_ref().map(ToString::to_string));
    item("run", session.run_id.as_ref().map(ToString::to_string));
    item("inference session", session.inference_session_id.clone());
}

/// The text of an entry, or its data as JSON if it cannot be parsed or is not a message.
fn body(entry: &Entry, out: &mut String) {
    match payload::item(entry) {
        Some(ConversationItem::User(text)) if !text.is_empty() => quote(out, &text),
        Some(ConversationItem::Assistant { text, calls }) if !(text.is_empty() && calls.is_empty()) => {
            if !text.is_empty() {
                quote(out, &text);
            }
            calls.iter().for_each(|call| tool_call(out, call));
        }
        Some(ConversationItem::Rewrite { at, text }) => {
            paragraph(out, &format!("Instead of what was said at {at}:"));
            quote(out, &text);
        }
        Some(ConversationItem::Result(result)) => {
            let outcome = if result.is_error { "Error" } else { "Result" };
            paragraph(out, &format!("{outcome} of call {}:", result.call_id));
            fence(out, "", &result.text);
        }
        _ => match entry.data.get("text") {
            Some(Value::String(note)) if entry.entry_type.as_str() == "note" => quote(out, note),
            _ => fence(out, "json", &pretty(&entry.data)),
        },
    }
}

fn tool_call(out: &mut String, call: &ToolCall) {
    paragraph(out, &format!("Call {} of {}:", call.id, call.name));
    fence(out, "json", &pretty(&call.arguments));
}

fn pretty<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// A line with an empty line before and after it.
fn paragraph(out: &mut String, line: &str) {
    if !out.ends_with("\n\n") {
        out.push('\n');
    }
    out.push_str(&text::printable_line(line));
    out.push_str("\n\n");
}

/// Quotes a text. Markdown that the text leaves open ends with the quotation.
fn quote(out: &mut String, text: &str) {
    let text = text::printable_block(text);
    if text.is_empty() {
        out.push_str(">\n");
    }
    for line in text.lines() {
        out.push_str(if line.is_empty() { ">" } else { "> " });
        out.push_str(line);
        out.push('\n');
    }
}

/// A code block whose fence is longer than any run of backticks in it.
fn fence(out: &mut String, language: &str, content: &str) {
    let content = text::printable_block(content);
    let longest = content.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    out.push_str(&format!("{fence}{language}\n{content}"));
    if !content.is_empty() && !content.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(&format!("{fence}\n"));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn agent(name: &str) -> Agent {
        serde_json::from_value(json!({"id": "ag-1", "type": "cron", "name": name, "lifecycle": "active",
            "created_at": 0, "updated_at": 0}))
        .expect("an agent")
    }

    fn session(with: &Value) -> Session {
        let mut whole = json!({"id": "se-1", "agent_id": "ag-1", "opened_by": "start", "created_at": 0});
        whole.as_object_mut().expect("an object").extend(with.as_object().expect("an object").clone());
        serde_json::from_value(whole).expect("a session")
    }

    fn entry(id: i64, entry_type: &str, data: &Value) -> Entry {
        let whole = json!({"id": id, "session_id": "se-1", "type": entry_type, "at": id, "v": 1, "data": data});
        serde_json::from_value(whole).expect("an entry")
    }

    fn transcript(session: &Session, entries: &[Entry]) -> String {
        let mut out = String::new();
        markdown(&agent("nightly"), session, entries, &mut out);
        out
    }

    #[test]
    fn a_whole_transcript() {
        let session = session(&json!({"opened_by": "compaction", "reset_message": "so far\n\nall well",
            "ended_at": 9000, "issue_id": "pn-1", "run_id": "run-1", "inference_session_id": "i-1"}));
        let entries = [
            entry(1, "user_message", &json!({"text": "look", "files": [{"name": "a.txt"}]})),
            entry(
                2,
                "assistant_message",
                &json!({"text": "looking",
                "toolCalls": [{"id": "c", "name": "read", "arguments": {"path": "a.txt"}}]}),
            ),
            entry(3, "tool_result", &json!({"toolCallId": "c", "output": "# not a heading\n```\ncode\n```\n"})),
            entry(4, "tool_result", &json!({"toolCallId": "d", "content": "gone", "isError": true})),
            entry(5, "assistant_rewrite", &json!({"assistantAt": 2, "text": "Looking."})),
            entry(6, "note", &json!({"text": "## all quiet"})),
            entry(7, "swarm.step", &json!({"x": [1]})),
            entry(8, "user_message", &json!({"txt": 1})),
        ];
        let expected = "\
# Session se-1

- agent: ag-1 (cron, nightly)
- opened: 1970-01-01T00:00:00.000Z by compaction
- ended: 1970-01-01T00:00:09.000Z
- issue: pn-1
- run: run-1
- inference session: i-1

## Summary of what came before

> so far
>
> all well

## 1 · user_message · 1970-01-01T00:00:00.001Z

> look
> [file: a.txt]

## 2 · assistant_message · 1970-01-01T00:00:00.002Z

> looking

Call c of read:

```json
{
  \"path\": \"a.txt\"
}
```

## 3 · tool_result · 1970-01-01T00:00:00.003Z

Result of call c:

````
# not a heading
```
code
```
````

## 4 · tool_result · 1970-01-01T00:00:00.004Z

Error of call d:

```
gone
```

## 5 · assistant_rewrite · 1970-01-01T00:00:00.005Z

Instead of what was said at 1970-01-01T00:00:00.002Z:

> Looking.

## 6 · note · 1970-01-01T00:00:00.006Z

> ## all quiet

## 7 · swarm.step · 1970-01-01T00:00:00.007Z

```json
{
  \"x\": [
    1
  ]
}
```

## 8 · user_message · 1970-01-01T00:00:00.008Z

```json
{
  \"txt\": 1
}
```
";
        assert_eq!(transcript(&session, &entries), expected);
    }

    #[test]
    fn empty_session_has_a_header() {
        let expected = "# Session se-1\n\n- agent: ag-1 (cron, nightly)\n- opened: 1970-01-01T00:00:00.000Z by start\n";
        assert_eq!(transcript(&session(&json!({})), &[]), expected);
    }

    #[test]
    fn reset_message_has_its_own_heading() {
        let page = transcript(&session(&json!({"opened_by": "reset", "reset_message": "afresh"})), &[]);
        assert!(page.ends_with("\n## Reset message\n\n> afresh\n"), "{page}");
    }

    #[test]
    fn fence_is_longer_than_any_run_of_backticks_inside() {
        for (inside, expected) in [
            ("", "```\n```\n"),
            ("a", "```\na\n```\n"),
            ("`a` ``", "```\n`a` ``\n```\n"),
            ("```", "````\n```\n````\n"),
            ("x`````y```", "``````\nx`````y```\n``````\n"),
        ] {
            let mut out = String::new();
            fence(&mut out, "", inside);
            assert_eq!(out, expected, "{inside}");
        }
    }

    #[test]
    fn names_from_data_stay_on_their_line() {
        let hostile = "x\n\n## 9 · user_message · now\u{1b}[2J\u{202E}";
        let mut out = String::new();
        let calls = json!({"toolCalls": [{"id": hostile, "name": hostile, "arguments": hostile}]});
        let entries = [entry(1, "assistant_message", &calls), entry(2, "tool_result", &json!({"toolCallId": hostile}))];
        let session = session(&json!({"inference_session_id": hostile}));
        markdown(&agent(hostile), &session, &entries, &mut out);
        assert_eq!(headings(&out).len(), 2, "{out}");
        assert!(!out.chars().any(|c| c != '\n' && text::is_unsafe_to_print(c)), "{out:?}");
    }

    /// The headings of entries as a Markdown parser finds them: not in quotations or code blocks.
    fn headings(transcript: &str) -> Vec<&str> {
        let mut fence: Option<usize> = None;
        let mut headings = Vec::new();
        for line in transcript.lines() {
            let ticks = line.len() - line.trim_start_matches('`').len();
            match fence {
                Some(length) if ticks >= length && line.len() == ticks => fence = None,
                None if ticks >= 3 => fence = Some(ticks),
                None if line.starts_with('#') => headings.push(line),
                _ => {}
            }
        }
        headings.retain(|line| line.starts_with("## "));
        headings
    }

    proptest! {
        #[test]
        fn no_text_can_imitate_an_entry(
            texts in prop::collection::vec("(`{1,5}|~~~|#|## 1 · |\n|\r|\u{2028}|\u{1b}|a| |>|<!--){0,12}", 1..6),
            kind in prop::sample::select(vec!["user_message", "assistant_message", "tool_result", "note", "x"]),
        ) {
            let data = |text: &String| json!({"text": text, "toolCallId": text,
                "toolCalls": [{"id": text, "name": text, "arguments": text}]});
            let entries: Vec<Entry> = (1..).zip(&texts).map(|(id, text)| entry(id, kind, &data(text))).collect();
            let page = transcript(&session(&json!({"opened_by": "reset", "reset_message": texts[0]})), &entries);
            let mut expected: Vec<String> =
                entries.iter().map(|entry| format!("## {} · {kind} · {}", entry.id, entry.at)).collect();
            if !texts[0].is_empty() {
                expected.insert(0, "## Reset message".into());
            }
            prop_assert_eq!(headings(&page), expected, "{}", page);
        }
    }
}

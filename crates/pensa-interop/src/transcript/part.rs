//! Collects what a part of a transcript says, thread by thread.

use std::collections::BTreeMap;

use pensa_core::session::object::MAX_DEPTH;
use pensa_core::{Timestamp, text};
use serde_json::{Map, Value, json};

use super::TranscriptCursor;

/// Longest text of one entry. What is longer is cut.
const MAX_TEXT_BYTES: usize = 1 << 20;
/// Longest title, in characters.
const MAX_TITLE_CHARS: usize = 200;
/// Most commits of a conversation.
const MAX_COMMITS: usize = 500;
/// Levels of an entry around the arguments of a call.
const LEVELS_AROUND: usize = 4;

/// A part of a transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptPart {
    /// Where the next part begins.
    pub to: TranscriptCursor,
    /// What each agent said, in the order of their first words.
    pub threads: Vec<ThreadPart>,
    pub malformed: Vec<MalformedLine>,
    /// How many records of each unknown type were left out.
    pub ignored: BTreeMap<String, u64>,
    /// Whether nothing follows, for now.
    pub is_end: bool,
}

/// A line that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedLine {
    pub line: u64,
    pub reason: String,
}

/// What one agent said in a part.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ThreadPart {
    /// What the software calls the conversation of this agent.
    pub id: String,
    /// The thread that this one works for.
    pub parent: Option<String>,
    pub is_subagent: bool,
    pub title: Option<String>,
    /// Directory, branch, version and so on, as far as this part has them.
    pub facts: Map<String, Value>,
    /// What goes on in the session that was open.
    pub entries: Vec<TranscriptEntry>,
    /// The sessions that were opened.
    pub sessions: Vec<ThreadSession>,
    pub first_at: Option<Timestamp>,
    pub last_at: Option<Timestamp>,
}

/// A session after a compaction.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadSession {
    pub at: Option<Timestamp>,
    /// The summary of what came before.
    pub summary: Option<String>,
    pub entries: Vec<TranscriptEntry>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptEntry {
    /// `user_message`, `assistant_message`, `tool_result`, `usage` or `note`.
    pub kind: &'static str,
    pub at: Option<Timestamp>,
    pub data: Map<String, Value>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallOfTool {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: Value,
}

impl CallOfTool {
    pub(super) fn json(self) -> Value {
        json!({"id": self.id, "name": self.name, "arguments": shallow(self.arguments)})
    }
}

/// Builds a part.
#[derive(Debug, Default)]
pub(super) struct PartBuilder {
    threads: Vec<ThreadPart>,
    ignored: BTreeMap<String, u64>,
}

impl PartBuilder {
    pub(super) fn thread(&mut self, id: &str) -> &mut ThreadPart {
        let at = self.threads.iter().position(|thread| thread.id == id).unwrap_or_else(|| {
            self.threads.push(ThreadPart { id: id.to_owned(), ..ThreadPart::default() });
            self.threads.len() - 1
        });
        &mut self.threads[at]
    }

    /// The thread that spoke first.
    pub(super) fn first(&mut self) -> Option<&mut ThreadPart> {
        self.threads.first_mut()
    }

    /// Counts a record that has nothing for a conversation.
    pub(super) fn ignore(&mut self, kind: &str) {
        *self.ignored.entry(kind.chars().take(64).collect()).or_default() += 1;
    }

    pub(super) fn user(&mut self, thread: &str, at: Option<Timestamp>, text: String) {
        self.entry(thread, "user_message", at, json!({"text": cut(text)}));
    }

    pub(super) fn note(&mut self, thread: &str, at: Option<Timestamp>, kind: &str, text: String) {
        if !text.trim().is_empty() {
            self.entry(thread, "note", at, json!({"text": cut(text), "kind": kind}));
        }
    }

    /// Adds what the model said, with what it used if that is known.
    pub(super) fn assistant(
        &mut self,
        thread: &str,
        at: Option<Timestamp>,
        (text, calls): (String, Vec<CallOfTool>),
        message: Option<Value>,
        request_id: Option<String>,
    ) {
        let is_silent = text.trim().is_empty() && calls.is_empty();
        let mut data = Map::new();
        if !is_silent {
            data.insert("text".into(), json!(cut(text)));
        }
        if !calls.is_empty() {
            data.insert("tool_calls".into(), calls.into_iter().map(CallOfTool::json).collect());
        }
        data.extend(message.map(|message| ("message".to_owned(), message)));
        data.extend(request_id.map(|id| ("request_id".to_owned(), json!(id))));
        if !data.is_empty() {
            let kind = if is_silent { "usage" } else { "assistant_message" };
            self.entry(thread, kind, at, Value::Object(data));
        }
    }

    pub(super) fn result(
        &mut self,
        thread: &str,
        at: Option<Timestamp>,
        call: &str,
        (output, is_error): (String, bool),
    ) {
        let mut data = json!({"tool_call_id": call, "output": cut(output)});
        if is_error {
            data["is_error"] = json!(true);
        }
        self.entry(thread, "tool_result", at, data);
    }

    fn entry(&mut self, thread: &str, kind: &'static str, at: Option<Timestamp>, data: Value) {
        let Value::Object(data) = data else { return };
        let thread = self.thread(thread);
        thread.see(at);
        let entries = thread.sessions.last_mut().map_or(&mut thread.entries, |session| &mut session.entries);
        entries.push(TranscriptEntry { kind, at, data });
    }

    /// Opens a session after a compaction.
    pub(super) fn compact(&mut self, thread: &str, at: Option<Timestamp>, summary: Option<String>) {
        let summary = summary.map(cut).filter(|summary| !summary.trim().is_empty());
        let thread = self.thread(thread);
        thread.see(at);
        thread.sessions.push(ThreadSession { at, summary, entries: Vec::new() });
    }

    pub(super) fn finish(self, to: TranscriptCursor, malformed: Vec<MalformedLine>, is_end: bool) -> TranscriptPart {
        TranscriptPart { to, threads: self.threads, malformed, ignored: self.ignored, is_end }
    }
}

impl ThreadPart {
    fn see(&mut self, at: Option<Timestamp>) {
        self.first_at = self.first_at.into_iter().chain(at).min();
        self.last_at = self.last_at.into_iter().chain(at).max();
    }

    /// Notes a fact, unless it is missing or empty.
    pub(super) fn fact(&mut self, name: &str, value: Option<&Value>) {
        if let Some(value) = value.filter(|value| !(value.is_null() || **value == "")) {
            self.facts.insert(name.to_owned(), shallow(value.clone()));
        }
    }

    pub(super) fn name(&mut self, title: &str) {
        let words = text::printable_line(title).split_whitespace().collect::<Vec<_>>().join(" ");
        let line: String = words.chars().take(MAX_TITLE_CHARS).collect();
        if !line.is_empty() {
            self.title = Some(line.trim_end().to_owned());
        }
    }
}

/// Cuts a text that is too long for an entry.
fn cut(mut text: String) -> String {
    if text.len() > MAX_TEXT_BYTES {
        let all = text.len();
        let end = (0..=MAX_TEXT_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        text.truncate(end);
        text.push_str(&format!("\n[{} of {all} bytes left out]", all - end));
    }
    text
}

/// A value as it is, or as text if it is nested too deeply to be stored.
fn shallow(value: Value) -> Value {
    fn is_within(value: &Value, levels: usize) -> bool {
        match value {
            Value::Array(items) => levels > 0 && items.iter().all(|item| is_within(item, levels - 1)),
            Value::Object(fields) => levels > 0 && fields.values().all(|field| is_within(field, levels - 1)),
            _ => true,
        }
    }
    if is_within(&value, MAX_DEPTH - LEVELS_AROUND) { value } else { Value::String(value.to_string()) }
}

/// The text of a message: a string, or the texts of a list of blocks. An image or file is named by its type.
pub(super) fn text_of(content: &Value) -> String {
    let block = |block: &Value| match block {
        Value::String(text) => Some(text.clone()),
        Value::Object(fields) => match fields.get("text").and_then(Value::as_str) {
            Some(text) => Some(text.to_owned()),
            None => fields.get("type").and_then(Value::as_str).map(|kind| {
                let media = fields.get("source").unwrap_or(block);
                let media = media.get("media_type").or_else(|| media.get("mimeType")).and_then(Value::as_str);
                format!("[{}]", [Some(kind), media].into_iter().flatten().collect::<Vec<_>>().join(" "))
            }),
        },
        Value::Null => None,
        other => Some(other.to_string()),
    };
    match content {
        Value::Array(blocks) => blocks.iter().filter_map(block).collect::<Vec<_>>().join("\n"),
        content => block(content).unwrap_or_default(),
    }
}

/// Adds the commits that a tool says it made: `[main 1a2b3c4] subject`.
pub(super) fn add_commits(known: &mut Vec<Value>, output: &str) {
    for line in output.lines() {
        let Some((head, _)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) else { continue };
        let Some((_, id)) = head.rsplit_once(' ') else { continue };
        let is_id = (7..=40).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_id && known.len() < MAX_COMMITS && !known.iter().any(|known| known == id) {
            known.push(id.into());
        }
    }
}

//! Parses transcripts of Gemini CLI: `~/.gemini/tmp/<project>/chats/session-*.jsonl`, and the older `.json`.
//!
//! A message may be written again with more in it; only what is new is taken. Messages that were rewound were paid for, so
//! they stay. `input` includes what was cached; thoughts count as output.

use std::collections::VecDeque;
use std::io::Read;

use pensa_core::{Code, Error, Result, Timestamp};
use serde_json::{Map, Value, json};

use super::part::{CallOfTool, PartBuilder, text_of};
use super::{PART_BYTES, PartSource, Transcript, TranscriptCursor, TranscriptPart, rewritten};
use crate::files::{self, time};

/// Messages that may still be written again.
const MAX_RECENT: usize = 256;
/// Size limit of an older file, which is read as a whole.
const MAX_FILE: u64 = 64 << 20;

#[derive(Debug)]
pub(super) struct GeminiParser {
    thread: String,
    /// The last messages: their ids, and how much of each was taken.
    recent: VecDeque<TakenMessage>,
}

#[derive(Debug, Default)]
struct TakenMessage {
    id: String,
    has_text: bool,
    calls: usize,
    results: usize,
    tokens: Value,
}

impl GeminiParser {
    pub(super) fn new(transcript: &Transcript, state: Map<String, Value>) -> Self {
        let taken = |value: &Value| {
            let count =
                |name: &str| value[name].as_u64().and_then(|count| usize::try_from(count).ok()).unwrap_or_default();
            Some(TakenMessage {
                id: value["id"].as_str()?.to_owned(),
                has_text: value["text"] == true,
                calls: count("calls"),
                results: count("results"),
                tokens: value["tokens"].clone(),
            })
        };
        let recent = state.get("recent").and_then(Value::as_array).into_iter().flatten().filter_map(taken).collect();
        Self { thread: transcript.id.clone(), recent }
    }

    fn describe(&self, about: &Map<String, Value>, part: &mut PartBuilder) {
        let thread = part.thread(&self.thread);
        if let Some(title) = about.get("summary").and_then(Value::as_str) {
            thread.name(title);
        }
        thread.is_subagent |= about.get("kind").is_some_and(|kind| kind == "subagent");
        for (name, field) in [("session", "sessionId"), ("project_hash", "projectHash"), ("directories", "directories")]
        {
            thread.fact(name, about.get(field));
        }
    }

    fn message(&mut self, message: &Map<String, Value>, part: &mut PartBuilder) {
        let text = |name: &str| message.get(name).and_then(Value::as_str);
        let (at, id) = (message.get("timestamp").and_then(time), text("id").unwrap_or_default());
        let said = message.get("displayContent").or(message.get("content")).map(text_of).unwrap_or_default();
        let mut taken = match self.recent.iter().position(|taken| taken.id == id) {
            Some(at) => self.recent.remove(at).unwrap_or_default(),
            None => TakenMessage { id: id.to_owned(), ..TakenMessage::default() },
        };
        let is_new_text = !taken.has_text && !said.trim().is_empty();
        let said = if is_new_text { said } else { String::new() };
        taken.has_text |= is_new_text;
        match text("type").unwrap_or_default() {
            "user" if is_new_text => part.user(&self.thread, at, said),
            "user" => {}
            "gemini" => self.reply(message, said, &mut taken, at, part),
            kind @ ("info" | "error" | "warning") => part.note(&self.thread, at, kind, said),
            kind => part.ignore(&format!("message {kind}")),
        }
        if self.recent.len() == MAX_RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(taken);
    }

    fn reply(
        &self,
        message: &Map<String, Value>,
        said: String,
        taken: &mut TakenMessage,
        at: Option<Timestamp>,
        part: &mut PartBuilder,
    ) {
        part.thread(&self.thread).fact("model", message.get("model"));
        let all = message.get("toolCalls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let id_of =
            |at: usize, call: &Value| call["id"].as_str().map_or_else(|| format!("{}-{at}", taken.id), str::to_owned);
        let calls = all.iter().enumerate().skip(taken.calls).map(|(at, call)| CallOfTool {
            id: id_of(at, call),
            name: call["name"].as_str().unwrap_or("unknown").to_owned(),
            arguments: call.get("args").cloned().unwrap_or_default(),
        });
        let calls: Vec<CallOfTool> = calls.collect();
        let tokens = message.get("tokens").filter(|tokens| tokens.is_object());
        let usage = tokens.filter(|tokens| **tokens != taken.tokens).map(|tokens| {
            let mut said = json!({"id": format!("{}:{}", self.thread, taken.id), "usage": usage(tokens)});
            if let Some(model) = message.get("model").filter(|model| model.is_string()) {
                said["model"] = model.clone();
            }
            said
        });
        part.assistant(&self.thread, at, (said, calls), usage, None);
        // Results come in the order of calls; those of later calls wait for it.
        let done = |call: &&Value| call.get("result").is_some_and(|result| !result.is_null());
        let ended = |call: &Value| matches!(call["status"].as_str(), Some("success" | "error" | "cancelled"));
        let finished: Vec<&Value> = all.iter().take_while(|call| done(call) || ended(call)).collect();
        for (at_call, call) in finished.iter().enumerate().skip(taken.results) {
            let output = call.get("resultDisplay").filter(|shown| shown.is_string()).map(text_of);
            let output = output.or_else(|| call.get("result").map(result_text)).unwrap_or_default();
            let is_error = matches!(call["status"].as_str(), Some("error" | "cancelled"));
            let at = call.get("timestamp").and_then(time).or(at);
            part.result(&self.thread, at, &id_of(at_call, call), (output, is_error));
        }
        (taken.calls, taken.results) = (all.len().max(taken.calls), finished.len().max(taken.results));
        taken.tokens = tokens.cloned().unwrap_or_else(|| taken.tokens.take());
    }

    /// Takes messages that replace or continue those before.
    fn messages(&mut self, list: &[Value], part: &mut PartBuilder) {
        list.iter().filter_map(Value::as_object).for_each(|message| self.message(message, part));
    }
}

/// The tokens of a reply. Tokens for the results of tools are input that is not in `input`.
fn usage(tokens: &Value) -> Value {
    let count = |name: &str| tokens[name].as_i64().unwrap_or_default().max(0);
    let cached = count("cached").min(count("input"));
    let input = count("input") - cached + count("tool");
    let output = count("output") + count("thoughts");
    let total = count("total").max(input + cached + output);
    json!({"input": input, "output": output, "cache_read": cached, "cache_write": 0, "total": total})
}

/// The text of a result: parts with `functionResponse.response.output`, or plain parts.
fn result_text(result: &Value) -> String {
    let of_part = |part: &Value| match part.pointer("/functionResponse/response") {
        Some(response) => match response.get("output").or(response.get("error")) {
            Some(output) => text_of(output),
            None => response.to_string(),
        },
        None => text_of(part),
    };
    match result {
        Value::Array(parts) => parts.iter().map(of_part).collect::<Vec<_>>().join("\n"),
        other => of_part(other),
    }
}

impl super::lines::LineParser for GeminiParser {
    fn line(&mut self, record: Map<String, Value>, part: &mut PartBuilder) {
        if let Some(to) = record.get("$rewindTo") {
            let to = to.as_str().unwrap_or_default();
            part.note(&self.thread.clone(), None, "rewound", format!("rewound to before message {to}"));
        } else if let Some(set) = record.get("$set").and_then(Value::as_object) {
            self.describe(set, part);
            // A checkpoint repeats messages; those that are not recent any more were taken long ago.
            let list = set.get("messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let recent = list.len().saturating_sub(MAX_RECENT);
            self.messages(&list[recent..], part);
        } else if record.get("id").is_some_and(Value::is_string) && record.contains_key("type") {
            self.message(&record, part);
        } else if record.contains_key("sessionId") {
            self.describe(&record, part);
            self.messages(
                record.get("messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default(),
                part,
            );
        } else {
            part.ignore("unknown record");
        }
    }

    fn state(&self) -> Map<String, Value> {
        let taken = |taken: &TakenMessage| {
            json!({"id": taken.id, "text": taken.has_text, "calls": taken.calls, "results": taken.results,
                "tokens": taken.tokens})
        };
        Map::from_iter([("recent".to_owned(), self.recent.iter().map(taken).collect())])
    }
}

/// An older transcript: one object with all messages, written anew for each.
pub(super) struct GeminiFile {
    parser: GeminiParser,
    messages: Vec<Value>,
    about: Map<String, Value>,
    transcript: Transcript,
    next: usize,
    last_id: String,
    is_first: bool,
}

impl GeminiFile {
    pub(super) fn open(transcript: &Transcript, from: TranscriptCursor) -> Result<Self> {
        let path = &transcript.path;
        let file = files::open(path).map_err(Error::invalid)?;
        let mut file = file.ok_or_else(|| Error::not_found("transcript", path.display()))?.take(MAX_FILE + 1);
        let mut bytes = Vec::new();
        let failed = |e| Error::new(Code::Internal, format!("cannot read {}: {e}", path.display()));
        if file.read_to_end(&mut bytes).map_err(failed)? as u64 > MAX_FILE {
            return Err(Error::new(Code::TooLarge, format!("{} has more than {MAX_FILE} bytes", path.display())));
        }
        let Ok(Value::Object(mut about)) = files::object(files::without_bom(&bytes)) else {
            return Err(Error::invalid(format!("{} is not a JSON object", path.display())));
        };
        let Some(Value::Array(messages)) = about.shift_remove("messages") else {
            return Err(Error::invalid(format!("{} has no messages", path.display())));
        };
        let next = usize::try_from(from.lines).unwrap_or(usize::MAX);
        let id = |message: Option<&Value>| message.and_then(|m| m["id"].as_str()).unwrap_or_default().to_owned();
        if next > messages.len() || next > 0 && id(messages.get(next - 1)) != from.tail {
            return Err(rewritten(transcript));
        }
        let parser = GeminiParser::new(transcript, from.state);
        Ok(Self { parser, messages, about, transcript: transcript.clone(), next, last_id: from.tail, is_first: true })
    }
}

impl PartSource for GeminiFile {
    fn next_part(&mut self) -> Result<TranscriptPart> {
        use super::lines::LineParser;
        let mut part = PartBuilder::default();
        // The last message may have been written again with more in it.
        let again = usize::from(std::mem::take(&mut self.is_first));
        let (mut at, mut size) = (self.next.saturating_sub(again), 0);
        while at < self.messages.len() && size < PART_BYTES {
            let message = std::mem::take(&mut self.messages[at]);
            size += message.to_string().len() as u64;
            if let Value::Object(fields) = &message {
                self.parser.message(fields, &mut part);
                self.last_id = fields.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
            }
            self.messages[at] = json!({"id": self.last_id});
            at += 1;
        }
        self.next = at;
        if part.first().is_some() {
            self.parser.describe(&self.about, &mut part);
            self.transcript.describe(&mut part);
        }
        let lines = self.next as u64;
        let to = TranscriptCursor { bytes: 0, lines, tail: self.last_id.clone(), state: self.parser.state() };
        Ok(part.finish(to, Vec::new(), self.next == self.messages.len()))
    }
}

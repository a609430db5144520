//! Parses transcripts of Copilot CLI: `~/.copilot/session-state/<id>/events.jsonl`.
//!
//! Most files have no usage of single replies but the sums of each run of the program, in `session.shutdown`. A file that
//! has `assistant.usage` is counted by that. `inputTokens` includes what was cached.

use pensa_core::Timestamp;
use serde_json::{Map, Value, json};

use super::Transcript;
use super::part::{CallOfTool, PartBuilder, text_of};
use crate::files::time;

/// Events without anything for a conversation.
const BOOKKEEPING: [&str; 14] = [
    "assistant.intent",
    "assistant.message_delta",
    "assistant.reasoning",
    "assistant.reasoning_delta",
    "assistant.turn_end",
    "assistant.turn_start",
    "hook.end",
    "hook.start",
    "pending_messages.modified",
    "session.compaction_start",
    "session.idle",
    "session.truncation",
    "session.usage_info",
    "tool.user_requested",
];

#[derive(Debug)]
pub(super) struct CopilotParser {
    thread: String,
    model: Option<String>,
    /// Whether single replies of this run of the program say what they used.
    has_usage: bool,
    events: u64,
}

impl CopilotParser {
    pub(super) fn new(transcript: &Transcript, state: Map<String, Value>) -> Self {
        Self {
            thread: transcript.id.clone(),
            model: state.get("model").and_then(Value::as_str).map(str::to_owned),
            has_usage: state.get("has_usage") == Some(&Value::Bool(true)),
            events: state.get("events").and_then(Value::as_u64).unwrap_or_default(),
        }
    }

    fn start(&mut self, data: &Value, part: &mut PartBuilder) {
        self.has_usage = false;
        let model = data.get("selectedModel").or(data.get("model"));
        self.model = model.and_then(Value::as_str).map(str::to_owned).or(self.model.take());
        let thread = part.thread(&self.thread);
        for (name, field) in [
            ("version", "/copilotVersion"),
            ("producer", "/producer"),
            ("cwd", "/context/cwd"),
            ("branch", "/context/branch"),
            ("repository", "/context/repository"),
            ("commit", "/context/headCommit"),
        ] {
            thread.fact(name, data.pointer(field));
        }
        thread.fact("model", self.model.as_ref().map(|model| json!(model)).as_ref());
    }

    fn message(&self, data: &Value, at: Option<Timestamp>, part: &mut PartBuilder) {
        let requests = data.get("toolRequests").and_then(Value::as_array).into_iter().flatten();
        let calls = requests.map(|call| {
            let text = |name: &str| call.get(name).and_then(Value::as_str);
            let arguments = call.get("arguments").cloned().unwrap_or_default();
            let arguments = match arguments.as_str().and_then(|text| serde_json::from_str(text).ok()) {
                Some(Value::Object(parsed)) => Value::Object(parsed),
                _ => arguments,
            };
            let id = text("toolCallId").unwrap_or_default().to_owned();
            CallOfTool { id, name: text("name").unwrap_or("unknown").to_owned(), arguments }
        });
        let said = data.get("content").map(text_of).unwrap_or_default();
        part.assistant(&self.thread, at, (said, calls.collect()), None, None);
    }

    fn result(&self, data: &Value, at: Option<Timestamp>, part: &mut PartBuilder) {
        let call = data.get("toolCallId").and_then(Value::as_str).unwrap_or_default();
        let is_error = data.get("success") == Some(&Value::Bool(false));
        let output =
            [data.pointer("/result/content"), data.get("result"), data.pointer("/error/message"), data.get("error")];
        let output = output.into_iter().flatten().find(|output| output.is_string() || output.is_array());
        part.result(&self.thread, at, call, (output.map(text_of).unwrap_or_default(), is_error));
    }

    /// Adds what one reply, or a run of the program, used.
    fn usage(&self, id: &str, model: Option<&str>, counts: &Value, at: Option<Timestamp>, part: &mut PartBuilder) {
        let count = |name: &str| counts.get(name).and_then(Value::as_f64).map_or(0, |count| count.max(0.0) as i64);
        let (input, output) = (count("inputTokens"), count("outputTokens"));
        let (read, write) = (count("cacheReadTokens"), count("cacheWriteTokens"));
        let rest = if input >= read + write { input - read - write } else { (input - read).max(0) };
        let usage = json!({"input": rest, "output": output, "cache_read": read, "cache_write": write,
            "total": rest + output + read + write});
        let mut message = json!({"id": format!("{}:{id}", self.thread), "usage": usage});
        if let Some(model) = model {
            message["model"] = json!(model);
        }
        part.assistant(&self.thread, at, (String::new(), Vec::new()), Some(message), None);
    }
}

impl super::lines::LineParser for CopilotParser {
    fn line(&mut self, record: Map<String, Value>, part: &mut PartBuilder) {
        self.events += 1;
        let at = record.get("timestamp").and_then(time);
        let data = record.get("data").unwrap_or(&Value::Null);
        let text = |name: &str| data.get(name).and_then(Value::as_str);
        let id = record.get("id").and_then(Value::as_str).map_or_else(|| self.events.to_string(), str::to_owned);
        match record.get("type").and_then(Value::as_str).unwrap_or_default() {
            "session.start" | "session.resume" => self.start(data, part),
            "session.model_change" => self.model = text("newModel").map(str::to_owned).or(self.model.take()),
            "session.title_changed" => part.thread(&self.thread).name(text("title").unwrap_or_default()),
            "session.context_changed" => {
                let thread = part.thread(&self.thread);
                for name in ["cwd", "branch", "repository"] {
                    thread.fact(name, data.get(name));
                }
            }
            "user.message" => part.user(&self.thread, at, data.get("content").map(text_of).unwrap_or_default()),
            "assistant.message" => self.message(data, at, part),
            "tool.execution_start" => {
                // The message has the call already.
            }
            "tool.execution_complete" => self.result(data, at, part),
            "assistant.usage" => {
                self.has_usage = true;
                self.usage(&id, text("model").or(self.model.as_deref()), data, at, part);
            }
            "session.shutdown" => {
                let metrics = data.get("modelMetrics").and_then(Value::as_object);
                for (model, metrics) in metrics.into_iter().flatten().filter(|_| !self.has_usage) {
                    let counts = metrics.get("usage").unwrap_or(metrics);
                    self.usage(&format!("{id}:{model}"), Some(model), counts, at, part);
                }
                self.has_usage = false;
            }
            "session.compaction_complete" if data.get("success") != Some(&Value::Bool(false)) => {
                part.compact(&self.thread, at, text("summaryContent").or(text("summary")).map(str::to_owned));
            }
            kind @ ("session.error" | "session.warning" | "session.info" | "abort" | "system.message") => {
                let said = text("message").or(text("reason")).or(text("content")).unwrap_or_default();
                part.note(&self.thread, at, kind, said.to_owned());
            }
            kind @ ("subagent.started" | "subagent.completed" | "subagent.failed") => {
                let name = text("agentDisplayName").or(text("agentName")).unwrap_or_default();
                part.note(
                    &self.thread,
                    at,
                    kind,
                    [name, text("error").unwrap_or_default()].join(" ").trim().to_owned(),
                );
            }
            kind if BOOKKEEPING.contains(&kind) => {}
            kind => part.ignore(if kind.is_empty() { "without type" } else { kind }),
        }
    }

    fn state(&self) -> Map<String, Value> {
        let mut state = Map::from_iter([
            ("has_usage".to_owned(), json!(self.has_usage)),
            ("events".to_owned(), json!(self.events)),
        ]);
        state.extend(self.model.as_ref().map(|model| ("model".to_owned(), json!(model))));
        state
    }
}

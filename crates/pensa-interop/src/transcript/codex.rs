//! Parses transcripts of Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<thread>[_<rollout>].jsonl`, also
//! compressed. Several rollouts may be of one thread.
//!
//! Usage is what `last_token_usage` says each time that `total_token_usage` changes: the same event may be written again,
//! and totals restart. `input_tokens` includes what was cached. A fork begins with a copy of the events of the thread that
//! it came from; `copy_of` names the original, so that it is counted once.

use pensa_core::Timestamp;
use pensa_core::similar::hash64;
use serde_json::{Map, Value, json};

use super::Transcript;
use super::part::{CallOfTool, PartBuilder, add_commits, text_of};
use crate::files::time;

/// The beginnings of messages that Codex writes in the user's name.
const CONTEXT: [&str; 5] = [
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
];
/// Events that repeat what response items say, or have nothing for a conversation.
const BOOKKEEPING: [&str; 6] = [
    "user_message",
    "agent_message",
    "agent_reasoning",
    "agent_reasoning_raw_content",
    "context_compacted",
    "task_started",
];
/// The number of fields of a usage.
const COUNTS: [&str; 4] = ["input_tokens", "cached_input_tokens", "output_tokens", "total_tokens"];

#[derive(Debug)]
pub(super) struct CodexParser {
    thread: String,
    /// Whether the thread's own description was read. Forks have others after it.
    is_described: bool,
    forked_from: Option<String>,
    model: Option<String>,
    /// The last total, to notice when it changes.
    total: Option<Value>,
    commits: Vec<Value>,
    line: u64,
}

/// The thread in the id of a transcript, which has the rollout too if it is not the only one.
pub(super) fn thread_of(id: &str) -> &str {
    id.split('_').next().unwrap_or(id)
}

impl CodexParser {
    pub(super) fn new(transcript: &Transcript, state: Map<String, Value>) -> Self {
        let text = |name: &str| state.get(name).and_then(Value::as_str).map(str::to_owned);
        Self {
            thread: thread_of(&transcript.id).to_owned(),
            is_described: !state.is_empty(),
            forked_from: text("forked_from"),
            model: text("model"),
            total: state.get("total").cloned(),
            commits: state.get("commits").and_then(Value::as_array).cloned().unwrap_or_default(),
            line: state.get("line").and_then(Value::as_u64).unwrap_or_default(),
        }
    }

    fn session_meta(&mut self, meta: &Value, part: &mut PartBuilder) {
        if self.is_described {
            return;
        }
        self.is_described = true;
        self.forked_from = meta.get("forked_from_id").and_then(Value::as_str).map(str::to_owned);
        let spawn = meta.pointer("/source/subagent/thread_spawn/parent_thread_id");
        let parent = meta.get("parent_thread_id").or(spawn).and_then(Value::as_str);
        let thread = part.thread(&self.thread);
        thread.parent = parent.map(str::to_owned);
        thread.is_subagent = parent.is_some() || meta.pointer("/source/subagent").is_some();
        for (name, field) in [
            ("cwd", "/cwd"),
            ("version", "/cli_version"),
            ("originator", "/originator"),
            ("source", "/source"),
            ("history_mode", "/history_mode"),
            ("forked_from", "/forked_from_id"),
            ("branch", "/git/branch"),
            ("commit", "/git/commit_hash"),
            ("repository", "/git/repository_url"),
        ] {
            thread.fact(name, meta.pointer(field));
        }
    }

    fn item(&mut self, item: &Value, at: Option<Timestamp>, part: &mut PartBuilder) {
        let text = |name: &str| item.get(name).and_then(Value::as_str);
        let thread = self.thread.clone();
        let call = |name: &str, arguments: Value, part: &mut PartBuilder| {
            let id = text("call_id").or(text("id")).map_or_else(|| format!("line-{}", self.line), str::to_owned);
            let call = CallOfTool { id, name: name.to_owned(), arguments };
            part.assistant(&thread, at, (String::new(), vec![call]), None, None);
        };
        match text("type").unwrap_or_default() {
            "message" => {
                let said = item.get("content").map(text_of).unwrap_or_default();
                match text("role") {
                    _ if said.trim().is_empty() => {}
                    Some("assistant") => part.assistant(&thread, at, (said, Vec::new()), None, None),
                    Some("user") if !CONTEXT.iter().any(|start| said.trim_start().starts_with(start)) => {
                        part.user(&thread, at, said);
                    }
                    _ => part.note(&thread, at, "context", said),
                }
            }
            "function_call" => {
                let given = text("arguments").unwrap_or_default();
                let arguments = serde_json::from_str(given).unwrap_or_else(|_| json!(given));
                call(text("name").unwrap_or("unknown"), arguments, part);
            }
            "custom_tool_call" => {
                call(text("name").unwrap_or("unknown"), json!({"input": text("input").unwrap_or_default()}), part);
            }
            "local_shell_call" => call("local_shell", item.get("action").cloned().unwrap_or_default(), part),
            "web_search_call" => call("web_search", item.get("action").cloned().unwrap_or_default(), part),
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
                let (output, is_error) = output(item.get("output").unwrap_or(&Value::Null));
                add_commits(&mut self.commits, &output);
                if !self.commits.is_empty() {
                    part.thread(&thread).fact("commits", Some(&json!(self.commits)));
                }
                part.result(&thread, at, text("call_id").unwrap_or_default(), (output, is_error));
            }
            // Encrypted, and left out like all thinking.
            "reasoning" => {}
            kind => part.ignore(&format!("response_item {kind}")),
        }
    }

    fn event(&mut self, event: &Value, at: Option<Timestamp>, part: &mut PartBuilder) {
        let text = |name: &str| event.get(name).and_then(Value::as_str);
        match text("type").unwrap_or_default() {
            "token_count" => self.usage(event.get("info").unwrap_or(&Value::Null), at, part),
            "thread_name_updated" => {
                if let Some(name) = text("thread_name").or(text("name")) {
                    part.thread(&self.thread).name(name);
                }
            }
            kind @ ("error" | "warning" | "turn_aborted" | "stream_error") => {
                let said = text("message").or(text("reason")).unwrap_or_default();
                part.note(&self.thread.clone(), at, kind, said.to_owned());
            }
            kind if BOOKKEEPING.contains(&kind) => {}
            kind => part.ignore(&format!("event_msg {kind}")),
        }
    }

    fn usage(&mut self, info: &Value, at: Option<Timestamp>, part: &mut PartBuilder) {
        let Some(total) = info.get("total_token_usage").filter(|total| total.is_object()) else { return };
        if self.total.as_ref() == Some(total) {
            return;
        }
        let counts =
            |usage: &Value| COUNTS.map(|name| usage.get(name).and_then(Value::as_i64).unwrap_or_default().max(0));
        let [input, cached, output, all] = match info.get("last_token_usage").filter(|last| last.is_object()) {
            Some(last) => counts(last),
            None => {
                let before = self.total.as_ref().map(counts).unwrap_or_default();
                let now = counts(total);
                std::array::from_fn(|at| now[at].saturating_sub(before[at]).max(0))
            }
        };
        self.total = Some(total.clone());
        let event = json!([counts(total), [input, cached, output, all]]);
        let id = |thread: &str| format!("{thread}:{:016x}", hash64(event.to_string().as_bytes()));
        let cached = cached.min(input);
        let total = all.max(input + output);
        let mut message = json!({"id": id(&self.thread), "usage": {"input": input - cached, "output": output,
            "cache_read": cached, "cache_write": 0, "total": total}});
        if let Some(model) = &self.model {
            message["model"] = json!(model);
        }
        if let Some(original) = &self.forked_from {
            message["copy_of"] = json!(id(original));
        }
        part.assistant(&self.thread.clone(), at, (String::new(), Vec::new()), Some(message), None);
    }
}

/// The text of an output, and whether it is an error. Some outputs are objects, some are their JSON.
fn output(value: &Value) -> (String, bool) {
    let parsed = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok()).filter(Value::is_object);
    let Some(object) = parsed.as_ref().or(Some(value)).filter(|value| value.is_object()) else {
        return (text_of(value), false);
    };
    let exit = object.pointer("/metadata/exit_code").and_then(Value::as_i64);
    let is_error = exit.is_some_and(|code| code != 0) || object.get("success") == Some(&Value::Bool(false));
    match object.get("output").or(object.get("content")) {
        Some(text) => (text_of(text), is_error),
        None => (value.as_str().map_or_else(|| object.to_string(), str::to_owned), is_error),
    }
}

impl super::lines::LineParser for CodexParser {
    fn line(&mut self, record: Map<String, Value>, part: &mut PartBuilder) {
        self.line += 1;
        let at = record.get("timestamp").and_then(time);
        let payload = record.get("payload").unwrap_or(&Value::Null);
        match record.get("type").and_then(Value::as_str).unwrap_or_default() {
            "session_meta" => self.session_meta(payload, part),
            "turn_context" => {
                self.model = payload.get("model").and_then(Value::as_str).map(str::to_owned).or(self.model.take());
                let thread = part.thread(&self.thread);
                thread.fact("model", payload.get("model"));
                thread.fact("cwd", payload.get("cwd"));
            }
            "response_item" => self.item(payload, at, part),
            "event_msg" => self.event(payload, at, part),
            "compacted" => {
                let summary = payload.get("message").and_then(Value::as_str).map(str::to_owned);
                part.compact(&self.thread.clone(), at, summary);
            }
            "world_state" => {}
            kind => part.ignore(if kind.is_empty() { "without type" } else { kind }),
        }
    }

    fn state(&self) -> Map<String, Value> {
        let mut state = Map::from_iter([("line".to_owned(), json!(self.line))]);
        let text = |text: &Option<String>| text.as_ref().map(|text| json!(text));
        for (name, value) in [
            ("forked_from", text(&self.forked_from)),
            ("model", text(&self.model)),
            ("total", self.total.clone()),
            ("commits", Some(json!(self.commits)).filter(|_| !self.commits.is_empty())),
        ] {
            state.extend(value.map(|value| (name.to_owned(), value)));
        }
        state
    }
}

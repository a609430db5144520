//! Parses transcripts of Claude Code: `~/.claude/projects/<slug>/<session>.jsonl`.
//!
//! A reply spans several lines, one for each block, which share `message.id` and repeat `usage`; consecutive ones become
//! one entry. Subagents are in lines with `isSidechain`, or in files of their own.

use std::collections::{BTreeMap, VecDeque};

use pensa_core::Timestamp;
use serde_json::{Map, Value, json};

use super::Transcript;
use super::lines::LineParser;
use super::part::{CallOfTool, PartBuilder, add_commits, text_of};
use crate::files::time;

/// Most lines of subagents and calls that are remembered to find what they belong to.
const MAX_REMEMBERED: usize = 1000;
/// Records without anything for a conversation.
const BOOKKEEPING: [&str; 6] =
    ["progress", "file-history-snapshot", "file-history-delta", "queue-operation", "attachment", "last-prompt"];
/// The model of messages that no model wrote, such as errors.
const SYNTHETIC: &str = "<synthetic>";

#[derive(Debug)]
pub(super) struct ClaudeCodeParser {
    /// The session, or the file's name until its lines say which agent of which session it is.
    main: String,
    /// Whether the whole file is about a subagent.
    is_subagent_file: bool,
    reply: Option<ClaudeReply>,
    /// A compaction whose summary comes next.
    compaction: Option<Option<Timestamp>>,
    /// How strong the title is that was seen last.
    title_rank: u64,
    /// The threads of recent lines of subagents that have no id of their own.
    sidechains: VecDeque<(String, String)>,
    last_sidechain: Option<String>,
    /// Recent calls that commit.
    committing: VecDeque<String>,
    commits: Vec<Value>,
    pull_requests: Vec<Value>,
}

/// A reply whose lines are being read.
#[derive(Debug)]
struct ClaudeReply {
    thread: String,
    id: String,
    at: Option<Timestamp>,
    request_id: Option<String>,
    message: Value,
    texts: Vec<String>,
    calls: Vec<CallOfTool>,
}

impl ClaudeCodeParser {
    pub(super) fn new(transcript: &Transcript, state: Map<String, Value>) -> Self {
        let text = |name: &str| state.get(name).and_then(Value::as_str).map(str::to_owned);
        let list = |name: &str| state.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
        let file = transcript.path.file_stem().unwrap_or_default().to_string_lossy();
        Self {
            main: text("main").unwrap_or_else(|| transcript.id.clone()),
            is_subagent_file: file.starts_with("agent-"),
            reply: None,
            compaction: state.get("compacted_at").map(time),
            title_rank: state.get("title_rank").and_then(Value::as_u64).unwrap_or_default(),
            sidechains: VecDeque::new(),
            last_sidechain: text("sidechain"),
            committing: VecDeque::new(),
            commits: list("commits"),
            pull_requests: list("pull_requests"),
        }
    }

    /// The thread of a line.
    fn thread(&mut self, record: &Map<String, Value>, part: &mut PartBuilder) -> String {
        let text = |name: &str| record.get(name).and_then(Value::as_str);
        let main = self.main.clone();
        let is_sidechain = record.get("isSidechain") == Some(&Value::Bool(true));
        if self.is_subagent_file {
            let thread = part.thread(&main);
            thread.is_subagent = true;
            thread.parent = text("sessionId").map(str::to_owned).filter(|session| *session != main);
            return main;
        }
        if !is_sidechain {
            return main;
        }
        // Lines without an id belong to the subagent of the line before them.
        let follows = |parser: &Self| {
            let parent = text("parentUuid")?;
            parser.sidechains.iter().rev().find(|(uuid, _)| uuid == parent).map(|(_, thread)| thread.clone())
        };
        let thread = match (text("agentId"), text("parentUuid")) {
            (Some(agent), _) => format!("{main}/{agent}"),
            (None, Some(_)) => {
                follows(self).or_else(|| self.last_sidechain.clone()).unwrap_or_else(|| format!("{main}/subagent"))
            }
            (None, None) => format!("{main}/{}", text("uuid").unwrap_or("subagent")),
        };
        if let Some(uuid) = text("uuid") {
            remember(&mut self.sidechains, (uuid.to_owned(), thread.clone()));
        }
        self.last_sidechain = Some(thread.clone());
        let sub = part.thread(&thread);
        (sub.is_subagent, sub.parent) = (true, Some(main));
        thread
    }

    fn assistant(&mut self, record: Map<String, Value>, part: &mut PartBuilder) {
        let thread = self.thread(&record, part);
        let at = record.get("timestamp").and_then(time);
        let Some(message) = record.get("message").and_then(Value::as_object) else { return part.ignore("assistant") };
        let id = message.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_same =
            self.reply.as_ref().is_some_and(|reply| reply.id == id && reply.thread == thread && !id.is_empty());
        if !is_same {
            self.flush(part);
        }
        let request_id = record.get("requestId").and_then(Value::as_str).map(str::to_owned);
        let model = message.get("model").and_then(Value::as_str).unwrap_or_default();
        if model != SYNTHETIC && !model.is_empty() {
            part.thread(&thread).fact("model", message.get("model"));
        }
        let reply = self.reply.get_or_insert_with(|| ClaudeReply {
            thread,
            id: id.clone(),
            at,
            request_id: request_id.clone(),
            message: json!({"id": id}),
            texts: Vec::new(),
            calls: Vec::new(),
        });
        reply.request_id = request_id.or(reply.request_id.take());
        if model != SYNTHETIC {
            for name in ["model", "usage"] {
                if let Some(value) = message.get(name).filter(|value| !value.is_null()) {
                    reply.message[name] = value.clone();
                }
            }
        }
        match message.get("content") {
            Some(Value::Array(blocks)) => blocks.iter().for_each(|block| reply.take(block, &mut self.committing)),
            Some(Value::String(text)) => reply.texts.push(text.clone()),
            _ => {}
        }
    }

    fn user(&mut self, record: &Map<String, Value>, part: &mut PartBuilder) {
        self.flush(part);
        let thread = self.thread(record, part);
        let at = record.get("timestamp").and_then(time);
        let is = |name: &str| record.get(name) == Some(&Value::Bool(true));
        let content = record.get("message").and_then(|message| message.get("content")).unwrap_or(&Value::Null);
        if is("isCompactSummary") {
            let begun = self.compaction.take().flatten();
            return part.compact(&thread, begun.or(at), Some(text_of(content)));
        }
        self.end_compaction(&thread, part);
        let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
        let is_result = |block: &&Value| block.get("type").is_some_and(|kind| kind == "tool_result");
        for block in blocks.iter().filter(is_result) {
            let call = block.get("tool_use_id").and_then(Value::as_str).unwrap_or_default();
            let output = block.get("content").map(text_of).unwrap_or_default();
            if self.committing.iter().any(|id| id == call) {
                add_commits(&mut self.commits, &output);
                let all = json!(self.commits);
                part.thread(&thread).fact("commits", Some(&all).filter(|_| !self.commits.is_empty()));
            }
            let is_error = block.get("is_error") == Some(&Value::Bool(true));
            part.result(&thread, at, call, (output, is_error));
        }
        let said: Vec<Value> = blocks.iter().filter(|block| !is_result(block)).cloned().collect();
        let text = if blocks.is_empty() { text_of(content) } else { text_of(&Value::Array(said)) };
        if is("isMeta") {
            part.note(&thread, at, "meta", text);
        } else if !text.trim().is_empty() {
            part.user(&thread, at, text);
        }
    }

    fn system(&mut self, record: &Map<String, Value>, part: &mut PartBuilder) {
        self.flush(part);
        let at = record.get("timestamp").and_then(time);
        let kind = record.get("subtype").and_then(Value::as_str).unwrap_or("system");
        if kind == "compact_boundary" {
            self.compaction = Some(at);
            return;
        }
        let thread = self.thread(record, part);
        let text = record.get("content").map(text_of).unwrap_or_default();
        if text.trim().is_empty() {
            return part.ignore("system");
        }
        part.note(&thread, at, kind, text);
    }

    /// Opens the session of a compaction that has no summary.
    fn end_compaction(&mut self, thread: &str, part: &mut PartBuilder) {
        if let Some(at) = self.compaction.take() {
            part.compact(thread, at, None);
        }
    }

    /// Takes a title: a person's counts more than one that was made up, and each more than an earlier one of its kind.
    fn title(&mut self, rank: u64, title: Option<&Value>, part: &mut PartBuilder) {
        if let Some(title) = title.and_then(Value::as_str)
            && rank >= self.title_rank
        {
            self.title_rank = rank;
            part.thread(&self.main).name(title);
        }
    }
}

impl ClaudeReply {
    fn take(&mut self, block: &Value, committing: &mut VecDeque<String>) {
        let text = |name: &str| block.get(name).and_then(Value::as_str);
        match text("type") {
            Some("text") => self.texts.extend(text("text").map(str::to_owned)),
            Some("tool_use" | "server_tool_use" | "mcp_tool_use") => {
                let arguments = block.get("input").cloned().unwrap_or_default();
                let (id, name) =
                    (text("id").unwrap_or_default().to_owned(), text("name").unwrap_or("unknown").to_owned());
                if arguments.get("command").and_then(Value::as_str).is_some_and(|run| run.contains("git commit")) {
                    remember(committing, id.clone());
                }
                self.calls.push(CallOfTool { id, name, arguments });
            }
            // Thinking is left out.
            _ => {}
        }
    }
}

fn remember<T>(list: &mut VecDeque<T>, item: T) {
    if list.len() == MAX_REMEMBERED {
        list.pop_front();
    }
    list.push_back(item);
}

impl LineParser for ClaudeCodeParser {
    fn line(&mut self, record: Map<String, Value>, part: &mut PartBuilder) {
        let kind = record.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        if self.is_subagent_file
            && !self.main.contains('/')
            && let Some(session) = record.get("sessionId").and_then(Value::as_str)
        {
            let agent = self.main.trim_start_matches("agent-").to_owned();
            self.main = format!("{session}/{agent}");
        }
        match kind.as_str() {
            "assistant" | "user" | "system" => {
                if kind == "assistant" {
                    let thread = self.thread(&record, part);
                    self.end_compaction(&thread, part);
                }
                let thread = self.thread(&record, part);
                let thread = part.thread(&thread);
                for (name, field) in [("cwd", "cwd"), ("branch", "gitBranch"), ("version", "version")] {
                    thread.fact(name, record.get(field));
                }
                match kind.as_str() {
                    "assistant" => self.assistant(record, part),
                    "user" => self.user(&record, part),
                    _ => self.system(&record, part),
                }
            }
            "summary" => self.title(1, record.get("summary"), part),
            "ai-title" => self.title(2, record.get("aiTitle").or(record.get("title")), part),
            "agent-name" => self.title(3, record.get("agentName").or(record.get("name")), part),
            "custom-title" => self.title(4, record.get("customTitle").or(record.get("title")), part),
            "pr-link" => {
                if let Some(url) = record.get("prUrl").filter(|url| !self.pull_requests.contains(url)) {
                    self.pull_requests.push(url.clone());
                    let all = json!(self.pull_requests);
                    part.thread(&self.main).fact("pull_requests", Some(&all));
                }
            }
            kind if BOOKKEEPING.contains(&kind) => {}
            kind => part.ignore(if kind.is_empty() { "without type" } else { kind }),
        }
    }

    fn flush(&mut self, part: &mut PartBuilder) {
        if let Some(ClaudeReply { thread, at, request_id, message, texts, calls, .. }) = self.reply.take() {
            part.assistant(&thread, at, (texts.join("\n"), calls), Some(message), request_id);
        }
    }

    fn state(&self) -> Map<String, Value> {
        let mut state = BTreeMap::from([("main", json!(self.main)), ("title_rank", json!(self.title_rank))]);
        if let Some(at) = self.compaction {
            state.insert("compacted_at", json!(at));
        }
        if let Some(thread) = &self.last_sidechain {
            state.insert("sidechain", json!(thread));
        }
        for (name, list) in [("commits", &self.commits), ("pull_requests", &self.pull_requests)] {
            if !list.is_empty() {
                state.insert(name, json!(list));
            }
        }
        state.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

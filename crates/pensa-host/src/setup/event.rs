//! Understands what agents tell their hooks, and answers in each agent's format.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::agents::{AgentSoftware, AnswerFormat};

/// The longest session id that is used.
const MAX_ID: usize = 200;

/// The length of the hash of a session.
const SESSION_HASH: usize = 32;

/// When in a session a hook is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookMoment {
    Start(SessionSource),
    Prompt,
    /// After a tool was used
    Tool,
    /// Before the context is compacted
    Compaction,
    Stop,
    End,
    /// Anything else
    Other,
}

/// Why a session starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionSource {
    New,
    /// The context is as it was
    Resume,
    /// The context is empty again
    Clear,
    /// The context was summarised
    Compact,
}

/// A short name for a session that is safe in file names.
pub fn session_hash(session: &str) -> String {
    let mut hash = blake3::hash(session.as_bytes()).to_hex().to_string();
    hash.truncate(SESSION_HASH);
    hash
}

/// The event that an agent passes to a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookInput {
    pub moment: HookMoment,
    /// The event, as the agent spells it
    pub event: String,
    pub answers: AnswerFormat,
    /// The name of the agent, for actors
    pub agent: &'static str,
    pub session: Option<String>,
    pub cwd: Option<PathBuf>,
    pub transcript: Option<PathBuf>,
    pub prompt: Option<String>,
    /// The files that the tool changed
    pub edited: Vec<String>,
    /// The agent goes on because a stop hook asked for it
    pub is_stop_repeated: bool,
}

/// What a hook wants to tell an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookReply {
    /// Text for the context, and environment variables for the session
    Context { text: String, variables: Vec<(&'static str, String)> },
    /// The agent should go on, for this reason
    GoOn(String),
}

impl HookInput {
    /// Reads the JSON of an event; `event` is the name on the command line, in any case.
    pub fn parse(agent: &'static AgentSoftware, event: &str, input: &Value) -> Self {
        let text = |names: &[&str]| {
            let found = names.iter().find_map(|name| input[*name].as_str());
            found.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        // Cursor runs the hooks of Claude too, with its own input.
        let is_cursor = agent.name == "claude" && !input["cursor_version"].is_null();
        let agent = if is_cursor { AgentSoftware::find("cursor").unwrap_or(agent) } else { agent };
        let dirs = ["workspace_roots", "workspacePaths"].iter().find_map(|name| input[*name][0].as_str());
        let is_plain =
            |id: &String| id.len() <= MAX_ID && id.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        let repeats =
            ["loop_count", "loopCount"].iter().any(|name| input[*name].as_i64().is_some_and(|count| count > 0));
        Self {
            moment: moment(event, input["source"].as_str().or_else(|| input["trigger"].as_str())),
            event: input["hook_event_name"].as_str().unwrap_or(event).to_owned(),
            answers: agent.answers,
            agent: agent.name,
            session: text(&["session_id", "sessionId", "conversation_id", "conversationId"]).filter(is_plain),
            cwd: text(&["cwd"]).or_else(|| dirs.map(str::to_owned)).map(PathBuf::from).filter(|dir| dir.is_absolute()),
            transcript: text(&["transcript_path", "transcriptPath"]).map(PathBuf::from),
            prompt: text(&["prompt", "user_prompt", "userPrompt"]),
            edited: edited_files(input),
            is_stop_repeated: input["stop_hook_active"] == true || input["stopHookActive"] == true || repeats,
        }
    }

    /// The answer on standard output; `None` if the agent has no form for it.
    pub fn answer(&self, reply: HookReply) -> Option<Value> {
        match (self.answers, reply) {
            (AnswerFormat::Claude | AnswerFormat::Gemini, HookReply::Context { text, .. }) if !text.is_empty() => {
                Some(json!({"hookSpecificOutput": {"hookEventName": self.event, "additionalContext": text}}))
            }
            (AnswerFormat::Claude, HookReply::GoOn(reason)) => Some(json!({"decision": "block", "reason": reason})),
            (AnswerFormat::Cursor, HookReply::Context { text, variables }) => {
                let mut answer = serde_json::Map::new();
                if !text.is_empty() {
                    answer.insert("additional_context".to_owned(), json!(text));
                }
                if !variables.is_empty() {
                    let variables: serde_json::Map<String, Value> =
                        variables.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
                    answer.insert("env".to_owned(), Value::Object(variables));
                }
                (!answer.is_empty()).then_some(Value::Object(answer))
            }
            (AnswerFormat::Cursor, HookReply::GoOn(reason)) => Some(json!({"followup_message": reason})),
            (AnswerFormat::Copilot, HookReply::Context { text, .. }) if !text.is_empty() => {
                Some(json!({"additionalContext": text}))
            }
            (AnswerFormat::Antigravity, HookReply::Context { text, .. }) if !text.is_empty() => {
                Some(json!({"injectSteps": [{"ephemeralMessage": text}]}))
            }
            (AnswerFormat::Plugin, HookReply::Context { text, .. }) if !text.is_empty() => {
                Some(json!({"context": text}))
            }
            _ => None,
        }
    }
}

/// Words in the names of tools that change files.
const EDITS: [&str; 6] = ["edit", "write", "patch", "replace", "create", "notebook"];
/// Most files of one call of a tool.
const MAX_EDITED: usize = 20;

/// The files that a call of a tool changed.
fn edited_files(input: &Value) -> Vec<String> {
    let tool = ["tool_name", "toolName"].iter().find_map(|name| input[*name].as_str()).unwrap_or_default();
    let arguments =
        ["tool_input", "toolInput", "toolArgs"].iter().map(|name| &input[*name]).find(|given| !given.is_null());
    let is_edit = EDITS.iter().any(|word| tool.to_lowercase().contains(word));
    let Some(arguments) = arguments.filter(|_| is_edit) else { return Vec::new() };
    let names = ["file_path", "filePath", "path", "notebook_path", "absolute_path"];
    let mut files: Vec<String> =
        names.iter().filter_map(|name| arguments[*name].as_str()).map(str::to_owned).take(1).collect();
    // A patch names its files in lines of its own.
    let patches = ["command", "input", "patch"].iter().filter_map(|name| match &arguments[*name] {
        Value::Array(words) => words.last().and_then(Value::as_str),
        given => given.as_str(),
    });
    for line in patches.flat_map(str::lines) {
        let file = ["*** Update File: ", "*** Add File: "].iter().find_map(|mark| line.strip_prefix(mark));
        files.extend(file.map(|file| file.trim().to_owned()));
    }
    files.retain(|file| !file.is_empty() && !file.contains(char::is_control));
    files.truncate(MAX_EDITED);
    files
}

fn moment(event: &str, source: Option<&str>) -> HookMoment {
    let name: String = event.chars().filter(char::is_ascii_alphanumeric).collect();
    match name.to_ascii_lowercase().as_str() {
        "sessionstart" => HookMoment::Start(match source {
            Some("resume") => SessionSource::Resume,
            Some("clear") => SessionSource::Clear,
            Some("compact") => SessionSource::Compact,
            _ => SessionSource::New,
        }),
        // Antigravity calls it before each request to the model.
        "preinvocation" => HookMoment::Start(SessionSource::New),
        "userpromptsubmit" | "userpromptsubmitted" | "beforesubmitprompt" | "beforeagent" => HookMoment::Prompt,
        "posttooluse" | "aftertool" => HookMoment::Tool,
        "precompact" | "precompress" => HookMoment::Compaction,
        "stop" | "agentstop" => HookMoment::Stop,
        "sessionend" => HookMoment::End,
        _ => HookMoment::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(agent: &str, event: &str, input: Value) -> HookInput {
        HookInput::parse(AgentSoftware::find(agent).expect("an agent"), event, &input)
    }

    fn context(text: &str) -> HookReply {
        HookReply::Context { text: text.to_owned(), variables: vec![("PN_SESSION", "s".to_owned())] }
    }

    #[test]
    fn events_are_understood_in_any_spelling() {
        for (event, source, meant) in [
            ("SessionStart", "startup", HookMoment::Start(SessionSource::New)),
            ("session_start", "resume", HookMoment::Start(SessionSource::Resume)),
            ("sessionStart", "clear", HookMoment::Start(SessionSource::Clear)),
            ("SESSIONSTART", "compact", HookMoment::Start(SessionSource::Compact)),
            ("SessionStart", "fork", HookMoment::Start(SessionSource::New)),
            ("BeforeAgent", "", HookMoment::Prompt),
            ("PostToolUse", "", HookMoment::Tool),
            ("AfterTool", "", HookMoment::Tool),
            ("preCompact", "auto", HookMoment::Compaction),
            ("PreCompress", "auto", HookMoment::Compaction),
            ("stop", "", HookMoment::Stop),
            ("SessionEnd", "exit", HookMoment::End),
            ("Notification", "", HookMoment::Other),
        ] {
            assert_eq!(input("claude", event, json!({"source": source})).moment, meant, "{event}");
        }
    }

    #[test]
    fn session_and_directory_are_found_under_each_agents_names() {
        for (agent, fields) in [
            ("claude", json!({"session_id": "abc-1", "cwd": "/work"})),
            ("cursor", json!({"conversation_id": "abc-1", "workspace_roots": ["/work"]})),
            ("antigravity", json!({"conversationId": "abc-1", "workspacePaths": ["/work"]})),
            ("copilot", json!({"sessionId": "abc-1", "cwd": "/work"})),
        ] {
            let read = input(agent, "x", fields);
            assert_eq!((read.session.as_deref(), read.cwd), (Some("abc-1"), Some(PathBuf::from("/work"))), "{agent}");
        }
        assert_eq!(input("claude", "x", json!({"session_id": "'; rm -rf ~", "cwd": 3})).session, None);
        assert_eq!(input("claude", "x", json!(null)).session, None);
    }

    #[test]
    fn each_agent_is_answered_in_its_format() {
        let answer = |agent: &str, reply: HookReply| input(agent, "SessionStart", json!({})).answer(reply);
        let claude = json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "t"}});
        for agent in ["claude", "codex", "droid", "gemini"] {
            assert_eq!(answer(agent, context("t")), Some(claude.clone()), "{agent}");
        }
        let go_on = || HookReply::GoOn("why".to_owned());
        assert_eq!(answer("codex", go_on()), Some(json!({"decision": "block", "reason": "why"})));
        assert_eq!(answer("gemini", go_on()), None);
        assert_eq!(
            answer("cursor", context("t")),
            Some(json!({"additional_context": "t", "env": {"PN_SESSION": "s"}}))
        );
        assert_eq!(answer("cursor", go_on()), Some(json!({"followup_message": "why"})));
        assert_eq!(answer("copilot", context("t")), Some(json!({"additionalContext": "t"})));
        assert_eq!(answer("antigravity", context("t")), Some(json!({"injectSteps": [{"ephemeralMessage": "t"}]})));
        assert_eq!(answer("opencode", context("t")), Some(json!({"context": "t"})));
        assert_eq!(answer("zed", context("t")), None);
        assert_eq!(answer("claude", context("")), None);
    }

    #[test]
    fn files_that_a_tool_changed_are_found_in_each_agents_form() {
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n*** Add File: b c.rs\n*** End Patch";
        for (agent, fields, files) in [
            (
                "claude",
                json!({"tool_name": "Edit", "tool_input": {"file_path": "/w/a.rs", "old_string": "x"}}),
                vec!["/w/a.rs"],
            ),
            (
                "claude",
                json!({"tool_name": "NotebookEdit", "tool_input": {"notebook_path": "/w/a.ipynb"}}),
                vec!["/w/a.ipynb"],
            ),
            ("claude", json!({"tool_name": "Read", "tool_input": {"file_path": "/w/a.rs"}}), vec![]),
            ("gemini", json!({"tool_name": "write_file", "tool_input": {"file_path": "a.rs"}}), vec!["a.rs"]),
            (
                "codex",
                json!({"tool_name": "apply_patch", "tool_input": {"command": patch}}),
                vec!["src/a.rs", "b c.rs"],
            ),
            (
                "codex",
                json!({"tool_name": "apply_patch", "tool_input": {"command": ["apply_patch", patch]}}),
                vec!["src/a.rs", "b c.rs"],
            ),
            ("claude", json!({"tool_name": "Edit", "tool_input": {"file_path": "a\nb"}}), vec![]),
            ("claude", json!({"tool_name": ["Edit"], "tool_input": 7}), vec![]),
        ] {
            assert_eq!(input(agent, "PostToolUse", fields.clone()).edited, files, "{fields}");
        }
    }

    #[test]
    fn cursor_running_the_hooks_of_claude_is_answered_as_cursor() {
        let read = input("claude", "SessionStart", json!({"cursor_version": "2.4", "conversation_id": "c"}));
        assert_eq!((read.answers, read.agent), (AnswerFormat::Cursor, "cursor"));
    }
}

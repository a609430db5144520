//! A conversation step by step, as a person would read it.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::Value;

use super::{Entry, MessageRole, Rebuild, Session};
use crate::event::shorten;
use crate::json;
use crate::text::printable_line;
use crate::time::Timestamp;

/// Maximum length of arguments and of data without text, in characters.
const MAX_DATA_CHARS: usize = 160;

/// One step of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReplayStep {
    pub step: usize,
    pub at: Timestamp,
    /// `user`, `assistant`, `call`, `result` or the type of the entry
    pub who: String,
    /// The tool of a call or result
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    pub text: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

/// Collects the steps of a session.
#[derive(Debug)]
pub struct SessionSteps {
    pub steps: Vec<ReplayStep>,
    /// The session without what opened it, which is a step already.
    bare: Session,
    /// The tool of each call.
    tools: HashMap<String, String>,
}

impl SessionSteps {
    pub fn new(session: &Session) -> Self {
        let bare = Session { reset_message: None, ..session.clone() };
        let mut replay = Self { steps: Vec::new(), bare, tools: HashMap::new() };
        if let Some(summary) = &session.reset_message {
            replay.add(session.created_at, session.opened_by.as_str(), None, summary.clone(), false);
        }
        replay
    }

    fn add(&mut self, at: Timestamp, who: &str, tool: Option<String>, text: String, is_error: bool) {
        let step = self.steps.len() + 1;
        self.steps.push(ReplayStep { step, at, who: who.to_owned(), tool, text, is_error });
    }

    /// Adds the steps of the next entry.
    pub fn push(&mut self, entry: &Entry) {
        let text = |name: &str| entry.data.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        match entry.entry_type.as_str() {
            // The totals of the session have it.
            "usage" => {}
            "tool_result" => {
                let call =
                    ["tool_call_id", "toolCallId", "tool_use_id"].map(text).into_iter().find(|id| !id.is_empty());
                let tool = call.and_then(|call| self.tools.get(&call).cloned());
                let is_error = entry.data.get("is_error") == Some(&Value::Bool(true));
                let output = entry.data.get("output").map_or_else(String::new, plain);
                self.add(entry.at, "result", tool, output, is_error);
            }
            "note" => {
                self.add(entry.at, "note", Some(text("kind")).filter(|kind| !kind.is_empty()), text("text"), false)
            }
            kind => {
                let (said, calls) = messages(entry, &self.bare);
                let who = kind.strip_suffix("_message").unwrap_or(kind);
                if !said.is_empty() || calls.is_empty() {
                    self.add(entry.at, who, None, said, false);
                }
                for (id, name, arguments) in calls {
                    self.tools.insert(id, name.clone());
                    self.add(entry.at, "call", Some(name), brief(&arguments), false);
                }
            }
        }
    }
}

/// What an entry says, and the calls in it: id, name, arguments.
fn messages(entry: &Entry, session: &Session) -> (String, Vec<(String, String, Value)>) {
    let mut rebuild = Rebuild::new(session);
    rebuild.push(entry);
    let mut all = rebuild.finish(None);
    match all.iter().position(|message| matches!(message.role, MessageRole::User | MessageRole::Assistant)) {
        Some(at) => {
            let message = all.swap_remove(at);
            let calls = message.tool_calls.into_iter().map(|call| (call.id, call.name, call.arguments));
            (message.content, calls.collect())
        }
        None => (brief(&entry.data), Vec::new()),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| brief(value), str::to_owned)
}

fn brief<T: Serialize + ?Sized>(value: &T) -> String {
    let line = json::to_line(value).unwrap_or_default();
    // What cannot be printed is left out, so take more than is shown.
    shorten(&printable_line(&shorten(&line, 4 * MAX_DATA_CHARS)), MAX_DATA_CHARS)
}

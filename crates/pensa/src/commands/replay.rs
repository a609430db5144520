//! `pn session replay`: shows a conversation step by step, as a person would read it.

use std::collections::HashMap;

use clap::Args;
use pensa_core::id::{AgentRef, EntriesRef, SessionRef};
use pensa_core::ops::agent;
use pensa_core::ops::session::{History, Show};
use pensa_core::session::{Entry, MessageRole, Rebuild, Session};
use pensa_core::trace::format_duration;
use pensa_core::{Result, Timestamp};
use serde::Serialize;
use serde_json::Value;

use super::session::pages;
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen, shorten_json};

/// Show a conversation step by step: who said what, which tools were called, and what came of it
///
/// Long results of tools are cut to their first lines; --full shows all. On a terminal it is shown in the pager.
#[derive(Debug, Args)]
pub(crate) struct SessionReplayArgs {
    /// Which session: its id, or the beginning of it
    #[arg(value_name = "SESSION")]
    pub(crate) id: SessionRef,
    /// Results of tools as a whole
    #[arg(long)]
    pub(crate) full: bool,
}

/// The lines that are shown of a tool's result.
const RESULT_LINES: usize = 12;
/// Pauses from this length on are shown.
const PAUSE_MS: i64 = 60_000;

/// One step of a conversation.
#[derive(Debug, Serialize)]
struct ReplayStep {
    step: usize,
    at: Timestamp,
    /// `user`, `assistant`, `call`, `result` or the type of the entry
    who: String,
    /// The tool of a call or result
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    text: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_error: bool,
}

/// A conversation with its steps.
#[derive(Debug, Serialize)]
struct SessionReplay {
    session_id: String,
    agent_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    issue_id: Option<String>,
    steps: Vec<ReplayStep>,
    #[serde(skip)]
    is_full: bool,
}

pub(super) fn run(options: &GlobalOptions, output: Output, args: &SessionReplayArgs) -> Result<()> {
    let client = connect::client_for_agents(options)?;
    let session = client.call(&Show { id: args.id.clone() })?.session;
    let agent = client.call(&agent::Show { id: AgentRef::from(&session.agent_id) })?;
    let mut replay = SessionReplay {
        session_id: session.id.to_string(),
        agent_id: agent.id.to_string(),
        title: agent.name,
        issue_id: session.issue_id.as_ref().map(ToString::to_string),
        steps: Vec::new(),
        is_full: args.full,
    };
    if let Some(summary) = &session.reset_message {
        replay.add(session.created_at, &session.opened_by.to_string(), None, summary.clone(), false);
    }
    let op = History { id: EntriesRef::from(&session.id), all: false, after: None, skip: None, limit: None };
    let (mut tools, bare) = (HashMap::new(), Session { reset_message: None, ..session });
    pages(&client, op, |page| {
        page.iter().for_each(|entry| replay.entry(entry, &bare, &mut tools));
        Ok(())
    })?;
    output.answer(&replay)
}

impl SessionReplay {
    fn add(&mut self, at: Timestamp, who: &str, tool: Option<String>, text: String, is_error: bool) {
        let step = self.steps.len() + 1;
        self.steps.push(ReplayStep { step, at, who: who.to_owned(), tool, text, is_error });
    }

    /// Adds the steps of an entry. `bare` is its session without an opening, `tools` has the tool of each call.
    fn entry(&mut self, entry: &Entry, bare: &Session, tools: &mut HashMap<String, String>) {
        let text = |name: &str| entry.data.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        match entry.entry_type.as_str() {
            // What it used is in pn session show.
            "usage" => {}
            "tool_result" => {
                let call =
                    ["tool_call_id", "toolCallId", "tool_use_id"].map(text).into_iter().find(|id| !id.is_empty());
                let tool = call.and_then(|call| tools.get(&call).cloned());
                let is_error = entry.data.get("is_error") == Some(&Value::Bool(true));
                let output = entry.data.get("output").map_or_else(String::new, plain);
                self.add(entry.at, "result", tool, output, is_error);
            }
            "note" => {
                self.add(entry.at, "note", Some(text("kind")).filter(|kind| !kind.is_empty()), text("text"), false)
            }
            kind => {
                let (said, calls) = messages(entry, bare);
                let who = kind.strip_suffix("_message").unwrap_or(kind);
                if !said.is_empty() || calls.is_empty() {
                    self.add(entry.at, who, None, said, false);
                }
                for (id, name, arguments) in calls {
                    tools.insert(id, name.clone());
                    self.add(entry.at, "call", Some(name), shorten_json(&arguments), false);
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
        None => (shorten_json(&entry.data), Vec::new()),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| shorten_json(value), str::to_owned)
}

impl Render for SessionReplay {
    fn render(&self, screen: &mut Screen) {
        screen.id(&self.session_id).plain(" of ").id(&self.agent_id);
        if let Some(title) = &self.title {
            screen.plain(" ").heading(title);
        }
        if let Some(issue) = &self.issue_id {
            screen.plain(" about ").id(issue);
        }
        screen.end();
        let (mut day, mut before) = (String::new(), None::<Timestamp>);
        for step in &self.steps {
            let at = step.at.to_string();
            screen.end();
            if at[..10] != day {
                at[..10].clone_into(&mut day);
                screen.heading(&day).end();
            }
            let pause = before.map_or(0, |before| step.at.as_millis() - before.as_millis());
            if pause >= PAUSE_MS {
                screen.faint(&format!("after {}", format_duration(pause))).end();
            }
            before = Some(step.at);
            screen.faint(&format!("{:>4} {}", step.step, &at[11..19])).plain(" ").heading(&step.who);
            if let Some(tool) = &step.tool {
                screen.plain(" ").text(tool);
            }
            if step.is_error {
                screen.plain(" ").error("failed");
            }
            screen.end();
            let is_cut = !self.is_full && step.who == "result";
            let lines = step.text.lines().count();
            if is_cut && lines > RESULT_LINES {
                let shown: Vec<&str> = step.text.lines().take(RESULT_LINES).collect();
                screen.block(&shown.join("\n")).faint(&format!("  [{} more lines]", lines - RESULT_LINES)).end();
            } else {
                screen.block(&step.text);
            }
        }
    }

    fn ids(&self) -> Vec<String> {
        vec![self.session_id.clone()]
    }
}

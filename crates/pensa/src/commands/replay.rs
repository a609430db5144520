//! `pn session replay`: shows a conversation step by step, as a person would read it.

use clap::Args;
use pensa_core::id::{AgentRef, EntriesRef, SessionRef};
use pensa_core::ops::agent;
use pensa_core::ops::session::{History, Show};
use pensa_core::session::{ReplayStep, SessionSteps};
use pensa_core::trace::format_duration;
use pensa_core::{Result, Timestamp};
use serde::Serialize;

use super::session::pages;
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

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
    let mut replay = SessionSteps::new(&session);
    let op = History { id: EntriesRef::from(&session.id), all: false, after: None, skip: None, limit: None };
    pages(&client, op, |page| {
        page.iter().for_each(|entry| replay.push(entry));
        Ok(())
    })?;
    output.answer(&SessionReplay {
        session_id: session.id.to_string(),
        agent_id: agent.id.to_string(),
        title: agent.name,
        issue_id: session.issue_id.as_ref().map(ToString::to_string),
        steps: replay.steps,
        is_full: args.full,
    })
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

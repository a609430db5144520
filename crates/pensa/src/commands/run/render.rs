//! Prints runs and their events.

use pensa_core::event::LogEntry;
use pensa_core::json;
use pensa_core::run::{MuxWindow, Run};

use crate::render::{ListItem, Render, Screen, field, list_item, shorten, when};

fn run_line(run: &Run, screen: &mut Screen) {
    screen.id(&run.id).plain(&format!(" {:<9} ", run.status)).faint(&when(run.started_at));
    screen.plain(" ").text(&run.harness.to_string());
    if let Some(issue) = &run.issue_id {
        screen.plain(" on ").id(issue);
    }
    let what = if run.task.prompt.is_empty() { run.command.join(" ") } else { run.task.prompt.clone() };
    screen.plain(" ").text(&shorten(&what)).end();
}

impl Render for Run {
    fn render(&self, screen: &mut Screen) {
        run_line(self, screen);
        field(screen, "repo", Some(self.repo_id.to_string()));
        field(screen, "workspace", self.workspace_id.as_ref().map(ToString::to_string));
        field(screen, "runtime", Some(self.runtime.to_string()));
        field(screen, "session", self.session_id.as_ref().map(ToString::to_string));
        field(screen, "group", self.group.clone());
        field(screen, "actor", Some(self.actor.clone()));
        field(screen, "branch", self.task.branch.clone());
        field(
            screen,
            "labels",
            (!self.task.labels.is_empty()).then(|| json::to_line(&self.task.labels).unwrap_or_default()),
        );
        field(screen, "host", self.host.clone());
        field(screen, "process", self.agent.as_ref().map(|process| process.pid.to_string()));
        field(screen, "window", window(&self.mux));
        field(screen, "log", self.log_path.clone());
        field(screen, "exit code", self.end.exit_code.map(|code| code.to_string()));
        field(screen, "signal", self.end.signal.map(|signal| signal.to_string()));
        field(screen, "reason", self.end.reason.clone());
        field(screen, "ended", self.ended_at.map(when));
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl ListItem for Run {
    const NOUN: [&str; 2] = ["run", "runs"];

    fn render_item(&self, screen: &mut Screen) {
        run_line(self, screen);
    }

    fn item_ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

/// `tmux pensa-web:2 %5`
fn window(place: &MuxWindow) -> Option<String> {
    let mut text = place.multiplexer_kind?.as_str().to_owned();
    if let Some(session) = &place.mux_session {
        text.push_str(&format!(" {session}"));
    }
    if let Some(number) = place.mux_window {
        text.push_str(&format!(":{number}"));
    }
    for pane in [&place.pane_left, &place.pane_right].into_iter().flatten() {
        text.push_str(&format!(" {pane}"));
    }
    Some(text)
}

impl Render for LogEntry {
    fn render(&self, screen: &mut Screen) {
        screen.faint(&when(self.created_at)).plain(" ").text(&self.event_type);
        screen.plain(" by ").text(&self.actor).plain(" ");
        screen.text(&shorten(&json::to_line(&self.detail).unwrap_or_default())).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

list_item!(LogEntry, "event", "events");

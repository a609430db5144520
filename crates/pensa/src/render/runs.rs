//! How runs, repositories and small values look.

use pensa_core::event::LogEntry;
use pensa_core::json;
use pensa_core::kv::Pair;
use pensa_core::ops::kv::Deleted;
use pensa_core::ops::repo::Removed;
use pensa_core::repo::{Repo, Seen, Workspace};
use pensa_core::run::{Harness, MuxPlace, Run, Runtime};
use pensa_core::session::Object;

use super::agents::{brief, fact};
use super::{Render, Screen};

fn repo_line(repo: &Repo, screen: &mut Screen) {
    screen.id(&repo.id).plain(&format!(" {:<6} ", repo.vcs));
    screen.text(repo.root_path.as_deref().or(repo.remote_url.as_deref()).unwrap_or_default());
    if let Some(url) = repo.remote_url.as_ref().filter(|_| repo.root_path.is_some()) {
        screen.plain(" ").faint(url);
    }
    screen.end();
}

impl Render for Repo {
    fn render(&self, screen: &mut Screen) {
        repo_line(self, screen);
        fact(screen, "host", self.host.clone());
        fact(screen, "branch", self.default_branch.clone());
        fact(screen, "known since", Some(self.created_at.to_string()));
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for Vec<Repo> {
    fn render(&self, screen: &mut Screen) {
        self.iter().for_each(|repo| repo_line(repo, screen));
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|repo| repo.id.to_string()).collect()
    }
}

impl Render for Seen {
    fn render(&self, screen: &mut Screen) {
        screen.plain(&format!("{} ", self.vcs)).text(self.root_path.as_deref().unwrap_or_default()).end();
        fact(screen, "remote", self.remote_url.clone());
        fact(screen, "branch", self.default_branch.clone());
    }

    fn ids(&self) -> Vec<String> {
        self.root_path.iter().cloned().collect()
    }
}

impl Render for Removed {
    fn render(&self, screen: &mut Screen) {
        screen.plain("removed ").id(&self.id).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

fn workspace_line(workspace: &Workspace, screen: &mut Screen) {
    screen.id(&workspace.id).plain(" ").text(&workspace.name).end();
}

impl Render for Workspace {
    fn render(&self, screen: &mut Screen) {
        workspace_line(self, screen);
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for Vec<Workspace> {
    fn render(&self, screen: &mut Screen) {
        self.iter().for_each(|workspace| workspace_line(workspace, screen));
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|workspace| workspace.id.to_string()).collect()
    }
}

fn metadata(object: Option<&Object>, screen: &mut Screen) {
    if let Some(object) = object {
        screen.plain(" ").faint(&brief(&json::to_line(object).unwrap_or_default()));
    }
    screen.end();
}

impl Render for Harness {
    fn render(&self, screen: &mut Screen) {
        screen.id(&self.id).plain(" ").text(&format!("{}@{}", self.name, self.version));
        metadata(self.metadata.as_ref(), screen);
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for Vec<Harness> {
    fn render(&self, screen: &mut Screen) {
        self.iter().for_each(|harness| harness.render(screen));
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|harness| harness.id.to_string()).collect()
    }
}

impl Render for Runtime {
    fn render(&self, screen: &mut Screen) {
        screen.id(&self.id).plain(" ").text(&self.kind);
        screen.plain(" ").text(self.devcontainer_path.as_deref().unwrap_or_default());
        metadata(self.metadata.as_ref(), screen);
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for Vec<Runtime> {
    fn render(&self, screen: &mut Screen) {
        self.iter().for_each(|runtime| runtime.render(screen));
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|runtime| runtime.id.to_string()).collect()
    }
}

fn run_line(run: &Run, screen: &mut Screen) {
    screen.id(&run.id).plain(&format!(" {:<9} ", run.status)).faint(&run.started_at.to_string());
    screen.plain(" ").text(&run.harness.to_string());
    if let Some(issue) = &run.issue_id {
        screen.plain(" on ").id(issue);
    }
    let what = if run.task.prompt.is_empty() { run.command.join(" ") } else { run.task.prompt.clone() };
    screen.plain(" ").text(&brief(&what)).end();
}

impl Render for Run {
    fn render(&self, screen: &mut Screen) {
        run_line(self, screen);
        fact(screen, "repo", Some(self.repo_id.to_string()));
        fact(screen, "workspace", self.workspace_id.as_ref().map(ToString::to_string));
        fact(screen, "runtime", Some(self.runtime.to_string()));
        fact(screen, "session", self.session_id.as_ref().map(ToString::to_string));
        fact(screen, "group", self.group.clone());
        fact(screen, "actor", Some(self.actor.clone()));
        fact(screen, "branch", self.task.branch.clone());
        fact(
            screen,
            "labels",
            (!self.task.labels.is_empty()).then(|| json::to_line(&self.task.labels).unwrap_or_default()),
        );
        fact(screen, "host", self.host.clone());
        fact(screen, "process", self.agent.as_ref().map(|process| process.pid.to_string()));
        fact(screen, "window", window(&self.mux));
        fact(screen, "log", self.log_path.clone());
        fact(screen, "exit code", self.end.exit_code.map(|code| code.to_string()));
        fact(screen, "signal", self.end.signal.map(|signal| signal.to_string()));
        fact(screen, "reason", self.end.reason.clone());
        fact(screen, "ended", self.ended_at.map(|at| at.to_string()));
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

/// `tmux pensa-web:2 %5`
fn window(place: &MuxPlace) -> Option<String> {
    let mut told = place.multiplexer_kind?.as_str().to_owned();
    if let Some(session) = &place.mux_session {
        told.push_str(&format!(" {session}"));
    }
    if let Some(number) = place.mux_window {
        told.push_str(&format!(":{number}"));
    }
    for pane in [&place.pane_left, &place.pane_right].into_iter().flatten() {
        told.push_str(&format!(" {pane}"));
    }
    Some(told)
}

impl Render for Vec<Run> {
    fn render(&self, screen: &mut Screen) {
        self.iter().for_each(|run| run_line(run, screen));
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|run| run.id.to_string()).collect()
    }
}

impl Render for LogEntry {
    fn render(&self, screen: &mut Screen) {
        screen.faint(&self.created_at.to_string()).plain(" ").text(&self.event_type);
        screen.plain(" by ").text(&self.actor).plain(" ");
        screen.text(&brief(&json::to_line(&self.detail).unwrap_or_default())).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for Vec<LogEntry> {
    fn render(&self, screen: &mut Screen) {
        self.iter().for_each(|line| line.render(screen));
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|line| line.id.to_string()).collect()
    }
}

impl Render for Pair {
    fn render(&self, screen: &mut Screen) {
        for line in pensa_core::text::printable_block(&self.value).split('\n') {
            screen.plain(line).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        vec![self.key.clone()]
    }
}

impl Render for Vec<Pair> {
    fn render(&self, screen: &mut Screen) {
        for pair in self {
            screen.faint(&pair.scope).plain(" ").text(&pair.key).plain(" ").text(&brief(&pair.value)).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|pair| pair.key.clone()).collect()
    }
}

impl Render for Deleted {
    fn render(&self, screen: &mut Screen) {
        screen.plain("deleted ").text(&self.key).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.key.clone()]
    }
}

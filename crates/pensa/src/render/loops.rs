//! How loops, signals and locks look.

use pensa_core::lock::Lock;
use pensa_core::loops::{Branch, Loop};
use pensa_core::ops::loops::{Approved, Invalidated, Iterated};
use pensa_core::ops::signal::{Acked, Pruned, Sent, Shown};
use pensa_core::signal::Signal;

use super::agents::fact;
use super::{Render, Screen};

fn loop_line(one: &Loop, screen: &mut Screen) {
    screen.id(&one.id).plain(&format!(" {:<17} {:<5} ", one.status, one.loop_type)).text(&one.prompt_path);
    screen.plain(&format!(" {}/{}", one.iteration, one.max_iterations));
    if let Some(holder) = &one.holder {
        screen.plain(" ").faint(&format!("@{holder}"));
    }
    screen.end();
}

impl Render for Loop {
    fn render(&self, screen: &mut Screen) {
        loop_line(self, screen);
        fact(screen, "progress", Some(self.progress.clone()).filter(|progress| !progress.is_empty()));
        fact(screen, "reason", self.reason.clone());
        fact(screen, "parent", self.parent_id.as_ref().map(ToString::to_string));
        fact(screen, "issue", self.issue_id.as_ref().map(ToString::to_string));
        fact(screen, "validation", Some(self.validation_command.clone()));
        fact(screen, "worktree", Some(self.worktree.clone()));
        fact(screen, "archived", self.archived_at.map(|at| at.to_string()));
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for Option<Loop> {
    fn render(&self, screen: &mut Screen) {
        match self {
            Some(one) => one.render(screen),
            None => screen.plain("nothing can be run; pn loop list shows what there is").end(),
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().flat_map(Render::ids).collect()
    }
}

impl Render for Vec<Loop> {
    fn render(&self, screen: &mut Screen) {
        self.iter().for_each(|one| loop_line(one, screen));
    }

    fn ids(&self) -> Vec<String> {
        self.iter().flat_map(Render::ids).collect()
    }
}

/// Deepest that a branch is moved to the right.
const MAX_INDENT: usize = 20;

impl Render for Vec<Branch> {
    fn render(&self, screen: &mut Screen) {
        for Branch { depth, node } in self {
            screen.plain(&"  ".repeat(*depth.min(&MAX_INDENT)));
            loop_line(node, screen);
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().flat_map(|branch| branch.node.ids()).collect()
    }
}

impl Render for Iterated {
    fn render(&self, screen: &mut Screen) {
        loop_line(&self.subject, screen);
        fact(screen, "directory", self.directory.clone());
    }

    fn ids(&self) -> Vec<String> {
        self.subject.ids()
    }
}

impl Render for Approved {
    fn render(&self, screen: &mut Screen) {
        loop_line(&self.subject, screen);
        for child in &self.children {
            screen.plain("  ");
            loop_line(child, screen);
        }
    }

    fn ids(&self) -> Vec<String> {
        self.children.ids()
    }
}

impl Render for Invalidated {
    fn render(&self, screen: &mut Screen) {
        loop_line(&self.subject, screen);
        let ids: Vec<&str> = self.invalidated.iter().map(|id| id.as_str()).collect();
        fact(screen, "invalidated", Some(ids.join(" ")).filter(|ids| !ids.is_empty()));
        fact(screen, "signal", self.signal.as_ref().map(|signal| signal.id.to_string()));
    }

    fn ids(&self) -> Vec<String> {
        self.invalidated.iter().map(ToString::to_string).collect()
    }
}

fn signal_line(signal: &Signal, screen: &mut Screen) {
    let targets = [
        signal.target_selector.clone(),
        signal.target_loop.as_ref().map(ToString::to_string),
        signal.target_agent.as_ref().map(ToString::to_string),
        signal.target_run.as_ref().map(ToString::to_string),
    ];
    let to = targets.into_iter().flatten().next().unwrap_or_default();
    screen.id(&signal.id).plain(&format!(" {:<10} ", signal.signal_type)).text(&to);
    screen.plain(&format!(" {}/{} ", signal.acknowledged_count, signal.recipient_count)).text(&signal.reason);
    screen.plain(" ").faint(&format!("@{}", signal.actor)).end();
}

impl Render for Vec<Signal> {
    fn render(&self, screen: &mut Screen) {
        self.iter().for_each(|signal| signal_line(signal, screen));
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|signal| signal.id.to_string()).collect()
    }
}

impl Render for Sent {
    fn render(&self, screen: &mut Screen) {
        signal_line(&self.signal, screen);
        fact(screen, "to", Some(self.recipients.join(" ")).filter(|to| !to.is_empty()));
    }

    fn ids(&self) -> Vec<String> {
        vec![self.signal.id.to_string()]
    }
}

impl Render for Shown {
    fn render(&self, screen: &mut Screen) {
        signal_line(&self.signal, screen);
        fact(screen, "missing", Some(self.missing.join(" ")).filter(|missing| !missing.is_empty()));
    }

    fn ids(&self) -> Vec<String> {
        vec![self.signal.id.to_string()]
    }
}

impl Render for Pruned {
    fn render(&self, screen: &mut Screen) {
        screen.plain(&format!("{} signals deleted", self.ids.len())).end();
    }

    fn ids(&self) -> Vec<String> {
        self.ids.iter().map(ToString::to_string).collect()
    }
}

impl Render for Acked {
    fn render(&self, screen: &mut Screen) {
        screen.id(&self.receipt.signal_id).plain(" ").text(&self.receipt.recipient).plain(" acknowledged");
        if self.missing_count > 0 {
            screen.plain(&format!(", {} missing", self.missing_count));
        }
        screen.end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.receipt.signal_id.to_string()]
    }
}

impl Render for Lock {
    fn render(&self, screen: &mut Screen) {
        screen.text(&self.name).plain(&format!(" {} ", self.fencing));
        match (&self.holder, self.expires_at) {
            (Some(holder), Some(end)) => screen.plain("held by ").text(holder).plain(&format!(" until {end}")).end(),
            _ => screen.plain("free").end(),
        }
        fact(screen, "token", self.token.clone());
    }

    /// The number, by which whatever it guards tells who came later.
    fn ids(&self) -> Vec<String> {
        vec![self.fencing.to_string()]
    }
}

impl Render for Vec<Lock> {
    fn render(&self, screen: &mut Screen) {
        self.iter().for_each(|lock| lock.render(screen));
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|lock| lock.name.clone()).collect()
    }
}

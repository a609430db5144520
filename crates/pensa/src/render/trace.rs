//! How the life of an issue looks: who and how long, a line for each thing that happened, and what it amounts to.

use pensa_core::trace::{Moment, Trace, length};

use super::{Render, Screen};

/// Characters of an id; those of commits are longer.
const ID: usize = 13;

impl Render for Trace {
    fn render(&self, screen: &mut Screen) {
        let issue = &self.issue;
        screen.id(&issue.id).plain(" ").heading(&issue.title).end();
        screen.priority(issue.priority).plain(&format!(" {} ", issue.issue_type)).status(issue.status);
        if let Some(assignee) = &issue.assignee {
            screen.plain(" @").text(assignee);
        }
        let until = if issue.closed_at.is_some() { "closed after" } else { "open for" };
        screen.plain(&format!(", {until} {}", length(self.totals.age_ms))).end();
        if let Some(reason) = &issue.close_reason {
            screen.faint("reason  ").text(reason).end();
        }
        screen.end();
        if self.left_out > 0 {
            screen.faint(&format!("{} earlier entries are left out; -n shows more", self.left_out)).end();
        }
        let mut day = String::new();
        for entry in &self.entries {
            let at = entry.at.to_string();
            if at[..10] != day {
                at[..10].clone_into(&mut day);
                screen.heading(&day).end();
            }
            line(entry, &at[11..19], screen);
        }
        screen.end();
        for (name, told) in self.totals.in_words() {
            screen.faint(&format!("{name:<10}")).text(&told).end();
        }
        for session in self.totals.sessions.iter().filter(|session| session.tokens.total > 0) {
            screen.plain("  ").id(&session.id).plain(&format!(" {} tokens", session.tokens.total)).end();
        }
        for note in &self.notes {
            screen.plain("note: ").text(note).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        let mut seen = std::collections::HashSet::new();
        let ids = self.entries.iter().filter_map(|entry| entry.id.clone());
        ids.filter(|id| seen.insert(id.clone())).collect()
    }
}

fn line(entry: &Moment, time: &str, screen: &mut Screen) {
    screen.plain("  ").faint(time).plain(&format!(" {:<8} ", entry.kind));
    let event = format!("{:<12}", entry.event);
    if entry.failed {
        screen.wrong(&event)
    } else {
        screen.text(&event)
    };
    if let Some(id) = &entry.id {
        let id: String = id.chars().take(ID).collect();
        screen.plain(" ").id(&id);
    }
    if let Some(actor) = &entry.actor {
        screen.plain(" ").faint(&format!("@{actor}"));
    }
    if let Some(millis) = entry.duration_ms {
        screen.plain(&format!(" {}", length(millis)));
    }
    if !entry.text.is_empty() {
        screen.plain("  ").text(&entry.text);
    }
    screen.end();
}

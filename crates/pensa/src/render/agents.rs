//! How agents, sessions and entries look.

use pensa_core::agent::Agent;
use pensa_core::ops::agent::Deleted;
use pensa_core::ops::session::{Appended, DeletedSessions, Found};
use pensa_core::session::{Entry, Message, Object, Session, Summary, Tokens};
use pensa_core::{Span, json, text};
use serde::Serialize;

use super::{Render, Screen, counted};

/// Characters of a text that stand in one line of a listing.
const SHOWN: usize = 160;

/// The beginning of a text, as one line.
pub(super) fn brief(said: &str) -> String {
    // What can't be printed goes, so a little more than is shown is enough.
    let start: String = said.chars().take(4 * SHOWN).collect();
    let line = text::printable_line(&start);
    let mut shown: String = line.chars().take(SHOWN).collect();
    if shown.len() < line.len() || start.len() < said.len() {
        shown.push('…');
    }
    shown
}

fn brief_json<T: Serialize + ?Sized>(value: &T) -> String {
    brief(&json::to_line(value).unwrap_or_default())
}

pub(super) fn fact(screen: &mut Screen, name: &str, value: Option<String>) {
    if let Some(value) = value {
        screen.faint(&format!("{name:<12}")).text(&value).end();
    }
}

fn agent_line(agent: &Agent, screen: &mut Screen) {
    screen.id(&agent.id).plain(&format!(" {:<9} {:<8}", agent.agent_type, agent.lifecycle));
    if let Some(name) = &agent.name {
        screen.plain(" ").text(name);
    }
    if let Some(parent) = &agent.parent_id {
        screen.plain(" ").faint(&format!("for {parent}"));
    }
    screen.end();
}

impl Render for Agent {
    fn render(&self, screen: &mut Screen) {
        agent_line(self, screen);
        let object = |object: &Object| (!object.is_empty()).then(|| brief_json(object));
        fact(screen, "session", self.active_session_id.as_ref().map(ToString::to_string));
        fact(screen, "descriptor", object(&self.descriptor));
        fact(screen, "permissions", object(&self.permissions));
        fact(screen, "tokens", self.tokens.as_ref().map(brief_json));
        fact(screen, "stats", object(&self.stats));
        fact(screen, "created", Some(self.created_at.to_string()));
        fact(screen, "updated", Some(self.updated_at.to_string()));
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for Vec<Agent> {
    fn render(&self, screen: &mut Screen) {
        self.iter().for_each(|agent| agent_line(agent, screen));
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|agent| agent.id.to_string()).collect()
    }
}

impl Render for Deleted {
    fn render(&self, screen: &mut Screen) {
        screen.plain("deleted ").id(&self.id);
        screen.plain(&format!(", sessions: {}, entries: {}", self.sessions, self.entries)).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for Session {
    fn render(&self, screen: &mut Screen) {
        screen.id(&self.id).plain(&format!(" of {} opened by {}", self.agent_id, self.opened_by)).end();
        fact(screen, "opened", Some(self.created_at.to_string()));
        fact(screen, "ended", self.ended_at.map(|at| at.to_string()));
        fact(screen, "issue", self.issue_id.as_ref().map(ToString::to_string));
        fact(screen, "run", self.run_id.as_ref().map(ToString::to_string));
        fact(screen, "inference", self.inference_session_id.clone());
        if let Some(message) = &self.reset_message {
            screen.block(message);
        }
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

/// Tokens of all models, and what they cost.
fn spent(summary: &Summary) -> Option<String> {
    let total = summary.tokens.values().fold(0_i64, |sum, tokens| sum.saturating_add(tokens.total));
    let cost = summary.cost_usd.map(|cost| format!(", ${cost:.4}")).unwrap_or_default();
    (total > 0).then(|| format!("{total} tokens{cost}"))
}

impl Render for Summary {
    fn render(&self, screen: &mut Screen) {
        self.session.render(screen);
        let took = Span::from_millis(self.duration_ms);
        fact(screen, "entries", Some(format!("{} in {took}", self.entries)));
        fact(screen, "archived", self.session.archived_at.map(|at| at.to_string()));
        fact(screen, "spent", spent(self));
        for (model, tokens) in &self.tokens {
            let Tokens { input, output, cache_read, cache_write, .. } = tokens;
            let words =
                format!("{model}: input {input}, output {output}, cache read {cache_read}, cache write {cache_write}");
            fact(screen, "", Some(words));
        }
    }

    fn ids(&self) -> Vec<String> {
        self.session.ids()
    }
}

impl Render for Vec<Summary> {
    fn render(&self, screen: &mut Screen) {
        for summary in self {
            let session = &summary.session;
            screen.id(&session.id).plain(&format!(" {} {:<10} ", session.agent_id, session.opened_by));
            screen.faint(&session.created_at.to_string());
            screen.plain(&format!(" {}", counted(usize::try_from(summary.entries).unwrap_or(0), "entry", "entries")));
            if let Some(spent) = spent(summary) {
                screen.plain(", ").plain(&spent);
            }
            if session.ended_at.is_none() {
                screen.plain(" active");
            }
            if session.archived_at.is_some() {
                screen.plain(" archived");
            }
            if let Some(message) = &session.reset_message {
                screen.plain(" ").text(&brief(message));
            }
            screen.end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|summary| summary.session.id.to_string()).collect()
    }
}

impl Render for DeletedSessions {
    fn render(&self, screen: &mut Screen) {
        for id in &self.ids {
            screen.plain("deleted ").id(id).end();
        }
        let (sessions, entries) = (self.ids.len(), usize::try_from(self.entries).unwrap_or(0));
        let counts = (counted(sessions, "session", "sessions"), counted(entries, "entry", "entries"));
        screen.plain(&format!("{} with {}", counts.0, counts.1)).end();
    }

    fn ids(&self) -> Vec<String> {
        self.ids.iter().map(ToString::to_string).collect()
    }
}

/// What was not stored, for it is best changed where it was given out too.
pub(crate) fn redactions(screen: &mut Screen, count: i64) {
    match count {
        0 => {}
        1 => screen.plain("1 secret was left out").end(),
        many => screen.plain(&format!("{many} secrets were left out")).end(),
    }
}

impl Render for Appended {
    fn render(&self, screen: &mut Screen) {
        let entries = match (self.first, self.last) {
            (first, last) if first == last => format!("entry {first}"),
            (first, last) => format!("entries {first} to {last}"),
        };
        screen.plain(&format!("appended {entries} to ")).id(&self.session_id).end();
        redactions(screen, self.redactions);
    }

    fn ids(&self) -> Vec<String> {
        (self.first..=self.last).map(|id| id.to_string()).collect()
    }
}

impl Render for Vec<Entry> {
    fn render(&self, screen: &mut Screen) {
        for entry in self {
            screen.faint(&format!("{:>6} {}", entry.id, entry.at)).plain(&format!(" {} ", entry.entry_type));
            screen.text(&brief_json(&entry.data)).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|entry| entry.id.to_string()).collect()
    }
}

impl Render for Vec<Message> {
    fn render(&self, screen: &mut Screen) {
        for message in self {
            let role = format!("{:?}", message.role).to_lowercase();
            screen.heading(&role);
            if let Some(call) = &message.tool_call_id {
                screen.plain(" ").faint(call);
            }
            if message.is_error {
                screen.plain(" error");
            }
            screen.end();
            screen.block(&message.content);
            for call in &message.tool_calls {
                screen.plain("  -> ").text(&call.name).plain(" ").faint(&call.id).plain(" ");
                screen.text(&brief_json(&call.arguments)).end();
            }
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().filter_map(|message| message.entry).map(|id| id.to_string()).collect()
    }
}

impl Render for Vec<Found> {
    fn render(&self, screen: &mut Screen) {
        for found in self {
            screen.faint(&format!("{:>6} {}", found.id, found.at)).plain(" ").id(&found.agent_id).plain(" ");
            screen.id(&found.session_id).plain(&format!(" {} ", found.entry_type)).text(&found.excerpt).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|found| found.id.to_string()).collect()
    }
}

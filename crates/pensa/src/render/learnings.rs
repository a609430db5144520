//! How learnings and briefings look.

use pensa_core::briefing::Briefing;
use pensa_core::learning::recall::Hit;
use pensa_core::learning::{Learning, Shown};
use pensa_core::ops::learning::{Forgotten, Remembered};

use super::agents::fact;
use super::{Render, Screen};

fn line(learning: &Learning, screen: &mut Screen) {
    screen.id(&learning.id).plain(&format!(" {:<8} ", learning.kind)).text(&learning.text);
    for tag in &learning.tags {
        screen.plain(" ").faint(&format!("#{tag}"));
    }
}

/// Where a learning came from, in one line.
fn origin(learning: &Learning, screen: &mut Screen) {
    let mut told = format!("  from {} at {}", learning.actor, learning.created_at);
    let about = [
        ("issue", learning.issue_id.as_ref().map(ToString::to_string)),
        ("work", learning.work.as_ref().map(ToString::to_string)),
        ("session", learning.session_id.as_ref().map(ToString::to_string)),
    ];
    for (name, id) in about {
        if let Some(id) = id {
            told.push_str(&format!(", {name} {id}"));
        }
    }
    if !learning.files.is_empty() {
        told.push_str(&format!(", in {}", learning.files.join(" ")));
    }
    screen.faint(&told).end();
}

impl Render for Learning {
    fn render(&self, screen: &mut Screen) {
        line(self, screen);
        screen.end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for Remembered {
    fn render(&self, screen: &mut Screen) {
        self.learning.render(screen);
    }

    fn ids(&self) -> Vec<String> {
        self.learning.ids()
    }
}

impl Render for Vec<Remembered> {
    fn render(&self, screen: &mut Screen) {
        self.iter().for_each(|kept| kept.render(screen));
    }

    fn ids(&self) -> Vec<String> {
        self.iter().flat_map(Render::ids).collect()
    }
}

impl Render for Vec<Hit> {
    fn render(&self, screen: &mut Screen) {
        for hit in self {
            line(&hit.learning, screen);
            screen.plain(if hit.cut { " …" } else { "" }).end();
            origin(&hit.learning, screen);
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|hit| hit.learning.id.to_string()).collect()
    }
}

impl Render for Vec<Shown> {
    fn render(&self, screen: &mut Screen) {
        for shown in self {
            line(&shown.learning, screen);
            if let Some(by) = &shown.superseded_by {
                screen.plain(" ").faint(&format!("superseded by {by}"));
            }
            screen.end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|shown| shown.learning.id.to_string()).collect()
    }
}

impl Render for Shown {
    fn render(&self, screen: &mut Screen) {
        let learning = &self.learning;
        screen.id(&learning.id).plain(&format!(" {} {} impact", learning.kind, learning.impact)).end();
        screen.block(&learning.text);
        fact(screen, "tags", (!learning.tags.is_empty()).then(|| learning.tags.join(" ")));
        fact(screen, "files", (!learning.files.is_empty()).then(|| learning.files.join(" ")));
        fact(screen, "issue", learning.issue_id.as_ref().map(ToString::to_string));
        fact(screen, "work", learning.work.as_ref().map(ToString::to_string));
        fact(screen, "session", learning.session_id.as_ref().map(ToString::to_string));
        fact(screen, "tracker", learning.linear_id.clone());
        fact(screen, "worth", learning.value.as_ref().and_then(|value| value.description.clone()));
        fact(screen, "told by", Some(learning.actor.clone()));
        fact(screen, "told at", Some(learning.created_at.to_string()));
        fact(screen, "revision", Some(learning.revision.to_string()));
        fact(screen, "verified", learning.verified_at.map(|at| at.to_string()));
        fact(screen, "expires", learning.expires_at.map(|at| at.to_string()));
        fact(screen, "supersedes", learning.supersedes.as_ref().map(ToString::to_string));
        fact(screen, "superseded by", self.superseded_by.as_ref().map(ToString::to_string));
    }

    fn ids(&self) -> Vec<String> {
        self.learning.ids()
    }
}

impl Render for Forgotten {
    fn render(&self, screen: &mut Screen) {
        screen.plain("forgot ").id(&self.id).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for Briefing {
    fn render(&self, screen: &mut Screen) {
        // Its lines were made fit for a terminal when they were made.
        screen.plain(&pensa_core::text::printable_block(&self.markdown()));
    }

    fn ids(&self) -> Vec<String> {
        self.sections.iter().flat_map(|section| &section.lines).filter_map(|line| line.id.clone()).collect()
    }
}

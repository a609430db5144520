//! How projects, tokens and audits look.

use pensa_core::ops::audit::AuditLine;
use pensa_core::project::{NewToken, Project, ProjectName, Role, Token};

use super::{Render, Screen};

impl Render for Project {
    fn render(&self, screen: &mut Screen) {
        screen.heading(self.name.as_str()).plain(" ").faint(&self.store_id);
        if let Some(at) = self.archived_at {
            screen.plain(&format!(" archived {at}"));
        }
        screen.end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.name.to_string()]
    }
}

impl Render for Vec<Project> {
    fn render(&self, screen: &mut Screen) {
        self.iter().for_each(|project| project.render(screen));
    }

    fn ids(&self) -> Vec<String> {
        self.iter().flat_map(Render::ids).collect()
    }
}

/// A role, and the project it is held in.
fn held(role: Role, project: Option<&ProjectName>) -> String {
    match project {
        Some(project) => format!(" {role} of {project}"),
        None => format!(" {role}"),
    }
}

impl Render for NewToken {
    fn render(&self, screen: &mut Screen) {
        screen.id(&self.id).plain(&held(self.role, self.project.as_ref()));
        if let Some(end) = self.expires_at {
            screen.plain(&format!(" until {end}"));
        }
        screen.end();
        screen.text(&self.token).end();
        screen.faint("keep it now: it is not shown again").end();
    }

    /// For scripts: the secret is what a new token is made for.
    fn ids(&self) -> Vec<String> {
        vec![self.token.clone()]
    }
}

impl Render for Token {
    fn render(&self, screen: &mut Screen) {
        screen.id(&self.id).plain(&held(self.role, self.project.as_ref()));
        screen.plain(" made by ").text(&self.created_by).plain(&format!(" {}", self.created_at));
        match (self.revoked_at, self.expires_at) {
            (Some(at), _) => drop(screen.plain(&format!(" revoked {at}"))),
            (None, Some(end)) => drop(screen.plain(&format!(" until {end}"))),
            (None, None) => {}
        }
        screen.end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for Vec<Token> {
    fn render(&self, screen: &mut Screen) {
        self.iter().for_each(|token| token.render(screen));
    }

    fn ids(&self) -> Vec<String> {
        self.iter().flat_map(Render::ids).collect()
    }
}

impl Render for Vec<AuditLine> {
    fn render(&self, screen: &mut Screen) {
        for line in self {
            screen.faint(&line.at.to_string()).plain(" ");
            let token = line.token.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
            screen.id(&token).plain(" ").text(&line.actor).plain(" ");
            screen.text(&line.event_type).plain(" ").text(&line.subject_kind).plain(" ").text(&line.subject_id);
            if let Some(project) = &line.project {
                screen.plain(" in ").text(project.as_str());
            }
            screen.end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|line| line.subject_id.clone()).collect()
    }
}

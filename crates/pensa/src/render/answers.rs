//! How the answer of each operation looks.

use pensa_core::comment::Comment;
use pensa_core::event::{Event, describe};
use pensa_core::id::IssueId;
use pensa_core::issue::{Created, Issue, IssueDetail, Updated};
use pensa_core::ops::backup::{BackedUp, Restored};
use pensa_core::ops::dep::DepChange;
use pensa_core::ops::issue::{Counted, Deleted, Group};
use pensa_core::ops::store::{Place, Report, Severity, Summary, Tally, Transfer};
use pensa_core::sync::Conflict;
use serde_json::Value;

use super::{Render, Screen, counted};

impl Render for Issue {
    fn render(&self, screen: &mut Screen) {
        screen.issue(self, true).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for Created {
    fn render(&self, screen: &mut Screen) {
        self.issue.render(screen);
    }

    fn ids(&self) -> Vec<String> {
        self.issue.ids()
    }
}

impl Render for Updated {
    fn render(&self, screen: &mut Screen) {
        self.issue.render(screen);
    }

    fn ids(&self) -> Vec<String> {
        self.issue.ids()
    }
}

impl Render for Vec<Issue> {
    fn render(&self, screen: &mut Screen) {
        for issue in self {
            issue.render(screen);
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|issue| issue.id.to_string()).collect()
    }
}

impl Render for IssueDetail {
    fn render(&self, screen: &mut Screen) {
        let issue = &self.issue;
        screen.id(&issue.id).plain(" ").heading(&issue.title).end();
        screen.priority(issue.priority).plain(&format!(" {} ", issue.issue_type)).status(issue.status);
        if let Some(assignee) = &issue.assignee {
            screen.plain(" @").text(assignee);
        }
        if let Some(until) = issue.lease_expires_at {
            screen.plain(&format!(" until {until}"));
        }
        screen.end();
        let facts = [
            ("session", issue.claim_session.clone()),
            ("host", issue.claim_host.clone()),
            ("spec", issue.spec.clone()),
            ("fixes", issue.fixes.as_ref().map(ToString::to_string)),
            ("created", Some(issue.created_at.to_string())),
            ("updated", Some(issue.updated_at.to_string())),
            ("closed", issue.closed_at.map(|at| at.to_string())),
            ("reason", issue.close_reason.clone()),
        ];
        for (name, value) in facts {
            if let Some(value) = value {
                screen.faint(&format!("{name:<8}")).text(&value).end();
            }
        }
        if let Some(description) = &issue.description {
            screen.end();
            screen.block(description);
        }
        if !self.deps.is_empty() {
            screen.end();
            screen.heading("waits for").end();
            for dep in &self.deps {
                screen.plain("  ").issue(dep, true).end();
            }
        }
        for (kind, lines) in self.attached_lines() {
            screen.end();
            screen.heading(kind).end();
            lines.iter().for_each(|line| screen.plain("  ").text(line).end());
        }
        if !self.comments.is_empty() {
            screen.end();
            screen.heading("comments").end();
            self.comments.render(screen);
        }
    }

    fn ids(&self) -> Vec<String> {
        self.issue.ids()
    }
}

impl Render for Deleted {
    fn render(&self, screen: &mut Screen) {
        screen.plain("deleted ").id(&self.id).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for Counted {
    fn render(&self, screen: &mut Screen) {
        match self {
            Counted::Plain { count } => screen.plain(&count.to_string()).end(),
            Counted::Grouped { total, groups } => {
                for group in groups {
                    screen.plain(&format!("{:>6}  ", group.count)).text(&names(group)).end();
                }
                screen.plain(&format!("{total:>6}  total")).end();
            }
        }
    }

    fn ids(&self) -> Vec<String> {
        Vec::new()
    }
}

fn names(group: &Group) -> String {
    let assignee =
        group.assignee.as_ref().map(|name| if name.is_empty() { "unassigned".into() } else { format!("@{name}") });
    let parts = [
        group.status.map(|word| word.to_string()),
        group.priority.map(|word| word.to_string()),
        group.issue_type.map(|word| word.to_string()),
        assignee,
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

impl Render for Summary {
    fn render(&self, screen: &mut Screen) {
        let mut row = |name: &str, tally: Tally| {
            let Tally { open, in_progress, closed } = tally;
            screen.plain(&format!("{name:<6} {open:>6} open {in_progress:>6} in progress {closed:>6} closed")).end();
        };
        for (name, tally) in &self.by_type {
            row(name, *tally);
        }
        row("all", self.total);
    }

    fn ids(&self) -> Vec<String> {
        Vec::new()
    }
}

impl Render for Vec<Event> {
    fn render(&self, screen: &mut Screen) {
        for event in self {
            screen
                .faint(&format!("{:>4} {}", event.id, event.created_at))
                .plain(" ")
                .text(&event.event_type)
                .plain(" by ");
            screen.text(&event.actor);
            let changes = describe(&event.detail);
            if !changes.is_empty() {
                screen.plain(": ").text(&changes);
            }
            screen.end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|event| event.id.to_string()).collect()
    }
}

impl Render for DepChange {
    fn render(&self, screen: &mut Screen) {
        let relation = if self.status == "added" { "waits for" } else { "no longer waits for" };
        screen.id(&self.issue_id).plain(&format!(" {relation} ")).id(&self.depends_on_id).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.issue_id.to_string()]
    }
}

impl Render for Vec<Vec<IssueId>> {
    fn render(&self, screen: &mut Screen) {
        for cycle in self {
            let ids: Vec<&str> = cycle.iter().chain(cycle.first()).map(IssueId::as_str).collect();
            screen.text(&ids.join(" → ")).end();
        }
        if self.is_empty() {
            screen.faint("no cycles").end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().flatten().map(ToString::to_string).collect()
    }
}

impl Render for Comment {
    fn render(&self, screen: &mut Screen) {
        screen.id(&self.id).plain(" ").faint(&self.created_at.to_string()).plain(" @").text(&self.actor).end();
        screen.block(&self.text);
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for Vec<Comment> {
    fn render(&self, screen: &mut Screen) {
        for comment in self {
            comment.render(screen);
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|comment| comment.id.to_string()).collect()
    }
}

impl Render for Conflict {
    fn render(&self, screen: &mut Screen) {
        let shown = |value: &Value| match value {
            Value::String(text) => text.clone(),
            Value::Null => "nothing".to_owned(),
            Value::Bool(true) => "deleted".to_owned(),
            Value::Object(record) => record.get("title").and_then(Value::as_str).unwrap_or("the record").to_owned(),
            other => other.to_string(),
        };
        screen.plain(self.id.as_str()).plain("  ").text(&self.record_id).plain("  ").text(&self.field);
        screen.plain(": kept ").text(&shown(&self.kept)).plain(", other ").text(&shown(&self.other)).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for Vec<Conflict> {
    fn render(&self, screen: &mut Screen) {
        for conflict in self {
            conflict.render(screen);
        }
        if !self.is_empty() {
            screen.plain("pn conflicts resolve ID --take kept|other settles one").end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().flat_map(Render::ids).collect()
    }
}

impl Render for Transfer {
    fn render(&self, screen: &mut Screen) {
        let mut parts = vec![
            counted(self.issues, "issue", "issues"),
            counted(self.deps, "dependency", "dependencies"),
            counted(self.comments, "comment", "comments"),
        ];
        for (name, count) in &self.others {
            parts.extend(count.as_i64().map(|count| counted(count, name.trim_end_matches('s'), name)));
        }
        parts.extend(self.events.map(|events| counted(events, "event", "events")));
        screen.plain(&parts.join(", ")).end();
    }

    fn ids(&self) -> Vec<String> {
        Vec::new()
    }
}

impl Render for Report {
    fn render(&self, screen: &mut Screen) {
        for finding in &self.findings {
            let severity = match finding.severity {
                Severity::Info => "info",
                Severity::Warning => "warning",
                Severity::Error => "error",
            };
            screen.plain(&format!("{severity:<8}")).text(&finding.check).plain(": ").text(&finding.message).end();
        }
        for fix in &self.fixes_applied {
            screen.plain("fixed   ").text(fix).end();
        }
        if self.findings.is_empty() {
            screen.plain("all is well").end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.findings.iter().filter_map(|finding| finding.issue_id.as_ref()).map(ToString::to_string).collect()
    }
}

impl Render for Place {
    fn render(&self, screen: &mut Screen) {
        screen.text(&self.path).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.path.clone()]
    }
}

impl Render for BackedUp {
    fn render(&self, screen: &mut Screen) {
        let size = self.bytes.div_ceil(1024);
        screen.text(&self.path).faint(&format!(" {size} KiB, up to event {}", self.event)).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.path.clone()]
    }
}

impl Render for Vec<BackedUp> {
    fn render(&self, screen: &mut Screen) {
        self.iter().for_each(|backup| backup.render(screen));
    }

    fn ids(&self) -> Vec<String> {
        self.iter().flat_map(Render::ids).collect()
    }
}

impl Render for Restored {
    fn render(&self, screen: &mut Screen) {
        screen
            .plain(&format!(
                "restored {}; what was there before is in ",
                match self.issues {
                    1 => "1 issue".to_owned(),
                    many => format!("{many} issues"),
                }
            ))
            .text(&self.backup)
            .end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.backup.clone()]
    }
}

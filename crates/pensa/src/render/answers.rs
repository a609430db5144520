//! Prints issues, their events and counts, and the path of a store.

use pensa_core::event::{Event, describe};
use pensa_core::issue::{Created, Issue, Updated};
use pensa_core::ops::issue::{Counted, Deleted, Group};
use pensa_core::ops::store::{IssueCounts, StorePath, StoreSummary};

use super::{ListItem, Render, Screen, list_item, when};

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

list_item!(Created, "issue", "issues");
list_item!(Deleted, "issue", "issues");
list_item!(Issue, "issue", "issues");
list_item!(Updated, "issue", "issues");

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

impl Render for StoreSummary {
    fn render(&self, screen: &mut Screen) {
        let mut row = |name: &str, tally: IssueCounts| {
            let IssueCounts { open, in_progress, closed } = tally;
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

impl ListItem for Event {
    const NOUN: [&str; 2] = ["event", "events"];

    fn render_item(&self, screen: &mut Screen) {
        screen
            .faint(&format!("{:>4} {}", self.id, when(self.created_at)))
            .plain(" ")
            .text(&self.event_type)
            .plain(" by ");
        screen.text(&self.actor);
        let changes = describe(&self.detail);
        if !changes.is_empty() {
            screen.plain(": ").cut(&changes);
        }
        screen.end();
    }

    fn item_ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for StorePath {
    fn render(&self, screen: &mut Screen) {
        screen.text(&self.path).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.path.clone()]
    }
}

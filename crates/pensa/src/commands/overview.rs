//! `pn` without a command: my work, the top of the queue, and counts.

use pensa_core::Result;
use pensa_core::issue::{Issue, Status};
use pensa_core::ops::issue::{List, Ready};
use pensa_core::ops::store::{self, StoreSummary};
use serde::Serialize;

use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

/// How many ready issues are shown.
const TOP: u32 = 5;

#[derive(Debug, Serialize)]
struct Overview {
    actor: String,
    mine: Vec<Issue>,
    ready: Vec<Issue>,
    status: StoreSummary,
}

pub(super) fn run(options: &GlobalOptions, output: Output) -> Result<()> {
    let client = connect::client(options)?;
    let actor = client.actor();
    let mine =
        List { status: Some(Status::InProgress), assignee: Some(actor.clone()), limit: Some(20), ..List::default() };
    output.answer(&Overview {
        mine: client.call(&mine)?,
        ready: client.call(&Ready { limit: Some(TOP), ..Ready::default() })?,
        status: client.call(&store::Status {})?,
        actor,
    })
}

impl Render for Overview {
    fn render(&self, screen: &mut Screen) {
        section(screen, &format!("{} is on", self.actor), "nothing", &self.mine);
        section(screen, "ready", "nothing", &self.ready);
        let total = self.status.total;
        screen.plain(&format!("{} open, {} in progress, {} closed", total.open, total.in_progress, total.closed)).end();
    }

    fn ids(&self) -> Vec<String> {
        self.mine.iter().chain(&self.ready).map(|issue| issue.id.to_string()).collect()
    }
}

fn section(screen: &mut Screen, heading: &str, empty: &str, issues: &[Issue]) {
    screen.heading(heading).end();
    if issues.is_empty() {
        screen.plain("  ").faint(empty).end();
    }
    for issue in issues {
        screen.plain("  ").issue(issue, false).end();
    }
}

//! `pn` alone: what I am doing, what is next, how it stands.

use pensa_core::Result;
use pensa_core::issue::{Issue, Status};
use pensa_core::ops::issue::{List, Ready};
use pensa_core::ops::store::{self, Summary};
use serde::Serialize;

use crate::cli::Options;
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

/// How much of the queue is shown.
const TOP: u32 = 5;

#[derive(Debug, Serialize)]
struct Overview {
    actor: String,
    mine: Vec<Issue>,
    ready: Vec<Issue>,
    status: Summary,
}

pub(super) fn run(options: &Options, output: Output) -> Result<()> {
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

//! `pn undo` and `pn redo`.

use std::collections::HashSet;

use clap::Args;
use pensa_core::Result;
use pensa_core::ops::undo::{List, Redone, Undo, Undoable, Undone, UndoneEvent};

use super::run_op;
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen, when};

#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    #[command(flatten)]
    op: Undo,
    /// List what can be undone instead, newest first
    #[arg(long, conflicts_with_all = ["by", "since", "event", "force", "dry_run"])]
    list: bool,
    /// How many operations to show [default: 20]
    #[arg(long, value_name = "N", requires = "list")]
    limit: Option<u32>,
}

pub(super) fn run(options: &GlobalOptions, output: Output, args: &UndoArgs) -> Result<()> {
    match args {
        UndoArgs { op, list: true, limit } => {
            let client = connect::client(options)?;
            output.answer(&client.call(&List { actor: Some(client.actor()), any: op.any, limit: *limit })?)
        }
        UndoArgs { op, .. } => run_op(options, output, op),
    }
}

impl Render for Undone {
    fn render(&self, screen: &mut Screen) {
        for one in &self.passed_over {
            screen.plain("passed over ");
            render_operation(screen, one);
        }
        let verb = if self.event.is_some() { "took back " } else { "would take back " };
        render_events(screen, verb, &self.undone);
    }

    fn ids(&self) -> Vec<String> {
        subjects(&self.undone)
    }
}

impl Render for Redone {
    fn render(&self, screen: &mut Screen) {
        let verb = if self.event.is_some() { "brought back " } else { "would bring back " };
        render_events(screen, verb, &self.redone);
    }

    fn ids(&self) -> Vec<String> {
        subjects(&self.redone)
    }
}

impl Render for Vec<Undoable> {
    fn render(&self, screen: &mut Screen) {
        if self.is_empty() {
            screen.plain("there is nothing to undo").end();
        }
        for one in self {
            screen.plain(&format!("{:>6}  ", one.event));
            render_operation(screen, one);
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().filter(|one| one.refused.is_none()).map(|one| one.event.to_string()).collect()
    }
}

fn render_events(screen: &mut Screen, verb: &str, events: &[UndoneEvent]) {
    for one in events {
        screen.plain(verb).id(&one.subject_id).plain(" ").text(&one.event_type).plain(" by ").text(&one.actor);
        screen.plain(" ").faint(&when(one.created_at)).end();
    }
}

/// One line: the operation, and why it cannot be undone.
fn render_operation(screen: &mut Screen, one: &Undoable) {
    if let Some(first) = one.events.first() {
        screen.id(&first.subject_id).plain(" ").text(&first.event_type).plain(" by ").text(&first.actor);
        screen.plain(" ").faint(&when(first.created_at));
    }
    if one.events.len() > 1 {
        screen.faint(&format!(" and {} more", one.events.len() - 1));
    }
    if let Some(why) = &one.refused {
        screen.plain(": ").text(why);
    }
    if let Some(command) = &one.instead {
        screen.plain("; ").text(command).plain(" reverses it");
    }
    screen.end();
}

/// The ids of the changed records, each once.
fn subjects(events: &[UndoneEvent]) -> Vec<String> {
    let mut seen = HashSet::new();
    events.iter().map(|one| one.subject_id.clone()).filter(|id| seen.insert(id.clone())).collect()
}

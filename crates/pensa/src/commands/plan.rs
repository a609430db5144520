//! `pn accept`, `pn children`, `pn label`, `pn link`, `pn view`, and `pn next --claim`.

use clap::Args;
use pensa_core::issue::{Issue, LinkedIssue};
use pensa_core::ops::issue::Ready;
use pensa_core::ops::label::{self, LabelCount, LabelRenamed};
use pensa_core::ops::link::{self, LinkChange};
use pensa_core::ops::next::{Assignment, ClaimNext};
use pensa_core::ops::view::{self, View};
use pensa_core::{Error, Result};

use super::issue::ShownIssue;
use super::run_op;
use crate::cli::GlobalOptions;
use crate::output::Output;
use crate::render::{Render, Screen, list_item};

op_subcommands!(LabelCommand { List(label::List), Rename(label::Rename) });
op_subcommands!(ViewCommand { Save(view::Save), List(view::List), Remove(view::Remove) });
op_subcommands!(LinkCommand { Add(link::Add), List(link::List), Remove(link::Remove) });

/// Show the queue, or claim its first issue
#[derive(Debug, Args)]
pub(crate) struct NextArgs {
    /// At most this many
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "claim")]
    limit: Option<u32>,
    /// Claim the first one, and print what is needed to begin
    #[arg(long)]
    claim: bool,
    #[command(flatten)]
    op: ClaimNext,
}

pub(super) fn next(options: &GlobalOptions, output: Output, args: &NextArgs) -> Result<()> {
    if args.claim {
        return run_op(options, output, &args.op);
    }
    if args.op.ttl.is_some() {
        return Err(Error::invalid("--ttl goes with --claim").hint("pn next --claim --ttl 30m"));
    }
    run_op(options, output, &Ready { q: args.op.q.clone(), limit: args.limit, ..Ready::default() })
}

impl Render for Assignment {
    fn render(&self, screen: &mut Screen) {
        ShownIssue { detail: self.detail.clone(), created_by: None }.render(screen);
        if let Some(parent) = &self.parent_issue {
            section(screen, "part of");
            screen.indented(parent).end();
        }
        if !self.learnings.is_empty() {
            section(screen, "known about it");
        }
        for learning in &self.learnings {
            screen.plain("  ").id(&learning.id).plain(&format!(" {}: ", learning.kind)).text(&learning.text).end();
        }
        if !self.files.is_empty() {
            section(screen, "files");
        }
        for file in &self.files {
            screen.plain("  ").text(file).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        vec![self.detail.issue.id.to_string()]
    }
}

/// Begins a part of an issue's page.
pub(super) fn section(screen: &mut Screen, title: &str) {
    screen.end();
    screen.heading(title).end();
}

/// The planning fields of an issue, its links and criteria.
pub(super) fn render_plan(issue: &Issue, screen: &mut Screen) {
    for (name, value) in issue.plan_facts() {
        screen.faint(&format!("{name:<7} ")).text(&value).end();
    }
    for link in &issue.links {
        screen.faint("link    ").plain(&format!("{} ", link.kind)).id(&link.to).end();
    }
}

impl Render for LabelCount {
    fn render(&self, screen: &mut Screen) {
        let closed = self.count - self.open;
        screen.text(&self.label).plain(&format!(" {}", self.count));
        screen.faint(&format!(" ({} open, {closed} closed)", self.open)).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.label.clone()]
    }
}

list_item!(LabelCount, "label", "labels");

impl Render for View {
    fn render(&self, screen: &mut Screen) {
        screen.plain("@").text(&self.name).plain("  ").text(&self.query).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.name.clone()]
    }
}

list_item!(View, "view", "views");

impl Render for LabelRenamed {
    fn render(&self, screen: &mut Screen) {
        let issues = if self.changed == 1 { "issue" } else { "issues" };
        screen.plain("renamed ").text(&self.old).plain(" to ").text(&self.new);
        screen.plain(&format!(" on {} {issues}", self.changed)).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.new.clone()]
    }
}

impl Render for LinkedIssue {
    fn render(&self, screen: &mut Screen) {
        let arrow = if self.incoming { "<-" } else { "->" };
        screen.plain(&format!("{arrow} {} ", self.kind)).id(&self.id);
        if let Some(status) = self.status {
            screen.plain(" ").status(status);
        }
        screen.plain(" ").text(self.title.as_deref().unwrap_or("(no such issue)")).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

list_item!(LinkedIssue, "link", "links");

impl Render for LinkChange {
    fn render(&self, screen: &mut Screen) {
        let kinds: Vec<&str> = self.kinds.iter().map(|kind| kind.as_str()).collect();
        screen.plain(&format!("{} ", self.status)).id(&self.id);
        screen.plain(&format!(" {} ", kinds.join(", "))).id(&self.to).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

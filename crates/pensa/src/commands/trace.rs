//! `pn trace`: shows the history of an issue, with the commits of the repository on this machine.

use clap::{Args, ValueEnum};
use pensa_core::ops::trace;
use pensa_core::session::Spent;
use pensa_core::trace::{Kind, Trace, TraceEntry, format_duration, markdown};
use pensa_core::{Result, Timestamp, json};
use pensa_git::Commit;

use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  pn trace pn-a1b2c3d4\n  pn trace pn-a1b2c3d4 --format md > report.md\n  \
    pn trace pn-a1b2c3d4 --json | jq .totals")]
pub(crate) struct TraceArgs {
    #[command(flatten)]
    pub(crate) op: trace::Trace,
    /// The format: for a terminal, a report, or a program
    #[arg(long, value_enum, default_value_t = TraceFormat::Text, value_name = "FORM")]
    pub(crate) format: TraceFormat,
    /// Leave out the commits of this repository
    #[arg(long)]
    pub(crate) no_commits: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceFormat {
    Text,
    Md,
    Json,
}

/// The most commits that are shown.
const MAX_COMMITS: usize = 1000;

pub(super) fn run(options: &GlobalOptions, output: Output, args: &TraceArgs) -> Result<()> {
    let mut trace = connect::client(options)?.call(&args.op)?;
    let config = connect::config(options)?;
    if config.has_prices() {
        let models = std::mem::take(&mut trace.totals.models);
        trace.totals.set_spent(Spent::new(models, &config.prices()?));
    }
    if !args.no_commits {
        let dir = connect::project_store(options).and_then(|store| Some(store.root().parent()?.to_owned()));
        let dir = dir.map_or_else(connect::cwd, Ok)?;
        // The trace is useful without commits.
        match pensa_git::mentions(&dir, &trace.issue.id, MAX_COMMITS) {
            Ok(commits) => trace.add_commits(commits.into_iter().filter_map(moment).collect(), args.op.most()),
            Err(e) => trace.notes.push(format!("commits are missing: {}", e.message)),
        }
    }
    match args.format {
        TraceFormat::Md if !output.is_json() => output.raw(markdown(&trace).as_bytes()),
        TraceFormat::Json => output.line(&json::to_line(&trace)?),
        TraceFormat::Md | TraceFormat::Text => output.answer(&trace),
    }
}

fn moment(commit: Commit) -> Option<TraceEntry> {
    let at = Timestamp::from_millis(commit.seconds.checked_mul(1000)?).ok()?;
    let moment = TraceEntry::new(at, Kind::Commit, "committed").of(&commit.id).by(commit.author);
    Some(moment.saying(&commit.subject))
}

/// The most characters of an id; commit ids are longer.
const MAX_ID_CHARS: usize = 13;

impl Render for Trace {
    fn render(&self, screen: &mut Screen) {
        let issue = &self.issue;
        screen.id(&issue.id).plain(" ").heading(&issue.title).end();
        screen.priority(issue.priority).plain(&format!(" {} ", issue.issue_type)).status(issue.status);
        if let Some(assignee) = &issue.assignee {
            screen.plain(" @").text(assignee);
        }
        let until = if issue.closed_at.is_some() { "closed after" } else { "open for" };
        screen.plain(&format!(", {until} {}", format_duration(self.totals.age_ms))).end();
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
        for (name, value) in self.totals.in_words() {
            screen.faint(&format!("{name:<10}")).text(&value).end();
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

fn line(entry: &TraceEntry, time: &str, screen: &mut Screen) {
    screen.plain("  ").faint(time).plain(&format!(" {:<8} ", entry.kind));
    let event = format!("{:<12}", entry.event);
    if entry.failed {
        screen.error(&event)
    } else {
        screen.text(&event)
    };
    if let Some(id) = &entry.id {
        let id: String = id.chars().take(MAX_ID_CHARS).collect();
        screen.plain(" ").id(&id);
    }
    if let Some(actor) = &entry.actor {
        screen.plain(" ").faint(&format!("@{actor}"));
    }
    if let Some(millis) = entry.duration_ms {
        screen.plain(&format!(" {}", format_duration(millis)));
    }
    if !entry.text.is_empty() {
        screen.plain("  ").text(&entry.text);
    }
    screen.end();
}

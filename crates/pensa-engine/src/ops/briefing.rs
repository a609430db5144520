//! Builds the briefing that tells an agent the state of its work.
//!
//! `pensa_core::briefing` cuts it to size.

use pensa_core::briefing::{self, Briefing, BriefingLine, DEFAULT_TOKENS, Format, SectionDraft};
use pensa_core::issue::{Issue, Status};
use pensa_core::learning::Learning;
use pensa_core::learning::recall;
use pensa_core::ops::briefing::Brief;
use pensa_core::ops::issue::Filter;
use pensa_core::record::{self, Order};
use pensa_core::release::Release;
use pensa_core::run::RunStatus;
use pensa_core::signal::{Receipt, Signal};
use pensa_core::work::{StepStatus, Work, WorkStatus};
use pensa_core::{Result, Span, id, text};

use super::recall::recalled;
use crate::context::Context;
use crate::db::{Tx, params};
use crate::execute::Execute;
use crate::tables::issue_query::Selection;
use crate::tables::issues;
use crate::tables::records::Query;
use crate::tables::{agents, learnings, loops, releases, runs, signals, work};

/// Most lines per section.
const MAX_LINES: u32 = 20;
/// Most releases listed.
const MAX_RELEASES: u32 = 5;
/// Most loops, and most runs, of an actor that are checked for signals.
const MAX_ADDRESSES: usize = 200;
/// Claims that expire within this time are listed.
const EXPIRY_WARNING: Span = Span::from_millis(3_600_000);

/// The actor of a briefing and the data that several sections use.
struct BriefingContext<'v, 'c> {
    cx: &'v Context<'c>,
    tx: &'v Tx<'c>,
    who: Option<String>,
    mine: Vec<Issue>,
}

/// A section: its function, name, title and minimum number of lines.
struct BriefingSection {
    name: &'static str,
    title: &'static str,
    first: usize,
    lines: fn(&BriefingContext<'_, '_>) -> Result<Vec<BriefingLine>>,
}

/// All sections, most important first.
const SECTIONS: [BriefingSection; 8] = [
    BriefingSection { name: "signals", title: "Unread signals", first: 5, lines: unread },
    BriefingSection { name: "work", title: "Doing now", first: 3, lines: doing },
    BriefingSection { name: "paused", title: "Paused", first: 3, lines: paused },
    BriefingSection { name: "claims", title: "Claimed by me", first: 3, lines: claims },
    BriefingSection { name: "expiring", title: "Claims that end soon", first: 3, lines: expiring },
    BriefingSection { name: "queue", title: "Next in the queue", first: 5, lines: queue },
    BriefingSection { name: "learnings", title: "Known about it", first: 5, lines: learnings_about_work },
    BriefingSection { name: "releases", title: "Shipped last", first: 2, lines: shipped },
];

impl Execute for Brief {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Briefing> {
        let max_tokens = recall::check_budget(self.max_tokens.unwrap_or(DEFAULT_TOKENS))?;
        let who = text::optional_line("actor", self.who.as_ref())?;
        let mine = who.clone().map_or_else(|| Ok(Vec::new()), |who| mine(cx, tx, who))?;
        let view = BriefingContext { cx, tx, who, mine };
        let draft = |part: &BriefingSection| {
            let lines = (part.lines)(&view)?;
            Ok(SectionDraft { name: part.name, title: part.title, first: part.first, lines })
        };
        let drafts: Vec<SectionDraft> = SECTIONS.iter().map(draft).collect::<Result<_>>()?;
        briefing::assemble(&drafts, max_tokens, self.format.unwrap_or(Format::Markdown))
    }
}

fn mine(cx: &Context<'_>, tx: &Tx<'_>, who: String) -> Result<Vec<Issue>> {
    let filter = Filter { status: Some(Status::InProgress), assignee: Some(who), ..Filter::default() };
    super::issue::queue(tx, Selection::new("1 = 1").filtered(cx, tx, &filter)?, MAX_LINES)
}

fn line(issue: &Issue) -> BriefingLine {
    let Issue { priority, issue_type, title, .. } = issue;
    let assignee = issue.assignee.as_ref().map(|name| format!(" @{name}")).unwrap_or_default();
    BriefingLine::new(&issue.id, &format!("{priority} {issue_type}{assignee}{} {title}", session(issue)))
}

fn session(issue: &Issue) -> String {
    issue.claim_session.as_ref().map(|session| format!(" (session {session})")).unwrap_or_default()
}

/// The actor's work with this status, except on issues that others hold.
fn work_of(view: &BriefingContext<'_, '_>, status: WorkStatus) -> Result<Vec<Work>> {
    let Some(who) = &view.who else { return Ok(Vec::new()) };
    work::list(view.tx, Some(status), Some(who), Some(MAX_LINES))
}

fn work_line(work: &Work) -> String {
    let branch = work.branch.as_ref().map(|branch| format!(" on {branch}")).unwrap_or_default();
    let steps = match work.current_step {
        Some(at) => format!(", step {at} of {}", work.steps.len()),
        None if work.steps.is_empty() => String::new(),
        None => format!(", all {} steps done", work.steps.len()),
    };
    format!("{}{branch}{steps}: {}", work.kind, work.title)
}

/// The active work: its current step and the next ones.
fn doing(view: &BriefingContext<'_, '_>) -> Result<Vec<BriefingLine>> {
    let mut lines = Vec::new();
    for work in work_of(view, WorkStatus::Active)? {
        let held = view.mine.iter().find(|issue| issue.id == work.issue_id).map(session).unwrap_or_default();
        lines.push(BriefingLine::new(&work.issue_id, &format!("{}{held}", work_line(&work))));
        let steps = work.steps.iter().enumerate().filter(|(_, step)| step.status == StepStatus::Pending);
        lines.extend(steps.map(|(at, step)| BriefingLine::new(format!("step {}", at + 1), &step.title)));
    }
    lines.truncate(usize::try_from(MAX_LINES).unwrap_or(usize::MAX));
    Ok(lines)
}

/// Unacknowledged signals to the actor's loops, runs and agents.
fn unread(view: &BriefingContext<'_, '_>) -> Result<Vec<BriefingLine>> {
    let Some(who) = &view.who else { return Ok(Vec::new()) };
    let mut sent = signals::sent_to(view.tx, &addresses(view.tx, who)?, true)?;
    sent.truncate(usize::try_from(MAX_LINES).unwrap_or(usize::MAX));
    let to_line = |(receipt, signal): &(Receipt, Signal)| {
        let reason = if signal.reason.is_empty() { String::new() } else { format!(": {}", signal.reason) };
        BriefingLine::new(
            &signal.id,
            &format!("{} to {} from {}{reason}", signal.signal_type, receipt.recipient, signal.actor),
        )
    };
    Ok(sent.iter().map(to_line).collect())
}

/// The ids at which an actor receives signals: its loops and runs, and agents with its name.
fn addresses(tx: &Tx<'_>, who: &str) -> Result<Vec<String>> {
    let filters = vec![record::Filter::eq("holder", who), record::Filter::is_null("archived_at")];
    let order = Order::by("created_at").descending();
    let mine =
        loops::select(tx, &loops::open(tx)?, &Query { filters, order, limit: Some(MAX_ADDRESSES), after: None })?;
    let mut all: Vec<String> = mine.into_iter().map(|one| one.id.to_string()).collect();
    let most = u32::try_from(MAX_ADDRESSES).ok();
    let running = vec![("actor", who.to_owned()), ("status", RunStatus::Running.to_string())];
    all.extend(runs::list(tx, running, most)?.into_iter().map(|run| run.id.to_string()));
    if id::check(who).is_ok() {
        let named = agents::candidates(tx, who)?.into_iter();
        all.extend(
            named
                .filter(|agent| agent.name.as_deref() == Some(who) || agent.id.as_str() == who)
                .map(|agent| agent.id.to_string()),
        );
    }
    Ok(all)
}

fn paused(view: &BriefingContext<'_, '_>) -> Result<Vec<BriefingLine>> {
    let to_line = |work: &Work| BriefingLine::new(&work.issue_id, &work_line(work));
    Ok(work_of(view, WorkStatus::Paused)?.iter().map(to_line).collect())
}

fn shipped(view: &BriefingContext<'_, '_>) -> Result<Vec<BriefingLine>> {
    let to_line = |release: &Release| BriefingLine::new(&release.id, &format!("{} {}", release.version, release.name));
    Ok(releases::list(view.tx, None, Some(MAX_RELEASES))?.iter().map(to_line).collect())
}

/// Claimed issues that are not listed as work.
fn claims(view: &BriefingContext<'_, '_>) -> Result<Vec<BriefingLine>> {
    let mut listed = work_of(view, WorkStatus::Active)?;
    listed.extend(work_of(view, WorkStatus::Paused)?);
    let is_new = |issue: &&Issue| !listed.iter().any(|work| work.issue_id == issue.id);
    Ok(view.mine.iter().filter(is_new).map(line).collect())
}

/// Claims about to expire, of all actors, so that another can take over.
fn expiring(view: &BriefingContext<'_, '_>) -> Result<Vec<BriefingLine>> {
    // Only claimed issues have a lease. A condition on the status would make the planner read all claims.
    let soon = "WHERE i.lease_expires_at IS NOT NULL AND i.lease_expires_at <= ?1
         ORDER BY i.lease_expires_at, i.id LIMIT ?2";
    let ending = issues::query(view.tx, soon, params![view.cx.now.plus(EXPIRY_WARNING), i64::from(MAX_LINES)])?;
    let to_line = |issue: &Issue| {
        let who = issue.assignee.as_deref().unwrap_or_default();
        let end = issue.lease_expires_at.map(|end| end.to_string()).unwrap_or_default();
        BriefingLine::new(&issue.id, &format!("until {end}, held by {who}: {}", issue.title))
    };
    Ok(ending.iter().map(to_line).collect())
}

fn queue(view: &BriefingContext<'_, '_>) -> Result<Vec<BriefingLine>> {
    Ok(super::issue::queue(view.tx, super::issue::ready(view.cx.now), MAX_LINES)?.iter().map(line).collect())
}

/// Learnings about the actor's work; without work, the newest ones.
fn learnings_about_work(view: &BriefingContext<'_, '_>) -> Result<Vec<BriefingLine>> {
    let to_line =
        |learning: &Learning| BriefingLine::new(&learning.id, &format!("{}: {}", learning.kind, learning.text));
    let now = view.cx.now;
    if view.mine.is_empty() {
        return Ok(learnings::newest(view.tx, now, MAX_LINES)?.iter().map(to_line).collect());
    }
    let titles: Vec<&str> = view.mine.iter().map(|issue| issue.title.as_str()).collect();
    let ids: Vec<_> = view.mine.iter().map(|issue| issue.id.clone()).collect();
    let hits = recalled(view.tx, &titles.join(" "), &ids, now, MAX_LINES as usize)?;
    Ok(hits.iter().map(|hit| to_line(&hit.learning)).collect())
}

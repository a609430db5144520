//! The operation that tells an agent where things stand.
//!
//! How much of it fits is left to `pensa_core::briefing`.

use pensa_core::briefing::{self, Briefing, DEFAULT_TOKENS, Draft, Format, Line};
use pensa_core::issue::{Issue, Sort, Status};
use pensa_core::learning::Learning;
use pensa_core::learning::recall::{self, Near};
use pensa_core::ops::briefing::Brief;
use pensa_core::ops::issue::Filter;
use pensa_core::record::{self, Order};
use pensa_core::release::Release;
use pensa_core::run::RunStatus;
use pensa_core::signal::{Receipt, Signal};
use pensa_core::work::{StepStatus, Work, WorkStatus};
use pensa_core::{Result, Span, id, text};

use super::learning;
use crate::context::Context;
use crate::db::{Tx, params};
use crate::execute::Execute;
use crate::tables::issues::{self, Listing};
use crate::tables::records::Query;
use crate::tables::{agents, learnings, loops, releases, runs, signals, work};

/// Most lines of a section; a briefing is no listing.
const MOST: u32 = 20;
/// Most releases that are told of.
const SHIPPED: u32 = 5;
/// Most loops, and most runs, of one actor that signals are looked for.
const ADDRESSES: usize = 200;
/// How long before its end a claim is worth a word.
const SOON: Span = Span::from_millis(3_600_000);

/// For whom a briefing is, and what that one is doing.
struct View<'v, 'c> {
    cx: &'v Context<'c>,
    tx: &'v Tx<'c>,
    who: Option<String>,
    mine: Vec<Issue>,
}

/// One section: its drawing up, its name and title, and how many lines it must not lack.
struct Part {
    name: &'static str,
    title: &'static str,
    first: usize,
    lines: fn(&View<'_, '_>) -> Result<Vec<Line>>,
}

/// Every section, the most important first.
const PARTS: [Part; 8] = [
    Part { name: "signals", title: "Unread signals", first: 5, lines: unread },
    Part { name: "work", title: "Doing now", first: 3, lines: doing },
    Part { name: "paused", title: "Paused", first: 3, lines: paused },
    Part { name: "claims", title: "Claimed by me", first: 3, lines: claims },
    Part { name: "expiring", title: "Claims that end soon", first: 3, lines: expiring },
    Part { name: "queue", title: "Next in the queue", first: 5, lines: queue },
    Part { name: "learnings", title: "Known about it", first: 5, lines: known },
    Part { name: "releases", title: "Shipped last", first: 2, lines: shipped },
];

impl Execute for Brief {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Briefing> {
        let max_tokens = recall::check_budget(self.max_tokens.unwrap_or(DEFAULT_TOKENS))?;
        let who = text::optional_line("actor", self.who.as_ref())?;
        let mine = who.clone().map_or_else(|| Ok(Vec::new()), |who| mine(tx, who))?;
        let view = View { cx, tx, who, mine };
        let draft = |part: &Part| {
            let lines = (part.lines)(&view)?;
            Ok(Draft { name: part.name, title: part.title, first: part.first, lines })
        };
        let drafts: Vec<Draft> = PARTS.iter().map(draft).collect::<Result<_>>()?;
        briefing::assemble(&drafts, max_tokens, self.format.unwrap_or(Format::Markdown))
    }
}

fn mine(tx: &Tx<'_>, who: String) -> Result<Vec<Issue>> {
    let filter = Filter { status: Some(Status::InProgress), assignee: Some(who), ..Filter::default() };
    Listing::new("1 = 1", &filter, Sort::Priority, Some(MOST)).collect(tx)
}

fn line(issue: &Issue) -> Line {
    let Issue { priority, issue_type, title, .. } = issue;
    let assignee = issue.assignee.as_ref().map(|name| format!(" @{name}")).unwrap_or_default();
    Line::new(&issue.id, &format!("{priority} {issue_type}{assignee}{} {title}", session(issue)))
}

fn session(issue: &Issue) -> String {
    issue.claim_session.as_ref().map(|session| format!(" (session {session})")).unwrap_or_default()
}

/// My work of this kind, without that on issues of others.
fn work_of(view: &View<'_, '_>, status: WorkStatus) -> Result<Vec<Work>> {
    let Some(who) = &view.who else { return Ok(Vec::new()) };
    work::list(view.tx, Some(status), Some(who), Some(MOST))
}

fn told_work(work: &Work) -> String {
    let branch = work.branch.as_ref().map(|branch| format!(" on {branch}")).unwrap_or_default();
    let steps = match work.current_step {
        Some(at) => format!(", step {at} of {}", work.steps.len()),
        None if work.steps.is_empty() => String::new(),
        None => format!(", all {} steps done", work.steps.len()),
    };
    format!("{}{branch}{steps}: {}", work.kind, work.title)
}

/// What I am doing, the step that I am at, and those that follow.
fn doing(view: &View<'_, '_>) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for work in work_of(view, WorkStatus::Active)? {
        let held = view.mine.iter().find(|issue| issue.id == work.issue_id).map(session).unwrap_or_default();
        lines.push(Line::new(&work.issue_id, &format!("{}{held}", told_work(&work))));
        let steps = work.steps.iter().enumerate().filter(|(_, step)| step.status == StepStatus::Pending);
        lines.extend(steps.map(|(at, step)| Line::new(format!("step {}", at + 1), &step.title)));
    }
    lines.truncate(usize::try_from(MOST).unwrap_or(usize::MAX));
    Ok(lines)
}

/// What was sent to my loops, my runs and the agent that I am, and is not acknowledged.
fn unread(view: &View<'_, '_>) -> Result<Vec<Line>> {
    let Some(who) = &view.who else { return Ok(Vec::new()) };
    let mut sent = signals::sent_to(view.tx, &addresses(view.tx, who)?, true)?;
    sent.truncate(usize::try_from(MOST).unwrap_or(usize::MAX));
    let told = |(receipt, signal): &(Receipt, Signal)| {
        let reason = if signal.reason.is_empty() { String::new() } else { format!(": {}", signal.reason) };
        Line::new(&signal.id, &format!("{} to {} from {}{reason}", signal.signal_type, receipt.recipient, signal.actor))
    };
    Ok(sent.iter().map(told).collect())
}

/// Under which ids somebody is sent signals: what they run, and agents of their name.
fn addresses(tx: &Tx<'_>, who: &str) -> Result<Vec<String>> {
    let filters = vec![record::Filter::eq("holder", who), record::Filter::is_null("archived_at")];
    let order = Order::by("created_at").descending();
    let mine = loops::select(tx, &loops::open(tx)?, &Query { filters, order, limit: Some(ADDRESSES), after: None })?;
    let mut all: Vec<String> = mine.into_iter().map(|one| one.id.to_string()).collect();
    let most = u32::try_from(ADDRESSES).ok();
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

fn paused(view: &View<'_, '_>) -> Result<Vec<Line>> {
    let told = |work: &Work| Line::new(&work.issue_id, &told_work(work));
    Ok(work_of(view, WorkStatus::Paused)?.iter().map(told).collect())
}

fn shipped(view: &View<'_, '_>) -> Result<Vec<Line>> {
    let told = |release: &Release| Line::new(&release.id, &format!("{} {}", release.version, release.name));
    Ok(releases::list(view.tx, None, Some(SHIPPED))?.iter().map(told).collect())
}

/// What I have claimed and do not tell of as work.
fn claims(view: &View<'_, '_>) -> Result<Vec<Line>> {
    let mut told = work_of(view, WorkStatus::Active)?;
    told.extend(work_of(view, WorkStatus::Paused)?);
    let is_new = |issue: &&Issue| !told.iter().any(|work| work.issue_id == issue.id);
    Ok(view.mine.iter().filter(is_new).map(line).collect())
}

/// Anybody's: who sees that a claim of another runs out can take over.
fn expiring(view: &View<'_, '_>) -> Result<Vec<Line>> {
    // Only what is claimed has a lease. To ask for the status as well would have all claims looked at.
    let soon = "WHERE i.lease_expires_at IS NOT NULL AND i.lease_expires_at <= ?1
         ORDER BY i.lease_expires_at, i.id LIMIT ?2";
    let ending = issues::query(view.tx, soon, params![view.cx.now.plus(SOON), i64::from(MOST)])?;
    let told = |issue: &Issue| {
        let who = issue.assignee.as_deref().unwrap_or_default();
        let end = issue.lease_expires_at.map(|end| end.to_string()).unwrap_or_default();
        Line::new(&issue.id, &format!("until {end}, held by {who}: {}", issue.title))
    };
    Ok(ending.iter().map(told).collect())
}

fn queue(view: &View<'_, '_>) -> Result<Vec<Line>> {
    Ok(super::issue::ready(&Filter::default(), Some(MOST)).collect(view.tx)?.iter().map(line).collect())
}

/// What is known about my work; without any, what was found out last.
fn known(view: &View<'_, '_>) -> Result<Vec<Line>> {
    let told = |learning: &Learning| Line::new(&learning.id, &format!("{}: {}", learning.kind, learning.text));
    let now = view.cx.now;
    if view.mine.is_empty() {
        return Ok(learnings::newest(view.tx, now, MOST)?.iter().map(told).collect());
    }
    let titles: Vec<&str> = view.mine.iter().map(|issue| issue.title.as_str()).collect();
    let ids: Vec<_> = view.mine.iter().map(|issue| issue.id.clone()).collect();
    let mut hits = learning::recalled(view.tx, &titles.join(" "), &Near::default(), &ids, now)?;
    hits.truncate(usize::try_from(MOST).unwrap_or(usize::MAX));
    Ok(hits.iter().map(|hit| told(&hit.learning)).collect())
}

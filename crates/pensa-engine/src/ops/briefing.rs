//! The operation that tells an agent where things stand.
//!
//! How much of it fits is left to `pensa_core::briefing`.

use pensa_core::briefing::{self, Briefing, DEFAULT_TOKENS, Draft, Format, Line};
use pensa_core::issue::{Issue, Sort, Status};
use pensa_core::learning::Learning;
use pensa_core::learning::recall::{self, Near};
use pensa_core::ops::briefing::Brief;
use pensa_core::ops::issue::Filter;
use pensa_core::{Result, Span, text};

use super::learning;
use crate::context::Context;
use crate::db::{Tx, params};
use crate::execute::Execute;
use crate::tables::issues::{self, Listing};
use crate::tables::learnings;

/// Most lines of a section; a briefing is no listing.
const MOST: u32 = 20;
/// How long before its end a claim is worth a word.
const SOON: Span = Span::from_millis(3_600_000);

/// For whom a briefing is, and what that one is doing.
struct View<'v, 'c> {
    cx: &'v Context<'c>,
    tx: &'v Tx<'c>,
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
const PARTS: [Part; 4] = [
    Part { name: "claims", title: "Claimed by me", first: 3, lines: claims },
    Part { name: "expiring", title: "Claims that end soon", first: 3, lines: expiring },
    Part { name: "queue", title: "Next in the queue", first: 5, lines: queue },
    Part { name: "learnings", title: "Known about it", first: 5, lines: known },
];

impl Execute for Brief {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Briefing> {
        let max_tokens = recall::check_budget(self.max_tokens.unwrap_or(DEFAULT_TOKENS))?;
        let who = text::optional_line("actor", self.who.as_ref())?;
        let view = View { cx, tx, mine: who.map_or_else(|| Ok(Vec::new()), |who| mine(tx, who))? };
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
    Line::new(&issue.id, &format!("{} {} {}", issue.priority, issue.issue_type, issue.title))
}

fn claims(view: &View<'_, '_>) -> Result<Vec<Line>> {
    Ok(view.mine.iter().map(line).collect())
}

/// Anybody's: who sees that a claim of another runs out can take over.
fn expiring(view: &View<'_, '_>) -> Result<Vec<Line>> {
    let soon = "WHERE i.lease_expires_at IS NOT NULL AND i.lease_expires_at <= ?1 AND i.status = 'in_progress'
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

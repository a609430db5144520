//! The page of one issue: fields, criteria, what it waits for and holds up, comments and history.

use std::cell::Cell;

use pensa_core::Error;
use pensa_core::event::describe;
use pensa_core::id::IssueId;
use pensa_core::issue::{Issue, Status};
use pensa_core::triage::Why;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::rows::{Look, Motion, Piece, draw_line, piece};
use crate::store::IssuePage;
use crate::text::{age, padded, since, wrapped};
use crate::theme::Tone;

#[derive(Debug)]
pub(crate) struct DetailPane {
    pub(crate) id: IssueId,
    pub(crate) page: Option<Box<IssuePage>>,
    /// Why there is none
    pub(crate) error: Option<Error>,
    /// Whether the numbers of its rank are shown
    pub(crate) has_numbers: bool,
    scroll: Cell<usize>,
    height: Cell<usize>,
}

type DetailLine = Vec<Piece>;

impl DetailPane {
    pub(crate) fn new(id: IssueId) -> Self {
        let (scroll, height) = (Cell::new(0), Cell::new(1));
        Self { id, page: None, error: None, has_numbers: false, scroll, height }
    }

    /// Turns to another issue. The old page stays until the new one comes, so that nothing flickers.
    pub(crate) fn turn_to(&mut self, id: IssueId) {
        (self.id, self.error) = (id, None);
        self.scroll.set(0);
    }

    pub(crate) fn scroll(&self, motion: Motion) {
        let (now, page) = (self.scroll.get(), self.height.get().saturating_sub(1).max(1));
        self.scroll.set(match motion {
            Motion::Up => now.saturating_sub(1),
            Motion::Down => now + 1,
            Motion::PageUp => now.saturating_sub(page),
            Motion::PageDown => now + page,
            Motion::Top => 0,
            Motion::Bottom => usize::MAX,
            Motion::Left | Motion::Right => now,
        });
    }

    pub(crate) fn draw(&self, buffer: &mut Buffer, area: Rect, look: &Look<'_>) {
        let lines = self.lines(usize::from(area.width), look);
        let height = usize::from(area.height);
        let top = self.scroll.get().min(lines.len().saturating_sub(height));
        self.scroll.set(top);
        self.height.set(height);
        for (line, y) in lines.iter().skip(top).zip(area.top()..area.bottom()) {
            draw_line(buffer, Rect { y, height: 1, ..area }, line, look);
        }
    }

    fn lines(&self, width: usize, look: &Look<'_>) -> Vec<DetailLine> {
        let Some(page) = &self.page else {
            let text = self.error.as_ref().map_or("…".to_owned(), |error| error.message.clone());
            return vec![vec![piece(self.id.as_str(), Tone::Id)], vec![piece(text, Tone::Faint)]];
        };
        let issue = &page.detail.issue;
        let mut lines = header(issue, width, look);
        if let Some(text) = &issue.description {
            lines.push(Vec::new());
            lines.extend(paragraph(text, width, "", Tone::Plain));
        }
        if self.has_numbers
            && let Some(why) = &page.why
        {
            lines.extend(numbers(why));
        }
        if !issue.acceptance.is_empty() {
            lines.push(heading("Acceptance"));
            for (at, criterion) in issue.acceptance.iter().enumerate() {
                let (mark, tone) = if criterion.done { ("[x]", Tone::Good) } else { ("[ ]", Tone::Plain) };
                lines
                    .push(vec![piece(format!("{mark} {} ", at + 1), tone), piece(criterion.text.clone(), Tone::Plain)]);
            }
        }
        for (title, issues) in [
            ("Waits for", &page.detail.deps),
            ("Holds up", &page.detail.blocks),
            ("Fixed by", &page.detail.fixed_by),
            ("Parts", &page.detail.children),
        ] {
            if !issues.is_empty() {
                lines.push(heading(title));
                lines.extend(issues.iter().map(other));
            }
        }
        if !page.detail.linked_by.is_empty() || !issue.links.is_empty() {
            lines.push(heading("Links"));
            lines.extend(
                issue.links.iter().map(|link| vec![piece(format!("{} {}", link.kind.as_str(), link.to), Tone::Plain)]),
            );
            lines.extend(page.detail.linked_by.iter().map(|link| {
                let title = link.title.clone().unwrap_or_default();
                vec![piece(format!("{} of {} ", link.kind.as_str(), link.id), Tone::Plain), piece(title, Tone::Faint)]
            }));
        }
        for (name, texts) in page.detail.attached_lines() {
            if !texts.is_empty() {
                lines.push(heading(name));
                lines.extend(texts.into_iter().map(|text| vec![piece(text, Tone::Plain)]));
            }
        }
        if !page.detail.comments.is_empty() {
            lines.push(heading("Comments"));
            for comment in &page.detail.comments {
                let ago = since(comment.created_at, look.now);
                lines.push(vec![
                    piece(format!("{} ", comment.actor), Tone::Accent),
                    piece(format!("{ago} ago"), Tone::Faint),
                ]);
                lines.extend(paragraph(&comment.text, width, "  ", Tone::Plain));
            }
        }
        if !page.history.is_empty() {
            lines.push(heading("History"));
            for event in &page.history {
                let ago = padded(&since(event.created_at, look.now), 5);
                let mut line = vec![piece(ago, Tone::Faint), piece(format!("{} ", event.event_type), Tone::Plain)];
                line.push(piece(format!("by {} ", event.actor), Tone::Accent));
                line.push(piece(describe(&event.detail), Tone::Faint));
                lines.push(line);
            }
        }
        lines
    }
}

fn heading(text: &str) -> DetailLine {
    vec![piece(text, Tone::Heading)]
}

fn paragraph(text: &str, width: usize, indent: &str, tone: Tone) -> Vec<DetailLine> {
    let lines = wrapped(text, width.saturating_sub(indent.len()));
    lines.into_iter().map(|line| vec![piece(format!("{indent}{line}"), tone)]).collect()
}

fn header(issue: &Issue, width: usize, look: &Look<'_>) -> Vec<DetailLine> {
    let mut lines = vec![vec![
        piece(format!("{} ", issue.id), Tone::Id),
        piece(format!("{} ", issue.priority), issue.priority.into()),
        piece(format!("{} ", issue.status), issue.status.into()),
        piece(issue.issue_type.as_str(), Tone::Faint),
    ]];
    lines.extend(paragraph(&issue.title, width, "", Tone::Strong));
    let mut field = |name: &str, value: Option<String>, tone: Tone| {
        if let Some(value) = value {
            lines.push(vec![piece(padded(name, 10), Tone::Faint), piece(value, tone)]);
        }
    };
    field("assignee", issue.assignee.clone(), Tone::Accent);
    let lease = issue.lease_expires_at.map(|end| match end.since(look.now) {
        Some(left) => format!("{} left", age(left.as_millis())),
        None => "run out".to_owned(),
    });
    field("lease", lease, Tone::Good);
    let labels = (!issue.labels.is_empty()).then(|| issue.labels.join(" "));
    field("labels", labels, Tone::Good);
    field("parent", issue.parent.as_ref().map(ToString::to_string), Tone::Id);
    field("fixes", issue.fixes.as_ref().map(ToString::to_string), Tone::Id);
    field("spec", issue.spec.clone(), Tone::Plain);
    field("due", issue.due.map(|day| day.to_string()), Tone::High);
    field("deferred", issue.defer.map(|day| format!("until {day}")), Tone::Plain);
    field("estimate", issue.estimate.map(|span| span.to_string()), Tone::Plain);
    for (name, value) in &issue.fields {
        field(name, Some(value.clone()), Tone::Plain);
    }
    field("changed", Some(format!("{} ago", since(issue.updated_at, look.now))), Tone::Faint);
    if issue.status == Status::Closed {
        field("closed", issue.close_reason.clone().or_else(|| Some("without a reason".to_owned())), Tone::Plain);
    }
    lines
}

fn other(issue: &Issue) -> DetailLine {
    vec![
        piece(format!("{} ", issue.id), Tone::Id),
        piece(format!("{} ", issue.priority), issue.priority.into()),
        piece(format!("{} ", issue.status), issue.status.into()),
        piece(issue.title.clone(), if issue.status == Status::Closed { Tone::Closed } else { Tone::Plain }),
    ]
}

fn numbers(why: &Why) -> Vec<DetailLine> {
    let mut lines = vec![heading("Rank")];
    let mut say = |text: String| lines.push(vec![piece(text, Tone::Good)]);
    say(why.state.as_str().to_owned());
    for held in &why.begin_with {
        say(format!("begin with {} {}", held.issue.id, held.issue.title));
    }
    if let Some(rank) = &why.rank {
        let place = |place: Option<u32>| place.map_or("no place".to_owned(), |place| format!("place {place}"));
        say(format!(
            "{} of {} ready by priority, {} by impact",
            place(rank.by_priority),
            rank.ready,
            place(rank.by_impact)
        ));
        say(format!("blocks {}, behind it {}, frees {}, depth {}", rank.blocks, rank.behind, rank.frees, rank.depth));
        say(format!("PageRank {:.4}, place {} of {}", rank.page_rank, rank.page_rank_place, rank.issues));
        say(format!("betweenness {:.4}, place {}", rank.betweenness, rank.betweenness_place));
    }
    lines
}

//! The views: each asks for what it shows, makes rows of the answer and draws them.

pub(crate) mod agents;
pub(crate) mod board;
pub(crate) mod charts;
pub(crate) mod insights;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod memory;
pub(crate) mod sessions;
pub(crate) mod tree;

use std::fmt::Debug;
use std::time::{Duration, Instant};

use pensa_core::id::IssueId;
use pensa_core::issue::{Issue, Priority, Status};
use pensa_core::triage::IssueBrief;
use pensa_core::{Result, Timestamp};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::keys::UserCommand;
use crate::remembered::ViewMemory;
use crate::rows::{ListRow, Look, Motion, Piece, RowList, RowSubject, piece};
use crate::store::{Answer, PAGE, StatusTotals, StoreChange, StoreQuery};
use crate::text::{padded, since};
use crate::theme::Tone;

/// What making rows depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ViewContext {
    pub(crate) now: Timestamp,
    pub(crate) at: Instant,
    pub(crate) size: (u16, u16),
}

pub(crate) trait TuiView: Debug {
    /// What to ask the store for, to show it now.
    fn query(&self) -> StoreQuery;

    fn take(&mut self, answer: Answer, cx: &ViewContext);

    /// Makes its rows again after a change of the window.
    fn resize(&mut self, _cx: &ViewContext) {}

    /// The line above it.
    fn summary(&self) -> String;

    /// The list with the cursor.
    fn list(&self) -> Option<&RowList>;

    fn list_mut(&mut self) -> Option<&mut RowList>;

    fn draw(&self, buffer: &mut Buffer, area: Rect, look: &Look<'_>, has_focus: bool) {
        if let Some(list) = self.list() {
            list.draw(buffer, area, look, has_focus);
        }
    }

    /// Moves the cursor. Returns whether more rows are to be asked for.
    fn step(&mut self, motion: Motion) -> bool {
        if let Some(list) = self.list_mut() {
            list.step(motion);
        }
        false
    }

    /// Handles a command of its own. Returns whether it is to be asked for anew; `None` if the command is not its own.
    fn command(&mut self, _command: UserCommand, _cx: &ViewContext) -> Option<bool> {
        None
    }

    /// Shows only what contains a text. Returns whether it is to be asked for anew.
    fn set_filter(&mut self, text: &str) -> bool {
        if let Some(list) = self.list_mut() {
            list.set_filter(text);
        }
        false
    }

    /// Leaves what was opened in it. Returns false if there was nothing.
    fn back(&mut self) -> bool {
        false
    }

    /// Opens what is selected, in the view itself.
    fn focus(&mut self, _subject: &RowSubject) {}

    /// What moving an issue to the next place, or back, changes; an error says why it cannot be moved.
    fn moved(&self, row: &ListRow, on: bool) -> Result<Vec<StoreChange>> {
        moved_by_status(row, on)
    }

    /// What keeping what is selected, in place of what contradicts it, changes.
    fn kept(&self) -> Option<StoreChange> {
        None
    }

    /// Selects what is drawn at a place.
    fn click(&mut self, area: Rect, _x: u16, y: u16) -> bool {
        self.list_mut().is_some_and(|list| y >= area.y && list.click(y - area.y))
    }

    /// The changes that bring what is selected to a place of the window where it was dropped.
    fn dropped(&self, _area: Rect, _x: u16) -> Result<Vec<StoreChange>> {
        Ok(Vec::new())
    }

    /// How long the rows need to be the answer of the store at least.
    fn pause(&self) -> Duration {
        Duration::from_millis(100)
    }

    fn restore(&mut self, _memory: &ViewMemory) {}

    fn remember(&self, _memory: &mut ViewMemory) {}

    fn select(&mut self, id: &str) -> bool {
        self.list_mut().is_some_and(|list| list.select(id))
    }
}

/// The change that brings an issue to the next status, or the one before.
fn moved_by_status(row: &ListRow, on: bool) -> Result<Vec<StoreChange>> {
    let (Some(RowSubject::Issue(id)), Some(status)) = (&row.subject, row.status) else {
        return Err(pensa_core::Error::invalid("no issue is selected"));
    };
    let to = match (status, on) {
        (Status::Open, true) | (Status::Closed, false) => Some(if on { Status::InProgress } else { Status::Open }),
        (Status::InProgress, true) => Some(Status::Closed),
        (Status::InProgress, false) => Some(Status::Open),
        (Status::Closed, true) | (Status::Open, false) => None,
    };
    let to = to.ok_or_else(|| pensa_core::Error::invalid(format!("{id} is {status}: there is nothing beyond")))?;
    Ok(vec![to_status(id, status, to)])
}

/// Being in progress is a claim.
pub(crate) fn to_status(id: &IssueId, from: Status, to: Status) -> StoreChange {
    match (from, to) {
        (_, Status::InProgress) => StoreChange::claim(id),
        (_, Status::Closed) => StoreChange::Close { id: id.clone(), reason: None },
        (Status::Closed, Status::Open) => StoreChange::Reopen { id: id.clone(), reason: None },
        (_, Status::Open) => StoreChange::Release(id.clone()),
    }
}

/// More rows than before, if the cursor comes near the last one.
fn more(list: &RowList, limit: &mut u32, motion: Motion) -> bool {
    let asked = usize::try_from(*limit).unwrap_or(usize::MAX);
    let is_near = list.cursor() + 20 >= list.len() || motion == Motion::Bottom;
    let is_more = list.len() >= asked && is_near;
    if is_more {
        *limit = limit.saturating_add(if motion == Motion::Bottom { *limit } else { PAGE });
    }
    is_more
}

fn counts([open, in_progress, closed]: StatusTotals) -> String {
    format!("{open} open, {in_progress} in progress, {closed} closed")
}

fn id_piece(id: &IssueId) -> Piece {
    piece(padded(id.as_str(), 12), Tone::Id)
}

fn priority_piece(priority: Priority) -> Piece {
    piece(format!("{priority} "), priority.into())
}

/// An issue as one row; less of it in a narrow window.
pub(crate) fn issue_row(issue: &Issue, cx: &ViewContext) -> ListRow {
    let mut line = vec![id_piece(&issue.id), priority_piece(issue.priority)];
    if cx.size.0 >= 70 {
        line.push(piece(padded(issue.status.as_str(), 12), issue.status.into()));
        line.push(piece(padded(issue.issue_type.as_str(), 6), Tone::Faint));
        line.push(piece(padded(&since(issue.updated_at, cx.now), 5), Tone::Faint));
        let name = issue.assignee.as_ref().map(|name| format!("@{name}")).unwrap_or_default();
        line.push(piece(format!("{} ", padded(&name, 10)), Tone::Accent));
    }
    let tone = if issue.status == Status::Closed { Tone::Closed } else { Tone::Plain };
    line.push(piece(issue.title.clone(), tone));
    if !issue.labels.is_empty() {
        line.push(piece(format!("  {}", issue.labels.join(" ")), Tone::Good));
    }
    if let Some(due) = issue.due {
        line.push(piece(format!("  due {due}"), Tone::High));
    }
    let row = ListRow::new(issue.id.as_str(), RowSubject::Issue(issue.id.clone()), line);
    ListRow { status: Some(issue.status), ..row }
}

/// An issue that an answer names, with more about it behind.
fn brief_row(key: String, brief: &IssueBrief, indent: &str, about: String) -> ListRow {
    let line = vec![
        piece(indent, Tone::Border),
        id_piece(&brief.id),
        priority_piece(brief.priority),
        piece(padded(brief.status.as_str(), 12), brief.status.into()),
        piece(brief.title.clone(), if brief.status == Status::Closed { Tone::Closed } else { Tone::Plain }),
        piece(about, Tone::Faint),
    ];
    ListRow { status: Some(brief.status), ..ListRow::new(key, RowSubject::Issue(brief.id.clone()), line) }
}

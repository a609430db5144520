//! The board: issues as cards in columns, by status, label or assignee.

use std::cell::Cell;
use std::collections::BTreeMap;

use pensa_core::id::IssueId;
use pensa_core::issue::{Issue, Status};
use pensa_core::ops::issue::Update;
use pensa_core::{Error, Result};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{TuiView, ViewContext, counts, moved_by_status, priority_piece, to_status};
use crate::keys::UserCommand;
use crate::remembered::ViewMemory;
use crate::rows::{ListRow, Look, Motion, RowList, RowSubject, draw_line, piece};
use crate::store::{Answer, BoardIssues, StoreChange, StoreQuery};
use crate::text::since;
use crate::theme::Tone;

/// A column is at least this wide; others are reached by moving to them.
const NARROWEST: u16 = 20;
/// Cards of a column that are asked for at first.
const CARDS: u32 = 100;
const UNASSIGNED: &str = "unassigned";
const NO_LABEL: &str = "no label";

/// What the columns are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Grouping {
    #[default]
    Status,
    Label,
    Assignee,
}

impl Grouping {
    const ALL: [(Grouping, &str); 3] =
        [(Grouping::Status, "status"), (Grouping::Label, "label"), (Grouping::Assignee, "assignee")];

    fn index(self) -> usize {
        Self::ALL.iter().position(|(grouping, _)| *grouping == self).unwrap_or_default()
    }
}

#[derive(Debug, Default)]
struct CardColumn {
    title: String,
    total: Option<i64>,
    cards: RowList,
}

#[derive(Debug)]
pub(crate) struct BoardView {
    text: String,
    limit: u32,
    grouping: Grouping,
    has_lanes: bool,
    /// Labels that have a column beside the statuses
    labels: Vec<String>,
    issues: Option<Box<BoardIssues>>,
    columns: Vec<CardColumn>,
    current: usize,
    /// The first column that is drawn, and how many are
    drawn: Cell<(usize, usize)>,
}

impl BoardView {
    pub(crate) fn new(labels: Vec<String>) -> Self {
        Self {
            text: String::new(),
            limit: CARDS,
            grouping: Grouping::default(),
            has_lanes: false,
            labels,
            issues: None,
            columns: Vec::new(),
            current: 0,
            drawn: Cell::new((0, 1)),
        }
    }

    /// The columns with their issues, in order.
    fn grouped(&self) -> Vec<(String, Option<i64>, Vec<&Issue>)> {
        let Some(board) = &self.issues else { return Vec::new() };
        let all = || board.by_status.iter().flat_map(|(_, issues)| issues);
        let mut columns: Vec<(String, Option<i64>, Vec<&Issue>)> = Vec::new();
        if self.grouping == Grouping::Status {
            let total = |at: usize| (self.labels.is_empty() && self.text.is_empty()).then_some(board.totals[at]);
            for (at, (status, _)) in board.by_status.iter().enumerate() {
                columns.push((status.to_string(), total(at), Vec::new()));
            }
            columns.splice(1..1, self.labels.iter().map(|label| (label.clone(), None, Vec::new())));
        }
        let mut others: BTreeMap<String, Vec<&Issue>> = BTreeMap::new();
        for issue in all() {
            for place in self.places(issue) {
                match columns.iter_mut().find(|(title, ..)| *title == place) {
                    Some((_, _, issues)) => issues.push(issue),
                    None => others.entry(place).or_default().push(issue),
                }
            }
        }
        columns.extend(others.into_iter().map(|(title, issues)| (title, None, issues)));
        columns
    }

    fn places(&self, issue: &Issue) -> Vec<String> {
        match self.grouping {
            Grouping::Status => {
                let own = issue.labels.iter().find(|label| self.labels.contains(label));
                let own = own.filter(|_| issue.status != Status::Closed);
                vec![own.cloned().unwrap_or_else(|| issue.status.to_string())]
            }
            _ if issue.status == Status::Closed => Vec::new(),
            Grouping::Label if issue.labels.is_empty() => vec![NO_LABEL.to_owned()],
            Grouping::Label => issue.labels.clone(),
            Grouping::Assignee => vec![issue.assignee.clone().unwrap_or_else(|| UNASSIGNED.to_owned())],
        }
    }

    /// The change that brings an issue from one column to another.
    fn between(&self, id: &IssueId, status: Status, from: usize, to: usize) -> Result<Vec<StoreChange>> {
        let title = |at: usize| self.columns.get(at).map(|column| column.title.clone());
        let (Some(old), Some(new)) = (title(from), title(to)) else {
            return Err(Error::invalid("there is no column beyond this one"));
        };
        let as_status = |title: &str| Status::ALL.into_iter().find(|status| status.as_str() == title);
        let update = |update: Update| Ok(vec![StoreChange::Update(Box::new(update))]);
        let label = |title: &str, none: &str| if title == none { Vec::new() } else { vec![title.to_owned()] };
        match self.grouping {
            Grouping::Assignee => {
                let assignee = if new == UNASSIGNED { String::new() } else { new };
                update(Update { assignee: Some(assignee), ..Update::of(id.into()) })
            }
            Grouping::Label => update(Update {
                add_labels: label(&new, NO_LABEL),
                remove_labels: label(&old, NO_LABEL),
                ..Update::of(id.into())
            }),
            Grouping::Status => {
                let mut changes = Vec::new();
                let mut relabel = Update::of(id.into());
                if as_status(&old).is_none() {
                    relabel.remove_labels.push(old);
                }
                match as_status(&new) {
                    Some(to) if to != status => changes.push(to_status(id, status, to)),
                    Some(_) => {}
                    None => relabel.add_labels.push(new),
                }
                if !relabel.is_empty() {
                    changes.insert(0, StoreChange::Update(Box::new(relabel)));
                }
                Ok(changes)
            }
        }
    }

    fn column_at(&self, area: Rect, x: u16) -> Option<usize> {
        let (first, count) = self.drawn.get();
        let width = area.width / u16::try_from(count.max(1)).unwrap_or(1);
        let at = first + usize::from(x.checked_sub(area.x)? / width.max(1));
        (at < self.columns.len()).then_some(at)
    }

    fn card(issue: &Issue, cx: &ViewContext) -> ListRow {
        let title = vec![priority_piece(issue.priority), piece(issue.title.clone(), Tone::Plain)];
        let row = ListRow::new(issue.id.as_str(), RowSubject::Issue(issue.id.clone()), title);
        let mut row = ListRow { status: Some(issue.status), ..row };
        if cx.size.1 >= 20 {
            let mut line = vec![piece(format!("{} {}", issue.id, issue.issue_type), Tone::Faint)];
            if let Some(name) = &issue.assignee {
                line.push(piece(format!(" @{name}"), Tone::Accent));
            }
            line.push(piece(format!(" {}", since(issue.updated_at, cx.now)), Tone::Faint));
            row.lines.push(line);
        }
        row
    }

    /// Cards below the issue that they are a part of.
    fn in_lanes(issues: &[&Issue], all: &[&Issue], cx: &ViewContext) -> Vec<ListRow> {
        let mut lanes: BTreeMap<Option<&IssueId>, Vec<&Issue>> = BTreeMap::new();
        for issue in issues {
            lanes.entry(issue.parent.as_ref()).or_default().push(issue);
        }
        let title =
            |id: &IssueId| all.iter().find(|issue| issue.id == *id).map_or(id.to_string(), |issue| issue.title.clone());
        let heading = |id: Option<&IssueId>| {
            ListRow::heading(id.map_or("- no parent".to_owned(), |id| format!("- {}", title(id))))
        };
        let lane = |(id, issues): (Option<&IssueId>, Vec<&Issue>)| {
            std::iter::once(heading(id))
                .chain(issues.into_iter().map(|issue| Self::card(issue, cx)))
                .collect::<Vec<_>>()
        };
        lanes.into_iter().rev().flat_map(lane).collect()
    }
}

impl TuiView for BoardView {
    fn query(&self) -> StoreQuery {
        StoreQuery::Board { text: self.text.clone(), limit: self.limit }
    }

    fn take(&mut self, answer: Answer, cx: &ViewContext) {
        if let Answer::Board(issues) = answer {
            self.issues = Some(issues);
            self.resize(cx);
        }
    }

    fn resize(&mut self, cx: &ViewContext) {
        let selected = self.columns.get(self.current).map(|column| column.title.clone());
        let mut columns = Vec::new();
        let mut old = std::mem::take(&mut self.columns);
        let all: Vec<&Issue> =
            self.issues.iter().flat_map(|board| board.by_status.iter().flat_map(|(_, issues)| issues)).collect();
        for (title, total, issues) in self.grouped() {
            let known = old.iter().position(|column| column.title == title).map(|at| old.swap_remove(at));
            let mut column = known.unwrap_or_default();
            let rows = if self.has_lanes {
                Self::in_lanes(&issues, &all, cx)
            } else {
                issues.iter().map(|issue| Self::card(issue, cx)).collect()
            };
            column.cards.set(rows, cx.at);
            columns.push(CardColumn { title, total, ..column });
        }
        let same = columns.iter().position(|column| Some(&column.title) == selected.as_ref());
        self.current = same.unwrap_or(self.current).min(columns.len().saturating_sub(1));
        self.columns = columns;
    }

    fn summary(&self) -> String {
        let by = Grouping::ALL[self.grouping.index()].1;
        let lanes = if self.has_lanes { ", lanes by parent" } else { "" };
        let totals = self.issues.as_ref().map(|board| counts(board.totals)).unwrap_or_default();
        format!("by {by}{lanes}: {totals}")
    }

    fn list(&self) -> Option<&RowList> {
        self.columns.get(self.current).map(|column| &column.cards)
    }

    fn list_mut(&mut self) -> Option<&mut RowList> {
        self.columns.get_mut(self.current).map(|column| &mut column.cards)
    }

    fn draw(&self, buffer: &mut Buffer, area: Rect, look: &Look<'_>, has_focus: bool) {
        if self.columns.is_empty() || area.height < 2 {
            return;
        }
        let fit = usize::from((area.width / NARROWEST).max(1)).min(self.columns.len());
        let (first, _) = self.drawn.get();
        let first = first.clamp((self.current + 1).saturating_sub(fit), self.current).min(self.columns.len() - fit);
        self.drawn.set((first, fit));
        let width = area.width / u16::try_from(fit).unwrap_or(1);
        for (at, column) in self.columns.iter().enumerate().skip(first).take(fit) {
            let place = u16::try_from(at - first).unwrap_or_default();
            let room = Rect { x: area.x + place * width, width: width.saturating_sub(1), ..area };
            let is_current = at == self.current;
            let count = column.total.map_or(column.cards.len().to_string(), |total| total.to_string());
            let tone = column.title.parse::<Status>().map_or(Tone::Heading, Tone::from);
            let mut heading = vec![piece(format!("{} ", column.title), tone), piece(count, Tone::Faint)];
            if at == first && first > 0 {
                heading.insert(0, piece("< ", Tone::Faint));
            }
            if at + 1 == first + fit && at + 1 < self.columns.len() {
                heading.push(piece(" >", Tone::Faint));
            }
            draw_line(buffer, Rect { height: 1, ..room }, &heading, look);
            if is_current {
                let bold = ratatui::style::Style::new()
                    .add_modifier(ratatui::style::Modifier::BOLD | ratatui::style::Modifier::UNDERLINED);
                buffer.set_style(Rect { height: 1, ..room }, bold);
            }
            let cards = Rect { y: area.y + 1, height: area.height - 1, ..room };
            if is_current {
                column.cards.draw(buffer, cards, look, has_focus);
            } else {
                column.cards.draw_without_cursor(buffer, cards, look);
            }
        }
    }

    fn step(&mut self, motion: Motion) -> bool {
        match motion {
            Motion::Left => self.current = self.current.saturating_sub(1),
            Motion::Right => self.current = (self.current + 1).min(self.columns.len().saturating_sub(1)),
            _ => {
                let Some(column) = self.columns.get_mut(self.current) else { return false };
                column.cards.step(motion);
                return super::more(&column.cards, &mut self.limit, motion);
            }
        }
        false
    }

    fn command(&mut self, command: UserCommand, cx: &ViewContext) -> Option<bool> {
        match command {
            UserCommand::Group => {
                self.grouping = Grouping::ALL[(self.grouping.index() + 1) % Grouping::ALL.len()].0;
                (self.current, self.columns) = (0, Vec::new());
            }
            UserCommand::Lanes => self.has_lanes = !self.has_lanes,
            _ => return None,
        }
        self.resize(cx);
        Some(false)
    }

    fn set_filter(&mut self, text: &str) -> bool {
        text.clone_into(&mut self.text);
        true
    }

    fn moved(&self, row: &ListRow, on: bool) -> Result<Vec<StoreChange>> {
        if self.grouping == Grouping::Status && self.labels.is_empty() {
            return moved_by_status(row, on);
        }
        let to = if on { Some(self.current + 1) } else { self.current.checked_sub(1) };
        match (&row.subject, row.status, to) {
            (Some(RowSubject::Issue(id)), Some(status), Some(to)) => self.between(id, status, self.current, to),
            _ => Err(Error::invalid("there is no column beyond this one")),
        }
    }

    fn click(&mut self, area: Rect, x: u16, y: u16) -> bool {
        let Some(at) = self.column_at(area, x) else { return false };
        self.current = at;
        let line = y.checked_sub(area.y + 1);
        line.is_some_and(|line| self.columns[at].cards.click(line))
    }

    fn dropped(&self, area: Rect, x: u16) -> Result<Vec<StoreChange>> {
        let Some(to) = self.column_at(area, x).filter(|to| *to != self.current) else { return Ok(Vec::new()) };
        let row = self.list().and_then(RowList::selected);
        match row.map(|row| (&row.subject, row.status)) {
            Some((Some(RowSubject::Issue(id)), Some(status))) => self.between(id, status, self.current, to),
            _ => Ok(Vec::new()),
        }
    }

    fn select(&mut self, id: &str) -> bool {
        let found = self.columns.iter_mut().position(|column| column.cards.select(id));
        self.current = found.unwrap_or(self.current);
        found.is_some()
    }

    fn restore(&mut self, memory: &ViewMemory) {
        let known = Grouping::ALL.iter().find(|(_, name)| Some(*name) == memory.columns.as_deref());
        self.grouping = known.map_or(self.grouping, |(grouping, _)| *grouping);
        self.has_lanes = memory.lanes;
    }

    fn remember(&self, memory: &mut ViewMemory) {
        memory.columns = Some(Grouping::ALL[self.grouping.index()].1.to_owned());
        memory.lanes = self.has_lanes;
    }
}

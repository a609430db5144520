//! A list of rows with a cursor that stays on its row while rows come, go and change.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use pensa_core::Timestamp;
use pensa_core::id::{IssueId, LearningId, SessionId};
use pensa_core::issue::Status;
use pensa_core::text::fold;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use crate::text::{clip, columns};
use crate::theme::{Theme, Tone};

/// How long a changed row is shown as changed.
pub(crate) const FLASH: Duration = Duration::from_millis(700);
/// Columns in front of a row: the cursor, and whether it is marked.
const GUTTER: u16 = 2;

/// What a row is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum RowSubject {
    Issue(IssueId),
    Learning(LearningId),
    Session(SessionId),
    /// Something else: what it is, and its id
    Other(&'static str, String),
    /// An event of the log, and the issue it concerns
    Event(i64, Option<IssueId>),
}

impl RowSubject {
    pub(crate) fn issue(&self) -> Option<&IssueId> {
        match self {
            RowSubject::Issue(id) | RowSubject::Event(_, Some(id)) => Some(id),
            _ => None,
        }
    }

    /// What `y` copies.
    pub(crate) fn id(&self) -> String {
        match self {
            RowSubject::Issue(id) => id.to_string(),
            RowSubject::Learning(id) => id.to_string(),
            RowSubject::Session(id) => id.to_string(),
            RowSubject::Other(_, id) => id.clone(),
            RowSubject::Event(number, _) => number.to_string(),
        }
    }
}

/// A text with a meaning.
pub(crate) type Piece = (String, Tone);

pub(crate) fn piece(text: impl Into<String>, tone: Tone) -> Piece {
    (text.into(), tone)
}

/// One row: one or more lines.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ListRow {
    /// Tells it from other rows, now and after a change. Headings have none.
    pub(crate) key: String,
    pub(crate) subject: Option<RowSubject>,
    pub(crate) lines: Vec<Vec<Piece>>,
    /// A heading cannot be selected.
    pub(crate) is_heading: bool,
    /// That of the issue it is about, if it is known
    pub(crate) status: Option<Status>,
}

impl ListRow {
    pub(crate) fn new(key: impl Into<String>, subject: RowSubject, line: Vec<Piece>) -> Self {
        Self { key: key.into(), subject: Some(subject), lines: vec![line], is_heading: false, status: None }
    }

    pub(crate) fn heading(text: impl Into<String>) -> Self {
        let line = vec![piece(text, Tone::Heading)];
        Self { key: String::new(), subject: None, lines: vec![line], is_heading: true, status: None }
    }

    /// A line that is only read.
    pub(crate) fn note(text: impl Into<String>) -> Self {
        Self { lines: vec![vec![piece(text, Tone::Faint)]], ..Self::heading("") }
    }

    fn contains(&self, words: &[String]) -> bool {
        let text = self.lines.iter().flatten().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join(" ");
        let text = fold(&text);
        words.iter().all(|word| text.contains(word.as_str()))
    }
}

/// A move of the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Motion {
    Up,
    Down,
    PageUp,
    PageDown,
    Top,
    Bottom,
    Left,
    Right,
}

/// What drawing depends on beside the rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look<'a> {
    pub(crate) theme: Theme,
    pub(crate) is_ascii: bool,
    pub(crate) now: Timestamp,
    pub(crate) at: Instant,
    pub(crate) marks: &'a HashSet<IssueId>,
}

impl Look<'_> {
    pub(crate) fn style(&self, tone: Tone) -> Style {
        self.theme.style(tone)
    }
}

#[derive(Debug, Default)]
pub(crate) struct RowList {
    all: Vec<ListRow>,
    /// The rows that the filter lets through.
    shown: Vec<usize>,
    words: Vec<String>,
    cursor: usize,
    /// The first row that is drawn; drawing keeps the cursor visible.
    top: Cell<usize>,
    /// The height at the last drawing, for pages.
    height: Cell<u16>,
    changed: HashMap<String, Instant>,
    was_set: bool,
}

impl RowList {
    /// Replaces the rows. The cursor stays on its row, or where that was; rows that differ flash.
    pub(crate) fn set(&mut self, rows: Vec<ListRow>, at: Instant) {
        let selected = self.selected().map(|row| row.key.clone());
        if self.was_set {
            let old: HashMap<&str, &ListRow> = self.all.iter().map(|row| (row.key.as_str(), row)).collect();
            let is_changed = |row: &&ListRow| !row.is_heading && old.get(row.key.as_str()) != Some(row);
            let changed: Vec<String> = rows.iter().filter(is_changed).map(|row| row.key.clone()).collect();
            // After another query nearly everything is new: that is no news.
            if changed.len() * 2 <= rows.len().max(4) {
                self.changed.extend(changed.into_iter().map(|key| (key, at + FLASH)));
            }
        }
        self.changed.retain(|_, end| *end > at);
        self.was_set = true;
        self.all = rows;
        self.refilter(selected.as_deref());
    }

    /// Shows only rows with all of these words.
    pub(crate) fn set_filter(&mut self, text: &str) {
        let selected = self.selected().map(|row| row.key.clone());
        self.words = text.split_whitespace().map(fold).collect();
        self.refilter(selected.as_deref());
    }

    fn refilter(&mut self, selected: Option<&str>) {
        let is_shown = |row: &ListRow| self.words.is_empty() || (!row.is_heading && row.contains(&self.words));
        self.shown = self.all.iter().enumerate().filter(|(_, row)| is_shown(row)).map(|(at, _)| at).collect();
        let same = selected.filter(|key| !key.is_empty());
        let same = same.and_then(|key| self.shown.iter().position(|at| self.all[*at].key == key));
        self.cursor = same.unwrap_or(self.cursor).min(self.shown.len().saturating_sub(1));
        self.leave_heading(true);
    }

    /// Moves the cursor off a heading, if there is any other row.
    fn leave_heading(&mut self, down: bool) {
        let is_free = |at: &usize| self.row(*at).is_some_and(|row| !row.is_heading);
        let below = (self.cursor..self.shown.len()).find(is_free);
        let above = (0..self.cursor).rev().find(is_free);
        self.cursor = if down { below.or(above) } else { above.or(below) }.unwrap_or(self.cursor);
    }

    fn row(&self, at: usize) -> Option<&ListRow> {
        self.shown.get(at).and_then(|at| self.all.get(*at))
    }

    pub(crate) fn selected(&self) -> Option<&ListRow> {
        self.row(self.cursor).filter(|row| !row.is_heading)
    }

    pub(crate) fn select(&mut self, key: &str) -> bool {
        let at = (0..self.shown.len()).find(|at| self.row(*at).is_some_and(|row| row.key == key));
        self.cursor = at.unwrap_or(self.cursor);
        at.is_some()
    }

    /// The number of rows that are not headings.
    pub(crate) fn len(&self) -> usize {
        self.shown.iter().filter(|at| !self.all[**at].is_heading).count()
    }

    pub(crate) fn cursor(&self) -> usize {
        self.cursor
    }

    pub(crate) fn step(&mut self, motion: Motion) {
        let page = usize::from(self.height.get()).saturating_sub(1).max(1) / self.lines_per_row();
        let last = self.shown.len().saturating_sub(1);
        let before = self.cursor;
        self.cursor = match motion {
            Motion::Up => before.saturating_sub(1),
            Motion::Down => (before + 1).min(last),
            Motion::PageUp => before.saturating_sub(page.max(1)),
            Motion::PageDown => (before + page.max(1)).min(last),
            Motion::Top => 0,
            Motion::Bottom => last,
            Motion::Left | Motion::Right => before,
        };
        // A heading at the very top is shown again when the cursor comes to the row below it.
        if self.cursor == 0 || self.row(self.cursor).is_some_and(|row| row.is_heading) {
            self.top.set(self.top.get().min(self.cursor));
        }
        self.leave_heading(self.cursor >= before && !matches!(motion, Motion::Up | Motion::PageUp));
    }

    fn lines_per_row(&self) -> usize {
        self.row(self.cursor).map_or(1, |row| row.lines.len().max(1))
    }

    /// Selects the row that is drawn `line` lines below the top, if there is one.
    pub(crate) fn click(&mut self, line: u16) -> bool {
        let mut below = usize::from(line);
        for at in self.top.get()..self.shown.len() {
            let height = self.row(at).map_or(1, |row| row.lines.len());
            if below < height {
                let is_row = self.row(at).is_some_and(|row| !row.is_heading);
                self.cursor = if is_row { at } else { self.cursor };
                return is_row;
            }
            below -= height;
        }
        false
    }

    /// The first row to draw so that the cursor is visible.
    fn scroll(&self, height: usize) -> usize {
        let lines = |from: usize, to: usize| -> usize {
            (from..=to).map(|at| self.row(at).map_or(0, |row| row.lines.len())).sum()
        };
        let mut top = self.top.get().min(self.cursor);
        while top < self.cursor && lines(top, self.cursor) > height {
            top += 1;
        }
        // Where rows were taken away, no empty lines are left at the end.
        while top > 0 && lines(top - 1, self.shown.len().saturating_sub(1)) <= height {
            top -= 1;
        }
        self.top.set(top);
        top
    }

    pub(crate) fn draw(&self, buffer: &mut Buffer, area: Rect, look: &Look<'_>, has_focus: bool) {
        self.draw_rows(buffer, area, look, Some(has_focus));
    }

    /// Draws a list that does not have the cursor.
    pub(crate) fn draw_without_cursor(&self, buffer: &mut Buffer, area: Rect, look: &Look<'_>) {
        self.draw_rows(buffer, area, look, None);
    }

    fn draw_rows(&self, buffer: &mut Buffer, area: Rect, look: &Look<'_>, focus: Option<bool>) {
        self.height.set(area.height);
        if area.is_empty() {
            return;
        }
        let mut y = area.top();
        for at in self.scroll(usize::from(area.height))..self.shown.len() {
            let Some(row) = self.row(at) else { break };
            let is_selected = focus.is_some() && at == self.cursor && !row.is_heading;
            let is_marked = row.subject.as_ref().and_then(RowSubject::issue).is_some_and(|id| look.marks.contains(id));
            let is_changed = self.changed.get(&row.key).is_some_and(|end| *end > look.at);
            for (number, line) in row.lines.iter().enumerate() {
                if y >= area.bottom() {
                    return;
                }
                let marker = match (number, is_selected, is_marked) {
                    (0, true, true) => ">*",
                    (0, true, false) => "> ",
                    (_, _, true) => " *",
                    _ => "  ",
                };
                let indent = if row.is_heading { 0 } else { GUTTER };
                if !row.is_heading {
                    buffer.set_stringn(area.x, y, marker, usize::from(area.width), look.style(Tone::Accent));
                }
                draw_line(
                    buffer,
                    Rect { x: area.x + indent.min(area.width), y, width: area.width.saturating_sub(indent), height: 1 },
                    line,
                    look,
                );
                let whole = Rect { y, height: 1, ..area };
                if is_selected {
                    buffer.set_style(whole, look.theme.selected(focus == Some(true)));
                } else if is_changed {
                    buffer.set_style(whole, look.theme.flash());
                } else if is_marked {
                    buffer.set_style(whole, Style::new().add_modifier(Modifier::BOLD));
                }
                y += 1;
            }
        }
    }
}

/// Draws the pieces of a line one after the other.
pub(crate) fn draw_line(buffer: &mut Buffer, area: Rect, line: &[Piece], look: &Look<'_>) {
    if area.is_empty() {
        return;
    }
    let mut x = area.x;
    for (text, tone) in line {
        let room = usize::from(area.right().saturating_sub(x));
        if room == 0 {
            return;
        }
        let shown = clip(text, room);
        buffer.set_stringn(x, area.y, &shown, room, look.style(*tone));
        x = x.saturating_add(u16::try_from(columns(&shown)).unwrap_or(u16::MAX)).min(area.right());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(titles: &[&str]) -> Vec<ListRow> {
        let row = |title: &&str| {
            let subject = RowSubject::Other("test", (*title).to_owned());
            ListRow::new(title.split(' ').next().unwrap_or_default(), subject, vec![piece(*title, Tone::Plain)])
        };
        titles.iter().map(row).collect()
    }

    fn key(list: &RowList) -> &str {
        list.selected().map_or("", |row| &row.key)
    }

    #[test]
    fn the_cursor_stays_on_its_row() {
        let mut list = RowList::default();
        let now = Instant::now();
        list.set(rows(&["a", "b", "c"]), now);
        list.step(Motion::Down);
        list.set(rows(&["x", "y", "a", "b", "c"]), now);
        assert_eq!(key(&list), "b");
        list.set(rows(&["x"]), now);
        assert_eq!(key(&list), "x", "its row is gone");
        list.set(Vec::new(), now);
        assert!(list.selected().is_none());
    }

    #[test]
    fn headings_are_passed_over_and_filters_leave_them_out() {
        let mut list = RowList::default();
        let mut all = vec![ListRow::heading("first")];
        all.extend(rows(&["a", "b"]));
        all.push(ListRow::heading("second"));
        all.extend(rows(&["c third"]));
        list.set(all, Instant::now());
        assert_eq!(key(&list), "a");
        list.step(Motion::Bottom);
        assert_eq!(key(&list), "c");
        list.step(Motion::Up);
        assert_eq!(key(&list), "b");
        list.step(Motion::Top);
        list.step(Motion::Up);
        assert_eq!(key(&list), "a");
        list.set_filter("THIRD c");
        assert_eq!((key(&list), list.len()), ("c", 1));
        list.set_filter("");
        assert_eq!((key(&list), list.len()), ("c", 3));
    }

    #[test]
    fn a_changed_row_flashes_and_the_first_load_does_not() {
        let mut list = RowList::default();
        let now = Instant::now();
        list.set(rows(&["a", "b"]), now);
        assert!(list.changed.is_empty());
        list.set(rows(&["a", "b changed"]), now);
        assert_eq!(list.changed.iter().collect::<Vec<_>>(), [(&"b".to_owned(), &(now + FLASH))]);
        list.set(rows(&["a", "b changed"]), now + FLASH);
        assert!(list.changed.is_empty(), "it is over");
    }
}

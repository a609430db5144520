//! Columns of cards.

use pensa_core::Result;
use pensa_core::issue::{Issue, Status};
use pensa_web::svg::{self, Ink};

use super::canvas::Canvas;
use crate::render::fit;

/// Cards of a column that are drawn.
const SHOWN: usize = 12;
/// Pixels of a column and of a card, and blanks around them.
const COLUMN: usize = 240;
const CARD: usize = 46;
const MARGIN: usize = 10;
/// Characters of a line on a card of that width.
const CARD_CHARS: usize = 30;

#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct Column {
    pub(crate) title: String,
    pub(crate) issues: Vec<Issue>,
}

impl Column {
    fn heading(&self) -> String {
        format!("{} {}", self.title, self.issues.len())
    }

    fn left_out(&self) -> Option<String> {
        self.issues.len().checked_sub(SHOWN).filter(|more| *more > 0).map(|more| format!("and {more} more"))
    }
}

fn first_line(issue: &Issue) -> String {
    let name = issue.assignee.as_ref().map(|name| format!(" @{name}")).unwrap_or_default();
    format!("{} {}{name}", issue.id, issue.priority)
}

fn ink(issue: &Issue) -> Ink {
    Ink::from(issue.status)
}

/// A status by its colour, for a heading.
pub(crate) fn heading_ink(title: &str) -> Ink {
    title.parse::<Status>().map_or(Ink::Lines, Ink::from)
}

/// Columns side by side; those for which there is no room come below.
pub(crate) fn on_canvas(columns: &[Column], width: usize) -> Canvas {
    const NARROWEST: usize = 18;
    let beside = (width / NARROWEST).clamp(1, columns.len().max(1));
    let each = width / beside;
    let mut canvas = Canvas::default();
    let mut top = 0;
    for row in columns.chunks(beside) {
        let mut bottom = top;
        for (at, column) in row.iter().enumerate() {
            let left = at * each;
            let room = each.saturating_sub(2);
            canvas.write(left, top, &fit(&column.heading(), room), heading_ink(&column.title));
            canvas.rule(left, left + room, top + 1);
            let mut y = top + 2;
            for issue in column.issues.iter().take(SHOWN) {
                canvas.write(left, y, &fit(&first_line(issue), room), ink(issue));
                canvas.write(left + 1, y + 1, &fit(&issue.title, room.saturating_sub(1)), Ink::Lines);
                y += 2;
            }
            if let Some(more) = column.left_out() {
                canvas.write(left, y, &fit(&more, room), Ink::Lines);
                y += 1;
            }
            bottom = bottom.max(y);
        }
        top = bottom + 1;
    }
    canvas
}

pub(crate) fn as_svg(columns: &[Column]) -> Result<String> {
    let rows = columns.iter().map(|column| column.issues.len().min(SHOWN)).max().unwrap_or_default();
    let width = columns.len().max(1) * (COLUMN + MARGIN) + MARGIN;
    svg::document(svg::size(width, 40 + (rows + 1) * (CARD + MARGIN)), |area| {
        for (at, column) in columns.iter().enumerate() {
            let left = MARGIN + at * (COLUMN + MARGIN);
            svg::words(area, svg::point(left, 12), &fit(&column.heading(), CARD_CHARS), 16)?;
            let mut top = 40;
            for issue in column.issues.iter().take(SHOWN) {
                svg::card(area, svg::point(left, top), svg::point(left + COLUMN, top + CARD), ink(issue))?;
                svg::words(area, svg::point(left + 12, top + 6), &fit(&first_line(issue), CARD_CHARS), 12)?;
                svg::words(area, svg::point(left + 12, top + 26), &fit(&issue.title, CARD_CHARS), 12)?;
                top += CARD + MARGIN;
            }
            if let Some(more) = column.left_out() {
                svg::words(area, svg::point(left, top), &more, 12)?;
            }
        }
        Ok(())
    })
}

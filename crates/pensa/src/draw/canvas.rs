//! A sheet of characters: lines that join where they meet, and text.

use pensa_core::text;
use pensa_web::svg::Ink;

use crate::render::Screen;

const NORTH: u8 = 1;
const EAST: u8 = 2;
const SOUTH: u8 = 4;
const WEST: u8 = 8;

/// The characters for every set of directions, in lines and in ASCII.
const LINES: [char; 16] = [' ', '╵', '╶', '└', '╷', '│', '┌', '├', '╴', '┘', '─', '┴', '┐', '┤', '┬', '┼'];
const ASCII: [char; 16] = [' ', '|', '-', '+', '|', '|', '+', '+', '-', '+', '-', '+', '+', '+', '+', '+'];

#[derive(Debug, Clone, Copy)]
struct Cell {
    /// Where lines lead from here.
    ways: u8,
    written: Option<char>,
    ink: Ink,
}

const EMPTY: Cell = Cell { ways: 0, written: None, ink: Ink::Lines };

#[derive(Debug, Default)]
pub(crate) struct Canvas {
    rows: Vec<Vec<Cell>>,
}

impl Canvas {
    fn cell(&mut self, x: usize, y: usize) -> &mut Cell {
        while self.rows.len() <= y {
            self.rows.push(Vec::new());
        }
        let row = &mut self.rows[y];
        if row.len() <= x {
            row.resize(x + 1, EMPTY);
        }
        &mut row[x]
    }

    pub(crate) fn horizontal(&mut self, from: usize, to: usize, y: usize) {
        for x in from.min(to)..from.max(to) {
            self.cell(x, y).ways |= EAST;
            self.cell(x + 1, y).ways |= WEST;
        }
    }

    /// A line that runs on at both ends.
    pub(crate) fn rule(&mut self, from: usize, to: usize, y: usize) {
        (from..=to).for_each(|x| self.cell(x, y).ways |= EAST | WEST);
    }

    pub(crate) fn vertical(&mut self, x: usize, from: usize, to: usize) {
        for y in from.min(to)..from.max(to) {
            self.cell(x, y).ways |= SOUTH;
            self.cell(x, y + 1).ways |= NORTH;
        }
    }

    pub(crate) fn rectangle(&mut self, (left, top): (usize, usize), (right, bottom): (usize, usize), ink: Ink) {
        for y in [top, bottom] {
            self.horizontal(left, right, y);
        }
        for x in [left, right] {
            self.vertical(x, top, bottom);
        }
        for y in top..=bottom {
            for x in left..=right {
                self.cell(x, y).ink = ink;
            }
        }
    }

    /// Text from data.
    pub(crate) fn write(&mut self, x: usize, y: usize, words: &str, ink: Ink) {
        for (at, written) in text::printable_line(words).chars().enumerate() {
            *self.cell(x + at, y) = Cell { ways: 0, written: Some(written), ink };
        }
    }

    pub(crate) fn show(&self, screen: &mut Screen, in_lines: bool) {
        for row in &self.rows {
            let shown = |cell: &Cell| cell.written.unwrap_or(if in_lines { LINES } else { ASCII }[cell.ways as usize]);
            let end = row.iter().rposition(|cell| shown(cell) != ' ').map_or(0, |last| last + 1);
            for run in row[..end].chunk_by(|a, b| a.ink == b.ink) {
                screen.drawn(run[0].ink, &run.iter().map(shown).collect::<String>());
            }
            screen.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_join_where_they_meet() {
        let mut canvas = Canvas::default();
        canvas.rectangle((0, 0), (4, 2), Ink::Lines);
        canvas.vertical(2, 2, 4);
        canvas.horizontal(0, 4, 3);
        canvas.write(1, 1, "ab", Ink::Lines);
        let drawn = |in_lines| {
            let mut screen = Screen::new(false);
            canvas.show(&mut screen, in_lines);
            String::from_utf8(screen.as_bytes().to_vec()).expect("text")
        };
        assert_eq!(drawn(true), "┌───┐\n│ab │\n└─┬─┘\n╶─┼─╴\n  ╵\n");
        assert_eq!(drawn(false), "+---+\n|ab |\n+-+-+\n--+--\n  |\n");
    }
}

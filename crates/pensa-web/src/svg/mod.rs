//! Drawings as SVG, for pages, files and READMEs. Looks are attributes, which a page's style sheet may override.

pub mod badge;
pub mod chart;
pub mod graph;
pub mod layers;

use pensa_core::issue::Status;
use pensa_core::{Error, Result, text};
use plotters::coord::Shift;
use plotters::prelude::*;

/// What a part of a drawing stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    Lines,
    Open,
    Doing,
    Done,
}

impl From<Status> for Ink {
    fn from(status: Status) -> Self {
        match status {
            Status::Open => Self::Open,
            Status::InProgress => Self::Doing,
            Status::Closed => Self::Done,
        }
    }
}

impl Ink {
    /// Of Okabe and Ito's palette, whose colours stay apart for every kind of sight.
    fn colour(self) -> RGBColor {
        match self {
            Self::Lines => RGBColor(90, 90, 90),
            Self::Open => RGBColor(86, 180, 233),
            Self::Doing => RGBColor(230, 159, 0),
            Self::Done => RGBColor(0, 158, 115),
        }
    }

    /// The colour as an attribute.
    fn hex(self) -> String {
        let RGBColor(red, green, blue) = self.colour();
        format!("#{red:02X}{green:02X}{blue:02X}")
    }
}

pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Whatever it is that cannot be drawn.
fn failed(error: impl std::fmt::Display) -> Error {
    Error::internal(format!("cannot draw: {error}"))
}

/// A drawing of this size in pixels, on white, so that it can be read on a dark page too.
pub fn document(size: (u32, u32), draw: impl FnOnce(&Area<'_>) -> Result<()>) -> Result<String> {
    let mut document = String::new();
    {
        let area = SVGBackend::with_string(&mut document, size).into_drawing_area();
        area.fill(&WHITE).map_err(failed)?;
        draw(&area)?;
        area.present().map_err(failed)?;
    }
    document.push('\n');
    Ok(document)
}

/// A point in pixels.
pub fn point(x: usize, y: usize) -> (i32, i32) {
    (i32::try_from(x).unwrap_or(i32::MAX), i32::try_from(y).unwrap_or(i32::MAX))
}

pub fn size(width: usize, height: usize) -> (u32, u32) {
    (u32::try_from(width).unwrap_or(u32::MAX), u32::try_from(height).unwrap_or(u32::MAX))
}

/// A box with a bar of its colour on the left.
pub fn card(area: &Area<'_>, from: (i32, i32), to: (i32, i32), ink: Ink) -> Result<()> {
    area.draw(&Rectangle::new([from, to], WHITE.filled())).map_err(failed)?;
    area.draw(&Rectangle::new([from, to], Ink::Lines.colour().stroke_width(1))).map_err(failed)?;
    area.draw(&Rectangle::new([from, (from.0 + 5, to.1)], ink.colour().filled())).map_err(failed)
}

/// Text whose upper left corner is here.
pub fn words(area: &Area<'_>, at: (i32, i32), text: &str, points: i32) -> Result<()> {
    let style = ("monospace", points).into_font().color(&BLACK);
    area.draw(&Text::new(text::printable_line(text), at, style)).map_err(failed)
}

/// A text cut to `room` characters, with `…` at the end.
fn fit(text: &str, room: usize) -> String {
    let text = text::printable_line(text);
    if text.chars().count() <= room {
        return text;
    }
    let cut: String = text.chars().take(room.saturating_sub(1)).collect();
    format!("{}…", cut.trim_end())
}

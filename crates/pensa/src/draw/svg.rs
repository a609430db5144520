//! Drawings as SVG, for a browser or a README.

use pensa_core::{Error, Result};
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::render::Ink;

/// Of Okabe and Ito's palette, whose colours stay apart for every kind of sight.
pub(crate) const BLUE: RGBColor = RGBColor(86, 180, 233);
pub(crate) const ORANGE: RGBColor = RGBColor(230, 159, 0);
pub(crate) const GREEN: RGBColor = RGBColor(0, 158, 115);
pub(crate) const GREY: RGBColor = RGBColor(90, 90, 90);

pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

pub(crate) fn colour(ink: Ink) -> RGBColor {
    match ink {
        Ink::Lines => GREY,
        Ink::Open => BLUE,
        Ink::Doing => ORANGE,
        Ink::Done => GREEN,
    }
}

/// Whatever it is that cannot be drawn.
pub(crate) fn failed(error: impl std::fmt::Display) -> Error {
    Error::internal(format!("cannot draw: {error}"))
}

/// A drawing of this size in pixels, on white, so that it can be read on a dark page too.
pub(crate) fn document(size: (u32, u32), draw: impl FnOnce(&Area<'_>) -> Result<()>) -> Result<String> {
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
pub(crate) fn point(x: usize, y: usize) -> (i32, i32) {
    (i32::try_from(x).unwrap_or(i32::MAX), i32::try_from(y).unwrap_or(i32::MAX))
}

pub(crate) fn size(width: usize, height: usize) -> (u32, u32) {
    (u32::try_from(width).unwrap_or(u32::MAX), u32::try_from(height).unwrap_or(u32::MAX))
}

/// A box with a bar of its colour on the left.
pub(crate) fn card(area: &Area<'_>, from: (i32, i32), to: (i32, i32), ink: Ink) -> Result<()> {
    area.draw(&Rectangle::new([from, to], WHITE.filled())).map_err(failed)?;
    area.draw(&Rectangle::new([from, to], GREY.stroke_width(1))).map_err(failed)?;
    area.draw(&Rectangle::new([from, (from.0 + 5, to.1)], colour(ink).filled())).map_err(failed)
}

pub(crate) fn line(area: &Area<'_>, from: (i32, i32), to: (i32, i32)) -> Result<()> {
    area.draw(&PathElement::new(vec![from, to], GREY.stroke_width(1))).map_err(failed)
}

/// Text whose upper left corner is here.
pub(crate) fn words(area: &Area<'_>, at: (i32, i32), text: &str, points: i32) -> Result<()> {
    let style = ("monospace", points).into_font().color(&BLACK);
    area.draw(&Text::new(pensa_core::text::printable_line(text), at, style)).map_err(failed)
}

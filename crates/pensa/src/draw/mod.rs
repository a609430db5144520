//! Drawings for the terminal and as SVG. What they show is left to the commands.

pub(crate) mod board;
pub(crate) mod canvas;
pub(crate) mod chart;
pub(crate) mod layers;
pub(crate) mod svg;

//! Drawings of characters for the terminal. As SVG they come from `pensa-web`; what they show is left to the commands.

pub(crate) mod board;
pub(crate) mod canvas;
pub(crate) mod chart;
pub(crate) mod graph;

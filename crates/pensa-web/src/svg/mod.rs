//! Draws graphs and charts as SVG.

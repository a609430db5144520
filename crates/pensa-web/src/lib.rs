//! The web pages of Pensa: functions from the answers of operations to HTML.
//!
//! Pure rendering, without I/O, HTTP or SQL. `pensa-server` fetches the answers and sends the pages; `pn export --html`
//! writes them into files. Start reading in `layout.rs`, the frame of every page.

pub mod agents;
pub mod assets;
pub mod board;
pub mod charts;
pub mod export;
pub mod graph;
pub mod insights;
pub mod issue;
pub mod layout;
pub mod links;
pub mod list;
pub mod log;
pub mod markdown;
pub mod memory;
pub mod releases;
pub mod sessions;
pub mod settings;
pub mod svg;
#[cfg(test)]
mod testing;

pub use maud::Markup;

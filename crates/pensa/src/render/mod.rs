//! How answers look to a person: dense lines, a little colour, and no character from data that a terminal obeys.

pub(crate) mod agents;
mod answers;
mod gc;
mod jobs;
mod learnings;
pub(crate) mod log;
mod loops;
mod records;
mod runs;
mod screen;
mod server;
mod snapshots;
mod trace;
mod tree;
mod work;

pub(crate) use screen::Screen;

/// What can be shown.
pub(crate) trait Render {
    /// For a person.
    fn render(&self, screen: &mut Screen);

    /// For `-q`: the ids and nothing else.
    fn ids(&self) -> Vec<String>;
}

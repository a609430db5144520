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

use std::fmt::Display;

pub(crate) use screen::Screen;

/// A number of things, by the name of one or of many.
pub(crate) fn counted<N: Display + PartialEq + From<u8>>(count: N, one: &str, many: &str) -> String {
    let name = if count == N::from(1) { one } else { many };
    format!("{count} {name}")
}

/// What can be shown.
pub(crate) trait Render {
    /// For a person.
    fn render(&self, screen: &mut Screen);

    /// For `-q`: the ids and nothing else.
    fn ids(&self) -> Vec<String>;
}

/// Renders a list as one after the other.
macro_rules! list {
    ($($item:ty),*) => {$(
        impl $crate::render::Render for Vec<$item> {
            fn render(&self, screen: &mut $crate::render::Screen) {
                self.iter().for_each(|item| item.render(screen));
            }

            fn ids(&self) -> Vec<String> {
                self.iter().flat_map($crate::render::Render::ids).collect()
            }
        }
    )*};
}
pub(crate) use list;

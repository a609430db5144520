//! Prints answers for people: dense lines, a little colour, and no control characters from data.
//!
//! [`Render`] is implemented in the module of the command, or here if several commands share it. [`Screen`] collects the
//! text.

mod answers;
mod fields;
mod screen;
mod terminal;

use std::fmt::Display;

pub(crate) use fields::{field, print_redactions, shorten, shorten_json};
pub(crate) use screen::Screen;
pub(crate) use terminal::{detect, draws_lines, fit, fit_line, lease, terminal, when, width};

/// A count with a noun in singular or plural: `1 issue`, `2 issues`.
pub(crate) fn counted<N: Display + PartialEq + From<u8>>(count: N, one: &str, many: &str) -> String {
    let name = if count == N::from(1) { one } else { many };
    format!("{count} {name}")
}

/// An answer that can be printed.
pub(crate) trait Render {
    /// Prints it for a person.
    fn render(&self, screen: &mut Screen);

    /// The lines of `-q`: ids only.
    fn ids(&self) -> Vec<String>;
}

/// An item of a list; implements [`Render`] for `Vec` of it.
pub(crate) trait ListItem {
    /// Singular and plural, for the count below a list.
    const NOUN: [&str; 2];

    /// Prints one item for a person.
    fn render_item(&self, screen: &mut Screen);

    /// The lines of `-q` for one item.
    fn item_ids(&self) -> Vec<String>;
}

impl<R: ListItem> Render for Vec<R> {
    fn render(&self, screen: &mut Screen) {
        self.iter().for_each(|one| one.render_item(screen));
        screen.footer(self.len(), R::NOUN);
    }

    fn ids(&self) -> Vec<String> {
        self.iter().flat_map(ListItem::item_ids).collect()
    }
}

/// Implements [`ListItem`] for an answer that looks the same in a list.
macro_rules! list_item {
    ($item:ty, $one:literal, $many:literal) => {
        impl $crate::render::ListItem for $item {
            const NOUN: [&str; 2] = [$one, $many];

            fn render_item(&self, screen: &mut $crate::render::Screen) {
                $crate::render::Render::render(self, screen);
            }

            fn item_ids(&self) -> Vec<String> {
                $crate::render::Render::ids(self)
            }
        }
    };
}

pub(crate) use list_item;

//! `pn ref`: links issues to other trackers.

use pensa_core::ops::refs::{Add, List, Ref, Remove};

use crate::render::{Render, Screen, list_item};

op_subcommands!(RefCommand { Add(Add), List(List), Remove(Remove) });

impl Render for Ref {
    fn render(&self, screen: &mut Screen) {
        let line = format!("{} {}", self.target, self.title.as_deref().unwrap_or_default());
        screen.id(&self.of.id).plain(" ").text(line.trim_end()).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.of.id.to_string()]
    }
}

list_item!(Ref, "reference", "references");

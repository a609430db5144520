//! `pn ref`: where else an issue is known.

use pensa_core::ops::refs::{Add, List, Ref, Remove};

use crate::render::{Render, Screen, list};

pass_on_each!(Refs { Add(Add), List(List), Remove(Remove) });

impl Render for Ref {
    fn render(&self, screen: &mut Screen) {
        let told = format!("{} {}", self.target, self.title.as_deref().unwrap_or_default());
        screen.id(&self.of.id).plain(" ").text(told.trim_end()).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.of.id.to_string()]
    }
}

list!(Ref);

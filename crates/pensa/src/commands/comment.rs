//! `pn comment`: adds and lists comments on issues.

use clap::Subcommand;
use pensa_core::comment::Comment;
use pensa_core::ops::comment;

use crate::render::{Render, Screen, list_item, when};

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum CommentCommand {
    Add(comment::Add),
    List(comment::List),
}

impl Render for Comment {
    fn render(&self, screen: &mut Screen) {
        screen.id(&self.id).plain(" ").faint(&when(self.created_at)).plain(" @").text(&self.actor).end();
        screen.block(&self.text);
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

list_item!(Comment, "comment", "comments");

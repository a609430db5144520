//! Operations on comments.

use pensa_core::comment::Comment;
use pensa_core::event::{self, EventType};
use pensa_core::issue::Extra;
use pensa_core::ops::comment::{Add, List};
use pensa_core::{Error, Result, text};
use serde_json::{Map, json};

use crate::context::Context;
use crate::db::Tx;
use crate::entity;
use crate::execute::Execute;
use crate::tables::{comments, events, issues};

/// Stores a comment and logs it.
pub(crate) fn record(cx: &Context<'_>, tx: &Tx<'_>, comment: &Comment) -> Result<()> {
    entity::insert(tx, comment)?;
    let mut detail = Map::new();
    detail.insert("comment".into(), event::change(json!(null), comment));
    events::log(cx, tx, &comment.issue_id, EventType::Commented, detail)
}

impl Execute for Add {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Comment> {
        let issue = issues::find(cx, tx, &self.id)?;
        let text = text::block("comment", &self.text)?;
        if text.trim().is_empty() {
            return Err(Error::invalid("comment is empty"));
        }
        let comment = Comment {
            id: comments::new_id(cx, tx)?,
            issue_id: issue.id,
            actor: cx.actor.clone(),
            text,
            created_at: cx.now,
            extra: Extra::new(),
        };
        record(cx, tx, &comment)?;
        Ok(comment)
    }
}

impl Execute for List {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Comment>> {
        let issue = issues::find(cx, tx, &self.id)?;
        comments::of_issue(tx, &issue.id)
    }
}

//! Creates ids of comments, and lists them.

use pensa_core::comment::Comment;
use pensa_core::id::{CommentId, IssueId};
use pensa_core::{Result, Timestamp};

use crate::context::Context;
use crate::db::{Tx, params};
use crate::entity;

pub(crate) fn new_id(cx: &Context<'_>, tx: &Tx<'_>) -> Result<CommentId> {
    loop {
        let id = CommentId::from_uuid(cx.uuid());
        if !exists(tx, &id)? {
            return Ok(id);
        }
    }
}

pub(crate) fn exists(tx: &Tx<'_>, id: &CommentId) -> Result<bool> {
    Ok(tx.query_one("SELECT 1 FROM comments WHERE id = ?1", params![id], |_| Ok(()))?.is_some())
}

pub(crate) fn of_issue(tx: &Tx<'_>, id: &IssueId) -> Result<Vec<Comment>> {
    entity::query(tx, "WHERE issue_id = ?1 ORDER BY created_at, id", params![id])
}

/// The newest comments since a time, oldest first.
pub(crate) fn since(tx: &Tx<'_>, since: Timestamp, limit: u32) -> Result<Vec<Comment>> {
    let rest = "WHERE created_at >= ?1 ORDER BY created_at DESC, id DESC LIMIT ?2";
    let mut found = entity::query(tx, rest, params![since, i64::from(limit)])?;
    found.reverse();
    Ok(found)
}

//! Rows of `comments`.

use pensa_core::Result;
use pensa_core::comment::Comment;
use pensa_core::id::{CommentId, IssueId};

use crate::context::Context;
use crate::db::{Param, Row, Tx, params};
use crate::tables::extra;

const COLUMNS: &str = "id, issue_id, actor, text, created_at, extra";

pub(crate) fn read(row: &Row<'_>) -> Result<Comment> {
    Ok(Comment {
        id: row.parse(0)?,
        issue_id: row.parse(1)?,
        actor: row.text(2)?,
        text: row.text(3)?,
        created_at: row.parse(4)?,
        extra: row.extra(5)?,
    })
}

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

pub(crate) fn insert(tx: &Tx<'_>, comment: &Comment) -> Result<()> {
    tx.journal("comment", comment)?;
    tx.send(
        "INSERT INTO comments (id, issue_id, actor, text, created_at, extra) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        &row(comment)?,
    )
}

/// Replaces a row.
pub(crate) fn replace(tx: &Tx<'_>, comment: &Comment) -> Result<()> {
    tx.journal("comment", comment)?;
    tx.send(
        "UPDATE comments SET issue_id = ?2, actor = ?3, text = ?4, created_at = ?5, extra = ?6 WHERE id = ?1",
        &row(comment)?,
    )
}

/// Removes a comment; false if there is none.
pub(crate) fn delete(tx: &Tx<'_>, id: &str) -> Result<bool> {
    tx.journal("comment_deleted", id)?;
    Ok(tx.execute("DELETE FROM comments WHERE id = ?1", params![id])? > 0)
}

fn row(comment: &Comment) -> Result<[Param<'_>; 6]> {
    Ok([
        (&comment.id).into(),
        (&comment.issue_id).into(),
        (&comment.actor).into(),
        (&comment.text).into(),
        comment.created_at.into(),
        extra(&comment.extra)?,
    ])
}

pub(crate) fn get(tx: &Tx<'_>, id: &str) -> Result<Option<Comment>> {
    tx.query_one(&format!("SELECT {COLUMNS} FROM comments WHERE id = ?1"), params![id], read)
}

pub(crate) fn of_issue(tx: &Tx<'_>, id: &IssueId) -> Result<Vec<Comment>> {
    tx.query(&format!("SELECT {COLUMNS} FROM comments WHERE issue_id = ?1 ORDER BY created_at, id"), params![id], read)
}

pub(crate) fn for_each(tx: &Tx<'_>, mut each: impl FnMut(&Comment) -> Result<()>) -> Result<()> {
    tx.for_each(&format!("SELECT {COLUMNS} FROM comments ORDER BY created_at, id"), params![], |row| each(&read(row)?))
}

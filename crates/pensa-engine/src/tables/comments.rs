//! Rows of `comments`.

use pensa_core::Result;
use pensa_core::comment::Comment;
use pensa_core::id::{CommentId, IssueId};

use crate::context::Context;
use crate::db::{Row, Tx, params};

const COLUMNS: &str = "id, issue_id, actor, text, created_at";

fn read(row: &Row<'_>) -> Result<Comment> {
    Ok(Comment {
        id: row.parse(0)?,
        issue_id: row.parse(1)?,
        actor: row.text(2)?,
        text: row.text(3)?,
        created_at: row.parse(4)?,
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
        "INSERT INTO comments (id, issue_id, actor, text, created_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![&comment.id, &comment.issue_id, &comment.actor, &comment.text, comment.created_at],
    )
}

pub(crate) fn of_issue(tx: &Tx<'_>, id: &IssueId) -> Result<Vec<Comment>> {
    tx.query(&format!("SELECT {COLUMNS} FROM comments WHERE issue_id = ?1 ORDER BY created_at, id"), params![id], read)
}

pub(crate) fn for_each(tx: &Tx<'_>, mut each: impl FnMut(&Comment) -> Result<()>) -> Result<()> {
    tx.for_each(&format!("SELECT {COLUMNS} FROM comments ORDER BY created_at, id"), params![], |row| each(&read(row)?))
}

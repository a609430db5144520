//! Rows of `projects` and `tokens`, in the control store of a server.

use pensa_core::id::TokenId;
use pensa_core::project::{Project, ProjectName, Token};
use pensa_core::{Error, Result, Timestamp};

use crate::context::Context;
use crate::db::{Row, Tx, params};
use crate::replay::TokenRow;

fn read_project(row: &Row<'_>) -> Result<Project> {
    Ok(Project {
        name: row.parse(0)?,
        store_id: row.text(1)?,
        created_at: row.parse(2)?,
        archived_at: row.parse_or_null(3)?,
    })
}

const PROJECT: &str = "SELECT name, store, created_at, archived_at FROM projects";

pub(crate) fn get(tx: &Tx<'_>, name: &ProjectName) -> Result<Option<Project>> {
    tx.query_one(&format!("{PROJECT} WHERE name = ?1"), params![name.as_str()], read_project)
}

pub(crate) fn find(tx: &Tx<'_>, name: &ProjectName) -> Result<Project> {
    get(tx, name)?.ok_or_else(|| unknown(name))
}

/// The error of a project that is not there.
pub(crate) fn unknown(name: &ProjectName) -> Error {
    Error::not_found("project", name).hint("pn project list shows them")
}

pub(crate) fn all(tx: &Tx<'_>) -> Result<Vec<Project>> {
    tx.query(&format!("{PROJECT} ORDER BY name"), params![], read_project)
}

pub(crate) fn insert(tx: &Tx<'_>, project: &Project) -> Result<()> {
    tx.journal("project", project)?;
    tx.send(
        "INSERT INTO projects (name, store, created_at, archived_at) VALUES (?1, ?2, ?3, ?4)",
        params![project.name.as_str(), &project.store_id, project.created_at, project.archived_at],
    )
}

pub(crate) fn set_archived(tx: &Tx<'_>, name: &ProjectName, at: Option<Timestamp>) -> Result<()> {
    tx.journal("project_archived", &(name, at))?;
    tx.send("UPDATE projects SET archived_at = ?2 WHERE name = ?1", params![name.as_str(), at])
}

fn read_token(row: &Row<'_>) -> Result<Token> {
    Ok(Token {
        id: row.parse(0)?,
        project: row.parse_or_null(1)?,
        role: row.parse(2)?,
        created_at: row.parse(3)?,
        created_by: row.text(4)?,
        expires_at: row.parse_or_null(5)?,
        revoked_at: row.parse_or_null(6)?,
    })
}

const TOKEN: &str = "SELECT id, project, role, created_at, created_by, expires_at, revoked_at FROM tokens";

pub(crate) fn token(tx: &Tx<'_>, id: &TokenId) -> Result<Option<Token>> {
    tx.query_one(&format!("{TOKEN} WHERE id = ?1"), params![id.as_str()], read_token)
}

pub(crate) fn token_by_hash(tx: &Tx<'_>, hash: &str) -> Result<Option<Token>> {
    tx.query_one(&format!("{TOKEN} WHERE hash = ?1"), params![hash], read_token)
}

pub(crate) fn tokens(tx: &Tx<'_>) -> Result<Vec<Token>> {
    tx.query(&format!("{TOKEN} ORDER BY project, created_at, id"), params![], read_token)
}

pub(crate) fn new_token_id(cx: &Context<'_>, tx: &Tx<'_>) -> Result<TokenId> {
    loop {
        let id = TokenId::from_uuid(cx.uuid());
        if token(tx, &id)?.is_none() {
            return Ok(id);
        }
    }
}

pub(crate) fn insert_token(tx: &Tx<'_>, token: &Token, hash: &str) -> Result<()> {
    tx.journal("token", &TokenRow { hash: hash.to_owned(), token })?;
    tx.send(
        "INSERT INTO tokens (id, hash, project, role, created_at, created_by, expires_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            token.id.as_str(),
            hash,
            token.project.as_ref().map(ProjectName::as_str),
            token.role.as_str(),
            token.created_at,
            &token.created_by,
            token.expires_at,
        ],
    )
}

pub(crate) fn revoke(tx: &Tx<'_>, id: &TokenId, at: Timestamp) -> Result<()> {
    tx.journal("token_revoked", &(id, at))?;
    tx.send("UPDATE tokens SET revoked_at = ?2 WHERE id = ?1", params![id.as_str(), at])
}

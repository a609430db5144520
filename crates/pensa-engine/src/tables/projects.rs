//! Rows of `projects` and `tokens`, in a server's control store.

use pensa_core::id::TokenId;
use pensa_core::project::{Project, ProjectName, Token};
use pensa_core::{Error, Result, entity as declare};
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::db::{Param, Tx, params};
use crate::entity;

pub(crate) fn get(tx: &Tx<'_>, name: &ProjectName) -> Result<Option<Project>> {
    entity::get(tx, params![name.as_str()])
}

pub(crate) fn find(tx: &Tx<'_>, name: &ProjectName) -> Result<Project> {
    get(tx, name)?.ok_or_else(|| unknown(name))
}

/// The error for an unknown project.
pub(crate) fn unknown(name: &ProjectName) -> Error {
    Error::not_found("project", name).hint("pn project list shows them")
}

pub(crate) fn all(tx: &Tx<'_>) -> Result<Vec<Project>> {
    entity::query(tx, "ORDER BY name", params![])
}

/// A token with the hash of its secret, which is never shown.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TokenRow {
    pub(crate) hash: String,
    #[serde(flatten)]
    pub(crate) token: Token,
}

declare!(TokenRow: "token" in "tokens", keys 1 {
    id, hash, project, role, created_at, created_by, expires_at, revoked_at,
});

fn query(tx: &Tx<'_>, rest: &str, params: &[Param<'_>]) -> Result<Vec<Token>> {
    Ok(entity::query::<TokenRow>(tx, rest, params)?.into_iter().map(|row| row.token).collect())
}

pub(crate) fn token(tx: &Tx<'_>, id: &TokenId) -> Result<Option<TokenRow>> {
    entity::get(tx, params![id.as_str()])
}

pub(crate) fn token_by_hash(tx: &Tx<'_>, hash: &str) -> Result<Option<Token>> {
    Ok(query(tx, "WHERE hash = ?1", params![hash])?.pop())
}

pub(crate) fn tokens(tx: &Tx<'_>) -> Result<Vec<Token>> {
    query(tx, "ORDER BY project, created_at, id", params![])
}

pub(crate) fn new_token_id(cx: &Context<'_>, tx: &Tx<'_>) -> Result<TokenId> {
    loop {
        let id = TokenId::from_uuid(cx.uuid());
        if token(tx, &id)?.is_none() {
            return Ok(id);
        }
    }
}

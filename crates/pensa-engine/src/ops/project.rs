//! Operations on the projects and tokens of a server, in its control store.

use pensa_core::event::{self, EventType};
use pensa_core::ops::audit::{Audit, AuditLine};
use pensa_core::ops::{project, token};
use pensa_core::project::{NewToken, Project, ProjectName, Token};
use pensa_core::{Access, Code, Error, Result};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::context::Context;
use crate::db::Tx;
use crate::entity;
use crate::execute::Execute;
use crate::tables::events;
use crate::tables::projects::{self, TokenRow};

fn log(cx: &Context<'_>, tx: &Tx<'_>, kind: &'static str, id: &str, what: EventType, new: Value) -> Result<()> {
    let mut detail = Map::new();
    if let Value::Object(fields) = new {
        for (name, value) in fields {
            detail.insert(name, event::change(Value::Null, value));
        }
    }
    events::append(cx, tx, (kind, id), None, what, detail).map(drop)
}

impl Execute for project::Create {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Project> {
        cx.require_control()?;
        if let Some(known) = projects::get(tx, &self.name)? {
            let archived = if known.archived_at.is_some() { " (archived)" } else { "" };
            return Err(Error::new(Code::Conflict, format!("there is a project {} already{archived}", self.name)));
        }
        let store_id = Uuid::now_v7().to_string();
        let project = Project { name: self.name.clone(), store_id, created_at: cx.now, archived_at: None };
        entity::insert(tx, &project)?;
        log(cx, tx, "project", self.name.as_str(), EventType::Created, json!({"project": self.name}))?;
        Ok(project)
    }
}

impl Execute for project::List {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Project>> {
        cx.require_control()?;
        let mut all = projects::all(tx)?;
        all.retain(|project| cx.manages(Some(&project.name)) && (self.all || project.archived_at.is_none()));
        Ok(all)
    }
}

impl Execute for project::Archive {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Project> {
        cx.require_control()?;
        let known = projects::find(tx, &self.name)?;
        if known.archived_at.is_none() == self.undo {
            return Ok(known);
        }
        let archived_at = (!self.undo).then_some(cx.now);
        entity::put(tx, &Project { archived_at, ..known.clone() })?;
        let what = if self.undo { EventType::Restored } else { EventType::Archived };
        log(cx, tx, "project", self.name.as_str(), what, json!({"project": self.name}))?;
        Ok(Project { archived_at, ..known })
    }
}

/// The project of this name, if the caller may manage it.
fn find_managed(cx: &Context<'_>, tx: &Tx<'_>, name: &ProjectName) -> Result<Project> {
    if !cx.manages(Some(name)) {
        return Err(projects::unknown(name));
    }
    projects::find(tx, name)
}

/// The prefix of secrets, so that secret scanners recognise leaked ones.
pub(crate) const SECRET_PREFIX: &str = "pensa_";

/// The stored form of a secret.
pub(crate) fn hash(secret: &str) -> String {
    hex::encode(Sha256::digest(secret.as_bytes()))
}

impl Execute for token::Create {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<NewToken> {
        cx.require_control()?;
        let (role, project) = self.grants()?;
        match project {
            Some(name) => drop(find_managed(cx, tx, name)?),
            None => cx.require(Access::Operate, "a token for operators")?,
        }
        let secret = format!("{SECRET_PREFIX}{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        let token = Token {
            id: projects::new_token_id(cx, tx)?,
            project: project.cloned(),
            role,
            created_at: cx.now,
            created_by: cx.actor.clone(),
            expires_at: self.expires.map(|span| cx.now.plus(span)),
            revoked_at: None,
        };
        entity::insert(tx, &TokenRow { hash: hash(&secret), token: token.clone() })?;
        let detail = json!({"project": token.project, "role": token.role, "expires_at": token.expires_at});
        log(cx, tx, "token", token.id.as_str(), EventType::Created, detail)?;
        let Token { id, project, role, expires_at, .. } = token;
        Ok(NewToken { id, token: secret, project, role, expires_at })
    }
}

impl Execute for token::List {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Token>> {
        cx.require_control()?;
        if let Some(name) = &self.project {
            find_managed(cx, tx, name)?;
        }
        let mut all = projects::tokens(tx)?;
        all.retain(|token| cx.manages(token.project.as_ref()));
        all.retain(|token| self.project.is_none() || self.project == token.project);
        all.retain(|token| self.all || token.is_valid_at(cx.now));
        Ok(all)
    }
}

impl Execute for token::Revoke {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Token> {
        cx.require_control()?;
        let TokenRow { hash, token: known } = projects::token(tx, &self.id)?
            .filter(|row| cx.manages(row.token.project.as_ref()))
            .ok_or_else(|| Error::not_found("token", &self.id).hint("pn token list shows the ids"))?;
        if known.revoked_at.is_some() {
            return Ok(known);
        }
        let revoked = Token { revoked_at: Some(cx.now), ..known };
        entity::put(tx, &TokenRow { hash, token: revoked.clone() })?;
        log(cx, tx, "token", self.id.as_str(), EventType::Revoked, json!({"project": revoked.project}))?;
        Ok(revoked)
    }
}

impl Execute for Audit {
    /// The audit of this store; a server combines several.
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<AuditLine>> {
        cx.require_server()?;
        events::audit(cx, tx, self)
    }
}

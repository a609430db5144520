//! Finds, lists and stores rows of `repos` and `workspaces`.

use pensa_core::id::{RepoId, RepoRef, WorkspaceId};
use pensa_core::repo::{Repo, RepoLocation, Workspace, normal_url};
use pensa_core::{Code, Error, Result};

use super::ids::{self, IdTable};
use crate::context::Context;
use crate::db::{Param, Tx, params};
use crate::entity::{self, StoredEntity};
use crate::tables::snapshots;

const REPOS: IdTable<'static> = IdTable {
    name: "repository",
    table: "repos",
    prefix: RepoId::PREFIX,
    hint: "pn repo list shows those that are known",
};
const WORKSPACES: IdTable<'static> = IdTable {
    name: "workspace",
    table: "workspaces",
    prefix: WorkspaceId::PREFIX,
    hint: "pn workspace list shows those that are known",
};

pub(crate) fn get(tx: &Tx<'_>, id: &str) -> Result<Option<Repo>> {
    entity::get(tx, params![id])
}

/// Finds a repository by root path, id or id prefix.
pub(crate) fn find(tx: &Tx<'_>, reference: &RepoRef) -> Result<Repo> {
    let text = reference.as_str();
    let rooted = entity::query::<Repo>(tx, "WHERE root_path = ?1 ORDER BY created_at, id LIMIT 6", params![text])?;
    match <[Repo; 1]>::try_from(rooted) {
        Ok([repo]) => Ok(repo),
        Err(several) if several.len() > 1 => Err(ids::ambiguous(text, several.iter().map(|repo| repo.id.as_str()))),
        Err(_) if text.contains(['/', '\\']) => Err(REPOS.unknown(text)),
        Err(_) => get(tx, &REPOS.find(tx, text)?)?.ok_or_else(|| REPOS.unknown(text)),
    }
}

/// The known repositories, oldest first.
pub(crate) fn list(tx: &Tx<'_>, remote: Option<&str>, limit: Option<u32>) -> Result<Vec<Repo>> {
    let limit = Param::Int(limit.map_or(i64::MAX, i64::from));
    match remote {
        Some(url) => {
            let rest = "WHERE remote_url = ?1 ORDER BY created_at, id LIMIT ?2";
            entity::query::<Repo>(tx, rest, &[normal_url(url).into(), limit])
        }
        None => entity::query::<Repo>(tx, "ORDER BY created_at, id LIMIT ?1", &[limit]),
    }
}

/// Creates or updates the row of a repository.
pub(crate) fn upsert(cx: &Context<'_>, tx: &Tx<'_>, seen: &RepoLocation) -> Result<Repo> {
    let seen = seen.checked()?;
    let known = match &seen.root_path {
        Some(root) => {
            let host = seen.host.as_deref().unwrap_or_default();
            entity::query::<Repo>(tx, "WHERE COALESCE(host, '') = ?1 AND root_path = ?2", params![host, root])?.pop()
        }
        None => {
            let rest = "WHERE remote_url = ?1 AND root_path IS NULL ORDER BY created_at, id LIMIT 1";
            entity::query::<Repo>(tx, rest, &[seen.remote_url.as_ref().into()])?.pop()
        }
    };
    let mut repo = match &known {
        Some(known) => known.clone(),
        None => Repo {
            id: REPOS.new_id(tx, || RepoId::from_uuid(cx.uuid()))?,
            vcs: seen.vcs,
            host: seen.host,
            root_path: seen.root_path,
            remote_url: None,
            default_branch: None,
            created_at: cx.now,
        },
    };
    repo.vcs = seen.vcs;
    repo.remote_url = seen.remote_url.or(repo.remote_url);
    repo.default_branch = seen.default_branch.or(repo.default_branch);
    if known.as_ref() != Some(&repo) {
        Repo::store(cx, tx, known.as_ref(), &repo)?;
    }
    Ok(repo)
}

pub(crate) fn remove(cx: &Context<'_>, tx: &Tx<'_>, repo: &Repo) -> Result<()> {
    let runs = "SELECT COUNT(*) FROM runs WHERE repo_id = ?1";
    let runs = tx.query_one(runs, params![repo.id.as_str()], |row| row.int(0))?.unwrap_or_default();
    if runs > 0 {
        let message = format!("cannot remove {}: {runs} {} place in it", repo.id, took(runs));
        return Err(Error::new(Code::Conflict, message).hint("what was done there is part of its record"));
    }
    let kept = snapshots::count_of_repo(tx, repo.id.as_str())?;
    if kept > 0 {
        let message = format!("cannot remove {}: it has {kept} snapshot{}", repo.id, if kept == 1 { "" } else { "s" });
        return Err(Error::new(Code::Conflict, message).hint("pn snapshot delete them first"));
    }
    Repo::remove(cx, tx, repo)
}

fn took(runs: i64) -> &'static str {
    if runs == 1 { "run took" } else { "runs took" }
}

pub(crate) fn workspaces(tx: &Tx<'_>) -> Result<Vec<Workspace>> {
    entity::query::<Workspace>(tx, "ORDER BY name", params![])
}

/// Finds a workspace by name, id or id prefix.
pub(crate) fn find_workspace(tx: &Tx<'_>, text: &str) -> Result<Workspace> {
    let named = entity::query::<Workspace>(tx, "WHERE name = ?1", params![text])?.pop();
    let unknown = || WORKSPACES.unknown(text);
    match named {
        Some(workspace) => Ok(workspace),
        None => {
            let id = WORKSPACES.find(tx, text).map_err(|e| if e.code == Code::InvalidInput { unknown() } else { e })?;
            entity::query::<Workspace>(tx, "WHERE id = ?1", params![id])?.pop().ok_or_else(unknown)
        }
    }
}

pub(crate) fn create_workspace(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    name: &str,
    external: Option<String>,
) -> Result<Workspace> {
    if !entity::query::<Workspace>(tx, "WHERE name = ?1", params![name])?.is_empty() {
        return Err(Error::new(Code::Conflict, format!("there is a workspace {name:?} already"))
            .hint("pn workspace list shows those that are known"));
    }
    let id = WORKSPACES.new_id(tx, || WorkspaceId::from_uuid(cx.uuid()))?;
    let workspace = Workspace { id, name: name.to_owned(), external_id: external, created_at: cx.now };
    Workspace::store(cx, tx, None, &workspace)?;
    Ok(workspace)
}

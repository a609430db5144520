//! Rows of `repos` and `workspaces`.

use pensa_core::event::{self, EventType};
use pensa_core::id::{RepoId, RepoRef, WorkspaceId};
use pensa_core::repo::{Repo, Seen, Workspace, normal_url};
use pensa_core::{Code, Error, Result};
use serde_json::Map;

use super::ids::{self, Kind};
use super::row::Shape;
use crate::context::Context;
use crate::db::{Param, Row, Tx, params};
use crate::tables::{events, snapshots};

const REPOS: Kind = Kind {
    name: "repository",
    table: "repos",
    prefix: RepoId::PREFIX,
    hint: "pn repo list shows those that are known",
};
const WORKSPACES: Kind = Kind {
    name: "workspace",
    table: "workspaces",
    prefix: WorkspaceId::PREFIX,
    hint: "pn workspace list shows those that are known",
};

const SHAPE: Shape =
    Shape { table: "repos", columns: "id vcs host root_path remote_url default_branch created_at", keys: 1 };
const WORKSPACE_SHAPE: Shape = Shape { table: "workspaces", columns: "id name external_id created_at", keys: 1 };

const COLUMNS: &str = "r.id, r.vcs, r.host, r.root_path, r.remote_url, r.default_branch, r.created_at";

fn read(row: &Row<'_>) -> Result<Repo> {
    Ok(Repo {
        id: row.parse(0)?,
        vcs: row.parse(1)?,
        host: row.text_or_null(2)?,
        root_path: row.text_or_null(3)?,
        remote_url: row.text_or_null(4)?,
        default_branch: row.text_or_null(5)?,
        created_at: row.parse(6)?,
    })
}

fn query(tx: &Tx<'_>, rest: &str, params: &[Param<'_>]) -> Result<Vec<Repo>> {
    tx.query(&format!("SELECT {COLUMNS} FROM repos r {rest}"), params, read)
}

pub(crate) fn get(tx: &Tx<'_>, id: &str) -> Result<Option<Repo>> {
    Ok(query(tx, "WHERE r.id = ?1", params![id])?.pop())
}

/// The repository that a caller means, by its id or its root.
pub(crate) fn find(tx: &Tx<'_>, wanted: &RepoRef) -> Result<Repo> {
    let text = wanted.as_str();
    let rooted = query(tx, "WHERE r.root_path = ?1 ORDER BY r.created_at, r.id LIMIT 6", params![text])?;
    match <[Repo; 1]>::try_from(rooted) {
        Ok([repo]) => Ok(repo),
        Err(several) if several.len() > 1 => Err(ids::ambiguous(text, several.iter().map(|repo| repo.id.as_str()))),
        Err(_) if text.contains(['/', '\\']) => Err(REPOS.unknown(text)),
        Err(_) => get(tx, &REPOS.find(tx, text)?)?.ok_or_else(|| REPOS.unknown(text)),
    }
}

/// The repositories that are known, oldest first.
pub(crate) fn list(tx: &Tx<'_>, remote: Option<&str>, limit: Option<u32>) -> Result<Vec<Repo>> {
    let limit = Param::Int(limit.map_or(i64::MAX, i64::from));
    match remote {
        Some(url) => {
            let rest = "WHERE r.remote_url = ?1 ORDER BY r.created_at, r.id LIMIT ?2";
            query(tx, rest, &[normal_url(url).into(), limit])
        }
        None => query(tx, "ORDER BY r.created_at, r.id LIMIT ?1", &[limit]),
    }
}

/// The row of a repository that somebody saw, made or brought up to date.
pub(crate) fn remember(cx: &Context<'_>, tx: &Tx<'_>, seen: &Seen) -> Result<Repo> {
    let seen = seen.checked()?;
    let known = match &seen.root_path {
        Some(root) => {
            let host = seen.host.as_deref().unwrap_or_default();
            query(tx, "WHERE COALESCE(r.host, '') = ?1 AND r.root_path = ?2", params![host, root])?.pop()
        }
        None => {
            let rest = "WHERE r.remote_url = ?1 AND r.root_path IS NULL ORDER BY r.created_at, r.id LIMIT 1";
            query(tx, rest, &[seen.remote_url.as_ref().into()])?.pop()
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
        put(tx, &repo)?;
        let event = if known.is_some() { EventType::Updated } else { EventType::Created };
        let detail = event::differences(known.as_ref(), &repo);
        events::append(cx, tx, ("repo", repo.id.as_str()), None, event, detail)?;
    }
    Ok(repo)
}

/// Adds a repository, or puts it in place of what is there.
pub(crate) fn put(tx: &Tx<'_>, repo: &Repo) -> Result<()> {
    tx.journal("repo", repo)?;
    SHAPE.put(
        tx,
        &[
            repo.id.as_str().into(),
            repo.vcs.as_str().into(),
            repo.host.as_ref().into(),
            repo.root_path.as_ref().into(),
            repo.remote_url.as_ref().into(),
            repo.default_branch.as_ref().into(),
            repo.created_at.into(),
        ],
    )
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
    forget(tx, repo.id.as_str())?;
    let mut detail = Map::new();
    detail.insert("repo".into(), event::change(repo, serde_json::Value::Null));
    events::append(cx, tx, ("repo", repo.id.as_str()), None, EventType::Deleted, detail).map(drop)
}

fn took(runs: i64) -> &'static str {
    if runs == 1 { "run took" } else { "runs took" }
}

pub(crate) fn forget(tx: &Tx<'_>, id: &str) -> Result<()> {
    tx.journal("repo_removed", id)?;
    tx.send("DELETE FROM repos WHERE id = ?1", params![id])
}

fn read_workspace(row: &Row<'_>) -> Result<Workspace> {
    Ok(Workspace {
        id: row.parse(0)?,
        name: row.text(1)?,
        external_id: row.text_or_null(2)?,
        created_at: row.parse(3)?,
    })
}

fn query_workspaces(tx: &Tx<'_>, rest: &str, params: &[Param<'_>]) -> Result<Vec<Workspace>> {
    tx.query(&format!("SELECT id, name, external_id, created_at FROM workspaces {rest}"), params, read_workspace)
}

pub(crate) fn workspaces(tx: &Tx<'_>) -> Result<Vec<Workspace>> {
    query_workspaces(tx, "ORDER BY name", params![])
}

/// The workspace that a caller means, by its name or its id.
pub(crate) fn find_workspace(tx: &Tx<'_>, text: &str) -> Result<Workspace> {
    let named = query_workspaces(tx, "WHERE name = ?1", params![text])?.pop();
    let unknown = || WORKSPACES.unknown(text);
    match named {
        Some(workspace) => Ok(workspace),
        None => {
            let id = WORKSPACES.find(tx, text).map_err(|e| if e.code == Code::InvalidInput { unknown() } else { e })?;
            query_workspaces(tx, "WHERE id = ?1", params![id])?.pop().ok_or_else(unknown)
        }
    }
}

pub(crate) fn create_workspace(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    name: &str,
    external: Option<String>,
) -> Result<Workspace> {
    if !query_workspaces(tx, "WHERE name = ?1", params![name])?.is_empty() {
        return Err(Error::new(Code::Conflict, format!("there is a workspace {name:?} already"))
            .hint("pn workspace list shows those that are known"));
    }
    let id = WORKSPACES.new_id(tx, || WorkspaceId::from_uuid(cx.uuid()))?;
    let workspace = Workspace { id, name: name.to_owned(), external_id: external, created_at: cx.now };
    put_workspace(tx, &workspace)?;
    let detail = event::differences(None, &workspace);
    events::append(cx, tx, ("workspace", workspace.id.as_str()), None, EventType::Created, detail)?;
    Ok(workspace)
}

pub(crate) fn put_workspace(tx: &Tx<'_>, workspace: &Workspace) -> Result<()> {
    tx.journal("workspace", workspace)?;
    WORKSPACE_SHAPE.put(
        tx,
        &[
            workspace.id.as_str().into(),
            workspace.name.as_str().into(),
            workspace.external_id.as_ref().into(),
            workspace.created_at.into(),
        ],
    )
}

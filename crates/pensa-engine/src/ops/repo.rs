//! Operations on repositories, and on the workspaces of a server.

use pensa_core::ops::repo::{Add, CreateWorkspace, List, ListWorkspaces, Remove, Removed, Show};
use pensa_core::repo::{Repo, Workspace};
use pensa_core::{Result, text};

use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::tables::repos;

impl Execute for Add {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Repo> {
        repos::upsert(cx, tx, &self.seen)
    }
}

impl Execute for List {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Repo>> {
        repos::list(tx, self.remote.as_deref(), self.limit)
    }
}

impl Execute for Show {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Repo> {
        repos::find(tx, &self.id)
    }
}

impl Execute for Remove {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Removed> {
        let repo = repos::find(tx, &self.id)?;
        repos::remove(cx, tx, &repo)?;
        Ok(Removed { status: "removed".into(), id: repo.id })
    }
}

impl Execute for CreateWorkspace {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Workspace> {
        cx.require_workspaces()?;
        let name = text::line("name", &self.name)?;
        repos::create_workspace(cx, tx, name, text::optional_line("external_id", self.external_id.as_ref())?)
    }
}

impl Execute for ListWorkspaces {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Workspace>> {
        cx.require_workspaces()?;
        repos::workspaces(tx)
    }
}

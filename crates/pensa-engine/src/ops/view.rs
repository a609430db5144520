//! Operations on views.

use pensa_core::issue::query::IssueQuery;
use pensa_core::ops::view::{List, Remove, Save, View, checked_name};
use pensa_core::sync::VIEWS;
use pensa_core::{Result, text};

use crate::context::Context;
use crate::db::{Tx, params};
use crate::entity::{self, StoredEntity};
use crate::execute::Execute;
use crate::tables::{issue_query, tombstones};

impl Execute for Save {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<View> {
        let name = checked_name(&self.name)?;
        let query = text::line("query", self.query.trim())?.to_owned();
        IssueQuery::parse(&query, &issue_query::options(cx, false))?;
        let old: Option<View> = entity::get(tx, params![&name])?;
        if let Some(same) = old.as_ref().filter(|old| old.query == query) {
            return Ok(same.clone());
        }
        let updated_at = tombstones::version_after(cx, tx, &VIEWS, &name, old.as_ref().map(|old| old.updated_at))?;
        let extra = old.as_ref().map(|old| old.extra.clone()).unwrap_or_default();
        let view = View { name, query, updated_at, extra };
        View::store(cx, tx, old.as_ref(), &view)?;
        Ok(view)
    }
}

impl Execute for List {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<View>> {
        issue_query::views(tx)
    }
}

impl Execute for Remove {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<View> {
        let view = issue_query::view(tx, &self.name)?;
        tombstones::write_tombstone(cx, tx, &VIEWS, &view.name, Some(view.updated_at))?;
        View::remove(cx, tx, &view)?;
        Ok(view)
    }
}

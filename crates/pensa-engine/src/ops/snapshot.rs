//! Operations on the metadata of snapshots.

use pensa_core::event::{self, EventType};
use pensa_core::ops::snapshot::{Create, Delete, Deleted, List, Restore, Show};
use pensa_core::snapshot::Snapshot;
use pensa_core::{Code, Error, Result, text};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::tables::listing::ColumnFilters;
use crate::tables::{repos, runs, snapshots};

impl Execute for Create {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Snapshot> {
        let line = |what: &str, given: &Option<String>| text::optional_line(what, given.as_ref());
        let run = self.run.as_ref().map(|run| runs::find(tx, run)).transpose()?;
        let parent = self.parent.as_ref().map(|parent| snapshots::find(tx, parent)).transpose()?;
        let id = match &self.id {
            Some(id) => id.clone(),
            None => snapshots::new_id(cx, tx)?,
        };
        snapshots::must_be_new(tx, &id)?;
        let repo = match (&self.repo, &self.seen) {
            (Some(repo), _) => repos::find(tx, repo)?,
            (None, Some(seen)) => repos::upsert(cx, tx, seen)?,
            (None, None) => {
                return Err(Error::new(Code::NoRepo, "a snapshot belongs to a repository, and none was named")
                    .hint("run the command in a repository, or name one with --repo"));
            }
        };
        let snapshot = Snapshot {
            id,
            kind: self.kind,
            provider: self.provider,
            repo_id: repo.id,
            run_id: run.map(|run| run.id),
            host: text::line("host", &self.host)?.to_owned(),
            root: text::line("root", &self.root)?.to_owned(),
            reference: line("ref", &self.reference)?,
            path: line("path", &self.path)?,
            parent_id: parent.as_ref().map(|parent| parent.id.clone()),
            label: line("label", &self.label)?,
            actor: cx.actor.clone(),
            metadata: self.metadata.clone(),
            created_at: cx.now,
            restored_at: None,
        };
        snapshot.check()?;
        parent.as_ref().map_or(Ok(()), |parent| snapshot.check_parent(parent))?;
        snapshots::save(cx, tx, None, snapshot, EventType::Created, Map::new())
    }
}

/// The filters of a listing.
fn column_filters(tx: &Tx<'_>, list: &List) -> Result<ColumnFilters> {
    let run = list.run.as_ref().map(|run| runs::find(tx, run)).transpose()?;
    let repo = list.repo.as_ref().map(|repo| repos::find(tx, repo)).transpose()?;
    let given = [
        ("run_id", run.map(|run| run.id.to_string())),
        ("repo_id", repo.map(|repo| repo.id.to_string())),
        ("provider", list.provider.map(|provider| provider.to_string())),
        ("host", list.host.clone()),
        ("root", list.root.clone()),
    ];
    Ok(given.into_iter().filter_map(|(column, value)| Some((column, value?))).collect())
}

impl Execute for List {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Snapshot>> {
        snapshots::list(tx, column_filters(tx, self)?, self.limit)
    }

    fn write_json(&self, _: &Context<'_>, tx: &Tx<'_>, to: &mut Vec<u8>) -> Result<()> {
        snapshots::write_list(tx, column_filters(tx, self)?, self.limit, to)
    }
}

impl Execute for Show {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Snapshot> {
        snapshots::find(tx, &self.id)
    }
}

impl Execute for Restore {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Snapshot> {
        let (old, safety) = (snapshots::find(tx, &self.id)?, snapshots::find(tx, &self.safety)?);
        let new = Snapshot { restored_at: Some(cx.now), ..old.clone() };
        let mut note = Map::new();
        note.insert("safety_id".into(), event::change(Value::Null, &safety.id));
        snapshots::save(cx, tx, Some(&old), new, EventType::Restored, note)
    }
}

impl Execute for Delete {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Deleted> {
        let snapshot = snapshots::find(tx, &self.id)?;
        snapshots::delete(cx, tx, &snapshot)?;
        Ok(Deleted { status: "deleted".into(), id: snapshot.id })
    }
}

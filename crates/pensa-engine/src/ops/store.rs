//! Operations on the whole store.

use std::path::Path;

use pensa_core::issue::{IssueType, Status as IssueStatus};
use pensa_core::ops::store::{
    Export, Import, Info, IssueCounts, Status, StoreInfo, StorePath, StoreSummary, Transfer, Where,
};
use pensa_core::sync::EVENTS_FILE;
use pensa_core::{Result, VERSION};

use crate::context::Context;
use crate::db::{Tx, params};
use crate::execute::{AloneCalls, Execute, ExecuteAlone};
use crate::sync::{self, ExportDir};

impl Execute for Status {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<StoreSummary> {
        let mut summary = StoreSummary::default();
        for issue_type in IssueType::ALL {
            summary.by_type.insert(issue_type.to_string(), IssueCounts::default());
        }
        tx.for_each("SELECT status, issue_type, COUNT(*) FROM issues GROUP BY status, issue_type", params![], |row| {
            let (status, issue_type, count) = (row.parse(0)?, row.text(1)?, row.int(2)?);
            for tally in [&mut summary.total, summary.by_type.entry(issue_type).or_default()] {
                match status {
                    IssueStatus::Open => tally.open += count,
                    IssueStatus::InProgress => tally.in_progress += count,
                    IssueStatus::Closed => tally.closed += count,
                }
            }
            Ok(())
        })?;
        Ok(summary)
    }
}

fn export_dir(cx: &Context<'_>, worktree: Option<&String>) -> Result<ExportDir> {
    ExportDir::new(cx.store.dir()?, worktree.map(Path::new))
}

impl Execute for Export {
    const ALONE: Option<AloneCalls<Self>> = Some(AloneCalls::new());

    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Transfer> {
        let dir = export_dir(cx, self.worktree.as_ref())?;
        let (store, with_events) = (cx.store.dir()?, self.events == Some(true));
        if !self.check {
            let done = sync::export(cx, tx, &dir)?;
            let events = with_events.then(|| sync::export_events(store, tx, &dir)).transpose()?;
            return Ok(Transfer { events, ..done });
        }
        let mut checked = sync::check(store, tx, &dir)?;
        let of_events = with_events.then(|| sync::check_events(tx, &dir)).transpose()?;
        if of_events.is_some_and(|(drifted, _)| drifted) {
            checked.drifted.push(EVENTS_FILE.to_owned());
        }
        let status = if checked.drifted.is_empty() { "ok" } else { "drifted" }.to_owned();
        Ok(Transfer { status, events: of_events.map(|(_, count)| count), ..checked })
    }
}

impl ExecuteAlone for Export {
    fn prepare(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Option<Transfer>> {
        if self.check {
            return Ok(None);
        }
        // Changes that came through git are not the caller's.
        sync::import(&cx.as_system(), tx, &export_dir(cx, self.worktree.as_ref())?, false).map(Some)
    }

    fn answer(before: Option<&Transfer>, done: Transfer) -> Transfer {
        let Some(before) = before else { return done };
        Transfer { conflicts: before.conflicts, notes: before.notes.clone(), ..done }
    }

    fn finish(&self, cx: &Context<'_>) -> Result<()> {
        if self.check || self.no_stage {
            return Ok(());
        }
        sync::stage(&export_dir(cx, self.worktree.as_ref())?, self.events == Some(true))
    }
}

impl Execute for Import {
    const ALONE: Option<AloneCalls<Self>> = Some(AloneCalls::new());

    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Transfer> {
        sync::import(cx, tx, &export_dir(cx, self.worktree.as_ref())?, self.authoritative)
    }
}

impl ExecuteAlone for Import {
    fn is_done(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Option<Transfer>> {
        if self.authoritative {
            return Ok(None);
        }
        sync::unchanged(cx, tx, &export_dir(cx, self.worktree.as_ref())?)
    }
}

impl Execute for Where {
    fn execute(&self, cx: &Context<'_>, _: &Tx<'_>) -> Result<StorePath> {
        Ok(StorePath { path: cx.visible_location() })
    }
}

impl Execute for Info {
    fn execute(&self, cx: &Context<'_>, _: &Tx<'_>) -> Result<StoreInfo> {
        Ok(StoreInfo { project_dir: cx.visible_project(), version: VERSION.to_owned(), store_id: cx.store.id()? })
    }
}

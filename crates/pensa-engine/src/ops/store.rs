//! Operations on the store as a whole.

use pensa_core::issue::{IssueType, Status as IssueStatus};
use pensa_core::ops::store::{Export, Import, Info, Place, Status, StoreInfo, Summary, Tally, Transfer, Where};
use pensa_core::{Result, VERSION};

use crate::context::Context;
use crate::db::{Tx, params};
use crate::execute::Execute;
use crate::{backup, git, jsonl};

impl Execute for Status {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Summary> {
        let mut summary = Summary::default();
        for issue_type in IssueType::ALL {
            summary.by_type.insert(issue_type.to_string(), Tally::default());
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

impl Execute for Export {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Transfer> {
        let store = cx.store.dir()?;
        let transfer = jsonl::export(store, tx)?;
        git::stage(store.project_dir(), &jsonl::files(store))?;
        Ok(transfer)
    }
}

impl Execute for Import {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Transfer> {
        backup::before(cx)?;
        jsonl::import(cx, tx)
    }
}

impl Execute for Where {
    fn execute(&self, cx: &Context<'_>, _: &Tx<'_>) -> Result<Place> {
        Ok(Place { path: cx.place() })
    }
}

impl Execute for Info {
    fn execute(&self, cx: &Context<'_>, _: &Tx<'_>) -> Result<StoreInfo> {
        Ok(StoreInfo { project_dir: cx.project(), version: VERSION.to_owned(), store_id: cx.store.id()? })
    }
}

//! Finds, lists and stores rows of `runs`.

use pensa_core::entity::Entity as _;
use pensa_core::event::{self, EventType};
use pensa_core::id::{RunId, RunRef};
use pensa_core::json::ListWriter;
use pensa_core::run::Run;
use pensa_core::{Code, Error, Result};
use serde_json::Map;

use super::ids::IdTable;
use super::listing::{ColumnFilters, newest_first};
use crate::context::Context;
use crate::db::{Param, Row, Tx, params};
use crate::entity::{self, values_of, with_derived};
use crate::tables::events;

const RUNS: IdTable<'static> =
    IdTable { name: "run", table: "runs", prefix: RunId::PREFIX, hint: "pn run list shows the ids" };

/// Selects runs with the names of their harness and runtime.
fn select(rest: &str) -> String {
    format!(
        "SELECT {}, h.name, h.version, t.type, t.devcontainer_path
         FROM runs r JOIN harnesses h ON h.id = r.harness_id JOIN runtimes t ON t.id = r.runtime_id {rest}",
        entity::columns::<Run>("r")
    )
}

fn read(row: &Row<'_>) -> Result<Run> {
    let at = Run::SCHEMA.columns.len();
    let runtime = match row.text_or_null(at + 3)? {
        Some(path) => format!("{}:{path}", row.str(at + 2)?),
        None => row.text(at + 2)?,
    };
    let harness = format!("{}@{}", row.str(at)?, row.str(at + 1)?);
    let names = [("harness", harness), ("runtime", runtime)].map(|(name, value)| (name.to_owned(), value.into()));
    with_derived(values_of(row, &Run::SCHEMA)?, Map::from_iter(names))
}

fn query(tx: &Tx<'_>, rest: &str, params: &[Param<'_>]) -> Result<Vec<Run>> {
    tx.query(&select(rest), params, read)
}

pub(crate) fn new_id(cx: &Context<'_>, tx: &Tx<'_>) -> Result<RunId> {
    RUNS.new_id(tx, || RunId::from_uuid(cx.uuid()))
}

/// The run ids that a text may refer to.
pub(crate) fn candidates(tx: &Tx<'_>, text: &str) -> Result<Vec<String>> {
    RUNS.candidates(tx, text)
}

/// Finds a run by its id or a prefix.
pub(crate) fn find(tx: &Tx<'_>, reference: &RunRef) -> Result<Run> {
    let id = RUNS.find(tx, reference.as_str())?;
    query(tx, "WHERE r.id = ?1", params![&id])?.pop().ok_or_else(|| RUNS.unknown(&id))
}

/// Runs that match the filters, newest first.
pub(crate) fn list(tx: &Tx<'_>, filters: ColumnFilters, limit: Option<u32>) -> Result<Vec<Run>> {
    let (rest, values) = newest_first("r", "started_at", filters, limit);
    query(tx, &rest, &values)
}

/// Like [`list`], as JSON, one run at a time.
pub(crate) fn write_list(tx: &Tx<'_>, filters: ColumnFilters, limit: Option<u32>, to: &mut Vec<u8>) -> Result<()> {
    let (rest, values) = newest_first("r", "started_at", filters, limit);
    let mut list = ListWriter::new(to);
    tx.for_each(&select(&rest), &values, |row| list.item(&read(row)?))?;
    list.end();
    Ok(())
}

/// Stores a changed run and logs it; does nothing if nothing changed.
pub(crate) fn save(cx: &Context<'_>, tx: &Tx<'_>, old: Option<&Run>, mut new: Run, event: EventType) -> Result<Run> {
    let detail = event::differences(old, &new);
    if detail.is_empty() {
        return Ok(new);
    }
    new.updated_at = cx.now;
    entity::put(tx, &new)?;
    events::append(cx, tx, ("run", new.id.as_str()), None, event, detail)?;
    Ok(new)
}

/// Refuses a run that has ended.
pub(crate) fn refuse_ended(run: &Run) -> Result<()> {
    if !run.status.is_over() {
        return Ok(());
    }
    let message = format!("cannot change {}: it has {}", run.id, run.status);
    Err(Error::new(Code::InvalidStatusTransition, message).hint("what has ended stays as it is"))
}

//! Stores jobs and their output as records of two collections.

use std::borrow::Cow;

use pensa_core::event::{self, EventType};
use pensa_core::id::{JobId, JobRef};
use pensa_core::job::{self, COLLECTION, Job, JobStatus, Lane, OUTPUTS};
use pensa_core::record::{Filter, Order, Record};
use pensa_core::session::object::Object;
use pensa_core::{Code, Error, Result};
use serde_json::Value;

use super::ids::IdTable;
use super::records::{Collection, Expect, Query, RecordDraft};
use crate::context::Context;
use crate::db::Tx;
use crate::tables::events;

const JOBS: IdTable<'static> = IdTable {
    name: "job",
    table: "(SELECT id FROM records WHERE collection = 'tool_jobs') AS jobs",
    prefix: JobId::PREFIX,
    hint: "pn job list shows the ids",
};

/// The indexed fields.
const INDEXED: [&str; 8] = ["status", "lane", "tool_name", "loop_id", "run_id", "session_id", "issue_id", "started_at"];

fn read(record: Record) -> Result<Job> {
    let id = record.id;
    serde_json::from_value(Value::Object(record.data))
        .map_err(|e| Error::new(Code::Corrupt, format!("job {id} is unreadable: {e}")).hint("run pn doctor --deep"))
}

pub(crate) fn new_id(cx: &Context<'_>, tx: &Tx<'_>) -> Result<JobId> {
    JOBS.new_id(tx, || JobId::from_uuid(cx.uuid()))
}

/// Finds a job by its id or a prefix, without its output.
pub(crate) fn find(tx: &Tx<'_>, reference: &JobRef) -> Result<Job> {
    let id = JOBS.find(tx, reference.as_str())?;
    let jobs = Collection::open(tx, COLLECTION)?;
    read(jobs.get(tx, &id)?.ok_or_else(|| JOBS.unknown(&id))?)
}

pub(crate) fn exists(tx: &Tx<'_>, id: &JobId) -> Result<bool> {
    Ok(Collection::open(tx, COLLECTION)?.get(tx, id.as_str())?.is_some())
}

/// The stored output of a job.
pub(crate) fn output(tx: &Tx<'_>, id: &JobId) -> Result<Option<String>> {
    let record = Collection::open(tx, OUTPUTS)?.get(tx, id.as_str())?;
    Ok(record.and_then(|record| record.data.get("output")?.as_str().map(str::to_owned)))
}

/// Stores a job's output.
pub(crate) fn store_output(cx: &Context<'_>, tx: &Tx<'_>, id: &JobId, output: &str) -> Result<()> {
    let data = Object::from_iter([("output".to_owned(), Value::from(output))]);
    let draft = RecordDraft { id: id.to_string(), data: Cow::Owned(data), updated_at: cx.now };
    Collection::open(tx, OUTPUTS)?.put(tx, draft, Expect::Any).map(drop)
}

/// Calls `each` with the jobs that a query matches until it returns false.
pub(crate) fn for_each(tx: &Tx<'_>, mut query: Query, mut each: impl FnMut(Job) -> bool) -> Result<()> {
    let jobs = Collection::open(tx, COLLECTION)?;
    loop {
        let page = jobs.select(tx, &query)?;
        for record in page.records {
            if !each(read(record)?) {
                return Ok(());
            }
        }
        match page.next {
            Some(next) => query.after = Some(next),
            None => return Ok(()),
        }
    }
}

/// The jobs that match all filters, newest first.
pub(crate) fn newest(tx: &Tx<'_>, filters: Vec<Filter>, limit: usize) -> Result<Vec<Job>> {
    let mut jobs = Vec::new();
    if limit > 0 {
        let query = Query { filters, order: Order::by("started_at").descending(), limit: Some(limit), after: None };
        for_each(tx, query, |job| {
            jobs.push(job);
            jobs.len() < limit
        })?;
    }
    Ok(jobs)
}

/// The running jobs of a lane on a machine, and the waiting ones in queue order.
pub(crate) fn of_lane(cx: &Context<'_>, tx: &Tx<'_>, lane: &Lane, host: Option<&str>) -> Result<(Vec<Job>, Vec<Job>)> {
    let with_status = |status: JobStatus| -> Result<Vec<Job>> {
        // Of all jobs ever, few have these statuses; that filter comes first.
        let filters = vec![
            Filter::eq("status", status.as_str()),
            Filter::eq("lane", lane.as_str()),
            host.map_or_else(|| Filter::is_null("host"), |host| Filter::eq("host", host)),
        ];
        let mut jobs = Vec::new();
        for_each(tx, Query { filters, ..Query::default() }, |job| {
            jobs.push(job);
            true
        })?;
        jobs.sort_by_key(|job| job.number);
        Ok(jobs)
    };
    let mut waiting = with_status(JobStatus::Pending)?;
    waiting.retain(|job| job.waits(cx.now));
    Ok((with_status(JobStatus::Running)?, waiting))
}

/// Whether a job may start now, after those queued before it. If not, returns the running jobs.
pub(crate) fn check_slot(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    job: &Job,
    slots: i64,
) -> Result<std::result::Result<(), Vec<Job>>> {
    let (running, waiting) = of_lane(cx, tx, &job.lane, job.host.as_deref())?;
    let before = waiting.iter().filter(|other| other.number < job.number && other.id != job.id).count();
    Ok(if job::has_slot(running.len(), before, slots) { Ok(()) } else { Err(running) })
}

/// Stores a changed job and logs it; does nothing if nothing changed.
pub(crate) fn save(cx: &Context<'_>, tx: &Tx<'_>, old: Option<&Job>, mut new: Job, event: EventType) -> Result<Job> {
    let detail = event::differences(old, &new);
    if detail.is_empty() {
        return Ok(new);
    }
    new.updated_at = cx.now;
    let Value::Object(data) = serde_json::to_value(&new).map_err(Error::internal)? else {
        return Err(Error::internal("a job is an object"));
    };
    let draft = RecordDraft { id: new.id.to_string(), data: Cow::Owned(data), updated_at: cx.now };
    let expect = if old.is_some() { Expect::Present } else { Expect::Absent };
    Collection::open(tx, COLLECTION)?.with_indexes(tx, &INDEXED)?.put(tx, draft, expect)?;
    events::append(cx, tx, ("job", new.id.as_str()), None, event, detail)?;
    Ok(new)
}

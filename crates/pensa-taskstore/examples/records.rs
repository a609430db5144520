//! Measures creating and querying records, with this library or with plain SQL on the same tables without checks, log
//! and files. The benchmark compares both.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use pensa_taskstore::{Filter, Record, TaskStore};
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

/// Records with the same status.
const RECORDS_PER_STATUS: usize = 100;
/// Records per transaction when filling the store.
const RECORDS_PER_BATCH: usize = 100_000;
const TIME: &str = "2026-02-27T14:30:00.000Z";

#[derive(Serialize, Deserialize)]
struct Job {
    id: String,
    loop_id: String,
    tool_name: String,
    status: String,
    command: String,
    updated_at: i64,
}

impl Record for Job {
    fn collection_name() -> &'static str {
        "tool_calls"
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn updated_at(&self) -> i64 {
        self.updated_at
    }

    fn indexed_fields() -> &'static [&'static str] {
        &["loop_id", "tool_name", "status"]
    }
}

fn job(n: usize) -> Job {
    Job {
        id: format!("job-{n:08}"),
        loop_id: format!("lp-{:05}", n % 5_000),
        tool_name: ["read", "write", "bash", "search"][n % 4].to_owned(),
        status: format!("status-{}", n / RECORDS_PER_STATUS),
        command: format!("cargo test --package number-{n} -- --nocapture"),
        updated_at: 1_772_202_600_000,
    }
}

/// The status of the `n`th query.
fn queried_status(n: usize, records: usize) -> String {
    format!("status-{}", (n * 7919) % (records / RECORDS_PER_STATUS))
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [side, dir, made, records, queries] = &args[..] else {
        return Err("records ours|bare DIR MADE RECORDS QUESTIONS".into());
    };
    let (made, records, queries) = (made.parse()?, records.parse()?, queries.parse()?);
    let (create, query) = match side.as_str() {
        "ours" => ours(Path::new(dir), made, records, queries)?,
        _ => bare(Path::new(dir), made, records, queries)?,
    };
    println!("{{\"create\":{:.0},\"query\":{query:.9}}}", made as f64 / create);
    Ok(())
}

fn ours(dir: &Path, made: usize, records: usize, queries: usize) -> Result<(f64, f64), Box<dyn Error>> {
    let store = TaskStore::create_at(dir, "bench")?;
    store.declare::<Job>()?;
    let some = |from: usize, to: usize| (from..to).map(job).collect::<Vec<Job>>();
    let first = some(0, made);
    let start = Instant::now();
    store.create_many(&first)?;
    let create = start.elapsed().as_secs_f64();
    for from in (made..records).step_by(RECORDS_PER_BATCH) {
        store.create_many(&some(from, records.min(from + RECORDS_PER_BATCH)))?;
    }
    let start = Instant::now();
    for n in 0..queries {
        let found: Vec<Job> = store.query(&[Filter::eq("status", queried_status(n, records))])?;
        check(&found)?;
    }
    Ok((create, start.elapsed().as_secs_f64() / queries.max(1) as f64))
}

fn bare(dir: &Path, made: usize, records: usize, queries: usize) -> Result<(f64, f64), Box<dyn Error>> {
    let mut connection = Connection::open(dir.join("bare.sqlite"))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    // The same cache size as Pensa uses for large tables.
    connection.pragma_update(None, "cache_size", -64_000)?;
    connection.execute_batch(
        "CREATE TABLE records (collection TEXT NOT NULL, id TEXT NOT NULL, rev BIGINT NOT NULL, updated_at TEXT NOT NULL,
             data TEXT NOT NULL, PRIMARY KEY (collection, id));
         CREATE TABLE record_keys (index_id BIGINT NOT NULL, k TEXT NOT NULL, record_id TEXT NOT NULL,
             PRIMARY KEY (index_id, k, record_id)) WITHOUT ROWID;",
    )?;
    let first: Vec<Job> = (0..made).map(job).collect();
    let start = Instant::now();
    insert(&mut connection, first.iter())?;
    let create = start.elapsed().as_secs_f64();
    for from in (made..records).step_by(RECORDS_PER_BATCH) {
        let more: Vec<Job> = (from..records.min(from + RECORDS_PER_BATCH)).map(job).collect();
        insert(&mut connection, more.iter())?;
    }
    let sql = "SELECT r.data FROM record_keys d JOIN records r ON r.collection = 'tool_calls' AND r.id = d.record_id
         WHERE d.index_id = 3 AND d.k = ?1 ORDER BY d.record_id";
    let start = Instant::now();
    for n in 0..queries {
        let mut select = connection.prepare_cached(sql)?;
        let mut found = Vec::new();
        let mut rows = select.query([format!("4{}", queried_status(n, records))])?;
        while let Some(row) = rows.next()? {
            found.push(serde_json::from_str::<Job>(row.get_ref(0)?.as_str()?)?);
        }
        check(&found)?;
    }
    Ok((create, start.elapsed().as_secs_f64() / queries.max(1) as f64))
}

fn insert<'j>(connection: &mut Connection, jobs: impl Iterator<Item = &'j Job>) -> Result<(), Box<dyn Error>> {
    let tx = connection.transaction()?;
    {
        let mut record = tx.prepare("INSERT INTO records VALUES ('tool_calls', ?1, 1, ?2, ?3)")?;
        let mut key = tx.prepare("INSERT INTO record_keys VALUES (?1, ?2, ?3)")?;
        for job in jobs {
            record.execute(params![job.id, TIME, serde_json::to_string(job)?])?;
            for (index, value) in [(1, &job.loop_id), (2, &job.tool_name), (3, &job.status)] {
                key.execute(params![index, format!("4{value}"), job.id])?;
            }
        }
    }
    Ok(tx.commit()?)
}

fn check(found: &[Job]) -> Result<(), Box<dyn Error>> {
    if found.len() == RECORDS_PER_STATUS { Ok(()) } else { Err(format!("found {} records", found.len()).into()) }
}

//! The least that an export and an import can do: JSON lines in and out of one SQLite transaction, with nothing checked,
//! merged, indexed or kept safe. The bench compares `pn export` and `pn import` with it.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, params_from_iter};
use serde_json::{Map, Value};

const TABLES: [(&str, &[&str]); 3] = [
    (
        "issues",
        &[
            "id",
            "title",
            "description",
            "issue_type",
            "status",
            "priority",
            "spec",
            "fixes",
            "assignee",
            "created_at",
            "updated_at",
            "closed_at",
            "close_reason",
        ],
    ),
    ("deps", &["issue_id", "depends_on_id"]),
    ("comments", &["id", "issue_id", "actor", "text", "created_at"]),
];

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["export", database, dir] => export(Path::new(database), Path::new(dir)),
        ["import", dir, database] => import(Path::new(dir), Path::new(database)),
        _ => Err("bare_transfer export DATABASE DIR | import DIR DATABASE".into()),
    }
}

fn export(database: &Path, dir: &Path) -> Result<(), Box<dyn Error>> {
    let mut connection = Connection::open(database)?;
    let tx = connection.transaction()?;
    for (table, columns) in TABLES {
        let mut file = BufWriter::new(File::create(dir.join(format!("{table}.jsonl")))?);
        let order = if table == "deps" { "issue_id, depends_on_id" } else { "created_at, id" };
        let mut rows = tx.prepare(&format!("SELECT {} FROM {table} ORDER BY {order}", columns.join(", ")))?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let mut record = Map::new();
            for (at, column) in columns.iter().enumerate() {
                if let ValueRef::Text(text) = row.get_ref(at)? {
                    record.insert((*column).to_owned(), std::str::from_utf8(text)?.into());
                }
            }
            serde_json::to_writer(&mut file, &record)?;
            file.write_all(b"\n")?;
        }
        file.flush()?;
    }
    Ok(())
}

fn import(dir: &Path, database: &Path) -> Result<(), Box<dyn Error>> {
    let mut connection = Connection::open(database)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    let tx = connection.transaction()?;
    for (table, columns) in TABLES {
        let key = if table == "deps" { "issue_id, depends_on_id" } else { "id" };
        tx.execute_batch(&format!("CREATE TABLE {table} ({}, PRIMARY KEY ({key}))", columns.join(", ")))?;
        let places: Vec<String> = (1..=columns.len()).map(|at| format!("?{at}")).collect();
        let mut insert = tx.prepare(&format!("INSERT INTO {table} VALUES ({})", places.join(", ")))?;
        for line in BufReader::new(File::open(dir.join(format!("{table}.jsonl")))?).lines() {
            let record: Map<String, Value> = serde_json::from_str(&line?)?;
            insert
                .execute(params_from_iter(columns.iter().map(|column| record.get(*column).and_then(Value::as_str))))?;
        }
    }
    Ok(tx.commit()?)
}

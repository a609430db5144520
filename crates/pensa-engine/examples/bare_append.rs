//! The least that an append of many entries can do: JSON lines from standard input into `session_history` of a database
//! that Pensa made, in one SQLite transaction, with nothing checked, redacted, logged or kept besides. The bench
//! compares `pn session append` with it.

use std::error::Error;
use std::io::{self, BufRead};

use rusqlite::{Connection, params};
use serde_json::{Map, Value};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [database, session, at] => append(&mut Connection::open(database)?, session, at),
        _ => Err("bare_append DATABASE SESSION TIME".into()),
    }
}

fn append(connection: &mut Connection, session: &str, at: &str) -> Result<(), Box<dyn Error>> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // As much as Pensa allows itself for many rows.
    connection.pragma_update(None, "cache_size", -64_000)?;
    let tx = connection.transaction()?;
    let mut id: i64 = tx.query_row("SELECT COALESCE(MAX(id), 0) FROM session_history", [], |row| row.get(0))?;
    let sql = "INSERT INTO session_history (id, session_id, type, at, v, data) VALUES (?1, ?2, ?3, ?4, 1, ?5)";
    let mut insert = tx.prepare(sql)?;
    for line in io::stdin().lock().lines() {
        let entry: Map<String, Value> = serde_json::from_str(&line?)?;
        let entry_type = entry.get("type").and_then(Value::as_str).ok_or("an entry has no type")?;
        let data = entry.get("data").ok_or("an entry has no data")?;
        id += 1;
        insert.execute(params![id, session, entry_type, at, data.to_string()])?;
    }
    drop(insert);
    Ok(tx.commit()?)
}

//! Copies, inspects and compares whole SQLite database files.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::path::Path;

use pensa_core::similar::hash64;
use pensa_core::{Code, Error, Result};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::migrations;
use super::sqlite::{Transaction, connect};
pub(crate) use super::sqlite::{failed, refuse_schema};
use crate::error;
use crate::store::StoreDir;

/// Tables that are not part of a store's state and survive a restore: the applied migrations, and the stored answers to
/// requests.
const KEPT_TABLES: [&str; 2] = ["_migrations", "answers"];

/// What a database file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Contents {
    pub(crate) schema: i64,
    /// The number of its last event.
    pub(crate) event: i64,
    /// The [mark](super::backup::store_mark) of the store it was copied from; 0 if it is not a backup.
    pub(crate) mark: i64,
}

/// Opens a file read-only.
pub(crate) fn open(file: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    fs::metadata(file).map_err(|e| error::io("read", file, &e))?;
    Connection::open_with_flags(file, flags).map_err(|e| failed(file, e))
}

/// The schema version in a database's header.
pub(crate) fn version(file: &Path) -> Result<i64> {
    let asked = open(file)?.query_row("PRAGMA user_version", [], |row| row.get(0));
    asked.map_err(|e| failed(file, e))
}

/// Copies one database over another, as one consistent snapshot.
pub(crate) fn copy_into(from: &Connection, to: &mut Connection) -> rusqlite::Result<()> {
    let copy = Backup::new(from, to)?;
    match copy.step(-1)? {
        StepResult::Done => Ok(()),
        _ => Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY), None)),
    }
}

/// The number of the last committed event of a database.
pub(crate) fn last_event(file: &Path) -> Result<i64> {
    let asked = open(file)?.query_row("SELECT COALESCE(MAX(id), 0) FROM events", [], |row| row.get(0));
    asked.map_err(|e| failed(file, e))
}

/// Copies the committed state of the store's database to a new file, readable by its owner only, marked with `mark` and
/// synced.
pub(crate) fn copy_store(store: &StoreDir, to: &Path, mark: i64) -> Result<Contents> {
    copy(&connect(&store.database())?, to, mark)
}

/// As [`copy_store`], from any open database.
pub(crate) fn copy(from: &Connection, to: &Path, mark: i64) -> Result<Contents> {
    StoreDir::open_private(to).map_err(|e| error::io("create", to, &e))?;
    let write = || {
        let mut copy = Connection::open(to)?;
        copy_into(from, &mut copy)?;
        // A single file without a write-ahead log.
        copy.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
        copy.pragma_update(None, "application_id", mark)?;
        copy.close().map_err(|(_, e)| e)
    };
    write().map_err(|e| failed(to, e))?;
    File::open(to).and_then(|file| file.sync_all()).map_err(|e| error::io("write", to, &e))?;
    inspect(to, false)
}

/// Inspects a file. Error unless it is a complete Pensa database that this build can read.
pub(crate) fn inspect(file: &Path, thorough: bool) -> Result<Contents> {
    let connection = open(file)?;
    let no_pensa = |_: rusqlite::Error| {
        Error::invalid(format!("{} is not a Pensa database", file.display())).hint("pn backup makes such files")
    };
    let one = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let schema = one("PRAGMA user_version").map_err(no_pensa)?;
    refuse_schema(file, schema)?;
    one("SELECT COUNT(*) FROM _migrations, events WHERE 0").map_err(no_pensa)?;
    let problems = problems(&connection, thorough).map_err(|e| failed(file, e))?;
    if let Some(first) = problems.first() {
        return Err(Error::new(Code::Corrupt, format!("{} is damaged: {first}", file.display())));
    }
    let whole = one("PRAGMA page_count").and_then(|pages| Ok(pages * one("PRAGMA page_size")?));
    let bytes = fs::metadata(file).map_err(|e| error::io("read", file, &e))?.len();
    if i64::try_from(bytes).ok() != whole.ok() {
        return Err(Error::new(Code::Corrupt, format!("{} is not as long as it should be", file.display())));
    }
    let event = one("SELECT COALESCE(MAX(id), 0) FROM events").map_err(|e| failed(file, e))?;
    let mark = one("PRAGMA application_id").map_err(|e| failed(file, e))?;
    Ok(Contents { schema, event, mark })
}

/// Limit for reported problems.
const MAX_PROBLEMS: usize = 20;

fn problems(connection: &Connection, thorough: bool) -> rusqlite::Result<Vec<String>> {
    let check = if thorough { "PRAGMA integrity_check" } else { "PRAGMA quick_check" };
    let mut problems: Vec<String> =
        connection.prepare(check)?.query_map([], |row| row.get(0))?.take(MAX_PROBLEMS).collect::<Result<_, _>>()?;
    problems.retain(|line| line != "ok");
    if thorough {
        let mut dangling = connection.prepare("PRAGMA foreign_key_check")?;
        let rows =
            dangling.query_map([], |row| Ok(format!("a row of {} refers to nothing", row.get::<_, String>(0)?)))?;
        problems.extend(rows.take(MAX_PROBLEMS).collect::<Result<Vec<_>, _>>()?);
    }
    Ok(problems)
}

/// Differences between a database's schema and that of the migrations. Additional definitions are ignored.
pub(super) fn schema_problems(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let fresh = Connection::open_in_memory()?;
    for migration in migrations::pending(0) {
        fresh.execute_batch(migration.sqlite)?;
    }
    let parts = |of: &Connection| -> rusqlite::Result<BTreeMap<String, String>> {
        let mut select = of.prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")?;
        select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    };
    let there = parts(connection)?;
    let differs = |(name, sql): &(String, String)| there.get(name) != Some(sql);
    let wrong = parts(&fresh)?.into_iter().filter(differs);
    Ok(wrong.map(|(name, _)| format!("the definition of {name} is not what it should be")).collect())
}

/// Replaces all content with that of a file, which must have the current schema.
pub(super) fn replace_all(tx: &Transaction<'_>, file: &Path, last: i64) -> Result<()> {
    let source = open(file)?;
    tx.expect_many_rows()?;
    let to_error = |e| failed(file, e);
    let tables = names(tx.connection(), "SELECT name FROM sqlite_schema WHERE type = 'table'").map_err(to_error)?;
    for table in tables.iter().filter(|name| !name.starts_with("sqlite_") && !KEPT_TABLES.contains(&name.as_str())) {
        copy_table(&source, tx.connection(), table).map_err(to_error)?;
    }
    skip_events(tx.connection(), last).map_err(to_error)
}

/// Reserves all event numbers up to `last`.
pub(super) fn skip_events(connection: &Connection, last: i64) -> rusqlite::Result<()> {
    let raise = "UPDATE sqlite_sequence SET seq = MAX(seq, ?1) WHERE name = 'events'";
    if connection.execute(raise, [last])? == 0 {
        connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('events', ?1)", [last])?;
    }
    Ok(())
}

fn names(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

fn copy_table(from: &Connection, to: &Connection, table: &str) -> rusqlite::Result<()> {
    let columns = names(to, &format!("SELECT name FROM pragma_table_info('{table}')"))?;
    let list = columns.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    let places = (1..=columns.len()).map(|at| format!("?{at}")).collect::<Vec<_>>().join(", ");
    to.execute(&format!("DELETE FROM \"{table}\""), [])?;
    let mut insert = to.prepare(&format!("INSERT INTO \"{table}\" ({list}) VALUES ({places})"))?;
    let mut select = from.prepare(&format!("SELECT {list} FROM \"{table}\""))?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let values = (0..columns.len()).map(|at| row.get::<_, rusqlite::types::Value>(at));
        insert.execute(rusqlite::params_from_iter(values.collect::<Result<Vec<_>, _>>()?))?;
    }
    Ok(())
}

/// A table to compare: its name, the SQL of a record's key, and the SQL of the issue it belongs to.
pub(crate) type Compared = (&'static str, &'static str, &'static str);

/// A record that differs between two databases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) table: &'static str,
    pub(crate) key: String,
    /// The SQL of the key.
    key_sql: &'static str,
    pub(crate) issue_id: Option<String>,
    /// The differing columns; empty if the record is missing on one side.
    columns: Vec<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, key, columns, .. } = self;
        match columns.as_slice() {
            [] => write!(f, "{table} {key} is in only one of the database and the journal"),
            some => write!(f, "{table} {key} is not what the journal says it is, in {}", some.join(", ")),
        }
    }
}

/// Compares two databases record by record.
pub(super) fn differences(
    live: &Transaction<'_>,
    expected: &Transaction<'_>,
    compared: &[Compared],
) -> Result<Vec<Difference>> {
    let mut found = Vec::new();
    for (table, key_sql, issue) in compared.iter().copied() {
        let mut expected_rows =
            hashes(expected.connection(), table, key_sql, issue).map_err(|e| failed(live.path(), e))?;
        let actual_rows = hashes(live.connection(), table, key_sql, issue).map_err(|e| failed(live.path(), e))?;
        for (key, (hash, issue_id)) in actual_rows {
            if expected_rows.remove(&key).is_none_or(|(expected, _)| expected != hash) {
                found.push(Difference { table, key, key_sql, issue_id, columns: Vec::new() });
            }
        }
        let missing = expected_rows.into_iter().map(|(key, (_, issue_id))| Difference {
            table,
            key,
            key_sql,
            issue_id,
            columns: Vec::new(),
        });
        found.extend(missing);
    }
    for difference in found.iter_mut().take(MAX_EXPLAINED) {
        let of = |connection| row_of(connection, difference).map_err(|e| failed(live.path(), e));
        let (actual, wanted) = (of(live.connection())?, of(expected.connection())?);
        let differ = actual.iter().zip(&wanted).filter(|((_, a), (_, b))| a != b);
        difference.columns = differ.map(|((name, _), _)| name.clone()).collect();
    }
    Ok(found)
}

/// Limit for differences whose columns are determined.
const MAX_EXPLAINED: usize = 100;

type Hashes = BTreeMap<String, (u64, Option<String>)>;

fn hashes(connection: &Connection, table: &str, key: &str, issue: &str) -> rusqlite::Result<Hashes> {
    let columns = names(connection, &format!("SELECT name FROM pragma_table_info('{table}')"))?;
    let list = columns.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    // Read the table itself, not an index.
    let sql = format!("SELECT {key}, {issue}, {list} FROM \"{table}\" NOT INDEXED WHERE {key} IS NOT NULL");
    let mut select = connection.prepare(&sql)?;
    let mut rows = select.query([])?;
    let mut found = Hashes::new();
    while let Some(row) = rows.next()? {
        let text = |at| row.get_ref(at).map(|value| lossy(value.as_bytes_or_null().ok().flatten()));
        let key = text(0)?.unwrap_or_default();
        let issue = text(1)?;
        let mut bytes = Vec::new();
        for at in 2..columns.len() + 2 {
            bytes.extend_from_slice(format!("{:?}\u{1f}", row.get_ref(at)?).as_bytes());
        }
        found.insert(key, (hash64(&bytes), issue));
    }
    Ok(found)
}

fn lossy(bytes: Option<&[u8]>) -> Option<String> {
    bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

/// The columns and values of a record; empty if it does not exist.
fn row_of(connection: &Connection, difference: &Difference) -> rusqlite::Result<Vec<(String, rusqlite::types::Value)>> {
    let columns = names(connection, &format!("SELECT name FROM pragma_table_info('{}')", difference.table))?;
    let list = columns.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    let sql = format!("SELECT {list} FROM \"{}\" NOT INDEXED WHERE {} = ?1", difference.table, difference.key_sql);
    let mut select = connection.prepare(&sql)?;
    let mut rows = select.query([&difference.key])?;
    let Some(row) = rows.next()? else { return Ok(Vec::new()) };
    columns.into_iter().enumerate().map(|(at, name)| Ok((name, row.get(at)?))).collect()
}

/// Replaces differing records with the expected ones.
pub(super) fn repair(live: &Transaction<'_>, expected: &Transaction<'_>, differences: &[Difference]) -> Result<()> {
    live.expect_many_rows()?;
    let to_error = |e| failed(live.path(), e);
    for difference in differences {
        let (table, key) = (difference.table, difference.key_sql);
        let delete = format!("DELETE FROM \"{table}\" WHERE {key} = ?1");
        live.connection().execute(&delete, [&difference.key]).map_err(to_error)?;
        let row = row_of(expected.connection(), difference).map_err(to_error)?;
        if !row.is_empty() {
            let list = row.iter().map(|(name, _)| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
            let places = (1..=row.len()).map(|at| format!("?{at}")).collect::<Vec<_>>().join(", ");
            let insert = format!("INSERT INTO \"{table}\" ({list}) VALUES ({places})");
            let values = row.into_iter().map(|(_, value)| value);
            live.connection().execute(&insert, rusqlite::params_from_iter(values)).map_err(to_error)?;
        }
    }
    Ok(())
}

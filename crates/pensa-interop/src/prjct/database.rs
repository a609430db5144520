//! A copy of `prjct.db` as rows of JSON. What the tables mean is left to `tables`.
//!
//! The file is anybody's: it is copied with its log before it is opened, so that nothing is ever written beside the
//! original, and views, triggers and functions with effects are switched off.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::fields::Fields;
use crate::files;

/// Largest database that is read.
const LARGEST: u64 = 2 << 30;
/// Largest value of a row, in bytes.
const LARGEST_VALUE: i32 = 16 << 20;
/// Most rows of one table.
pub(super) const MAX_ROWS: usize = 200_000;
/// How often a copy is tried while the tool writes.
const ATTEMPTS: usize = 5;

/// The files that belong to a database and hold what it does not have yet, or has too much.
const LOGS: [&str; 2] = ["-wal", "-journal"];

/// Columns whose text is JSON.
const JSON_COLUMNS: [&str; 12] = [
    "data",
    "tags",
    "depends_on",
    "output",
    "summary",
    "payload",
    "metadata",
    "files_touched",
    "expected_value",
    "metrics",
    "timeline",
    "entity_data",
];

/// A copy of a database, which goes when this does.
#[derive(Debug)]
pub(super) struct Database {
    connection: Connection,
    _copy: TempDir,
}

impl Database {
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let copy =
            tempfile::Builder::new().prefix("pensa-import-").tempdir().map_err(|e| format!("cannot be copied: {e}"))?;
        // An absolute path, so that no name is taken for a URI.
        let to = copy.path().canonicalize().map_err(|e| format!("cannot be copied: {e}"))?.join("copy.db");
        let mut is_whole = false;
        for _ in 0..ATTEMPTS {
            let before = stamps(path);
            copy_file(path, &to)?;
            for log in LOGS {
                copy_file(&beside(path, log), &beside(&to, log))?;
            }
            is_whole = stamps(path) == before;
            if is_whole {
                break;
            }
        }
        if !is_whole {
            return Err("was written to all the time; end prjct and import again".to_owned());
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&to, flags).map_err(told)?;
        guard(&connection).map_err(told)?;
        Ok(Self { connection, _copy: copy })
    }

    /// The tables that hold rows of their own.
    pub(super) fn tables(&self) -> Result<Vec<String>, String> {
        let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'
             AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name";
        let mut statement = self.connection.prepare(sql).map_err(told)?;
        let names = statement.query_map([], |row| row.get(0)).map_err(told)?;
        names.collect::<rusqlite::Result<_>>().map_err(told)
    }

    /// How many rows a table has, as far as that can be told.
    pub(super) fn count(&self, table: &str) -> i64 {
        let sql = format!("SELECT COUNT(*) FROM {}", quoted(table));
        self.connection.query_row(&sql, [], |row| row.get(0)).unwrap_or_default()
    }

    /// The rows of a table, with what stopped the reading if something did. Columns that are null are left out.
    pub(super) fn rows(&self, table: &str) -> (Vec<Fields>, Option<String>) {
        let mut rows = Vec::new();
        let mut read = || -> rusqlite::Result<bool> {
            let mut statement = self.connection.prepare(&format!("SELECT * FROM {}", quoted(table)))?;
            let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
            let mut found = statement.query([])?;
            while let Some(row) = found.next()? {
                if rows.len() == MAX_ROWS {
                    return Ok(false);
                }
                rows.push(object(&names, row)?);
            }
            Ok(true)
        };
        let problem = match read() {
            Ok(true) => None,
            Ok(false) => Some(format!("has more than {MAX_ROWS} rows; the others were not read")),
            Err(error) => Some(told(error)),
        };
        (rows, problem)
    }

    /// The number of the newest migration that was applied.
    pub(super) fn version(&self) -> Option<i64> {
        self.connection.query_row("SELECT MAX(version) FROM _migrations", [], |row| row.get(0)).ok().flatten()
    }
}

fn told(error: rusqlite::Error) -> String {
    format!("can not be read: {error}")
}

fn guard(connection: &Connection) -> rusqlite::Result<()> {
    for (config, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
    ] {
        connection.set_db_config(config, on)?;
    }
    for (limit, most) in [
        (Limit::SQLITE_LIMIT_LENGTH, LARGEST_VALUE),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 100),
        (Limit::SQLITE_LIMIT_VDBE_OP, 25_000),
    ] {
        connection.set_limit(limit, most)?;
    }
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "mmap_size", 0)?;
    // Reads the header and the log; a file that is none is known here.
    connection.query_row("SELECT COUNT(*) FROM sqlite_schema", [], |_| Ok(()))?;
    connection.pragma_update(None, "query_only", true)
}

fn quoted(table: &str) -> String {
    format!("\"{}\"", table.replace('"', "\"\""))
}

/// A file that belongs to a database.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// What tells whether a database or its logs have changed.
fn stamps(path: &Path) -> [Option<(u64, Option<SystemTime>)>; 3] {
    ["", LOGS[0], LOGS[1]].map(|ending| {
        let meta = fs::symlink_metadata(beside(path, ending)).ok()?;
        Some((meta.len(), meta.modified().ok()))
    })
}

fn copy_file(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |e: io::Error| format!("cannot be copied: {e}");
    let Some(source) = files::open(from)? else {
        // A log that was there for an earlier attempt is none of this one's.
        return match fs::remove_file(to) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failed(e)),
            _ => Ok(()),
        };
    };
    let copied = io::copy(&mut source.take(LARGEST + 1), &mut File::create(to).map_err(failed)?).map_err(failed)?;
    if copied > LARGEST { Err(format!("has more than {LARGEST} bytes")) } else { Ok(()) }
}

fn object(names: &[String], row: &Row<'_>) -> rusqlite::Result<Fields> {
    let mut fields = Fields::new();
    for (at, name) in names.iter().enumerate() {
        let value = match row.get_ref(at)? {
            ValueRef::Null => continue,
            ValueRef::Integer(number) => json!(number),
            // What is no number in JSON is told in words.
            ValueRef::Real(number) if number.is_finite() => json!(number),
            ValueRef::Real(number) => json!(number.to_string()),
            ValueRef::Text(text) => text_value(name, &String::from_utf8_lossy(text)),
            ValueRef::Blob(bytes) => json!({"hex": bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()}),
        };
        fields.insert(name.clone(), value);
    }
    Ok(fields)
}

fn text_value(column: &str, text: &str) -> Value {
    if JSON_COLUMNS.contains(&column)
        && text.starts_with(['{', '['])
        && let Ok(value) = files::object(text.as_bytes())
    {
        return value;
    }
    json!(text)
}

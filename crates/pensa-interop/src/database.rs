//! Reads the rows of another tool's SQLite database as JSON, from a copy.
//!
//! The file is untrusted: it is copied with its log before it is opened, so that nothing is written next to the
//! original, and views, triggers and functions with side effects are disabled.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::files;

/// Size limit of a database.
const MAX_BYTES: u64 = 2 << 30;
/// Size limit of a value.
const MAX_VALUE_BYTES: i32 = 16 << 20;
/// Limit on the rows of a table.
pub(crate) const MAX_ROWS: usize = 200_000;
/// Attempts to copy the database while the tool writes to it.
const ATTEMPTS: usize = 5;

/// Suffixes of the log files that SQLite needs to read the database consistently.
const LOG_SUFFIXES: [&str; 2] = ["-wal", "-journal"];

/// A temporary copy of a database.
#[derive(Debug)]
pub(crate) struct CopiedDatabase {
    connection: Connection,
    /// The columns that contain JSON as text.
    json_columns: &'static [&'static str],
    _copy: TempDir,
}

impl CopiedDatabase {
    pub(crate) fn open(path: &Path, json_columns: &'static [&'static str]) -> Result<Self, String> {
        let copy =
            tempfile::Builder::new().prefix("pensa-import-").tempdir().map_err(|e| format!("cannot be copied: {e}"))?;
        // An absolute path cannot be parsed as a URI.
        let to = copy.path().canonicalize().map_err(|e| format!("cannot be copied: {e}"))?.join("copy.db");
        let mut is_consistent = false;
        for _ in 0..ATTEMPTS {
            let before = file_stamps(path);
            copy_file(path, &to)?;
            for log in LOG_SUFFIXES {
                copy_file(&with_suffix(path, log), &with_suffix(&to, log))?;
            }
            is_consistent = file_stamps(path) == before;
            if is_consistent {
                break;
            }
        }
        if !is_consistent {
            return Err("was written to all the time; end the program that writes it and import again".to_owned());
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&to, flags).map_err(database_error)?;
        restrict(&connection).map_err(database_error)?;
        Ok(Self { connection, json_columns, _copy: copy })
    }

    /// The names of the ordinary tables.
    pub(crate) fn tables(&self) -> Result<Vec<String>, String> {
        let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'
             AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name";
        let mut statement = self.connection.prepare(sql).map_err(database_error)?;
        let names = statement.query_map([], |row| row.get(0)).map_err(database_error)?;
        names.collect::<rusqlite::Result<_>>().map_err(database_error)
    }

    /// The number of rows of a table; 0 if it cannot be read.
    pub(crate) fn count(&self, table: &str) -> i64 {
        let sql = format!("SELECT COUNT(*) FROM {}", quoted(table));
        self.connection.query_row(&sql, [], |row| row.get(0)).unwrap_or_default()
    }

    /// The rows of a table without null columns, and the error that ended the reading, if any.
    pub(crate) fn rows(&self, table: &str) -> (Vec<Map<String, Value>>, Option<String>) {
        let mut rows = Vec::new();
        let mut read = || -> rusqlite::Result<bool> {
            let mut statement = self.connection.prepare(&format!("SELECT * FROM {}", quoted(table)))?;
            let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
            let mut results = statement.query([])?;
            while let Some(row) = results.next()? {
                if rows.len() == MAX_ROWS {
                    return Ok(false);
                }
                rows.push(self.object(&names, row)?);
            }
            Ok(true)
        };
        let problem = match read() {
            Ok(true) => None,
            Ok(false) => Some(format!("has more than {MAX_ROWS} rows; the others were not read")),
            Err(error) => Some(database_error(error)),
        };
        (rows, problem)
    }

    /// The number of the last migration.
    pub(crate) fn version(&self) -> Option<i64> {
        self.connection.query_row("SELECT MAX(version) FROM _migrations", [], |row| row.get(0)).ok().flatten()
    }

    fn object(&self, names: &[String], row: &Row<'_>) -> rusqlite::Result<Map<String, Value>> {
        let mut fields = Map::new();
        for (at, name) in names.iter().enumerate() {
            let value = match row.get_ref(at)? {
                ValueRef::Null => continue,
                ValueRef::Integer(number) => json!(number),
                // JSON has no infinity or NaN, so they become text.
                ValueRef::Real(number) if number.is_finite() => json!(number),
                ValueRef::Real(number) => json!(number.to_string()),
                ValueRef::Text(text) => self.text_value(name, &String::from_utf8_lossy(text)),
                ValueRef::Blob(bytes) => {
                    json!({"hex": bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()})
                }
            };
            fields.insert(name.clone(), value);
        }
        Ok(fields)
    }

    fn text_value(&self, column: &str, text: &str) -> Value {
        if self.json_columns.contains(&column)
            && text.starts_with(['{', '['])
            && let Ok(value) = files::object(text.as_bytes())
        {
            return value;
        }
        json!(text)
    }
}

fn database_error(error: rusqlite::Error) -> String {
    format!("can not be read: {error}")
}

fn restrict(connection: &Connection) -> rusqlite::Result<()> {
    for (config, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
    ] {
        connection.set_db_config(config, on)?;
    }
    for (limit, most) in [
        (Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 100),
        (Limit::SQLITE_LIMIT_VDBE_OP, 25_000),
    ] {
        connection.set_limit(limit, most)?;
    }
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "mmap_size", 0)?;
    // Reads the header and the log, so a file that is not a database fails here.
    connection.query_row("SELECT COUNT(*) FROM sqlite_schema", [], |_| Ok(()))?;
    connection.pragma_update(None, "query_only", true)
}

fn quoted(table: &str) -> String {
    format!("\"{}\"", table.replace('"', "\"\""))
}

/// Appends a suffix to a file name.
fn with_suffix(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Size and modification time of a database and its logs, to detect changes.
fn file_stamps(path: &Path) -> [Option<(u64, Option<SystemTime>)>; 3] {
    ["", LOG_SUFFIXES[0], LOG_SUFFIXES[1]].map(|ending| {
        let meta = fs::symlink_metadata(with_suffix(path, ending)).ok()?;
        Some((meta.len(), meta.modified().ok()))
    })
}

fn copy_file(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |e: io::Error| format!("cannot be copied: {e}");
    let Some(source) = files::open(from)? else {
        // An earlier attempt may have copied a log that is gone now.
        return match fs::remove_file(to) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failed(e)),
            _ => Ok(()),
        };
    };
    let copied = io::copy(&mut source.take(MAX_BYTES + 1), &mut File::create(to).map_err(failed)?).map_err(failed)?;
    if copied > MAX_BYTES { Err(format!("has more than {MAX_BYTES} bytes")) } else { Ok(()) }
}

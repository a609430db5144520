//! The SQLite driver.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pensa_core::{Code, Error, Result, Timestamp, json};
use rusqlite::config::DbConfig;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, OpenFlags};

use super::migrations::{self, Migration};
use super::value::{Param, Row};
use super::{NewEvent, params};
use crate::error;
use crate::store::{self, StoreDir};
use crate::ticket::{self, Ticket};

/// Older ones can corrupt a write-ahead log.
const OLDEST_SQLITE: i32 = 3_051_003;
/// How much of the database a connection that writes all the time keeps in memory (negative: in KiB, says SQLite):
/// what a group of operations changes must fit.
const WRITER_CACHE_KIB: i64 = -16_000;
/// The same during an import, whose pages would otherwise be written again and again.
const LARGE_CACHE_KIB: i64 = -128_000;
const BUSY_TIMEOUT: Duration = Duration::from_millis(5000);
/// Pages in the log before a process that stays folds them into the database. Each commit of a busy daemon changes
/// hundreds, many of them again and again, so folding often would cost more than the commits.
const FOLD_AFTER_PAGES: i64 = 8_000;
/// Where a log that has grown larger is cut when it starts anew.
const LOG_SIZE_LIMIT: i64 = 32 << 20;
/// A log larger than this is folded into the database by the last to leave, because whoever comes next reads all
/// of it. Smaller ones stay: folding costs two more waits for the disk.
const LARGEST_LOG_LEFT: u64 = 1 << 20;

#[derive(Debug)]
pub(crate) struct Database {
    connection: Connection,
    store: StoreDir,
    path: PathBuf,
    /// Which file it was, by device and number, when it was opened.
    file: Option<(u64, u64)>,
}

impl Database {
    /// Opens the database of a store; `seed` fills and commits one that had to be made.
    pub(crate) fn open(
        store: &StoreDir,
        now: Timestamp,
        seed: impl FnOnce(Transaction<'_>) -> Result<()>,
    ) -> Result<Self> {
        if rusqlite::version_number() < OLDEST_SQLITE {
            return Err(Error::internal(format!("built with SQLite {}, which is too old", rusqlite::version())));
        }
        let path = store.database();
        store::refuse_link(&path)?;
        if !path.exists() {
            // Readable by its owner only from the start; SQLite gives its log the same mode.
            StoreDir::open_private(&path).map_err(|e| error::io("create", &path, &e))?;
        }
        let database = Self { connection: connect(&path)?, store: store.clone(), file: identity(&path), path };
        let version = database.version()?;
        if version == migrations::SCHEMA_VERSION && database.is_wal()? {
            return Ok(database);
        }
        if version > migrations::SCHEMA_VERSION {
            return Err(newer(&database.path, version));
        }
        database.bring_up_to_date(store, now, seed)?;
        Ok(database)
    }

    fn bring_up_to_date(
        &self,
        store: &StoreDir,
        now: Timestamp,
        seed: impl FnOnce(Transaction<'_>) -> Result<()>,
    ) -> Result<()> {
        store.local_dir("")?;
        let _ticket = ticket::take(store)?;
        let version = self.version()?;
        if version > migrations::SCHEMA_VERSION {
            return Err(newer(&self.path, version));
        }
        if version == 0 && self.one::<i64>("SELECT count(*) FROM sqlite_schema").map_err(|e| self.failed(e))? > 0 {
            return Err(Error::new(Code::Corrupt, format!("{} is not a Pensa database", self.path.display()))
                .hint("move it away; Pensa then makes its own"));
        }
        if !self.is_wal()? {
            let mode: String = self.one("PRAGMA journal_mode = WAL").map_err(|e| self.failed(e))?;
            if mode != "wal" {
                return Err(Error::new(
                    Code::Unsupported,
                    format!("{} cannot use a write-ahead log (its journal mode stays {mode})", self.path.display()),
                )
                .hint("move the store to a local file system, or use pn daemon"));
            }
        }
        let tx = self.begin("BEGIN IMMEDIATE", None)?;
        for migration in migrations::pending(version) {
            tx.connection.execute_batch(migration.sqlite).map_err(|e| self.failed(e))?;
            tx.execute(
                "INSERT INTO _migrations (name, checksum, applied_at) VALUES (?1, ?2, ?3)",
                params![migration.name, Migration::checksum(migration.sqlite), now],
            )?;
        }
        tx.connection.pragma_update(None, "user_version", migrations::SCHEMA_VERSION).map_err(|e| self.failed(e))?;
        if version == 0 { seed(tx) } else { tx.commit() }
    }

    pub(crate) fn begin_read(&self) -> Result<Transaction<'_>> {
        self.begin("BEGIN", None)
    }

    pub(crate) fn begin_write(&self) -> Result<Transaction<'_>> {
        let ticket = ticket::take(&self.store)?;
        self.begin("BEGIN IMMEDIATE", Some(ticket))
    }

    fn begin(&self, how: &str, ticket: Option<Ticket>) -> Result<Transaction<'_>> {
        self.connection.prepare_cached(how).and_then(|mut s| s.execute([])).map_err(|e| self.failed(e))?;
        let (connection, path) = (&self.connection, self.path.as_path());
        Ok(Transaction { connection, path, open: true, usual_cache: Cell::new(None), _ticket: ticket })
    }

    /// Folds a log so large that the next to open the database would feel it, unless somebody else is busy with the
    /// database: nothing depends on it.
    pub(crate) fn tidy_up(&self) {
        let mut log = self.path.as_os_str().to_owned();
        log.push("-wal");
        let is_large = fs::metadata(log).is_ok_and(|meta| meta.len() > LARGEST_LOG_LEFT);
        if is_large && let Some(_ticket) = ticket::try_take(&self.store) {
            let _ = self.connection.busy_timeout(Duration::ZERO);
            let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            let _ = self.connection.busy_timeout(BUSY_TIMEOUT);
        }
    }

    pub(crate) fn is_orphaned(&self) -> bool {
        identity(&self.path) != self.file
    }

    pub(crate) fn expect_many_writes(&self) -> Result<()> {
        self.connection.pragma_update(None, "cache_size", WRITER_CACHE_KIB).map_err(|e| self.failed(e))
    }

    pub(crate) fn changes_seen(&self) -> Result<i64> {
        let ask = || self.connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0));
        ask().map_err(|e| self.failed(e))
    }

    fn version(&self) -> Result<i64> {
        self.one("PRAGMA user_version").map_err(|e| self.failed(e))
    }

    fn is_wal(&self) -> Result<bool> {
        Ok(self.one::<String>("PRAGMA journal_mode").map_err(|e| self.failed(e))? == "wal")
    }

    fn one<T: rusqlite::types::FromSql>(&self, sql: &str) -> rusqlite::Result<T> {
        self.connection.query_row(sql, [], |row| row.get(0))
    }

    fn failed(&self, e: rusqlite::Error) -> Error {
        failed(&self.path, e)
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}

fn connect(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    // NOFOLLOW refuses links anywhere in the path: resolve the directory's, the file itself was checked.
    let real = path
        .parent()
        .and_then(|dir| fs::canonicalize(dir).ok())
        .and_then(|dir| Some(dir.join(path.file_name()?)))
        .unwrap_or_else(|| path.to_owned());
    let set_up = || {
        let connection = Connection::open_with_flags(real, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        // Else the planner looks at bound values, and a new time or id has a cached statement prepared anew.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "wal_autocheckpoint", FOLD_AFTER_PAGES)?;
        connection.pragma_update(None, "journal_size_limit", LOG_SIZE_LIMIT)?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(connection)
    };
    set_up().map_err(|e| failed(path, e))
}

fn newer(path: &Path, version: i64) -> Error {
    Error::new(
        Code::NewerSchema,
        format!(
            "{} was written by a newer Pensa (schema {version}, this one knows {})",
            path.display(),
            migrations::SCHEMA_VERSION
        ),
    )
    .hint("update pn; the database was not touched")
}

/// SQLite reports some failures for want of space as plain I/O errors: ask the file system.
fn failed(path: &Path, e: rusqlite::Error) -> Error {
    let told = error::sqlite(e);
    let full = || rustix::fs::statvfs(path).is_ok_and(|fs| fs.f_bavail.saturating_mul(fs.f_frsize) < 64 * 1024);
    if told.code == Code::Internal && full() {
        return Error::new(Code::DiskFull, "no space left on the disk of the database")
            .hint("free some space and try again; nothing was changed");
    }
    told
}

#[derive(Debug)]
pub(crate) struct Transaction<'c> {
    connection: &'c Connection,
    path: &'c Path,
    open: bool,
    /// The size of the cache to go back to after many rows.
    usual_cache: Cell<Option<i64>>,
    /// Given back after the transaction has ended.
    _ticket: Option<Ticket>,
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if let Some(usual) = self.usual_cache.get() {
            let _ = self.connection.pragma_update(None, "cache_size", usual);
        }
        if self.open && !self.connection.is_autocommit() {
            let _ = self.connection.prepare_cached("ROLLBACK").and_then(|mut rollback| rollback.execute([]));
        }
    }
}

impl Transaction<'_> {
    pub(crate) fn commit(mut self) -> Result<()> {
        self.execute("COMMIT", params![])?;
        self.open = false;
        Ok(())
    }

    pub(crate) fn is_alive(&self) -> bool {
        !self.connection.is_autocommit()
    }

    pub(crate) fn savepoint<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.execute("SAVEPOINT op", params![])?;
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        if self.is_alive() {
            if !matches!(outcome, Ok(Ok(_))) {
                self.execute("ROLLBACK TO op", params![])?;
            }
            self.execute("RELEASE op", params![])?;
        }
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    pub(crate) fn execute(&self, sql: &str, params: &[Param<'_>]) -> Result<usize> {
        let run = || self.connection.prepare_cached(sql)?.execute(rusqlite::params_from_iter(params));
        run().map_err(|e| self.failed(e))
    }

    pub(crate) fn prepare(&self, sql: &str) -> Result<Statement<'_>> {
        let statement = self.connection.prepare_cached(sql).map_err(|e| self.failed(e))?;
        Ok(Statement { statement, path: self.path })
    }

    pub(crate) fn append_event(&self, event: &NewEvent<'_>, op: Option<i64>) -> Result<i64> {
        // The first event of an operation names itself, by the number that it is about to be given.
        self.execute(
            "INSERT INTO events
                 (subject_kind, subject_id, issue_id, event_type, actor, token_id, detail, created_at, op)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,
                 COALESCE(?9, (SELECT seq + 1 FROM sqlite_sequence WHERE name = 'events'), 1))",
            params![
                event.subject_kind,
                event.subject_id,
                event.issue_id,
                event.event_type.as_str(),
                event.actor,
                event.token_id,
                json::to_line(&event.detail)?,
                event.at,
                op,
            ],
        )?;
        Ok(self.connection.last_insert_rowid())
    }

    pub(crate) fn expect_many_rows(&self) -> Result<()> {
        self.connection.pragma_update(None, "defer_foreign_keys", true).map_err(|e| self.failed(e))?;
        let usual = self.connection.query_row("PRAGMA cache_size", [], |row| row.get(0)).map_err(|e| self.failed(e))?;
        self.usual_cache.set(Some(usual));
        self.connection.pragma_update(None, "cache_size", LARGE_CACHE_KIB).map_err(|e| self.failed(e))
    }

    pub(crate) fn filling<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let mut indexes: Vec<(String, String)> = Vec::new();
        let sql = "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL
             AND tbl_name IN ('issues', 'deps', 'comments') ORDER BY rowid";
        self.prepare(sql)?.for_each(params![], &mut |row| {
            indexes.push((row.text(0)?, row.text(1)?));
            Ok(())
        })?;
        for (name, _) in &indexes {
            self.connection.execute_batch(&format!("DROP INDEX \"{name}\"")).map_err(|e| self.failed(e))?;
        }
        let done = work()?;
        for (_, sql) in &indexes {
            self.connection.execute_batch(sql).map_err(|e| self.failed(e))?;
        }
        Ok(done)
    }

    pub(crate) fn integrity_problems(&self) -> Result<Vec<String>> {
        let mut problems = Vec::new();
        self.prepare("PRAGMA quick_check")?.for_each(params![], &mut |row| {
            problems.push(row.text(0)?);
            Ok(())
        })?;
        problems.retain(|line| line != "ok");
        self.prepare("PRAGMA foreign_key_check")?.for_each(params![], &mut |row| {
            problems.push(format!("{} has a row that refers to a missing row of {}", row.text(0)?, row.text(2)?));
            Ok(())
        })?;
        Ok(problems)
    }

    fn failed(&self, e: rusqlite::Error) -> Error {
        failed(self.path, e)
    }
}

pub(crate) struct Statement<'t> {
    statement: CachedStatement<'t>,
    path: &'t Path,
}

impl std::fmt::Debug for Statement<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Statement")
    }
}

impl Statement<'_> {
    pub(crate) fn for_each(
        &mut self,
        params: &[Param<'_>],
        each: &mut dyn FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let path = self.path;
        let mut rows = self.statement.query(rusqlite::params_from_iter(params)).map_err(|e| failed(path, e))?;
        while let Some(row) = rows.next().map_err(|e| failed(path, e))? {
            each(&Row::Sqlite(row))?;
        }
        Ok(())
    }
}

impl ToSql for Param<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Param::Null => ValueRef::Null,
            Param::Int(value) => ValueRef::Integer(*value),
            Param::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

//! The SQLite driver.

use std::cell::{Cell, Ref, RefCell};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pensa_core::{Code, Error, Result, Timestamp, json};
use rusqlite::config::DbConfig;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, OpenFlags};
use serde::Serialize;
use serde_json::Value;

use super::migrations::{self, Migration, SCHEMA_VERSION};
use super::recording::{Columns, Recording};
use super::value::{Param, Row};
use super::{CommitError, NewEvent, Operation, backup, params};
use crate::error;
use crate::journal::Journal;
use crate::store::writer_lock::{self, WriterLock};
use crate::store::{self, StoreDir, replaced};

/// Older versions can corrupt a write-ahead log.
const OLDEST_SQLITE: i32 = 3_051_003;
/// Page cache of a connection that writes continuously (negative means KiB): the changes of a group of operations must
/// fit.
const WRITER_CACHE_KIB: i64 = -16_000;
/// Page cache during an import, whose pages would otherwise be written repeatedly.
const LARGE_CACHE_KIB: i64 = -64_000;
/// How often opening is attempted if the file is replaced meanwhile.
const OPEN_TRIES: usize = 10;
const BUSY_TIMEOUT: Duration = Duration::from_millis(5000);
/// Pages in the write-ahead log before a long-running process checkpoints it. Each commit of a busy daemon changes
/// hundreds of pages, many of them repeatedly, so frequent checkpoints would cost more than the commits.
const CHECKPOINT_PAGES: i64 = 8_000;
/// A larger log is truncated to this size when it restarts.
const WAL_SIZE_LIMIT: i64 = 32 << 20;
/// The last process to close the database checkpoints a log larger than this, because the next process would read all
/// of it. Smaller logs stay: a checkpoint costs two syncs.
const MAX_WAL_LEFT: u64 = 1 << 20;

#[derive(Debug)]
pub(crate) struct Database {
    /// Replaced if it is uncertain whether a failed commit was stored.
    connection: RefCell<Connection>,
    store: StoreDir,
    path: PathBuf,
    /// The device and inode of the file when it was opened.
    file: Option<(u64, u64)>,
    /// The journal; `None` for a scratch database.
    journal: Option<Journal>,
    /// Whether a journal segment was finished, so that a backup may be due.
    has_grown: Cell<bool>,
    /// Whether the record files should be checked.
    files_need_check: Cell<bool>,
}

impl Database {
    /// Opens the database of a store. `seed` fills and commits a new one.
    pub(crate) fn open(
        store: &StoreDir,
        now: Timestamp,
        seed: impl FnOnce(Transaction<'_>) -> Result<()>,
    ) -> Result<Self> {
        if rusqlite::version_number() < OLDEST_SQLITE {
            return Err(Error::internal(format!("built with SQLite {}, which is too old", rusqlite::version())));
        }
        let (database, version, is_wal) = Self::open_file(store)?;
        if version == SCHEMA_VERSION && is_wal {
            return Ok(database);
        }
        // In a newer schema, the list of migrations may have any form. In others, the list is more reliable than the
        // header.
        if version > SCHEMA_VERSION {
            refuse_schema(&database.path, version)?;
        }
        refuse_schema(&database.path, database.verified_version()?)?;
        database.set_up(store, now, seed)?;
        Ok(database)
    }

    /// Opens a scratch database in a file of its own or in memory.
    pub(crate) fn scratch(store: &StoreDir, file: Option<&Path>, now: Timestamp) -> Result<Self> {
        let path = file.map_or_else(|| PathBuf::from(":memory:"), Path::to_owned);
        let open = || {
            let connection = match file {
                Some(file) => Connection::open(file)?,
                None => Connection::open_in_memory()?,
            };
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
            // The code that fills it checks references, and discards it after any failure.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, false)?;
            connection.pragma_update(None, "journal_mode", "OFF")?;
            connection.pragma_update(None, "synchronous", "OFF")?;
            connection.set_prepared_statement_cache_capacity(64);
            Ok(connection)
        };
        let connection = open().map_err(|e| failed(&path, e))?;
        let (store, has_grown, files_need_check) = (store.clone(), Cell::new(false), Cell::new(false));
        let connection = RefCell::new(connection);
        let scratch = Self { connection, store, path, file: None, journal: None, has_grown, files_need_check };
        scratch.migrate_scratch(now)?;
        Ok(scratch)
    }

    /// Replaces the content with that of a file.
    pub(crate) fn fill_from(&mut self, file: &Path, now: Timestamp) -> Result<()> {
        let source = super::snapshot::open(file)?;
        super::snapshot::copy_into(&source, self.connection.get_mut()).map_err(|e| failed(file, e))?;
        self.migrate_scratch(now)
    }

    fn migrate_scratch(&self, now: Timestamp) -> Result<()> {
        let version = self.version()?;
        refuse_schema(&self.path, version)?;
        if version == SCHEMA_VERSION {
            return Ok(());
        }
        let tx = self.begin("BEGIN IMMEDIATE", None)?;
        self.migrate(&tx, version, now)?;
        tx.commit().map_err(|uncommitted| uncommitted.error)
    }

    /// Converts a scratch file to what [`open`](Self::open) expects, and syncs it.
    pub(crate) fn finish(self) -> Result<()> {
        self.one::<String>("PRAGMA journal_mode = WAL").map_err(|e| self.failed(e))?;
        let path = self.path.clone();
        self.connection.into_inner().close().map_err(|(_, e)| failed(&path, e))?;
        let synced = fs::File::open(&path).and_then(|file| file.sync_all());
        synced.map_err(|e| error::io("write", &path, &e))
    }

    /// The number of the last event.
    pub(crate) fn last_event(&self) -> Result<i64> {
        last_event(&self.connection.borrow()).map_err(|e| self.failed(e))
    }

    /// Whether an event is stored, as the next process to open the file would see it, and durable.
    pub(crate) fn is_stored(&self, event: &Value) -> Result<bool> {
        let mut slot = self.connection.try_borrow_mut().map_err(Error::internal)?;
        // Reopening reads the write-ahead log again, if no other process has it open.
        *slot = Connection::open_in_memory().map_err(|e| self.failed(e))?;
        *slot = connect(&self.path)?;
        let sql = "SELECT COUNT(*) FROM events WHERE id = ?1 AND created_at = ?2 AND subject_id = ?3 AND detail = ?4";
        let text = |name: &str| event[name].as_str();
        let values = (event["id"].as_i64(), text("created_at"), text("subject_id"), text("detail"));
        let count: i64 = slot.query_row(sql, values, |row| row.get(0)).map_err(|e| self.failed(e))?;
        // The kernel reports a failed write only once, so a successful sync of the log proves nothing. A checkpoint
        // writes the data elsewhere and syncs it.
        let checkpoint = || slot.query_row("PRAGMA wal_checkpoint(FULL)", [], |row| row.get::<_, i64>(0));
        Ok(count > 0 && checkpoint().is_ok_and(|busy| busy == 0))
    }

    /// Opens the file and reads its first page. SQLite finds the write-ahead log by name, so if the file was replaced
    /// in between, the old log would be applied to the new file: open again.
    fn open_file(store: &StoreDir) -> Result<(Self, i64, bool)> {
        let path = store.database();
        store::refuse_link(&path)?;
        let mut tries = 0..OPEN_TRIES;
        loop {
            if !path.exists() {
                // Created readable by its owner only; SQLite gives its log the same mode.
                StoreDir::open_private(&path).map_err(|e| error::io("create", &path, &e))?;
            }
            let file = identity(&path);
            let opened = connect(&path).and_then(|connection| {
                let (path, journal, connection) = (path.clone(), Some(Journal::new(store)), RefCell::new(connection));
                let (store, has_grown, files_need_check) = (store.clone(), Cell::new(false), Cell::new(false));
                let new = Self { connection, store, file, path, journal, has_grown, files_need_check };
                let (version, is_wal) = (new.version()?, new.is_wal()?);
                Ok((new, version, is_wal))
            });
            if identity(&path) == file || tries.next().is_none() {
                return opened;
            }
        }
    }

    /// The schema version. A flipped bit in the header could turn it into any other, so it is checked against the list
    /// of migrations. Both are read in one transaction, because another process may be migrating.
    fn verified_version(&self) -> Result<i64> {
        let _moment = self.begin_read()?;
        let version = self.version()?;
        let has_list = "SELECT COUNT(*) FROM sqlite_schema WHERE name = '_migrations'";
        if self.one::<i64>(has_list).map_err(|e| self.failed(e))? == 0 {
            return Ok(version);
        }
        if self.one::<Option<String>>("SELECT MIN(name) FROM _migrations").map_err(|e| self.failed(e))?.as_deref()
            == Some(migrations::UNRELEASED)
        {
            return Err(error::unreleased(self.path.display()));
        }
        let listed = migrations::version_of(self.one("SELECT COUNT(*) FROM _migrations").map_err(|e| self.failed(e))?);
        if listed == version {
            return Ok(version);
        }
        let message = format!("{} says it has schema {version}, and lists {listed}", self.path.display());
        Err(Error::new(Code::Corrupt, message).hint("move it away; what is known besides is then used to rebuild it"))
    }

    fn set_up(&self, store: &StoreDir, now: Timestamp, seed: impl FnOnce(Transaction<'_>) -> Result<()>) -> Result<()> {
        store.local_dir("")?;
        let _lock = writer_lock::acquire(store)?;
        if identity(&self.path) != self.file {
            return Err(replaced());
        }
        let version = self.version()?;
        refuse_schema(&self.path, version)?;
        if version == 0 && self.one::<i64>("SELECT count(*) FROM sqlite_schema").map_err(|e| self.failed(e))? > 0 {
            return Err(Error::new(Code::Corrupt, format!("{} is not a Pensa database", self.path.display()))
                .hint("move it away; Pensa then makes its own"));
        }
        if version == 0 && backup::has_source(store) {
            return Err(Error::new(Code::Corrupt, format!("{} is empty", self.path.display())));
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
        if 0 < version && version < SCHEMA_VERSION {
            backup::ensure_current(store)?;
        }
        let before = if version == 0 { 0 } else { self.last_event()? };
        let tx = self.begin("BEGIN IMMEDIATE", self.recording(None))?;
        if let Some(recording) = &tx.recording {
            recording.begin_after(before);
        }
        self.migrate(&tx, version, now)?;
        if version == 0 { seed(tx) } else { tx.commit().map_err(|uncommitted| uncommitted.error) }
    }

    fn migrate(&self, tx: &Transaction<'_>, version: i64, now: Timestamp) -> Result<()> {
        for migration in migrations::pending(version) {
            tx.connection.execute_batch(migration.sqlite).map_err(|e| self.failed(e))?;
            tx.execute(
                "INSERT INTO _migrations (name, checksum, applied_at) VALUES (?1, ?2, ?3)",
                params![migration.name, Migration::checksum(migration.sqlite), now],
            )?;
        }
        tx.connection.pragma_update(None, "user_version", SCHEMA_VERSION).map_err(|e| self.failed(e))
    }

    fn recording(&self, writer_lock: Option<WriterLock>) -> Option<Recording<'_>> {
        self.journal
            .as_ref()
            .map(|journal| Recording::new(&self.store, journal, (&self.has_grown, &self.files_need_check), writer_lock))
    }

    pub(crate) fn begin_read(&self) -> Result<Transaction<'_>> {
        self.begin("BEGIN", None)
    }

    pub(crate) fn begin_write(&self) -> Result<Transaction<'_>> {
        if self.journal.is_none() {
            return self.begin("BEGIN IMMEDIATE", None);
        }
        let lock = writer_lock::acquire(&self.store)?;
        if self.is_orphaned() {
            // The file was replaced while this process waited for the lock.
            return Err(replaced());
        }
        let tx = self.begin("BEGIN IMMEDIATE", self.recording(Some(lock)))?;
        if let Some(recording) = &tx.recording {
            recording.begin_after(self.last_event()?);
        }
        Ok(tx)
    }

    fn begin<'d>(&'d self, how: &str, recording: Option<Recording<'d>>) -> Result<Transaction<'d>> {
        let (connection, path) = (self.connection.borrow(), self.path.as_path());
        connection.prepare_cached(how).and_then(|mut s| s.execute([])).map_err(|e| self.failed(e))?;
        Ok(Transaction { connection, path, open: true, usual_cache: Cell::new(None), recording })
    }

    pub(crate) fn store(&self) -> &StoreDir {
        &self.store
    }

    /// Returns, once, whether the record files should be checked.
    pub(crate) fn take_files_need_check(&self) -> bool {
        self.files_need_check.take()
    }

    /// Creates a backup if the journal has become long, so that its segments can be deleted.
    pub(crate) fn backup_if_journal_is_long(&self) {
        if self.has_grown.replace(false)
            && backup::is_due(&self.store).unwrap_or(false)
            && let Some(_lock) = writer_lock::try_acquire(&self.store)
        {
            // Best effort: the next finished segment tries again.
            let _ = backup::ensure_current(&self.store);
        }
    }

    /// Checkpoints a large log, unless another process is using the database. Best effort.
    pub(crate) fn checkpoint_if_large(&self) {
        self.backup_if_journal_is_long();
        let mut log = self.path.as_os_str().to_owned();
        log.push("-wal");
        let is_large = fs::metadata(log).is_ok_and(|meta| meta.len() > MAX_WAL_LEFT);
        if is_large && let Some(_lock) = writer_lock::try_acquire(&self.store) {
            let connection = self.connection.borrow();
            let _ = connection.busy_timeout(Duration::ZERO);
            let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            let _ = connection.busy_timeout(BUSY_TIMEOUT);
        }
    }

    pub(crate) fn is_orphaned(&self) -> bool {
        let is_moved = || !self.store.durable().is_dir() && self.store.durable() != self.store.local();
        let is_other = identity(&self.path) != self.file || self.store.damage_marker().exists();
        self.journal.is_some() && (is_other || is_moved())
    }

    pub(crate) fn expect_many_writes(&self) -> Result<()> {
        self.connection.borrow().pragma_update(None, "cache_size", WRITER_CACHE_KIB).map_err(|e| self.failed(e))
    }

    pub(crate) fn data_version(&self) -> Result<i64> {
        let connection = self.connection.borrow();
        let ask = || connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0));
        ask().map_err(|e| self.failed(e))
    }

    fn version(&self) -> Result<i64> {
        self.one("PRAGMA user_version").map_err(|e| self.failed(e))
    }

    fn is_wal(&self) -> Result<bool> {
        Ok(self.one::<String>("PRAGMA journal_mode").map_err(|e| self.failed(e))? == "wal")
    }

    fn one<T: rusqlite::types::FromSql>(&self, sql: &str) -> rusqlite::Result<T> {
        self.connection.borrow().query_row(sql, [], |row| row.get(0))
    }

    fn failed(&self, e: rusqlite::Error) -> Error {
        failed(&self.path, e)
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}

fn last_event(connection: &Connection) -> rusqlite::Result<i64> {
    let sql = "SELECT COALESCE(MAX(id), 0) FROM events";
    connection.prepare_cached(sql)?.query_row([], |row| row.get(0))
}

/// The last event number that was used, even if the event was deleted.
fn last_number(connection: &Connection) -> rusqlite::Result<i64> {
    let sql = "SELECT COALESCE(MAX(seq), 0) FROM sqlite_sequence WHERE name = 'events'";
    connection.prepare_cached(sql)?.query_row([], |row| row.get(0))
}

pub(crate) fn connect(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    // NOFOLLOW refuses links anywhere in the path, so resolve the directory; the file itself was checked.
    let real = path
        .parent()
        .and_then(|dir| fs::canonicalize(dir).ok())
        .and_then(|dir| Some(dir.join(path.file_name()?)))
        .unwrap_or_else(|| path.to_owned());
    let configure = || {
        let connection = Connection::open_with_flags(real, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        // Without this, the planner considers bound values, and cached statements are prepared again for new times and
        // ids.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        connection.pragma_update(None, "journal_size_limit", WAL_SIZE_LIMIT)?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(connection)
    };
    configure().map_err(|e| failed(path, e))
}

/// Returns an error for a schema version that this build cannot migrate.
pub(crate) fn refuse_schema(path: &Path, version: i64) -> Result<()> {
    match version {
        newer if newer > SCHEMA_VERSION => Err(Error::new(
            Code::NewerSchema,
            format!(
                "{} was written by a newer Pensa (schema {newer}, this one knows {SCHEMA_VERSION})",
                path.display()
            ),
        )
        .hint("update pn; the database was not touched")),
        old if 0 < old && old < migrations::FIRST => Err(error::unreleased(path.display())),
        _ => Ok(()),
    }
}

/// Converts an error. SQLite reports some full disks as plain I/O errors, so check the free space.
pub(crate) fn failed(path: &Path, e: rusqlite::Error) -> Error {
    let error = error::sqlite(e);
    let full = || store::free_space(path).is_some_and(|free| free < 64 * 1024);
    if error.code == Code::Internal && full() {
        return Error::new(Code::DiskFull, "no space left on the disk of the database")
            .hint("free some space and try again; nothing was changed");
    }
    error
}

#[derive(Debug)]
pub(crate) struct Transaction<'c> {
    connection: Ref<'c, Connection>,
    path: &'c Path,
    open: bool,
    /// The cache size to restore after a bulk load.
    usual_cache: Cell<Option<i64>>,
    /// Dropped, and the writer lock with it, after the transaction has ended.
    recording: Option<Recording<'c>>,
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
    pub(crate) fn commit(mut self) -> Result<(), CommitError> {
        let is_in_doubt = Cell::new(false);
        let commit = || {
            let done = self.connection.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([]));
            done.map(drop).map_err(|e| {
                // The commit may have been written but not synced.
                is_in_doubt.set(e.sqlite_error_code() == Some(rusqlite::ErrorCode::SystemIoFailure));
                self.failed(e)
            })
        };
        let committed = match &self.recording {
            Some(recording) => {
                last_event(&self.connection).map_err(|e| self.failed(e)).and_then(|last| recording.commit(last, commit))
            }
            None => commit(),
        };
        let last = || self.recording.as_ref().filter(|_| is_in_doubt.get()).and_then(Recording::last_event);
        committed.map_err(|error| CommitError { error, is_retryable: false, uncertain_event: last().map(Box::new) })?;
        self.open = false;
        Ok(())
    }

    /// Adds an item to the journal.
    pub(crate) fn journal(&self, kind: &str, value: &(impl Serialize + ?Sized)) -> Result<()> {
        self.recording.as_ref().map_or(Ok(()), |recording| recording.add(kind, value))
    }

    /// As [`journal`](Self::journal), for a value that writes its own JSON.
    pub(crate) fn journal_written(&self, kind: &str, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        self.recording.as_ref().map_or(Ok(()), |recording| recording.add_written(kind, write))
    }

    /// Appends a line to a record file after the commit.
    pub(crate) fn write_through(&self, file: &str, line: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        self.recording.as_ref().map_or(Ok(()), |recording| recording.write_through(file, line))
    }

    pub(crate) fn skip_events(&self, last: i64) -> Result<()> {
        super::snapshot::skip_events(&self.connection, last).map_err(|e| self.failed(e))
    }

    pub(crate) fn begin_operation(&self) {
        if let Some(recording) = &self.recording {
            recording.begin_operation();
        }
    }

    pub(crate) fn end_operation(&self, operation: &Operation<'_>) -> Result<()> {
        self.recording.as_ref().map_or(Ok(()), |recording| recording.end_operation(operation))
    }

    /// The journal items so far.
    pub(crate) fn journaled(&self) -> Result<Vec<(String, Value)>> {
        self.recording.as_ref().map_or_else(|| Ok(Vec::new()), Recording::items)
    }

    /// The last event before the transaction, and its store, if the journal has later events.
    pub(crate) fn behind_journal(&self) -> Result<Option<(i64, &StoreDir)>> {
        let Some(recording) = &self.recording else { return Ok(None) };
        Ok(recording.behind_journal()?.map(|before| (before, recording.store)))
    }

    /// Runs `work`, which repeats journaled changes up to event `last`, without journaling them.
    pub(crate) fn without_journaling(&self, last: i64, work: impl FnOnce() -> Result<()>) -> Result<()> {
        match &self.recording {
            Some(recording) => recording.without_journaling(last, work),
            None => work(),
        }
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn path(&self) -> &Path {
        self.path
    }

    pub(crate) fn is_alive(&self) -> bool {
        !self.connection.is_autocommit()
    }

    pub(crate) fn savepoint<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.execute("SAVEPOINT op", params![])?;
        let noted = self.recording.as_ref().map(Recording::savepoint);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        if self.is_alive() {
            if !matches!(outcome, Ok(Ok(_))) {
                self.execute("ROLLBACK TO op", params![])?;
                if let (Some(recording), Some(noted)) = (&self.recording, noted) {
                    recording.roll_back_to(noted);
                }
            }
            self.execute("RELEASE op", params![])?;
        }
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    pub(crate) fn execute(&self, sql: &str, params: &[Param<'_>]) -> Result<usize> {
        let run = || self.connection.prepare_cached(sql)?.execute(rusqlite::params_from_iter(params));
        run().map_err(|e| self.failed(e))
    }

    /// Runs a statement once for each row of values.
    pub(crate) fn execute_each<'p>(&self, sql: &str, rows: impl Iterator<Item = &'p [Param<'p>]>) -> Result<()> {
        let run = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            { rows }.try_for_each(|row| statement.execute(rusqlite::params_from_iter(row)).map(drop))
        };
        run().map_err(|e| self.failed(e))
    }

    pub(crate) fn prepare(&self, sql: &str) -> Result<Statement<'_>> {
        let statement = self.connection.prepare_cached(sql).map_err(|e| self.failed(e))?;
        Ok(Statement { statement, path: self.path })
    }

    pub(crate) fn next_event(&self) -> Result<i64> {
        Ok(last_number(&self.connection).map_err(|e| self.failed(e))? + 1)
    }

    pub(crate) fn append_event(&self, event: &NewEvent<'_>, op: Option<i64>) -> Result<i64> {
        // The first event of an operation refers to itself, by the number that it is about to get.
        let number = self.next_event()?;
        let columns = [
            ("id", Param::from(number)),
            ("subject_kind", event.subject_kind.into()),
            ("subject_id", event.subject_id.into()),
            ("issue_id", event.issue_id.into()),
            ("event_type", event.event_type.as_str().into()),
            ("actor", event.actor.into()),
            ("token_id", event.token_id.into()),
            ("session", event.session.into()),
            ("detail", json::to_line(&event.detail)?.into()),
            ("created_at", event.at.into()),
            ("op", op.unwrap_or(number).into()),
        ];
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let places: Vec<String> = (1..=columns.len()).map(|at| format!("?{at}")).collect();
        let sql = format!("INSERT INTO events ({}) VALUES ({})", names.join(", "), places.join(", "));
        let values: Vec<Param<'_>> = columns.iter().map(|(_, value)| value.clone()).collect();
        self.execute(&sql, &values)?;
        self.journal("event", &Columns(columns.into()))?;
        Ok(number)
    }

    pub(crate) fn expect_many_rows(&self) -> Result<()> {
        self.connection.pragma_update(None, "defer_foreign_keys", true).map_err(|e| self.failed(e))?;
        if self.usual_cache.get().is_some() {
            return Ok(());
        }
        let usual = self.connection.query_row("PRAGMA cache_size", [], |row| row.get(0)).map_err(|e| self.failed(e))?;
        self.usual_cache.set(Some(usual));
        self.connection.pragma_update(None, "cache_size", LARGE_CACHE_KIB).map_err(|e| self.failed(e))
    }

    pub(crate) fn bulk_load<T>(&self, tables: &[&str], work: impl FnOnce() -> Result<T>) -> Result<T> {
        let mut indexes: Vec<(String, String)> = Vec::new();
        let sql =
            "SELECT name, sql, tbl_name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY rowid";
        self.prepare(sql)?.for_each(params![], &mut |row| {
            if tables.contains(&row.text(2)?.as_str()) {
                indexes.push((row.text(0)?, row.text(1)?));
            }
            Ok(())
        })?;
        for (name, _) in &indexes {
            self.connection.execute_batch(&format!("DROP INDEX \"{name}\"")).map_err(|e| self.failed(e))?;
        }
        if let Some(recording) = &self.recording {
            recording.fill();
        }
        let done = work()?;
        for (_, sql) in &indexes {
            self.connection.execute_batch(sql).map_err(|e| self.failed(e))?;
        }
        Ok(done)
    }

    pub(crate) fn integrity_problems(&self, thorough: bool) -> Result<Vec<String>> {
        let mut problems = Vec::new();
        self.prepare(if thorough { "PRAGMA integrity_check" } else { "PRAGMA quick_check" })?.for_each(
            params![],
            &mut |row| {
                problems.push(row.text(0)?);
                Ok(())
            },
        )?;
        problems.retain(|line| line != "ok");
        if thorough {
            problems.extend(super::snapshot::schema_problems(&self.connection).map_err(|e| self.failed(e))?);
        }
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
            Param::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

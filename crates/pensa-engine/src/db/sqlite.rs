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

use super::migrations::{self, Migration};
use super::recording::{Columns, Recording};
use super::value::{Param, Row};
use super::{NewEvent, Uncommitted, backup, params};
use crate::error;
use crate::journal::Journal;
use crate::store::ticket::{self, Ticket};
use crate::store::{self, StoreDir, replaced};

/// Older ones can corrupt a write-ahead log.
const OLDEST_SQLITE: i32 = 3_051_003;
/// How much of the database a connection that writes all the time keeps in memory (negative: in KiB, says SQLite):
/// what a group of operations changes must fit.
const WRITER_CACHE_KIB: i64 = -16_000;
/// The same during an import, whose pages would otherwise be written again and again.
const LARGE_CACHE_KIB: i64 = -64_000;
/// How often a file is opened that is replaced meanwhile.
const OPEN_TRIES: usize = 10;
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
    /// Replaced if a failed commit leaves in doubt what is stored.
    connection: RefCell<Connection>,
    store: StoreDir,
    path: PathBuf,
    /// Which file it was, by device and number, when it was opened.
    file: Option<(u64, u64)>,
    /// Where changes are kept besides; nothing for a database that nobody else can see.
    journal: Option<Journal>,
    /// Whether the journal has grown so much that it is worth a look whether to make a backup.
    has_grown: Cell<bool>,
    /// Whether the files of records have to be looked at.
    files_due: Cell<bool>,
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
        let (database, version, is_wal) = Self::open_file(store)?;
        if version == migrations::SCHEMA_VERSION && is_wal {
            return Ok(database);
        }
        // Whatever else is in it, only a newer Pensa can tell.
        if version > migrations::SCHEMA_VERSION {
            return Err(newer(&database.path, version));
        }
        let version = database.true_version()?;
        if version > migrations::SCHEMA_VERSION {
            return Err(newer(&database.path, version));
        }
        database.bring_up_to_date(store, now, seed)?;
        Ok(database)
    }

    /// A database that nobody else can see: in a file of its own, or in memory.
    pub(crate) fn loose(store: &StoreDir, file: Option<&Path>, now: Timestamp) -> Result<Self> {
        let path = file.map_or_else(|| PathBuf::from(":memory:"), Path::to_owned);
        let open = || {
            let connection = match file {
                Some(file) => Connection::open(file)?,
                None => Connection::open_in_memory()?,
            };
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
            // Whoever fills it sees to its references, and throws it away if anything goes wrong.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, false)?;
            connection.pragma_update(None, "journal_mode", "OFF")?;
            connection.pragma_update(None, "synchronous", "OFF")?;
            connection.set_prepared_statement_cache_capacity(64);
            Ok(connection)
        };
        let connection = open().map_err(|e| failed(&path, e))?;
        let (store, has_grown, files_due) = (store.clone(), Cell::new(false), Cell::new(false));
        let connection = RefCell::new(connection);
        let loose = Self { connection, store, path, file: None, journal: None, has_grown, files_due };
        loose.migrate_loose(now)?;
        Ok(loose)
    }

    /// Takes the contents of a file, whatever was there before.
    pub(crate) fn fill_from(&mut self, file: &Path, now: Timestamp) -> Result<()> {
        let source = super::snapshot::open(file)?;
        super::snapshot::copy_into(&source, self.connection.get_mut()).map_err(|e| failed(file, e))?;
        self.migrate_loose(now)
    }

    fn migrate_loose(&self, now: Timestamp) -> Result<()> {
        let version = self.version()?;
        if version > migrations::SCHEMA_VERSION {
            return Err(newer(&self.path, version));
        }
        if version == migrations::SCHEMA_VERSION {
            return Ok(());
        }
        let tx = self.begin("BEGIN IMMEDIATE", None)?;
        self.migrate(&tx, version, now)?;
        tx.commit().map_err(|uncommitted| uncommitted.error)
    }

    /// Makes a loose file what [`open`](Self::open) expects, and makes sure that it is on the disk.
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

    /// Whether an event is stored, as whoever opens the file next will find it, and on the disk for good.
    pub(crate) fn is_stored(&self, event: &Value) -> Result<bool> {
        let mut slot = self.connection.try_borrow_mut().map_err(Error::internal)?;
        // To open it anew is to read the log anew, if nobody else has it open.
        *slot = Connection::open_in_memory().map_err(|e| self.failed(e))?;
        *slot = connect(&self.path)?;
        let sql = "SELECT COUNT(*) FROM events WHERE id = ?1 AND created_at = ?2 AND subject_id = ?3 AND detail = ?4";
        let text = |name: &str| event[name].as_str();
        let values = (event["id"].as_i64(), text("created_at"), text("subject_id"), text("detail"));
        let count: i64 = slot.query_row(sql, values, |row| row.get(0)).map_err(|e| self.failed(e))?;
        // The kernel says only once that it could not write something. What is written elsewhere, and synced, is there.
        let fold = || slot.query_row("PRAGMA wal_checkpoint(FULL)", [], |row| row.get::<_, i64>(0));
        Ok(count > 0 && fold().is_ok_and(|busy| busy == 0))
    }

    /// Opens the file and reads its first page. SQLite finds a database's log by its name, so a file that is replaced
    /// in between is opened again: else its log would be taken for that of the new one.
    fn open_file(store: &StoreDir) -> Result<(Self, i64, bool)> {
        let path = store.database();
        store::refuse_link(&path)?;
        let mut tries = 0..OPEN_TRIES;
        loop {
            if !path.exists() {
                // Readable by its owner only from the start; SQLite gives its log the same mode.
                StoreDir::open_private(&path).map_err(|e| error::io("create", &path, &e))?;
            }
            let file = identity(&path);
            let opened = connect(&path).and_then(|connection| {
                let (path, journal, connection) = (path.clone(), Some(Journal::new(store)), RefCell::new(connection));
                let (store, has_grown, files_due) = (store.clone(), Cell::new(false), Cell::new(false));
                let new = Self { connection, store, file, path, journal, has_grown, files_due };
                let (version, is_wal) = (new.version()?, new.is_wal()?);
                Ok((new, version, is_wal))
            });
            if identity(&path) == file || tries.next().is_none() {
                return opened;
            }
        }
    }

    /// The version stands in the file's head, where one bit can make it any other. The list of migrations knows better.
    /// Both are read at one moment: somebody else may be bringing the database up to date.
    fn true_version(&self) -> Result<i64> {
        let _moment = self.begin_read()?;
        let version = self.version()?;
        let has_list = "SELECT COUNT(*) FROM sqlite_schema WHERE name = '_migrations'";
        if self.one::<i64>(has_list).map_err(|e| self.failed(e))? == 0 {
            return Ok(version);
        }
        let listed: i64 = self.one("SELECT COUNT(*) FROM _migrations").map_err(|e| self.failed(e))?;
        if listed == version {
            return Ok(version);
        }
        let message = format!("{} says it has schema {version}, and lists {listed}", self.path.display());
        Err(Error::new(Code::Corrupt, message).hint("move it away; what is known besides is then used to rebuild it"))
    }

    fn bring_up_to_date(
        &self,
        store: &StoreDir,
        now: Timestamp,
        seed: impl FnOnce(Transaction<'_>) -> Result<()>,
    ) -> Result<()> {
        store.local_dir("")?;
        let _ticket = ticket::take(store)?;
        if identity(&self.path) != self.file {
            return Err(replaced());
        }
        let version = self.version()?;
        if version > migrations::SCHEMA_VERSION {
            return Err(newer(&self.path, version));
        }
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
        if 0 < version && version < migrations::SCHEMA_VERSION {
            backup::automatic(store)?;
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
        tx.connection.pragma_update(None, "user_version", migrations::SCHEMA_VERSION).map_err(|e| self.failed(e))
    }

    fn recording(&self, ticket: Option<Ticket>) -> Option<Recording<'_>> {
        self.journal
            .as_ref()
            .map(|journal| Recording::new(&self.store, journal, (&self.has_grown, &self.files_due), ticket))
    }

    pub(crate) fn begin_read(&self) -> Result<Transaction<'_>> {
        self.begin("BEGIN", None)
    }

    pub(crate) fn begin_write(&self) -> Result<Transaction<'_>> {
        if self.journal.is_none() {
            return self.begin("BEGIN IMMEDIATE", None);
        }
        let ticket = ticket::take(&self.store)?;
        if self.is_orphaned() {
            // Somebody put another file in its place while this one waited.
            return Err(replaced());
        }
        let tx = self.begin("BEGIN IMMEDIATE", self.recording(Some(ticket)))?;
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

    /// Whether the files of records have to be looked at since this was last asked.
    pub(crate) fn take_files_due(&self) -> bool {
        self.files_due.take()
    }

    /// Makes a backup if the journal has grown long, so that it can be cut.
    pub(crate) fn keep_journal_short(&self) {
        if self.has_grown.replace(false)
            && backup::is_due(&self.store).unwrap_or(false)
            && let Some(_ticket) = ticket::try_take(&self.store)
        {
            // Nothing depends on it; the next to finish a segment tries again.
            let _ = backup::automatic(&self.store);
        }
    }

    /// Folds a log so large that the next to open the database would feel it, unless somebody else is busy with the
    /// database: nothing depends on it.
    pub(crate) fn tidy_up(&self) {
        self.keep_journal_short();
        let mut log = self.path.as_os_str().to_owned();
        log.push("-wal");
        let is_large = fs::metadata(log).is_ok_and(|meta| meta.len() > LARGEST_LOG_LEFT);
        if is_large && let Some(_ticket) = ticket::try_take(&self.store) {
            let connection = self.connection.borrow();
            let _ = connection.busy_timeout(Duration::ZERO);
            let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            let _ = connection.busy_timeout(BUSY_TIMEOUT);
        }
    }

    pub(crate) fn is_orphaned(&self) -> bool {
        let is_moved = || !self.store.durable().is_dir() && self.store.durable() != self.store.local();
        let is_other = identity(&self.path) != self.file || self.store.damage_mark().exists();
        self.journal.is_some() && (is_other || is_moved())
    }

    pub(crate) fn expect_many_writes(&self) -> Result<()> {
        self.connection.borrow().pragma_update(None, "cache_size", WRITER_CACHE_KIB).map_err(|e| self.failed(e))
    }

    pub(crate) fn changes_seen(&self) -> Result<i64> {
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

/// The last number that was given to an event, also to one that is gone.
fn last_number(connection: &Connection) -> rusqlite::Result<i64> {
    let sql = "SELECT COALESCE(MAX(seq), 0) FROM sqlite_sequence WHERE name = 'events'";
    connection.prepare_cached(sql)?.query_row([], |row| row.get(0))
}

pub(crate) fn connect(path: &Path) -> Result<Connection> {
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

pub(crate) fn newer(path: &Path, version: i64) -> Error {
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
pub(crate) fn failed(path: &Path, e: rusqlite::Error) -> Error {
    let told = error::sqlite(e);
    let full = || store::free_space(path).is_some_and(|free| free < 64 * 1024);
    if told.code == Code::Internal && full() {
        return Error::new(Code::DiskFull, "no space left on the disk of the database")
            .hint("free some space and try again; nothing was changed");
    }
    told
}

#[derive(Debug)]
pub(crate) struct Transaction<'c> {
    connection: Ref<'c, Connection>,
    path: &'c Path,
    open: bool,
    /// The size of the cache to go back to after many rows.
    usual_cache: Cell<Option<i64>>,
    /// Given up, and with it the ticket, after the transaction has ended.
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
    pub(crate) fn commit(mut self) -> Result<(), Uncommitted> {
        let is_in_doubt = Cell::new(false);
        let commit = || {
            let done = self.connection.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([]));
            done.map(drop).map_err(|e| {
                // It may have been written and only not synced.
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
        committed.map_err(|error| Uncommitted { error, again: false, doubt: last().map(Box::new) })?;
        self.open = false;
        Ok(())
    }

    /// Notes for the journal what was done.
    pub(crate) fn journal(&self, kind: &str, value: &(impl Serialize + ?Sized)) -> Result<()> {
        self.recording.as_ref().map_or(Ok(()), |recording| recording.add(kind, value))
    }

    /// The same of what writes its own JSON.
    pub(crate) fn journal_written(&self, kind: &str, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        self.recording.as_ref().map_or(Ok(()), |recording| recording.add_written(kind, write))
    }

    /// Has a line appended to a file of records after the commit.
    pub(crate) fn write_through(&self, file: &str, line: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        self.recording.as_ref().map_or(Ok(()), |recording| recording.write_through(file, line))
    }

    pub(crate) fn skip_events(&self, last: i64) -> Result<()> {
        super::snapshot::skip_events(&self.connection, last).map_err(|e| self.failed(e))
    }

    /// What this transaction has noted so far.
    pub(crate) fn journaled(&self) -> Result<Vec<(String, Value)>> {
        self.recording.as_ref().map_or_else(|| Ok(Vec::new()), Recording::items)
    }

    /// The last event before this transaction and its store, if the journal has later ones.
    pub(crate) fn is_behind(&self) -> Result<Option<(i64, &StoreDir)>> {
        let Some(recording) = &self.recording else { return Ok(None) };
        Ok(recording.is_behind()?.map(|before| (before, recording.store)))
    }

    /// Does what the journal has already, up to event `last`.
    pub(crate) fn repeat(&self, last: i64, work: impl FnOnce() -> Result<()>) -> Result<()> {
        match &self.recording {
            Some(recording) => recording.repeat(last, work),
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
        let noted = self.recording.as_ref().map(Recording::mark);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        if self.is_alive() {
            if !matches!(outcome, Ok(Ok(_))) {
                self.execute("ROLLBACK TO op", params![])?;
                if let (Some(recording), Some(noted)) = (&self.recording, noted) {
                    recording.take_back(noted);
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

    /// Runs a statement once for each of these rows of values.
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
        // The first event of an operation names itself, by the number that it is about to be given.
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

    pub(crate) fn filling<T>(&self, tables: &[&str], work: impl FnOnce() -> Result<T>) -> Result<T> {
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
        }))
    }
}

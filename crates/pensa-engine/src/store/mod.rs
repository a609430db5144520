//! The files of a store: where they are, and how a store is created.
//!
//! The client decides which store a command uses.

mod driver_notes;
mod durable;
pub(crate) mod last_event;
mod location;
pub(crate) mod record_files;
mod tracked;
pub(crate) mod writer_lock;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::iter;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use pensa_core::sync::{COLLECTIONS, Conflict};
use pensa_core::{Code, Error, Result};
use pensa_git::{DEFAULT_MAX_FILE, WorkTree, read_committed};
use toml_edit::DocumentMut;
use uuid::Uuid;

pub use driver_notes::write_driver_notes;
pub use location::StoreLocation;

use crate::error;

/// The directory of a store: `.pensa` of a project, or the user's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreDir {
    root: PathBuf,
    /// The largest committed file that is read, in bytes.
    max_file: u64,
    durable_kind: DurableKind,
    /// The directory of journal and backups, once it has been located.
    durable: Option<PathBuf>,
}

/// Where a store puts its durable directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DurableKind {
    /// In `local/`, for stores of a server: their directories are not in a work tree, and a copy of one should be
    /// complete.
    InStore,
    /// In the surrounding git repository, or else in this state directory of the user, if there is one.
    Outside(Option<PathBuf>),
}

/// Size limit for `config.toml`.
const MAX_CONFIG: u64 = 1 << 20;
/// Identifies a file on this machine: device, inode number, creation time.
pub(crate) type FileId = [u64; 3];

const GITIGNORE: &str = "db.sqlite*\nlocal\n";

impl StoreDir {
    /// The name of a project store's directory.
    pub const NAME: &str = pensa_core::STORE_DIR;

    /// The store in `root`, which must be a real directory, not a link to one.
    pub fn at(root: &Path) -> Result<Self> {
        let root = std::path::absolute(root).map_err(|e| error::io("find", root, &e))?;
        let meta = fs::symlink_metadata(&root).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => {
                Error::new(Code::NoStore, format!("no store at {}", root.display())).hint("pn init makes one")
            }
            _ => error::io("open", &root, &e),
        })?;
        if !meta.is_dir() {
            let what = if meta.is_symlink() { "a symbolic link" } else { "not a directory" };
            return Err(
                Error::invalid(format!("{} is {what}", root.display())).hint("a store must be a directory of its own")
            );
        }
        refuse_link(&root.join("local"))?;
        refuse_network_file_system(&root)?;
        Ok(Self::unopened(&root))
    }

    /// Sets the user's state directory, which holds journal and backups if no git repository is around the store.
    #[must_use]
    pub fn with_state_dir(mut self, state: Option<PathBuf>) -> Self {
        self.durable_kind = DurableKind::Outside(state);
        self
    }

    /// Keeps journal and backups in the store's own directory.
    #[must_use]
    pub(crate) fn with_local_durable(mut self) -> Self {
        self.durable_kind = DurableKind::InStore;
        self
    }

    pub(crate) fn durable_kind(&self) -> &DurableKind {
        &self.durable_kind
    }

    /// Locates the durable directory, creating it if needed.
    pub(crate) fn located(mut self) -> Result<Self> {
        self.durable = Some(durable::find(&self)?);
        Ok(self)
    }

    /// The directory of journal, backups and the writer lock.
    pub fn durable(&self) -> PathBuf {
        self.durable.clone().unwrap_or_else(|| self.local())
    }

    /// Returns a directory below [`durable`](Self::durable), created if needed.
    pub(crate) fn durable_dir(&self, name: &str) -> Result<PathBuf> {
        match &self.durable {
            Some(durable) if *durable != self.local() => own_dir(durable.join(name)),
            _ => self.local_dir(name),
        }
    }

    /// The directory of files that belong to this machine only.
    pub(crate) fn local(&self) -> PathBuf {
        self.root.join("local")
    }

    /// A handle for a store that will not be opened, so nothing is checked.
    pub fn unopened(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            max_file: DEFAULT_MAX_FILE,
            durable_kind: DurableKind::Outside(None),
            durable: None,
        }
    }

    /// Sets the size limit for committed files.
    #[must_use]
    pub fn with_max_file(self, max_file: u64) -> Self {
        Self { max_file, ..self }
    }

    pub(crate) fn max_file(&self) -> u64 {
        self.max_file
    }

    /// Creates a store in `root`, or adds what an existing one lacks. Returns whether it is new.
    pub fn create(root: &Path) -> Result<(Self, bool)> {
        Self::create_with(root, None)
    }

    /// As [`create`](Self::create), with the user's state directory; see [`with_state_dir`](Self::with_state_dir).
    pub fn create_with(root: &Path, state: Option<PathBuf>) -> Result<(Self, bool)> {
        match private_dir(root) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(error::io("create", root, &e)),
            _ => {}
        }
        let store = Self::at(root)?.with_state_dir(state);
        let created = store.complete()?;
        Ok((store, created))
    }

    /// Opens the user's own store. On first use it is created, with its parent directories.
    pub fn of_user(root: &Path) -> Result<Self> {
        let store = Self::unopened(root);
        if !store.config().exists()
            && let Some(around) = root.parent()
        {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(around);
            made.map_err(|e| error::io("create", around, &e))?;
            return Self::create(root).map(|(store, _)| store);
        }
        Self::at(root)
    }

    /// Creates a store with this id in `root`, or opens it if it exists.
    pub(crate) fn create_with_id(root: &Path, id: &str) -> Result<Self> {
        match private_dir(root) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(error::io("create", root, &e)),
            _ => {}
        }
        let store = Self::at(root)?.with_local_durable();
        store.complete_with_id(id)?;
        Ok(store)
    }

    /// Adds missing files, for example in a fresh clone. Returns whether the store got its id just now.
    pub(crate) fn complete(&self) -> Result<bool> {
        let known = if self.config().exists() { None } else { durable::orphaned_store_id(self) };
        self.complete_with_id(&known.unwrap_or_else(|| Uuid::now_v7().to_string()))
    }

    fn complete_with_id(&self, id: &str) -> Result<bool> {
        self.local_dir("")?;
        write_once(&self.root.join(".gitignore"), GITIGNORE)?;
        // Best effort: `.gitignore` excludes the same files.
        let _ = pensa_git::exclude(&self.root, &["db.sqlite*", "local/"]);
        let config = format!(
            "# Settings of this project's Pensa store. Commit this file: clones know the store by its id.\n\
             store_id = \"{id}\"\n"
        );
        write_once(&self.config(), &config)
    }

    /// Refuses a directory that is named like a store but contains none.
    pub(crate) fn refuse_empty(&self) -> Result<()> {
        if self.config().exists() || self.has_jsonl() {
            return Ok(());
        }
        Err(Error::new(Code::NoStore, format!("{} is not a store", self.root.display())).hint("pn init makes it one"))
    }

    /// Whether any of the JSONL files exists.
    pub(crate) fn has_jsonl(&self) -> bool {
        COLLECTIONS.iter().any(|collection| self.root.join(collection.file_name()).exists())
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The project a store belongs to.
    pub fn project_dir(&self) -> &Path {
        match self.root.file_name() {
            Some(name) if name == Self::NAME => self.root.parent().unwrap_or(&self.root),
            _ => &self.root,
        }
    }

    pub fn config(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// The user's own settings for this project.
    pub fn local_config(&self) -> PathBuf {
        self.root.join("local/config.toml")
    }

    pub fn database(&self) -> PathBuf {
        self.root.join("db.sqlite")
    }

    /// Identifies the current database file; `None` if it is missing or empty. Includes the creation time, because
    /// inode numbers are reused.
    pub(crate) fn database_file(&self) -> Option<FileId> {
        let meta = fs::metadata(self.database()).ok().filter(|meta| meta.len() > 0)?;
        let born = meta.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let nanos = born.and_then(|born| u64::try_from(born.as_nanos()).ok());
        Some([meta.dev(), meta.ino(), nanos.unwrap_or_default()])
    }

    /// The file with the secret that lets other users and machines call the daemon.
    pub fn token(&self) -> PathBuf {
        self.root.join("local/token")
    }

    /// The directories where the merge driver leaves notes for the next import: in the store, and in git's directory
    /// for merges that ran while the store was not checked out.
    pub(crate) fn driver_notes(&self) -> impl Iterator<Item = PathBuf> {
        let project = self.project_dir();
        let in_git = WorkTree::of(project)
            .and_then(|around| Some(driver_notes::dir(&around.common, project.strip_prefix(&around.top).ok()?)));
        iter::once(self.root.join("local/conflicts")).chain(in_git)
    }

    /// Writes the conflicts of a merge for the next import.
    pub fn write_driver_notes(&self, conflicts: &[Conflict]) -> Result<()> {
        driver_notes::write(&self.local_dir("conflicts")?, conflicts)
    }

    /// The marker file for a database that had a read error. The next process that opens the database checks it
    /// thoroughly.
    pub(crate) fn damage_marker(&self) -> PathBuf {
        self.root.join("local/damaged")
    }

    /// Free bytes on the store's disk, or on the journal's disk if that has fewer. `None` if the file system does not
    /// report it.
    pub(crate) fn free_space(&self) -> Option<u64> {
        let elsewhere = self.durable.as_deref().and_then(free_space);
        free_space(&self.root).map(|free| free.min(elsewhere.unwrap_or(u64::MAX)))
    }

    pub(crate) fn writer_lock(&self) -> PathBuf {
        self.durable().join(writer_lock::FILE)
    }

    /// Returns a directory below `local/`, created if needed.
    pub fn local_dir(&self, name: &str) -> Result<PathBuf> {
        let local = own_dir(self.local())?;
        if name.is_empty() { Ok(local) } else { own_dir(local.join(name)) }
    }

    /// Refuses a journal and backups that came with the repository.
    pub(crate) fn refuse_foreign_journal(&self) -> Result<()> {
        self.refuse_tracked(&self.durable())
    }

    /// Refuses a directory that git tracks: its content may have been written by anybody.
    pub(crate) fn refuse_tracked(&self, dir: &Path) -> Result<()> {
        // For a directory outside the store, ask the repository around that directory.
        let project = if dir.starts_with(&self.root) { self.project_dir() } else { dir.parent().unwrap_or(dir) };
        if !pensa_git::is_tracked(project, dir) {
            return Ok(());
        }
        Err(Error::new(
            Code::Forbidden,
            format!("{} is tracked by git, so nothing is recovered from it", dir.display()),
        )
        .hint("remove it from the repository; what it holds may come from somebody else"))
    }

    /// Refuses a database that git tracks: anybody who can change the repository could have written it.
    pub(crate) fn refuse_tracked_database(&self) -> Result<()> {
        let Some(name) = tracked::tracked_database(&self.root, &self.root.join("local/git-index")) else {
            return Ok(());
        };
        let message =
            format!("{} is tracked by git, so it may come from somebody else", self.root.join(name).display());
        Err(Error::new(Code::Forbidden, message).hint(
            "git rm --cached takes it out of the repository; if it came with a clone, move it away too: the store is \
             rebuilt from the JSONL files",
        ))
    }

    /// The id by which clones of a project know that they mean the same store.
    pub fn id(&self) -> Result<String> {
        let path = self.config();
        let (bytes, _) = read_committed(&path, MAX_CONFIG)?
            .ok_or_else(|| error::io("read", &path, &io::ErrorKind::NotFound.into()))?;
        let doc: DocumentMut = String::from_utf8_lossy(&bytes)
            .parse()
            .map_err(|e| Error::invalid(format!("{}: {e}", path.display())).hint("mend the file by hand"))?;
        match doc.get("store_id").and_then(|id| id.as_str()) {
            Some(id) if !id.is_empty() => Ok(id.to_owned()),
            _ => Err(Error::invalid(format!("{} has no store_id", path.display())).hint("restore the file from git")),
        }
    }

    /// Opens a file for writing, readable by its owner only, created if needed; refuses links.
    pub(crate) fn open_private(path: &Path) -> io::Result<File> {
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(path)
    }

    /// Opens a file for reading; refuses links, and does not block on a FIFO.
    pub(crate) fn open_plain(path: &Path) -> io::Result<File> {
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
    }

    /// The secret in [`token`](Self::token), created on first use. Error if git tracks the file, because then it is not
    /// secret.
    pub fn token_secret(&self) -> Result<String> {
        self.local_dir("")?;
        if pensa_git::is_tracked(self.project_dir(), &self.token()) {
            return Err(Error::new(Code::Forbidden, format!("{} is tracked by git", self.token().display()))
                .hint("remove it from the repository: anyone who can read it could use this daemon"));
        }
        write_once(&self.token(), &format!("pensa_{}{}\n", Uuid::new_v4().simple(), Uuid::new_v4().simple()))?;
        let text = fs::read_to_string(self.token()).map_err(|e| error::io("read", &self.token(), &e))?;
        Ok(text.trim().to_owned())
    }
}

/// The error for a handle whose database file was replaced or moved: the store must be opened again.
pub(crate) fn replaced() -> Error {
    Error::new(Code::Busy, "the database was replaced by another").hint("try again")
}

/// Returns a directory that only its owner can access, created if needed.
fn own_dir(path: PathBuf) -> Result<PathBuf> {
    match private_dir(&path) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            refuse_link(&path)?;
            make_private(&path)?;
        }
        Err(e) => return Err(error::io("create", &path, &e)),
    }
    Ok(path)
}

fn private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// Removes the permissions of group and others: a clone creates directories with the usual permissions.
fn make_private(path: &Path) -> Result<()> {
    let inspect = |e: io::Error| error::io("inspect", path, &e);
    let mode = fs::metadata(path).map_err(inspect)?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(|e| error::io("protect", path, &e))
}

/// Free bytes on the disk of a path; `None` if the file system does not report it.
pub(crate) fn free_space(path: &Path) -> Option<u64> {
    rustix::fs::statvfs(path).ok().map(|fs| fs.f_bavail.saturating_mul(fs.f_frsize))
}

pub(crate) fn refuse_link(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_symlink() => {
            Err(Error::invalid(format!("{} is a symbolic link", path.display()))
                .hint("a store's files must be its own"))
        }
        _ => Ok(()),
    }
}

/// Writes a file atomically unless it exists. Returns whether it was written.
pub(crate) fn write_once(path: &Path, text: &str) -> Result<bool> {
    if fs::symlink_metadata(path).is_ok() {
        return refuse_link(path).map(|()| false);
    }
    let failed = |e: io::Error| error::io("write", path, &e);
    let draft = path.with_extension(format!("tmp-{}", Uuid::new_v4().simple()));
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        match fs::hard_link(&draft, path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            linked => linked.map(|()| true),
        }
    })();
    let _ = fs::remove_file(&draft);
    written.map_err(failed)
}

/// Refuses network file systems: SQLite's locks and shared memory do not work across machines, and the database would
/// be damaged sooner or later.
#[cfg(target_os = "linux")]
fn refuse_network_file_system(root: &Path) -> Result<()> {
    const KINDS: [(i64, &str); 5] = [
        (0x6969, "nfs"),
        (0xFF53_4D42, "cifs"),
        (0xFE53_4D42, "smb"),
        (0x0102_1997, "9p"),
        (0x6573_5546, "fuse or virtiofs"),
    ];
    let stat = rustix::fs::statfs(root).map_err(|e| error::io("inspect", root, &e.into()))?;
    let kind = stat.f_type as i64;
    match KINDS.iter().find(|(magic, _)| *magic == kind) {
        None => Ok(()),
        Some((_, name)) => Err(Error::new(
            Code::Unsupported,
            format!("{} is on a network or virtual file system ({name})", root.display()),
        )
        .hint("run pn daemon on the machine that holds the files and set PN_DAEMON to its address")),
    }
}

#[cfg(not(target_os = "linux"))]
fn refuse_network_file_system(_: &Path) -> Result<()> {
    Ok(())
}

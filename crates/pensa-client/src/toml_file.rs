//! Reads and atomically replaces TOML files that several processes share.

use std::fs::{self, DirBuilder, File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use pensa_core::{Code, Error, Result};
use pensa_git::open_committed;
use toml_edit::{Document, DocumentMut, TomlError};

/// How often a change tries to lock the directory, and the delay between attempts.
const LOCK_ATTEMPTS: u32 = 100;
const LOCK_RETRY_DELAY: Duration = Duration::from_millis(20);
/// Size limit; no settings file written by hand is larger.
const MAX_BYTES: u64 = 1 << 20;

/// Permissions, and whether symbolic links are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FilePolicy {
    /// Readable by its owner only; symbolic links are refused
    Secret,
    /// Part of a store: symbolic links are refused, so that none leads out of it
    Store,
    /// The user's own file: a symbolic link, for example to a dotfiles repository, is followed
    User,
    /// For all users of this machine; symbolic links are followed
    System,
}

#[derive(Debug, Clone)]
pub(crate) struct TomlFile {
    path: PathBuf,
    policy: FilePolicy,
}

impl TomlFile {
    pub(crate) fn new(path: PathBuf, policy: FilePolicy) -> Self {
        Self { path, policy }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Parses the file, keeping the positions of values; `None` if it does not exist.
    pub(crate) fn read(&self) -> Result<Option<Document<String>>> {
        self.text()?.map(|text| self.parse(text)).transpose()
    }

    pub(crate) fn parse(&self, text: String) -> Result<Document<String>> {
        Document::parse(text.clone()).map_err(|e| self.syntax_error(&text, &e))
    }

    /// Reads, changes and replaces the file, while other processes wait, so that no change is lost.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut DocumentMut) -> Result<T>) -> Result<T> {
        self.change_text(|text| {
            let mut doc = self.parse(text.to_owned())?.into_mut();
            let answer = change(&mut doc)?;
            Ok((doc.to_string(), answer))
        })
    }

    /// Like [`change`](Self::change), on the text itself.
    pub(crate) fn change_text<T>(&self, change: impl FnOnce(&str) -> Result<(String, T)>) -> Result<T> {
        // Replace the file that a link points to, not the link.
        let real = if self.follows_links() { self.path.canonicalize().ok() } else { None };
        let real = real.as_deref().unwrap_or(&self.path);
        let dir = real.parent().unwrap_or(Path::new("/"));
        self.create_dir(dir)?;
        let _lock = self.lock_dir(dir)?;
        let old = self.text()?;
        let (new, answer) = change(old.as_deref().unwrap_or_default())?;
        if old.as_ref() != Some(&new) {
            self.replace(real, dir, &new).map_err(|e| self.failed("write", &e))?;
        }
        Ok(answer)
    }

    fn follows_links(&self) -> bool {
        matches!(self.policy, FilePolicy::User | FilePolicy::System)
    }

    fn text(&self) -> Result<Option<String>> {
        let Some((file, meta)) = self.open()? else { return Ok(None) };
        if self.policy == FilePolicy::Secret && meta.mode() & 0o077 != 0 {
            return Err(Error::new(Code::Forbidden, format!("others can read {}", self.path.display()))
                .hint(format!("chmod 600 '{}'; its tokens may be known to others by now", self.path.display())));
        }
        let mut text = String::new();
        match file.take(MAX_BYTES + 1).read_to_string(&mut text) {
            Ok(read) if read as u64 > MAX_BYTES => {
                let message = format!("{} is too large: at most {MAX_BYTES} bytes", self.path.display());
                Err(Error::new(Code::TooLarge, message))
            }
            Ok(_) => Ok(Some(text)),
            Err(e) if e.kind() == io::ErrorKind::InvalidData => {
                Err(Error::invalid(format!("{} is not UTF-8", self.path.display())).hint("mend the file by hand"))
            }
            Err(e) => Err(self.failed("read", &e)),
        }
    }

    fn open(&self) -> Result<Option<(File, Metadata)>> {
        if !self.follows_links() {
            self.path.parent().map_or(Ok(()), refuse_link)?;
            return open_committed(&self.path);
        }
        let meta = match fs::metadata(&self.path) {
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(None),
            meta => meta.map_err(|e| self.failed("inspect", &e))?,
        };
        if !meta.is_file() {
            return Err(Error::invalid(format!("{} is not a file", self.path.display())).hint("move it away"));
        }
        File::open(&self.path).map(|file| Some((file, meta))).map_err(|e| self.failed("read", &e))
    }

    fn syntax_error(&self, text: &str, e: &TomlError) -> Error {
        let line = e.span().map_or(1, |span| line_of(text, span.start));
        // The parser's message may quote a token.
        let why = if self.policy == FilePolicy::Secret {
            String::new()
        } else {
            format!(": {}", e.message().lines().collect::<Vec<_>>().join(", "))
        };
        let message = format!("{}: line {line} is not TOML{why}", self.path.display());
        Error::invalid(message).hint("mend the file by hand")
    }

    fn create_dir(&self, dir: &Path) -> Result<()> {
        let mode = if self.policy == FilePolicy::System { 0o755 } else { 0o700 };
        let created = (|| {
            if self.policy == FilePolicy::Secret {
                refuse_link(dir)?;
            }
            DirBuilder::new().recursive(true).mode(mode).create(dir).map_err(|e| self.failed("make", &e))?;
            if self.policy == FilePolicy::Secret {
                let private = fs::Permissions::from_mode(mode);
                fs::set_permissions(dir, private).map_err(|e| self.failed("protect", &e))?;
            }
            Ok(())
        })();
        created.map_err(|e: Error| e.within(dir.display()))
    }

    /// Locks the directory, because the file itself is replaced.
    fn lock_dir(&self, dir: &Path) -> Result<File> {
        let dir = File::open(dir).map_err(|e| self.failed("open", &e))?;
        for _ in 0..LOCK_ATTEMPTS {
            match dir.try_lock() {
                Ok(()) => return Ok(dir),
                Err(fs::TryLockError::WouldBlock) => thread::sleep(LOCK_RETRY_DELAY),
                Err(fs::TryLockError::Error(e)) => return Err(self.failed("lock", &e)),
            }
        }
        Err(Error::new(Code::Busy, format!("{} is being changed", self.path.display())).hint("try again"))
    }

    /// Replaces the file atomically: readers, and a crash, see either the old or the new content.
    fn replace(&self, real: &Path, dir: &Path, text: &str) -> io::Result<()> {
        let mode = match (self.policy, fs::metadata(real)) {
            (FilePolicy::Secret, _) => 0o600,
            (_, Ok(meta)) => meta.mode() & 0o777,
            (FilePolicy::System, Err(_)) => 0o644,
            (_, Err(_)) => 0o600,
        };
        // `pn doctor` recognises leftover files by this name.
        let name = format!("{}.tmp-", real.file_name().unwrap_or_default().to_string_lossy());
        let mut temporary = tempfile::Builder::new().prefix(&name).tempfile_in(dir)?;
        temporary.as_file().set_permissions(fs::Permissions::from_mode(mode))?;
        temporary.write_all(text.as_bytes())?;
        temporary.as_file().sync_all()?;
        temporary.persist(real)?;
        File::open(dir)?.sync_all()
    }

    fn failed(&self, what: &str, e: &io::Error) -> Error {
        let code = match e.kind() {
            io::ErrorKind::StorageFull => Code::DiskFull,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Code::Forbidden,
            _ => Code::Internal,
        };
        Error::new(code, format!("cannot {what} {}: {e}", self.path.display()))
    }
}

/// The line number of a byte offset, from 1.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

/// Refuses a symbolic link, which could lead into a repository or out of it.
fn refuse_link(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_symlink() => {
            Err(Error::invalid(format!("{} is a symbolic link", path.display())).hint("put the real one there"))
        }
        _ => Ok(()),
    }
}

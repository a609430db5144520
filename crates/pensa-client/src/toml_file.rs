//! A TOML file that several processes read and change: read whole, replaced whole.
//!
//! What stands in it is left to whoever keeps it.

use std::fs::{self, DirBuilder, File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use pensa_core::{Code, Error, Result};
use pensa_git::open_committed;
use toml_edit::{Document, DocumentMut, TomlError};

/// How often, and how long each time, a change waits for another one to end.
const TURNS: u32 = 100;
const TURN: Duration = Duration::from_millis(20);
/// More than anybody writes by hand.
const MAX_BYTES: u64 = 1 << 20;

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nature {
    /// Nobody else may read it, and no link may lead it elsewhere
    Secret,
    /// Part of a store: no link may lead out of it
    Store,
    /// The user's own, who may keep the real file somewhere else
    User,
    /// For every user of this machine
    System,
}

#[derive(Debug, Clone)]
pub(crate) struct TomlFile {
    path: PathBuf,
    nature: Nature,
}

impl TomlFile {
    pub(crate) fn new(path: PathBuf, nature: Nature) -> Self {
        Self { path, nature }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What stands in it, with the place of everything, if it is there.
    pub(crate) fn read(&self) -> Result<Option<Document<String>>> {
        self.text()?.map(|text| self.parse(text)).transpose()
    }

    pub(crate) fn parse(&self, text: String) -> Result<Document<String>> {
        Document::parse(text.clone()).map_err(|e| self.not_toml(&text, &e))
    }

    /// Reads, changes and replaces the file; changes of other processes wait, so that none is lost.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut DocumentMut) -> Result<T>) -> Result<T> {
        self.change_text(|text| {
            let mut doc = self.parse(text.to_owned())?.into_mut();
            let answer = change(&mut doc)?;
            Ok((doc.to_string(), answer))
        })
    }

    /// The same for a change of the text itself.
    pub(crate) fn change_text<T>(&self, change: impl FnOnce(&str) -> Result<(String, T)>) -> Result<T> {
        // A link of the user's own is followed: it is the real file that is replaced.
        let real = if self.follows_links() { self.path.canonicalize().ok() } else { None };
        let real = real.as_deref().unwrap_or(&self.path);
        let dir = real.parent().unwrap_or(Path::new("/"));
        self.make_dir(dir)?;
        let _turn = self.wait_for_turn(dir)?;
        let old = self.text()?;
        let (new, answer) = change(old.as_deref().unwrap_or_default())?;
        if old.as_ref() != Some(&new) {
            self.replace(real, dir, &new).map_err(|e| self.failed("write", &e))?;
        }
        Ok(answer)
    }

    fn follows_links(&self) -> bool {
        matches!(self.nature, Nature::User | Nature::System)
    }

    fn text(&self) -> Result<Option<String>> {
        let Some((file, meta)) = self.open()? else { return Ok(None) };
        if self.nature == Nature::Secret && meta.mode() & 0o077 != 0 {
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

    fn not_toml(&self, text: &str, e: &TomlError) -> Error {
        let line = e.span().map_or(1, |span| line_of(text, span.start));
        // The parser's own words can quote what stands there, and that may be a token.
        let why = if self.nature == Nature::Secret {
            String::new()
        } else {
            format!(": {}", e.message().lines().collect::<Vec<_>>().join(", "))
        };
        let message = format!("{}: line {line} is not TOML{why}", self.path.display());
        Error::invalid(message).hint("mend the file by hand")
    }

    fn make_dir(&self, dir: &Path) -> Result<()> {
        let mode = if self.nature == Nature::System { 0o755 } else { 0o700 };
        let made = (|| {
            if self.nature == Nature::Secret {
                refuse_link(dir)?;
            }
            DirBuilder::new().recursive(true).mode(mode).create(dir).map_err(|e| self.failed("make", &e))?;
            if self.nature == Nature::Secret {
                let private = fs::Permissions::from_mode(mode);
                fs::set_permissions(dir, private).map_err(|e| self.failed("protect", &e))?;
            }
            Ok(())
        })();
        made.map_err(|e: Error| e.within(dir.display()))
    }

    /// A lock on the directory: the file itself is replaced.
    fn wait_for_turn(&self, dir: &Path) -> Result<File> {
        let dir = File::open(dir).map_err(|e| self.failed("open", &e))?;
        for _ in 0..TURNS {
            match dir.try_lock() {
                Ok(()) => return Ok(dir),
                Err(fs::TryLockError::WouldBlock) => thread::sleep(TURN),
                Err(fs::TryLockError::Error(e)) => return Err(self.failed("lock", &e)),
            }
        }
        Err(Error::new(Code::Busy, format!("{} is being changed", self.path.display())).hint("try again"))
    }

    /// Whoever reads meanwhile sees the old file or the new one, and a crash leaves one of the two.
    fn replace(&self, real: &Path, dir: &Path, text: &str) -> io::Result<()> {
        let mode = match (self.nature, fs::metadata(real)) {
            (Nature::Secret, _) => 0o600,
            (_, Ok(meta)) => meta.mode() & 0o777,
            (Nature::System, Err(_)) => 0o644,
            (_, Err(_)) => 0o600,
        };
        // By this name `pn doctor` knows one that a crash has left.
        let name = format!("{}.tmp-", real.file_name().unwrap_or_default().to_string_lossy());
        let mut draft = tempfile::Builder::new().prefix(&name).tempfile_in(dir)?;
        draft.as_file().set_permissions(fs::Permissions::from_mode(mode))?;
        draft.write_all(text.as_bytes())?;
        draft.as_file().sync_all()?;
        draft.persist(real)?;
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

/// The line that a place in a text is on, counted from 1.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

/// A link could lead into a repository, or out of it.
fn refuse_link(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_symlink() => {
            Err(Error::invalid(format!("{} is a symbolic link", path.display())).hint("put the real one there"))
        }
        _ => Ok(()),
    }
}

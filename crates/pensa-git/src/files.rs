//! Small files that are replaced whole or not at all.
//!
//! What stands in them is left to the callers.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use pensa_core::{Code, Error, Result, error};
use uuid::Uuid;

/// Largest file that is looked into; what is larger is no hook and no list of rules.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// How the names of drafts begin.
const DRAFT: &str = ".pensa-draft-";

/// A file that is there and small enough to read; none if there is no such file.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    let meta = match fs::metadata(path) {
        Ok(meta) => meta,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(error::io("read", path, &e)),
    };
    if !meta.is_file() {
        return Err(Error::invalid(format!("{} is not a file", path.display())).hint("move it away and try again"));
    }
    if meta.len() > MAX_BYTES {
        return Err(Error::new(Code::TooLarge, format!("{} is too large to look into", path.display())));
    }
    fs::read(path).map(Some).map_err(|e| error::io("read", path, &e))
}

/// The same for a file of text that is to be changed, and so must not be a link to somewhere else.
pub fn read_text(path: &Path) -> Result<Option<String>> {
    if fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink()) {
        return Err(Error::invalid(format!("{} is a symbolic link", path.display()))
            .hint("git does not follow it; make it a file"));
    }
    let Some(bytes) = read(path)? else { return Ok(None) };
    String::from_utf8(bytes).map(Some).map_err(|_| Error::invalid(format!("{} is not UTF-8", path.display())))
}

/// Puts a file in place of whatever has its name. The draft lies beside it: a rename can't leave the file system.
pub fn replace(path: &Path, bytes: &[u8], mode: Option<u32>) -> Result<()> {
    let dir = path.parent().unwrap_or(path);
    let draft = dir.join(format!("{DRAFT}{}.tmp", Uuid::new_v4().simple()));
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).open(&draft)?;
        file.write_all(bytes)?;
        if let Some(mode) = mode {
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        file.sync_all()?;
        fs::rename(&draft, path)?;
        File::open(dir)?.sync_all()
    })();
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written.map_err(|e: io::Error| match error::io("write", path, &e) {
        // It is one of several that belong together.
        full if full.code == Code::DiskFull => full.hint("free some space and do it again"),
        other => other,
    })
}

/// Replaces a text if it is to be another, and keeps its mode; no text means no file. Says whether anything changed.
pub fn settle(path: &Path, old: Option<&str>, new: Option<&str>) -> Result<bool> {
    match (old, new) {
        (old, new) if old == new => return Ok(false),
        (_, None) => fs::remove_file(path).map_err(|e| error::io("delete", path, &e))?,
        (_, Some(text)) => {
            let mode = fs::metadata(path).ok().map(|meta| meta.permissions().mode() & 0o7777);
            replace(path, text.as_bytes(), mode)?;
        }
    }
    Ok(true)
}

/// Deletes the drafts in a directory, for whoever knows that nobody is writing one.
pub fn delete_drafts(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with(DRAFT) && name.ends_with(".tmp")) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

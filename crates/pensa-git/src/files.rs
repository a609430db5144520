//! Reads small files and replaces them atomically.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use pensa_core::{Code, Error, Result, error};
use uuid::Uuid;

/// Hooks and ignore files are never larger than this.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

const DRAFT_PREFIX: &str = ".pensa-draft-";

/// Reads a small regular file; `None` if it does not exist.
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

/// Reads a text file that will be edited; refuses a symbolic link.
pub fn read_text(path: &Path) -> Result<Option<String>> {
    if fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink()) {
        return Err(Error::invalid(format!("{} is a symbolic link", path.display()))
            .hint("git does not follow it; make it a file"));
    }
    let Some(bytes) = read(path)? else { return Ok(None) };
    String::from_utf8(bytes).map(Some).map_err(|_| Error::invalid(format!("{} is not UTF-8", path.display())))
}

/// Writes a file atomically. The temporary file is in the same directory, because a rename cannot cross file systems.
pub fn replace(path: &Path, bytes: &[u8], mode: Option<u32>) -> Result<()> {
    let dir = path.parent().unwrap_or(path);
    let draft = dir.join(format!("{DRAFT_PREFIX}{}.tmp", Uuid::new_v4().simple()));
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
        // The caller writes several files, so the hint covers all of them.
        full if full.code == Code::DiskFull => full.hint("free some space and do it again"),
        other => other,
    })
}

/// Writes or deletes a text file if its content differs, keeping its mode. Returns whether anything changed.
pub fn write_if_changed(path: &Path, old: Option<&str>, new: Option<&str>) -> Result<bool> {
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

/// Deletes leftover temporary files. Call it only while holding a lock against other writers.
pub fn delete_drafts(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with(DRAFT_PREFIX) && name.ends_with(".tmp")) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

//! Appends to the record files: each collection as JSON lines in `local/taskstore`.
//!
//! The process that holds the writer lock appends to them before it appends to the journal, so they are current
//! whenever the journal is. The content of the lines is in `taskstore`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use pensa_core::Result;

use super::StoreDir;
use crate::error;

pub(crate) const DIR: &str = "taskstore";
/// The file that lists indexed fields. No collection can have this name.
pub(crate) const INDEXES: &str = "_indexes";
/// A marker file: the record files differ from the database.
pub(crate) const STALE: &str = "_stale";
/// Each time a file reaches this size, or twice it, four times it and so on, its share of outdated lines is checked.
pub(crate) const CHECK_SIZE: u64 = 16 << 20;

pub(crate) fn dir(store: &StoreDir) -> PathBuf {
    store.root().join("local").join(DIR)
}

pub(crate) fn open(path: &Path, create: bool) -> io::Result<File> {
    let nofollow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    OpenOptions::new().read(true).append(true).create(create).mode(0o600).custom_flags(nofollow).open(path)
}

/// Appends lines to their files. Returns whether a file has reached the next size at which it should be checked.
pub(crate) fn append(store: &StoreDir, lines: &[(String, Vec<u8>)]) -> Result<bool> {
    let mut by_file: BTreeMap<&str, Cow<'_, [u8]>> = BTreeMap::new();
    for (name, piece) in lines {
        match by_file.get_mut(name.as_str()) {
            Some(pieces) => pieces.to_mut().extend_from_slice(piece),
            None => drop(by_file.insert(name, Cow::Borrowed(piece))),
        }
    }
    let dir = store.local_dir(DIR)?;
    let mut has_grown = false;
    for (name, bytes) in by_file {
        let path = dir.join(format!("{name}.jsonl"));
        let appended = append_to(&path, &bytes).map_err(|e| error::io("write", &path, &e));
        has_grown |= appended?;
    }
    Ok(has_grown)
}

fn append_to(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let mut file = open(path, true)?;
    let before = file.metadata()?.len();
    if before > 0 {
        let mut last = [0];
        file.seek(SeekFrom::Start(before - 1))?;
        file.read_exact(&mut last)?;
        // Terminate a torn last line, so that it does not damage ours.
        if last != *b"\n" {
            file.write_all(b"\n")?;
        }
    }
    file.write_all(bytes)?;
    let steps = |bytes: u64| (bytes / CHECK_SIZE).checked_ilog2();
    Ok(steps(before + bytes.len() as u64) > steps(before))
}

/// Marks the files as out of date. Returns whether the marker could be written.
pub(crate) fn mark_stale(store: &StoreDir) -> bool {
    store.local_dir(DIR).is_ok_and(|dir| StoreDir::open_private(&dir.join(STALE)).is_ok())
}

/// Whether the files are marked as out of date.
pub(crate) fn is_stale(store: &StoreDir) -> bool {
    dir(store).join(STALE).exists()
}

/// Whether there are no files at all.
pub(crate) fn is_missing(store: &StoreDir) -> bool {
    !dir(store).exists()
}

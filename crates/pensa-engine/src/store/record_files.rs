//! The files of records, by name and bytes: each collection as lines of JSON in `local/taskstore`.
//!
//! Whoever holds the writer's ticket appends to them before the journal, so that they are in step with the database
//! whenever the journal is. What is in them is left to `taskstore`.

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
/// Which fields have an index. No collection has such a name.
pub(crate) const INDEXES: &str = "_indexes";
/// Says that the files are not what the database has.
pub(crate) const STALE: &str = "_stale";
/// A file that has grown to this, and then to twice of it and so on, is worth a look whether most of it is old.
pub(crate) const WORTH_A_LOOK: u64 = 16 << 20;

pub(crate) fn dir(store: &StoreDir) -> PathBuf {
    store.root().join("local").join(DIR)
}

pub(crate) fn open(path: &Path, create: bool) -> io::Result<File> {
    let nofollow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    OpenOptions::new().read(true).append(true).create(create).mode(0o600).custom_flags(nofollow).open(path)
}

/// Appends lines to the files that they are for; says whether one has grown so large that it is worth a look.
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
        // What somebody else tore off must not take our line with it.
        if last != *b"\n" {
            file.write_all(b"\n")?;
        }
    }
    file.write_all(bytes)?;
    let steps = |bytes: u64| (bytes / WORTH_A_LOOK).checked_ilog2();
    Ok(steps(before + bytes.len() as u64) > steps(before))
}

/// Notes that the files are not what the database has; says whether that is known now.
pub(crate) fn mark_stale(store: &StoreDir) -> bool {
    store.local_dir(DIR).is_ok_and(|dir| StoreDir::open_private(&dir.join(STALE)).is_ok())
}

/// Whether the files are known to be wrong.
pub(crate) fn is_stale(store: &StoreDir) -> bool {
    dir(store).join(STALE).exists()
}

/// Whether there are no files at all.
pub(crate) fn is_missing(store: &StoreDir) -> bool {
    !dir(store).exists()
}

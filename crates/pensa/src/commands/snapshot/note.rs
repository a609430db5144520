//! Notes on unfinished work: contents that may have no record in the store.
//!
//! A note is a file next to the contents. It is written and locked before a content is created or its record is deleted,
//! and deleted when record and content agree again. The working process and the programs it starts hold the lock, so it
//! ends with the last of them. An unlocked note therefore means interrupted work, and one rule finishes it: if the store
//! has the record, the content is complete, because it was written first; if not, the content is deleted.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use pensa_core::id::SnapshotId;
use pensa_core::snapshot::Provider;
use pensa_core::{Error, Result, json};
use rustix::io::FdFlags;
use serde::{Deserialize, Serialize};

const PREFIX: &str = ".note.";

/// The most bytes of a note: two paths and some short fields.
const MAX_BYTES: u64 = 64 * 1024;

/// Identifies a content: all that is needed to delete it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ContentId {
    pub(super) id: SnapshotId,
    /// The store of its record: one directory has the contents of several stores
    pub(super) store_id: String,
    pub(super) host: String,
    pub(super) provider: Provider,
    pub(super) root: String,
    /// The main work tree, in case a linked one is gone
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) repo_root: Option<String>,
}

/// A note that this process has locked.
#[derive(Debug)]
pub(super) struct ContentNote {
    path: PathBuf,
    file: File,
}

impl ContentNote {
    /// Writes a note before work begins; `None` if the content has one already.
    pub(super) fn create(data: &Path, content: &ContentId) -> Result<Option<Self>> {
        let path = data.join(format!("{PREFIX}{}", content.id));
        let failed = |e: io::Error| Error::internal(format!("cannot write {}: {e}", path.display()));
        loop {
            let opened = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path);
            let file = match opened {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
                opened => opened.map_err(failed)?,
            };
            file.lock().map_err(failed)?;
            let mut note = Self { path: path.clone(), file };
            // Before the lock, another process may have taken it as abandoned and deleted it.
            if !note.is_current() {
                continue;
            }
            note.write(content).map_err(failed)?;
            return Ok(Some(note));
        }
    }

    /// Locks and returns the notes of interrupted work.
    pub(super) fn take_abandoned(data: &Path) -> Vec<Self> {
        let entries = fs::read_dir(data).into_iter().flatten().flatten();
        let is_note = |name: &std::ffi::OsStr| name.to_str().is_some_and(|name| name.starts_with(PREFIX));
        entries.filter(|entry| is_note(&entry.file_name())).filter_map(|entry| Self::take_over(entry.path())).collect()
    }

    fn take_over(path: PathBuf) -> Option<Self> {
        let file = OpenOptions::new().read(true).write(true).open(&path).ok()?;
        file.try_lock().ok()?;
        let note = Self { path, file };
        note.is_current().then_some(note)
    }

    /// Whether the path still names this file.
    fn is_current(&self) -> bool {
        let identity = |meta: fs::Metadata| (meta.dev(), meta.ino());
        let named = fs::symlink_metadata(&self.path).ok().map(identity);
        named.is_some() && named == self.file.metadata().ok().map(identity)
    }

    fn write(&mut self, content: &ContentId) -> io::Result<()> {
        let document = json::to_document(content).map_err(io::Error::other)?;
        self.file.write_all(document.as_bytes())?;
        self.file.sync_all()?;
        // Clear close-on-exec, so that programs started from here on keep the lock if they outlive us.
        Ok(rustix::io::fcntl_setfd(&self.file, FdFlags::empty())?)
    }

    /// Reads the note; `None` if it was cut off while written, which is before any work began.
    pub(super) fn content_id(&mut self) -> Option<ContentId> {
        let mut text = String::new();
        self.file.rewind().ok()?;
        (&mut self.file).take(MAX_BYTES).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Deletes the note: record and content agree.
    pub(super) fn done(self) {
        // If this fails, the next command deletes it.
        let _ = fs::remove_file(&self.path);
    }
}

/// Remembers in which tree each snapshot of this machine was taken. The record names a tree too, but anybody may have
/// written it, and git is run in that tree.
#[derive(Debug)]
pub(super) struct Origins(PathBuf);

impl Origins {
    pub(super) fn next_to(data: &Path) -> Self {
        Self(data.with_file_name("snapshot-origins"))
    }

    fn file(&self, id: &SnapshotId) -> PathBuf {
        self.0.join(format!("{id}.json"))
    }

    /// Adds a snapshot that is about to be taken.
    pub(super) fn add(&self, content: &ContentId) -> Result<()> {
        let path = self.file(&content.id);
        let failed = |e: io::Error| Error::internal(format!("cannot write {}: {e}", path.display()));
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0).map_err(failed)?;
        let document = json::to_document(content)?;
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path).map_err(failed)?;
        file.write_all(document.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)
    }

    pub(super) fn get(&self, id: &SnapshotId) -> Option<ContentId> {
        let mut text = String::new();
        File::open(self.file(id)).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok().filter(|content: &ContentId| content.id == *id)
    }

    /// Removes a snapshot whose content is deleted.
    pub(super) fn remove(&self, id: &SnapshotId) {
        let _ = fs::remove_file(self.file(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content() -> ContentId {
        ContentId {
            id: "snap-1a2b3c4d".parse().expect("an id"),
            store_id: "s".into(),
            host: "box".into(),
            provider: Provider::Copy,
            root: "/r".into(),
            repo_root: None,
        }
    }

    #[test]
    fn a_note_is_abandoned_once_no_process_holds_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let held = ContentNote::create(dir.path(), &content()).expect("written").expect("new");
        assert!(ContentNote::create(dir.path(), &content()).expect("looked").is_none(), "there is one");
        assert!(ContentNote::take_abandoned(dir.path()).is_empty());
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("runs");
        drop(held);
        assert!(ContentNote::take_abandoned(dir.path()).is_empty(), "a child process still runs");
        child.kill().expect("killed");
        child.wait().expect("reaped");
        // Other tests of this process may have started programs just then.
        let mut note = pensa_testkit::eventually("the note", || ContentNote::take_abandoned(dir.path()).pop());
        assert_eq!(note.content_id(), Some(content()));
        note.done();
        assert!(ContentNote::take_abandoned(dir.path()).is_empty());
    }

    #[test]
    fn a_truncated_note_is_ignored() {
        let dir = tempfile::tempdir().expect("a directory");
        let whole = json::to_document(&content()).expect("JSON");
        for end in 0..whole.trim_end().len() {
            fs::write(dir.path().join(".note.snap-1a2b3c4d"), &whole[..end]).expect("written");
            assert_eq!(ContentNote::take_abandoned(dir.path()).remove(0).content_id(), None, "cut at {end}");
        }
    }
}

//! Notes on contents of which the store may know nothing.
//!
//! A note is a file beside the contents. It is there, whole and locked, before a content is begun or its record is
//! deleted, and goes when record and content agree again. The lock is held by the process that is at work and by the
//! programs it has started, and ends with the last of them. So a note that nobody holds tells of work that was stopped,
//! and one rule ends all such work: if the store has the record, the content is whole, for it came before; if it has
//! not, the content is nobody's and is deleted.

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
/// Most bytes of a note: two paths and some words.
const MAX_BYTES: u64 = 64 * 1024;

/// What a note says: all that is needed to delete a content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct About {
    pub(super) id: SnapshotId,
    /// The store that has or gets the record: contents of several servers lie in one directory
    pub(super) store_id: String,
    pub(super) host: String,
    pub(super) provider: Provider,
    pub(super) root: String,
    /// The main work tree, for when a linked one is gone
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) repo_root: Option<String>,
}

/// A note that this process holds.
#[derive(Debug)]
pub(super) struct Note {
    path: PathBuf,
    file: File,
}

impl Note {
    /// Leaves a note before work begins; none if a content of this name has one already.
    pub(super) fn leave(data: &Path, about: &About) -> Result<Option<Self>> {
        let path = data.join(format!("{PREFIX}{}", about.id));
        let failed = |e: io::Error| Error::internal(format!("cannot write {}: {e}", path.display()));
        loop {
            let opened = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path);
            let file = match opened {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
                opened => opened.map_err(failed)?,
            };
            file.lock().map_err(failed)?;
            let mut note = Self { path: path.clone(), file };
            // Before it was locked, somebody may have taken it for one that was left behind.
            if !note.is_in_place() {
                continue;
            }
            note.write(about).map_err(failed)?;
            return Ok(Some(note));
        }
    }

    /// The notes of work that was stopped, each held by us now.
    pub(super) fn left_behind(data: &Path) -> Vec<Self> {
        let entries = fs::read_dir(data).into_iter().flatten().flatten();
        let is_note = |name: &std::ffi::OsStr| name.to_str().is_some_and(|name| name.starts_with(PREFIX));
        entries.filter(|entry| is_note(&entry.file_name())).filter_map(|entry| Self::take_over(entry.path())).collect()
    }

    fn take_over(path: PathBuf) -> Option<Self> {
        let file = OpenOptions::new().read(true).write(true).open(&path).ok()?;
        file.try_lock().ok()?;
        let note = Self { path, file };
        note.is_in_place().then_some(note)
    }

    /// Whether the file is still the one of its name.
    fn is_in_place(&self) -> bool {
        let identity = |meta: fs::Metadata| (meta.dev(), meta.ino());
        let named = fs::symlink_metadata(&self.path).ok().map(identity);
        named.is_some() && named == self.file.metadata().ok().map(identity)
    }

    fn write(&mut self, about: &About) -> io::Result<()> {
        let document = json::to_document(about).map_err(io::Error::other)?;
        self.file.write_all(document.as_bytes())?;
        self.file.sync_all()?;
        // Programs that are started from here on keep the lock, should they outlive us.
        Ok(rustix::io::fcntl_setfd(&self.file, FdFlags::empty())?)
    }

    /// What it says; nothing if it was stopped while it was written, and so before any work began.
    pub(super) fn about(&mut self) -> Option<About> {
        let mut text = String::new();
        self.file.rewind().ok()?;
        (&mut self.file).take(MAX_BYTES).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Record and content agree.
    pub(super) fn done(self) {
        // If this fails, the next command finds that they agree.
        let _ = fs::remove_file(&self.path);
    }
}

/// Where the snapshots of this machine were taken, in a directory beside the contents. A record names a tree as well, but
/// anybody may have written it, and git is run in that tree.
#[derive(Debug)]
pub(super) struct Origins(PathBuf);

impl Origins {
    pub(super) fn beside(data: &Path) -> Self {
        Self(data.with_file_name("snapshot-origins"))
    }

    fn file(&self, id: &SnapshotId) -> PathBuf {
        self.0.join(format!("{id}.json"))
    }

    /// Notes a snapshot that is about to be taken.
    pub(super) fn add(&self, about: &About) -> Result<()> {
        let path = self.file(&about.id);
        let failed = |e: io::Error| Error::internal(format!("cannot write {}: {e}", path.display()));
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0).map_err(failed)?;
        let document = json::to_document(about)?;
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path).map_err(failed)?;
        file.write_all(document.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)
    }

    pub(super) fn get(&self, id: &SnapshotId) -> Option<About> {
        let mut text = String::new();
        File::open(self.file(id)).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok().filter(|about: &About| about.id == *id)
    }

    /// Forgets a snapshot whose content is gone.
    pub(super) fn remove(&self, id: &SnapshotId) {
        let _ = fs::remove_file(self.file(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about() -> About {
        About {
            id: "snap-1a2b3c4d".parse().expect("an id"),
            store_id: "s".into(),
            host: "box".into(),
            provider: Provider::Copy,
            root: "/r".into(),
            repo_root: None,
        }
    }

    #[test]
    fn a_note_is_found_only_once_nobody_holds_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let held = Note::leave(dir.path(), &about()).expect("written").expect("new");
        assert!(Note::leave(dir.path(), &about()).expect("looked").is_none(), "there is one");
        assert!(Note::left_behind(dir.path()).is_empty());
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("runs");
        drop(held);
        assert!(Note::left_behind(dir.path()).is_empty(), "a program that was started goes on");
        child.kill().expect("killed");
        child.wait().expect("reaped");
        // Other tests of this process may have started programs just then.
        let mut note = pensa_testkit::eventually("the note", || Note::left_behind(dir.path()).pop());
        assert_eq!(note.about(), Some(about()));
        note.done();
        assert!(Note::left_behind(dir.path()).is_empty());
    }

    #[test]
    fn a_note_that_was_cut_short_says_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let whole = json::to_document(&about()).expect("JSON");
        for end in 0..whole.trim_end().len() {
            fs::write(dir.path().join(".note.snap-1a2b3c4d"), &whole[..end]).expect("written");
            assert_eq!(Note::left_behind(dir.path()).remove(0).about(), None, "cut at {end}");
        }
    }
}

//! Writes the pages `now.md` and `next.md` in a store's `local/context`, for people and tools that read files.
//!
//! Once a user has requested them, the engine updates them after every commit of any process.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use pensa_core::issue::Issue;
use pensa_core::ops::issue::Ready;
use pensa_core::ops::work::{Current, List};
use pensa_core::work::{Work, WorkStatus, page};
use pensa_core::{Error, Result};
use pensa_git::read_committed;
use uuid::Uuid;

use crate::context::Context;
use crate::db::Tx;
use crate::error;
use crate::execute::Execute;
use crate::store::StoreDir;

const DIR: &str = "context";
const NOW: &str = "now.md";
const NEXT: &str = "next.md";
/// The file that names the actor whose work the pages show.
const READER: &str = "reader";
/// Locked while state is read and written, so that no older state replaces a newer one.
const LOCK: &str = "lock";
/// Limit for the issues on a page and for counted work.
const MAX_ISSUES: u32 = 100;
/// Size limit for a page whose user-written parts are kept.
const MAX_PAGE: u64 = 16 << 20;

/// The content of the pages.
#[derive(Debug)]
pub struct Pages {
    pub doing: Option<Work>,
    /// How much work is paused.
    pub paused: usize,
    pub done: usize,
    pub queue: Vec<Issue>,
}

impl Pages {
    /// The operations that read the content: the work of an actor in a state, and the queue.
    pub fn work_in(status: WorkStatus, actor: &str) -> List {
        List { status: Some(status), actor: Some(actor.to_owned()), limit: Some(MAX_ISSUES) }
    }

    pub fn queue() -> Ready {
        Ready { limit: Some(MAX_ISSUES), ..Ready::default() }
    }

    pub(crate) fn read(cx: &Context<'_>, tx: &Tx<'_>, actor: &str) -> Result<Self> {
        let count = |status| Self::work_in(status, actor).execute(cx, tx).map(|work| work.len());
        Ok(Self {
            doing: Current { actor: actor.to_owned(), issue: None }.execute(cx, tx)?,
            paused: count(WorkStatus::Paused)?,
            done: count(WorkStatus::Done)?,
            queue: Self::queue().execute(cx, tx)?,
        })
    }
}

/// Whether the store has pages to update.
pub fn are_enabled(store: &StoreDir) -> bool {
    store.root().join("local").join(DIR).join(NOW).exists()
}

/// Writes the pages for `actor` and remembers the actor.
pub fn write(store: &StoreDir, actor: &str, read: impl FnOnce(&str) -> Result<Pages>) -> Result<Vec<PathBuf>> {
    let dir = store.local_dir(DIR)?;
    locked(&dir, || {
        replace(&dir.join(READER), actor)?;
        write_pages(&dir, read(actor)?)
    })
}

/// Updates the pages after a change by `actor`, still for the actor who requested them.
pub fn refresh(store: &StoreDir, actor: &str, read: impl FnOnce(&str) -> Result<Pages>) -> Result<()> {
    let dir = store.local_dir(DIR)?;
    locked(&dir, || {
        // Without a reader's name, show the work of the actor of the change.
        let reader = text_of(&dir.join(READER))?;
        write_pages(&dir, read(if reader.is_empty() { actor } else { &reader })?).map(drop)
    })
}

fn locked<T>(dir: &Path, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let path = dir.join(LOCK);
    let lock = StoreDir::open_private(&path).and_then(|file| file.lock().map(|()| file));
    let _lock = lock.map_err(|e| error::io("lock", &path, &e))?;
    work()
}

fn write_pages(dir: &Path, pages: Pages) -> Result<Vec<PathBuf>> {
    let Pages { doing, paused, done, queue } = pages;
    let pages = [(NOW, page::now(doing.as_ref(), paused, done)), (NEXT, page::next(&queue))];
    let put = |(name, page): (&str, String)| {
        let path = dir.join(name);
        let before = text_of(&path)?;
        let page = page::with_kept_parts(page, &before);
        if page != before {
            replace(&path, &page)?;
        }
        Ok(path)
    };
    pages.into_iter().map(put).collect()
}

/// The text of a page; empty if it is not there.
fn text_of(path: &Path) -> Result<String> {
    let read = read_committed(path, MAX_PAGE)?;
    Ok(read.map_or_else(String::new, |(bytes, _)| String::from_utf8_lossy(&bytes).into_owned()))
}

/// Replaces a file without syncing: it can be written again at any time.
fn replace(path: &Path, text: &str) -> Result<()> {
    let draft = path.with_extension(format!("{}.tmp", Uuid::new_v4().simple()));
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(text.as_bytes())?;
        fs::rename(&draft, path)
    })();
    written.map_err(|e: io::Error| {
        let _ = fs::remove_file(&draft);
        Error { hint: None, ..error::io("write", path, &e) }
    })
}

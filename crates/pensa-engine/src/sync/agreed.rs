//! The copy of what files and database last had in common: the base of the next merge.
//!
//! A copy is there before the transaction that names it commits, and is never changed after; so whatever the database
//! names is what it has taken in, also after a crash in between.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pensa_core::Result;
use pensa_core::sync::{COLLECTIONS, Collection, lines};
use uuid::Uuid;

use super::files::{self, Contents, Stamp, bytes_of};
use super::place::Place;
use crate::context::Context;
use crate::db::Tx;
use crate::store::StoreDir;
use crate::tables::agreements::{self, Agreement};
use crate::tables::{events, seen_files};
use crate::{error, git};

/// A copy that nobody names may be one whose transaction has not committed yet.
const LEFT_ALONE: Duration = Duration::from_secs(3600);
/// What the files looked like, of which this is a copy.
const STAMPS: &str = "stamps";

/// What was agreed on at a place.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) agreement: Agreement,
    dir: PathBuf,
}

impl Known {
    /// Whether the files of the place are those that were agreed on, as can be told without reading them.
    pub(super) fn is_in(&self, place: &Path) -> bool {
        let path = self.dir.join(STAMPS);
        let Some(noted) = Stamp::at(&path) else { return false };
        // A file that was written in the same moment may have been written again in it.
        let is_settled = |stamp: Option<Stamp>| stamp.is_none_or(|stamp| stamp.is_before(&noted));
        let all: Vec<Option<Stamp>> = files::paths(place).iter().map(|path| Stamp::at(path)).collect();
        fs::read_to_string(&path).is_ok_and(|noted| noted == told(&all)) && all.into_iter().all(is_settled)
    }

    /// The same, read if need be.
    pub(super) fn stands_in(&self, place: &Path) -> Result<bool> {
        if self.is_in(place) {
            return Ok(true);
        }
        let (here, agreed, waiting) = (files::contents(place)?, self.contents()?, self.waiting()?);
        let is_same = |at: usize| match (&here[at], &agreed[at]) {
            (here, agreed) if waiting[at].is_empty() => here == agreed,
            (here, agreed) => {
                let sorted = |parts: [&[u8]; 2]| {
                    let mut all: Vec<Vec<u8>> =
                        parts.iter().flat_map(|part| lines(part)).map(|line| line.text.to_vec()).collect();
                    all.sort();
                    all
                };
                sorted([bytes_of(here), b""]) == sorted([bytes_of(agreed), &waiting[at]])
            }
        };
        Ok((0..COLLECTIONS.len()).all(is_same))
    }

    pub(super) fn contents(&self) -> Result<Contents> {
        files::contents(&self.dir)
    }

    /// Whether lines of the files could not be taken in yet.
    pub(super) fn waits(&self) -> Result<bool> {
        Ok(self.waiting()?.iter().any(|lines| !lines.is_empty()))
    }

    /// Lines that stood in the files but could not be taken in yet.
    pub(super) fn waiting(&self) -> Result<Waiting> {
        let mut waiting = Waiting::default();
        for (lines, collection) in waiting.iter_mut().zip(COLLECTIONS) {
            *lines = files::read(&self.dir.join(waiting_name(collection)))?.map(|it| it.bytes).unwrap_or_default();
        }
        Ok(waiting)
    }

    /// Which of these contents were agreed on; most often the lengths tell which were not.
    fn has(&self, contents: &Contents) -> Result<[bool; COLLECTIONS.len()]> {
        let mut same = [false; COLLECTIONS.len()];
        for ((same, content), path) in same.iter_mut().zip(contents).zip(files::paths(&self.dir)) {
            *same = match content {
                None => !path.exists(),
                Some(content) => files::read_if_long(&path, content.bytes.len())?.as_ref() == Some(content),
            };
        }
        Ok(same)
    }
}

/// Lines of each file that wait for the issue they belong to.
pub(super) type Waiting = [Vec<u8>; COLLECTIONS.len()];

fn waiting_name(collection: &Collection) -> String {
    format!("{}.waiting", collection.name)
}

/// One line for each file.
fn told(stamps: &[Option<Stamp>]) -> String {
    stamps.iter().map(|stamp| stamp.map_or_else(|| "none\n".to_owned(), |stamp| format!("{stamp:?}\n"))).collect()
}

/// What was last agreed on at a place. A copy that is gone is as none.
pub(super) fn last(store: &StoreDir, tx: &Tx<'_>, place: &Place) -> Result<Option<Known>> {
    let Some(agreement) = agreements::get(tx, &place.name)? else { return Ok(None) };
    let dir = store.local_dir("agreed")?.join(&agreement.copy);
    Ok(dir.join(STAMPS).exists().then_some(Known { agreement, dir }))
}

/// Notes that the database has taken in these contents, except for the lines that wait. They do not count as seen if
/// some of them were passed over, for they may come again with a history that tells more.
pub(super) fn agree(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    place: &Place,
    contents: &Contents,
    waiting: &Waiting,
    passed_over: bool,
) -> Result<()> {
    let store = cx.store.dir()?;
    let head = place.head();
    let last = last(store, tx, place)?;
    let same = last.as_ref().map_or(Ok([false; COLLECTIONS.len()]), |known| known.has(contents))?;
    if !passed_over {
        let is_new = |at: &usize| !same[*at] && waiting[*at].is_empty();
        let new = (0..COLLECTIONS.len()).filter(is_new).filter_map(|at| contents[at].as_ref());
        // Also before there is a commit: the first may have just these.
        let like = head.as_deref().unwrap_or_default();
        let mut seen: Vec<String> = new.map(|content| git::blob_id(&content.bytes, like)).collect();
        let is_new_commit = last.as_ref().is_none_or(|known| known.agreement.head != head);
        let commit = head.as_ref().filter(|_| is_new_commit && waiting.iter().all(Vec::is_empty));
        let commit = commit.filter(|commit| has_just(place, commit, contents));
        seen.extend(commit.map(|commit| format!("{}{commit}", seen_files::COMMIT)));
        seen_files::note(tx, &seen, cx.now)?;
    }
    let is_settled = |known: &Known| known.waiting().is_ok_and(|known| known == *waiting);
    let copy = match last {
        Some(known) if same.iter().all(|same| *same) && is_settled(&known) => {
            if known.agreement.head == head {
                return Ok(());
            }
            known.agreement.copy
        }
        last => write(store, contents, waiting, last.as_ref().map(|known| (&known.dir, same)))?,
    };
    agreements::put(tx, &place.name, &Agreement { copy, head }, events::last(tx)?, cx.now)?;
    sweep(store, tx)
}

/// Whether a commit has these contents.
pub(super) fn has_just(place: &Place, commit: &str, contents: &Contents) -> bool {
    let names = COLLECTIONS.map(Collection::file_name);
    let blobs = place.objects.blobs(names.iter().map(|name| (commit, name.as_str())));
    blobs.into_iter().zip(contents).all(|(blob, content)| match (blob, content) {
        (Some(blob), Some(content)) => git::blob_id(&content.bytes, &blob) == blob,
        (blob, content) => blob.is_none() && content.is_none(),
    })
}

/// Makes a copy. What is the same as in the one before is a second name of that: copies never change.
fn write(
    store: &StoreDir,
    contents: &Contents,
    waiting: &Waiting,
    before: Option<(&PathBuf, [bool; COLLECTIONS.len()])>,
) -> Result<String> {
    let name = Uuid::now_v7().simple().to_string();
    let copy = store.local_dir("agreed")?.join(&name);
    fs::create_dir(&copy).map_err(|e| error::io("create", &copy, &e))?;
    for (at, (content, collection)) in contents.iter().zip(COLLECTIONS).enumerate() {
        let Some(content) = content else { continue };
        let path = files::path_of(&copy, collection);
        let is_linked = before
            .is_some_and(|(before, same)| same[at] && fs::hard_link(files::path_of(before, collection), &path).is_ok());
        if !is_linked {
            fs::write(&path, &content.bytes).map_err(|e| error::io("write", &path, &e))?;
        }
    }
    for (lines, collection) in waiting.iter().zip(COLLECTIONS).filter(|(lines, _)| !lines.is_empty()) {
        let path = copy.join(waiting_name(collection));
        fs::write(&path, lines).map_err(|e| error::io("write", &path, &e))?;
    }
    // Last, so that a copy without it is not whole.
    let stamps: Vec<Option<Stamp>> =
        contents.iter().map(|content| content.as_ref().and_then(|content| content.stamp)).collect();
    let path = copy.join(STAMPS);
    fs::write(&path, told(&stamps)).map_err(|e| error::io("write", &path, &e))?;
    Ok(name)
}

/// Removes copies that no place needs any more, and forgets places that are gone. Whatever goes wrong with that can
/// wait.
fn sweep(store: &StoreDir, tx: &Tx<'_>) -> Result<()> {
    let mut named = agreements::all(tx)?;
    let is_gone = |place: &String| !place.is_empty() && !Path::new(place).exists();
    for (place, _) in named.extract_if(.., |(place, _)| is_gone(place)) {
        agreements::forget(tx, &place)?;
    }
    let is_old = |entry: &fs::DirEntry| {
        let age = entry.metadata().and_then(|meta| meta.modified()).map(|time| SystemTime::now().duration_since(time));
        matches!(age, Ok(Ok(age)) if age > LEFT_ALONE)
    };
    for entry in fs::read_dir(store.local_dir("agreed")?).into_iter().flatten().flatten().take(1000) {
        let name = entry.file_name();
        if is_old(&entry) && !named.iter().any(|(_, agreement)| name == agreement.copy.as_str()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

//! The copy of what files and database last had in common: the base of the next merge.
//!
//! A copy is there before the transaction that names it commits, and is never changed after; so whatever the database
//! names is what it has taken in, also after a crash in between.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use pensa_core::Result;
use pensa_core::sync::{COLLECTIONS, Collection, lines};
use pensa_git as git;
use uuid::Uuid;

use super::files::{self, Contents, Stamp, bytes_of};
use super::job::Job;
use super::place::Place;
use super::splice::Moment;
use crate::context::Context;
use crate::db::{Tx, params};
use crate::entity;
use crate::error;
use crate::store::StoreDir;
use crate::tables::agreements::{self, Agreement};
use crate::tables::{events, seen_files};

/// A copy that nobody names may be one whose transaction has not committed yet.
const LEFT_ALONE: Duration = Duration::from_secs(3600);
/// What the files looked like, of which this is a copy.
const STAMPS: &str = "stamps";
/// When the database had just what is in this copy, if an export made it.
const EXPORTED: &str = "exported";

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
    pub(super) fn stands_in(&self, place: &Place) -> Result<bool> {
        if self.is_in(&place.dir) {
            return Ok(true);
        }
        let (here, agreed, waiting) = (place.contents()?, self.contents()?, self.waiting()?);
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

    /// When the database had just what is in this copy, if an export made it and nothing waits.
    pub(super) fn exported_at(&self) -> Option<String> {
        fs::read_to_string(self.dir.join(EXPORTED)).ok()
    }

    /// Says so of a moment at which the same was exported, if what it says is old. The copy itself never changes.
    fn exported_again(&self, moment: &Moment) -> Result<()> {
        if self.exported_at().is_some_and(|told| !moment.is_long_after(&told)) {
            return Ok(());
        }
        let (draft, path) = (self.dir.join(format!("{EXPORTED}.tmp")), self.dir.join(EXPORTED));
        let written = fs::write(&draft, moment.told()).and_then(|()| fs::rename(&draft, &path));
        written.map_err(|e| error::io("write", &path, &e))
    }

    /// What was agreed on of one file.
    pub(super) fn content(&self, collection: &Collection) -> Result<Option<Vec<u8>>> {
        Ok(files::read(&files::path_of(&self.dir, collection), u64::MAX)?.map(|content| content.bytes))
    }

    pub(super) fn contents(&self) -> Result<Contents> {
        files::contents(&self.dir, u64::MAX)
    }

    /// Whether lines of the files could not be taken in yet.
    pub(super) fn waits(&self) -> Result<bool> {
        Ok(self.waiting()?.iter().any(|lines| !lines.is_empty()))
    }

    /// Lines that stood in the files but could not be taken in yet.
    pub(super) fn waiting(&self) -> Result<Waiting> {
        let mut waiting = Waiting::default();
        for (lines, collection) in waiting.iter_mut().zip(COLLECTIONS) {
            *lines =
                files::read(&self.dir.join(waiting_name(collection)), u64::MAX)?.map(|it| it.bytes).unwrap_or_default();
        }
        Ok(waiting)
    }

    /// Whether this is what was agreed on of a file; most often the lengths tell that it is not.
    fn has(&self, collection: &Collection, bytes: Option<&[u8]>) -> Result<bool> {
        let path = files::path_of(&self.dir, collection);
        Ok(match bytes {
            None => !path.exists(),
            Some(bytes) => files::read_if_long(&path, bytes.len())?.is_some_and(|content| content.bytes == bytes),
        })
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

/// What the database has taken in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken<'t> {
    pub(super) contents: &'t Contents,
    /// What stood in the files besides.
    pub(super) waiting: &'t Waiting,
    /// Whether some lines were passed over: then the contents do not count as seen, for they may come again with a
    /// history that tells more.
    pub(super) passed_over: bool,
    /// When the database had just these contents, if they come from it.
    pub(super) exported: Option<&'t Moment>,
}

impl<'t> Taken<'t> {
    /// What files brought.
    pub(super) fn from_files(contents: &'t Contents, waiting: &'t Waiting) -> Self {
        Self { contents, waiting, passed_over: false, exported: None }
    }
}

/// Notes that the database has taken in these contents.
pub(super) fn agree(cx: &Context<'_>, tx: &Tx<'_>, place: &Place, taken: Taken<'_>) -> Result<()> {
    let copy = NewCopy::begin(cx.store.dir()?, tx, place)?;
    let made = copy.add_all(taken.contents)?;
    copy.agree(cx, tx, place, &made, taken)
}

/// A copy that is being made. Files can be added from several threads, before it is known what will come of it all.
#[derive(Debug)]
pub(super) struct NewCopy {
    last: Option<Known>,
    head: Option<String>,
    name: String,
    dir: PathBuf,
    is_named: bool,
}

/// What became of a file of a copy.
#[derive(Debug)]
pub(super) struct Made {
    /// It is that of the copy before.
    is_same: bool,
    /// What git calls it, if it is another.
    id: Option<String>,
}

impl Made {
    /// It is known to be that of the copy before.
    pub(super) fn same() -> Self {
        Self { is_same: true, id: None }
    }
}

impl Drop for NewCopy {
    fn drop(&mut self) {
        if !self.is_named {
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

impl NewCopy {
    pub(super) fn begin(store: &StoreDir, tx: &Tx<'_>, place: &Place) -> Result<Self> {
        let name = Uuid::now_v7().simple().to_string();
        let dir = store.local_dir("agreed")?.join(&name);
        Ok(Self { last: last(store, tx, place)?, head: place.head(), name, dir, is_named: false })
    }

    /// Adds a file, unless it is that of the copy before.
    pub(super) fn add(&self, collection: &Collection, bytes: Option<&[u8]>) -> Result<Made> {
        if let Some(last) = &self.last
            && last.has(collection, bytes)?
        {
            return Ok(Made::same());
        }
        let Some(bytes) = bytes else { return Ok(Made { is_same: false, id: None }) };
        self.write(&collection.file_name(), bytes)?;
        // Also before there is a commit: the first may have just these.
        let id = git::blob_id(bytes, self.head.as_deref().unwrap_or_default());
        Ok(Made { is_same: false, id: Some(id) })
    }

    /// Adds files, large ones at once.
    pub(super) fn add_all(&self, contents: &Contents) -> Result<Vec<Made>> {
        thread::scope(|scope| {
            let mut jobs = Vec::new();
            for (content, collection) in contents.iter().zip(COLLECTIONS) {
                let bytes = content.as_ref().map(|content| &content.bytes[..]);
                jobs.push(Job::start(scope, bytes_of(content).len(), move || self.add(collection, bytes)));
            }
            jobs.into_iter().map(Job::end).collect()
        })
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        fs::create_dir_all(&self.dir).map_err(|e| error::io("create", &self.dir, &e))?;
        let path = self.dir.join(name);
        fs::write(&path, bytes).map_err(|e| error::io("write", &path, &e))
    }

    /// Makes this the copy of what was agreed on, with all files added.
    pub(super) fn agree(
        mut self,
        cx: &Context<'_>,
        tx: &Tx<'_>,
        place: &Place,
        made: &[Made],
        taken: Taken<'_>,
    ) -> Result<()> {
        if !taken.passed_over {
            self.note_seen(cx, tx, place, made, taken)?;
        }
        let is_settled = |known: &Known| known.waiting().is_ok_and(|known| known == *taken.waiting);
        let same = self.last.as_ref().filter(|known| made.iter().all(|made| made.is_same) && is_settled(known));
        let is_whole = taken.waiting.iter().all(Vec::is_empty);
        if let (Some(known), Some(moment), true) = (same, taken.exported, is_whole) {
            known.exported_again(moment)?;
        }
        let copy = match same {
            Some(known) if known.agreement.head == self.head => return Ok(()),
            Some(known) => known.agreement.copy.clone(),
            None => {
                self.finish(made, taken)?;
                self.is_named = true;
                self.name.clone()
            }
        };
        let (place, head, event) = (place.name.clone(), self.head.clone(), events::last(tx)?);
        entity::put(tx, &Agreement { place, copy, head, event, agreed_at: cx.now })?;
        sweep(cx.store.dir()?, tx)
    }

    /// Remembers the contents, and the commit if it has just these.
    fn note_seen(&self, cx: &Context<'_>, tx: &Tx<'_>, place: &Place, made: &[Made], taken: Taken<'_>) -> Result<()> {
        let is_whole = |(_, waiting): &(&Made, &Vec<u8>)| waiting.is_empty();
        let new = made.iter().zip(taken.waiting).filter(is_whole).filter_map(|(made, _)| made.id.clone());
        let mut seen: Vec<String> = new.collect();
        let is_new_commit = self.last.as_ref().is_none_or(|known| known.agreement.head != self.head);
        let commit = self.head.as_ref().filter(|_| is_new_commit && taken.waiting.iter().all(Vec::is_empty));
        let commit = commit.filter(|commit| has_just(place, commit, taken.contents));
        seen.extend(commit.map(|commit| format!("{}{commit}", seen_files::COMMIT)));
        seen_files::note(tx, &seen, cx.now)
    }

    /// What is the same as in the copy before gets a second name here: copies never change.
    fn finish(&self, made: &[Made], taken: Taken<'_>) -> Result<()> {
        for ((content, collection), made) in taken.contents.iter().zip(COLLECTIONS).zip(made) {
            if let (true, Some(content), Some(last)) = (made.is_same, content, &self.last) {
                fs::create_dir_all(&self.dir).map_err(|e| error::io("create", &self.dir, &e))?;
                let [old, new] = [&last.dir, &self.dir].map(|dir| files::path_of(dir, collection));
                if fs::hard_link(old, new).is_err() {
                    self.write(&collection.file_name(), &content.bytes)?;
                }
            }
        }
        for (lines, collection) in taken.waiting.iter().zip(COLLECTIONS).filter(|(lines, _)| !lines.is_empty()) {
            self.write(&waiting_name(collection), lines)?;
        }
        if let Some(moment) = taken.exported.filter(|_| taken.waiting.iter().all(Vec::is_empty)) {
            self.write(EXPORTED, moment.told().as_bytes())?;
        }
        // Last, so that a copy without it is not whole.
        let stamps = taken.contents.iter().map(|content| content.as_ref().and_then(|content| content.stamp));
        self.write(STAMPS, told(&stamps.collect::<Vec<_>>()).as_bytes())
    }
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

/// Removes copies that no place needs any more, and forgets places that are gone. Whatever goes wrong with that can
/// wait.
fn sweep(store: &StoreDir, tx: &Tx<'_>) -> Result<()> {
    let mut named = agreements::all(tx)?;
    let is_gone = |place: &String| !place.is_empty() && !Path::new(place).exists();
    for gone in named.extract_if(.., |agreement| is_gone(&agreement.place)) {
        entity::delete::<Agreement>(tx, params![&gone.place])?;
    }
    let is_old = |entry: &fs::DirEntry| {
        let age = entry.metadata().and_then(|meta| meta.modified()).map(|time| SystemTime::now().duration_since(time));
        matches!(age, Ok(Ok(age)) if age > LEFT_ALONE)
    };
    for entry in fs::read_dir(store.local_dir("agreed")?).into_iter().flatten().flatten().take(1000) {
        let name = entry.file_name();
        if is_old(&entry) && !named.iter().any(|agreement| name == agreement.copy.as_str()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

//! The copy of what files and database last had in common: the base of the next merge.
//!
//! A copy is there before the transaction that names it commits, and is never changed after; so whatever the database
//! names is what it has taken in, also after a crash in between.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pensa_core::Result;
use pensa_core::sync::COLLECTIONS;
use uuid::Uuid;

use super::files::{self, Contents, Stamp};
use super::place::Place;
use crate::context::Context;
use crate::db::Tx;
use crate::store::StoreDir;
use crate::tables::agreements::{self, Agreement};
use crate::tables::events;
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

    pub(super) fn contents(&self) -> Result<Contents> {
        files::contents(&self.dir)
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

/// Notes that the database has taken in these contents.
pub(super) fn agree(cx: &Context<'_>, tx: &Tx<'_>, place: &Place, contents: &Contents) -> Result<()> {
    let store = cx.store.dir()?;
    let head = git::head(&place.project);
    let last = last(store, tx, place)?;
    let same = last.as_ref().map_or(Ok([false; COLLECTIONS.len()]), |known| known.has(contents))?;
    let copy = match last {
        Some(known) if same.iter().all(|same| *same) => {
            if known.agreement.head == head {
                return Ok(());
            }
            known.agreement.copy
        }
        last => write(store, contents, last.as_ref().map(|known| (&known.dir, same)))?,
    };
    agreements::put(tx, &place.name, &Agreement { copy, head }, events::last(tx)?, cx.now)?;
    sweep(store, tx)
}

/// Makes a copy. What is the same as in the one before is a second name of that: copies never change.
fn write(
    store: &StoreDir,
    contents: &Contents,
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
    // Last, so that a copy without it is not whole.
    let stamps: Vec<Option<Stamp>> =
        contents.iter().map(|content| content.as_ref().and_then(|content| content.stamp)).collect();
    let path = copy.join(STAMPS);
    fs::write(&path, told(&stamps)).map_err(|e| error::io("write", &path, &e))?;
    Ok(name)
}

/// Removes copies that no place needs any more. Whatever goes wrong with that can wait.
fn sweep(store: &StoreDir, tx: &Tx<'_>) -> Result<()> {
    let named = agreements::all(tx)?;
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

//! The copy of what files and database last had in common: the base of the next merge.
//!
//! A copy is written before the transaction that names it commits, and is never changed after; so whatever the
//! database names is what it has taken in, also after a crash in between.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use pensa_core::Result;
use pensa_core::sync::COLLECTIONS;
use uuid::Uuid;

use super::files;
use super::place::Place;
use crate::context::Context;
use crate::db::Tx;
use crate::store::StoreDir;
use crate::tables::agreements::{self, Agreement};
use crate::tables::events;
use crate::{error, git};

/// A copy that nobody names may be one whose transaction has not committed yet.
const LEFT_ALONE: Duration = Duration::from_secs(3600);

/// What each file had, in the order of the collections; nothing if it was not there.
pub(super) type Contents = [Option<Vec<u8>>; COLLECTIONS.len()];

fn dir(store: &StoreDir) -> Result<PathBuf> {
    store.local_dir("agreed")
}

/// The files as they are at a place now.
pub(super) fn on_disk(place: &Place) -> Result<Contents> {
    contents(&place.dir)
}

fn contents(dir: &std::path::Path) -> Result<Contents> {
    let mut all = Contents::default();
    for (slot, collection) in all.iter_mut().zip(COLLECTIONS) {
        *slot = files::read(&files::path_of(dir, collection))?;
    }
    Ok(all)
}

/// What was last agreed on at a place, and the commit that was checked out. A copy that is gone is as none.
pub(super) fn last(store: &StoreDir, tx: &Tx<'_>, place: &Place) -> Result<Option<(Agreement, Contents)>> {
    let Some(agreement) = agreements::get(tx, &place.name)? else { return Ok(None) };
    let copy = dir(store)?.join(&agreement.copy);
    if !copy.is_dir() {
        return Ok(None);
    }
    let contents = contents(&copy)?;
    Ok(Some((agreement, contents)))
}

/// Notes that the database has taken in these contents.
pub(super) fn agree(cx: &Context<'_>, tx: &Tx<'_>, place: &Place, contents: &Contents) -> Result<()> {
    let store = cx.store.dir()?;
    let head = git::head(&place.project);
    let known = last(store, tx, place)?;
    let copy = match &known {
        Some((agreement, same)) if same == contents => {
            if agreement.head == head {
                return Ok(());
            }
            agreement.copy.clone()
        }
        _ => write(store, contents)?,
    };
    agreements::put(cx, tx, &place.name, &Agreement { copy, head }, events::last(tx)?)?;
    sweep(store, tx)
}

fn write(store: &StoreDir, contents: &Contents) -> Result<String> {
    let name = Uuid::now_v7().simple().to_string();
    let copy = store.local_dir("agreed")?.join(&name);
    fs::create_dir(&copy).map_err(|e| error::io("create", &copy, &e))?;
    for (bytes, collection) in contents.iter().zip(COLLECTIONS) {
        if let Some(bytes) = bytes {
            let path = files::path_of(&copy, collection);
            fs::write(&path, bytes).map_err(|e| error::io("write", &path, &e))?;
        }
    }
    Ok(name)
}

/// Removes copies that no place needs any more. Whatever goes wrong with that can wait.
fn sweep(store: &StoreDir, tx: &Tx<'_>) -> Result<()> {
    let named = agreements::all(tx)?;
    let is_old = |entry: &fs::DirEntry| {
        let age = entry.metadata().and_then(|meta| meta.modified()).map(|time| SystemTime::now().duration_since(time));
        matches!(age, Ok(Ok(age)) if age > LEFT_ALONE)
    };
    for entry in fs::read_dir(dir(store)?).into_iter().flatten().flatten().take(1000) {
        let name = entry.file_name();
        if is_old(&entry) && !named.iter().any(|agreement| name == agreement.copy.as_str()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

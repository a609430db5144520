//! From the database into the files.

use pensa_core::ops::store::Transfer;
use pensa_core::sync::{COLLECTIONS, Collection, EVENTS_FILE, ISSUES, Record, lines};
use pensa_core::{Code, Error, Result};

use super::agreed::{self, Known, Waiting};
use super::files::{self, Content, Contents};
use super::import::{self, Report};
use super::place::Place;
use super::shared::{self, Part, TABLES, Table};
use crate::context::Context;
use crate::db::Tx;
use crate::store::StoreDir;
use crate::tables::{issues, tombstones};
use crate::{git, meter};

/// The lines of every file, as the database has them now, and how many there are.
type Rendered = [Part; COLLECTIONS.len()];

pub(super) fn render(tx: &Tx<'_>) -> Result<Rendered> {
    let mut parts = Rendered::default();
    for (table, part) in TABLES.into_iter().zip(&mut parts) {
        table.render(tx, part)?;
    }
    let [.., of_tombstones] = &mut parts;
    tombstones::for_each(tx, |tombstone| shared::add_line(of_tombstones, tombstone))?;
    Ok(parts)
}

/// Writes the files of a place. Whatever was in them must have been taken in and committed before: from here on only
/// the database has what was not kept of it.
pub(crate) fn export(cx: &Context<'_>, tx: &Tx<'_>, place: &Place) -> Result<Transfer> {
    let store = cx.store.dir()?;
    let waiting = match agreed::last(store, tx, place)? {
        Some(known) if known.stands_in(&place.dir)? => still_waiting(tx, &known)?,
        _ => return Err(changed_meanwhile(place)),
    };
    // Rows are sorted on the way, in memory if they fit.
    tx.expect_many_rows()?;
    meter().begin(usize::try_from(import::stored(tx)?.iter().sum::<i64>()).unwrap_or_default());
    let rendered = render(tx)?;
    meter().end();
    let counts = rendered.each_ref().map(|(_, count)| *count);
    let drafts = store.local_dir("")?;
    let mut after = Contents::default();
    for (((bytes, _), waiting), (slot, collection)) in
        rendered.into_iter().zip(&waiting).zip(after.iter_mut().zip(COLLECTIONS))
    {
        let path = files::path_of(&place.dir, collection);
        let with_them = if waiting.is_empty() { None } else { Some(joined(collection, &bytes, waiting)?) };
        let written = with_them.as_ref().unwrap_or(&bytes);
        // Most stores never delete anything.
        if collection.is_optional() && written.is_empty() && !path.exists() {
            continue;
        }
        let stamp = match files::read_if_long(&path, written.len())? {
            Some(same) if same.bytes == *written => same.stamp,
            _ => Some(files::write(&drafts, &path, written)?),
        };
        *slot = Some(Content { bytes, stamp });
    }
    agreed::agree(cx, tx, place, &after, &waiting, false)?;
    Ok(Report::default().transfer(counts))
}

fn changed_meanwhile(place: &Place) -> Error {
    Error::new(Code::Busy, format!("the files in {} changed while they were exported", place.dir.display()))
        .hint("try again")
}

/// Has git take the files of a place into the next commit.
pub(crate) fn stage(place: &Place, with_events: bool) -> Result<()> {
    let events = with_events.then(|| place.dir.join(EVENTS_FILE));
    let all = files::paths(&place.dir).into_iter().chain(events);
    git::stage(&place.project, &all.filter(|path| path.exists()).collect::<Vec<_>>())
}

/// The lines that wait for an issue which has not arrived, nor was deleted.
fn still_waiting(tx: &Tx<'_>, known: &Known) -> Result<Waiting> {
    let mut waiting = known.waiting()?;
    for (bytes, table) in waiting.iter_mut().zip(TABLES) {
        let mut kept = Vec::new();
        for line in lines(bytes) {
            let record = table.collection().read(line.text)?;
            let is_here = table.get(tx, &table.collection().key(&record))?.is_some();
            if !is_here && awaits(tx, table, &record)? {
                kept.extend([line.text, b"\n"].concat());
            }
        }
        *bytes = kept;
    }
    Ok(waiting)
}

fn awaits(tx: &Tx<'_>, table: &dyn Table, record: &Record) -> Result<bool> {
    for id in table.rests_on(record) {
        if issues::get(tx, &id.parse()?)?.is_none() && tombstones::get(tx, ISSUES.name, &id)?.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Lines of two sources in the order of the file.
fn joined(collection: &Collection, one: &[u8], other: &[u8]) -> Result<Vec<u8>> {
    let mut all = Vec::new();
    for line in lines(one).chain(lines(other)) {
        all.push((collection.place(&collection.read(line.text)?), line.text));
    }
    all.sort();
    Ok(all.into_iter().flat_map(|(_, text)| [text, b"\n"].concat()).collect())
}

/// The files that differ from what an export would write.
pub(crate) fn check(store: &StoreDir, tx: &Tx<'_>, place: &Place) -> Result<(Vec<String>, [i64; COLLECTIONS.len()])> {
    let (rendered, on_disk) = (render(tx)?, files::contents(&place.dir)?);
    let known = agreed::last(store, tx, place)?;
    let waiting = known.map_or_else(|| Ok(Waiting::default()), |known| still_waiting(tx, &known))?;
    let mut drifted = Vec::new();
    for ((((bytes, _), was), collection), waiting) in rendered.iter().zip(&on_disk).zip(COLLECTIONS).zip(&waiting) {
        let with_them = if waiting.is_empty() { None } else { Some(joined(collection, bytes, waiting)?) };
        let bytes = with_them.as_ref().unwrap_or(bytes);
        let missing_is_fine = collection.is_optional() && bytes.is_empty();
        let same = was.as_ref().map_or(missing_is_fine, |was| was.bytes == *bytes);
        if !same {
            drifted.push(collection.file_name());
        }
    }
    Ok((drifted, rendered.map(|(_, count)| count)))
}

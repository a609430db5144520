//! From the database into the files.

use pensa_core::Result;
use pensa_core::ops::store::Transfer;
use pensa_core::sync::COLLECTIONS;

use super::agreed;
use super::files::{self, Content, Contents};
use super::import::{self, Report};
use super::place::Place;
use super::shared::{self, Part, TABLES};
use crate::context::Context;
use crate::db::Tx;
use crate::tables::tombstones;
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

/// Writes the files of a place and stages them, after whatever was in them and the database did not have was taken in.
pub(crate) fn export(cx: &Context<'_>, tx: &Tx<'_>, place: &Place) -> Result<Transfer> {
    let store = cx.store.dir()?;
    let report = match agreed::last(store, tx, place)? {
        Some(known) if known.is_in(&place.dir) => Report::default(),
        known => {
            let before = files::contents(&place.dir)?;
            let known = known.map(|known| known.contents().map(|contents| (known, contents))).transpose()?;
            import::merge(cx, tx, place, &before, known)?
        }
    };
    meter().begin(usize::try_from(import::stored(tx)?.iter().sum::<i64>()).unwrap_or_default());
    let rendered = render(tx)?;
    meter().end();
    let counts = rendered.each_ref().map(|(_, count)| *count);
    let drafts = store.local_dir("")?;
    let mut after = Contents::default();
    for ((bytes, count), (slot, collection)) in rendered.into_iter().zip(after.iter_mut().zip(COLLECTIONS)) {
        let path = files::path_of(&place.dir, collection);
        // Most stores never delete anything.
        if collection.is_optional() && count == 0 && !path.exists() {
            continue;
        }
        let stamp = match files::read_if_long(&path, bytes.len())? {
            Some(same) if same.bytes == bytes => same.stamp,
            _ => Some(files::write(&drafts, &path, &bytes)?),
        };
        *slot = Some(Content { bytes, stamp });
    }
    git::stage(&place.project, &files::paths(&place.dir).into_iter().filter(|path| path.exists()).collect::<Vec<_>>())?;
    agreed::agree(cx, tx, place, &after)?;
    Ok(report.transfer(counts))
}

/// The files that differ from what an export would write.
pub(crate) fn check(tx: &Tx<'_>, place: &Place) -> Result<(Vec<String>, [i64; COLLECTIONS.len()])> {
    let (rendered, on_disk) = (render(tx)?, files::contents(&place.dir)?);
    let mut drifted = Vec::new();
    for (((bytes, _), was), collection) in rendered.iter().zip(&on_disk).zip(COLLECTIONS) {
        let missing_is_fine = collection.is_optional() && bytes.is_empty();
        let same = was.as_ref().map_or(missing_is_fine, |was| was.bytes == *bytes);
        if !same {
            drifted.push(collection.file_name());
        }
    }
    Ok((drifted, rendered.map(|(_, count)| count)))
}

//! From the database into the files.

use pensa_core::Result;
use pensa_core::ops::store::Transfer;
use pensa_core::sync::COLLECTIONS;

use super::agreed::{self, Contents};
use super::files;
use super::import::{self, Report};
use super::place::Place;
use super::shared::{self, Part, TABLES};
use crate::context::Context;
use crate::db::Tx;
use crate::git;
use crate::tables::tombstones;

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
    let before = agreed::on_disk(place)?;
    let known = agreed::last(store, tx, place)?;
    let report = match &known {
        Some((_, same)) if *same == before => Report::default(),
        None if before.iter().all(Option::is_none) => Report::default(),
        _ => import::merge(cx, tx, place, &before, known)?,
    };
    let rendered = render(tx)?;
    let counts = rendered.each_ref().map(|(_, count)| *count);
    let drafts = store.local_dir("")?;
    let mut after = Contents::default();
    for ((was, (bytes, count)), (slot, collection)) in
        before.iter().zip(rendered).zip(after.iter_mut().zip(COLLECTIONS))
    {
        // Most stores never delete anything.
        if collection.is_optional() && was.is_none() && count == 0 {
            continue;
        }
        if was.as_ref() != Some(&bytes) {
            files::write(&drafts, &files::path_of(&place.dir, collection), &bytes)?;
        }
        *slot = Some(bytes);
    }
    git::stage(&place.project, &files::paths(&place.dir).into_iter().filter(|path| path.exists()).collect::<Vec<_>>())?;
    agreed::agree(cx, tx, place, &after)?;
    Ok(report.transfer(counts))
}

/// The files that differ from what an export would write.
pub(crate) fn check(tx: &Tx<'_>, place: &Place) -> Result<(Vec<String>, [i64; COLLECTIONS.len()])> {
    let (rendered, on_disk) = (render(tx)?, agreed::on_disk(place)?);
    let mut drifted = Vec::new();
    for (((bytes, _), was), collection) in rendered.iter().zip(&on_disk).zip(COLLECTIONS) {
        let missing_is_fine = collection.is_optional() && bytes.is_empty();
        let same = was.as_ref().map_or(missing_is_fine, |was| was == bytes);
        if !same {
            drifted.push(collection.file_name());
        }
    }
    Ok((drifted, rendered.map(|(_, count)| count)))
}

//! Rows of `skills`. A name that was removed stays without skills, so that the time of the last change is known.

use pensa_core::skill::{Mapping, Skills};
use pensa_core::{Result, json};

use super::row::Shape;
use crate::db::{Row, Tx, params};

const SHAPE: Shape = Shape { table: "skills", columns: "name skills updated_at", keys: 1 };
const SELECT: &str = "SELECT name, skills, updated_at FROM skills";

fn read(row: &Row<'_>) -> Result<Mapping> {
    Ok(Mapping { name: row.text(0)?, skills: row.json(1)?, updated_at: row.parse(2)? })
}

/// A name that has skills.
pub(crate) fn get(tx: &Tx<'_>, name: &str) -> Result<Option<Mapping>> {
    let found = tx.query_one(&format!("{SELECT} WHERE name = ?1"), params![name], read)?;
    Ok(found.filter(|mapping| !mapping.skills.is_empty()))
}

pub(crate) fn all(tx: &Tx<'_>) -> Result<Skills> {
    let mut all = Skills::default();
    tx.for_each(SELECT, params![], |row| {
        let mapping = read(row)?;
        all.updated_at = all.updated_at.max(Some(mapping.updated_at));
        if !mapping.skills.is_empty() {
            all.mappings.insert(mapping.name, mapping.skills);
        }
        Ok(())
    })?;
    Ok(all)
}

/// Adds a row, or puts it in place of what is there.
pub(crate) fn put(tx: &Tx<'_>, mapping: &Mapping) -> Result<()> {
    tx.journal("skills", mapping)?;
    SHAPE.put(tx, &[mapping.name.as_str().into(), json::to_line(&mapping.skills)?.into(), mapping.updated_at.into()])
}

//! Reads rows of `skills`.

use pensa_core::Result;
use pensa_core::skill::{Mapping, Skills};
use pensa_core::sync::SKILLS;

use crate::db::{Tx, params};
use crate::entity;

pub(crate) fn get(tx: &Tx<'_>, name: &str) -> Result<Option<Mapping>> {
    entity::get(tx, params![name])
}

pub(crate) fn all(tx: &Tx<'_>) -> Result<Skills> {
    // Removing a name is a change too.
    let last_removal = "SELECT MAX(deleted_at) FROM tombstones WHERE collection = ?1";
    let updated_at = tx.query_one(last_removal, params![SKILLS.name], |row| row.parse_or_null(0))?.flatten();
    let mut all = Skills { updated_at, ..Skills::default() };
    for mapping in entity::query::<Mapping>(tx, "", params![])? {
        all.updated_at = all.updated_at.max(Some(mapping.updated_at));
        all.mappings.insert(mapping.name, mapping.skills);
    }
    Ok(all)
}

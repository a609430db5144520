//! Listings of `skills`. A name that was removed stays without skills, so that the time of the last change is known.

use pensa_core::Result;
use pensa_core::skill::{Mapping, Skills};

use crate::db::{Tx, params};
use crate::entity;

/// A name that has skills.
pub(crate) fn get(tx: &Tx<'_>, name: &str) -> Result<Option<Mapping>> {
    Ok(entity::get(tx, params![name])?.filter(|mapping: &Mapping| !mapping.skills.is_empty()))
}

pub(crate) fn all(tx: &Tx<'_>) -> Result<Skills> {
    let mut all = Skills::default();
    for mapping in entity::query::<Mapping>(tx, "", params![])? {
        all.updated_at = all.updated_at.max(Some(mapping.updated_at));
        if !mapping.skills.is_empty() {
            all.mappings.insert(mapping.name, mapping.skills);
        }
    }
    Ok(all)
}

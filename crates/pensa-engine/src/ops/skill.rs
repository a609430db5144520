//! Operations on skills.

use pensa_core::ops::skill::{Import, List, Remove, Set};
use pensa_core::skill::{self as rules, Mapping, Skills};
use pensa_core::sync::SKILLS;
use pensa_core::{Code, Error, Result};

use crate::context::Context;
use crate::db::Tx;
use crate::entity::StoredEntity;
use crate::execute::Execute;
use crate::tables::{skills, tombstones};

/// Stores the skills of a name and logs the change, unless they are the same.
pub(super) fn save(cx: &Context<'_>, tx: &Tx<'_>, name: String, skills: Vec<String>) -> Result<()> {
    let old = skills::get(tx, &name)?;
    if old.as_ref().is_some_and(|old| old.skills == skills) {
        return Ok(());
    }
    let updated_at = tombstones::version_after(cx, tx, &SKILLS, &name, old.as_ref().map(|old| old.updated_at))?;
    let extra = old.as_ref().map(|old| old.extra.clone()).unwrap_or_default();
    Mapping::store(cx, tx, old.as_ref(), &Mapping { name, skills, updated_at, extra })
}

/// All skills; refuses an answer that would be too large.
fn answer(tx: &Tx<'_>) -> Result<Skills> {
    let all = skills::all(tx)?;
    if all.mappings.len() > rules::MAX_NAMES {
        return Err(Error::new(Code::TooLarge, format!("more than {} names have skills", rules::MAX_NAMES)));
    }
    Ok(all)
}

impl Execute for Set {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Skills> {
        let name = rules::checked_name(&self.name)?;
        let skills = rules::checked_skills(&name, &self.skills)?;
        save(cx, tx, name, skills)?;
        answer(tx)
    }
}

impl Execute for List {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Skills> {
        skills::all(tx)
    }
}

impl Execute for Remove {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Skills> {
        let name = rules::checked_name(&self.name)?;
        let unknown = || Error::not_found("skills of", &name).hint("pn skill list shows the names");
        let mapping = skills::get(tx, &name)?.ok_or_else(unknown)?;
        tombstones::write_tombstone(cx, tx, &SKILLS, &name, Some(mapping.updated_at))?;
        Mapping::remove(cx, tx, &mapping)?;
        answer(tx)
    }
}

impl Execute for Import {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Skills> {
        for (name, skills) in rules::checked(&self.mappings)? {
            save(cx, tx, name, skills)?;
        }
        answer(tx)
    }
}

//! Operations on skills.

use pensa_core::event::{self, EventType};
use pensa_core::ops::skill::{Import, List, Remove, Set};
use pensa_core::skill::{self as rules, Mapping, Skills};
use pensa_core::{Code, Error, Result};
use serde_json::Map;

use crate::context::Context;
use crate::db::Tx;
use crate::entity;
use crate::execute::Execute;
use crate::tables::{events, skills};

/// Stores the skills of a name and logs the change, unless they are the same; none at all removes the name.
pub(super) fn save(cx: &Context<'_>, tx: &Tx<'_>, name: String, wanted: Vec<String>) -> Result<()> {
    let before = skills::get(tx, &name)?.map(|mapping| mapping.skills);
    let after = (!wanted.is_empty()).then(|| wanted.clone());
    if before == after {
        return Ok(());
    }
    let event = match (&before, &after) {
        (None, _) => EventType::Created,
        (Some(_), Some(_)) => EventType::Updated,
        (Some(_), None) => EventType::Deleted,
    };
    let mut detail = Map::new();
    detail.insert("skills".into(), event::change(&before, &after));
    entity::put(tx, &Mapping { name: name.clone(), skills: wanted, updated_at: cx.now })?;
    events::append(cx, tx, ("skills", &name), None, event, detail).map(drop)
}

/// All of it, unless that is too much.
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
        let wanted = rules::checked_skills(&name, &self.skills)?;
        save(cx, tx, name, wanted)?;
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
        if skills::get(tx, &name)?.is_none() {
            return Err(Error::not_found("skills of", &name).hint("pn skill list shows the names"));
        }
        save(cx, tx, name, Vec::new())?;
        answer(tx)
    }
}

impl Execute for Import {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Skills> {
        for (name, wanted) in rules::checked(&self.mappings)? {
            save(cx, tx, name, wanted)?;
        }
        answer(tx)
    }
}

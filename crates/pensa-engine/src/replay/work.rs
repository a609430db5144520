//! Does again what the journal says was done to work, releases and skills.

use pensa_core::Result;
use serde_json::Value;

use super::read;
use crate::db::Tx;
use crate::tables::{releases, skills, work};

/// Does one item again, if it is about these.
pub(super) fn apply(tx: &Tx<'_>, kind: &str, value: Value) -> Result<()> {
    match kind {
        "work" => work::put(tx, &read(value)?),
        "release" => releases::put(tx, &read(value)?),
        "release_deleted" => releases::delete(tx, &read::<String>(value)?),
        "skills" => skills::put(tx, &read(value)?),
        _ => Ok(()),
    }
}

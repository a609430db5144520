//! Rows of `agreements`: what a place's files and the database last had in common.

use pensa_core::{Result, Timestamp, entity as declare};
use serde::{Deserialize, Serialize};

use crate::db::{Tx, params};
use crate::entity;

/// When files and database were last the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Agreement {
    pub(crate) place: String,
    /// The name of the directory with the copy.
    pub(crate) copy: String,
    /// The commit that was checked out.
    pub(crate) head: Option<String>,
    /// The last event that the copy knows.
    pub(crate) event: i64,
    pub(crate) agreed_at: Timestamp,
}

declare!(Agreement: "agreement" in "agreements", keys 1 { place, copy, head, event: Int, agreed_at });

pub(crate) fn get(tx: &Tx<'_>, place: &str) -> Result<Option<Agreement>> {
    entity::get(tx, params![place])
}

/// Those of all places.
pub(crate) fn all(tx: &Tx<'_>) -> Result<Vec<Agreement>> {
    entity::query(tx, "ORDER BY place", params![])
}

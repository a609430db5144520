//! A conflict: what was not kept when two sides changed the same thing, so that nobody's change is ever lost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::id::ConflictId as Id;
use crate::json;
use crate::similar::hash64;
use crate::sync::{Clash, Collection, Record};

pub use crate::id::ConflictId;

/// A value that lost against another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conflict {
    pub id: ConflictId,
    pub collection: String,
    pub record_id: String,
    /// The field both sides changed; `deleted` if one of them deleted the record
    pub field: String,
    /// The value the store has; null if it has none
    pub kept: Value,
    /// The value it does not have
    pub other: Value,
    /// All that changes if the other value is taken
    #[serde(default, skip_serializing_if = "Record::is_empty")]
    #[schemars(skip)]
    pub whole: Record,
    /// How new the version is that the other value is from
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(skip)]
    pub version: String,
}

impl Conflict {
    /// The field of a conflict between a deletion and an edit.
    pub const DELETED: &str = "deleted";

    /// The same two values have the same id on every clone and however often they meet.
    pub fn new(collection: &str, record_id: &str, clash: Clash) -> Result<Self> {
        let Clash { field, kept, other, whole, version } = clash;
        let told = json::to_line(&(collection, record_id, &field, &kept, &other))?;
        let id: Id = format!("{}{:012x}", Id::PREFIX, hash64(told.as_bytes()) >> 16).parse()?;
        let (collection, record_id) = (collection.to_owned(), record_id.to_owned());
        Ok(Self { id, collection, record_id, field, kept, other, whole, version })
    }

    /// An edit that came before a deletion which did not know of it.
    pub fn deleted(collection: &Collection, record_id: &str, edited: Record) -> Result<Self> {
        let version = collection.version(&edited).to_owned();
        let other = Value::Object(edited.clone());
        let clash = Clash { field: Self::DELETED.into(), kept: Value::Bool(true), other, whole: edited, version };
        Self::new(collection.name, record_id, clash)
    }

    /// A line of the merge driver's notes.
    pub fn from_line(line: &[u8]) -> Result<Self> {
        serde_json::from_slice(line).map_err(|e| Error::invalid(e.to_string()))
    }
}

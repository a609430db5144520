//! Records the value that lost when two copies changed the same field, so that no change is lost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::id::ConflictId as Id;
use crate::json;
use crate::similar::hash64;
use crate::sync::{Clash, Collection, SyncObject};

pub use crate::id::ConflictId;

/// A value that lost in a merge, and the value that won.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conflict {
    pub id: ConflictId,
    pub collection: String,
    pub record_id: String,
    /// The field that both sides changed; `deleted` if one of them deleted the record
    pub field: String,
    /// The value in the store; null if absent
    pub kept: Value,
    /// The value that lost
    pub other: Value,
    /// All fields that change if the other value is chosen
    #[serde(default, skip_serializing_if = "SyncObject::is_empty")]
    #[schemars(skip)]
    pub whole: SyncObject,
    /// The version that the other value comes from
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(skip)]
    pub version: String,
}

impl Conflict {
    /// The field of a conflict between a deletion and an edit.
    pub const DELETED: &str = "deleted";

    /// Creates a conflict. Its id depends only on the record and the two values, so every clone that sees the same
    /// conflict gives it the same id.
    pub fn new(collection: &str, record_id: &str, clash: Clash) -> Result<Self> {
        let Clash { field, kept, other, whole, version } = clash;
        let identity = json::to_line(&(collection, record_id, &field, &kept, &other))?;
        let id: Id = format!("{}{:012x}", Id::PREFIX, hash64(identity.as_bytes()) >> 16).parse()?;
        let (collection, record_id) = (collection.to_owned(), record_id.to_owned());
        Ok(Self { id, collection, record_id, field, kept, other, whole, version })
    }

    /// The conflict between a deletion and an earlier edit that the deletion did not know.
    pub fn deleted(collection: &Collection, record_id: &str, edited: SyncObject) -> Result<Self> {
        let version = collection.version(&edited).to_owned();
        let other = Value::Object(edited.clone());
        let clash = Clash { field: Self::DELETED.into(), kept: Value::Bool(true), other, whole: edited, version };
        Self::new(collection.name, record_id, clash)
    }

    /// Parses a line of the merge driver's conflict file.
    pub fn from_line(line: &[u8]) -> Result<Self> {
        serde_json::from_slice(line).map_err(|e| Error::invalid(e.to_string()))
    }
}

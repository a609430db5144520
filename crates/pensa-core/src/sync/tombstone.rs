//! The tombstone: a line that records a deletion for other clones. A missing line alone deletes nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::entity;
use crate::error::{Error, Result};
use crate::id;
use crate::issue::Extra;
use crate::sync::collection::{Collection, SyncEntity};
use crate::text;
use crate::time::Timestamp;

/// A record that was deleted.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tombstone {
    pub collection: String,
    /// What names the record
    pub id: String,
    pub deleted_at: Timestamp,
    pub actor: String,
    /// The deleted version: a newer one was unknown to the actor
    pub version: Option<Timestamp>,
    /// When it was created again, for a record without a time of its own
    pub restored_at: Option<Timestamp>,
    /// The comments deleted with an issue: others were unknown to the actor
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<String>,
    /// Fields unknown to this version, kept so that a newer version does not lose them
    #[serde(flatten)]
    pub extra: Extra,
}

entity!(Tombstone: "tombstone" in "tombstones", keys 2 {
    collection, record_id = id, deleted_at, actor, version, restored_at, comments: Json, extra: Extra,
});

impl Tombstone {
    /// Whether the tombstone is written to git. Records that are not in git are not deleted through git either.
    pub fn is_in_git(&self) -> bool {
        Collection::named(&self.collection).is_none_or(Collection::is_in_git)
    }

    /// Whether the tombstone deletes a record that was last changed at `changed`.
    pub fn covers(&self, changed: Timestamp) -> bool {
        self.is_in_force() && self.deleted_at >= changed
    }

    /// Whether the deletion is newer than any restoration of the record.
    pub fn is_in_force(&self) -> bool {
        self.restored_at.is_none_or(|again| self.deleted_at > again)
    }
}

impl SyncEntity for Tombstone {
    fn normalise(self) -> Result<Self> {
        if self.collection.is_empty() || self.id.is_empty() {
            return Err(Error::invalid("a tombstone needs a collection and an id"));
        }
        let collection = Collection::named(&self.collection);
        if collection.is_none_or(|collection| collection.free_names) {
            text::title("id", &self.id)?;
            return Ok(self);
        }
        for id in self.id.split(' ') {
            id::check(id)?;
            if !id::is_possible(id) {
                return Err(Error::invalid("the id of a tombstone has other characters than letters, digits and -_.:"));
            }
        }
        Ok(self)
    }

    fn extra(&self) -> &Extra {
        &self.extra
    }
}

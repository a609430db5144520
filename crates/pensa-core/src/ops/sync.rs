//! Operations by which two stores come to have the same: what changed, what to take in, and what waits to be sent.
//!
//! They are for a client that holds a handle on both stores; people call `pn sync`.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

use crate::op::op;
use crate::time::Timestamp;

/// Most records that one request hands over.
pub const MAX_ENTRIES: usize = 10_000;

/// A record on its way from one store to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sent {
    /// The collection it is in: issues, deps, comments, …
    pub collection: String,
    /// What names it there
    pub id: String,
    /// The record as a line of its collection's file
    pub line: String,
    /// The line that both stores last had in common, if there was one
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

/// The name of a record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Named {
    pub collection: String,
    pub id: String,
}

impl Sent {
    pub fn named(&self) -> Named {
        Named { collection: self.collection.clone(), id: self.id.clone() }
    }
}

/// List records that changed after a place in the store's log, as they are now
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Changes {
    /// Where the page before ended; without it, everything there is
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<String>,
    /// About this many
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<u32>,
}

op!(Changes => Changed, "sync.changes", get("/sync/changes"), Read);

/// A page of changed records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Changed {
    /// The store that tells this
    pub store_id: String,
    pub entries: Vec<Sent>,
    /// Where the next page begins
    pub cursor: String,
    /// Whether there is more to be had at once
    pub more: bool,
    /// How many lines of the log were looked at
    pub looked_at: i64,
    /// Whether the log does not have the place that was asked for, so that this is the beginning
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restarted: bool,
}

/// Take in records of another store, each merged with what is here
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Take {
    #[arg(skip)]
    pub entries: Vec<Sent>,
    /// The store that they come from, if this one keeps the books on the two
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<Progress>,
}

op!(Take => Taken, "sync.take", post("/sync/take"), Write, {
    /// What another store has must stay as it is there, or the two would differ for ever.
    const VERBATIM: &'static [&'static str] = &["*"];
    const MAX_BODY: usize = 64 << 20;
});

/// How far two stores have come with each other.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Progress {
    /// The other store
    pub store_id: String,
    /// What its server is called here
    pub name: Option<String>,
    /// Where its server is
    pub url: Option<String>,
    /// The turn that the books were at when this was decided: another one refuses
    pub turn: i64,
    /// The place in the other's log up to which all is here once these are
    pub pulled: Option<String>,
    /// The place in this log up to which the other has all
    pub pushed: Option<String>,
    /// Records that the other did not take, and that go on waiting
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<Named>,
    /// Records that the other does not have any more
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<Named>,
    /// Whether nothing that is known of the other holds any more
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub afresh: bool,
    /// Whether the two have all of each other now
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub done: bool,
}

/// What became of a record that was handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Fate {
    /// It was merged with what was here
    Taken,
    /// It was deleted here, and stays so
    Gone,
    /// It rests on an issue that is not here yet
    Waits,
    /// Whoever brought it may not do that
    Refused,
    /// This version does not know its collection
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    pub fate: Fate,
    /// What the record is here now, if that is not the line that was handed over
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
}

/// What became of what was handed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Taken {
    /// One for each entry, in their order
    pub outcomes: Vec<Outcome>,
    /// How many records are not what they were
    pub changed: i64,
    pub conflicts: i64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Whether two records had one id, so that one has another now
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub renamed: bool,
    /// The end of the log before
    pub before: String,
    /// The end of the log now
    pub after: String,
    /// The turn that the books are at
    pub turn: i64,
    /// Up to where the other's log is known to be here
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pulled: Option<String>,
}

/// List records that another store does not have yet as they are here
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Pending {
    /// The id of the other store
    #[arg(value_name = "STORE")]
    pub peer: String,
    /// Where the page before ended
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<String>,
    /// About this many
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<u32>,
}

op!(Pending => Queue, "sync.pending", get("/sync/pending"), Read);

/// A page of what waits.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Queue {
    pub entries: Vec<Sent>,
    /// Records that the other may have and that are not here any more
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<Named>,
    /// Up to where the other has all of this log once it has these
    pub pushed: Option<String>,
    /// Where the next page begins, if there is one
    pub next: Option<String>,
    /// How many lines of the log were looked at
    pub looked_at: i64,
}

/// Tell how far this store has come with others, and what waits to be sent to them
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Peers {
    /// Only the store with this id, also if nothing is known of it
    #[arg(long, value_name = "STORE")]
    pub peer: Option<String>,
    /// At most this many events that wait, of each
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<u32>,
}

op!(Peers => Vec<Peer>, "sync.peers", get("/sync/peers"), Read);

/// Another store, and what it lacks.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Peer {
    pub store_id: String,
    pub name: Option<String>,
    pub url: Option<String>,
    pub turn: i64,
    pub pulled: Option<String>,
    pub pushed: Option<String>,
    /// What was done here and waits to be sent
    pub events: Vec<Waiting>,
    /// Whether more events wait than are listed
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// Records that are to be sent again, or were not taken
    #[serde(default)]
    pub held: i64,
    /// When the two last had all of each other
    #[serde(rename = "lastSync")]
    #[serialize_always]
    pub last_sync: Option<Timestamp>,
}

/// Something that was done here and that another store does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Waiting {
    /// Its number in this store's log
    pub id: String,
    /// What happened, such as `issue.created`
    #[serde(rename = "type")]
    pub event_type: String,
    pub timestamp: Timestamp,
    /// Who did it to what, and what changed
    pub data: Value,
    /// Always false: what is synced does not wait
    pub synced: bool,
}

//! The sync protocol between two stores: list changes, apply them, and list what is pending.
//!
//! A client with access to both stores calls these operations; users call `pn sync`.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

use crate::op::op;
use crate::time::Timestamp;

/// Maximum number of records in one request.
pub const MAX_ENTRIES: usize = 10_000;

/// A record that is synced from one store to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Sent")]
pub struct SyncRecord {
    /// The collection it is in: issues, deps, comments, …
    pub collection: String,
    /// Its key in the collection
    pub id: String,
    /// The record as a line of its collection's file
    pub line: String,
    /// The merge base: the line that both stores last had in common, if any
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

/// The collection name of session entries. Each is keyed by its session and its number within it, from 1.
pub const SESSION_ENTRIES: &str = "session_history";

/// The peer name for the sync state of another store's sessions, which is separate from the rest.
pub fn sessions_peer(store_id: &str) -> String {
    format!("{store_id}{SESSIONS_SUFFIX}")
}

/// Whether a peer name is for the sync state of sessions.
pub fn is_sessions_peer(peer: &str) -> bool {
    peer.ends_with(SESSIONS_SUFFIX)
}

const SESSIONS_SUFFIX: &str = " sessions";

/// Identifies a record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Named")]
pub struct RecordKey {
    pub collection: String,
    pub id: String,
}

impl SyncRecord {
    pub fn key(&self) -> RecordKey {
        RecordKey { collection: self.collection.clone(), id: self.id.clone() }
    }
}

/// List records that changed after a position in the store's log, in their current version
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Changes {
    /// The cursor of the previous page; without it, everything
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<String>,
    /// About this many
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<u32>,
    /// Sessions, which are synced separately
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sessions: bool,
}

op!(Changes => ChangesPage, "sync.changes", get("/sync/changes"), Read);

/// A page of changed records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Changed")]
pub struct ChangesPage {
    /// The store that answers
    pub store_id: String,
    pub entries: Vec<SyncRecord>,
    /// Where the next page begins
    pub cursor: String,
    /// Whether another page is available now
    pub more: bool,
    /// How many entries of the log were read
    pub looked_at: i64,
    /// Whether the log does not contain the requested position, so that this page starts at the beginning
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restarted: bool,
}

/// Apply records of another store, merging each with the local version
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct ApplyRecords {
    #[arg(skip)]
    pub entries: Vec<SyncRecord>,
    /// The store that they come from, if this one keeps the sync state of the two
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<SyncProgress>,
}

op!(ApplyRecords => ApplyReport, "sync.take", post("/sync/take"), Write, {
    /// Redacting a synced record would make the two stores differ permanently.
    const VERBATIM: &'static [&'static str] = &["*"];
    const MAX_BODY: usize = 64 << 20;
});

/// The sync state between two stores.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Progress")]
pub struct SyncProgress {
    /// The other store
    pub store_id: String,
    /// The local name of its server
    pub name: Option<String>,
    /// The URL of its server
    pub url: Option<String>,
    /// The number of the sync state on which this is based; refused if it has changed
    pub turn: i64,
    /// The position in the other log up to which everything is here after this request
    pub pulled: Option<String>,
    /// The position in this log up to which the other store has everything
    pub pushed: Option<String>,
    /// Records that the other store did not apply and that stay pending
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<RecordKey>,
    /// Records that the other store no longer has
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<RecordKey>,
    /// Whether the sync state starts over, because nothing known of the other store is valid
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub afresh: bool,
    /// Whether both stores now have everything of each other
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub done: bool,
}

/// The outcome for one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ApplyStatus {
    /// It was merged with the local version
    #[serde(rename = "taken")]
    Applied,
    /// It was deleted here and stays deleted
    Gone,
    /// It refers to an issue that is not here yet
    Waits,
    /// The caller may not make this change
    Refused,
    /// This version does not know its collection
    Unknown,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Outcome")]
pub struct RecordOutcome {
    pub fate: ApplyStatus,
    /// The local version, if it differs from the line sent
    pub line: Option<String>,
    /// For a session: how many entries both have, if the other store has more
    pub fetch_after: Option<i64>,
    /// For a session: how many entries the other store has, if fewer
    pub send_after: Option<i64>,
}

impl RecordOutcome {
    pub fn of(fate: ApplyStatus) -> Self {
        Self { fate, line: None, fetch_after: None, send_after: None }
    }
}

/// The outcome of applying records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Taken")]
pub struct ApplyReport {
    /// One for each entry, in order
    pub outcomes: Vec<RecordOutcome>,
    /// How many records changed
    pub changed: i64,
    pub conflicts: i64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Whether two records had the same id and one was given a new one
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub renamed: bool,
    /// The end of the log before the request
    pub before: String,
    /// The end of the log after the request
    pub after: String,
    /// The number of the sync state
    pub turn: i64,
    /// The position in the other log up to which everything is here
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pulled: Option<String>,
}

/// List records of which another store does not have the local version yet
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Pending {
    /// The id of the other store
    #[arg(value_name = "STORE")]
    pub peer: String,
    /// The cursor of the previous page
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<String>,
    /// About this many
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<u32>,
}

op!(Pending => PendingPage, "sync.pending", get("/sync/pending"), Read);

/// A page of pending records.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Queue")]
pub struct PendingPage {
    pub entries: Vec<SyncRecord>,
    /// Records that the other store may have and this one no longer has
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<RecordKey>,
    /// The position in this log up to which the other store has everything after these
    pub pushed: Option<String>,
    /// Where the next page begins, if there is one
    pub next: Option<String>,
    /// How many entries of the log were read
    pub looked_at: i64,
}

/// Show the sync state with other stores, and what is waiting to be sent
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Peers {
    /// Only the store with this id, even if it is unknown
    #[arg(long, value_name = "STORE")]
    pub peer: Option<String>,
    /// At most this many pending events for each
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<u32>,
}

op!(Peers => Vec<Peer>, "sync.peers", get("/sync/peers"), Read);

/// Another store, and what it does not have yet.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Peer {
    pub store_id: String,
    pub name: Option<String>,
    pub url: Option<String>,
    pub turn: i64,
    pub pulled: Option<String>,
    pub pushed: Option<String>,
    /// Local events that are waiting to be sent
    pub events: Vec<UnsentEvent>,
    /// Whether there are more pending events than listed
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// Records that will be sent again or were not applied
    #[serde(default)]
    pub held: i64,
    /// When both stores last had everything of each other
    #[serde(rename = "lastSync")]
    #[serialize_always]
    pub last_sync: Option<Timestamp>,
}

/// A local event that another store does not have yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Waiting")]
pub struct UnsentEvent {
    /// Its number in this store's log
    pub id: String,
    /// What happened, such as `issue.created`
    #[serde(rename = "type")]
    pub event_type: String,
    pub timestamp: Timestamp,
    /// Who changed what, and how
    pub data: Value,
    /// Always false: synced events are not listed
    pub synced: bool,
}

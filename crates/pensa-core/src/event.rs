//! The event: one line of the store's log, the source of history, streams, undo and audit.

pub mod filter;
mod words;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::id::IssueId;
use crate::issue::Issue;
use crate::time::Timestamp;

pub use words::{describe, shorten};

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum EventType {
    Created,
    Updated,
    Claimed,
    Released,
    Closed,
    Reopened,
    Commented,
    DepAdded,
    DepRemoved,
    Deleted,
    LeaseExpired,
    LeaseRenewed,
    Archived,
    Restored,
    Revoked,
    Imported,
    Undone,
    Fixed,
    ConflictFound,
    ConflictResolved,
    /// An agent sleeps.
    Slept,
    /// An agent no longer sleeps.
    Woken,
    /// An agent is dead.
    Killed,
    /// An agent's next session took the place of the one before.
    Opened,
    /// A session got entries.
    Appended,
    /// A run's command runs.
    Started,
    /// A run came to its end.
    Finished,
    /// Something happened in a run that its agent or harness wants to keep.
    #[serde(rename = "run.event")]
    RunEvent,
    /// The store and another came closer.
    Synced,
    /// What was old and no longer needed was removed.
    Collected,
    #[serde(rename = "task.created")]
    TaskCreated,
    #[serde(rename = "task.started")]
    TaskStarted,
    #[serde(rename = "task.paused")]
    TaskPaused,
    #[serde(rename = "task.resumed")]
    TaskResumed,
    #[serde(rename = "task.completed")]
    TaskCompleted,
    #[serde(rename = "subtask.completed")]
    SubtaskCompleted,
    #[serde(rename = "feature.shipped")]
    FeatureShipped,
    #[serde(rename = "loop.created")]
    LoopCreated,
    #[serde(rename = "loop.status_change")]
    LoopStatusChange,
    #[serde(rename = "loop.iterated")]
    LoopIterated,
    #[serde(rename = "loop.updated")]
    LoopUpdated,
    #[serde(rename = "loop.archived")]
    LoopArchived,
    #[serde(rename = "signal.sent")]
    SignalSent,
    #[serde(rename = "signal.acknowledged")]
    SignalAcknowledged,
    #[serde(rename = "signal.pruned")]
    SignalPruned,
    #[serde(rename = "lock.acquired")]
    LockAcquired,
    #[serde(rename = "lock.renewed")]
    LockRenewed,
    #[serde(rename = "lock.released")]
    LockReleased,
    #[serde(rename = "record.put")]
    RecordPut,
    #[serde(rename = "record.deleted")]
    RecordDeleted,
    #[serde(rename = "record.indexed")]
    RecordIndexed,
}

impl EventType {
    pub const ALL: [EventType; 51] = [
        EventType::Created,
        EventType::Updated,
        EventType::Claimed,
        EventType::Released,
        EventType::Closed,
        EventType::Reopened,
        EventType::Commented,
        EventType::DepAdded,
        EventType::DepRemoved,
        EventType::Deleted,
        EventType::LeaseExpired,
        EventType::LeaseRenewed,
        EventType::Archived,
        EventType::Restored,
        EventType::Revoked,
        EventType::Imported,
        EventType::Undone,
        EventType::Fixed,
        EventType::ConflictFound,
        EventType::ConflictResolved,
        EventType::Slept,
        EventType::Woken,
        EventType::Killed,
        EventType::Opened,
        EventType::Appended,
        EventType::Started,
        EventType::Finished,
        EventType::RunEvent,
        EventType::Synced,
        EventType::Collected,
        EventType::TaskCreated,
        EventType::TaskStarted,
        EventType::TaskPaused,
        EventType::TaskResumed,
        EventType::TaskCompleted,
        EventType::SubtaskCompleted,
        EventType::FeatureShipped,
        EventType::LoopCreated,
        EventType::LoopStatusChange,
        EventType::LoopIterated,
        EventType::LoopUpdated,
        EventType::LoopArchived,
        EventType::SignalSent,
        EventType::SignalAcknowledged,
        EventType::SignalPruned,
        EventType::LockAcquired,
        EventType::LockRenewed,
        EventType::LockReleased,
        EventType::RecordPut,
        EventType::RecordDeleted,
        EventType::RecordIndexed,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            EventType::Created => "created",
            EventType::Updated => "updated",
            EventType::Claimed => "claimed",
            EventType::Released => "released",
            EventType::Closed => "closed",
            EventType::Reopened => "reopened",
            EventType::Commented => "commented",
            EventType::DepAdded => "dep_added",
            EventType::DepRemoved => "dep_removed",
            EventType::Deleted => "deleted",
            EventType::LeaseExpired => "lease_expired",
            EventType::LeaseRenewed => "lease_renewed",
            EventType::Archived => "archived",
            EventType::Restored => "restored",
            EventType::Revoked => "revoked",
            EventType::Imported => "imported",
            EventType::Undone => "undone",
            EventType::Fixed => "fixed",
            EventType::ConflictFound => "conflict_found",
            EventType::ConflictResolved => "conflict_resolved",
            EventType::Slept => "slept",
            EventType::Woken => "woken",
            EventType::Killed => "killed",
            EventType::Opened => "opened",
            EventType::Appended => "appended",
            EventType::Started => "started",
            EventType::Finished => "finished",
            EventType::RunEvent => "run.event",
            EventType::Synced => "synced",
            EventType::Collected => "collected",
            EventType::TaskCreated => "task.created",
            EventType::TaskStarted => "task.started",
            EventType::TaskPaused => "task.paused",
            EventType::TaskResumed => "task.resumed",
            EventType::TaskCompleted => "task.completed",
            EventType::SubtaskCompleted => "subtask.completed",
            EventType::FeatureShipped => "feature.shipped",
            EventType::LoopCreated => "loop.created",
            EventType::LoopStatusChange => "loop.status_change",
            EventType::LoopIterated => "loop.iterated",
            EventType::LoopUpdated => "loop.updated",
            EventType::LoopArchived => "loop.archived",
            EventType::SignalSent => "signal.sent",
            EventType::SignalAcknowledged => "signal.acknowledged",
            EventType::SignalPruned => "signal.pruned",
            EventType::LockAcquired => "lock.acquired",
            EventType::LockRenewed => "lock.renewed",
            EventType::LockReleased => "lock.released",
            EventType::RecordPut => "record.put",
            EventType::RecordDeleted => "record.deleted",
            EventType::RecordIndexed => "record.indexed",
        }
    }
}

/// One line of an issue's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// The store's sequence number
    pub id: i64,
    pub issue_id: IssueId,
    pub event_type: String,
    pub actor: String,
    /// What changed, each field as `{"old":…,"new":…}`
    pub detail: Map<String, Value>,
    pub created_at: Timestamp,
}

/// One line of a store's log, whatever it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogEntry {
    /// The store's sequence number
    pub id: i64,
    /// What changed: `issue`, `agent`, `run` and so on
    pub subject_kind: String,
    pub subject_id: String,
    /// The issue it concerns, if any
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue_id: Option<IssueId>,
    pub event_type: String,
    pub actor: String,
    /// What changed, each field as `{"old":…,"new":…}`
    pub detail: Map<String, Value>,
    pub created_at: Timestamp,
}

/// One changed field of a detail.
pub fn change(old: impl Serialize, new: impl Serialize) -> Value {
    json!({"old": old, "new": new})
}

/// Every field in which two states of an issue differ, except `updated_at`.
pub fn changes(old: Option<&Issue>, new: &Issue) -> Map<String, Value> {
    differences(old, new)
}

/// Every field in which two states of a thing differ, except `updated_at`.
pub fn differences<T: Serialize>(old: Option<&T>, new: &T) -> Map<String, Value> {
    let fields = |thing: &T| match serde_json::to_value(thing) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    };
    let (mut before, mut after) = (old.map(fields).unwrap_or_default(), fields(new));
    let mut detail = Map::new();
    let mut differ = |key: &str, was: Value, is: Value| {
        if was != is && key != "updated_at" {
            detail.insert(key.to_owned(), Value::Object(Map::from_iter([("old".into(), was), ("new".into(), is)])));
        }
    };
    for (key, was) in &mut before {
        let is = after.get_mut(key).map(Value::take).unwrap_or_default();
        differ(key, was.take(), is);
    }
    for (key, is) in after.into_iter().filter(|(key, _)| !before.contains_key(key)) {
        differ(&key, Value::Null, is);
    }
    detail
}

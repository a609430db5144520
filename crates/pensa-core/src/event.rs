//! The event: one entry of the store's log, from which history, streams, undo and audit are read.

mod describe;
pub mod filter;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::closed_enum::closed_enum;
use crate::id::IssueId;
use crate::issue::Issue;
use crate::time::Timestamp;

pub use describe::{describe, shorten};

closed_enum! {
    /// What happened.
    EventType "unknown type of event: {:?}" {
        Created "created",
        Updated "updated",
        Claimed "claimed",
        Released "released",
        Closed "closed",
        Reopened "reopened",
        Commented "commented",
        DepAdded "dep_added",
        DepRemoved "dep_removed",
        Deleted "deleted",
        LeaseExpired "lease_expired",
        LeaseRenewed "lease_renewed",
        Archived "archived",
        Restored "restored",
        Revoked "revoked",
        Imported "imported",
        Undone "undone",
        /// An undone change was applied again.
        Redone "redone",
        Fixed "fixed",
        ConflictFound "conflict_found",
        ConflictResolved "conflict_resolved",
        /// An agent was put to sleep.
        Slept "slept",
        /// An agent was woken.
        Woken "woken",
        /// An agent was ended for good.
        Killed "killed",
        /// The next session of an agent began.
        Opened "opened",
        /// Entries were appended to a session.
        Appended "appended",
        /// The command of a run was started.
        Started "started",
        /// A run ended.
        Finished "finished",
        /// An event that an agent or harness added to its run.
        RunEvent "run.event",
        /// Changes were exchanged with another store.
        Synced "synced",
        /// `pn gc` removed old data.
        Collected "collected",
        TaskCreated "task.created",
        TaskStarted "task.started",
        TaskPaused "task.paused",
        TaskResumed "task.resumed",
        TaskCompleted "task.completed",
        SubtaskCompleted "subtask.completed",
        FeatureShipped "feature.shipped",
        LoopCreated "loop.created",
        LoopStatusChange "loop.status_change",
        LoopIterated "loop.iterated",
        LoopUpdated "loop.updated",
        LoopArchived "loop.archived",
        SignalSent "signal.sent",
        SignalAcknowledged "signal.acknowledged",
        SignalPruned "signal.pruned",
        LockAcquired "lock.acquired",
        LockRenewed "lock.renewed",
        LockReleased "lock.released",
        RecordPut "record.put",
        RecordDeleted "record.deleted",
        RecordIndexed "record.indexed",
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

/// The old and new value of a changed field.
pub fn change(old: impl Serialize, new: impl Serialize) -> Value {
    json!({"old": old, "new": new})
}

/// The fields that differ between two states of an issue, except `updated_at`.
pub fn changes(old: Option<&Issue>, new: &Issue) -> Map<String, Value> {
    differences(old, new)
}

/// The fields that differ between two states of an entity, except `updated_at`.
pub fn differences<T: Serialize>(old: Option<&T>, new: &T) -> Map<String, Value> {
    let fields = |state: &T| match serde_json::to_value(state) {
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

//! What changed between two times, from the log: of each issue only what is different in the end.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::event::{LogEntry, change};
use crate::id::IssueId;
use crate::time::Timestamp;

/// Fields that follow from others, or that change with every renewal of a claim.
const LEFT_OUT: [&str; 7] =
    ["status", "closed_at", "updated_at", "lease_expires_at", "claim_session", "claim_host", "close_reason"];

/// What changed between two times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diff {
    pub since: Timestamp,
    pub until: Timestamp,
    pub created: Vec<ChangedIssue>,
    pub closed: Vec<ChangedIssue>,
    pub reopened: Vec<ChangedIssue>,
    pub deleted: Vec<ChangedIssue>,
    /// Issues whose fields differ
    pub changed: Vec<ChangedIssue>,
}

/// A changed issue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedIssue {
    pub id: IssueId,
    /// Its title now, or at its deletion
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The actor of the last change
    pub actor: String,
    /// The time of the last change
    pub at: Timestamp,
    /// Fields that differ, each as `{"old":…,"new":…}`
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub fields: Map<String, Value>,
    /// Dependencies that were added
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<IssueId>,
    /// Dependencies that were removed
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub no_longer_waits_for: Vec<IssueId>,
    /// The number of new comments
    #[serde(default, skip_serializing_if = "is_zero")]
    pub comments: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The changes of one issue, added up.
#[derive(Debug)]
struct Story {
    fields: BTreeMap<String, (Value, Value)>,
    /// Whether it was there before, and is there in the end.
    existed: bool,
    exists: bool,
    title: Option<String>,
    actor: String,
    at: Timestamp,
    closed_by: Option<(String, Timestamp)>,
    /// What it waits for now, or no longer, if that was different before.
    waits: BTreeMap<IssueId, i32>,
    comments: u32,
}

/// Adds up lines of the log, in their order.
#[derive(Debug, Default)]
pub struct DiffBuilder {
    stories: BTreeMap<IssueId, Story>,
}

impl DiffBuilder {
    /// Takes the next line, which is about an issue.
    pub fn add(&mut self, entry: &LogEntry) {
        let Ok(id) = entry.subject_id.parse::<IssueId>() else { return };
        let mut fields = fields_of(&entry.detail);
        let (appears, vanishes) = match entry.detail.get("issue") {
            Some(whole) => (whole["old"].is_null(), whole["new"].is_null()),
            None => (entry.event_type == "created", false),
        };
        let story = self.stories.entry(id).or_insert_with(|| Story {
            fields: BTreeMap::new(),
            existed: !appears,
            exists: true,
            title: None,
            actor: String::new(),
            at: entry.created_at,
            closed_by: None,
            waits: BTreeMap::new(),
            comments: 0,
        });
        story.exists = !vanishes;
        if vanishes {
            story.title = entry.detail["issue"]["old"]["title"].as_str().map(str::to_owned).or(story.title.take());
        }
        if fields.get("status").is_some_and(|(old, new)| old != new && (old == "closed" || new == "closed")) {
            story.closed_by = Some((entry.actor.clone(), entry.created_at));
        }
        if let Some(title) = fields.get("title").and_then(|(_, new)| new.as_str()) {
            story.title = Some(title.to_owned());
        }
        if let Some((old, new)) = fields.remove("depends_on_id") {
            for (other, step) in [(old, -1), (new, 1)] {
                let other = other.as_str().and_then(|other| other.parse().ok());
                if let Some(other) = other {
                    *story.waits.entry(other).or_default() += step;
                }
            }
        }
        story.comments += u32::from(entry.event_type == "commented");
        for (name, (old, new)) in fields {
            story.fields.entry(name).or_insert((old, Value::Null)).1 = new;
        }
        story.actor.clone_from(&entry.actor);
        story.at = entry.created_at;
    }

    /// The issues of which no line names the title.
    pub fn untitled(&self) -> impl Iterator<Item = &IssueId> {
        self.stories.iter().filter(|(_, story)| story.title.is_none()).map(|(id, _)| id)
    }

    /// What is different in the end, the issues in the order of their last change.
    pub fn finish(self, since: Timestamp, until: Timestamp, titles: &BTreeMap<IssueId, String>) -> Diff {
        let lists: [Vec<ChangedIssue>; 5] = Default::default();
        let [created, closed, reopened, deleted, changed] = lists;
        let mut diff = Diff { since, until, created, closed, reopened, deleted, changed };
        for (id, mut story) in self.stories {
            let status = story.fields.remove("status");
            story.fields.retain(|name, (old, new)| old != new && !LEFT_OUT.contains(&name.as_str()));
            let title = story.title.clone().or_else(|| titles.get(&id).cloned());
            let of = |by: Option<&(String, Timestamp)>| ChangedIssue {
                id: id.clone(),
                title: title.clone(),
                actor: by.map_or_else(|| story.actor.clone(), |(actor, _)| actor.clone()),
                at: by.map_or(story.at, |(_, at)| *at),
                fields: Map::new(),
                waits_for: Vec::new(),
                no_longer_waits_for: Vec::new(),
                comments: 0,
            };
            let waits = |step: i32| {
                story.waits.iter().filter(|(_, sum)| **sum == step).map(|(id, _)| id.clone()).collect::<Vec<_>>()
            };
            let was_closed = status.as_ref().is_some_and(|(old, _)| old == "closed");
            let is_closed = status.as_ref().is_some_and(|(_, new)| new == "closed");
            match (story.existed, story.exists) {
                (true, false) => diff.deleted.push(of(None)),
                (false, true) => diff.created.push(of(None)),
                (true, true) => {
                    let fields = story.fields.iter().map(|(name, (old, new))| (name.clone(), change(old, new)));
                    let changed = ChangedIssue {
                        fields: fields.collect(),
                        waits_for: waits(1),
                        no_longer_waits_for: waits(-1),
                        comments: story.comments,
                        ..of(None)
                    };
                    if changed != of(None) {
                        diff.changed.push(changed);
                    }
                }
                (false, false) => {}
            }
            if story.exists && is_closed && !was_closed {
                diff.closed.push(of(story.closed_by.as_ref()));
            } else if story.exists && was_closed && !is_closed {
                diff.reopened.push(of(story.closed_by.as_ref()));
            }
        }
        for list in [&mut diff.created, &mut diff.closed, &mut diff.reopened, &mut diff.deleted, &mut diff.changed] {
            list.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
        }
        diff
    }
}

/// The fields of the issue that a detail changes, each with its value before and after.
fn fields_of(detail: &Map<String, Value>) -> BTreeMap<String, (Value, Value)> {
    let is_attached = |value: &Value| value.get("issue_id").is_some();
    let is_field = |(name, value): &(&String, &Value)| {
        let has_both = value.get("old").is_some() && value.get("new").is_some();
        has_both && *name != "issue" && !is_attached(&value["old"]) && !is_attached(&value["new"])
    };
    let of = |(name, value): (&String, &Value)| (name.clone(), (value["old"].clone(), value["new"].clone()));
    detail.iter().filter(is_field).map(of).collect()
}

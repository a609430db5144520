//! What an event did to its issue, read from its detail, and whether another event built on it.
//!
//! Which events there are, and how an effect is reversed in a database, is left to the engine.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::comment::Comment;
use crate::error::{Code, Error, Result};
use crate::event::EventType;
use crate::id::{ConflictId, IssueId};
use crate::issue::IssueDetail;

/// What an event did to its issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The issue came into being.
    Appeared,
    /// The issue is gone; this is what it was.
    Vanished(Box<IssueDetail>),
    /// The issue is gone, and what it was is not known any more.
    Purged,
    /// It waits for another.
    Linked(IssueId),
    /// It no longer waits for another.
    Unlinked(IssueId),
    Said(Comment),
    Unsaid(Comment),
    /// What two clones disagree about waits for an answer.
    Disputed(ConflictId),
    /// It was answered.
    Settled(ConflictId),
    /// Fields have other values.
    Changed(Vec<Field>),
}

/// One field with another value; absent is null.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub old: Value,
    pub new: Value,
}

/// What two events can have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Thing {
    /// The issue as a whole, and so everything about it.
    Whole,
    /// Who has it and where it stands: what a claim, a release, a close and a reopening change together.
    State,
    Field(String),
    /// A row of an entity, or one column of it.
    Row(String, Option<String>),
    Dep(IssueId),
    Comment(String),
    Conflict(ConflictId),
}

impl Thing {
    fn of_field(name: &str) -> Self {
        match name {
            "status" | "assignee" | "lease_expires_at" | "claim_session" | "claim_host" | "closed_at"
            | "close_reason" => Thing::State,
            other => Thing::Field(other.to_owned()),
        }
    }

    /// Whether a change of one is a change of the other.
    pub fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Thing::Whole, _) | (_, Thing::Whole) => true,
            (Thing::Row(row, None), Thing::Row(other, _)) | (Thing::Row(other, _), Thing::Row(row, None)) => {
                row == other
            }
            _ => self == other,
        }
    }
}

impl Effect {
    /// Reads what an event did. What it changed says more than what it is called.
    pub fn of(event_type: &str, detail: &Map<String, Value>) -> Result<Self> {
        let sides = |name: &str| detail.get(name).and_then(sides);
        if detail.get("purged") == Some(&Value::Bool(true)) {
            return Ok(Effect::Purged);
        }
        if let Some((old, new)) = sides("issue") {
            return Ok(match new {
                Value::Null => Effect::Vanished(Box::new(parse(old)?)),
                _ => Effect::Appeared,
            });
        }
        if event_type == EventType::Created.as_str() {
            return Ok(Effect::Appeared);
        }
        if let Some((old, new)) = sides("comment") {
            return Ok(match new {
                Value::Null => Effect::Unsaid(parse(old)?),
                said => Effect::Said(parse(said)?),
            });
        }
        if let Some((old, new)) = sides("depends_on_id") {
            return Ok(match new {
                Value::Null => Effect::Unlinked(parse(old)?),
                parent => Effect::Linked(parse(parent)?),
            });
        }
        if let Some((old, new)) = sides("conflict") {
            return Ok(match new {
                Value::Null => Effect::Settled(parse(old)?),
                found => Effect::Disputed(parse(found)?),
            });
        }
        let field = |(name, change): (&String, &Value)| {
            let (old, new) = self::sides(change)?;
            // When it was changed is no change of its own.
            if name == "updated_at" {
                return None;
            }
            Some(Field { name: name.clone(), old: old.clone(), new: new.clone() })
        };
        Ok(Effect::Changed(detail.iter().filter_map(field).collect()))
    }

    /// What it changed, each thing once.
    pub fn things(&self) -> Vec<Thing> {
        match self {
            Effect::Appeared | Effect::Vanished(_) | Effect::Purged => vec![Thing::Whole],
            Effect::Linked(other) | Effect::Unlinked(other) => vec![Thing::Dep(other.clone())],
            Effect::Said(comment) | Effect::Unsaid(comment) => vec![Thing::Comment(comment.id.to_string())],
            Effect::Disputed(id) | Effect::Settled(id) => vec![Thing::Conflict(id.clone())],
            Effect::Changed(fields) => {
                let mut things: Vec<Thing> = Vec::new();
                for thing in fields.iter().map(|field| Thing::of_field(&field.name)) {
                    if !things.contains(&thing) {
                        things.push(thing);
                    }
                }
                things
            }
        }
    }
}

/// The two values of a change; none for a remark, such as the reason of a reopening.
fn sides(change: &Value) -> Option<(&Value, &Value)> {
    Some((change.get("old")?, change.get("new")?))
}

fn parse<T: DeserializeOwned>(value: &Value) -> Result<T> {
    T::deserialize(value).map_err(|e| Error::new(Code::Corrupt, format!("the log holds an unreadable value: {e}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn effect(event_type: &str, detail: Value) -> Effect {
        let Value::Object(detail) = detail else { panic!("an object") };
        Effect::of(event_type, &detail).expect("an effect")
    }

    fn meet(one: &Effect, other: &Effect) -> bool {
        one.things().iter().any(|thing| other.things().iter().any(|its| thing.meets(its)))
    }

    #[test]
    fn an_effect_is_read_from_what_changed() {
        let id: IssueId = "pn-2".parse().expect("an id");
        assert_eq!(effect("created", json!({"title": {"old": null, "new": "a"}})), Effect::Appeared);
        assert_eq!(effect("dep_added", json!({"depends_on_id": {"old": null, "new": id}})), Effect::Linked(id.clone()));
        assert_eq!(effect("undone", json!({"depends_on_id": {"old": id, "new": null}})), Effect::Unlinked(id));
        let Effect::Changed(fields) =
            effect("reopened", json!({"status": {"old": "closed", "new": "open"}, "reason": "not yet"}))
        else {
            panic!("a change");
        };
        assert_eq!(fields, [Field { name: "status".into(), old: json!("closed"), new: json!("open") }]);
    }

    #[test]
    fn what_an_event_calls_unreadable_is_an_error() {
        let detail = json!({"comment": {"old": null, "new": {"id": 5}}});
        let Value::Object(detail) = detail else { panic!("an object") };
        assert_eq!(Effect::of("commented", &detail).expect_err("damaged").code, Code::Corrupt);
    }

    #[test]
    fn claims_and_closings_meet_but_titles_and_priorities_do_not() {
        let changed = |name: &str| effect("updated", json!({name: {"old": "a", "new": "b"}}));
        assert!(meet(&changed("title"), &changed("title")));
        assert!(!meet(&changed("title"), &changed("priority")));
        assert!(meet(&changed("assignee"), &changed("status")));
        assert!(!meet(&changed("status"), &changed("spec")));
        let linked = |id: &str| effect("dep_added", json!({"depends_on_id": {"old": null, "new": id}}));
        assert!(meet(&linked("pn-1"), &linked("pn-1")));
        assert!(!meet(&linked("pn-1"), &linked("pn-2")));
        assert!(meet(&Effect::Appeared, &linked("pn-1")), "whatever happens to it needs the issue");
    }
}

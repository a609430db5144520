//! Derives from an issue's events who held it and for how long.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

use crate::event::Event;
use crate::time::Timestamp;

/// A period in which somebody held the issue.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    pub actor: String,
    pub from: Timestamp,
    /// When it ended; absent while it lasts
    pub until: Option<Timestamp>,
    /// What ended it: `released`, `closed`, `lease_expired` and so on
    pub ended_by: Option<String>,
    /// In milliseconds
    pub duration_ms: i64,
}

/// Returns the claims in a list of events, oldest first. The assignee of an issue in progress holds it.
pub fn claims(events: &[Event], now: Timestamp) -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::new();
    let (mut status, mut assignee) = (None::<String>, None::<String>);
    for event in events {
        for (field, known) in [("status", &mut status), ("assignee", &mut assignee)] {
            if let Some(change) = event.detail.get(field).and_then(Value::as_object) {
                *known = change.get("new").and_then(Value::as_str).map(str::to_owned);
            }
        }
        let holder = assignee.as_deref().filter(|_| status.as_deref() == Some("in_progress"));
        let open = claims.last_mut().filter(|claim| claim.until.is_none());
        if open.as_ref().map(|claim| claim.actor.as_str()) == holder {
            continue;
        }
        if let Some(open) = open {
            let ended = lease_end(event).filter(|end| *end >= open.from).unwrap_or(event.created_at);
            open.until = Some(ended.min(event.created_at));
            open.ended_by = Some(event.event_type.clone());
        }
        if let Some(actor) = holder {
            let (actor, from) = (actor.to_owned(), event.created_at);
            claims.push(Claim { actor, from, until: None, ended_by: None, duration_ms: 0 });
        }
    }
    for claim in &mut claims {
        let until = claim.until.unwrap_or(now);
        claim.duration_ms = until.as_millis().saturating_sub(claim.from.as_millis()).max(0);
    }
    claims
}

/// The end of an expired lease. The event itself is logged later, when the store is next used.
fn lease_end(event: &Event) -> Option<Timestamp> {
    let change = event.detail.get("lease_expires_at").filter(|_| event.event_type == "lease_expired")?;
    change.get("old")?.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_millis(1_772_202_600_000 + second * 1000).expect("a time")
    }

    fn event(second: i64, event_type: &str, detail: Value) -> Event {
        serde_json::from_value(json!({"id": second, "issue_id": "pn-1", "event_type": event_type, "actor": "x",
            "detail": detail, "created_at": at(second)}))
        .expect("an event")
    }

    fn summary(events: &[Event], now: i64) -> Vec<(String, i64, Option<String>)> {
        claims(events, at(now)).into_iter().map(|it| (it.actor, it.duration_ms / 1000, it.ended_by)).collect()
    }

    #[test]
    fn claims_follow_the_assignee_of_an_issue_in_progress() {
        let held =
            |by: &str| json!({"status": {"old": "open", "new": "in_progress"}, "assignee": {"old": null, "new": by}});
        let freed = json!({"status": {"old": "in_progress", "new": "open"}, "assignee": {"old": "x", "new": null}});
        let mut expired = freed.clone();
        expired["lease_expires_at"] = json!({"old": at(35), "new": null});
        let events = [
            event(
                0,
                "created",
                json!({"status": {"old": null, "new": "open"}, "assignee": {"old": null, "new": "zoe"}}),
            ),
            event(10, "claimed", held("ana")),
            event(12, "updated", json!({"priority": {"old": "p2", "new": "p0"}})),
            event(20, "released", freed),
            event(30, "claimed", held("ben")),
            event(99, "lease_expired", expired),
            event(100, "claimed", held("cid")),
            event(110, "updated", json!({"assignee": {"old": "cid", "new": "dan"}})),
            event(150, "closed", json!({"status": {"old": "in_progress", "new": "closed"}})),
        ];
        let ended = |by: &str| Some(by.to_owned());
        let expected = [
            ("ana".to_owned(), 10, ended("released")),
            ("ben".to_owned(), 5, ended("lease_expired")),
            ("cid".to_owned(), 10, ended("updated")),
            ("dan".to_owned(), 40, ended("closed")),
        ];
        assert_eq!(summary(&events, 500), expected);
        assert_eq!(summary(&events[..8], 120)[3], ("dan".to_owned(), 10, None), "it lasts");
        assert_eq!(summary(&[], 0), []);
    }

    #[test]
    fn malformed_details_are_ignored() {
        for detail in [json!({"status": 5, "assignee": []}), json!({"status": {"new": {}}, "assignee": {"new": 7}})] {
            assert_eq!(summary(&[event(1, "claimed", detail)], 9), []);
        }
    }
}

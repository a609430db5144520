//! What an entry says of an event, in the few words that a line has room for.

use serde_json::{Map, Value};

use crate::event::{describe, shorten};

/// Longest word from data, in characters.
const WORD: usize = 100;

fn text<'d>(detail: &'d Map<String, Value>, field: &str, side: &str) -> Option<&'d str> {
    detail.get(field)?.get(side)?.as_str()
}

fn new<'d>(detail: &'d Map<String, Value>, field: &str) -> Option<&'d str> {
    text(detail, field, "new")
}

/// What an event says of the issue itself.
pub fn issue_words(event_type: &str, detail: &Map<String, Value>) -> String {
    match event_type {
        "created" => {
            let what = [new(detail, "priority"), new(detail, "issue_type")].into_iter().flatten();
            let mut words = what.collect::<Vec<_>>().join(" ");
            if let Some(title) = new(detail, "title") {
                words = format!("{words}: {}", shorten(title, WORD));
            }
            words
        }
        "claimed" | "lease_renewed" => {
            new(detail, "lease_expires_at").map(|end| format!("until {end}")).unwrap_or_default()
        }
        "released" | "lease_expired" => {
            text(detail, "assignee", "old").map(|holder| format!("was held by {holder}")).unwrap_or_default()
        }
        "closed" => new(detail, "close_reason").map(|reason| shorten(reason, 2 * WORD)).unwrap_or_default(),
        "dep_added" => new(detail, "depends_on_id").map(|id| format!("waits for {id}")).unwrap_or_default(),
        "dep_removed" => {
            text(detail, "depends_on_id", "old").map(|id| format!("no longer waits for {id}")).unwrap_or_default()
        }
        _ => describe(detail),
    }
}

/// What an event says of work on the issue.
pub fn work_words(event_type: &str, detail: &Map<String, Value>) -> String {
    let step = || {
        let title = detail.get("step")?.get("new")?.get("title")?.as_str()?;
        let number = detail.get("number").and_then(Value::as_i64).map(|number| format!("{number}. "));
        Some(format!("{}{}", number.unwrap_or_default(), shorten(title, WORD)))
    };
    let titles = |value: &Value| -> Option<String> {
        let all = value.as_array()?.iter();
        let titles = all.filter_map(|step| step.as_str().or_else(|| step.get("title")?.as_str()));
        let titles: Vec<String> = titles.map(|title| shorten(title, WORD)).collect();
        (!titles.is_empty()).then(|| format!("steps: {}", titles.join("; ")))
    };
    let steps = detail.get("steps").and_then(|change| titles(&change["new"]));
    match event_type {
        "subtask.completed" => step().unwrap_or_default(),
        "task.created" | "task.started" | "task.resumed" => {
            let branch = new(detail, "branch").map(|branch| format!("on branch {branch}"));
            branch.into_iter().chain(steps).collect::<Vec<_>>().join(", ")
        }
        "updated" => steps.unwrap_or_else(|| describe(detail)),
        _ => String::new(),
    }
}

/// What an event says of a record: the changes that somebody meant, without its bookkeeping.
pub fn record_words(detail: &Map<String, Value>) -> String {
    const TOLD: [&str; 8] =
        ["status", "iteration", "progress", "reason", "holder", "loop_type", "signal_type", "recipient"];
    let told = detail.iter().filter(|(name, _)| TOLD.contains(&name.as_str()));
    describe(&told.map(|(name, change)| (name.clone(), change.clone())).collect())
}

/// A length of time as a person says it: the two largest units that it has.
pub fn length(millis: i64) -> String {
    let seconds = millis.max(0) / 1000;
    let parts = [(seconds / 86_400, 'd'), (seconds / 3600 % 24, 'h'), (seconds / 60 % 60, 'm'), (seconds % 60, 's')];
    let first = parts.iter().position(|(count, _)| *count > 0).unwrap_or(parts.len() - 1);
    let told = parts[first..].iter().take(2).filter(|(count, _)| *count > 0);
    let told: Vec<String> = told.map(|(count, unit)| format!("{count}{unit}")).collect();
    if told.is_empty() { "0s".to_owned() } else { told.join(" ") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().expect("an object")
    }

    #[test]
    fn every_event_of_an_issue_has_its_words() {
        for (event, detail, told) in [
            (
                "created",
                json!({"title": {"new": "log in"}, "priority": {"new": "p0"}, "issue_type": {"new": "bug"}}),
                "p0 bug: log in",
            ),
            ("claimed", json!({"assignee": {"new": "ana"}}), ""),
            (
                "claimed",
                json!({"lease_expires_at": {"new": "2026-02-27T14:30:00.000Z"}}),
                "until 2026-02-27T14:30:00.000Z",
            ),
            ("lease_expired", json!({"assignee": {"old": "ana", "new": null}}), "was held by ana"),
            ("closed", json!({"close_reason": {"new": "done"}, "status": {"new": "closed"}}), "done"),
            ("dep_added", json!({"depends_on_id": {"old": null, "new": "pn-2"}}), "waits for pn-2"),
            ("dep_removed", json!({"depends_on_id": {"old": "pn-2", "new": null}}), "no longer waits for pn-2"),
            ("updated", json!({"priority": {"old": "p2", "new": "p0"}}), "priority p2 → p0"),
            ("closed", json!({"close_reason": 5}), ""),
        ] {
            assert_eq!(issue_words(event, &object(detail)), told, "{event}");
        }
    }

    #[test]
    fn every_event_of_work_has_its_words() {
        let step = json!({"number": 2, "step": {"old": {}, "new": {"title": "mend", "status": "done"}}});
        for (event, detail, told) in [
            ("subtask.completed", step, "2. mend"),
            (
                "task.created",
                json!({"branch": {"new": "fast"}, "steps": {"new": [{"title": "a"}, {"title": "b"}]}}),
                "on branch fast, steps: a; b",
            ),
            ("updated", json!({"steps": {"old": [], "new": ["c"]}}), "steps: c"),
            ("task.paused", json!({"status": {"old": "active", "new": "paused"}}), ""),
            ("subtask.completed", json!({"step": []}), ""),
        ] {
            assert_eq!(work_words(event, &object(detail)), told, "{event}");
        }
        let of_loop =
            json!({"status": {"old": "running", "new": "failed"}, "runnable": {"new": 7}, "context": {"new": {}}});
        assert_eq!(record_words(&object(of_loop)), "status running → failed");
    }

    #[test]
    fn lengths_have_the_two_largest_units() {
        for (millis, told) in [
            (-5, "0s"),
            (999, "0s"),
            (59_000, "59s"),
            (3_600_000, "1h"),
            (3_661_000, "1h 1m"),
            (90_000_000, "1d 1h"),
            (86_400_000 + 60_000, "1d"),
        ] {
            assert_eq!(length(millis), told, "{millis}");
        }
    }
}

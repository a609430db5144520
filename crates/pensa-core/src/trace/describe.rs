//! Describes events in a few words for the entries of a trace.

use serde_json::{Map, Value};

use crate::event::{describe, shorten};

/// Maximum length of a value from data, in characters.
const VALUE_CHARS: usize = 100;

fn text<'d>(detail: &'d Map<String, Value>, field: &str, side: &str) -> Option<&'d str> {
    detail.get(field)?.get(side)?.as_str()
}

fn new<'d>(detail: &'d Map<String, Value>, field: &str) -> Option<&'d str> {
    text(detail, field, "new")
}

/// Describes an event of the issue itself.
pub fn describe_issue_event(event_type: &str, detail: &Map<String, Value>) -> String {
    match event_type {
        "created" => {
            let what = [new(detail, "priority"), new(detail, "issue_type")].into_iter().flatten();
            let mut words = what.collect::<Vec<_>>().join(" ");
            if let Some(title) = new(detail, "title") {
                words = format!("{words}: {}", shorten(title, VALUE_CHARS));
            }
            words
        }
        "claimed" | "lease_renewed" => {
            new(detail, "lease_expires_at").map(|end| format!("until {end}")).unwrap_or_default()
        }
        "released" | "lease_expired" => {
            text(detail, "assignee", "old").map(|holder| format!("was held by {holder}")).unwrap_or_default()
        }
        "closed" => new(detail, "close_reason").map(|reason| shorten(reason, 2 * VALUE_CHARS)).unwrap_or_default(),
        "dep_added" => new(detail, "depends_on_id").map(|id| format!("waits for {id}")).unwrap_or_default(),
        "dep_removed" => {
            text(detail, "depends_on_id", "old").map(|id| format!("no longer waits for {id}")).unwrap_or_default()
        }
        _ => describe(detail),
    }
}

/// Describes an event of work on the issue.
pub fn describe_work_event(event_type: &str, detail: &Map<String, Value>) -> String {
    let step = || {
        let title = detail.get("step")?.get("new")?.get("title")?.as_str()?;
        let number = detail.get("number").and_then(Value::as_i64).map(|number| format!("{number}. "));
        Some(format!("{}{}", number.unwrap_or_default(), shorten(title, VALUE_CHARS)))
    };
    let titles = |value: &Value| -> Option<String> {
        let all = value.as_array()?.iter();
        let titles = all.filter_map(|step| step.as_str().or_else(|| step.get("title")?.as_str()));
        let titles: Vec<String> = titles.map(|title| shorten(title, VALUE_CHARS)).collect();
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

/// Describes an event of a record by its main fields, without internal ones.
pub fn describe_record_event(detail: &Map<String, Value>) -> String {
    const MAIN_FIELDS: [&str; 8] =
        ["status", "iteration", "progress", "reason", "holder", "loop_type", "signal_type", "recipient"];
    let fields = detail.iter().filter(|(name, _)| MAIN_FIELDS.contains(&name.as_str()));
    describe(&fields.map(|(name, change)| (name.clone(), change.clone())).collect())
}

/// Formats a duration with its two largest units, such as `1h 5m`.
pub fn format_duration(millis: i64) -> String {
    let seconds = millis.max(0) / 1000;
    let parts = [(seconds / 86_400, 'd'), (seconds / 3600 % 24, 'h'), (seconds / 60 % 60, 'm'), (seconds % 60, 's')];
    let first = parts.iter().position(|(count, _)| *count > 0).unwrap_or(parts.len() - 1);
    let units = parts[first..].iter().take(2).filter(|(count, _)| *count > 0);
    let units: Vec<String> = units.map(|(count, unit)| format!("{count}{unit}")).collect();
    if units.is_empty() { "0s".to_owned() } else { units.join(" ") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().expect("an object")
    }

    #[test]
    fn issue_events_are_described() {
        for (event, detail, expected) in [
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
            assert_eq!(describe_issue_event(event, &object(detail)), expected, "{event}");
        }
    }

    #[test]
    fn work_events_are_described() {
        let step = json!({"number": 2, "step": {"old": {}, "new": {"title": "mend", "status": "done"}}});
        for (event, detail, expected) in [
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
            assert_eq!(describe_work_event(event, &object(detail)), expected, "{event}");
        }
        let of_loop =
            json!({"status": {"old": "running", "new": "failed"}, "runnable": {"new": 7}, "context": {"new": {}}});
        assert_eq!(describe_record_event(&object(of_loop)), "status running → failed");
    }

    #[test]
    fn durations_have_the_two_largest_units() {
        for (millis, expected) in [
            (-5, "0s"),
            (999, "0s"),
            (59_000, "59s"),
            (3_600_000, "1h"),
            (3_661_000, "1h 1m"),
            (90_000_000, "1d 1h"),
            (86_400_000 + 60_000, "1d"),
        ] {
            assert_eq!(format_duration(millis), expected, "{millis}");
        }
    }
}

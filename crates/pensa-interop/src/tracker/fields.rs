//! Reads the fields of JSON objects leniently, and keeps track of which were understood.

use pensa_core::Timestamp;
use pensa_core::session::Object;
use pensa_core::time::{Date, Span};
use serde_json::Value;

use crate::files;

/// A text that is not empty. Numbers count as text.
pub(super) fn text(object: &Object, name: &str) -> Option<String> {
    match object.get(name)? {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A time as RFC 3339, or as a day.
pub(super) fn time(object: &Object, name: &str) -> Option<Timestamp> {
    let value = object.get(name)?;
    files::time(value).or_else(|| value.as_str().and_then(moment))
}

pub(super) fn date(object: &Object, name: &str) -> Option<Date> {
    time(object, name).map(Date::of)
}

/// A time in one of the forms in which tools write it. Without a zone it is UTC.
pub(super) fn moment(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    if text.len() > 100 || text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at);
    }
    if let Ok(day) = text.parse::<Date>() {
        return Some(day.start());
    }
    // `Tue Feb 25 2025 10:11:12 GMT+0000 (GMT)`
    let text = text.split_once(" (").map_or(text, |(text, _)| text);
    const ZONED: [&str; 3] = ["%a %b %d %Y %H:%M:%S GMT%z", "%Y-%m-%d %H:%M:%S %z", "%a, %d %b %Y %H:%M:%S %z"];
    for form in ZONED {
        if let Ok(at) = jiff::Timestamp::strptime(form, text) {
            return Timestamp::from_millis(at.as_millisecond()).ok();
        }
    }
    const LOCAL: [&str; 8] = [
        "%Y%m%dT%H%M%SZ",
        "%Y-%m-%dT%H:%M:%S",
        "%Y-%m-%d %H:%M:%S",
        "%Y-%m-%d %H:%M",
        "%d/%b/%y %I:%M %p",
        "%d/%b/%Y %I:%M %p",
        "%d/%b/%y %H:%M",
        "%d.%m.%Y %H:%M",
    ];
    for form in LOCAL {
        if let Ok(at) = jiff::civil::DateTime::strptime(form, text) {
            let at = at.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
            return Timestamp::from_millis(at.timestamp().as_millisecond()).ok();
        }
    }
    const DAYS: [&str; 4] = ["%d/%b/%y", "%d/%b/%Y", "%b %d, %Y", "%Y/%m/%d"];
    let day = DAYS.iter().find_map(|form| jiff::civil::Date::strptime(form, text).ok())?;
    day.to_string().parse::<Date>().ok().map(Date::start)
}

/// An estimate; `None` if it is out of range.
pub(super) fn span(seconds: f64) -> Option<Span> {
    (1.0..3.0e9).contains(&seconds).then(|| Span::from_millis((seconds as i64) * 1000))
}

/// The elements of a list of texts.
pub(super) fn texts<'a>(object: &'a Object, name: &str) -> Vec<&'a str> {
    let list = object.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(Value::as_str).collect()
}

/// The objects of a list.
pub(super) fn objects<'a>(object: &'a Object, name: &str) -> impl Iterator<Item = &'a Object> {
    object.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}

/// Whether a value says nothing.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_tools_write_them() {
        for (given, expected) in [
            ("2026-02-27T14:30:00+02:00", "2026-02-27T12:30:00.000Z"),
            ("2026-02-27T14:30:00.123456789Z", "2026-02-27T14:30:00.123Z"),
            ("20260227T143000Z", "2026-02-27T14:30:00.000Z"),
            ("2026-02-27 14:30", "2026-02-27T14:30:00.000Z"),
            ("2026-02-27", "2026-02-27T00:00:00.000Z"),
            ("27/Feb/26 2:30 PM", "2026-02-27T14:30:00.000Z"),
            ("Fri Feb 27 2026 14:30:00 GMT+0000 (GMT)", "2026-02-27T14:30:00.000Z"),
        ] {
            assert_eq!(moment(given).map(|at| at.to_string()).as_deref(), Some(expected), "{given}");
        }
        for bad in ["", "soon", "2026", "2026-13-01", "20260227"] {
            assert_eq!(moment(bad), None, "{bad}");
        }
    }
}

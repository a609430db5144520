//! Days, as people write them: `tomorrow`, `+3d`, `fri`, `2026-12-01`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use jiff::civil;
use jiff::tz::TimeZone;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::Timestamp;
use crate::error::{Error, Result};
use crate::text;
use crate::text_form::serde_as_text;

const EXAMPLES: &str = "such as tomorrow, +3d, fri or 2026-12-01";
const WEEKDAYS: [[&str; 2]; 7] = [
    ["mon", "monday"],
    ["tue", "tuesday"],
    ["wed", "wednesday"],
    ["thu", "thursday"],
    ["fri", "friday"],
    ["sat", "saturday"],
    ["sun", "sunday"],
];

/// A day in UTC, written as `2026-12-01`, so that text order is time order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(civil::Date);

impl Date {
    /// The day of a time.
    pub fn of(time: Timestamp) -> Self {
        Self(time.0.to_zoned(TimeZone::UTC).date())
    }

    /// Reads a day as people write it, relative to now. A weekday is the next one; today's own name means in a week.
    pub fn parse_at(given: &str, now: Timestamp) -> Result<Self> {
        let wanted = given.trim().to_ascii_lowercase();
        let today = Self::of(now);
        let weekday = WEEKDAYS.iter().position(|names| names.contains(&wanted.as_str()));
        match wanted.as_str() {
            "today" => return Ok(today),
            "tomorrow" => return today.plus_days(1),
            "yesterday" => return today.plus_days(-1),
            _ => {}
        }
        if let Some(weekday) = weekday.and_then(|at| i64::try_from(at).ok()) {
            let current = i64::from(today.0.weekday().to_monday_zero_offset());
            return today.plus_days((weekday - current + 6).rem_euclid(7) + 1);
        }
        match relative_days(&wanted) {
            Some(days) => today.plus_days(days),
            None => given.trim().parse().map_err(|error: Error| {
                let names =
                    ["today", "tomorrow", "yesterday"].into_iter().chain(WEEKDAYS.into_iter().map(|names| names[1]));
                match text::nearest(&wanted, names) {
                    Some(near) => error.hint(format!("did you mean {near}? {EXAMPLES}")),
                    None => error,
                }
            }),
        }
    }

    /// The moment at which the day begins.
    pub fn start(self) -> Timestamp {
        self.0
            .to_zoned(TimeZone::UTC)
            .map_or(Timestamp(jiff::Timestamp::UNIX_EPOCH), |time| Timestamp(time.timestamp()))
    }

    fn plus_days(self, days: i64) -> Result<Self> {
        let moved = jiff::Span::new().try_days(days).and_then(|days| self.0.checked_add(days));
        moved.ok().filter(|date| date.year() >= 0).map(Self).ok_or_else(|| Error::invalid("the date is out of range"))
    }
}

/// The days of `+3d`, `-1w` or `2m`; months have 30 days, years 365.
fn relative_days(text: &str) -> Option<i64> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let unit = rest.chars().last()?;
    let length = [('d', 1), ('w', 7), ('m', 30), ('y', 365)].into_iter().find(|(name, _)| *name == unit)?.1;
    let count: i64 = rest.strip_suffix(unit).filter(|count| !count.starts_with(['+', '-']))?.parse().ok()?;
    count.checked_mul(length)?.checked_mul(sign)
}

serde_as_text!(Date);

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Date {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let is_date = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        let date = if is_date { text.parse().ok() } else { None };
        date.map(Self).ok_or_else(|| {
            let shown: String = text.chars().take(40).collect();
            Error::invalid(format!("not a date: {shown:?}")).hint(EXAMPLES)
        })
    }
}

impl JsonSchema for Date {
    fn schema_name() -> Cow<'static, str> {
        "Date".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "date"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_as_people_write_them() {
        // A Thursday.
        let now: Timestamp = "2026-11-19T23:59:00Z".parse().expect("a time");
        for (given, day) in [
            ("today", "2026-11-19"),
            ("Tomorrow", "2026-11-20"),
            ("yesterday", "2026-11-18"),
            ("fri", "2026-11-20"),
            ("Thursday", "2026-11-26"),
            ("wed", "2026-11-25"),
            ("+3d", "2026-11-22"),
            ("2w", "2026-12-03"),
            ("-1d", "2026-11-18"),
            (" 2028-02-29 ", "2028-02-29"),
        ] {
            assert_eq!(Date::parse_at(given, now).expect(given).to_string(), day, "{given}");
        }
    }

    #[test]
    fn a_misspelled_day_is_suggested() {
        let now: Timestamp = "2026-11-19T12:00:00Z".parse().expect("a time");
        for (bad, hint) in
            [("tomorow", "did you mean tomorrow? such as"), ("firday", "did you mean friday?"), ("soon", "such as")]
        {
            let error = Date::parse_at(bad, now).expect_err(bad);
            assert!(error.hint.as_deref().unwrap_or_default().starts_with(hint), "{bad}: {error:?}");
        }
    }

    #[test]
    fn what_is_no_date_is_refused() {
        let now: Timestamp = "2026-11-19T12:00:00Z".parse().expect("a time");
        for bad in ["", "2026-02-30", "2026-1-1", "someday", "+d", "++3d", "99999999999999999999d", "999999999d", "é"]
        {
            let error = Date::parse_at(bad, now).expect_err(bad);
            assert!(error.hint.is_some() || error.message.contains("out of range"), "{bad}: {error:?}");
        }
    }
}

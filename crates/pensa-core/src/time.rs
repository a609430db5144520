//! Timestamps and durations, with their text and JSON forms.
//!
//! Nothing here reads the clock: the engine passes the time in.

mod date;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::error::{Error, Result};
use crate::text_form::serde_as_text;

pub use date::Date;

/// The first moment of the year 0.
const FIRST_MILLIS: i64 = -62_167_219_200_000;

/// A UTC time with milliseconds, written as `2026-02-27T14:30:00.000Z`, so that text order is time order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    /// Returns an error outside the years 0 to 9999, because other years would not sort as text.
    pub fn from_millis(millis: i64) -> Result<Self> {
        // Jiff itself refuses times after the year 9999.
        let ts = jiff::Timestamp::from_millisecond(millis).ok().filter(|_| millis >= FIRST_MILLIS);
        ts.map(Self).ok_or_else(|| Error::invalid(format!("time out of range: {millis}")))
    }

    pub fn as_millis(self) -> i64 {
        self.0.as_millisecond()
    }

    /// The time from `earlier` until this; `None` if this is not later.
    pub fn since(self, earlier: Self) -> Option<Span> {
        let millis = self.as_millis() - earlier.as_millis();
        (millis > 0).then_some(Span { millis })
    }

    /// This time plus `span`; unchanged if the result is out of range.
    #[must_use]
    pub fn plus(self, span: Span) -> Self {
        Self::from_millis(self.as_millis().saturating_add(span.as_millis())).unwrap_or(self)
    }

    /// This time minus `span`.
    #[must_use]
    pub fn minus(self, span: Span) -> Self {
        self.plus(Span::from_millis(span.as_millis().saturating_neg()))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.0)
    }
}

impl FromStr for Timestamp {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = || Error::invalid(format!("not a time: {text:?}")).hint("times look like 2026-02-27T14:30:00.000Z");
        if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
            return Self::from_millis(text.parse().map_err(|_| bad())?);
        }
        let ts: jiff::Timestamp = text.parse().map_err(|_| bad())?;
        Self::from_millis(ts.as_millisecond())
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Timestamp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an RFC 3339 time or Unix milliseconds")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, millis: i64) -> Result<Timestamp, E> {
                Timestamp::from_millis(millis).map_err(E::custom)
            }
            fn visit_u64<E: de::Error>(self, millis: u64) -> Result<Timestamp, E> {
                self.visit_i64(i64::try_from(millis).map_err(E::custom)?)
            }
        }
        from.deserialize_any(Either)
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "date-time"})
    }
}

/// A duration, written as a whole number and one unit: `30s`, `15m`, `12h`, `90d`. Read also as `1h30m` and `2w`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    millis: i64,
}

const UNITS: [(char, i64); 4] = [('d', 86_400_000), ('h', 3_600_000), ('m', 60_000), ('s', 1_000)];

const WEEK: i64 = 7 * 86_400_000;

impl Span {
    /// Long enough for any deadline, and short enough to add to any current date.
    const MAX_MILLIS: i64 = 36_500 * 86_400_000;

    pub const fn from_millis(millis: i64) -> Self {
        Self { millis }
    }

    pub fn as_millis(self) -> i64 {
        self.millis
    }
}

serde_as_text!(Span);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, length) = UNITS
            .into_iter()
            .find(|(_, length)| self.millis % length == 0 && self.millis >= *length)
            .unwrap_or(('s', 1_000));
        write!(f, "{}{unit}", self.millis / length)
    }
}

impl FromStr for Span {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad =
            || Error::invalid(format!("not a duration: {text:?}")).hint("durations look like 30s, 15m, 1h30m or 90d");
        let mut millis = Some(0_i64);
        for part in text.split_inclusive(|c: char| c.is_ascii_alphabetic()) {
            let unit = part.chars().last().ok_or_else(bad)?;
            let (_, length) = [('w', WEEK)].into_iter().chain(UNITS).find(|(name, _)| *name == unit).ok_or_else(bad)?;
            let count: i64 = part[..part.len() - 1].parse().map_err(|_| bad())?;
            let own = count.checked_mul(length).filter(|own| *own > 0);
            millis = millis.zip(own).and_then(|(sum, own)| sum.checked_add(own));
        }
        match millis {
            _ if text.is_empty() => Err(bad()),
            Some(millis) if millis <= Self::MAX_MILLIS => Ok(Self { millis }),
            _ => Err(Error::invalid(format!("duration out of range: {text:?}")).hint("from 1s to 36500d")),
        }
    }
}

impl JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^[0-9]+[smhd]$"})
    }
}

/// A time in the past, given as a duration ago or as a timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Since {
    Ago(Span),
    At(Timestamp),
}

impl Since {
    pub fn as_of(self, now: Timestamp) -> Timestamp {
        match self {
            Since::Ago(span) => now.minus(span),
            Since::At(at) => at,
        }
    }
}

serde_as_text!(Since);

impl fmt::Display for Since {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Since::Ago(span) => span.fmt(f),
            Since::At(at) => at.fmt(f),
        }
    }
}

impl FromStr for Since {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = |_| {
            Error::invalid(format!("neither a duration nor a time: {text:?}"))
                .hint("such as 12h, 7d, 2026-02-27 or 2026-02-27T14:30:00Z")
        };
        let day = |_| text.parse().map(|day: Date| Since::At(day.start()));
        text.parse().map(Since::Ago).or_else(|_| text.parse().map(Since::At)).or_else(day).map_err(bad)
    }
}

impl JsonSchema for Since {
    fn schema_name() -> Cow<'static, str> {
        "Since".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_accepted_form_is_written_as_utc_milliseconds() {
        let table = [
            ("2026-02-27T14:30:00Z", "2026-02-27T14:30:00.000Z"),
            ("2026-02-27T14:30:00.1234Z", "2026-02-27T14:30:00.123Z"),
            ("2026-02-27T15:30:00.5+01:00", "2026-02-27T14:30:00.500Z"),
            ("1772202600000", "2026-02-27T14:30:00.000Z"),
        ];
        for (given, written) in table {
            assert_eq!(given.parse::<Timestamp>().expect(given).to_string(), written);
        }
        let number: Timestamp = serde_json::from_str("1772202600000").expect("a number");
        assert_eq!(number.to_string(), "2026-02-27T14:30:00.000Z");
    }

    #[test]
    fn the_first_and_the_last_moment_come_back_and_none_beyond_them_is_one() {
        let end = jiff::Timestamp::MAX.as_second() * 1000;
        for (millis, text) in [
            (FIRST_MILLIS, "0000-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        ] {
            let moment = Timestamp::from_millis(millis).expect("a time");
            assert_eq!((moment.to_string().as_str(), text.parse().ok()), (text, Some(moment)));
        }
        let last = Timestamp::from_millis(end).expect("a time");
        assert!(last.to_string().starts_with("9999-12-30T") && last.to_string().parse().ok() == Some(last), "{last}");
        for millis in [FIRST_MILLIS - 1, end + 1000, i64::MIN, i64::MAX] {
            assert!(Timestamp::from_millis(millis).is_err(), "{millis}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for bad in ["", "yesterday", "2026-02-30T00:00:00Z", "-1", "99999999999999999999", "2026-02-27"] {
            assert!(bad.parse::<Timestamp>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_day_is_since_its_beginning() {
        let since: Since = "2026-02-27".parse().expect("a day");
        assert_eq!(since.to_string(), "2026-02-27T00:00:00.000Z");
        assert!("2026-02-30".parse::<Since>().is_err());
    }

    #[test]
    fn spans_read_and_write_their_largest_whole_unit() {
        for (given, written) in [
            ("30s", "30s"),
            ("90s", "90s"),
            ("60s", "1m"),
            ("24h", "1d"),
            ("90d", "90d"),
            ("1h30m", "90m"),
            ("2w", "14d"),
        ] {
            assert_eq!(given.parse::<Span>().expect(given).to_string(), written);
        }
        for bad in ["", "s", "0s", "-1m", "1.5h", "99999999999d", "1m ", "é", "1h30", "1h0m", "1h-5m"] {
            assert!(bad.parse::<Span>().is_err(), "{bad:?}");
        }
    }
}

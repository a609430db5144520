//! The lane: a named queue for jobs with a limited number of slots.
//!
//! The settings can override the limits of a lane.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::time::Span;

/// Maximum length of a name.
const MAX_BYTES: usize = 64;
/// Maximum number of slots of a lane.
pub const MAX_SLOTS: i64 = 1000;
/// Maximum time limit.
pub const MAX_TIMEOUT: Span = Span::from_millis(7 * 86_400_000);

/// The name of a lane.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(inline, with = "String")]
pub struct Lane(String);

impl Lane {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The default limits of a built-in lane; `None` for other lanes.
    pub fn built_in(&self) -> Option<LaneLimits> {
        BUILT_IN.iter().find(|(name, _)| *name == self.0).map(|(_, limits)| *limits)
    }
}

impl TryFrom<String> for Lane {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        let starts_well = text.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        if starts_well && text.len() <= MAX_BYTES && text.bytes().all(plain) {
            return Ok(Self(text));
        }
        let shown: String = text.chars().take(MAX_BYTES).collect();
        Err(Error::invalid(format!("not a lane: {shown:?}"))
            .hint(format!("a word of a-z, 0-9, - and _ that begins with a letter, of at most {MAX_BYTES}")))
    }
}

impl FromStr for Lane {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        text.trim().to_owned().try_into()
    }
}

impl From<Lane> for String {
    fn from(lane: Lane) -> Self {
        lane.0
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// How many commands of a lane may run at once on a machine, and their time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneLimits {
    pub slots: i64,
    pub timeout: Span,
}

impl LaneLimits {
    /// Defaults for a lane whose settings leave one out.
    pub const DEFAULT: LaneLimits = limits(1, 60);

    /// Refuses limits out of range.
    pub fn check(&self) -> Result<()> {
        check_slots(self.slots)?;
        if (1..=MAX_TIMEOUT.as_millis()).contains(&self.timeout.as_millis()) {
            return Ok(());
        }
        Err(Error::invalid(format!("a timeout of {}ms is not from 1ms to {MAX_TIMEOUT}", self.timeout.as_millis())))
    }
}

fn check_slots(slots: i64) -> Result<()> {
    if (1..=MAX_SLOTS).contains(&slots) {
        return Ok(());
    }
    Err(Error::invalid(format!("{slots} slots are not from 1 to {MAX_SLOTS}")))
}

const fn limits(slots: i64, seconds: i64) -> LaneLimits {
    LaneLimits { slots, timeout: Span::from_millis(seconds * 1000) }
}

/// The lanes that always exist.
pub const BUILT_IN: [(&str, LaneLimits); 3] =
    [("heavy", limits(1, 600)), ("net", limits(5, 60)), ("no-net", limits(10, 30))];

/// Whether a job may start: running jobs and jobs queued before it leave a slot free.
pub fn has_slot(running: usize, before: usize, slots: i64) -> bool {
    i64::try_from(running.saturating_add(before)).is_ok_and(|taken| taken < slots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_have_plain_names() {
        for good in ["net", "no-net", "gpu_2", &"a".repeat(64)] {
            assert_eq!(good.parse::<Lane>().expect(good).as_str(), good);
        }
        for bad in ["", "Net", "1", "a b", "a.b", "é", "a\u{1b}", "-", &"a".repeat(65)] {
            assert!(bad.parse::<Lane>().is_err(), "{bad:?}");
        }
        let heavy: Lane = "heavy".parse().expect("a lane");
        assert_eq!(heavy.built_in(), Some(limits(1, 600)));
        assert_eq!("gpu".parse::<Lane>().expect("a lane").built_in(), None);
    }

    #[test]
    fn limits_are_checked() {
        let check = |slots: i64, millis: i64| LaneLimits { slots, timeout: Span::from_millis(millis) }.check();
        assert!(check(1, 1).is_ok() && check(1000, MAX_TIMEOUT.as_millis()).is_ok());
        for (slots, millis) in [(0, 1), (-1, 1), (1001, 1), (i64::MAX, 1), (1, 0), (1, -1), (1, i64::MAX)] {
            assert!(check(slots, millis).is_err(), "{slots} {millis}");
        }
        for (_, limits) in BUILT_IN {
            limits.check().expect("possible");
        }
    }

    #[test]
    fn jobs_start_in_order_while_slots_are_free() {
        for (running, before, slots, may) in [
            (0, 0, 1, true),
            (1, 0, 1, false),
            (0, 1, 1, false),
            (2, 0, 3, true),
            (1, 1, 3, true),
            (1, 2, 3, false),
            (5, 0, 3, false),
            (usize::MAX, 1, MAX_SLOTS, false),
        ] {
            assert_eq!(has_slot(running, before, slots), may, "{running} {before} {slots}");
        }
    }
}

//! What finds near-duplicates of a learning, and what an answer about learnings may cost.
//!
//! [`crate::recall`] searches learnings like all other texts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Impact, Kind, Learning};
use crate::error::{Error, Result};
use crate::similar::{self, hash64};

/// Minimum token budget.
pub const MIN_TOKENS: u32 = 50;
/// Maximum token budget.
pub const MAX_TOKENS: u32 = 1_000_000;

const DAY: i64 = 86_400_000;
/// The age at which the points for recency are halved.
const HALF_LIFE: i64 = 90 * DAY;

fn key(kind: char, what: &str) -> i64 {
    hash64(format!("{kind} {what}").as_bytes()).cast_signed()
}

/// The keys under which near-duplicates of a text are found.
pub fn duplicate_keys(kind: Kind, text: &str) -> Vec<i64> {
    similar::keys(text).into_iter().map(|same| key('s', &format!("{kind} {same}"))).collect()
}

/// All keys under which a learning is indexed.
pub fn keys(learning: &Learning) -> Vec<i64> {
    let mut all = duplicate_keys(learning.kind, &learning.text);
    all.sort_unstable();
    all.dedup();
    all
}

/// The order of learnings under the same key, highest first: the hour of the last update or verification, plus or minus
/// one half-life for high or low impact.
pub fn rank(learning: &Learning) -> i64 {
    let impact = match learning.impact {
        Impact::High => HALF_LIFE,
        Impact::Medium => 0,
        Impact::Low => -HALF_LIFE,
    };
    (learning.fresh_at().as_millis() + impact).div_euclid(3_600_000)
}

/// A learning that was recalled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hit {
    #[serde(flatten)]
    pub learning: Learning,
    /// Its score; comparable only within the same answer
    pub score: i64,
    /// True if the text was cut to fit the budget; else absent
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// Refuses a token budget that is too small or too large.
pub fn check_budget(max_tokens: u32) -> Result<u32> {
    if (MIN_TOKENS..=MAX_TOKENS).contains(&max_tokens) {
        return Ok(max_tokens);
    }
    Err(Error::invalid(format!("a budget of {max_tokens} tokens is not possible"))
        .hint(format!("from {MIN_TOKENS} to {MAX_TOKENS} tokens")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_has_bounds() {
        assert_eq!(check_budget(MIN_TOKENS).expect("enough"), MIN_TOKENS);
        for bad in [0, 1, MIN_TOKENS - 1, u32::MAX] {
            assert!(check_budget(bad).is_err());
        }
    }

    #[test]
    fn near_duplicates_share_a_key() {
        let known = duplicate_keys(Kind::Gotcha, "Use nullParents");
        assert!(duplicate_keys(Kind::Gotcha, "Uses nullParents").iter().any(|key| known.contains(key)));
        assert!(!duplicate_keys(Kind::Decision, "Uses nullParents").iter().any(|key| known.contains(key)));
    }
}

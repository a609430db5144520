//! Searches learnings: the keys under which each is indexed, and the ranking of results.
//!
//! The ranking depends neither on the database nor on the time of day, so the same learnings have the same order everywhere.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Impact, Kind, Learning};
use crate::error::{Error, Result};
use crate::id::IssueId;
use crate::json;
use crate::session::tokens;
use crate::similar::{self, hash64, is_filler, stem};
use crate::text::fold;
use crate::time::Timestamp;

/// Characters of a word that count.
const WORD_CHARS: usize = 64;
/// Maximum number of query words that are searched. The rest of a longer text, such as a log, adds little.
pub const MAX_QUERY_WORDS: usize = 24;
/// Minimum token budget.
pub const MIN_TOKENS: u32 = 50;
/// Maximum token budget.
pub const MAX_TOKENS: u32 = 1_000_000;

const DAY: i64 = 86_400_000;
/// The age at which the points for recency are halved.
const HALF_LIFE: i64 = 90 * DAY;

const FOR_TEXT: i64 = 1000;
const FOR_RECENCY: i64 = 300;
const FOR_TAGS: i64 = 250;
const FOR_FILES: i64 = 250;

/// The search words of a text: case-folded and stemmed, with the parts of names such as `readFile`.
pub fn words(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut add = |word: &str| {
        let word = fold(word);
        if !word.is_empty() && !is_filler(&word) {
            words.insert(stem(&word).chars().take(WORD_CHARS).collect());
        }
    };
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        add(word);
        let mut from = 0;
        let pairs = word.char_indices().zip(word.chars().skip(1));
        for ((at, before), next) in pairs {
            if before.is_lowercase() && next.is_uppercase() {
                let end = at + before.len_utf8();
                add(&word[from..end]);
                from = end;
            }
        }
        if from > 0 {
            add(&word[from..]);
        }
    }
    words
}

fn key(kind: char, what: &str) -> i64 {
    hash64(format!("{kind} {what}").as_bytes()).cast_signed()
}

pub fn word_key(word: &str) -> i64 {
    key('w', word)
}

pub fn tag_key(tag: &str) -> i64 {
    key('t', &fold(tag))
}

/// Indexes a file by its name only, because paths may be relative to different directories.
pub fn file_key(file: &str) -> i64 {
    key('f', file.rsplit('/').next().unwrap_or(file))
}

pub fn issue_key(issue: &IssueId) -> i64 {
    key('i', issue.as_str())
}

/// The keys under which near-duplicates of a text are found.
pub fn duplicate_keys(kind: Kind, text: &str) -> Vec<i64> {
    similar::keys(text).into_iter().map(|same| key('s', &format!("{kind} {same}"))).collect()
}

/// All keys under which a learning is indexed.
pub fn keys(learning: &Learning) -> Vec<i64> {
    let mut all: BTreeSet<i64> = words(&learning.text).iter().map(|word| word_key(word)).collect();
    for word in learning.tags.iter().chain(&learning.files).flat_map(|text| words(text)) {
        all.insert(word_key(&word));
    }
    all.extend(learning.tags.iter().map(|tag| tag_key(tag)));
    all.extend(learning.files.iter().map(|file| file_key(file)));
    all.extend([&learning.issue_id, &learning.work].into_iter().flatten().map(issue_key));
    all.extend(duplicate_keys(learning.kind, &learning.text));
    all.into_iter().collect()
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

/// The weight of a key that this many learnings have. Rarer keys weigh more.
pub fn weight(learnings: i64) -> i64 {
    let magnitude = i64::from(learnings.max(1).ilog2());
    (24 - magnitude).max(1)
}

/// The tags and files of a query, which raise the rank of a learning.
#[derive(Debug, Clone, Default)]
pub struct RecallHints {
    pub tags: Vec<String>,
    pub files: Vec<String>,
}

/// A learning, and how many thousandths of the query's words it matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub learning: Learning,
    pub share: i64,
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

/// Scores and sorts candidates, best first. Age is measured from the newest candidate.
pub fn ranked(candidates: Vec<Candidate>, hints: &RecallHints) -> Vec<Hit> {
    let newest = candidates.iter().map(|candidate| candidate.learning.fresh_at()).max();
    let score = |candidate: &Candidate| {
        let learning = &candidate.learning;
        let impact = match learning.impact {
            Impact::High => 150,
            Impact::Medium => 75,
            Impact::Low => 0,
        };
        candidate.share.clamp(0, FOR_TEXT)
            + newest.map_or(0, |newest| recency(newest, learning.fresh_at()))
            + impact
            + share_of(&hints.tags, FOR_TAGS, |tag| learning.tags.iter().any(|known| fold(known) == fold(tag)))
            + share_of(&hints.files, FOR_FILES, |file| learning.files.iter().any(|known| is_same_file(known, file)))
    };
    let hit = |candidate: Candidate| Hit { score: score(&candidate), learning: candidate.learning, cut: false };
    let mut hits: Vec<Hit> = candidates.into_iter().map(hit).collect();
    hits.sort_by(|a, b| (Reverse(a.score), &a.learning.id).cmp(&(Reverse(b.score), &b.learning.id)));
    hits
}

fn share_of(hints: &[String], points: i64, has: impl Fn(&String) -> bool) -> i64 {
    let (count, matching) = (hints.len(), hints.iter().filter(|hint| has(hint)).count());
    if count == 0 { 0 } else { points * matching as i64 / count as i64 }
}

/// Points for recency: halved with every half-life, linear in between.
fn recency(newest: Timestamp, at: Timestamp) -> i64 {
    let age = (newest.as_millis() - at.as_millis()).max(0);
    let halvings = u32::try_from(age / HALF_LIFE).unwrap_or(u32::MAX).min(62);
    (FOR_RECENCY * (2 * HALF_LIFE - age % HALF_LIFE) / (2 * HALF_LIFE)) >> halvings
}

/// Whether two paths may name the same file: one is a suffix of the other.
pub fn is_same_file(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(|path| path.trim_start_matches("./"));
    let ends = |long: &str, short: &str| long.strip_suffix(short).is_some_and(|rest| rest.ends_with('/'));
    one == other || ends(one, other) || ends(other, one)
}

/// Refuses a token budget that is too small or too large.
pub fn check_budget(max_tokens: u32) -> Result<u32> {
    if (MIN_TOKENS..=MAX_TOKENS).contains(&max_tokens) {
        return Ok(max_tokens);
    }
    Err(Error::invalid(format!("a budget of {max_tokens} tokens is not possible"))
        .hint(format!("from {MIN_TOKENS} to {MAX_TOKENS} tokens")))
}

/// Returns the hits that fit into the budget as JSON. If the best hit alone is too long, its text is cut, so that the
/// answer is not empty.
pub fn within(hits: Vec<Hit>, max_tokens: u32) -> Result<Vec<Hit>> {
    let fits = |bytes: usize| tokens::estimate(bytes) <= u64::from(max_tokens);
    let (mut kept, mut used) = (Vec::new(), 2);
    for mut hit in hits {
        let mut bytes = json::to_line(&hit)?.len() + 1;
        if kept.is_empty() && !fits(used + bytes) {
            shorten(&mut hit, |bytes| fits(used + bytes + 1))?;
            bytes = json::to_line(&hit)?.len() + 1;
        }
        if fits(used + bytes) {
            used += bytes;
            kept.push(hit);
        }
    }
    Ok(kept)
}

/// Cuts the text of a hit until it fits or is empty.
fn shorten(hit: &mut Hit, fits: impl Fn(usize) -> bool) -> Result<()> {
    hit.cut = true;
    let mut left = hit.learning.text.len();
    while left > 0 && !fits(json::to_line(hit)?.len()) {
        left = hit.learning.text.floor_char_boundary(left * 3 / 4);
        hit.learning.text.truncate(left);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn learning(id: &str, fields: Value) -> Learning {
        let mut whole = json!({"id": id, "kind": "gotcha", "text": "t", "actor": "a",
            "created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-01T00:00:00.000Z"});
        for (name, value) in fields.as_object().expect("an object") {
            whole[name] = value.clone();
        }
        serde_json::from_value(whole).expect("a learning")
    }

    fn candidate(id: &str, share: i64, fields: Value) -> Candidate {
        Candidate { learning: learning(id, fields), share }
    }

    fn order(candidates: Vec<Candidate>, near: &RecallHints) -> Vec<String> {
        ranked(candidates, near).into_iter().map(|hit| hit.learning.id.to_string()).collect()
    }

    #[test]
    fn words_are_folded_and_names_are_split() {
        let all = |text: &str| words(text).into_iter().collect::<Vec<_>>();
        assert_eq!(all("Crashes, crashing; CRASH"), ["crash"]);
        assert_eq!(all("NestedContextResolver"), ["context", "nest", "nestedcontextresolver", "resolver"]);
        assert_eq!(all("the \"*\" NEAR( -x' ÄRGER"), ["near", "x", "ärger"]);
        assert_eq!(all("\u{0}\u{1b}[0m ... ' OR 1=1 --"), ["0m", "1"]);
        assert!(all("the of a").is_empty());
        assert_eq!(all(&"x".repeat(1 << 20))[0].len(), WORD_CHARS);
    }

    #[test]
    fn ranking_is_by_match_recency_impact_and_id() {
        let none = RecallHints::default();
        let old = json!({"updated_at": "2024-01-01T00:00:00.000Z"});
        assert_eq!(
            order(vec![candidate("ln-1", 300, json!({})), candidate("ln-2", 1000, old.clone())], &none),
            ["ln-2", "ln-1"]
        );
        assert_eq!(
            order(vec![candidate("ln-1", 500, old.clone()), candidate("ln-2", 500, json!({}))], &none),
            ["ln-2", "ln-1"]
        );
        let high = json!({"impact": "high"});
        assert_eq!(
            order(vec![candidate("ln-1", 500, json!({})), candidate("ln-2", 500, high)], &none),
            ["ln-2", "ln-1"]
        );
        assert_eq!(
            order(vec![candidate("ln-2", 500, json!({})), candidate("ln-1", 500, json!({}))], &none),
            ["ln-1", "ln-2"]
        );
        let verified = json!({"updated_at": "2024-01-01T00:00:00.000Z", "verified_at": "2026-01-01T00:00:00.000Z"});
        assert_eq!(order(vec![candidate("ln-1", 500, old), candidate("ln-2", 500, verified)], &none), ["ln-2", "ln-1"]);
    }

    #[test]
    fn matching_tags_and_files_raise_the_score() {
        let near = RecallHints { tags: vec!["DB".into()], files: vec!["src/a.rs".into()] };
        let (tag, file) = (json!({"tags": ["db"]}), json!({"files": ["./crates/x/src/a.rs"]}));
        let all = vec![
            candidate("ln-1", 500, json!({"files": ["b/a.rs"]})),
            candidate("ln-2", 500, tag),
            candidate("ln-3", 500, file),
        ];
        assert_eq!(order(all, &near), ["ln-2", "ln-3", "ln-1"]);
        assert!(is_same_file("./a.rs", "a.rs") && !is_same_file("ba.rs", "a.rs"));
    }

    #[test]
    fn recency_halves_after_ninety_days() {
        let at = |days: i64| Timestamp::from_millis(1_700_000_000_000 - days * DAY).expect("a time");
        let points: Vec<i64> = [0, 45, 90, 180, 36_000].map(|days| recency(at(0), at(days))).to_vec();
        assert_eq!(points, [300, 225, 150, 75, 0]);
        assert_eq!(recency(at(10), at(0)), FOR_RECENCY, "from the future is as new as can be");
    }

    #[test]
    fn answer_fits_the_budget_and_is_not_empty() {
        let long = "é\"\n".repeat(10_000);
        let hits = |text: &str| {
            ranked(
                (1..=9).map(|n| candidate(&format!("ln-{n}"), 0, json!({"text": text}))).collect(),
                &RecallHints::default(),
            )
        };
        for budget in [60, 100, 500, 5000, 100_000] {
            for text in ["short", &long] {
                let kept = within(hits(text), budget).expect("hits");
                let bytes = json::to_line(&kept).expect("a line").len();
                assert!(!kept.is_empty() && tokens::estimate(bytes) <= u64::from(budget), "{budget}: {bytes}");
                assert_eq!(kept[0].cut, kept[0].learning.text != text);
            }
        }
        assert_eq!(within(hits("short"), 100_000).expect("hits").len(), 9);
        for bad in [0, 1, MIN_TOKENS - 1, u32::MAX] {
            assert!(check_budget(bad).is_err());
        }
    }

    #[test]
    fn learning_is_indexed_by_all_its_fields() {
        let one = learning(
            "ln-1",
            json!({"text": "use nullParents", "tags": ["Big-Plan"], "files": ["src/x.rs"],
            "issue_id": "pn-1", "work": "pn-2"}),
        );
        let keys = keys(&one);
        let issue = |id: &str| issue_key(&id.parse().expect("an id"));
        for key in [word_key("parent"), word_key("plan"), word_key("src"), tag_key("big-plan"), file_key("a/x.rs")] {
            assert!(keys.contains(&key));
        }
        assert!(keys.contains(&issue("pn-1")) && keys.contains(&issue("pn-2")));
        assert!(duplicate_keys(Kind::Gotcha, "Uses nullParents").iter().any(|key| keys.contains(key)));
        assert!(!duplicate_keys(Kind::Decision, "Uses nullParents").iter().any(|key| keys.contains(key)));
    }
}

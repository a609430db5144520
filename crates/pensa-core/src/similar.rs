//! Which titles are nearly the same, and keys by which an index finds them without comparing every pair.
//!
//! A title's keys are the hash of its words and the hashes of its words less one. Two titles that differ in one
//! word (changed, added or left out), in order or in inflection share a key; [`alike`] then has the last word.

use std::collections::BTreeSet;

use crate::text::fold;

/// Words of longer titles beyond this many (in hash order, so the same ones every time) do not count.
const MAX_WORDS: usize = 12;

const FILLERS: [&str; 22] = [
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "if", "in", "is", "it", "not", "of", "on", "or",
    "the", "to", "when", "with",
];

fn words(title: &str) -> BTreeSet<String> {
    fold(title)
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && !FILLERS.contains(word))
        .map(stem)
        .collect()
}

/// Cuts the commonest English endings, so that crash, crashes and crashing are one word.
fn stem(word: &str) -> String {
    let cut = ["ing", "ed", "es", "s"]
        .into_iter()
        .find_map(|end| word.strip_suffix(end).filter(|rest| rest.len() > 2 && !(end == "s" && rest.ends_with('s'))))
        .unwrap_or(word);
    cut.strip_suffix('e').filter(|rest| rest.len() > 2).unwrap_or(cut).to_owned()
}

/// FNV-1a: small, and the same on every machine and in every version.
pub fn hash64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The keys under which a title is indexed.
pub fn keys(title: &str) -> Vec<i64> {
    let mut hashes: Vec<u64> = words(title).iter().map(|word| hash64(word.as_bytes())).collect();
    hashes.sort_unstable();
    hashes.truncate(MAX_WORDS);
    if hashes.is_empty() {
        return Vec::new();
    }
    // The upper half comes from the two smallest words, which most of a title's keys have in common: they lie side by
    // side in the index, and adding a title changes a few of its pages instead of one for each key.
    let key = |skip: Option<usize>| {
        let kept = hashes.iter().enumerate().filter(|(at, _)| Some(*at) != skip);
        let bytes: Vec<u8> = kept.flat_map(|(_, hash)| hash.to_le_bytes()).collect();
        let place = hash64(&bytes[..bytes.len().min(16)]) & !0xffff_ffff;
        (place | hash64(&bytes) & 0xffff_ffff).cast_signed()
    };
    let mut keys = vec![key(None)];
    if hashes.len() > 2 {
        keys.extend((0..hashes.len()).map(|skip| key(Some(skip))));
    }
    keys
}

/// Whether two titles say nearly the same: most of their words, or most of their letters, agree.
pub fn alike(a: &str, b: &str) -> bool {
    overlap(&words(a), &words(b)) >= 0.6 || overlap(&trigrams(a), &trigrams(b)) >= 0.6
}

fn overlap(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    let shared = a.intersection(b).count();
    let all = a.len() + b.len() - shared;
    if all == 0 { 0.0 } else { shared as f64 / all as f64 }
}

fn trigrams(title: &str) -> BTreeSet<String> {
    let letters: Vec<char> = fold(title).chars().filter(|c| c.is_alphanumeric()).collect();
    letters.windows(3).map(|three| three.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(a: &str, b: &str) -> bool {
        let known = keys(a);
        keys(b).iter().any(|key| known.contains(key)) && alike(a, b)
    }

    #[test]
    fn the_same_bug_told_again_is_found() {
        let told = "login crash on empty password";
        for again in [
            "Login crashes on empty password",
            "crash on login with empty password",
            "login crash: empty password!",
            "login crash on empty pasword",
            "login page crash on empty password",
            "login crash on empty passwords",
        ] {
            assert!(found(told, again), "{again}");
        }
    }

    #[test]
    fn another_matter_is_not() {
        let told = "login crash on empty password";
        for other in ["logout crash on full disk", "add login page", "empty password policy", "", "!!!", "crash"] {
            assert!(!found(told, other), "{other}");
        }
        assert!(!found("task 17", "task 18"));
        assert!(!found("!!!", "???"));
    }
}

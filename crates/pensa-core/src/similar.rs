//! Finds similar titles through index keys, without comparing every pair.
//!
//! The keys of a title are the hash of its words and the hashes of its words with one left out. Titles that differ in one
//! word, in word order or in inflection share a key; [`alike`] then decides.

use crate::text::fold;

/// Maximum number of words that count. They are chosen in hash order, so that the choice is always the same.
const MAX_WORDS: usize = 12;

const FILLERS: [&str; 22] = [
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "if", "in", "is", "it", "not", "of", "on", "or",
    "the", "to", "when", "with",
];

/// The significant words of a title, in order.
fn sequence(title: &str) -> Vec<String> {
    significant(&fold(title)).map(str::to_owned).collect()
}

/// The significant words of a folded text, stemmed.
fn significant(folded: &str) -> impl Iterator<Item = &str> {
    folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty() && !is_filler(word)).map(stem)
}

pub(crate) fn is_filler(word: &str) -> bool {
    FILLERS.contains(&word)
}

/// Removes the most common English endings, so that crash, crashes and crashing are the same word.
pub(crate) fn stem(word: &str) -> &str {
    let cut = ["ing", "ed", "es", "s"]
        .into_iter()
        .find_map(|end| word.strip_suffix(end).filter(|rest| rest.len() > 2 && !(end == "s" && rest.ends_with('s'))))
        .unwrap_or(word);
    cut.strip_suffix('e').filter(|rest| rest.len() > 2).unwrap_or(cut)
}

/// The FNV-1a hash of no bytes.
const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a: the same on every machine and in every version.
pub fn hash64(bytes: &[u8]) -> u64 {
    hash64_on(EMPTY, bytes)
}

/// Continues a hash with more bytes.
fn hash64_on(before: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(before, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The keys under which a title is indexed. They are stored, so they must not change between versions.
pub fn keys(title: &str) -> Vec<i64> {
    let mut hashes: Vec<u64> = significant(&fold(title)).map(|word| hash64(word.as_bytes())).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes.truncate(MAX_WORDS);
    if hashes.is_empty() {
        return Vec::new();
    }
    // The upper half depends only on the two smallest words, which most keys of a title share. So the keys are adjacent
    // in the index, and adding a title changes few pages.
    let key = |skip: Option<usize>| {
        let kept = hashes.iter().enumerate().filter(|(at, _)| Some(*at) != skip);
        let (mut prefix, mut whole) = (EMPTY, EMPTY);
        for (at, (_, hash)) in kept.enumerate() {
            whole = hash64_on(whole, &hash.to_le_bytes());
            if at < 2 {
                prefix = whole;
            }
        }
        (prefix & !0xffff_ffff | whole & 0xffff_ffff).cast_signed()
    };
    let mut keys = vec![key(None)];
    if hashes.len() > 2 {
        keys.extend((0..hashes.len()).map(|skip| key(Some(skip))));
    }
    keys
}

/// Whether two titles are similar: they share most of their words or most of their letter trigrams.
pub fn alike(a: &str, b: &str) -> bool {
    let (a, b) = (fold(a), fold(b));
    let words = |text| set(significant(text));
    overlap(&words(&a), &words(&b)) >= 0.6 || overlap(&trigrams(&a), &trigrams(&b)) >= 0.6
}

/// Words that negate a statement.
const NEGATIONS: [&str; 10] = ["not", "no", "never", "cannot", "dont", "don", "without", "nor", "avoid", "except"];

/// The significant words of a text, stemmed.
pub(crate) fn words(text: &str) -> std::collections::BTreeSet<String> {
    significant(&fold(text)).map(str::to_owned).collect()
}

/// How many words of a text negate.
pub(crate) fn negations(text: &str) -> usize {
    let text = fold(text);
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| NEGATIONS.contains(word)).count()
}

/// Whether one text repeats the other, possibly with a few more words. Such texts are merged into one, so this is stricter
/// than [`alike`]: the words must be in the same order, and no word, number or negation may differ.
pub fn restates(a: &str, b: &str) -> bool {
    let (a, b, same) = (sequence(a), sequence(b), negations(a) == negations(b));
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    // At most a quarter more words.
    if !same || short.is_empty() || long.len() * 3 > short.len() * 4 {
        return false;
    }
    let mut rest = short.iter().peekable();
    let mut added = long.iter().filter(|word| rest.next_if(|known| is_same_word(known, word)).is_none());
    let is_plain = |word: &String| !word.chars().any(char::is_numeric);
    added.all(is_plain) && rest.peek().is_none()
}

/// Whether two words are equal, or long and differ in one letter.
fn is_same_word(a: &str, b: &str) -> bool {
    let is_long = |word: &str| word.chars().count() > 5 && !word.chars().any(char::is_numeric);
    a == b || (is_long(a) && is_long(b) && strsim::levenshtein(a, b) <= 1)
}

/// Collects items in order, without duplicates.
fn set<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut set: Vec<T> = items.collect();
    set.sort_unstable();
    set.dedup();
    set
}

/// The Jaccard index of two sorted sets.
fn overlap<T: Ord>(a: &[T], b: &[T]) -> f64 {
    let mut rest = b.iter().peekable();
    let is_shared = |one: &&T| {
        while rest.next_if(|other| other < one).is_some() {}
        rest.next_if_eq(one).is_some()
    };
    let shared = a.iter().filter(is_shared).count();
    let all = a.len() + b.len() - shared;
    if all == 0 { 0.0 } else { shared as f64 / all as f64 }
}

fn trigrams(folded: &str) -> Vec<[char; 3]> {
    let letters: Vec<char> = folded.chars().filter(|c| c.is_alphanumeric()).collect();
    set(letters.windows(3).filter_map(|three| three.try_into().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(a: &str, b: &str) -> bool {
        let known = keys(a);
        keys(b).iter().any(|key| known.contains(key)) && alike(a, b)
    }

    #[test]
    fn overlap_is_the_jaccard_index() {
        let share = |a: &str, b: &str| overlap(&set(a.chars()), &set(b.chars()));
        for (a, b, wanted) in [
            ("", "", 0.0),
            ("a", "", 0.0),
            ("abc", "cba", 1.0),
            ("aab", "bcc", 1.0 / 3.0),
            ("bdf", "abcdefg", 3.0 / 7.0),
        ] {
            assert!((share(a, b) - wanted).abs() < 1e-9 && (share(b, a) - wanted).abs() < 1e-9, "{a} {b}");
        }
    }

    #[test]
    fn keys_are_the_same_in_every_version() {
        let login = [
            1_321_349_328_429_308_196,
            4_504_061_972_120_987_634,
            489_269_410_295_944_018,
            1_321_349_327_607_912_257,
            1_321_349_328_798_231_952,
        ];
        assert_eq!(keys("Login crashes on the empty password"), login);
        assert_eq!(keys("crash"), [2_891_415_120_450_064_273]);
        assert_eq!(keys("crash, crashes; again!"), [8_417_570_284_728_035_487]);
        assert_eq!(keys("of the"), [0; 0]);
    }

    #[test]
    fn rephrased_title_is_found() {
        let first = "login crash on empty password";
        for again in [
            "Login crashes on empty password",
            "crash on login with empty password",
            "login crash: empty password!",
            "login crash on empty pasword",
            "login page crash on empty password",
            "login crash on empty passwords",
        ] {
            assert!(found(first, again), "{again}");
        }
    }

    #[test]
    fn restatements_are_found_and_different_statements_are_not() {
        let first = "Extended class rather than wrapper for consistency";
        for again in [
            first,
            "extended classes rather than wrappers, for consistency",
            "Extended the class rather than a wrapper for more consistency",
            "Extended class rather than wrapper for consistancy",
        ] {
            assert!(restates(first, again) && restates(again, first), "{again}");
        }
        for (one, other) in [
            (first, "Extended class rather than wrapper for speed"),
            (first, "Extended wrapper rather than class for consistency"),
            ("the cache depends on the parser", "the parser depends on the cache"),
            ("use port 8080 for tests", "use port 8081 for tests"),
            ("use port 8080 for the daemon in tests", "use port 8080 for the daemon in tests of 2 stores"),
            ("do retry the upload of large files", "do not retry the upload of large files"),
            ("call flush before close", "never call flush before close"),
            ("use rebase for reads", "use rebase for writes"),
            ("read the file", "read the file before anybody else has a chance to write to it"),
            ("", ""),
            ("!!!", "???"),
        ] {
            assert!(!restates(one, other) && !restates(other, one), "{one} / {other}");
        }
        let long = "word ".repeat(20_000);
        assert!(restates(&long, &long));
    }

    #[test]
    fn different_title_is_not_found() {
        let first = "login crash on empty password";
        for other in ["logout crash on full disk", "add login page", "empty password policy", "", "!!!", "crash"] {
            assert!(!found(first, other), "{other}");
        }
        assert!(!found("task 17", "task 18"));
        assert!(!found("!!!", "???"));
    }
}

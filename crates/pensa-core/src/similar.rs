//! Which titles are nearly the same, and keys by which an index finds them without comparing every pair.
//!
//! A title's keys are the hash of its words and the hashes of its words less one. Two titles that differ in one
//! word (changed, added or left out), in order or in inflection share a key; [`alike`] then has the last word.

use crate::text::fold;

/// Words of longer titles beyond this many (in hash order, so the same ones every time) do not count.
const MAX_WORDS: usize = 12;

const FILLERS: [&str; 22] = [
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "if", "in", "is", "it", "not", "of", "on", "or",
    "the", "to", "when", "with",
];

/// The words that count, in their order.
fn sequence(title: &str) -> Vec<String> {
    counting(&fold(title)).map(str::to_owned).collect()
}

/// The words of a folded text that count, as they count.
fn counting(folded: &str) -> impl Iterator<Item = &str> {
    folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty() && !is_filler(word)).map(stem)
}

pub(crate) fn is_filler(word: &str) -> bool {
    FILLERS.contains(&word)
}

/// Cuts the commonest English endings, so that crash, crashes and crashing are one word.
pub(crate) fn stem(word: &str) -> &str {
    let cut = ["ing", "ed", "es", "s"]
        .into_iter()
        .find_map(|end| word.strip_suffix(end).filter(|rest| rest.len() > 2 && !(end == "s" && rest.ends_with('s'))))
        .unwrap_or(word);
    cut.strip_suffix('e').filter(|rest| rest.len() > 2).unwrap_or(cut)
}

/// The hash of nothing.
const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a: small, and the same on every machine and in every version.
pub fn hash64(bytes: &[u8]) -> u64 {
    hash64_on(EMPTY, bytes)
}

/// The same of bytes that follow others, of which the hash is known.
pub fn hash64_on(before: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(before, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The keys under which a title is indexed. They are kept, so they stay the same in every version.
pub fn keys(title: &str) -> Vec<i64> {
    let mut hashes: Vec<u64> = counting(&fold(title)).map(|word| hash64(word.as_bytes())).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes.truncate(MAX_WORDS);
    if hashes.is_empty() {
        return Vec::new();
    }
    // The upper half comes from the two smallest words, which most of a title's keys have in common: they lie side by
    // side in the index, and adding a title changes a few of its pages instead of one for each key.
    let key = |skip: Option<usize>| {
        let kept = hashes.iter().enumerate().filter(|(at, _)| Some(*at) != skip);
        let (mut place, mut whole) = (EMPTY, EMPTY);
        for (at, (_, hash)) in kept.enumerate() {
            whole = hash64_on(whole, &hash.to_le_bytes());
            if at < 2 {
                place = whole;
            }
        }
        (place & !0xffff_ffff | whole & 0xffff_ffff).cast_signed()
    };
    let mut keys = vec![key(None)];
    if hashes.len() > 2 {
        keys.extend((0..hashes.len()).map(|skip| key(Some(skip))));
    }
    keys
}

/// Whether two titles say nearly the same: most of their words, or most of their letters, agree.
pub fn alike(a: &str, b: &str) -> bool {
    let (a, b) = (fold(a), fold(b));
    let words = |text| set(counting(text));
    overlap(&words(&a), &words(&b)) >= 0.6 || overlap(&trigrams(&a), &trigrams(&b)) >= 0.6
}

/// Words that turn what is said into its opposite.
const NEGATIONS: [&str; 10] = ["not", "no", "never", "cannot", "dont", "don", "without", "nor", "avoid", "except"];

/// Whether one of two texts says what the other does, and maybe a little more. Unlike titles that are [`alike`], such
/// texts may be stored as one: so the order of their words must be the same, and no word, number or negation another.
pub fn restates(a: &str, b: &str) -> bool {
    let negations = |text: &str| {
        let text = fold(text);
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| NEGATIONS.contains(word)).count()
    };
    let (a, b, same) = (sequence(a), sequence(b), negations(a) == negations(b));
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    // A quarter more at most.
    if !same || short.is_empty() || long.len() * 3 > short.len() * 4 {
        return false;
    }
    let mut rest = short.iter().peekable();
    let mut added = long.iter().filter(|word| rest.next_if(|known| is_same_word(known, word)).is_none());
    let is_plain = |word: &String| !word.chars().any(char::is_numeric);
    added.all(is_plain) && rest.peek().is_none()
}

/// The same word, but for one letter left out, added or exchanged in one of the longer ones.
fn is_same_word(a: &str, b: &str) -> bool {
    let is_long = |word: &str| word.chars().count() > 5 && !word.chars().any(char::is_numeric);
    a == b || (is_long(a) && is_long(b) && strsim::levenshtein(a, b) <= 1)
}

/// Things in order, each once.
fn set<T: Ord>(things: impl Iterator<Item = T>) -> Vec<T> {
    let mut set: Vec<T> = things.collect();
    set.sort_unstable();
    set.dedup();
    set
}

/// Which part of two sets they share.
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
    fn what_two_sets_share_is_counted_once() {
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
    fn what_says_the_same_restates_it_and_what_may_say_another_thing_does_not() {
        let told = "Extended class rather than wrapper for consistency";
        for again in [
            told,
            "extended classes rather than wrappers, for consistency",
            "Extended the class rather than a wrapper for more consistency",
            "Extended class rather than wrapper for consistancy",
        ] {
            assert!(restates(told, again) && restates(again, told), "{again}");
        }
        for (one, other) in [
            (told, "Extended class rather than wrapper for speed"),
            (told, "Extended wrapper rather than class for consistency"),
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
    fn another_matter_is_not() {
        let told = "login crash on empty password";
        for other in ["logout crash on full disk", "add login page", "empty password policy", "", "!!!", "crash"] {
            assert!(!found(told, other), "{other}");
        }
        assert!(!found("task 17", "task 18"));
        assert!(!found("!!!", "???"));
    }
}

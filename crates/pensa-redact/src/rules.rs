//! The rules for secret formats, with their exceptions. The build script generates the table from `rules/`; patterns
//! are compiled on first use.

use std::ops::{ControlFlow, Range};
use std::sync::OnceLock;

use regex_automata::meta::Regex;
use regex_automata::util::captures::Captures;
use regex_automata::util::syntax;

include!(concat!(env!("OUT_DIR"), "/rules.rs"));

/// The format of one kind of secret.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) kind: &'static str,
    pattern: &'static str,
    /// A secret has more entropy than this, in bits per byte.
    entropy: f64,
    /// The group of the pattern that is the secret; 0 means the first group that matched, or else the whole match.
    group: usize,
    /// The length of the longest match, if limited.
    pub(crate) reach: Option<usize>,
    /// Whether only the name before it identifies the secret.
    by_name: bool,
    /// Whether a match is the header of a block that ends with an `END` line.
    pub(crate) block: bool,
    /// A byte that every match contains.
    needs: Option<u8>,
    /// Whether [`crate::named`] decides instead of a pattern.
    pub(crate) named: bool,
    /// Every match contains a word of at least this length. Checked first, because compiling a pattern is slow.
    word: usize,
    /// Whether the rule also applies to long words followed by a dot.
    pub(crate) long_word: bool,
    exceptions: Exceptions,
    regex: OnceLock<Option<Regex>>,
}

/// What looks like a secret and is none.
#[derive(Debug)]
pub(crate) struct Exceptions {
    patterns: &'static [&'static str],
    words: &'static [&'static str],
    regex: OnceLock<Option<Regex>>,
}

/// Calls `each` for every keyword in `text`, ignoring case, with its range and the indexes of its rules.
///
/// Takes a single pass and no setup, because the build script generates the tables.
pub(crate) fn keywords(
    text: &[u8],
    mut each: impl FnMut(Range<usize>, &[usize]) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let (mut first, mut second) = (0, 0);
    // Two bytes of a keyword are frequent, three are rare.
    let mut look = |third_at: usize, third: usize| {
        let begins = THIRDS[first][second] >> third & 1 == 1;
        let start = usize::from(STARTS[first][second]);
        (first, second) = (second, third);
        if begins { match_keywords_at(text, third_at - 2, start - 1, &mut each) } else { ControlFlow::Continue(()) }
    };
    for (third_at, byte) in text.iter().enumerate() {
        look(third_at, usize::from(CLASSES[usize::from(*byte)]))?;
    }
    look(text.len(), 0)
}

/// Calls `each` for the keywords at `at`; `first` is the first keyword with the same two initial bytes.
fn match_keywords_at(
    text: &[u8],
    at: usize,
    first: usize,
    each: &mut impl FnMut(Range<usize>, &[usize]) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let rest = &text[at..];
    for (keyword, users) in KEYWORDS[first..].iter().zip(&USERS[first..]) {
        if !rest[..2].eq_ignore_ascii_case(&keyword.as_bytes()[..2]) {
            break;
        }
        if rest.get(..keyword.len()).is_some_and(|here| here.eq_ignore_ascii_case(keyword.as_bytes())) {
            each(at..at + keyword.len(), users)?;
        }
    }
    ControlFlow::Continue(())
}

/// Compiles patterns for bytes: `\w` and `\b` mean ASCII, as in gitleaks.
pub(crate) fn compile(patterns: &[&str]) -> Option<Regex> {
    let syntax = syntax::Config::new().unicode(false).utf8(false);
    Regex::builder().syntax(syntax).configure(Regex::config().utf8_empty(false)).build_many(patterns).ok()
}

impl Rule {
    /// The compiled pattern. A test checks that every pattern compiles.
    pub(crate) fn regex(&self) -> Option<&Regex> {
        self.regex.get_or_init(|| compile(&[self.pattern])).as_ref()
    }

    /// Whether a text can contain a match; false is certain.
    pub(crate) fn is_possible(&self, text: &[u8]) -> bool {
        let is_in_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.~+/=%".contains(byte);
        self.needs.is_none_or(|byte| text.contains(&byte))
            && (self.word == 0 || text.split(|byte| !is_in_word(byte)).any(|word| word.len() >= self.word))
    }

    /// The range of the secret in a match.
    pub(crate) fn secret(&self, found: &Captures) -> Option<Range<usize>> {
        let whole = found.get_match()?.range();
        if self.group > 0 {
            return found.get_group(self.group).map(|span| span.range());
        }
        let groups = (1..found.group_len()).filter_map(|group| found.get_group(group));
        Some(groups.map(|span| span.range()).find(|range| !range.is_empty()).unwrap_or(whole))
    }

    /// Whether `secret` has enough entropy and matches no exception.
    pub(crate) fn accepts(&self, secret: &[u8]) -> bool {
        let is_word =
            self.by_name && !(secret.iter().any(u8::is_ascii_digit) && secret.iter().any(u8::is_ascii_alphabetic));
        !is_word
            && (self.entropy <= 0.0 || entropy(secret) > self.entropy)
            && !is_harmless(secret)
            && !self.exceptions.matches(secret)
    }
}

/// Whether this matches an exception of all rules: placeholders, variables, paths.
pub(crate) fn is_harmless(secret: &[u8]) -> bool {
    HARMLESS.matches(secret)
}

impl Exceptions {
    fn matches(&self, secret: &[u8]) -> bool {
        let lower = secret.to_ascii_lowercase();
        let has = |word: &&str| lower.windows(word.len()).any(|part| part == word.as_bytes());
        self.words.iter().any(has) || self.regex().is_some_and(|regex| regex.is_match(secret))
    }

    fn regex(&self) -> Option<&Regex> {
        self.regex.get_or_init(|| if self.patterns.is_empty() { None } else { compile(self.patterns) }).as_ref()
    }
}

/// Shannon entropy in bits per byte.
pub(crate) fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    let all = bytes.len() as f64;
    counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / all).map(|p| -p * p.log2()).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_rule_and_every_exception_compiles() {
        for rule in &RULES {
            assert!(rule.regex().is_some(), "{}: {}", rule.kind, rule.pattern);
            assert!(compile(rule.exceptions.patterns).is_some(), "{}: {:?}", rule.kind, rule.exceptions.patterns);
        }
        assert!(compile(HARMLESS.patterns).is_some());
        assert!(RULES.len() > 190, "the rules are all there: {}", RULES.len());
    }

    #[test]
    fn every_keyword_is_lower_case_and_has_a_rule() {
        for (keyword, users) in KEYWORDS.iter().zip(USERS) {
            assert!(!users.is_empty() && *keyword == keyword.to_lowercase(), "{keyword}");
        }
    }

    fn found(text: &str) -> Vec<(Range<usize>, Vec<usize>)> {
        let mut all = Vec::new();
        let _ = keywords(text.as_bytes(), |place, users| {
            all.push((place, users.to_vec()));
            ControlFlow::Continue(())
        });
        all
    }

    #[test]
    fn every_keyword_is_found_in_any_case_and_anywhere() {
        for (keyword, users) in KEYWORDS.iter().zip(USERS) {
            let doubled = keyword[..1].to_owned() + keyword;
            for text in [(*keyword).to_owned(), format!("xé {} y", keyword.to_uppercase()), doubled] {
                let at = text.to_lowercase().rfind(keyword).expect("in it");
                assert!(found(&text).contains(&(at..at + keyword.len(), users.to_vec())), "{keyword} in {text}");
            }
            let cut = &keyword[..keyword.len() - 1];
            assert!(found(cut).iter().all(|(place, _)| place.end <= cut.len()));
        }
        assert_eq!(found("nö, no such word in a line of it"), []);
    }

    proptest! {
        #[test]
        fn keyword_tables_agree_with_a_plain_search(
            parts in prop::collection::vec(prop_oneof![prop::sample::select(&KEYWORDS[..]).prop_map(str::to_owned),
                "[a-z_:/~ ]{0,3}", "(?i)s[k3]?|q~?|:/?/?", any::<char>().prop_map(String::from)], 0..8),
            cut in 0usize..12
        ) {
            let text: String = parts.concat();
            let text = &text[..text.floor_char_boundary(text.len().saturating_sub(cut))];
            let lower = text.to_ascii_lowercase();
            let mut plain = Vec::new();
            for at in 0..lower.len() {
                for (keyword, users) in KEYWORDS.iter().zip(USERS) {
                    if lower.as_bytes()[at..].starts_with(keyword.as_bytes()) {
                        plain.push((at..at + keyword.len(), users.to_vec()));
                    }
                }
            }
            prop_assert_eq!(found(text), plain);
        }
    }

    #[test]
    fn entropy_is_counted_in_bits() {
        for (text, bits) in [("aaaa", 0.0), ("abab", 1.0), ("abcd", 2.0), ("abcdefgh", 3.0)] {
            assert!((entropy(text.as_bytes()) - bits).abs() < 1e-9, "{text}");
        }
    }
}

//! Finds learnings that contradict each other: about the same subject, with opposite or different values.
//!
//! Nothing here understands a text. Statements of the same words count as opposite if one negates, and as different if one
//! value in them differs. It is better to miss a contradiction than to list statements that merely look alike.

use std::collections::{BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Learning;
use crate::closed_enum::closed_enum;
use crate::similar::{self, is_filler, stem};
use crate::text::fold;

/// Most statements of a learning that are compared.
const MAX_STATEMENTS: usize = 8;
/// Most statements with the same key that are compared with each other, so that repetition costs no more.
const MAX_SAME_KEY: usize = 64;
/// Words that a value may have.
const MAX_VALUE_WORDS: usize = 3;
/// How many of all words two statements must share.
const SHARED: f64 = 0.75;

closed_enum! {
    /// How two learnings contradict each other.
    ContradictionKind "unknown kind of contradiction: {:?}" {
        /// One says what the other denies
        Opposite "opposite",
        /// They give different values for the same thing
        Value "value",
    }
}

/// Two valid learnings that cannot both be right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Contradiction {
    pub kind: ContradictionKind,
    pub newer: Learning,
    pub older: Learning,
}

/// Words that are the same with the opposite meaning, each with the word that it denies.
const OPPOSITES: [(&str, &str); 12] = [
    ("avoid", "use"),
    ("disable", "enable"),
    ("disabled", "enable"),
    ("forbid", "allow"),
    ("forbidden", "allow"),
    ("deny", "allow"),
    ("optional", "require"),
    ("unsafe", "safe"),
    ("without", "with"),
    ("off", "on"),
    ("false", "true"),
    ("disallow", "allow"),
];
/// Words with the same meaning as another.
const SYNONYMS: [(&str, &str); 4] =
    [("prefer", "use"), ("enabled", "enable"), ("required", "require"), ("uses", "use")];
const NEGATIONS: [&str; 20] = [
    "not",
    "no",
    "never",
    "cannot",
    "dont",
    "don't",
    "doesn't",
    "isn't",
    "mustn't",
    "shouldn't",
    "can't",
    "won't",
    "nor",
    "aren't",
    "wasn't",
    "needn't",
    "doesnt",
    "isnt",
    "cant",
    "wont",
];
/// Words that change no statement.
const WEAK: [&str; 24] = [
    "do", "does", "did", "must", "should", "shall", "always", "will", "would", "can", "may", "please", "you", "we",
    "there", "has", "have", "need", "needs", "now", "only", "be", "our", "your",
];
/// Words between a subject and its value.
const COPULAS: [&str; 9] = ["is", "are", "equals", "=", ":=", "runs on", "listens on", "lives in", "defaults to"];
/// Words after which a use is limited to something.
const SCOPES: [&str; 6] = ["for", "in", "on", "when", "with", "as"];

/// What a sentence says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct StatedFact {
    words: BTreeSet<String>,
    /// Numbers and the like, in order
    values: Vec<String>,
    is_negated: bool,
    /// A subject and its value: `port is 8080`, or what is used for something
    assignment: Option<(String, Vec<String>)>,
}

/// A word of a sentence in the form in which it is compared.
#[derive(Debug, Clone)]
struct StatedToken {
    word: String,
    is_value: bool,
}

fn tokens(sentence: &str) -> Vec<StatedToken> {
    let trim = |c: char| !c.is_alphanumeric() && !matches!(c, '=' | '/' | '_' | '-' | '.');
    let words = sentence.split_whitespace().map(|word| word.trim_matches(trim).trim_end_matches(['.', ':']));
    let words = words.filter(|word| !word.is_empty());
    words
        .map(|word| {
            let is_code = word.contains(['/', '_']) || word.get(1..).is_some_and(|rest| rest.contains('.'));
            StatedToken { word: fold(word), is_value: is_code || word.chars().any(char::is_numeric) }
        })
        .collect()
}

/// The sentences of a text.
pub(super) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let ends = |part: &str| part.ends_with(['.', '!', '?', ';']);
    text.lines().flat_map(move |line| {
        let (mut found, mut from) = (Vec::new(), 0);
        for (at, _) in line.match_indices(' ') {
            if ends(&line[from..at]) {
                found.push(&line[from..at]);
                from = at + 1;
            }
        }
        found.push(&line[from..]);
        found.into_iter().map(str::trim).filter(|sentence| !sentence.is_empty())
    })
}

fn statement(sentence: &str) -> StatedFact {
    let tokens = tokens(sentence);
    let mut statement = StatedFact { assignment: assignment(&tokens), ..StatedFact::default() };
    for token in &tokens {
        let (word, is_denied) = canonical(&token.word);
        statement.is_negated ^= is_denied;
        if token.is_value {
            statement.values.push(word.to_owned());
        } else if !word.is_empty() {
            statement.words.insert(stem(word).to_owned());
        }
    }
    statement
}

/// The word that stands for this one, empty if it changes nothing, and whether it negates.
fn canonical(word: &str) -> (&str, bool) {
    if NEGATIONS.contains(&word) {
        return ("", true);
    }
    if let Some((_, other)) = OPPOSITES.iter().find(|(denied, _)| *denied == word) {
        return (if matches!(*other, "with" | "on") { "" } else { other }, true);
    }
    if let Some((_, other)) = SYNONYMS.iter().find(|(same, _)| *same == word) {
        return (other, false);
    }
    if WEAK.contains(&word) || is_filler(word) { ("", false) } else { (word, false) }
}

/// The significant words among tokens, stemmed.
fn significant(tokens: &[StatedToken]) -> Vec<String> {
    let words = tokens.iter().map(|token| canonical(&token.word).0).filter(|word| !word.is_empty());
    words.map(|word| stem(word).to_owned()).collect()
}

/// What a sentence gives a value to, and the value.
fn assignment(tokens: &[StatedToken]) -> Option<(String, Vec<String>)> {
    let joined = |at: usize, length: usize| {
        tokens.get(at..at + length).map(|some| some.iter().map(|t| t.word.as_str()).collect::<Vec<_>>().join(" "))
    };
    for at in 1..tokens.len() {
        for length in [2, 1] {
            if joined(at, length).is_some_and(|word| COPULAS.contains(&word.as_str())) {
                return copula(&tokens[..at], &tokens[at + length..]);
            }
        }
    }
    let from = tokens.iter().position(|token| canonical(&token.word).0 == "use")?;
    let rest = &tokens[from + 1..];
    let to = rest.iter().position(|token| SCOPES.contains(&token.word.as_str()))?;
    let (value, scope) = (significant(&rest[..to]), significant(&rest[to + 1..]));
    let is_plain = from <= 2 && !scope.is_empty() && (1..=MAX_VALUE_WORDS).contains(&value.len());
    is_plain.then(|| (format!("use {} {}", rest[to].word, sorted(scope)), value))
}

fn copula(subject: &[StatedToken], value: &[StatedToken]) -> Option<(String, Vec<String>)> {
    let has_value = value.iter().any(|token| token.is_value);
    let (subject, value) = (significant(subject), significant(value));
    // "the daemon is fast" gives no value to the daemon; "the default database is SQLite" does to the database.
    let is_telling = has_value || (subject.len() > 1 && value.len() == 1);
    let is_plain = !subject.is_empty() && (1..=MAX_VALUE_WORDS).contains(&value.len()) && is_telling;
    is_plain.then(|| (sorted(subject), value))
}

fn sorted(mut words: Vec<String>) -> String {
    words.sort();
    words.dedup();
    words.join(" ")
}

impl StatedFact {
    /// The keys under which statements that may contradict this one are found.
    fn keys(&self) -> Vec<i64> {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let mut keys = similar::keys(&words.join(" "));
        if let Some((subject, _)) = &self.assignment {
            keys.push(similar::hash64(format!("= {subject}").as_bytes()).cast_signed());
        }
        keys
    }

    fn contradicts(&self, other: &StatedFact) -> Option<ContradictionKind> {
        let (shared, all) = (self.words.intersection(&other.words).count(), self.words.union(&other.words).count());
        let is_same_subject = shared > 0 && shared as f64 / all as f64 >= SHARED;
        if is_same_subject && self.values == other.values && self.is_negated != other.is_negated {
            return Some(ContradictionKind::Opposite);
        }
        if self.is_negated != other.is_negated {
            return None;
        }
        let differing = self.values.iter().zip(&other.values).filter(|(one, two)| one != two).count();
        if is_same_subject && self.values.len() == other.values.len() && differing == 1 {
            return Some(ContradictionKind::Value);
        }
        let ((subject, mine), (other_subject, theirs)) = self.assignment.as_ref().zip(other.assignment.as_ref())?;
        let is_other = subject == other_subject && !mine.iter().any(|word| theirs.contains(word));
        is_other.then_some(ContradictionKind::Value)
    }
}

/// The learnings that contradict each other, those with the newest first. All given learnings should be valid.
pub fn contradictions(learnings: &[Learning]) -> Vec<Contradiction> {
    let statements: Vec<(usize, StatedFact)> = learnings
        .iter()
        .enumerate()
        .flat_map(|(at, learning)| {
            sentences(&learning.text).take(MAX_STATEMENTS).map(move |sentence| (at, statement(sentence)))
        })
        .filter(|(_, statement)| !statement.words.is_empty())
        .collect();
    let mut by_key: HashMap<i64, Vec<usize>> = HashMap::new();
    for (number, (_, statement)) in statements.iter().enumerate() {
        for key in statement.keys() {
            let same = by_key.entry(key).or_default();
            if same.len() < MAX_SAME_KEY {
                same.push(number);
            }
        }
    }
    let mut pairs: HashMap<(usize, usize), ContradictionKind> = HashMap::new();
    for same in by_key.values() {
        for (at, one) in same.iter().enumerate() {
            for other in &same[at + 1..] {
                let ((a, first), (b, second)) = (&statements[*one], &statements[*other]);
                if a != b
                    && !is_settled(&learnings[*a], &learnings[*b])
                    && let Some(kind) = first.contradicts(second)
                {
                    let known = pairs.entry((*a.min(b), *a.max(b))).or_insert(kind);
                    *known = (*known).min(kind);
                }
            }
        }
    }
    let mut found: Vec<Contradiction> =
        pairs.into_iter().map(|((a, b), kind)| of_pair(kind, &learnings[a], &learnings[b])).collect();
    found.sort_by(|a, b| age(&b.newer).cmp(&age(&a.newer)).then_with(|| age(&b.older).cmp(&age(&a.older))));
    found
}

fn of_pair(kind: ContradictionKind, one: &Learning, other: &Learning) -> Contradiction {
    let (newer, older) = if age(one) >= age(other) { (one, other) } else { (other, one) };
    Contradiction { kind, newer: newer.clone(), older: older.clone() }
}

/// Sorts the newer of two learnings last.
fn age(learning: &Learning) -> (crate::time::Timestamp, crate::time::Timestamp, &str) {
    let known = learning.verified_at.map_or(learning.created_at, |verified| verified.max(learning.created_at));
    (known, learning.created_at, learning.id.as_str())
}

/// Whether somebody decided about the two already.
fn is_settled(one: &Learning, other: &Learning) -> bool {
    let knows = |a: &Learning, b: &Learning| a.agrees_with.contains(&b.id) || a.supersedes.as_ref() == Some(&b.id);
    knows(one, other) || knows(other, one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learning::Kind;
    use crate::time::Timestamp;

    fn learnings(texts: &[&str]) -> Vec<Learning> {
        let one = |(at, text): (usize, &&str)| {
            let time = Timestamp::from_millis(i64::try_from(at).expect("few") * 1000).expect("a time");
            let id = format!("ln-{at}").parse().expect("an id");
            Learning::new(id, Kind::Pattern, (*text).to_owned(), "ana".to_owned(), time)
        };
        texts.iter().enumerate().map(one).collect()
    }

    #[test]
    fn opposite_and_different_values_are_found() {
        use ContradictionKind::{Opposite, Value};
        for (one, other, kind) in [
            ("use rebase before a push", "do not use rebase before a push", Opposite),
            ("Use tabs.", "never use tabs", Opposite),
            ("use mocks in tests of the parser", "avoid mocks in tests of the parser", Opposite),
            ("the cache is enabled in tests", "the cache is disabled in tests", Opposite),
            ("a token is required for reads", "a token is optional for reads", Opposite),
            ("retries are safe", "retries are not safe", Opposite),
            ("the port is 8080", "the port is 9090", Value),
            ("Port: 8080 for the daemon", "port 9090 for the daemon", Value),
            ("use port 8080 for tests", "use port 8081 for tests", Value),
            ("the default database is SQLite", "the default database is PostgreSQL", Value),
            ("use tabs for indentation", "use spaces for indentation", Value),
            ("prefer tokio for the server", "use smol for the server", Value),
            ("the log lives in /var/log/pn.log", "the log lives in /tmp/pn.log", Value),
            ("Read the guide first. The port is 8080. It is fixed.", "We moved. The port is 9090 now.", Value),
        ] {
            let found = contradictions(&learnings(&[one, other]));
            assert_eq!(found.iter().map(|one| one.kind).collect::<Vec<_>>(), [kind], "{one} / {other}");
            assert_eq!((found[0].newer.text.as_str(), found[0].older.text.as_str()), (other, one));
        }
    }

    #[test]
    fn statements_that_only_look_alike_are_not_listed() {
        for (one, other) in [
            ("use rebase for reads", "use rebase for writes"),
            ("do not retry uploads in tests", "retry uploads in production"),
            ("the daemon is fast", "the daemon is written in Rust"),
            ("the port of the daemon is 8080", "the port of the database is 5432"),
            ("close 12 of 20 issues", "close 13 of 30 issues"),
            ("never push to main", "never push to main"),
            ("the cache depends on the parser", "the parser is not slow"),
            ("use tabs", "use spaces for indentation"),
            ("", "not"),
        ] {
            assert_eq!(contradictions(&learnings(&[one, other])), [], "{one} / {other}");
        }
    }

    #[test]
    fn pairs_that_were_settled_are_left_out_and_the_newest_comes_first() {
        let mut all = learnings(&["the port is 1", "use tabs", "never use tabs", "the port is 2"]);
        let pairs = |all: &[Learning]| {
            contradictions(all).iter().map(|one| format!("{} {}", one.newer.id, one.older.id)).collect::<Vec<_>>()
        };
        assert_eq!(pairs(&all), ["ln-3 ln-0", "ln-2 ln-1"]);
        all[1].verified_at = Some(Timestamp::from_millis(9_000).expect("a time"));
        assert_eq!(pairs(&all), ["ln-1 ln-2", "ln-3 ln-0"], "what was verified last is newer");
        all[0].agrees_with = vec![all[3].id.clone()];
        all[2].supersedes = Some(all[1].id.clone());
        assert_eq!(pairs(&all), [""; 0]);
    }

    #[test]
    fn many_repetitions_are_compared_in_bounded_time() {
        let texts: Vec<String> = (0..20_000).map(|at| format!("the port is {}", at % 3)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        assert!(contradictions(&learnings(&texts)).len() <= MAX_SAME_KEY * MAX_SAME_KEY * 3);
    }
}

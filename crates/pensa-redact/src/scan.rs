//! Finds secrets in a text: keywords select the rules and the ranges to search, then the rules decide.
//!
//! A text without keywords costs one pass and compiles nothing.

use std::ops::{ControlFlow, Range};

use regex_automata::Input;

use crate::normalize::{self, HIDDEN};
use crate::pem::KeyEnds;
use crate::rules::{RULES, Rule, keywords};
use crate::{encoded, named};

/// Least distance around a keyword that is searched.
const MIN_REACH: usize = 256;
/// The context of values identified by name: more than any pattern has, so that patterns take precedence.
const NAME_CONTEXT: usize = 1 << 16;

/// A secret in a text.
#[derive(Debug, Clone)]
pub(crate) struct SecretMatch {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) kind: &'static str,
    /// How many bytes around the secret the rule needed. Rules that need less take precedence.
    context: usize,
}

/// The secrets of a text, in order and without overlaps.
#[derive(Debug, Default)]
pub(crate) struct ScanResult {
    pub(crate) matches: Vec<SecretMatch>,
    /// Whether a private key starts in the text and does not end in it.
    pub(crate) open_key: bool,
}

/// Finds the secrets in `text`, which is the value of a field `name` if that is not empty.
pub(crate) fn find(name: &str, text: &str) -> ScanResult {
    if !name.is_empty() && has_keyword(name) {
        let whole = format!("\"{name}\": \"{text}\"");
        let from = name.len() + 5;
        let part = from..from + text.len();
        let ScanResult { matches, open_key } = scan(&whole);
        let matches = matches.into_iter().filter_map(|secret| secret.within(&part)).collect();
        return ScanResult { matches: merge_overlapping(text, matches), open_key };
    }
    let ScanResult { matches, open_key } = scan(text);
    ScanResult { matches: merge_overlapping(text, matches), open_key }
}

/// Whether a text may contain a secret; false is certain.
pub(crate) fn may_hold(text: &[u8]) -> bool {
    keywords(text, |_, _| ControlFlow::Break(())).is_break()
        || encoded::has_long_word(text)
        || encoded::has_percent_code(text)
}

fn has_keyword(text: &str) -> bool {
    keywords(text.as_bytes(), |_, _| ControlFlow::Break(())).is_break()
}

fn scan(text: &str) -> ScanResult {
    if !may_hold(text.as_bytes()) {
        return ScanResult::default();
    }
    let mut found = scan_by_rules(text);
    found.matches.extend(scan_base64(text));
    if text.contains('%') {
        found.matches.extend(scan_percent_codes(text));
    }
    found
}

/// Finds base64 of texts that contain a secret.
fn scan_base64(text: &str) -> impl Iterator<Item = SecretMatch> {
    encoded::base64_texts(&normalize::normalized(text)).into_iter().filter_map(|(range, plain)| {
        let inside = if has_keyword(&plain) { scan_by_rules(&plain).matches } else { Vec::new() };
        let kind = inside.first()?.kind;
        Some(SecretMatch { start: range.start, end: range.end, kind, context: 0 })
    })
}

fn scan_percent_codes(text: &str) -> Vec<SecretMatch> {
    let mut matches = Vec::new();
    for (_, plain, ranges) in encoded::percent_words(text) {
        if has_keyword(&plain) {
            let at_original =
                |secret: SecretMatch| SecretMatch { start: ranges[secret.start], end: ranges[secret.end], ..secret };
            matches.extend(scan_by_rules(&plain).matches.into_iter().map(at_original));
        }
    }
    matches
}

fn scan_by_rules(text: &str) -> ScanResult {
    let mut found = ScanResult::default();
    let normal = normalize::normalized(text);
    for (rule, ranges) in RULES.iter().zip(candidate_ranges(&normal, &mut found.matches)) {
        let mut ends = KeyEnds::default();
        for range in ranges {
            try_rule(rule, &normal, range, &mut ends, &mut found.matches);
        }
        found.open_key |= ends.is_open;
    }
    found
}

/// For each rule, the ranges near its keywords. Also adds the secrets identified by name to `matches`.
fn candidate_ranges(normal: &[u8], matches: &mut Vec<SecretMatch>) -> Vec<Vec<Range<usize>>> {
    let mut ranges = vec![Vec::<Range<usize>>::new(); RULES.len()];
    let mut add = |user: usize, found: &Range<usize>| {
        let reach = RULES[user].reach.map(|reach| reach.max(MIN_REACH));
        let start = found.start.saturating_sub(reach.unwrap_or(MIN_REACH));
        let end = reach.map_or(normal.len(), |reach| (found.end + reach).min(normal.len()));
        match ranges[user].last_mut() {
            Some(last) if last.end >= start => last.end = last.end.max(end),
            _ => ranges[user].push(start..end),
        }
    };
    for (user, _) in RULES.iter().enumerate().filter(|(_, rule)| rule.long_word) {
        let dotted = |word: &Range<usize>| normal.get(word.end) == Some(&b'.') && b"MNO".contains(&normal[word.start]);
        encoded::long_words(normal).iter().filter(|word| dotted(word)).for_each(|word| add(user, word));
    }
    let _ = keywords(normal, |found, users| {
        for &user in users {
            let rule = &RULES[user];
            if !rule.named {
                add(user, &found);
            } else if let Some(value) = named::secret(normal, found.clone(), rule.kind == "password") {
                matches.push(SecretMatch {
                    start: value.start,
                    end: value.end,
                    kind: rule.kind,
                    context: NAME_CONTEXT,
                });
            }
        }
        ControlFlow::Continue(())
    });
    ranges
}

fn try_rule(rule: &Rule, normal: &[u8], range: Range<usize>, ends: &mut KeyEnds, matches: &mut Vec<SecretMatch>) {
    if !rule.is_possible(&normal[range.clone()]) {
        return;
    }
    let Some(regex) = rule.regex() else {
        return;
    };
    let mut found = regex.create_captures();
    let mut at = range.start;
    while at < range.end {
        regex.search_captures(&Input::new(normal).range(at..range.end), &mut found);
        let (Some(whole), Some(secret)) = (found.get_match(), rule.secret(&found)) else {
            return;
        };
        at = secret.end.max(at + 1);
        if rule.block {
            let block = ends.block(normal, whole.range());
            matches.extend(block.map(|block| SecretMatch {
                start: block.start,
                end: block.end,
                kind: rule.kind,
                context: 0,
            }));
        } else if !normal[secret.clone()].contains(&HIDDEN) && rule.accepts(&normal[secret.clone()]) {
            let context = whole.len() - secret.len();
            // A pattern can end within a word; the rest of the word belongs to the secret.
            let more =
                normal[secret.end..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte));
            let end = secret.end + more.count();
            at = end;
            matches.push(SecretMatch { start: secret.start, end, kind: rule.kind, context });
        }
    }
}

impl SecretMatch {
    /// This as a part of a text that is `part` of the text it was found in.
    fn within(mut self, part: &Range<usize>) -> Option<Self> {
        self.start = self.start.max(part.start).checked_sub(part.start)?;
        self.end = self.end.min(part.end).checked_sub(part.start)?;
        (self.start < self.end).then_some(self)
    }
}

/// Merges overlapping matches. The kind is that of the rule with the least context, then of the longest match.
fn merge_overlapping(text: &str, mut matches: Vec<SecretMatch>) -> Vec<SecretMatch> {
    matches.sort_by_key(|secret| (secret.start, secret.end));
    let mut apart: Vec<SecretMatch> = Vec::with_capacity(matches.len());
    for mut secret in matches {
        // Patterns match bytes and can end inside a character.
        secret.start = text.floor_char_boundary(secret.start);
        secret.end = text.ceil_char_boundary(secret.end);
        match apart.last_mut() {
            Some(last) if secret.start < last.end => last.absorb(&secret),
            _ => apart.push(secret),
        }
    }
    apart
}

impl SecretMatch {
    fn absorb(&mut self, other: &SecretMatch) {
        let length = |secret: &SecretMatch| usize::MAX - (secret.end - secret.start);
        if (other.context, length(other)) < (self.context, length(self)) {
            (self.kind, self.context) = (other.kind, other.context);
        }
        self.end = self.end.max(other.end);
    }
}

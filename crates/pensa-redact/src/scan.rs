//! Where secrets are in a text: keywords choose the rules and the places, the rules decide.
//!
//! A short text without keywords costs one pass and compiles nothing. Taking out what was found is left to the caller.

use std::ops::{ControlFlow, Range};

use regex_automata::Input;

use crate::pem::Ends;
use crate::rules::{RULES, Rule, keywords};
use crate::sight::{self, HIDDEN};
use crate::{encoded, named};

/// Least distance from a keyword at which a secret is looked for.
const NEAR: usize = 256;
/// What is around a value that its name gives away counts for more than any pattern has around it.
const NAME_CONTEXT: usize = 1 << 16;

/// A stretch of text that is a secret.
#[derive(Debug, Clone)]
pub(crate) struct Hit {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) kind: &'static str,
    /// How much of the text around it was needed to know it.
    context: usize,
}

/// The secrets of a text, in order and apart from each other.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) hits: Vec<Hit>,
    /// Whether a private key begins in it and doesn't end.
    pub(crate) open_key: bool,
}

/// The secrets in `text`. `name` is what the text is the value of, if anything.
pub(crate) fn find(name: &str, text: &str) -> Found {
    if !name.is_empty() && mentions(name) {
        let whole = format!("\"{name}\": \"{text}\"");
        let from = name.len() + 5;
        let part = from..from + text.len();
        let Found { hits, open_key } = seen(&whole);
        let hits = hits.into_iter().filter_map(|hit| hit.within(&part)).collect();
        return Found { hits: joined(text, hits), open_key };
    }
    let Found { hits, open_key } = seen(text);
    Found { hits: joined(text, hits), open_key }
}

/// Whether there may be a secret in a text: most have none, and are passed over once.
pub(crate) fn may_hold(text: &[u8]) -> bool {
    keywords(text, |_, _| ControlFlow::Break(())).is_break()
        || encoded::has_long_word(text)
        || encoded::has_percent_code(text)
}

fn mentions(text: &str) -> bool {
    keywords(text.as_bytes(), |_, _| ControlFlow::Break(())).is_break()
}

fn seen(text: &str) -> Found {
    if !may_hold(text.as_bytes()) {
        return Found::default();
    }
    let mut found = by_rules(text);
    found.hits.extend(in_base64(text));
    if text.contains('%') {
        found.hits.extend(in_percent_codes(text));
    }
    found
}

/// Base64 of a text with a secret in it is as secret as that.
fn in_base64(text: &str) -> impl Iterator<Item = Hit> {
    encoded::base64_texts(&sight::of(text)).into_iter().filter_map(|(place, plain)| {
        let inside = if mentions(&plain) { by_rules(&plain).hits } else { Vec::new() };
        let kind = inside.first()?.kind;
        Some(Hit { start: place.start, end: place.end, kind, context: 0 })
    })
}

fn in_percent_codes(text: &str) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (_, plain, places) in encoded::percent_words(text) {
        if mentions(&plain) {
            let moved = |hit: Hit| Hit { start: places[hit.start], end: places[hit.end], ..hit };
            hits.extend(by_rules(&plain).hits.into_iter().map(moved));
        }
    }
    hits
}

fn by_rules(text: &str) -> Found {
    let mut found = Found::default();
    let sight = sight::of(text);
    for (rule, places) in RULES.iter().zip(places(&sight, &mut found.hits)) {
        let mut ends = Ends::default();
        for place in places {
            try_rule(rule, &sight, place, &mut ends, &mut found.hits);
        }
        found.open_key |= ends.is_open;
    }
    found
}

/// For each rule the stretches of the text that are near one of its keywords. What names give away is found on the way.
fn places(sight: &[u8], hits: &mut Vec<Hit>) -> Vec<Vec<Range<usize>>> {
    let mut places = vec![Vec::<Range<usize>>::new(); RULES.len()];
    let mut add = |user: usize, found: &Range<usize>| {
        let reach = RULES[user].reach.map(|reach| reach.max(NEAR));
        let start = found.start.saturating_sub(reach.unwrap_or(NEAR));
        let end = reach.map_or(sight.len(), |reach| (found.end + reach).min(sight.len()));
        match places[user].last_mut() {
            Some(last) if last.end >= start => last.end = last.end.max(end),
            _ => places[user].push(start..end),
        }
    };
    for (user, _) in RULES.iter().enumerate().filter(|(_, rule)| rule.long_word) {
        let dotted = |word: &Range<usize>| sight.get(word.end) == Some(&b'.') && b"MNO".contains(&sight[word.start]);
        encoded::long_words(sight).iter().filter(|word| dotted(word)).for_each(|word| add(user, word));
    }
    let _ = keywords(sight, |found, users| {
        for &user in users {
            let rule = &RULES[user];
            if !rule.named {
                add(user, &found);
            } else if let Some(value) = named::secret(sight, found.clone(), rule.kind == "password") {
                hits.push(Hit { start: value.start, end: value.end, kind: rule.kind, context: NAME_CONTEXT });
            }
        }
        ControlFlow::Continue(())
    });
    places
}

fn try_rule(rule: &Rule, sight: &[u8], place: Range<usize>, ends: &mut Ends, hits: &mut Vec<Hit>) {
    if !rule.is_possible(&sight[place.clone()]) {
        return;
    }
    let Some(regex) = rule.regex() else {
        return;
    };
    let mut found = regex.create_captures();
    let mut at = place.start;
    while at < place.end {
        regex.search_captures(&Input::new(sight).range(at..place.end), &mut found);
        let (Some(whole), Some(secret)) = (found.get_match(), rule.secret(&found)) else {
            return;
        };
        at = secret.end.max(at + 1);
        if rule.block {
            let block = ends.block(sight, whole.range());
            hits.extend(block.map(|block| Hit { start: block.start, end: block.end, kind: rule.kind, context: 0 }));
        } else if !sight[secret.clone()].contains(&HIDDEN) && rule.accepts(&sight[secret.clone()]) {
            let context = whole.len() - secret.len();
            // Rules end where they know enough; what is left of the word is as secret.
            let more =
                sight[secret.end..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte));
            let end = secret.end + more.count();
            at = end;
            hits.push(Hit { start: secret.start, end, kind: rule.kind, context });
        }
    }
}

impl Hit {
    /// This as a part of a text that is `part` of the text it was found in.
    fn within(mut self, part: &Range<usize>) -> Option<Self> {
        self.start = self.start.max(part.start).checked_sub(part.start)?;
        self.end = self.end.min(part.end).checked_sub(part.start)?;
        (self.start < self.end).then_some(self)
    }
}

/// Hits that overlap become one, named by the rule that needed least around it and then took most.
fn joined(text: &str, mut hits: Vec<Hit>) -> Vec<Hit> {
    hits.sort_by_key(|hit| (hit.start, hit.end));
    let mut apart: Vec<Hit> = Vec::with_capacity(hits.len());
    for mut hit in hits {
        // Patterns are about bytes, and one may have ended inside a character.
        hit.start = text.floor_char_boundary(hit.start);
        hit.end = text.ceil_char_boundary(hit.end);
        match apart.last_mut() {
            Some(last) if hit.start < last.end => last.absorb(&hit),
            _ => apart.push(hit),
        }
    }
    apart
}

impl Hit {
    fn absorb(&mut self, other: &Hit) {
        let length = |hit: &Hit| usize::MAX - (hit.end - hit.start);
        if (other.context, length(other)) < (self.context, length(self)) {
            (self.kind, self.context) = (other.kind, other.context);
        }
        self.end = self.end.max(other.end);
    }
}
